/* SPDX-License-Identifier: ISC */
#include "client/direct/direct-end.h"

#include <sys/stat.h>

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/copy/direct-grant.h"
#include "client/copy/direct-wire.h"
#include "compat/bsd-mem.h"
#include "compat/proc.h"
#include "keys/key.h"
#include "xfer/progress.h"

enum { LIFE_MS = 24 * 3600 * 1000, TELL_EVERY_MS = 250 };

struct direct_end {
	struct scp *scp;
	struct progress_watch watch;
	struct progress_told before, last; /* transfers that have ended; the
					    * running one */
	uint64_t told_ms; /* when numbers were told; 0: never */
	struct key *key;
	struct direct_job job;
	const char *place; /* path to which a directory is fetched, borrowed
			    * from targets; NULL: nothing is fetched */
	struct login_ticket grant;
	struct xfer_target *targets;
	int n;
};

/* ---- the two messages --------------------------------------------------- */

static void
say_hello(struct direct_end *e, struct scp *scp)
{
	struct buf blob = { 0 }, b = { 0 };
	int r = key_generate("ed25519", 0, &e->key);

	if (r == 0)
		r = key_to_blob(e->key, &blob);
	buf_put_u8(&b, DIRECT_VERSION);
	buf_put_string_buf(&b, &blob);
	if (r == 0 && (r = buf_err(&b)) == 0)
		r = fd_send_msg(STDOUT_FILENO, &b);
	buf_clear(&blob);
	buf_clear(&b);
	if (r != 0)
		scp_die(scp, "--direct-end", err_text(r));
}

static void
take_job(struct direct_end *e, struct scp *scp)
{
	struct buf b = { 0 };
	struct rd in;
	int r = fd_receive_msg(STDIN_FILENO, &b, DIRECT_MESSAGE_MAX);

	if (r == ERR_EOF)
		scp_exit(scp, 1); /* the caller has given up the copy */
	in = rd_from_buf(&b);
	if (r == 0)
		r = direct_job_get(&in, &e->job);
	if (r != 0)
		scp_die(scp, "--direct-end", err_text(r));
	buf_clear(&b);
}

/* Ends the program at the end of standard input: nobody wants the copy any
 * more. */
static void
on_input(void *arg, int fd, int events)
{
	struct scp *scp = arg;

	(void)fd;
	(void)events;
	scp_exit(scp, 1);
}

/* ---- what it tells ------------------------------------------------------- */

/* The other end may be gone; then the end of the input comes, too. */
static void
tell(struct buf *b)
{
	int r = buf_len(b) > DIRECT_TOLD_MAX ? ERR_LIMIT : buf_err(b);

	if (r == 0)
		r = fd_send_msg(STDOUT_FILENO, b);
	if (r != 0)
		log_debug("--direct-end: %s", err_text(r));
	buf_clear(b);
}

static void
on_summed(void *arg, bool up, const char *path, const uint8_t *digest)
{
	const struct scp *scp = arg;
	const char *place = scp->direct_end->place;
	struct buf b = { 0 };

	(void)up;
	if (place != NULL && str_has_prefix(path, place))
		path += strlen(place); /* which is the grant's "/" */
	buf_put_u8(&b, DIRECT_SUM);
	buf_put_cstring(&b, path);
	buf_put_string(&b, digest, DIRECT_SUM_LEN);
	tell(&b);
}

/* Tells the sums of all transfers, of those before and the last one. */
static void
tell_sums(struct direct_end *e, uint64_t now_ms)
{
	struct buf b = { 0 };

	e->told_ms = now_ms;
	buf_put_u8(&b, DIRECT_AT);
	buf_put_u64(&b, e->before.files + e->last.files);
	buf_put_u64(&b, e->before.done + e->last.done);
	buf_put_u64(&b, e->before.size + e->last.size);
	buf_put_u64(&b, e->before.bytes + e->last.bytes);
	buf_put_bool(&b, e->last.listing);
	tell(&b);
}

static void
on_sampled(void *arg, uint64_t moved, uint64_t now_ms)
{
	struct direct_end *e = arg;
	struct progress_told at;

	(void)moved;
	progress_sums(e->scp->xfer.progress, &at);
	if (at.files < e->last.files) { /* another transfer */
		e->before.files += e->last.files;
		e->before.done += e->last.done;
		e->before.size += e->last.size;
		e->before.bytes += e->last.bytes;
	}
	e->last = at;
	if (now_ms - e->told_ms >= TELL_EVERY_MS)
		tell_sums(e, now_ms);
}

static void
on_finished(void *arg, const struct progress_item *item, uint64_t now_ms)
{
	const struct direct_end *e = arg;
	struct buf b = { 0 };

	if ((e->job.flags & DIRECT_FILES) == 0)
		return;
	buf_put_u8(&b, DIRECT_DONE);
	buf_put_cstring(&b, item->name);
	buf_put_u64(&b, item->size);
	buf_put_u64(&b, now_ms - item->start_ms);
	tell(&b);
}

static void
on_failed(void *arg, const char *path, const char *text)
{
	const struct direct_end *e = arg;
	struct buf b = { 0 };

	if ((e->job.flags & DIRECT_FILES) == 0)
		return;
	buf_put_u8(&b, DIRECT_FAILED);
	buf_put_cstring(&b, path);
	buf_put_cstring(&b, text);
	tell(&b);
}

static void
watch(struct direct_end *e)
{
	e->watch = (struct progress_watch){ .sampled = on_sampled,
		.finished = on_finished, .failed = on_failed, .arg = e };
	progress_set_watch(e->scp->xfer.progress, &e->watch);
}

const struct direct_job *
direct_end_job(const struct direct_end *e)
{
	return &e->job;
}

void
direct_end_sent(uint32_t number)
{
	struct buf b = { 0 };

	buf_put_u8(&b, DIRECT_SENT);
	buf_put_u32(&b, number);
	tell(&b);
}

void
direct_end_summed(uint32_t number, const uint8_t *digest)
{
	struct buf b = { 0 };

	buf_put_u8(&b, DIRECT_LIST_SUM);
	buf_put_u32(&b, number);
	buf_put_string(&b, digest, DIRECT_SUM_LEN);
	tell(&b);
}

void
direct_end_not_sent(uint32_t number, const char *text)
{
	struct buf b = { 0 };

	buf_put_u8(&b, DIRECT_NOT_SENT);
	buf_put_u32(&b, number);
	buf_put_string(&b, text, strnlen(text, DIRECT_WHY_MAX));
	tell(&b);
}

void
direct_end_tell(struct direct_end *e)
{
	tell_sums(e, clock_ms());
}

/* ---- the copy ----------------------------------------------------------- */

static void
set_options(struct scp *scp, const struct direct_job *j)
{
	struct xfer_opts *x = &scp->xfer;

	scp->recursive = x->recursive = (j->flags & DIRECT_RECURSIVE) != 0;
	scp->preserve = x->preserve = (j->flags & DIRECT_PRESERVE) != 0;
	scp->flags.verbose = (j->flags & DIRECT_VERBOSE) != 0;
	x->fsync = (j->flags & DIRECT_FSYNC) != 0;
	x->sparse = (j->flags & DIRECT_SPARSE) != 0;
	x->links = (j->flags & DIRECT_LINKS) != 0;
	x->hard_links = (j->flags & DIRECT_HARD_LINKS) != 0;
	x->check_space = (j->flags & DIRECT_NO_SPACE_CHECK) == 0;
	/* Files that are fetched are compared here, too: a file that differs
	 * does not get its name. */
	x->verify = (j->flags & DIRECT_SUMS) != 0 &&
	    (j->flags & DIRECT_PULL) != 0;
	x->rate_bytes = scp->flags.rate_bytes = j->rate_bytes;
	x->connections_max = 1;
	scp->given.connections = scp->given.retry = true;
	scp->need_dir = (j->flags & DIRECT_PULL) == 0;
	/* The files of a list come to a new directory, where nobody looks for a
	 * name before the copy has ended. */
	x->in_place = (j->flags & DIRECT_LIST) != 0;
	direct_grant_options(&scp->flags.ssh);
	if (scp->flags.verbose) {
		xstrlist_add(&scp->flags.ssh, "-v");
		log_set_level(LOG_LVL_DEBUG1);
	}
}

static void
add_target(struct direct_end *e, const char *path)
{
	struct xfer_target *all = reallocarray(e->targets, (size_t)e->n + 2,
	    sizeof *all);

	if (all == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	e->targets = all;
	e->targets[e->n++] = (struct xfer_target){ .path = xstrdup(path) };
}

/* True if glob() has found "." or ".." for a pattern such as ".*": nobody means
 * these. */
static bool
is_dots(const char *pattern, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;

	return strcmp(pattern, path) != 0 &&
	    (strcmp(name, ".") == 0 || strcmp(name, "..") == 0);
}

/* Adds the paths that a source stands for. A pattern that matches nothing
 * stands for itself, as with a shell. */
static void
add_source(struct direct_end *e, struct scp *scp, const char *source)
{
	glob_t g;
	int before = e->n, r = glob(source, GLOB_NOCHECK
#ifdef GLOB_TILDE
		| GLOB_TILDE
#endif
	    , NULL, &g);

	if (r != 0)
		scp_die(scp, source, err_text(ERR_SYSTEM));
	for (size_t i = 0; i < g.gl_pathc; i++)
		if (!is_dots(source, g.gl_pathv[i]))
			add_target(e, g.gl_pathv[i]);
	if (e->n == before)
		add_target(e, source);
	globfree(&g);
}

/* The path that the directory gets. The caller frees it. */
static char *
place_of(struct scp *scp, const struct direct_job *j)
{
	const char *to = j->sources.v[0];
	struct stat st;
	char *place;

	if (j->sources.n != 2 || strchr(j->sources.v[1], '/') != NULL)
		scp_die(scp, "--direct-end", err_text(ERR_FORMAT));
	if (stat(to, &st) == 0 && S_ISDIR(st.st_mode))
		xasprintf(&place, "%s/%s", to, j->sources.v[1]);
	else
		place = xstrdup(to);
	/* Something may have the name already, or it cannot be told: then the
	 * copy goes through the user's machine, which can merge directories. */
	if (lstat(place, &st) == 0 || errno != ENOENT)
		scp_exit(scp, DIRECT_EXIT_THERE);
	return place;
}

static struct xfer_target
other_end(const struct direct_job *j)
{
	return (struct xfer_target){ .remote = true,
		.host = xstrdup(j->host),
		.user = xstrdup(j->user),
		.port = j->port,
		.path = xstrdup("/") };
}

/* Sets the sources, and the target behind them. */
static void
set_targets(struct direct_end *e, struct scp *scp)
{
	const struct direct_job *j = &e->job;
	char *place;

	if (j->flags & DIRECT_LIST) {
		add_target(e, "");
		xfer_target_clear(&e->targets[0]);
		e->targets[0] = other_end(j);
		e->targets[1] = (struct xfer_target){ .path = NULL };
		return;
	}
	if ((j->flags & DIRECT_PULL) == 0) {
		for (size_t i = 0; i < j->sources.n; i++)
			add_source(e, scp, j->sources.v[i]);
		e->targets[e->n] = other_end(j);
		return;
	}
	place = place_of(scp, j);
	add_target(e, "");
	xfer_target_clear(&e->targets[0]);
	e->targets[0] = other_end(j);
	e->targets[1] = (struct xfer_target){ .path = place };
	e->place = place;
}

void
direct_end_begin(struct direct_end **out, struct scp *scp,
    struct xfer_target **targets, int *n)
{
	struct direct_end *e = xcalloc(1, sizeof *e);

	e->scp = scp;
	scp->direct_end = e;
	(void)proc_hide(); /* no other process may read the key */
	say_hello(e, scp);
	take_job(e, scp);
	if (loop_watch(scp->loop, STDIN_FILENO, LOOP_READ, on_input, scp) ==
	    NULL)
		fatal("%s", err_text(ERR_NOMEM));
	set_options(scp, &e->job);
	if ((e->job.flags & DIRECT_SUMS) != 0)
		scp->xfer.summed = on_summed;
	watch(e);
	set_targets(e, scp);
	direct_grant_ticket(&e->grant, e->job.grant, e->key,
	    buf_span(&e->job.hostkey), LIFE_MS);
	scp->grant = &e->grant;
	*targets = e->targets;
	*n = e->n;
	*out = e;
}

void
direct_end_free(struct direct_end *e)
{
	if (e == NULL)
		return;
	progress_set_watch(e->scp->xfer.progress, NULL);
	e->scp->direct_end = NULL;
	for (int i = 0; i <= e->n; i++)
		xfer_target_clear(&e->targets[i]);
	free(e->targets);
	direct_job_clear(&e->job);
	key_free(e->key);
	free(e);
}
