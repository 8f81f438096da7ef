/* SPDX-License-Identifier: ISC */
/*
 * A run of hpnsync: its pairs of trees are scanned and compared, and a transfer
 * does what the plan has.
 */
#include "client/sync/sync-run.h"

#include "config.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "compat/file.h"
#include "client/sync/sync-again.h"
#include "client/sync/sync-job.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/sftp/walk-format.h"
#include "xfer/sync/sync-path.h"

void
sync_must(int err)
{
	if (err < 0)
		fatal("%s", err_text(err));
}

/* ---- the target --------------------------------------------------------- */

static const struct sync_root *
only_root(const struct sync_run *run)
{
	const struct sync_root *r = TAILQ_FIRST(&run->roots);

	return r != NULL && TAILQ_NEXT(r, entry) == NULL ? r : NULL;
}

/* May the target be the name of one file, and not a directory? */
static bool
may_be_file(const struct sync_run *run)
{
	const struct sync_root *r = only_root(run);
	size_t len = strlen(run->target_path);

	return r != NULL && r->names_only && r->names.n == 1 &&
	    !run->args.relative && run->target_path[len - 1] != '/';
}

/* The target's last name is that of the file, and the rest is the target. */
static void
split_target(struct sync_run *run)
{
	struct sync_root *r = TAILQ_FIRST(&run->roots);
	char *slash = strrchr(run->target_path, '/');

	r->as = xstrdup(slash != NULL ? slash + 1 : run->target_path);
	if (slash == NULL) {
		free(run->target_path);
		run->target_path = xstrdup(".");
	} else {
		slash[slash == run->target_path ? 1 : 0] = '\0';
	}
}

void
sync_make_parents(struct sync_run *run, const char *path)
{
	const struct sftp_attrs attrs = { .flags = SFTP_A_MODE,
		.mode = 0777 };
	struct sftp *s = sync_end_of(run, false)->s;

	for (const char *p = path; (p = strchr(p, '/')) != NULL; p++) {
		char *dir = xstrndup(path, (size_t)(p - path));

		if (*dir != '\0')
			(void)!sftp_call_mkdir(s, dir, &attrs);
		free(dir);
	}
}

static enum sync_kind
kind_of(struct sync_run *run, bool source, const char *path)
{
	struct sftp_attrs attrs;
	int r = sftp_call_stat(sync_end_of(run, source)->s, path, true,
	    &attrs);

	if (r < 0)
		sync_lost(run, r);
	if (r > 0 && r != SFTP_NO_SUCH_FILE)
		sync_die(run, SYNC_EXIT_FILES, path, sftp_call_words(r));
	if (r > 0)
		return SYNC_KIND_MISSING;
	return (attrs.flags & SFTP_A_MODE) && S_ISDIR(attrs.mode) ?
	    SYNC_KIND_DIR : SYNC_KIND_OTHER;
}

static void
make_target(struct sync_run *run)
{
	const struct sftp_attrs attrs = { .flags = SFTP_A_MODE,
		.mode = 0777 };
	struct sync_end *end = sync_end_of(run, false);
	struct sftp *s = end->s;
	char *named;
	int r;

	run->target_made = true;
	if (run->args.opts.dry_run)
		return;
	if (run->args.make_path && run->target_top == NULL)
		sync_make_parents(run, run->target_path);
	named = sync_end_path(end, run->target_path);
	r = sftp_call_mkdir(s, named, &attrs);
	if (r < 0)
		sync_lost(run, r);
	/* Another shard may have made the target meanwhile. */
	if (r > 0 && kind_of(run, false, named) != SYNC_KIND_DIR)
		sync_die(run, SYNC_EXIT_OUTPUT, run->target_path,
		    sftp_call_words(r));
	sync_durable_name(run, s, named);
	free(named);
	if (run->args.verbose > 0 && !run->args.json)
		printf("created directory %s\n", run->target_path);
}

static void
find_target(struct sync_run *run)
{
	run->target_path = run->target.remote ?
	    sync_host_path(run, &run->host, run->target.path) :
	    xstrdup(run->target.path);
	if (may_be_file(run) &&
	    kind_of(run, false, run->target_path) != SYNC_KIND_DIR)
		split_target(run);
}

void
sync_need_target(struct sync_run *run)
{
	run->target_path = sync_host_path(run, &run->host, run->target.path);
	if (kind_of(run, false, run->target_path) != SYNC_KIND_DIR)
		make_target(run);
}

/* ---- scans -------------------------------------------------------------- */

/* Scans borrow their paths, so these live as long as the run. Takes over
 * path. */
static const char *
keep(struct sync_run *run, char *path)
{
	const char *kept;

	xstrlist_add(&run->kept, path);
	kept = run->kept.v[run->kept.n - 1];
	free(path);
	return kept;
}

static uint32_t
wanted(const struct sync_run *run, bool source)
{
	const struct sync_opts *o = &run->args.opts;
	uint32_t want = WALK_MODE | WALK_OWNER | WALK_MTIME;

	if (o->links)
		want |= WALK_TEXT;
	if (o->checksum)
		want |= WALK_DIGEST;
	if (source && !o->also.recall)
		want |= WALK_AWAY;
	if (o->one_device && source)
		want |= WALK_ONE_DEVICE;
	if ((o->delete || o->force) && !source)
		want |= WALK_MOUNTS;
	if (o->devices)
		want |= WALK_DEVICE;
	if (o->one_file.hard_links ||
	    (o->one_file.dest == SYNC_DEST_LINK && !source))
		want |= WALK_NAMES;
	return want | sync_xattrs_wanted(o);
}

enum { SOURCES_FEW = 4 }; /* up to so many sources of one directory are read
			   * ahead at full depth */

static struct sync_scan *
scan(struct sync_run *run, bool source, const char *root,
    const struct strlist *names, bool at_top, bool many)
{
	const struct sync_opts *o = &run->args.opts;
	struct sync_end *end = sync_end_of(run, source);
	const char *confined = end->top != NULL ?
	    keep(run, sync_end_path(end, root)) : NULL;
	struct sync_scan_opts opts = { .root = root,
		.confined_root = confined,
		.want = wanted(run, source),
		/* With -d, names in a directory that is deleted have to be
		 * deleted first. */
		.recursive = o->recursive || (!source && o->delete),
		.many = source && many,
		.copy_links = source && o->copy_links,
		.copy_dirlinks = source ? o->copy_dirlinks :
					  o->keep_dirlinks,
		.names = names != NULL ? (const char *const *)names->v : NULL,
		.n_names = names != NULL ? names->n : 0,
		/* At the target, ids are asked for as well where it is on this
		 * machine: they are mostly the source's. */
		.owners = source || !run->up ? run->owners : NULL,
		.owners_guess = !source };
	struct sync_scan *c;

	if (source && at_top)
		opts.rules = sync_rules_wire(run->args.rules,
		    &opts.rules_len);
	sync_must(sync_scan_new(&c, end->s, &opts));
	return c;
}

static void
scan_target(struct sync_run *run, struct sync_pair_ends *p)
{
	const struct sync_root *r = p->root;
	const char *path = keep(run,
	    sync_path_below(run->target_path, r->mount));
	const struct strlist *names;

	if (r->as != NULL && p->as.n == 0)
		xstrlist_add(&p->as, r->as);
	names = r->as != NULL ? &p->as : r->names_only ? &r->names : NULL;
	p->target = scan(run, false, path, names, false, false);
	for (size_t i = 0; i < run->dests.n; i++)
		p->dests[i] = scan(run, false, keep(run,
		    sync_path_below(run->dests.v[i], r->mount)), names, false,
		    false);
}

static void
begin_pair(struct sync_run *run, struct sync_root *r)
{
	struct sync_pair_ends *p = xcalloc(1, sizeof *p);

	p->root = r;
	p->sources = xcalloc(r->sources.n, sizeof(struct sync_scan *));
	p->dests = xcalloc(MAX(run->dests.n, 1u), sizeof(struct sync_scan *));
	for (size_t i = 0; i < r->sources.n; i++)
		p->sources[i] = scan(run, true, r->sources.v[i],
		    r->names_only ? &r->names : NULL,
		    !r->names_only && *r->mount == '\0',
		    r->sources.n > SOURCES_FEW);
	scan_target(run, p);
	TAILQ_INSERT_TAIL(&run->pairs, p, entry);
}

/* ---- both ends ---------------------------------------------------------- */

struct question {
	bool done;
	uint32_t status;
	struct sftp_attrs attrs;
};

static void
on_stat(void *arg, const struct sftp_reply *reply)
{
	struct question *q = arg;

	q->status = reply->err != 0 ? SFTP_CONNECTION_LOST : reply->status;
	q->attrs = reply->attrs;
	q->done = true;
}

static void
ask(struct sftp *s, const char *path, struct question *q)
{
	*q = (struct question){ .done = false };
	sftp_path_request(s, SFTP_STAT, path, on_stat, q);
}

/* Lets the first pair's scans read ahead, so that the ids of owners in the
 * first answers are asked for at once and have names when the plan begins. A
 * server allows few walks at a time, so the scans of later pairs begin when the
 * plan comes to them. */
static void
read_ahead(struct sync_run *run)
{
	const struct sync_pair_ends *p = TAILQ_FIRST(&run->pairs);

	if (p == NULL)
		return;
	for (size_t i = 0; i < p->root->sources.n; i++)
		sync_scan_read_ahead(p->sources[i]);
	if (p->target != NULL)
		sync_scan_read_ahead(p->target);
}

void
sync_wait_for(struct sync_run *run, const bool *done)
{
	while (!*done) {
		sync_hosts_turn(run, 1000);
		read_ahead(run);
	}
	/* A lost connection ends the program, or begins the run again. */
	if (sftp_error(run->host.s) != 0)
		sync_lost(run, sftp_error(run->host.s));
}

static void
free_targets(struct sync_run *run)
{
	struct sync_pair_ends *p;

	TAILQ_FOREACH(p, &run->pairs, entry) {
		sync_scan_free(p->target);
		p->target = NULL;
		for (size_t i = 0; i < run->dests.n; i++) {
			sync_scan_free(p->dests[i]);
			p->dests[i] = NULL;
		}
	}
}

/* Begins the scans of the target's side anew, in place of the old ones. */
static void
scan_targets(struct sync_run *run)
{
	struct sync_pair_ends *p;

	free_targets(run);
	TAILQ_FOREACH(p, &run->pairs, entry)
		scan_target(run, p);
}

_Noreturn static void
refuse_target(struct sync_run *run)
{
	const struct sync_end *target = sync_end_of(run, false);

	sync_die(run, SYNC_EXIT_FILES, target->top,
	    target->status == SFTP_FAILURE ?
		"cannot be the target: is it reached by another user's "
		"link?" :
		sftp_status_text(target->status));
}

/* Called when the server could not be confined to a target that is missing. If
 * the reason is another user's link on the way, nothing may be made. The server
 * also refuses while a scan holds a handle, so it is asked a second time
 * without scans. */
static void
must_lead_there(struct sync_run *run)
{
	struct sync_end *target = sync_end_of(run, false);

	sync_wait_for(run, &target->answered);
	if (!sftp_has(target->s, SFTP_EXT_CONFINE) ||
	    target->status != SFTP_FAILURE)
		return;
	free_targets(run);
	sync_confine_target(run);
	sync_wait_for(run, &target->answered);
	if (target->status == SFTP_FAILURE)
		refuse_target(run);
}

/* Begins all again below a target that was made just now. */
static void
begin_again(struct sync_run *run)
{
	struct sync_end *target = sync_end_of(run, false);

	if (target->top != NULL)
		must_lead_there(run);
	/* If the server is confined to a directory above the target, the target
	 * still has to be made; if it is confined to the target, somebody else
	 * has made that meanwhile. */
	if (target->top == NULL || run->target_top != NULL ||
	    sftp_confined(target->s) == SFTP_CONFINED_NOT)
		make_target(run);
	if (target->top != NULL && !run->args.opts.dry_run &&
	    sftp_confined(target->s) == SFTP_CONFINED_NOT)
		sync_confine_target(run);
	scan_targets(run);
}

/* Confines the server to a target that this run has made. A scan that was begun
 * before may have opened the target since; the server refuses to be confined as
 * long as it is open. The scan closes it once its answer is there, so this is
 * tried until then. */
static void
confine_again(struct sync_run *run)
{
	enum { TRIES = 100 };
	struct sync_end *target = sync_end_of(run, false);

	if (!run->target_made || target->status != SFTP_FAILURE)
		return;
	free_targets(run);
	for (int i = 0; i < TRIES && target->status == SFTP_FAILURE; i++) {
		sync_confine_target(run);
		sync_wait_for(run, &target->answered);
	}
	scan_targets(run);
}

/* Ends the program if a server that has confine@ could not be confined to the
 * target: it refuses to if the target is another user's link. With -n a missing
 * target is fine, because it is not made. */
static void
must_be_confined(struct sync_run *run)
{
	struct sync_end *target = sync_end_of(run, false);

	if (target->top == NULL)
		return;
	sync_wait_for(run, &target->answered);
	confine_again(run);
	if (!sftp_has(target->s, SFTP_EXT_CONFINE) ||
	    sftp_confined(target->s) != SFTP_CONFINED_NOT ||
	    (run->args.opts.dry_run && target->status == SFTP_NO_SUCH_FILE))
		return;
	refuse_target(run);
}

/* Sends all that is known to be asked in one flight, and takes the answers that
 * decide how to go on. */
static void
begin(struct sync_run *run)
{
	struct sync_end *source = sync_end_of(run, true);
	struct sync_end *target = sync_end_of(run, false);
	struct question top;
	struct sync_root *r;

	sync_own_ask(run);
	sync_way_ask(run);
	ask(target->s, run->target_path, &top);
	sync_confine_ends(run);
	TAILQ_FOREACH(r, &run->roots, entry)
		begin_pair(run, r);
	sync_own_take(run);
	sync_way_check(run);
	sync_needs_check(run);
	sync_wait_for(run, &top.done);
	if (top.status == SFTP_NO_SUCH_FILE)
		begin_again(run);
	else if (top.status != SFTP_OK)
		sync_die(run, SYNC_EXIT_FILES, run->target_path,
		    sftp_status_text(top.status));
	else if (!S_ISDIR(top.attrs.mode))
		sync_die(run, SYNC_EXIT_FILES, run->target_path,
		    "is no directory");
	must_be_confined(run);
	if (source->top != NULL)
		sync_wait_for(run, &source->answered);
}

/* What the scans can tell. Without digests -c cannot see what is equal. */
static void
take_abilities(struct sync_run *run)
{
	const struct sync_pair_ends *p;
	bool digests = true;

	run->ends.ns = true;
	TAILQ_FOREACH(p, &run->pairs, entry) {
		for (size_t i = 0; i < p->root->sources.n; i++) {
			run->ends.ns &= sync_scan_has_ns(p->sources[i]);
			/* Only scans that tell nanoseconds also tell which
			 * names are one file. */
			if (run->args.opts.one_file.hard_links &&
			    !sync_scan_has_ns(p->sources[i]))
				sync_die(run, SYNC_EXIT_REFUSED, "-H",
				    "the source's server does not tell which "
				    "names are one file");
			digests &= sync_scan_has_digests(p->sources[i]);
		}
		run->ends.ns &= sync_scan_has_ns(p->target);
		digests &= sync_scan_has_digests(p->target);
		for (size_t i = 0; i < run->dests.n; i++)
			run->ends.ns &= sync_scan_has_ns(p->dests[i]);
	}
	if (run->args.opts.checksum && !digests)
		sync_tell_note(run, NULL, "-c copies all files: an end has no "
		    "digests to compare");
}

/* ---- the plan ----------------------------------------------------------- */

/* The directory of a target on this machine, which all pairs share. */
static struct local_dir *
target_here(struct sync_run *run)
{
	if (run->target_here == NULL)
		run->target_here = sync_way_here(run);
	return run->target_here != NULL ? local_dir_ref(run->target_here) :
					  NULL;
}

static void
add_locals(struct sync_run *run, struct sync_pair_ends *p)
{
	const struct strlist *sources = &p->root->sources;
	size_t n = run->up ? sources->n : 1;

	p->n_locals = n;
	p->locals = xcalloc(n, sizeof(struct local_dir *));
	if (run->direct != NULL)
		return; /* nothing of it is here */
	for (size_t i = 0; i < n; i++) {
		p->locals[i] = run->up ?
		    local_root(run->tree, sources->v[i], LOCAL_LINKS_ALL) :
		    target_here(run);
		sync_must(p->locals[i] == NULL ? ERR_NOMEM : 0);
	}
}

static void
add_dests(struct sync_run *run, struct sync_pair_ends *p,
    struct sync_pair *pair)
{
	size_t n = run->dests.n;

	if (!run->up)
		p->dest_locals = xcalloc(MAX(n, 1u),
		    sizeof(struct local_dir *));
	for (size_t i = 0; i < n; i++) {
		char *path = sync_path_below(run->dests.v[i],
		    p->root->mount);
		char *named = sync_end_path(sync_end_of(run, false), path);

		xstrlist_add(&p->dest_roots, named);
		if (!run->up) {
			p->dest_locals[i] = local_root(run->tree, path,
			    LOCAL_LINKS_OWN);
			sync_must(p->dest_locals[i] == NULL ? ERR_NOMEM :
								 0);
		}
		free(named);
		free(path);
	}
	pair->dests = p->dests;
	pair->dest_roots = (const char *const *)p->dest_roots.v;
	pair->dest_locals = p->dest_locals;
	pair->n_dests = (unsigned)n;
}

/* For struct sync_pair. */
static int
scan_below(void *arg, const struct sync_pair *pair, bool source,
    const char *path, struct sync_scan **out)
{
	struct sync_run *run = arg;
	const struct sync_pair_ends *p;
	char *root;

	TAILQ_FOREACH(p, &run->pairs, entry)
		if (p->target_root == pair->target_root)
			break;
	if (p == NULL)
		return ERR_INTERNAL;
	root = source ? xstrdup(p->root->sources.v[0]) :
	    sync_path_below(run->target_path, p->root->mount);
	*out = scan(run, source, keep(run, sync_path_below(root, path)), NULL,
	    false, false);
	free(root);
	return 0;
}

static void
add_pair(struct sync_run *run, struct sync_pair_ends *p)
{
	const struct sync_root *r = p->root;
	struct sync_pair pair = { .sources = p->sources,
		.n_sources = (unsigned)r->sources.n, .target = p->target,
		.source_session = sync_end_of(run, true)->s,
		.target_session = sync_end_of(run, false)->s,
		.scan_below = scan_below, .scan_arg = run,
		.shown = r->mount, .names_only = r->names_only, .as = r->as,
		.target_made = run->target_made && *r->mount == '\0' };
	char *path = sync_path_below(run->target_path, r->mount);

	for (size_t i = 0; i < r->sources.n; i++) {
		char *named = sync_end_path(sync_end_of(run, true),
		    r->sources.v[i]);

		xstrlist_add(&p->source_roots, named);
		free(named);
	}
	pair.source_roots = (const char *const *)p->source_roots.v;
	pair.target_root = p->target_root = sync_end_path(
	    sync_end_of(run, false), path);
	add_locals(run, p);
	pair.locals = p->locals;
	add_dests(run, p, &pair);
	sync_must(sync_plan_add(run->plan, &pair));
	free(path);
}

static void
make_plan(struct sync_run *run)
{
	const struct sync_plan_params params = { .opts = &run->args.opts,
		.rules = run->args.rules, .ends = &run->ends, .up = run->up,
		.dests = &run->dests_inside,
		.here = run->both_here,
		/* Equal files belong into a manifest, too. */
		.every_file = run->args.manifest != NULL,
		.tell_equal = run->args.itemize > 1 || run->args.verbose > 1,
		.hooks = { .item = sync_tell_item, .note = sync_tell_note,
			.fail = sync_tell_fail, .compared = sync_event_plan,
			.vanished = sync_tell_vanished, .arg = run } };
	struct sync_pair_ends *p;

	sync_must(sync_plan_new(&run->plan, &params));
	TAILQ_FOREACH(p, &run->pairs, entry) {
		add_pair(run, p);
		if (sync_locks(run))
			sync_lock_take(run, p);
	}
}

static void
end_pairs(struct sync_run *run)
{
	struct sync_pair_ends *p;

	while ((p = TAILQ_FIRST(&run->pairs)) != NULL) {
		TAILQ_REMOVE(&run->pairs, p, entry);
		sync_lock_release(run, p);
		strlist_clear(&p->source_roots);
		strlist_clear(&p->dest_roots);
		for (size_t i = 0; p->dest_locals != NULL &&
		    i < run->dests.n; i++)
			local_dir_unref(p->dest_locals[i]);
		free(p->dest_locals);
		free(p->dests);
		strlist_clear(&p->as);
		for (size_t i = 0; i < p->n_locals; i++)
			local_dir_unref(p->locals[i]);
		free(p->locals);
		free(p->target_root);
		free(p->sources);
		free(p);
	}
}

/* ---- the run ------------------------------------------------------------ */

/* Ends the run. As long as there is no plan nothing was changed, and the server
 * may never answer, so the program ends at once. */
static void
stop(struct sync_run *run, enum sync_exit status)
{
	run->stop = true;
	run->stopped = status;
	if (run->plan != NULL || run->args.check != NULL)
		return;
	sync_manifest_end(run, false);
	exit(sync_report_end(run, status));
}

/* A second signal ends the program at once: a server that does not answer would
 * have it wait. */
static void
on_stop(void *arg, int signo)
{
	struct sync_run *run = arg;

	if (run->stop)
		exit(sync_report_end(run, run->stopped));
	stop(run, signo == SIGTERM ? SYNC_EXIT_AGAIN : SYNC_EXIT_SIGNAL);
}

static void
on_time(void *arg)
{
	stop(arg, SYNC_EXIT_AGAIN);
}

static void
catch_signals(struct sync_run *run)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGTERM };
	uint64_t left_ms;

	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		loop_on_signal_if_wanted(run->loop, signals[i], on_stop, run);
	if (run->args.seconds.stop_after == 0)
		return;
	left_ms = run->args.seconds.stop_after * 1000;
	left_ms -= MIN(left_ms, clock_ms() - run->started_ms);
	if (loop_after(run->loop, left_ms, on_time, run) == NULL)
		fatal("%s", err_text(ERR_NOMEM));
}

static void
plan_only(struct sync_run *run)
{
	struct xfer_order order;
	int r;

	while (!run->stop && (r = sync_plan_next(run->plan, &order)) != 0) {
		if (r == XFER_ORDERS_LATER)
			sync_hosts_turn(run, 1000);
		else if (r < 0 && sftp_error(run->host.s) != 0)
			sync_lost(run, sftp_error(run->host.s));
		else if (r < 0)
			sync_die(run, SYNC_EXIT_PARTIAL, "plan", err_text(r));
	}
}

static enum sync_exit
exit_of(const struct sync_run *run)
{
	if (run->stopped != SYNC_EXIT_OK)
		return run->stopped;
	if (sync_plan_deletes(run->plan) == SYNC_DELETE_TOO_MANY)
		return SYNC_EXIT_DELETES;
	if (run->full)
		return SYNC_EXIT_OUTPUT;
	if (run->partial ||
	    sync_plan_deletes(run->plan) == SYNC_DELETE_NOT_WHOLE)
		return SYNC_EXIT_PARTIAL;
	return run->vanished ? SYNC_EXIT_VANISHED : SYNC_EXIT_OK;
}

static enum sync_exit
check(struct sync_run *run)
{
	TAILQ_INIT(&run->roots);
	TAILQ_INIT(&run->pairs);
	run->target_path = run->target.remote ?
	    sync_host_path(run, &run->host, run->target.path) :
	    xstrdup(run->target.path);
	return sync_check(run);
}

/* Sets the umask that new files are planned with. The server applies its own,
 * so it is 0 here. Only with --chmod the run sets modes itself; then this
 * host's umask is taken for the other's, so that no file gets more open than it
 * would here. */
static void
set_umask(struct sync_run *run)
{
	mode_t mask = umask(0);

	(void)umask(mask);
	run->ends = (struct sync_ends){
		.umask_target = run->args.opts.chmod != NULL ? mask : 0 };
}

enum sync_exit
sync_run(struct sync_run *run)
{
	struct xfer_opts *x = &run->args.xfer;
	enum sync_exit status;

	sync_again_apply(run);
	sync_tell_begin(run);
	x->report = sync_tell_report;
	x->note = sync_tell_note;
	x->report_arg = run;
	x->stop = &run->stop;
	sync_manifest_begin(run);
	sync_receipt_begin(run);
	catch_signals(run);
	sync_hosts_open(run);
	if (run->args.check != NULL)
		return check(run);
	if (sync_job_gives())
		return sync_job_give(run);
	if ((run->tree = local_tree_new(0)) == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	sync_find_roots(run);
	find_target(run);
	if (run->args.given.direct != SYNC_DIRECT_NO)
		sync_direct_begin(run);
	sync_dests_find(run);
	set_umask(run);
	sync_chown_find(run);
	TAILQ_INIT(&run->pairs);
	sync_own_names(run);
	begin(run);
	take_abilities(run);
	sync_durable_check(run);
	sync_manifest_top(run);
	make_plan(run);
	sync_temp_make(run);
	if (run->args.opts.dry_run)
		plan_only(run);
	else
		sync_carry_out(run);
	sync_temp_end(run);
	sync_manifest_end(run, run->stopped == SYNC_EXIT_OK);
	sync_receipt_end(run, exit_of(run) == SYNC_EXIT_OK);
	sync_tell_sums(run);
	status = exit_of(run);
	sync_plan_free(run->plan);
	end_pairs(run);
	sync_names_clear(&run->roots);
	strlist_clear(&run->kept);
	strlist_clear(&run->dests);
	strlist_clear(&run->dests_inside);
	free(run->target_top);
	local_dir_unref(run->target_here);
	local_tree_free(run->tree);
	sync_owners_free(run->owners);
	sync_direct_free(run);
	free(run->own.groups);
	sync_hosts_close(run);
	return status;
}
