/* SPDX-License-Identifier: ISC */
/*
 * Makes backups of targets that are written in place. Such a backup is a copy,
 * made whole, and with its own name, before the first byte of the target
 * changes. The open handle of the target is copied, so it is the very file that
 * is written then.
 *
 * A run that is killed leaves a target that is half written. The next run would
 * make a backup of that, and destroy the copy of the old target. So while a
 * target is written, it and its backup are marked by the sticky bit, which
 * means nothing for a file. If both are marked, the next run leaves them, and
 * only writes the target. Where the bit cannot be set (for another user's file,
 * and on some systems) a killed run has the same effect as with rsync.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "compat/file.h"
#include "xfer/orders/ordered.h"
#include "xfer/part-name.h"

#define PIECE_BYTES (UINT64_C(128) * 1024 * 1024)
enum {
	SLICE_BYTES = 16 * 1024 * 1024, /* bytes of one turn on this host */
	BLOCK_BYTES = 256 * 1024,
	MODE_BITS = 07777,
};

struct xfer_keep {
	struct xfer_away away; /* the step in which the copy gets the backup's
			        * name */
	struct xfer_file *file;
	enum keep_step {
		KEEP_LOOK,
		KEEP_MAKE,
		KEEP_COPY,
		KEEP_CHECK,
		KEEP_ATTRS, /* attributes of the copy are set, and it is
			     * closed */
		KEEP_NAME,
		KEEP_MARK, /* the target */
		KEEP_DONE,
	} step;
	char *name; /* owned; the copy's temporary name */
	bool there; /* the copy exists under its temporary name */
	bool cleared; /* the copy that an earlier run had left was removed */
	bool lost; /* the session has ended */
	bool refused; /* by the server: words */
	bool not_given; /* the copy has another owner or group than the
			 * target */
	bool unmarked; /* the sticky bit cannot be set */
	char *words; /* owned; the server's text */
	/* Attributes of the target, of the file with the backup's name, and of
	 * the copy. Flags 0: unknown. */
	struct sftp_attrs old, before, copy;
	uint64_t at; /* bytes that are copied */
	struct sftp *s;
	struct sftp_handle to;
	bool open;
	int fd; /* owned; descriptor of the copy on this host; -1: none */
	dev_t dev; /* number of the target on this host */
	ino_t ino;
	TAILQ_ENTRY(xfer_keep) entry; /* in the list of backups that are copied
				       * on this host */
	bool listed;
};

bool
xfer_keeps_copy(const struct xfer_file *f)
{
	const struct xfer_duty *d = f->duty;

	return f->x->opts.in_place && d != NULL && d->backup != NULL &&
	    !d->replaces_kind && d->knows && S_ISREG(d->was.mode) &&
	    !f->source.symlink;
}

static bool
is_marked(const struct sftp_attrs *a)
{
	return (a->flags & SFTP_A_MODE) && S_ISREG(a->mode) &&
	    (a->mode & S_ISVTX);
}

/* True if a run was killed while it wrote the target in place: target and
 * backup both still have the mark that such a run sets and takes off. */
static bool
is_kept(const struct xfer_keep *k)
{
	return is_marked(&k->old) && is_marked(&k->before);
}

/* The mode of the copy. If the copy has not the target's group, its group gets
 * no permissions. */
static uint32_t
mode_of(const struct xfer_keep *k)
{
	uint32_t mode = k->old.mode & MODE_BITS;

	if (k->not_given)
		mode &= ~(uint32_t)(S_ISUID | S_ISGID | S_IRWXG);
	return mode;
}

static const char *
path_of(const struct xfer_file *f)
{
	return f->up ? f->remote : f->local;
}

/* Fails the file, before its target has changed. */
static void
give_up(struct xfer_keep *k, const char *text)
{
	struct xfer_file *f = k->file;

	if (!f->failed && !f->x->over)
		xfer_report_tried(f->x, XFER_TRIED_BACKUP, path_of(f), text);
	xfer_file_fail(f);
}

static bool
new_part(struct xfer_keep *k)
{
	free(k->name);
	k->name = xfer_put_name(path_of(k->file), 1);
	if (k->name == NULL)
		give_up(k, local_error_text(ENOMEM));
	return k->name != NULL;
}

/* Ends the backup. When the target is whole it gets a mode without the mark. */
static void
is_done(struct xfer_keep *k)
{
	uint32_t mode = k->old.mode & MODE_BITS;

	if (is_kept(k))
		mode &= ~(uint32_t)S_ISVTX;
	k->step = KEEP_DONE;
	if (!k->unmarked)
		xfer_target_gets_mode(k->file, mode, mode | S_ISVTX);
}

/* ---- at a server -------------------------------------------------------- */

static bool
answered(struct xfer_keep *k, const struct sftp_reply *reply)
{
	struct xfer_file *f = k->file;

	f->pending--;
	k->lost |= reply->err != 0;
	xfer_path_answered(f, reply);
	return reply->err == 0;
}

/* Takes the answer to a request without which the backup fails. */
static void
done_or_not(void *arg, const struct sftp_reply *reply)
{
	struct xfer_keep *k = arg;

	if (!answered(k, reply) || reply->status == SFTP_OK)
		return;
	k->refused = true;
	xfer_keep_words(&k->words, reply);
}

static void
given(void *arg, const struct sftp_reply *reply)
{
	struct xfer_keep *k = arg;

	k->not_given = answered(k, reply) && reply->status != SFTP_OK;
}

static void
marked(void *arg, const struct sftp_reply *reply)
{
	struct xfer_keep *k = arg;

	k->unmarked |= answered(k, reply) && reply->status != SFTP_OK;
}

static void
seen(struct xfer_keep *k, struct sftp_attrs *to,
    const struct sftp_reply *reply)
{
	if (answered(k, reply) && reply->type == SFTP_ATTRS)
		*to = reply->attrs;
}

static void
old_seen(void *arg, const struct sftp_reply *reply)
{
	struct xfer_keep *k = arg;

	seen(k, &k->old, reply);
}

static void
before_seen(void *arg, const struct sftp_reply *reply)
{
	struct xfer_keep *k = arg;

	seen(k, &k->before, reply);
}

static void
made_seen(void *arg, const struct sftp_reply *reply)
{
	struct xfer_keep *k = arg;

	seen(k, &k->copy, reply);
}

static void
opened(void *arg, const struct sftp_reply *reply)
{
	struct xfer_keep *k = arg;

	if (!answered(k, reply))
		return;
	k->open = k->there = reply->status == SFTP_OK;
	k->refused = !k->open;
	if (k->open)
		sftp_keep_handle(&k->to, reply);
	else
		xfer_keep_words(&k->words, reply);
}

static void
send_looks(struct xfer_keep *k, const struct sftp_handle *from)
{
	const struct xfer_path_request q = { .type = SFTP_LSTAT,
		.path = k->file->duty->backup };

	k->step = KEEP_MAKE;
	k->file->pending += 2;
	sftp_handle_request(k->s, SFTP_FSTAT, from, old_seen, k);
	xfer_request_path(k->file->x, &q, before_seen, k);
}

static void
send_open(struct xfer_keep *k)
{
	const struct sftp_attrs a = { .flags = SFTP_A_MODE,
		.mode = S_IRUSR | S_IWUSR };
	const uint32_t known = SFTP_A_SIZE | SFTP_A_MODE;

	if (is_kept(k)) {
		is_done(k);
		return;
	}
	if ((k->old.flags & known) != known || !S_ISREG(k->old.mode)) {
		give_up(k, "it is not known what is to be kept");
	} else if (!sftp_has(k->s, SFTP_EXT_COPY_DATA)) {
		give_up(k, "this server copies no files, which --inplace "
		    "needs");
	} else if (new_part(k)) {
		k->step = KEEP_COPY;
		k->file->pending++;
		sftp_open(k->s, k->name, SFTP_O_WRITE | SFTP_O_CREAT |
		    SFTP_O_EXCL, &a, opened, k);
	}
}

/* Takes the answer to a request for the sake of tidiness, for which only the
 * end of the run waits. */
static void
tidied(void *arg, const struct sftp_reply *reply)
{
	struct xfer *x = arg;

	(void)reply; /* nothing depends on it */
	x->orders->fixes--;
}

static void
remove_part(struct xfer_keep *k)
{
	const struct xfer_path_request q = { .type = SFTP_REMOVE,
		.path = k->name };

	k->file->x->orders->fixes++;
	xfer_request_path(k->file->x, &q, tidied, k->file->x);
}

static void
removed(void *arg, const struct sftp_reply *reply)
{
	struct xfer_keep *k = arg;

	(void)answered(k, reply); /* the OPEN that follows tells whether the
				   * file has gone */
}

/* Removes the unfinished copy of an earlier run. */
static void
clear_part(struct xfer_keep *k)
{
	const struct xfer_path_request q = { .type = SFTP_REMOVE,
		.path = k->name };

	k->cleared = true;
	k->refused = false;
	k->step = KEEP_MAKE;
	k->file->pending++;
	xfer_request_path(k->file->x, &q, removed, k);
}

static void
send_data(struct xfer_keep *k, const struct sftp_handle *from)
{
	uint64_t len = MIN(k->old.size - k->at, PIECE_BYTES);
	const struct sftp_attrs owner = { .flags = SFTP_A_OWNER,
		.uid = k->old.uid, .gid = k->old.gid };

	if (len > 0) {
		k->file->pending++;
		sftp_copy_data(k->s, from, k->at, len, &k->to, k->at,
		    done_or_not, k);
		k->at += len;
		return;
	}
	k->step = KEEP_CHECK;
	k->file->pending += 2;
	sftp_handle_request(k->s, SFTP_FSTAT, &k->to, made_seen, k);
	if (k->old.flags & SFTP_A_OWNER) {
		k->file->pending++;
		sftp_fsetstat(k->s, &k->to, &owner, given, k);
	}
	sftp_handle_request(k->s, SFTP_FSTAT, from, old_seen, k);
}

/* Gives the copy, which is whole, the target's attributes and the mark. */
static void
send_attrs(struct xfer_keep *k)
{
	struct sftp_attrs a = { .flags = SFTP_A_MODE |
		    (k->old.flags & SFTP_A_TIMES),
		.mode = mode_of(k), .atime = k->old.atime,
		.mtime = k->old.mtime };

	if (!(k->copy.flags & SFTP_A_SIZE) || k->copy.size != k->at ||
	    k->old.size != k->at) {
		give_up(k, "has changed while its backup was made");
		return;
	}
	k->step = KEEP_ATTRS;
	k->file->pending += 3;
	sftp_fsetstat(k->s, &k->to, &a, done_or_not, k);
	a.flags = SFTP_A_MODE;
	a.mode |= S_ISVTX;
	sftp_fsetstat(k->s, &k->to, &a, marked, k);
	if (k->file->x->opts.fsync && sftp_has(k->s, SFTP_EXT_FSYNC)) {
		k->file->pending++;
		sftp_ext_handle(k->s, SFTP_EXT_FSYNC, &k->to, done_or_not, k);
	}
	k->open = false;
	sftp_close(k->s, &k->to, done_or_not, k);
}

static void
named(struct xfer_away *a)
{
	struct xfer_keep *k = (struct xfer_keep *)a;
	struct xfer_file *f = k->file;

	f->pending--;
	if (a->end == XFER_AWAY_DONE)
		k->there = false;
	else if (a->words != NULL)
		give_up(k, a->words);
	else
		k->lost = true;
	if (a->end == XFER_AWAY_DONE && xfer_settles(f))
		xfer_settle_dir(f->x, a->backup, NULL);
	xfer_away_clear(a);
	if (!f->x->over)
		xfer_file_touch(f);
}

static void
send_name(struct xfer_keep *k)
{
	struct xfer_file *f = k->file;

	k->step = KEEP_NAME;
	if (!xfer_away_init(&k->away, f->x, k->name, NULL, f->duty->backup)) {
		give_up(k, local_error_text(ENOMEM));
		return;
	}
	k->away.done = named;
	f->pending++;
	xfer_away_go(&k->away);
}

static void
send_mark(struct xfer_keep *k, const struct sftp_handle *from)
{
	const struct sftp_attrs a = { .flags = SFTP_A_MODE,
		.mode = (k->old.mode & MODE_BITS) | S_ISVTX };

	k->step = KEEP_MARK;
	if (k->unmarked)
		return;
	k->file->pending++;
	sftp_fsetstat(k->s, from, &a, marked, k);
}

/* Begins the copy anew, because the session that made it has ended. */
static void
again(struct xfer_keep *k)
{
	if (k->there)
		remove_part(k);
	k->there = k->open = k->lost = k->refused = k->cleared = false;
	k->at = 0;
	k->old.flags = k->before.flags = k->copy.flags = 0;
	k->step = KEEP_LOOK;
}

/* Takes the next step at the server, when all answers to the last one are
 * there. */
static void
at_server(struct xfer_keep *k, const struct xfer_handle *e)
{
	if (k->lost)
		again(k);
	k->s = e->stream->s;
	if (k->step == KEEP_COPY && k->refused && !k->open && !k->cleared) {
		clear_part(k);
		return;
	}
	if (k->refused) {
		give_up(k, k->words != NULL ? k->words :
			sftp_status_text(SFTP_FAILURE));
		return;
	}
	switch (k->step) {
	case KEEP_LOOK:
		send_looks(k, &e->handle);
		break;
	case KEEP_MAKE:
		send_open(k);
		break;
	case KEEP_COPY:
		send_data(k, &e->handle);
		break;
	case KEEP_CHECK:
		send_attrs(k);
		break;
	case KEEP_ATTRS:
		send_name(k);
		break;
	case KEEP_NAME:
		send_mark(k, &e->handle);
		break;
	default:
		is_done(k);
		break;
	}
}

/* ---- on this host ------------------------------------------------------- */

/* Opens the directory of the backup on this host, and makes it if it is
 * missing. *name is set to the last part of the backup's path. The caller
 * unrefs. */
static struct local_dir *
place_here(const struct xfer_keep *k, const char **name)
{
	const struct xfer_duty *d = k->file->duty;
	const struct xfer_below backup = { .root = d->root, .links = d->links,
		.path = d->backup };
	struct xfer_places *p = &k->file->x->orders->backups;

	p->makes = true;
	return d->root != NULL ? xfer_place_of(p, &backup, name) :
	    local_place(k->file->x->local, d->backup, LOCAL_LINKS_OWN, name);
}

/* Makes the file for the copy on this host. 0, or an errno. */
static int
make_here(struct xfer_keep *k)
{
	struct xfer_file *f = k->file;
	const int flags = O_WRONLY | O_CREAT | O_EXCL;
	const char *name = local_last_name(k->name);

	k->fd = local_open_target(f->at, name, flags, S_IRUSR | S_IWUSR,
	    LOCAL_LINKS_NONE);
	if (k->fd < 0 && errno == EEXIST && local_remove(f->at, name) == 0)
		k->fd = local_open_target(f->at, name, flags,
		    S_IRUSR | S_IWUSR, LOCAL_LINKS_NONE);
	if (k->fd < 0)
		return errno;
	k->there = true;
	return 0;
}

/* Looks at target and backup on this host, and makes the file for the copy,
 * unless the backup is one that a killed run has left. 0, or an errno. */
static int
look_here(struct xfer_keep *k)
{
	struct xfer_file *f = k->file;
	struct stat st;
	const char *name;
	struct local_dir *to = place_here(k, &name);

	if (to == NULL)
		return errno;
	if (local_stat(to, name, LOCAL_LINKS_NONE, &st) == 0)
		sftp_attrs_from_stat(&k->before, &st);
	if (fstat(f->fd, &st) != 0) {
		local_dir_unref(to);
		return errno;
	}
	sftp_attrs_from_stat(&k->old, &st);
	k->dev = st.st_dev;
	k->ino = st.st_ino;
	if (is_kept(k)) {
		k->fd = local_open_source(to, name, LOCAL_LINKS_NONE, &st);
		is_done(k);
	}
	local_dir_unref(to);
	if (k->step == KEEP_DONE)
		return 0;
	if (!S_ISREG(st.st_mode))
		return EINVAL;
	k->step = KEEP_COPY;
	return new_part(k) ? make_here(k) : ENOMEM;
}

/* Copies a block on this host. 1; 0 at the target's end; -1 with errno. */
static int
copy_block(struct xfer_keep *k)
{
	off_t from = (off_t)k->at, to = (off_t)k->at;
	uint8_t *block;
	ssize_t n;

	n = file_copy_range(k->file->fd, &from, k->fd, &to, SLICE_BYTES);
	if (n > 0) {
		k->at += (uint64_t)n;
		return 1;
	}
	block = malloc(BLOCK_BYTES);
	if (block == NULL)
		return -1;
	n = fd_pread(k->file->fd, block, BLOCK_BYTES, k->at);
	if (n > 0 && fd_pwrite_all(k->fd, block, (size_t)n, k->at) != 0)
		n = -1;
	free(block);
	k->at += n > 0 ? (uint64_t)n : 0;
	return n > 0 ? 1 : (int)n;
}

/* Gives the copy on this host, which is whole, the target's attributes and its
 * own name. 0, or an errno. */
static int
name_here(struct xfer_keep *k)
{
	struct xfer_file *f = k->file;
	struct timespec ts[2];
	struct local_dir *to;
	struct stat st, made;
	const char *name;
	int error = 0;

	if (fstat(f->fd, &st) != 0 || fstat(k->fd, &made) != 0)
		return errno;
	if ((uint64_t)st.st_size != k->at || made.st_size != st.st_size ||
	    st.st_dev != k->dev || st.st_ino != k->ino)
		return ESTALE;
	k->not_given = (made.st_uid != st.st_uid || made.st_gid != st.st_gid) &&
	    fchown(k->fd, st.st_uid, st.st_gid) != 0;
	ts[0] = st.FILE_ATIME;
	ts[1] = st.FILE_MTIME;
	if (fchmod(k->fd, mode_of(k)) != 0 || futimens(k->fd, ts) != 0)
		return errno;
	k->unmarked = fchmod(k->fd, mode_of(k) | S_ISVTX) != 0;
	if (f->x->opts.fsync && file_sync(k->fd) != 0)
		return errno;
	to = place_here(k, &name);
	if (to == NULL)
		return errno;
	if (local_rename_to(f->at, local_last_name(k->name), to, name) != 0)
		error = errno;
	else if (xfer_settles(f))
		xfer_settle_dir(f->x, NULL, to);
	local_dir_unref(to);
	if (error != 0)
		return error;
	k->there = false;
	if (!k->unmarked)
		k->unmarked = fchmod(f->fd, (st.st_mode & MODE_BITS) |
		    S_ISVTX) != 0;
	is_done(k);
	return 0;
}

static void
unlist(struct xfer_keep *k)
{
	if (k->listed)
		TAILQ_REMOVE(&k->file->x->orders->keeps, k, entry);
	k->listed = false;
}

static void
here(struct xfer_keep *k)
{
	int error;

	if (k->step == KEEP_LOOK)
		error = look_here(k);
	else
		error = name_here(k);
	if (error != 0) {
		give_up(k, local_error_text(error));
	} else if (k->step == KEEP_COPY) {
		TAILQ_INSERT_TAIL(&k->file->x->orders->keeps, k, entry);
		k->listed = true;
	}
}

/* Forgets the copy on this host, because the target was closed with a lost
 * connection: the copy begins anew when the target is open again. */
static void
forget_here(struct xfer_keep *k)
{
	unlist(k);
	if (k->there)
		(void)!local_remove(k->file->at, local_last_name(k->name));
	fd_close(&k->fd);
	k->there = false;
	k->at = 0;
	k->step = KEEP_LOOK;
}

bool
xfer_keep_turn(struct xfer *x)
{
	struct xfer_keep *k;
	uint64_t until;
	int r = 1;

	while ((k = TAILQ_FIRST(&x->orders->keeps)) != NULL &&
	    k->file->fd < 0)
		forget_here(k);
	if (k == NULL)
		return false;
	until = k->at + SLICE_BYTES;
	while (r > 0 && k->at < until && !k->file->failed)
		r = copy_block(k);
	if (r > 0 && !k->file->failed)
		return true;
	unlist(k);
	if (r < 0)
		give_up(k, local_error_text(errno));
	k->step = KEEP_CHECK;
	xfer_file_touch(k->file);
	return true;
}

/* ---- both --------------------------------------------------------------- */

bool
xfer_keep_first(struct xfer_file *f, const struct xfer_handle *e)
{
	struct xfer_keep *k;

	if (!xfer_keeps_copy(f))
		return false;
	if (f->duty->keep == NULL) {
		f->duty->keep = calloc(1, sizeof *f->duty->keep);
		if (f->duty->keep == NULL) {
			xfer_report_errno(f->x, path_of(f), ENOMEM);
			xfer_file_fail(f);
			xfer_file_touch(f);
			return true;
		}
		f->duty->keep->file = f;
		f->duty->keep->fd = -1;
	}
	k = f->duty->keep;
	if (k->step == KEEP_DONE) {
		is_done(k); /* a file that begins anew has forgotten which mode
			     * to set */
		return false;
	}
	if (k->listed)
		return true;
	if (f->up)
		at_server(k, e);
	else
		here(k);
	if (f->pending == 0 && !k->listed)
		xfer_file_touch(f);
	return true;
}

/* Takes the mark (the sticky bit) off the backup. At a server without lsetstat
 * it stays. */
static void
unmark(struct xfer_keep *k)
{
	struct xfer_file *f = k->file;
	uint32_t mode = (is_kept(k) ? k->before.mode & MODE_BITS : mode_of(k)) &
	    ~(uint32_t)S_ISVTX;
	const struct sftp_attrs a = { .flags = SFTP_A_MODE, .mode = mode };
	const struct xfer_path_request q = { .type = SFTP_EXTENDED,
		.ext = SFTP_EXT_LSETSTAT, .path = f->duty->backup,
		.attrs = &a };

	if (!f->up) {
		if (k->fd >= 0)
			(void)!fchmod(k->fd, mode);
		return;
	}
	if (!xfer_has(f->x, SFTP_EXT_LSETSTAT))
		return; /* SETSTAT would follow a link in its place */
	f->x->orders->fixes++;
	xfer_request_path(f->x, &q, tidied, f->x);
}

void
xfer_keep_free(struct xfer_file *f, bool whole)
{
	struct xfer_keep *k = f->duty->keep;

	if (k == NULL)
		return;
	unlist(k);
	if (whole && k->step == KEEP_DONE && !k->unmarked && !f->x->over)
		unmark(k);
	if (k->open && !k->lost && !f->x->over)
		sftp_close(k->s, &k->to, NULL, NULL);
	if (k->there && f->up && !f->x->over)
		remove_part(k);
	else if (k->there && !f->up)
		(void)!local_remove(f->at, local_last_name(k->name));
	fd_close(&k->fd);
	free(k->name);
	free(k->words);
	free(k);
	f->duty->keep = NULL;
}
