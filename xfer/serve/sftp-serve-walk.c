/* SPDX-License-Identifier: ISC */
/*
 * walk@hpnssh.org (docs/SFTP.md): a whole tree in few replies.
 *
 * DESIGN. A struct serve_walk keeps the state between requests: the directories
 * that are still to be visited, the names of the present one, and a file whose
 * digest is under way. Each walk-read is answered from there. A reply ends
 * after SLICE_US even if it is not full, so that the client sees progress.
 * Where attributes take long, as on file systems of other machines, threads
 * read them ahead from the next request on.
 */
#include "xfer/serve/sftp-serve-walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "compat/bsd.h"
#include "crypto/digest.h"
#include "xfer/serve/sftp-serve-internal.h"
#include "xfer/sftp/sftp-rights.h"

enum {
	WALKS_MAX = 64, /* most walks of a session, since each holds names and
			 * descriptors */
	/* Limits for all walks but the first WALKS_LARGE. These hold fewer
	 * names: they read a wide directory several times, and nothing
	 * ahead. */
	WALKS_LARGE = 4,
	LITTLE_NAMES = 256 * 1024,
	LITTLE_FDS = 2,
	/* Length at which a reply is full: the largest record still fits behind
	 * that, with extended attributes or without. */
	REPLY_FULL = SFTP_DATA_MAX - 16 * 1024,
	REPLY_FULL_XATTRS = REPLY_FULL - XATTRS_BYTES_MAX,
	SLICE_US = 100 * 1000,
	HASH_READ = 256 * 1024,
	SLOW_STAT_US = 100, /* on average, */
	SLOW_STATS = 4,     /* of at least so many */
};

struct serve_walk {
	uint32_t want;
	dev_t dev; /* device of the top directory */
	struct walk_dirs dirs;
	struct walk_put put;
	struct filter *filter; /* owned */
	struct buf set; /* extended attributes of the entry that is being
			 * told */
	bool ended;
	bool slow;		 /* attributes had better be read ahead */
	unsigned stats;		 /* that were read for this reply */
	struct walk_ahead *ahead; /* owned; NULL: nothing is read ahead */
	struct {
		int fd; /* -1: no digest is under way */
		struct digest *digest;
		uint8_t *bytes; /* HASH_READ */
		const char *name;
		struct stat st;
		uint64_t at;
	} file;
};

void
serve_walk_free(struct serve_walk *w)
{
	if (w == NULL)
		return;
	walk_ahead_free(w->ahead);
	walk_dirs_clear(&w->dirs);
	filter_free(w->filter);
	buf_clear(&w->put.xattrs);
	buf_clear(&w->set);
	fd_close(&w->file.fd);
	digest_free(w->file.digest);
	free(w->file.bytes);
	free(w);
}

/* ---- entries ------------------------------------------------------------ */

static bool
is_excluded(const struct serve_walk *w, const char *name, const struct stat *st)
{
	char path[WALK_PATH_MAX + 1 + WALK_NAME_MAX + 1];

	strlcpy(path, w->dirs.path, sizeof path);
	strlcat(path, path[0] != '\0' ? "/" : "", sizeof path);
	strlcat(path, name, sizeof path);
	return filter_excludes(w->filter, path, S_ISDIR(st->st_mode));
}

/* Puts the extended attributes of an entry. A link that has the name by now is
 * not followed. Links have attributes of the system's kinds only. */
static void
tell_xattrs(struct serve_walk *w, struct buf *b, const char *name,
    const struct stat *st)
{
	uint32_t kinds = (w->want & WALK_XATTRS_ALL) / WALK_XATTRS;
	int r = 0;

	if (S_ISLNK(st->st_mode))
		kinds &= XATTRS_OTHER;
	else if (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))
		return;
	buf_reset(&w->set);
	if (kinds != 0)
		r = local_xattrs(walk_dirs_here(&w->dirs), name, kinds,
		    &w->set);
	walk_put_xattrs(&w->put, b, r == 0 ? &w->set : NULL);
}

static void
tell(struct serve_walk *w, struct buf *b, const char *name,
    const struct stat *st, bool left, const uint8_t *digest)
{
	char text[WALK_PATH_MAX + 1] = "";
	ssize_t n = 0;

	if (S_ISLNK(st->st_mode) && (w->want & WALK_TEXT) != 0)
		n = local_read_link(walk_dirs_here(&w->dirs), name, text,
		    sizeof text - 1);
	text[MAX(n, (ssize_t)0)] = '\0';
	walk_put_entry(&w->put, b, name, st, left, text, digest);
	if ((w->want & WALK_XATTRS_ALL) != 0)
		tell_xattrs(w, b, name, st);
}

/* Begins the digest of a regular file. False: no digest is wanted, or the file
 * cannot be read; it is then told without a digest. */
static bool
begin_digest(struct serve_walk *w, const char *name, const struct stat *st)
{
	struct stat now;
	int fd;

	if (!S_ISREG(st->st_mode) || (w->want & WALK_DIGEST) == 0)
		return false;
	if (w->file.bytes == NULL &&
	    (w->file.bytes = malloc(HASH_READ)) == NULL)
		return false;
	fd = local_open_source(walk_dirs_here(&w->dirs), name,
	    LOCAL_LINKS_NONE, &now);
	if (fd < 0)
		return false;
	if (now.st_dev != st->st_dev || now.st_ino != st->st_ino ||
	    !S_ISREG(now.st_mode) ||
	    digest_new(&w->file.digest, DIGEST_SHA256) != 0) {
		fd_close(&fd);
		return false;
	}
	w->file.fd = fd;
	w->file.name = name;
	w->file.st = now;
	w->file.at = 0;
	return true;
}

/* Reads the next block of the file. At its end tells the file: with its digest,
 * unless the file's length has changed meanwhile. */
static void
go_on_with_digest(struct serve_walk *w, struct buf *b)
{
	uint8_t out[DIGEST_MAX_LEN];
	ssize_t n = fd_pread(w->file.fd, w->file.bytes, HASH_READ, w->file.at);
	bool whole;

	if (n > 0 &&
	    digest_update(w->file.digest, w->file.bytes, (size_t)n) == 0) {
		w->file.at += (uint64_t)n;
		if (w->file.at <= (uint64_t)w->file.st.st_size)
			return;
	}
	whole = n == 0 && w->file.at == (uint64_t)w->file.st.st_size &&
	    digest_final(w->file.digest, out) == 0;
	digest_free(w->file.digest);
	w->file.digest = NULL;
	fd_close(&w->file.fd);
	tell(w, b, w->file.name, &w->file.st, false, whole ? out : NULL);
}

static int
get_stat(struct serve_walk *w, const char *name, struct stat *st)
{
	w->stats++;
	return w->ahead != NULL ? walk_ahead_stat(w->ahead, &w->dirs, st) :
				  local_stat(walk_dirs_here(&w->dirs), name,
				      LOCAL_LINKS_NONE, st);
}

/* Writes the entry of a name, or passes over a name that rules exclude. 0, or
 * -1: no memory. */
static int
entry(struct serve_walk *w, struct buf *b, const char *name)
{
	bool left = false; /* a directory that is not entered, or a file that is
			    * away */
	struct stat st;

	if (get_stat(w, name, &st) != 0) {
		if (errno != ENOENT && !w->dirs.silent) /* ENOENT: removed */
			walk_put_unknown(&w->put, b, name, errno);
		return 0;
	}
	if (is_excluded(w, name, &st))
		return 0;
	if (S_ISDIR(st.st_mode)) {
		left = (w->want & WALK_ONE_DEVICE) != 0 &&
		    st.st_dev != w->dev;
		if (!left && walk_dirs_enter(&w->dirs, name, &st) != 0) {
			if (errno != ENAMETOOLONG)
				return -1;
			left = true;
		}
	}
	if ((w->want & WALK_AWAY) != 0 && S_ISREG(st.st_mode))
		left = local_is_away(walk_dirs_here(&w->dirs), &st);
	if (!w->dirs.silent && (left || !begin_digest(w, name, &st)))
		tell(w, b, name, &st, left, NULL);
	return 0;
}

/* Goes on to the next directory, and writes the beginning of its group. 0, or
 * -1: the walk cannot go on. */
static int
next_group(struct serve_walk *w, struct buf *b)
{
	int error, r = walk_dirs_next(&w->dirs, &error);
	struct stat st;
	bool mounted;

	w->ended = r == 0;
	if (r > 0 && !w->dirs.silent) {
		mounted = (w->want & WALK_MOUNTS) != 0 &&
		    (local_dir_stat(walk_dirs_here(&w->dirs), &st) != 0 ||
			st.st_dev != w->dev);
		walk_put_group(&w->put, b, w->dirs.path, mounted, error);
	}
	return r < 0 ? -1 : 0;
}

static int
step(struct serve_walk *w, struct buf *b)
{
	const char *name;

	if (w->file.fd >= 0) {
		go_on_with_digest(w, b);
		return 0;
	}
	name = walk_dirs_name(&w->dirs);
	if (name == NULL && w->dirs.broken != 0)
		return -1;
	return name != NULL ? entry(w, b, name) : next_group(w, b);
}

/* ---- walk-read ---------------------------------------------------------- */

static int
run_read(struct serve_op *op)
{
	struct serve_walk *w = op->walking;
	const size_t full = w->want & WALK_XATTRS_ALL ? REPLY_FULL_XATTRS :
							REPLY_FULL;
	uint64_t from = clock_us();
	long slept = serve_sleeps();

	w->dirs.ahead = w->ahead;
	while (!w->ended && buf_len(&op->data) < full) {
		if (step(w, &op->data) != 0 || buf_err(&op->data) != 0) {
			w->ended = true;
			errno = w->dirs.broken != 0 ? w->dirs.broken : ENOMEM;
			return -1;
		}
		if (clock_us() >= from + SLICE_US)
			break;
	}
	/* Digests take long whatever the file system does, so a walk with them
	 * tells nothing about slow attributes. A thread that did not sleep has
	 * only waited for a processor. */
	if (w->stats >= SLOW_STATS && (w->want & WALK_DIGEST) == 0 &&
	    clock_us() - from > (uint64_t)w->stats * SLOW_STAT_US &&
	    serve_sleeps() - slept >= (long)(w->stats / SLOW_STATS))
		w->slow = true;
	w->stats = 0;
	op->slice.unfinished = !w->ended && buf_len(&op->data) == 0;
	return 0;
}

static void
done_read(struct sftp_serve *s, struct serve_op *op)
{
	struct serve_walk *w = op->walking;

	if (w->slow && w->ahead == NULL && !w->ended && s->opts.threads > 0 &&
	    w->dirs.fds_max == 0) {
		w->ahead = walk_ahead_new();
		w->slow = false; /* it is not tried again and again */
	}
	if (op->error == 0 && buf_len(&op->data) == 0)
		serve_status(s, op->id, SFTP_EOF);
	else
		serve_done_data(s, op);
}

int
serve_walk_read(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_WALK);
	int err = serve_check_handle(s, op, r, h, SFTP_FAILURE);

	if (err <= 0)
		return err;
	serve_touch_handle(s, op, h, true);
	op->walking = h->walk;
	op->duration = SERVE_LONG;
	op->run = run_read;
	op->done = done_read;
	return 0;
}

/* ---- walk --------------------------------------------------------------- */

static int
run_walk(struct serve_op *op)
{
	int top = serve_open_at(op, op->path, O_RDONLY | O_DIRECTORY |
		O_NONBLOCK | O_CLOEXEC, 0);

	if (top < 0)
		return -1;
	op->open.remote = serve_is_remote(top);
	if (fstat(top, &op->st) != 0) {
		fd_close(&top);
		return -1;
	}
	op->walk->slow = op->open.remote;
	op->walk->dev = op->st.st_dev;
	return walk_dirs_begin(&op->walk->dirs, top);
}

static unsigned
walks(const struct sftp_serve *s)
{
	unsigned n = 0;

	for (int i = 0; i < s->handles_cap; i++)
		n += s->handles[i].kind == SERVE_WALK;
	return n;
}

/* Counts the walks again: several requests may have been with workers at the
 * same time, before any of them had its handle. */
static void
done_walk(struct sftp_serve *s, struct serve_op *op)
{
	struct serve_handle *h = &s->handles[op->file.slot];

	if (op->error == 0 && walks(s) >= WALKS_MAX)
		op->error = EMFILE;
	if (op->error != 0) {
		serve_handle_close(s, h);
		serve_done_status(s, op);
		return;
	}
	s->remote = s->remote || op->open.remote;
	h->kind = SERVE_WALK;
	h->walk = op->walk;
	if (s->opts.threads > 0 && op->walk->dirs.fds_max == 0 &&
	    (op->walk->slow || s->opts.eager))
		h->walk->ahead = walk_ahead_new();
	op->walk = NULL;
	/* A key that no file has, so that only requests for the same walk wait
	 * for each other. */
	h->key = (struct serve_key){ (dev_t)-1, (ino_t)op->file.slot };
	serve_put_handle(s, op->id, op->file.slot);
}

static int
get_rules(struct serve_walk *w, struct span rules)
{
	w->filter = filter_new();
	return w->filter == NULL ? ERR_NOMEM :
				   filter_add_wire(w->filter, rules.p,
				       rules.len);
}

static int
get_fields(struct serve_walk *w, struct rd *r)
{
	struct span rules;
	char *start;
	int err;

	w->want = w->put.want = rd_u32(r);
	rules = rd_string(r);
	start = rd_cstring(r, WALK_PATH_MAX);
	if ((err = rd_end(r)) == 0)
		err = get_rules(w, rules);
	if (err == 0)
		strlcpy(w->dirs.start, start, sizeof w->dirs.start);
	w->dirs.skipping = (w->want & WALK_AFTER) != 0;
	free(start);
	return err;
}

int
serve_walk(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	int err;

	op->path = serve_get_path(s, r);
	if (op->path == NULL)
		return rd_err(r);
	op->walk = calloc(1, sizeof *op->walk);
	if (op->walk == NULL)
		return ERR_NOMEM;
	op->walk->file.fd = -1;
	op->walk->dirs.names_max = s->opts.walk_bytes;
	if (walks(s) >= WALKS_LARGE) {
		op->walk->dirs.names_max = LITTLE_NAMES;
		op->walk->dirs.fds_max = LITTLE_FDS;
	}
	if ((err = get_fields(op->walk, r)) < 0)
		return err;
	serve_info(s, "opendir \"%s\"", op->path);
	if ((op->walk->want & ~(uint32_t)WALK_WANT_ALL) != 0) {
		serve_status(s, op->id, SFTP_OP_UNSUPPORTED);
		return 0;
	}
	if ((op->walk->want & WALK_DIGEST) != 0 && !serve_may(s, SFTP_MAY_READ))
		return ERR_DENIED;
	op->file.slot = walks(s) < WALKS_MAX ? serve_handle_new(s, op->path) :
					       -1;
	if (op->file.slot < 0) {
		serve_status(s, op->id, SFTP_FAILURE);
		return 0;
	}
	op->run = run_walk;
	op->done = done_walk;
	return 0;
}
