/* SPDX-License-Identifier: ISC */
#include "xfer/transfer/transfer.h"

#include <sys/resource.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"
#include "compat/bsd.h"
#include "crypto/rand.h"
#include "xfer/delta/delta.h"
#include "xfer/part-lock.h"
#include "xfer/transfer/transfer-internal.h"
#include "xfer/trees/transfer-meet.h"

enum {
	BUDGET_DEFAULT = 64 * 1024 * 1024,
	FILES_DEFAULT = 1024,
	FILES_NEAR = 512, /* over short paths more are no faster */
	FAR_MS = 20,
	FDS_SPARE = 192, /* for connections, and directories being read */
	FDS_BASE = 16, /* descriptors of a program that copies a file */
	/* The number of directories that are read at a time: one for each
	 * WALKING_SHARE files, at most WALKING_MAX. */
	WALKING_SHARE = 8,
	WALKING_MAX = 64,
	ACTIVE_MAX = 4096, /* active files, with those that are being renamed */
	STARTS_PER_TURN = 64,
	TICK_MS = 100,
};

/* --- life --- */

/* How many files may be open, of so many descriptors. */
static size_t
files_for(rlim_t fds)
{
	if (fds > 2 * FDS_SPARE)
		return (size_t)fds - FDS_SPARE;
	return fds > 2 * FDS_BASE ? (size_t)fds / 2 : 1;
}

static const struct xfer_found_ops found_ops = {
	.file = xfer_add_file,
	.dir_whole = xfer_settle_tree,
	.make_way = xfer_part_make_way,
};

int
xfer_new(struct xfer **out, const struct xfer_streams *streams, struct sftp *s,
    const struct xfer_opts *opts)
{
	struct xfer *x = calloc(1, sizeof *x);
	struct rlimit rl;

	if (x == NULL)
		return ERR_NOMEM;
	x->origin.ops = opts->unread ? &xfer_unread_origin :
				       &xfer_local_origin;
	x->found = &found_ops;
	if (streams != NULL)
		x->host = *streams;
	x->opts = *opts;
	if (x->opts.clock_ms == NULL)
		x->opts.clock_ms = clock_ms;
	if (x->opts.budget_bytes == 0)
		x->opts.budget_bytes = BUDGET_DEFAULT;
	x->files.max = opts->files_max != 0 ? opts->files_max : FILES_DEFAULT;
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0)
		x->files.max = MIN(x->files.max, files_for(rl.rlim_cur));
	x->dirs.walking_max = MIN(x->files.max / WALKING_SHARE,
	    (size_t)WALKING_MAX);
	x->grow.channels = 1;
	for (int depth = 0; depth < XFER_USUAL_DEPTHS; depth++)
		x->dirs.usual[depth] = XFER_NAMES_FIRST;
	x->dirs.names_max = XFER_NAMES_ROOM;
	TAILQ_INIT(&x->streams);
	TAILQ_INIT(&x->requests.unsent);
	TAILQ_INIT(&x->files.queue);
	TAILQ_INIT(&x->files.active);
	TAILQ_INIT(&x->files.done);
	TAILQ_INIT(&x->files.comparing);
	TAILQ_INIT(&x->files.touched);
	TAILQ_INIT(&x->dirs.waiting);
	TAILQ_INIT(&x->dirs.walking);
	TAILQ_INIT(&x->dirs.listing);
	TAILQ_INIT(&x->dirs.ready);
	TAILQ_INIT(&x->dirs.fixing);
	TAILQ_INIT(&x->dirs.looking);
	TAILQ_INIT(&x->dirs.all);
	do
		rand_bytes(&x->copy, sizeof x->copy);
	while (x->copy == XFER_COPY_UNKNOWN);
	x->umask = umask(0);
	umask(x->umask);
	if ((x->local = local_tree_new(0)) == NULL ||
	    xfer_stream_add(x, s, XFER_STREAM_CONNECTION, true) < 0) {
		local_tree_free(x->local);
		free(x);
		return ERR_NOMEM;
	}
	*out = x;
	return 0;
}

static void
files_free(struct xfer_files *list)
{
	struct xfer_file *f;

	while ((f = TAILQ_FIRST(list)) != NULL) {
		TAILQ_REMOVE(list, f, entry);
		f->dir = NULL; /* directories are freed by themselves */
		xfer_file_free(f);
	}
}

void
xfer_free(struct xfer *x)
{
	struct xfer_dir *d;

	if (x == NULL)
		return;
	x->over = true;
	xfer_digest_drain(x); /* digest threads still read files and use
			       * blocks */
	xfer_digest_free(x);
	xfer_hash_free(x);
	xfer_path_requests_free(x);
	files_free(&x->files.queue);
	files_free(&x->files.active);
	files_free(&x->files.done);
	TAILQ_FOREACH(d, &x->dirs.all, all)
		files_free(&d->held);
	xfer_deltas_free(x);
	xfer_hard_free(x);
	xfer_plan_free(x);
	xfer_meet_free(x->meet);
	xfer_space_free(x);
	xfer_dirs_free(x);
	xfer_between_free(x);
	xfer_orders_free(x);
	xfer_streams_free(x);
	xfer_blocks_free(x);
	local_tree_free(x->local);
	progress_end(x->opts.progress, x->opts.clock_ms());
	free(x->data.scratch);
	free(x->data.small);
	free(x->extras.first);
	free(x->left.first);
	free(x);
}

unsigned long
xfer_failures(const struct xfer *x)
{
	return x->failures;
}

uint64_t
xfer_matched(const struct xfer *x)
{
	return x->sum.bytes_matched;
}

/* --- files --- */

/* Finds the directory and the name of f on this host. Nothing to do for a
 * source at another host. False with errno. */
static bool
find_place(struct xfer_file *f)
{
	bool away = f->up && (f->x->origin.stream != NULL ||
	    f->x->opts.unread);

	if (away)
		return true;
	if (f->at != NULL) {
		f->name = local_last_name(f->local);
	} else if (f->dir != NULL) {
		f->at = local_dir_ref(f->dir->at);
		f->name = local_last_name(f->local);
	} else {
		f->at = local_place(f->x->local, f->local,
		    f->up ? LOCAL_LINKS_ALL : LOCAL_LINKS_OWN, &f->name);
	}
	return f->at != NULL;
}

/* True if a plan's target that is written in place is compared first, as with
 * -Z, so that only what differs is sent. */
static bool
compares_in_place(struct xfer *x, const struct xfer_found *found)
{
	const struct xfer_duty *d = found->duty;

	return x->opts.in_place && x->opts.delta && d != NULL && d->knows &&
	    !found->only_attrs && S_ISREG(d->was.mode) &&
	    d->was.size >= DELTA_FILE_MIN && found->attrs != NULL &&
	    found->attrs->size >= DELTA_FILE_MIN &&
	    xfer_has(x, SFTP_EXT_CHECK_FILE);
}

static struct xfer_file *
file_new(struct xfer *x, struct xfer_dir *dir, const struct xfer_found *found)
{
	struct xfer_file *f = x->stopped ? NULL : calloc(1, sizeof *f);

	if (f == NULL || found->local == NULL || found->remote == NULL)
		goto fail;
	*f = (struct xfer_file){ .x = x,
		.dir = dir,
		.at = found->at,
		.up = found->up,
		.local = found->local,
		.remote = found->remote,
		.links = found->links,
		.fd = -1,
		.part_number = 1,
		.resume = x->opts.resume || found->resume ||
		    compares_in_place(x, found),
		.only_attrs = found->only_attrs,
		.duty = found->duty,
		.small.target_is_new = found->target_is_new,
		.progress = XFER_PROGRESS_START };
	if (find_place(f))
		return f;
fail:
	free(f);
	return NULL;
}

int
xfer_add_file(struct xfer *x, struct xfer_dir *dir,
    const struct xfer_found *found)
{
	struct xfer_file *f = file_new(x, dir, found);

	if (f == NULL) {
		xfer_duty_free(found->duty);
		local_dir_unref(found->at);
		free(found->local);
		free(found->remote);
		return x->stopped ? 0 : ERR_NOMEM;
	}
	TAILQ_INIT(&f->handles);
	xfer_source_found(f, found->attrs, found->exact);
	xfer_plan_found(x, f->up ? f->remote : f->local);
	x->sum.files++;
	x->sum.bytes += f->source.attrs.size;
	if (!f->only_attrs)
		xfer_space_add(f);
	progress_found(x->opts.progress, &f->item,
	    f->source.attrs.flags & SFTP_A_SIZE ? f->source.attrs.size : 0);
	if (dir != NULL)
		dir->refs++;
	if (dir == NULL || xfer_dir_is_there(dir)) {
		xfer_queue_file(f);
	} else {
		TAILQ_INSERT_TAIL(&dir->held, f, entry);
		x->files.held++;
	}
	return 0;
}

bool
xfer_file_wait_for_fds(struct xfer_file *f, int error)
{
	struct xfer_file_lists *files = &f->x->files;
	/* Files beside f that hold a descriptor. */
	size_t others =
	    files->active_count - files->renaming - files->small - 1;

	if ((error != EMFILE && error != ENFILE) || others == 0 ||
	    f->x->stopped)
		return false;
	files->max = MIN(files->max, MAX(others / 2, (size_t)1));
	xfer_opening_waits(f, true);
	return true;
}

static size_t
files_at_once(const struct xfer *x)
{
	size_t most = MIN(x->files.max, xfer_between_files(x));

	return x->measured.rtt_ms < FAR_MS ? MIN(most, (size_t)FILES_NEAR) :
					     most;
}

/* Starts queued files. True if more could be started at once. */
static bool
start_files(struct xfer *x)
{
	struct xfer_file *f;
	int started = 0;

	while ((f = TAILQ_FIRST(&x->files.queue)) != NULL &&
	    x->files.active_count - x->files.renaming - x->files.small <
		files_at_once(x) &&
	    x->files.active_count < ACTIVE_MAX && xfer_stream_pick(x) != NULL &&
	    !xfer_small_waits(x, f) && !xfer_parts_wait(x, f) &&
	    !xfer_orders_wait(x, f) && !xfer_delta_waits(x, f)) {
		if (started++ == STARTS_PER_TURN)
			return true;
		TAILQ_REMOVE(&x->files.queue, f, entry);
		x->files.queued--;
		TAILQ_INSERT_TAIL(&x->files.active, f, entry);
		x->files.active_count++;
		xfer_file_start(f);
	}
	return false;
}

/* --- queueing and running --- */

#define IS_DIRECTORY "is a directory (use -r)"

static int
add_root(struct xfer *x, const struct xfer_found *found)
{
	const char *target = found->up ? found->remote : found->local;
	unsigned meets = 0;

	if (target != NULL)
		meets = xfer_meet_note(x, NULL, target, NULL);
	return xfer_meet_take(x, NULL, meets, found);
}

/* Adds a source on this host: `name` in the directory `above`. */
static int
add_local(struct xfer *x, struct local_dir *above, const char *name,
    const char *local, const char *remote, bool is_new)
{
	enum local_links links =
	    x->opts.links ? LOCAL_LINKS_NONE : LOCAL_LINKS_ALL;
	struct xfer_exact exact;
	struct sftp_attrs attrs;
	struct local_dir *at;
	struct stat st;

	if (local_stat(above, name, links, &st) != 0) {
		xfer_report_tried(x, XFER_TRIED_STAT_LOCAL, local,
		    local_error_text(errno));
		return 0;
	}
	sftp_attrs_from_stat(&attrs, &st);
	xfer_exact_from_stat(&exact, &st);
	if (!S_ISDIR(st.st_mode))
		return add_root(x, &(struct xfer_found){
			.up = true, .links = links, .local = strdup(local),
			.remote = strdup(remote), .attrs = &attrs,
			.target_is_new = is_new });
	if (!x->opts.recursive) {
		xfer_report(x, local, IS_DIRECTORY);
		return 0;
	}
	at = local_child(above, name, &st, links);
	return at == NULL ? ERR_NOMEM : add_root(x,
	    &(struct xfer_found){ .up = true, .at = at,
		.local = strdup(local), .remote = strdup(remote),
		.attrs = &attrs, .exact = &exact });
}

static int
put(struct xfer *x, const char *local, const char *remote, bool is_new)
{
	const char *name;
	struct local_dir *above =
	    local_place(x->local, local, LOCAL_LINKS_ALL, &name);
	int r;

	if (above == NULL)
		return ERR_NOMEM;
	if (!xfer_plan_root(x, remote))
		r = ERR_NOMEM;
	else
		r = add_local(x, above, name, local, remote, is_new);
	local_dir_unref(above);
	return r;
}

int
xfer_put(struct xfer *x, const char *local, const char *remote)
{
	return put(x, local, remote, false);
}

int
xfer_put_new(struct xfer *x, const char *local, const char *remote)
{
	return put(x, local, remote, true);
}

/* Adds a source on a server. */
static int
add_named(struct xfer *x, bool up, const char *local, const char *remote,
    const struct sftp_attrs *attrs)
{
	bool dir = (attrs->flags & SFTP_A_MODE) && S_ISDIR(attrs->mode);
	bool file = (attrs->flags & SFTP_A_MODE) == 0 ||
	    S_ISREG(attrs->mode) ||
	    (S_ISLNK(attrs->mode) && x->opts.links);

	if (file)
		return add_root(x, &(struct xfer_found){ .up = up,
			.links = xfer_target_links(x), .local = strdup(local),
			.remote = strdup(remote), .attrs = attrs });
	if (dir && x->opts.recursive)
		return add_root(x, &(struct xfer_found){ .up = up,
			.local = strdup(local), .remote = strdup(remote),
			.attrs = attrs });
	xfer_report(x, up ? local : remote,
	    dir ? IS_DIRECTORY : "not a regular file");
	return 0;
}

int
xfer_get(struct xfer *x, const char *remote, const struct sftp_attrs *attrs,
    const char *local)
{
	if (!xfer_plan_root(x, local))
		return ERR_NOMEM;
	return add_named(x, false, local, remote, attrs);
}

int
xfer_copy(struct xfer *x, const char *source, const struct sftp_attrs *attrs,
    const char *target)
{
	ENSURE(x->origin.stream != NULL);
	return add_named(x, true, source, target, attrs);
}

int
xfer_made(struct xfer *x, bool up, const char *dir)
{
	struct local_dir *above = NULL;
	const char *name;

	if (!up && (above = local_place(x->local, dir, LOCAL_LINKS_OWN,
	    &name)) == NULL)
		return ERR_NOMEM;
	xfer_settle_dir(x, dir, above);
	local_dir_unref(above);
	return 0;
}

/* The shorter of two timeouts; a negative one is endless. */
static int
sooner(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

static int
wait_ms(struct xfer *x)
{
	int ms = -1, rate = xfer_rate_wait_ms(x);

	/* The loop must wake up regularly where progress is shown, streams are
	 * measured, or the end of a further session has to be noticed. */
	if (x->opts.progress != NULL || x->host.ops != NULL ||
	    x->origin.stream != NULL)
		ms = TICK_MS;
	if (rate > 0)
		ms = sooner(ms, rate);
	ms = sooner(ms, xfer_digest_wait_ms(x));
	ms = sooner(ms, xfer_hash_wait_ms(x));
	return sooner(ms, xfer_delta_wait_ms(x));
}

static void
reap(struct xfer *x)
{
	struct xfer_file *f;

	while ((f = TAILQ_FIRST(&x->files.done)) != NULL) {
		TAILQ_REMOVE(&x->files.done, f, entry);
		if (!xfer_hash_takes(f))
			xfer_file_free(f);
	}
}

static bool
any_answers(const struct xfer *x)
{
	const struct xfer_stream *l;

	TAILQ_FOREACH(l, &x->streams, entry)
		if (sftp_has_version(l->s))
			return true;
	return false;
}

static void
show_progress(struct xfer *x)
{
	struct progress *p = x->opts.progress;
	struct xfer_file *f = TAILQ_FIRST(&x->files.active);

	/* Until the login is over, others may write to the terminal, or ask
	 * something. */
	progress_wait(p, !x->retry.answered && !any_answers(x));
	progress_streams(p, x->stream_count);
	if (x->dirs.any)
		progress_listing(p, !xfer_listed(x));
	progress_tick(p, f != NULL ? &f->item : NULL, x->opts.clock_ms());
}

/* Has the ranges moved that deltas have found to be different. */
static void
turn_deltas(struct xfer *x)
{
	struct xfer_handle *e;
	struct xfer_file *f;

	xfer_delta_collect(x);
	while ((f = xfer_delta_turn(x)) != NULL) {
		TAILQ_FOREACH(e, &f->handles, entry)
			xfer_handle_wake(e);
		xfer_file_touch(f);
	}
}

/* Stops the transfer: nothing new begins, but requests under way are answered,
 * and files closed. */
static void
stop(struct xfer *x)
{
	struct xfer_file *f, *next;

	x->stopped = true;
	while ((f = TAILQ_FIRST(&x->files.queue)) != NULL) {
		TAILQ_REMOVE(&x->files.queue, f, entry);
		x->files.queued--;
		progress_drop(x->opts.progress, &f->item);
		TAILQ_INSERT_TAIL(&x->files.done, f, entry);
	}
	xfer_dirs_stop(x);
	for (f = TAILQ_FIRST(&x->files.active); f != NULL; f = next) {
		next = TAILQ_NEXT(f, entry);
		xfer_file_stop(f);
	}
}

static bool
all_done(const struct xfer *x)
{
	return x->files.queued == 0 && x->files.active_count == 0 &&
	    x->requests.count == 0 && TAILQ_EMPTY(&x->dirs.all) &&
	    xfer_hash_count(x) == 0 && xfer_orders_done(x);
}

/* Runs a turn of the loop, and counts what its time was spent on. What is
 * neither computation nor reading and writing of files is waiting. */
static int
turn(struct xfer *x, bool more)
{
	uint64_t disk = x->spent.disk, cpu, from, took, *why;
	int r;

	if (!x->opts.explain)
		return xfer_streams_turn(x, more, wait_ms(x));
	why = xfer_rate_wait_ms(x) > 0 ? &x->spent.limit : &x->spent.waiting;
	cpu = clock_thread_us();
	from = clock_us();
	r = xfer_streams_turn(x, more, wait_ms(x));
	took = clock_us() - from;
	cpu = clock_thread_us() - cpu + x->spent.disk - disk;
	*why += took > cpu ? took - cpu : 0;
	return r;
}

static int
run(struct xfer *x)
{
	bool more;
	int r;

	for (;;) {
		xfer_files_settle(x);
		r = xfer_streams_check(x);
		if (r < 0)
			return r;
		if (x->opts.stop != NULL && *x->opts.stop && !x->stopped)
			stop(x);
		if (x->full && !x->stopped)
			stop(x);
		xfer_space_turn(x);
		xfer_path_requests_send(x);
		xfer_there_issue(x);
		more = xfer_list(x);
		more |= start_files(x);
		xfer_streams_spread(x);
		xfer_compare_issue(x);
		turn_deltas(x);
		/* What was settled may have data to move now. */
		do
			xfer_issue(x);
		while (xfer_files_settle(x));
		/* Freed files may let their directories end. */
		reap(x);
		xfer_dirs_fix(x);
		more |= xfer_hash_turn(x);
		more |= xfer_orders_turn(x);
		if (all_done(x))
			return x->stopped && !x->full ? ERR_CANCELLED : 0;
		xfer_streams_grow(x);
		r = turn(x, more);
		if (r < 0)
			return r;
		show_progress(x);
	}
}

/* Reports the error of requests that failed with their stream. The run has not
 * ended by that error, so nothing else reports it. */
static void
tell_unsaid(struct xfer *x)
{
	if (x->unsaid.count > 0 && x->opts.report != NULL)
		x->opts.report(x->opts.report_arg, NULL, "connection",
		    err_text(x->unsaid.err));
	x->unsaid.count = 0;
}

/* Tells of parts that were left alone. Only the user can know whether they may
 * be removed: a copy that is under way may be writing them. */
static void
tell_left(struct xfer *x)
{
	char text[160];

	if (x->left.count == 0)
		return;
	snprintf(text, sizeof text, "left alone (%lu such): what a copy that "
	    "was killed has left, or another one is writing", x->left.count);
	xfer_note(x, x->left.first, text);
	x->left.count = 0;
	free(x->left.first);
	x->left.first = NULL;
}

static void
tell_extras(struct xfer *x)
{
	if (x->extras.first == NULL)
		return;
	xfer_note(x, x->extras.first, x->extras.more ?
		"has extended attributes or an ACL, as others have: these were "
		"not copied" :
		"has extended attributes or an ACL: these were not copied");
	free(x->extras.first);
	x->extras.first = NULL;
	x->extras.more = false;
}

int
xfer_run(struct xfer *x)
{
	uint64_t from = clock_us();
	int r = run(x);

	x->spent.all += clock_us() - from;
	tell_left(x);
	tell_extras(x);
	if (r == 0)
		tell_unsaid(x);
	return r;
}
