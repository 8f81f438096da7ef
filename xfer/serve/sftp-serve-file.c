/* SPDX-License-Identifier: ISC */
/* Attributes, directories and names; see sftp-serve-internal.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "compat/bsd.h"
#include "compat/libc.h"
#include "xfer/local/local-beneath.h"
#include "xfer/part-lock.h"
#include "xfer/part-name.h"
#include "xfer/serve/sftp-serve-internal.h"
#include "xfer/sftp/sftp-rights.h"

enum {
	/* Bytes of a NAME reply: the oldest clients take no more. */
	NAMES_MAX_BYTES = 28 * 1024,
	LONGNAME_MAX = 2 * NAME_MAX + 160,
	/* Bytes of an entry in a NAME reply, without its name, which is there
	 * twice. */
	ENTRY_BYTES = 4 + 4 + 4 + 8 + 5 * 4 + 80,
};

/* ---- attributes --------------------------------------------------------- */

static int
run_stat(struct serve_op *op)
{
	if (op->path == NULL)
		return fstat(op->file.fd, &op->st);
	return serve_stat_at(op, op->path, op->flags != 0, &op->st);
}

static int
stat_path(struct sftp_serve *s, struct serve_op *op, struct rd *r,
    bool follow)
{
	op->path = serve_get_path(s, r);
	if (op->path == NULL)
		return rd_err(r);
	serve_verbose(s, "%s name \"%s\"", follow ? "stat" : "lstat",
	    op->path);
	op->flags = follow;
	op->run = run_stat;
	op->done = serve_done_attrs;
	return 0;
}

int
serve_stat(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	return stat_path(s, op, r, true);
}

int
serve_lstat(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	return stat_path(s, op, r, false);
}

int
serve_fstat(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_FREE);
	int err = serve_check_handle(s, op, r, h, SFTP_FAILURE);

	if (err <= 0)
		return err;
	serve_touch_handle(s, op, h, false);
	op->run = run_stat;
	op->done = serve_done_attrs;
	return 0;
}

void
serve_log_times(struct sftp_serve *s, const char *path, time_t mtime)
{
	char text[32];
	struct tm tm;

	if (localtime_r(&mtime, &tm) == NULL)
		return;
	strftime(text, sizeof text, "%Y%m%d-%H:%M:%S", &tm);
	serve_info(s, "set \"%s\" modtime %s", path, text);
}

void
serve_log_attrs(struct sftp_serve *s, const char *path,
    const struct sftp_attrs *attrs)
{
	if (attrs->flags & SFTP_A_SIZE)
		serve_info(s, "set \"%s\" size %llu", path,
		    (unsigned long long)attrs->size);
	if (attrs->flags & SFTP_A_MODE)
		serve_info(s, "set \"%s\" mode %04o", path,
		    attrs->mode & SERVE_MODE_BITS);
	if (attrs->flags & SFTP_A_TIMES)
		serve_log_times(s, path, attrs->mtime);
	if (attrs->flags & SFTP_A_OWNER)
		serve_info(s, "set \"%s\" owner %u group %u", path, attrs->uid,
		    attrs->gid);
}

uint32_t
serve_attrs_need(const struct sftp_attrs *attrs)
{
	return (attrs->flags & SFTP_A_SIZE ? SFTP_MAY_CHANGE : 0) |
	    (attrs->flags & SFTP_A_MODE ? SFTP_MAY_MODE : 0) |
	    (attrs->flags & SFTP_A_OWNER ? SFTP_MAY_OWNER : 0) |
	    (attrs->flags & SFTP_A_TIMES ? SFTP_MAY_TIMES : 0);
}

static int
run_set(struct serve_op *op)
{
	return op->path == NULL ?
	    serve_apply_attrs(op->file.fd, &op->attrs) :
	    serve_apply_at(op, op->path, op->flags != 0, &op->attrs);
}

static int
set_path(struct sftp_serve *s, struct serve_op *op, struct rd *r,
    bool nofollow)
{
	int err;

	op->path = serve_get_path(s, r);
	sftp_get_attrs(r, &op->attrs);
	if ((err = rd_err(r)) < 0)
		return err;
	if (!serve_may(s, serve_attrs_need(&op->attrs)))
		return ERR_DENIED;
	serve_log_attrs(s, op->path, &op->attrs);
	op->flags = nofollow;
	op->order.changes = true;
	op->run = run_set;
	op->done = serve_done_status;
	return 0;
}

int
serve_setstat(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	return set_path(s, op, r, false);
}

int
serve_lsetstat(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	return set_path(s, op, r, true);
}

int
serve_fsetstat(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_FREE);
	int err;

	sftp_get_attrs(r, &op->attrs);
	if ((err = serve_check_handle(s, op, r, h, SFTP_FAILURE)) <= 0)
		return err;
	if (!serve_may(s, serve_attrs_need(&op->attrs)))
		return ERR_DENIED;
	serve_log_attrs(s, h->path, &op->attrs);
	serve_touch_handle(s, op, h, true);
	op->run = run_set;
	op->done = serve_done_status;
	return 0;
}

/* ---- directories -------------------------------------------------------- */

static int
run_opendir(struct serve_op *op)
{
	op->own.dir = serve_list_at(op, op->path);
	if (op->own.dir == NULL)
		return -1;
	op->open.remote = serve_is_remote(dirfd(op->own.dir));
	return fstat(dirfd(op->own.dir), &op->st);
}

static void
done_opendir(struct sftp_serve *s, struct serve_op *op)
{
	struct serve_handle *h = &s->handles[op->file.slot];

	if (op->error != 0) {
		serve_handle_close(s, h);
		serve_done_status(s, op);
		return;
	}
	s->remote = s->remote || op->open.remote;
	h->kind = SERVE_DIR;
	h->dir = op->own.dir;
	op->own.dir = NULL;
	h->key = (struct serve_key){ op->st.st_dev, op->st.st_ino };
	serve_put_handle(s, op->id, op->file.slot);
}

int
serve_opendir(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	op->path = serve_get_path(s, r);
	if (op->path == NULL)
		return rd_err(r);
	serve_info(s, "opendir \"%s\"", op->path);
	op->file.slot = serve_handle_new(s, op->path);
	if (op->file.slot < 0) {
		serve_status(s, op->id, SFTP_FAILURE);
		return 0;
	}
	op->run = run_opendir;
	op->done = done_opendir;
	return 0;
}

/* The long name of an entry: a line like that of ls -l. */
static void
long_name(struct sftp_serve *s, char *out, size_t size, int dir,
    const char *name, const struct stat *st)
{
	char user[SERVE_OWNER_MAX], group[SERVE_OWNER_MAX];
	enum { HALF_YEAR_S = 365 * 24 * 3600 / 2 };
	char mode[12], date[32] = "";
	time_t now = time(NULL);
	bool recent = st->st_mtime <= now && now - st->st_mtime < HALF_YEAR_S;
	struct tm tm;

	strmode(st->st_mode, mode);
	if (localtime_r(&st->st_mtime, &tm) != NULL)
		strftime(date, sizeof date,
		    recent ? "%b %e %H:%M" : "%b %e  %Y", &tm);
	serve_owners(s, st, dir, name, user, group);
	snprintf(out, size, "%s %3ju %-8s %-8s %8jd %s %s", mode,
	    (uintmax_t)st->st_nlink, user, group, (intmax_t)st->st_size, date,
	    name);
}

/* Attributes of an entry. The parent of a directory may lie outside of the root
 * of a confined session, or may have been moved there. So ".." of a confined
 * session has the attributes of the directory itself, as "/.." has those of
 * "/". */
static int
stat_entry(const struct serve_op *op, const char *name, struct stat *st)
{
	int dir = dirfd(op->file.dir);

	if (op->below != NULL && strcmp(name, "..") == 0)
		return fstat(dir, st);
	return fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW);
}

/* Puts entries into op->data, each as a struct stat and a name. Names of owners
 * are looked up later, on the loop, when the reply is made. */
static int
run_readdir(struct serve_op *op)
{
	const struct dirent *de;
	struct stat st;
	size_t room = NAMES_MAX_BYTES;

	while (room > ENTRY_BYTES + 2 * NAME_MAX) {
		errno = 0;
		if ((de = readdir(op->file.dir)) == NULL && errno != 0)
			return -1;
		if (de == NULL)
			break;
		if (stat_entry(op, de->d_name, &st) != 0) {
			if (errno == ENOENT)
				continue; /* removed after readdir() */
			/* The name is sent without attributes. A client that
			 * asks for them with LSTAT gets the error. */
			st = (struct stat){ .st_mode = 0 };
		}
		buf_put(&op->data, &st, sizeof st);
		buf_put_string(&op->data, de->d_name, strlen(de->d_name) + 1);
		/* Some file systems have longer names than NAME_MAX. */
		room -= MIN(room, ENTRY_BYTES + 2 * strlen(de->d_name));
		op->count++;
	}
	errno = ENOMEM;
	return buf_err(&op->data) != 0 ? -1 : 0;
}

static void
put_entry(struct sftp_serve *s, int dir, struct rd *entries)
{
	char line[LONGNAME_MAX];
	struct sftp_attrs attrs;
	const char *name;
	struct stat st;

	memcpy(&st, rd_bytes(entries, sizeof st).p, sizeof st);
	name = (const char *)rd_string(entries).p;
	sftp_attrs_from_stat(&attrs, &st);
	if (st.st_mode == 0)
		attrs.flags = 0;
	long_name(s, line, sizeof line, dir, name, &st);
	buf_put_cstring(&s->out, name);
	buf_put_cstring(&s->out, line);
	sftp_put_attrs(&s->out, &attrs);
}

/* Whether a READDIR has entries to tell. False: it was answered with the reason
 * why not. */
static bool
has_entries(struct sftp_serve *s, struct serve_op *op)
{
	if (op->error != 0)
		serve_done_status(s, op);
	else if (op->count == 0)
		serve_status(s, op->id, SFTP_EOF);
	return op->error == 0 && op->count > 0;
}

static void
done_readdir(struct sftp_serve *s, struct serve_op *op)
{
	struct rd entries = rd_from_buf(&op->data);
	size_t mark;

	if (!has_entries(s, op))
		return;
	mark = buf_open_string(&s->out);
	buf_put_u8(&s->out, SFTP_NAME);
	buf_put_u32(&s->out, op->id);
	buf_put_u32(&s->out, (uint32_t)op->count);
	while (entries.len > 0)
		put_entry(s, dirfd(op->file.dir), &entries);
	buf_close_string(&s->out, mark);
}

static void
put_entry_ns(struct sftp_serve *s, struct rd *entries)
{
	struct sftp_attrs attrs;
	struct stat st;

	memcpy(&st, rd_bytes(entries, sizeof st).p, sizeof st);
	buf_put_cstring(&s->out, (const char *)rd_string(entries).p);
	sftp_attrs_from_stat(&attrs, &st);
	sftp_put_attrs(&s->out, &attrs);
	serve_put_stat_ns(&s->out, &st);
}

static void
done_readdir_ns(struct sftp_serve *s, struct serve_op *op)
{
	struct rd entries = rd_from_buf(&op->data);
	size_t mark;

	if (!has_entries(s, op))
		return;
	mark = serve_begin_reply(s, op->id);
	buf_put_u32(&s->out, (uint32_t)op->count);
	while (entries.len > 0)
		put_entry_ns(s, &entries);
	buf_close_string(&s->out, mark);
}

int
serve_readdir_ns(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	int err = serve_readdir(s, op, r);

	op->done = done_readdir_ns;
	return err;
}

int
serve_readdir(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_DIR);
	int err = serve_check_handle(s, op, r, h, SFTP_FAILURE);

	if (err <= 0)
		return err;
	serve_touch_handle(s, op, h, true); /* it changes the position */
	op->file.dir = h->dir;
	op->run = run_readdir;
	op->done = done_readdir;
	return 0;
}

static int
run_mkdir(struct serve_op *op)
{
	struct serve_place p;
	int r = serve_at(op, op->path, &p);

	if (r == 0)
		r = mkdirat(p.at, p.name, op->mode);
	serve_leave(&p);
	return r;
}

int
serve_mkdir(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	int err;

	op->path = serve_get_path(s, r);
	sftp_get_attrs(r, &op->attrs);
	if ((err = rd_err(r)) < 0)
		return err;
	op->mode = op->attrs.flags & SFTP_A_MODE ?
	    op->attrs.mode & SERVE_MODE_BITS :
	    0777;
	serve_info(s, "mkdir name \"%s\" mode 0%o", op->path,
	    (unsigned)op->mode);
	if (!serve_spend(s, op, &s->left.files, 1))
		return 0;
	op->order.changes = true;
	op->run = run_mkdir;
	op->done = serve_done_status;
	return 0;
}

/* ---- names -------------------------------------------------------------- */

/* Removes a name; op->flags are those of unlinkat(2). */
static int
run_remove(struct serve_op *op)
{
	struct serve_place p;
	int r = serve_at(op, op->path, &p);

	if (r == 0)
		r = unlinkat(p.at, p.name, op->flags);
	serve_leave(&p);
	return r;
}

static void
done_take_away(struct sftp_serve *s, struct serve_op *op)
{
	serve_tell_delete(s, op);
	serve_done_status(s, op);
}

static int
take_away(struct sftp_serve *s, struct serve_op *op, struct rd *r,
    const char *what, int flags)
{
	op->path = serve_get_path(s, r);
	if (op->path == NULL)
		return rd_err(r);
	serve_info(s, "%s name \"%s\"", what, op->path);
	if (!serve_spend(s, op, &s->left.deletes, 1))
		return 0;
	op->flags = flags;
	op->order.changes = true;
	op->run = run_remove;
	op->done = done_take_away;
	return 0;
}

int
serve_rmdir(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	return take_away(s, op, r, "rmdir", AT_REMOVEDIR);
}

int
serve_remove(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	return take_away(s, op, r, "remove", 0);
}

/* Fails with EBUSY if the new name is that of a part that somebody writes: its
 * writer still needs that name. */
static int
check_new_name(const struct serve_place *to)
{
	if (!xfer_is_part(to->name) || !xfer_part_is_held(to->at, to->name))
		return 0;
	errno = EBUSY;
	return -1;
}

/* Renames as the draft says: it fails if the new name exists. */
static int
rename_new(const struct serve_place *from, const struct serve_place *to)
{
	struct stat st;

	if (check_new_name(to) != 0)
		return -1;
	if (libc_rename_new_at(from->at, from->name, to->at, to->name) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	/* The file system has no RENAME_NOREPLACE. link() does not replace
	 * either. */
	if (linkat(from->at, from->name, to->at, to->name, 0) == 0)
		return unlinkat(from->at, from->name, 0);
	if (errno == EEXIST || fstatat(from->at, from->name, &st,
	    AT_SYMLINK_NOFOLLOW) != 0)
		return -1;
	if (fstatat(to->at, to->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return -1;
	}
	return renameat(from->at, from->name, to->at, to->name);
}

static int
rename_over(const struct serve_place *from, const struct serve_place *to)
{
	return check_new_name(to) != 0 ? -1 :
	    renameat(from->at, from->name, to->at, to->name);
}

static int
link_to(const struct serve_place *from, const struct serve_place *to)
{
	return linkat(from->at, from->name, to->at, to->name, 0);
}

/* Calls act() with the places of both paths, each looked up below the root of
 * the session. */
static int
with_both(struct serve_op *op,
    int (*act)(const struct serve_place *from, const struct serve_place *to))
{
	struct serve_place from, to;
	int r = serve_at(op, op->path, &from);

	if (r == 0) {
		r = serve_at(op, op->path2, &to);
		if (r == 0)
			r = act(&from, &to);
		serve_leave(&to);
	}
	serve_leave(&from);
	return r;
}

static int
run_rename(struct serve_op *op)
{
	return with_both(op, rename_new);
}

static int
run_posix_rename(struct serve_op *op)
{
	return with_both(op, rename_over);
}

static int
run_link(struct serve_op *op)
{
	return with_both(op, link_to);
}

static int
run_symlink(struct serve_op *op)
{
	struct serve_place p;
	int r = serve_at(op, op->path2, &p);

	if (r == 0)
		r = symlinkat(op->path, p.at, p.name);
	serve_leave(&p);
	return r;
}

static int
change_two(struct sftp_serve *s, struct serve_op *op, struct rd *r,
    const char *what, int (*run)(struct serve_op *op))
{
	op->path = serve_get_path(s, r);
	op->path2 = serve_get_path(s, r);
	if (op->path == NULL || op->path2 == NULL)
		return rd_err(r);
	serve_info(s, "%s old \"%s\" new \"%s\"", what, op->path, op->path2);
	op->order.changes = true;
	op->run = run;
	op->done = serve_done_status;
	return 0;
}

static void
done_rename(struct sftp_serve *s, struct serve_op *op)
{
	serve_tell_rename(s, op);
	serve_done_status(s, op);
}

static int
rename_by(struct sftp_serve *s, struct serve_op *op, struct rd *r,
    const char *what, int (*run)(struct serve_op *op))
{
	int err = change_two(s, op, r, what, run);

	if (op->run != NULL)
		op->done = done_rename;
	return err;
}

int
serve_rename(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	return rename_by(s, op, r, "rename", run_rename);
}

int
serve_posix_rename(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	return rename_by(s, op, r, "posix-rename", run_posix_rename);
}

static int
make_link(struct sftp_serve *s, struct serve_op *op, struct rd *r,
    const char *what, int (*run)(struct serve_op *op))
{
	int err = change_two(s, op, r, what, run);

	if (err == 0 && !serve_spend(s, op, &s->left.files, 1))
		op->run = NULL;
	return err;
}

int
serve_hardlink(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	return make_link(s, op, r, "hardlink", run_link);
}

int
serve_symlink(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	return make_link(s, op, r, "symlink", run_symlink);
}

static int
run_readlink(struct serve_op *op)
{
	uint8_t *p = buf_reserve(&op->data, PATH_MAX);
	struct serve_place at;
	ssize_t n = -1;

	if (p == NULL) {
		errno = ENOMEM;
		return -1;
	}
	if (serve_at(op, op->path, &at) == 0)
		n = readlinkat(at.at, at.name, (char *)p, PATH_MAX);
	serve_leave(&at);
	if (n >= 0)
		buf_commit(&op->data, (size_t)n);
	return n < 0 ? -1 : 0;
}

int
serve_readlink(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	op->path = serve_get_path(s, r);
	if (op->path == NULL)
		return rd_err(r);
	serve_verbose(s, "readlink \"%s\"", op->path);
	op->run = run_readlink;
	op->done = serve_done_name;
	return 0;
}

/*
 * The absolute path. Its last part may be missing, since clients also resolve
 * the path of a file that they are about to make. The caller frees it; NULL
 * with errno.
 */
static char *
resolve(const char *path)
{
	char *full = realpath(path, NULL), *copy, *parent = NULL;
	const char *last;
	char *slash;
	size_t len;

	if (full != NULL || errno != ENOENT)
		return full;
	copy = strdup(path);
	if (copy == NULL)
		return NULL;
	for (len = strlen(copy); len > 1 && copy[len - 1] == '/'; len--)
		copy[len - 1] = '\0';
	slash = strrchr(copy, '/');
	last = slash != NULL ? slash + 1 : copy;
	errno = ENOENT;
	if (*last == '\0' || strcmp(last, "..") == 0)
		goto out;
	if (slash == NULL) {
		parent = realpath(".", NULL);
	} else if (slash == copy) {
		parent = strdup("");
	} else {
		*slash = '\0';
		parent = realpath(copy, NULL);
	}
	if (parent != NULL &&
	    asprintf(&full, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent,
		last) < 0)
		full = NULL;
out:
	free(parent);
	free(copy);
	return full;
}

int
serve_run_resolve(struct serve_op *op)
{
	char *full = op->below != NULL ?
	    local_beneath_resolve(op->below, op->path) :
	    resolve(op->path[0] != '\0' ? op->path : ".");

	if (full == NULL)
		return -1;
	buf_put(&op->data, full, strlen(full));
	free(full);
	return 0;
}

int
serve_realpath(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	op->path = serve_get_path(s, r);
	if (op->path == NULL)
		return rd_err(r);
	serve_verbose(s, "realpath \"%s\"", op->path);
	op->run = serve_run_resolve;
	op->done = serve_done_name;
	return 0;
}
