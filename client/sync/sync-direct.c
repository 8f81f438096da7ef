/* SPDX-License-Identifier: ISC */
/*
 * --direct: the data of files goes from the source's host to the target's, and
 * does not come by here. A batch of files comes to a new directory in the
 * target's top, the stage, each under its number there. When nobody else can
 * write there any more, this run's own login at the target looks at what has
 * come, and gives it its attributes and its place.
 */
#include "client/sync/sync-run.h"

#include <sys/stat.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/called.h"
#include "base/clock.h"
#include "base/mem.h"
#include "client/copy/direct-grant.h"
#include "client/copy/direct-program.h"
#include "client/copy/direct-progress.h"
#include "client/copy/direct-wire.h"
#include "compat/bsd-mem.h"
#include "crypto/rand.h"
#include "xfer/sftp/sftp-rights.h"
#include "xfer/sync/sync-path.h"
#include "xfer/transfer/transfer-orders.h"

enum {
	EXIT_LOST = 255, /* exit status of hpnssh and hpnscp */
	TURN_MS = 1000,
	ASKED_MAX = 1000, /* requests that are under way together */
	ORDERS_MAX = 100 * 1000,
	/* The plan may wait until the orders that it has given are done. */
	PATIENCE_MS = 2000,
};

/* A file of a batch; its number is that of its row, from 1 on. */
struct sync_staged {
	const struct xfer_order *order; /* borrowed */
	bool told; /* the other program says that it is there */
	bool come; /* it is there, with the size of the plan */
	struct sync_sum sum;    /* that the other program tells */
	struct sync_sum theirs; /* of the host that has given the grant */
	char *path; /* owned; in the stage, as the session names it */
	char *why;  /* owned; why it has not come, as was told; NULL: unknown */
	const char *differs; /* static; why it is not to get its place though
			      * it has come; NULL: it may */
};

struct sync_direct {
	struct sync_run *run;
	/* Both directories have names that nobody can guess. Others who may
	 * write to the target's top see the outer one's, but cannot read it.
	 * Paths below the top. */
	char *outer, *inner;
	bool made; /* the stage is there */
	bool pull; /* the target's host connects to the source's */
	bool verify;
	struct sync_staged *files;
	size_t n;
	char *rest; /* owned; as struct sync_staged's why, of all files that
		     * have none; NULL: unknown */
	/* What was told last of a file that has not come, and of how many
	 * further ones it is true. */
	char *reason; /* owned; NULL: nothing yet */
	uint64_t more;
	bool failed; /* some file of a batch has not got to its place */
	bool told_deletes;
};

/* ---- before the run ------------------------------------------------------ */

void
sync_direct_check(const struct sync_run *run)
{
	const struct sync_args *a = &run->args;
	const struct sync_opts *o = &a->opts;
	const struct {
		bool given;
		const char *option, *instead;
	} rows[] = {
		{ o->in_place, "--inplace and --append-verify",
		    "leave it out: files come whole" },
		{ a->whole == 0, "--no-whole-file",
		    "leave it out: files come whole" },
		{ o->one_file.similar || o->one_file.renamed,
		    "--fuzzy and --detect-renames",
		    "leave it out: files come whole" },
		{ a->dests.n > 0, "--link-dest, --compare-dest and "
		    "--copy-dest", "run hpnsync on one of the hosts" },
		{ o->one_file.hard_links, "-H", "run hpnsync on one of the "
		    "hosts" },
		{ o->also.xattrs || o->also.acls, "-X and -A",
		    "run hpnsync on one of the hosts" },
		{ o->copy_links || o->copy_dirlinks, "-L and -k",
		    "run hpnsync on one of the hosts" },
		{ o->remove_source, "--remove-source-files",
		    "remove them afterwards" },
		{ a->temp_dir != NULL, "--temp-dir",
		    "files come to a new directory in the target" },
		{ a->manifest != NULL, "--manifest", "hpnsync on one of the "
		    "hosts makes it" },
		{ a->report.path != NULL, "--report", "--stats or --json" },
		{ a->check != NULL, "--check", "it is of one tree" },
		{ a->given.job.plan != NULL || a->given.job.shard != NULL ||
		    a->given.job.grant != NULL || a->given.job.finish != NULL,
		    "--plan, --grant, --shard and --finish",
		    "run hpnsync on one of the hosts" },
		{ a->ssh_program != NULL, "-e with another program",
		    "-e 'hpnssh ...'" },
		{ a->sftp_server != NULL, "--sftp-server",
		    "run hpnsync on one of the hosts" },
		{ a->compress, "-z", "leave it out" },
		{ a->connections_given, "-j", "leave it out" },
		{ a->retry_given && a->xfer.retries > 0, "--retry",
		    "run it again" },
	};

	if (a->given.direct == SYNC_DIRECT_NO)
		return;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!rows[i].given)
			continue;
		fprintf(stderr, "%s: %s is not here with --direct: %s\n",
		    called_name("hpnsync"), rows[i].option, rows[i].instead);
		exit(SYNC_EXIT_REFUSED);
	}
}

void
sync_direct_begin(struct sync_run *run)
{
	struct sync_direct *d = xcalloc(1, sizeof *d);
	uint64_t random[2];

	d->pull = run->args.given.direct == SYNC_DIRECT_PULL;
	d->verify = run->args.xfer.verify || run->host.copy.verify ||
	    run->out.receipt != NULL;
	/* The host that gives the grant is asked for the digests of its
	 * files. */
	if (d->verify &&
	    !sftp_has(sync_end_of(run, d->pull)->s, SFTP_EXT_CHECK_FILE))
		sync_die(run, SYNC_EXIT_REFUSED, run->out.receipt != NULL ?
			"--receipt" : "--verify", d->pull ?
			"the source's server has no digests" :
			"the target's server has no digests");
	rand_bytes(random, sizeof random);
	xasprintf(&d->outer, ".hpnsync-direct-%016llx",
	    (unsigned long long)random[0]);
	xasprintf(&d->inner, "%s/%016llx", d->outer,
	    (unsigned long long)random[1]);
	/* It is no name of the target that --delete would delete. */
	xstrlist_add(&run->dests_inside, d->outer);
	d->run = run;
	run->direct = d;
	sync_receipt_who(run);
}

void
sync_direct_tell_left(struct sync_run *run)
{
	if (run->direct != NULL && run->direct->made)
		sync_tell_note(run, run->direct->outer,
		    "is left in the target");
}

void
sync_direct_free(struct sync_run *run)
{
	if (run->direct == NULL)
		return;
	free(run->direct->outer);
	free(run->direct->inner);
	free(run->direct->reason);
	free(run->direct->rest);
	free(run->direct);
	run->direct = NULL;
}

/* What brings the files. */
struct bringer {
	struct sync_direct *d;
	struct direct_program program;
	struct direct_grant grant;
	struct direct_progress progress;
	bool heard; /* the program has told something of a file */
};

/* ---- the stage ----------------------------------------------------------- */

/* A path below the target as its session names it. The caller frees it. */
static char *
named(const struct sync_direct *d, const char *path)
{
	char *full = sync_path_below(d->run->target_path, path);
	char *as = sync_end_path(sync_end_of(d->run, false), full);

	free(full);
	return as;
}

static void clear_stage(struct sync_direct *d);

static void
make_stage(struct sync_direct *d)
{
	const struct sftp_attrs attrs = { .flags = SFTP_A_MODE,
		.mode = S_IRWXU };
	struct sync_run *run = d->run;
	struct sftp *s = sync_end_of(run, false)->s;
	char *outer = named(d, d->outer), *inner = named(d, d->inner);
	int r = sftp_call_mkdir(s, outer, &attrs);

	if (r == 0) {
		d->made = true;
		r = sftp_call_mkdir(s, inner, &attrs);
	}
	if (r < 0)
		sync_lost(run, r);
	if (r > 0) {
		clear_stage(d);
		sync_die(run, SYNC_EXIT_OUTPUT, d->outer, sftp_call_words(r));
	}
	for (size_t i = 0; i < d->n; i++)
		xasprintf(&d->files[i].path, "%s/%zu", inner, i + 1);
	free(outer);
	free(inner);
}

/* Requests that are under way, and those that were refused. */
struct asked {
	size_t left, refused;
};

static void
on_removed(void *arg, const struct sftp_reply *reply)
{
	struct asked *a = arg;

	a->refused += reply->err != 0 || (reply->status != SFTP_OK &&
	    reply->status != SFTP_NO_SUCH_FILE);
	a->left--;
}

/* Waits until few enough requests are under way. */
static void
wait_for(struct sync_run *run, struct asked *a, size_t most)
{
	while (a->left > most)
		sync_hosts_turn(run, TURN_MS);
}

/* Removes a directory. True: it is gone. */
static bool
remove_dir(struct sync_run *run, const char *path)
{
	struct asked a = { .left = 1 };

	sftp_path_request(sync_end_of(run, false)->s, SFTP_RMDIR, path,
	    on_removed, &a);
	wait_for(run, &a, 0);
	return a.refused == 0;
}

/* Removes what the stage has of the batch. */
static void
remove_files(struct sync_direct *d)
{
	struct sftp *s = sync_end_of(d->run, false)->s;
	struct asked a = { .left = 0 };

	for (size_t i = 0; i < d->n; i++) {
		if (d->files[i].path == NULL)
			continue;
		wait_for(d->run, &a, ASKED_MAX);
		a.left++;
		sftp_path_request(s, SFTP_REMOVE, d->files[i].path, on_removed,
		    &a);
	}
	wait_for(d->run, &a, 0);
}

/* Removes the stage, which is empty when all has got to its place, and else
 * what it has of the batch. What more is in it stays, and is told. */
static void
clear_stage(struct sync_direct *d)
{
	struct sync_run *run = d->run;
	char *inner = named(d, d->inner), *outer = named(d, d->outer);

	if (d->made && !remove_dir(run, inner)) {
		remove_files(d);
		(void)remove_dir(run, inner);
	}
	if (d->made && !remove_dir(run, outer))
		sync_tell_fail(run, outer, "is left, with what has no place");
	d->made = false;
	free(d->rest);
	d->rest = NULL;
	for (size_t i = 0; i < d->n; i++) {
		free(d->files[i].path);
		free(d->files[i].why);
	}
	free(inner);
	free(outer);
	free(d->files);
	d->files = NULL;
	d->n = 0;
}

/* ---- what has come ------------------------------------------------------- */

struct look {
	struct asked *all;
	struct sync_staged *file;
};

static void
on_look(void *arg, const struct sftp_reply *reply)
{
	struct look *l = arg;
	const struct sftp_attrs *a = &reply->attrs;
	const uint32_t both = SFTP_A_MODE | SFTP_A_SIZE;

	l->file->come = reply->err == 0 && reply->type == SFTP_ATTRS &&
	    (a->flags & both) == both && S_ISREG(a->mode) &&
	    a->size == l->file->order->attrs->size;
	l->all->left--;
}

/* Looks at the files. What is no regular file of the plan's size has not
 * come, whatever was told. */
static void
look_at_all(struct sync_direct *d)
{
	struct look *looks = xcalloc(d->n, sizeof *looks);
	struct asked all = { .left = 0 };

	for (size_t i = 0; i < d->n; i++) {
		if (!d->files[i].told)
			continue;
		looks[i] = (struct look){ &all, &d->files[i] };
		wait_for(d->run, &all, ASKED_MAX);
		all.left++;
		sftp_path_request(sync_end_of(d->run, false)->s, SFTP_LSTAT,
		    d->files[i].path, on_look, &looks[i]);
	}
	wait_for(d->run, &all, 0);
	free(looks);
}

/* Compares what has come at both hosts: the digest that the other program has
 * told with that of the host which gave the grant, by this run's login
 * there. */
static void
compare_all(struct sync_direct *d, const char *top)
{
	struct sync_run *run = d->run;
	struct sync_compared *v = xcalloc(d->n, sizeof *v);
	struct sync_staged *f;
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++) {
		f = &d->files[i];
		if (f->come && !f->sum.is)
			f->differs = d->pull ?
			    "the target's host has told no digest of it" :
			    "the source's host has told no digest of it";
		if (f->come && f->sum.is)
			v[n++] = (struct sync_compared){ .sum = &f->sum,
				.path = d->pull ?
				    sync_path_below(top, f->order->local) :
				    xstrdup(f->path),
				.why = &f->differs, .theirs = &f->theirs };
	}
	sync_compare(run, sync_end_of(run, d->pull), v, n);
	for (size_t i = 0; i < n; i++)
		free(v[i].path);
	free(v);
	for (size_t i = 0; i < d->n; i++)
		d->files[i].come &= d->files[i].differs == NULL;
}

/* ---- who brings it ------------------------------------------------------- */

/* Takes what the other program tells of a file, or of all others. True: it is
 * of one. */
static bool
take_file(struct sync_direct *d, bool sent, struct rd *r)
{
	uint32_t number = rd_u32(r);
	char *why = sent ? NULL : rd_cstring(r, DIRECT_WHY_MAX);
	char **kept = &d->rest;

	if (rd_end(r) == 0 && number <= d->n) {
		if (number > 0) {
			d->files[number - 1].told |= sent;
			kept = &d->files[number - 1].why;
		}
		if (!sent && *kept == NULL)
			*kept = xstr_escape(why);
	}
	free(why);
	return number > 0;
}

static void
take_sum(struct sync_direct *d, struct rd *r)
{
	uint32_t number = rd_u32(r);
	struct span sum = rd_string(r);
	struct sync_staged *f;

	if (rd_end(r) != 0 || number == 0 || number > d->n ||
	    sum.len != sizeof f->sum.sum)
		return;
	f = &d->files[number - 1];
	memcpy(f->sum.sum, sum.p, sizeof f->sum.sum);
	f->sum.is = true;
}

static void
take(void *arg, struct span message)
{
	struct bringer *b = arg;
	struct rd r = rd_from_span(message);
	uint8_t type = rd_u8(&r);

	if (type == DIRECT_SENT || type == DIRECT_NOT_SENT) {
		b->heard |= take_file(b->d, type == DIRECT_SENT, &r);
	} else if (type == DIRECT_LIST_SUM) {
		take_sum(b->d, &r);
	} else {
		direct_progress_take(&b->progress, message);
		b->heard |= b->progress.told.bytes > 0;
	}
}

static void
turn(void *arg)
{
	struct bringer *b = arg;

	sync_hosts_turn(b->d->run, TURN_MS);
	direct_progress_tick(&b->progress);
}

/* The job; the caller clears it, without its host and user. */
static struct direct_job
job_of(const struct bringer *b, const char *top)
{
	const struct sync_direct *d = b->d;
	const struct xfer_opts *x = &d->run->args.xfer;
	struct direct_job job = {
		.flags = DIRECT_LIST | (b->d->pull ? DIRECT_PULL : 0u) |
		    (x->fsync ? DIRECT_FSYNC : 0u) |
		    (d->verify ? DIRECT_SUMS : 0u) |
		    (x->sparse ? DIRECT_SPARSE : 0u) |
		    (x->check_space ? 0u : DIRECT_NO_SPACE_CHECK) |
		    (d->run->args.json ? DIRECT_FILES : 0u),
		.rate_bytes = x->rate_bytes };

	direct_grant_address(&b->grant, &job);
	xstrlist_add(&job.sources, top);
	job.sizes = xcalloc(d->n, sizeof *job.sizes);
	for (size_t i = 0; i < d->n; i++) {
		xstrlist_add(&job.sources, d->files[i].order->local);
		job.sizes[i] = d->files[i].order->attrs->size;
	}
	return job;
}

/* Waits until all has come, or the run is to end. Returns the exit status of
 * the other program. */
static int
bring(struct bringer *b, const char *top)
{
	struct direct_job job = job_of(b, top);
	int r = direct_program_send(&b->program, &job);

	job.host = job.user = NULL; /* borrowed */
	direct_job_clear(&job);
	while (r == 0 && !b->program.ended && !b->d->run->stop)
		turn(b);
	if (b->d->run->stop && b->program.child != 0)
		(void)kill(b->program.child, SIGTERM);
	return direct_program_end(&b->program);
}

/* Why there can be no copy from host to host (static); NULL: it was made, or
 * the run is to end. source and stage are absolute paths. */
static const char *
try(struct bringer *b, const char *source, const char *stage)
{
	struct sync_run *run = b->d->run;
	const uint32_t rights = SFTP_MAY_LIST | (b->d->pull ? SFTP_MAY_READ :
		SFTP_MAY_MAKE | SFTP_MAY_CHANGE);
	int r;

	direct_program_start(&b->program, &run->args.ssh,
	    b->d->pull ? &run->target : &run->sources[0], run->args.port);
	while (!direct_program_hello(&b->program) && !b->program.ended &&
	    !run->stop)
		turn(b);
	if (run->stop)
		return NULL;
	if (b->program.key.len == 0)
		return b->d->pull ? "hpnscp does not run on the target's host" :
				 "hpnscp does not run on the source's host";
	r = direct_grant_get(&b->grant, b->program.key,
	    b->d->pull ? source : stage, rights, DIRECT_GRANT_CONNECTIONS);
	if (r == ERR_UNSUPPORTED)
		return b->d->pull ? "the source's host runs no hpnsshd" :
				 "the target's host runs no hpnsshd";
	if (r != 0)
		return b->d->pull ?
		    "the source's host gives no grant (TransferGrants)" :
		    "the target's host gives no grant (TransferGrants)";
	sync_receipt_grant(run, &b->grant, b->program.key,
	    b->d->pull ? source : stage);
	r = bring(b, b->d->pull ? stage : source);
	if (!direct_grant_end(&b->grant))
		return "it does not end: the other host may still write "
		       "there";
	if (r == EXIT_LOST && !b->heard && !run->stop)
		return b->d->pull ?
		    "the target's host has no connection to the source's" :
		    "the source's host has no connection to the target's";
	return NULL;
}

/* The real path of a source's root that the session names so. */
static const char *
real_of(const struct sync_run *run, const char *top)
{
	const struct sync_pair_ends *p;

	TAILQ_FOREACH(p, &run->pairs, entry)
		for (size_t i = 0; i < p->source_roots.n; i++)
			if (p->source_roots.v[i] == top)
				return p->root->sources.v[i];
	return top;
}

/* Has the files brought to the stage, all of which are below the directory top,
 * as the source's session names it. Ends the program if that cannot be done at
 * all. */
static void
fill_stage(struct sync_direct *d, const char *top)
{
	struct sync_run *run = d->run;
	struct bringer b = { .d = d,
		.progress = { .p = run->args.xfer.progress } };
	char *stage = sync_path_below(run->target_path, d->inner);
	const char *why;

	b.program = (struct direct_program){ .loop = run->loop, .take = take,
		.arg = &b, .in = -1, .out = -1 };
	b.grant = (struct direct_grant){ .turn = turn, .arg = &b,
		.remote = sync_end_of(run, d->pull)->remote };
	make_stage(d);
	why = try(&b, real_of(run, top), stage);
	direct_program_clear(&b.program);
	direct_progress_end(&b.progress);
	free(stage);
	if (why != NULL) {
		clear_stage(d);
		sync_die(run, b.grant.is ? SYNC_EXIT_UNREACHABLE :
			SYNC_EXIT_REFUSED, "--direct", why);
	}
	look_at_all(d);
	if (d->verify)
		compare_all(d, top);
}

struct planned {
	struct xfer_order order;
	struct sync_staged *file; /* its data; NULL: it has none */
};

/* Orders that are carried out together, of which the plan keeps what they point
 * to until they are done. */
struct batch {
	struct sync_direct *d;
	struct planned *v;
	size_t n, room;
	size_t files, bytes; /* files whose data has to come; of their paths */
	const char *top;     /* that these files are below */
	size_t at;	     /* the next one to be given out */
	size_t file;	     /* the next one to get its attributes */
};

/* ---- batches ------------------------------------------------------------- */

/* Is it a file whose data has to come? */
static bool
is_data(const struct xfer_order *o)
{
	return o->kind == XFER_ORDER_COPY && S_ISREG(o->attrs->mode) &&
	    o->link == NULL;
}

/* Belongs the order into another batch? Files come from below one directory;
 * the stage has gone before names are deleted, and before directories get
 * their times. */
static bool
is_beyond(const struct batch *b, const struct xfer_order *o)
{
	if (b->n >= ORDERS_MAX)
		return true;
	if (b->files == 0)
		return false;
	if (!is_data(o))
		return o->kind == XFER_ORDER_DELETE ||
		    o->kind == XFER_ORDER_DELETE_DIR ||
		    o->kind == XFER_ORDER_DIR_ATTRS || o->waits;
	return o->top != b->top || b->files + 1 >= DIRECT_SOURCES_MAX ||
	    b->bytes + strlen(o->local) > DIRECT_MESSAGE_MAX / 2;
}

static void
add(struct batch *b, const struct xfer_order *o)
{
	if (b->n == b->room) {
		b->room = b->room == 0 ? 64 : b->room * 2;
		b->v = reallocarray(b->v, b->room, sizeof *b->v);
		sync_must(b->v == NULL ? ERR_NOMEM : 0);
	}
	b->v[b->n++] = (struct planned){ .order = *o };
	if (!is_data(o))
		return;
	b->top = o->top;
	b->files++;
	b->bytes += strlen(o->local) + 2 * sizeof(uint64_t);
}

/* Adds orders of the plan. held: the order that belongs into the next batch;
 * its kind is set from *holds. False: there are no more. */
static bool
collect(struct batch *b, struct xfer_order *held, bool *holds)
{
	struct sync_run *run = b->d->run;
	uint64_t since = clock_ms();
	struct xfer_order o;
	int r;

	if (*holds)
		add(b, held);
	*holds = false;
	while (!run->stop && (r = sync_plan_next(run->plan, &o)) != 0) {
		if (r < 0) {
			if (sftp_error(run->host.s) != 0)
				sync_lost(run, sftp_error(run->host.s));
			sync_tell_fail(run, "plan", err_text(r));
			b->d->failed = true;
			return false;
		}
		if (r == XFER_ORDERS_LATER) {
			if (b->n > 0 && clock_ms() - since > PATIENCE_MS)
				return true;
			sync_hosts_turn(run, 100);
			continue;
		}
		since = clock_ms();
		if (is_beyond(b, &o)) {
			*held = o;
			*holds = true;
			return true;
		}
		add(b, &o);
	}
	return false;
}

/* ---- what is done with them ---------------------------------------------- */

/* Gives the files of the stage their attributes, while nobody knows them by
 * their names. */
static int
next_attrs(void *arg, struct xfer_order *out)
{
	struct batch *b = arg;
	const struct sync_direct *d = b->d;
	const struct sync_staged *f;

	while (b->file < d->n) {
		f = &d->files[b->file++];
		if (!f->come)
			continue;
		*out = (struct xfer_order){ .kind = XFER_ORDER_ATTRS,
			.local = f->order->local, .remote = f->path,
			.attrs = f->order->attrs, .exact = f->order->exact,
			.id = b->file - 1 };
		return 1;
	}
	return 0;
}

static void
attrs_done(void *arg, uint64_t id, bool ok, uint64_t bytes)
{
	struct batch *b = arg;

	(void)bytes;
	b->d->files[id].come &= ok;
}

/* Tells of how many further files the last reason is true. */
static void
tell_more(struct sync_direct *d)
{
	char *text;

	if (d->more == 0)
		return;
	xasprintf(&text, "%llu more: %s", (unsigned long long)d->more,
	    d->reason);
	sync_tell_note(d->run, NULL, text);
	free(text);
	d->more = 0;
}

/* Tells why a file has not come: by a line if that is not the reason of the one
 * before, too. A full disk is no reason to tell of each file. */
static void
tell_not_come(struct sync_direct *d, const char *path, const char *why)
{
	if (d->reason != NULL && strcmp(d->reason, why) == 0) {
		progress_error(d->run->args.xfer.progress, "file", path, why);
		d->more++;
		return;
	}
	tell_more(d);
	free(d->reason);
	d->reason = xstrdup(why);
	sync_tell_report(d->run, NULL, path, why);
}

/* Has the receipt a file that has its place, or does not get it. */
static void
note_file(struct sync_run *run, const struct planned *p, bool placed)
{
	const struct sync_staged *f = p->file;

	if (f == NULL || (!f->sum.is && !f->theirs.is))
		return;
	sync_receipt_file(run, &p->order, f->sum.is ? f->sum.sum : NULL,
	    f->theirs.is ? f->theirs.sum : NULL, placed);
}

/* A file that has not come, or a delete after a failure. True: there is nothing
 * to be done. */
static bool
is_void(struct sync_direct *d, const struct planned *p, struct xfer_order *o)
{
	struct sync_run *run = d->run;
	bool is_delete = o->kind == XFER_ORDER_DELETE ||
	    o->kind == XFER_ORDER_DELETE_DIR;
	const struct sync_staged *f = p->file;

	if (f != NULL) {
		o->link = f->path;
		o->link_moves = true;
		if (f->come)
			return false;
		d->failed = true;
		if (!run->stop)
			tell_not_come(d, o->local, f->differs != NULL ?
				f->differs : f->told ?
				"what has come is not the source's file: it "
				"may have changed meanwhile" :
				f->why != NULL ? f->why :
				d->rest != NULL ? d->rest :
				"its host has not sent it");
		return true;
	}
	if (!is_delete || !d->failed || run->args.opts.ignore_errors)
		return false;
	if (!d->told_deletes)
		sync_tell_fail(run, o->remote, "not deleted, nor what follows "
		    "it: not all else could be done");
	d->told_deletes = true;
	return true;
}

static int
next_order(void *arg, struct xfer_order *out)
{
	struct batch *b = arg;
	const struct planned *p;

	while (b->at < b->n) {
		p = &b->v[b->at];
		*out = p->order;
		out->id = b->at++;
		if (!is_void(b->d, p, out))
			return 1;
		note_file(b->d->run, p, false);
		sync_plan_done(b->d->run->plan, p->order.id, false, 0);
	}
	return 0;
}

static void
order_done(void *arg, uint64_t id, bool ok, uint64_t bytes)
{
	const struct batch *b = arg;

	note_file(b->d->run, &b->v[id], ok);
	sync_plan_done(b->d->run->plan, b->v[id].order.id, ok, bytes);
}

static void
stage(struct batch *b)
{
	struct sync_direct *d = b->d;

	d->files = xcalloc(b->files, sizeof *d->files);
	for (size_t i = 0; i < b->n; i++) {
		if (!is_data(&b->v[i].order))
			continue;
		b->v[i].file = &d->files[d->n++];
		b->v[i].file->order = &b->v[i].order;
	}
	fill_stage(d, b->top);
}

static void
do_batch(struct batch *b)
{
	struct sync_direct *d = b->d;
	struct xfer_opts opts = sync_transfer_opts(d->run);
	const struct xfer_orders attrs = { .next = next_attrs,
		.done = attrs_done, .arg = b };
	const struct xfer_orders places = { .next = next_order,
		.done = order_done, .arg = b };

	opts.unread = true;
	/* What has come was counted, and lies on the target's disk. */
	opts.check_space = false;
	opts.verify = false; /* it was, where it lies */
	if (b->files > 0) {
		stage(b);
		opts.progress = NULL;
		d->failed |= !sync_transfer(d->run, &opts, &attrs);
	}
	d->failed |= !sync_transfer(d->run, &opts, &places);
	tell_more(d);
	if (b->files > 0)
		clear_stage(d);
}

void
sync_direct_carry_out(struct sync_run *run)
{
	const struct sync_opts *o = &run->args.opts;
	struct batch b = { .d = run->direct };
	struct xfer_order held;
	struct sync_pair_ends *p;
	bool holds = false, more = true, staged = false;

	TAILQ_FOREACH(p, &run->pairs, entry)
		sync_top_note(run, p);
	while (more && !run->stop) {
		b.n = b.files = b.bytes = b.at = b.file = 0;
		more = collect(&b, &held, &holds);
		staged |= b.files > 0;
		if (b.n > 0 && !run->stop)
			do_batch(&b);
	}
	/* The stage has changed the time of the directory that it was in. */
	TAILQ_FOREACH(p, &run->pairs, entry)
		if (staged && o->times && !o->omit.dir_times &&
		    !p->root->names_only && *p->root->mount == '\0')
			sync_top_set_time(run, p);
	free(b.v);
}
