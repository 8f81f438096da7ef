/* SPDX-License-Identifier: ISC */
/* The requests of the draft itself; see sftp-serve-int.h. */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "xfer/sftp-serve-int.h"

enum {
	MODE_BITS = 07777,
	/* A NAME reply stays below what the oldest clients take. */
	NAMES_MAX_BYTES = 28 * 1024,
	LONGNAME_MAX = 2 * NAME_MAX + 160,
	DATA_HEAD = 4 + 1 + 4 + 4, /* length, type, id, data length */
};

/* --- files --- */

static int
open_flags(uint32_t pflags)
{
	int flags;

	if ((pflags & SFTP_O_READ) && (pflags & SFTP_O_WRITE))
		flags = O_RDWR;
	else if (pflags & SFTP_O_WRITE)
		flags = O_WRONLY;
	else
		flags = O_RDONLY;
	if (pflags & SFTP_O_APPEND)
		flags |= O_APPEND;
	if (pflags & SFTP_O_CREAT)
		flags |= O_CREAT;
	if (pflags & SFTP_O_TRUNC)
		flags |= O_TRUNC;
	if (pflags & SFTP_O_EXCL)
		flags |= O_EXCL;
	return flags | O_CLOEXEC | O_NOCTTY;
}

int
serve_open(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	char *path = serve_get_path(s, r), text[64];
	uint32_t pflags = rd_u32(r);
	struct sftp_attrs attrs;
	int err, fd, place;
	mode_t mode;

	sftp_get_attrs(r, &attrs);
	if ((err = rd_err(r)) < 0)
		goto out;
	mode = attrs.flags & SFTP_A_MODE ? attrs.mode & MODE_BITS : 0666;
	sftp_open_flags_text(pflags, text, sizeof text);
	log_info("open \"%s\" flags %s mode 0%o", path, text, (unsigned)mode);
	if (s->opts.read_only && (pflags & ~(uint32_t)SFTP_O_READ) != 0) {
		serve_status(s, id, SFTP_PERMISSION_DENIED);
		goto out;
	}
	place = serve_handle_new(s, path);
	if (place < 0) {
		serve_status(s, id, SFTP_FAILURE);
		goto out;
	}
	fd = open(path, open_flags(pflags), mode);
	if (fd < 0) {
		serve_handle_close(s, &s->handles[place]);
		serve_errno(s, id, -1);
		goto out;
	}
	s->handles[place].fd = fd;
	s->handles[place].append = (pflags & SFTP_O_APPEND) != 0;
	serve_put_handle(s, id, place);
out:
	free(path);
	return err;
}

int
serve_close(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_FREE);
	int err = rd_err(r), result = 0;

	if (err < 0)
		return err;
	if (h == NULL) {
		serve_status(s, id, SFTP_FAILURE);
		return 0;
	}
	if (h->kind == SERVE_FILE) {
		log_info("close \"%s\" bytes read %llu written %llu", h->path,
		    (unsigned long long)h->bytes_read,
		    (unsigned long long)h->bytes_written);
		/* A file system may tell only now that data was lost. */
		result = close(h->fd);
		h->fd = -1;
	} else {
		log_info("closedir \"%s\"", h->path);
	}
	serve_handle_close(s, h);
	serve_errno(s, id, result);
	return 0;
}

int
serve_read(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_FILE);
	uint64_t offset = rd_u64(r);
	uint32_t want = rd_u32(r);
	int err = rd_err(r);
	uint8_t *reply;
	ssize_t n;

	if (err < 0)
		return err;
	if (h == NULL) {
		serve_status(s, id, SFTP_FAILURE);
		return 0;
	}
	want = MIN(want, (uint32_t)SFTP_DATA_MAX);
	reply = buf_reserve(&s->out, DATA_HEAD + (size_t)want);
	if (reply == NULL)
		return buf_err(&s->out);
	do
		n = pread(h->fd, reply + DATA_HEAD, want, (off_t)offset);
	while (n < 0 && errno == EINTR);
	if (n < 0) {
		serve_errno(s, id, -1);
	} else if (n == 0 && want > 0) {
		serve_status(s, id, SFTP_EOF);
	} else {
		wire_put_u32(reply, (uint32_t)n + DATA_HEAD - 4);
		reply[4] = SFTP_DATA;
		wire_put_u32(reply + 5, id);
		wire_put_u32(reply + 9, (uint32_t)n);
		buf_commit(&s->out, DATA_HEAD + (size_t)n);
		h->bytes_read += (uint64_t)n;
	}
	return 0;
}

/* --- attributes --- */

static int
stat_path(struct sftp_serve *s, uint32_t id, struct rd *r, bool follow)
{
	char *path = serve_get_path(s, r);
	struct stat st;
	int err = rd_err(r);

	if (err < 0)
		goto out;
	log_verbose("%s name \"%s\"", follow ? "stat" : "lstat", path);
	if ((follow ? stat(path, &st) : lstat(path, &st)) != 0)
		serve_errno(s, id, -1);
	else
		serve_attrs(s, id, &st);
out:
	free(path);
	return err;
}

int
serve_stat(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	return stat_path(s, id, r, true);
}

int
serve_lstat(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	return stat_path(s, id, r, false);
}

int
serve_fstat(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_FREE);
	struct stat st;
	int err = rd_err(r);

	if (err < 0)
		return err;
	if (h == NULL)
		serve_status(s, id, SFTP_FAILURE);
	else if (fstat(h->dir != NULL ? dirfd(h->dir) : h->fd, &st) != 0)
		serve_errno(s, id, -1);
	else
		serve_attrs(s, id, &st);
	return 0;
}

static int
apply_times(const char *path, int fd, int at_flags,
    const struct sftp_attrs *attrs)
{
	struct timespec ts[2] = {
		{ .tv_sec = attrs->atime },
		{ .tv_sec = attrs->mtime },
	};

	return path != NULL ? utimensat(AT_FDCWD, path, ts, at_flags) :
			      futimens(fd, ts);
}

/*
 * In this order: a new owner clears set-id bits, which the mode gives back,
 * and all the rest touches the times.
 */
int
serve_apply_attrs(const char *path, int fd, bool nofollow,
    const struct sftp_attrs *attrs)
{
	int at = nofollow ? AT_SYMLINK_NOFOLLOW : 0;
	mode_t mode = attrs->mode & MODE_BITS;

	if (attrs->flags & SFTP_A_SIZE) {
		off_t size = (off_t)attrs->size;

		if (nofollow) {
			errno = EINVAL;
			return -1;
		}
		if ((path ? truncate(path, size) : ftruncate(fd, size)) != 0)
			return -1;
	}
	if ((attrs->flags & SFTP_A_OWNER) &&
	    (path ? fchownat(AT_FDCWD, path, attrs->uid, attrs->gid, at) :
		    fchown(fd, attrs->uid, attrs->gid)) != 0)
		return -1;
	if ((attrs->flags & SFTP_A_MODE) &&
	    (path ? fchmodat(AT_FDCWD, path, mode, at) : fchmod(fd, mode)) !=
		0)
		return -1;
	if ((attrs->flags & SFTP_A_TIMES) &&
	    apply_times(path, fd, at, attrs) != 0)
		return -1;
	return 0;
}

static void
log_attrs(const char *path, const struct sftp_attrs *attrs)
{
	char text[32];
	time_t t = attrs->mtime;
	struct tm tm;

	if (attrs->flags & SFTP_A_SIZE)
		log_info("set \"%s\" size %llu", path,
		    (unsigned long long)attrs->size);
	if (attrs->flags & SFTP_A_MODE)
		log_info("set \"%s\" mode %04o", path,
		    attrs->mode & MODE_BITS);
	if ((attrs->flags & SFTP_A_TIMES) && localtime_r(&t, &tm) != NULL) {
		strftime(text, sizeof text, "%Y%m%d-%H:%M:%S", &tm);
		log_info("set \"%s\" modtime %s", path, text);
	}
	if (attrs->flags & SFTP_A_OWNER)
		log_info("set \"%s\" owner %u group %u", path, attrs->uid,
		    attrs->gid);
}

static int
set_path(struct sftp_serve *s, uint32_t id, struct rd *r, bool nofollow)
{
	char *path = serve_get_path(s, r);
	struct sftp_attrs attrs;
	int err;

	sftp_get_attrs(r, &attrs);
	err = rd_err(r);
	if (err == 0) {
		log_attrs(path, &attrs);
		serve_errno(s, id,
		    serve_apply_attrs(path, -1, nofollow, &attrs));
	}
	free(path);
	return err;
}

int
serve_setstat(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	return set_path(s, id, r, false);
}

int
serve_lsetstat(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	return set_path(s, id, r, true);
}

int
serve_fsetstat(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_FREE);
	struct sftp_attrs attrs;
	int err;

	sftp_get_attrs(r, &attrs);
	if ((err = rd_err(r)) < 0)
		return err;
	if (h == NULL) {
		serve_status(s, id, SFTP_FAILURE);
		return 0;
	}
	log_attrs(h->path, &attrs);
	serve_errno(s, id,
	    serve_apply_attrs(NULL, h->dir != NULL ? dirfd(h->dir) : h->fd,
		false, &attrs));
	return 0;
}

/* --- directories --- */

int
serve_opendir(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	char *path = serve_get_path(s, r);
	int err = rd_err(r), place;
	struct serve_handle *h;

	if (err < 0)
		goto out;
	log_info("opendir \"%s\"", path);
	place = serve_handle_new(s, path);
	if (place < 0) {
		serve_status(s, id, SFTP_FAILURE);
		goto out;
	}
	h = &s->handles[place];
	h->dir = opendir(path);
	if (h->dir == NULL) {
		serve_handle_close(s, h);
		serve_errno(s, id, -1);
		goto out;
	}
	h->kind = SERVE_DIR;
	serve_put_handle(s, id, place);
out:
	free(path);
	return err;
}

static const char *
user_name(struct sftp_serve *s, uint32_t uid)
{
	const struct passwd *pw;

	if (s->last_user.known && s->last_user.id == uid)
		return s->last_user.name;
	s->last_user.known = true;
	s->last_user.id = uid;
	pw = getpwuid(uid);
	if (pw != NULL)
		strlcpy(s->last_user.name, pw->pw_name,
		    sizeof s->last_user.name);
	else
		snprintf(s->last_user.name, sizeof s->last_user.name, "%u",
		    uid);
	return s->last_user.name;
}

static const char *
group_name(struct sftp_serve *s, uint32_t gid)
{
	const struct group *gr;

	if (s->last_group.known && s->last_group.id == gid)
		return s->last_group.name;
	s->last_group.known = true;
	s->last_group.id = gid;
	gr = getgrgid(gid);
	if (gr != NULL)
		strlcpy(s->last_group.name, gr->gr_name,
		    sizeof s->last_group.name);
	else
		snprintf(s->last_group.name, sizeof s->last_group.name, "%u",
		    gid);
	return s->last_group.name;
}

/* The line that a listing shows for an entry, in the manner of ls -l. */
static void
long_name(struct sftp_serve *s, char *out, size_t size, const char *name,
    const struct stat *st)
{
	enum { HALF_YEAR_S = 365 * 24 * 3600 / 2 };
	char mode[12], date[32] = "";
	time_t now = time(NULL);
	bool recent = st->st_mtime <= now && now - st->st_mtime < HALF_YEAR_S;
	struct tm tm;

	strmode(st->st_mode, mode);
	if (localtime_r(&st->st_mtime, &tm) != NULL)
		strftime(date, sizeof date,
		    recent ? "%b %e %H:%M" : "%b %e  %Y", &tm);
	snprintf(out, size, "%s %3ju %-8s %-8s %8jd %s %s", mode,
	    (uintmax_t)st->st_nlink, user_name(s, st->st_uid),
	    group_name(s, st->st_gid), (intmax_t)st->st_size, date, name);
}

int
serve_readdir(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_DIR);
	struct buf *b = &s->out;
	size_t start = buf_len(b), mark;
	char line[LONGNAME_MAX];
	struct sftp_attrs attrs;
	struct dirent *de;
	uint32_t count = 0;
	struct stat st;
	int err = rd_err(r);

	if (err < 0)
		return err;
	if (h == NULL) {
		serve_status(s, id, SFTP_FAILURE);
		return 0;
	}
	mark = buf_open_string(b);
	buf_put_u8(b, SFTP_NAME);
	buf_put_u32(b, id);
	buf_put_u32(b, 0); /* the count, once it is known */
	while (buf_len(b) - start < NAMES_MAX_BYTES && buf_err(b) == 0 &&
	    (de = readdir(h->dir)) != NULL) {
		if (fstatat(dirfd(h->dir), de->d_name, &st,
		    AT_SYMLINK_NOFOLLOW) != 0)
			continue; /* gone meanwhile */
		sftp_attrs_from_stat(&attrs, &st);
		long_name(s, line, sizeof line, de->d_name, &st);
		buf_put_cstring(b, de->d_name);
		buf_put_cstring(b, line);
		sftp_put_attrs(b, &attrs);
		count++;
	}
	if ((err = buf_err(b)) < 0)
		return err;
	if (count == 0) {
		buf_truncate(b, start);
		serve_status(s, id, SFTP_EOF);
		return 0;
	}
	buf_close_string(b, mark);
	wire_put_u32((uint8_t *)buf_data(b) + mark + 5, count);
	return 0;
}

int
serve_mkdir(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	char *path = serve_get_path(s, r);
	struct sftp_attrs attrs;
	mode_t mode;
	int err;

	sftp_get_attrs(r, &attrs);
	err = rd_err(r);
	if (err == 0) {
		mode = attrs.flags & SFTP_A_MODE ? attrs.mode & MODE_BITS :
						   0777;
		log_info("mkdir name \"%s\" mode 0%o", path, (unsigned)mode);
		serve_errno(s, id, mkdir(path, mode));
	}
	free(path);
	return err;
}

/* --- names --- */

int
serve_rmdir(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	char *path = serve_get_path(s, r);
	int err = rd_err(r);

	if (err == 0) {
		log_info("rmdir name \"%s\"", path);
		serve_errno(s, id, rmdir(path));
	}
	free(path);
	return err;
}

int
serve_remove(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	char *path = serve_get_path(s, r);
	int err = rd_err(r);

	if (err == 0) {
		log_info("remove name \"%s\"", path);
		serve_errno(s, id, unlink(path));
	}
	free(path);
	return err;
}

/* The draft's RENAME fails if the new name exists. */
static int
rename_noreplace(const char *from, const char *to)
{
	struct stat st;

	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	/* A file system without that flag: link() does not replace either. */
	if (link(from, to) == 0)
		return unlink(from);
	if (errno == EEXIST || lstat(from, &st) != 0)
		return -1;
	if (lstat(to, &st) == 0) {
		errno = EEXIST;
		return -1;
	}
	return rename(from, to);
}

int
serve_rename(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	char *from = serve_get_path(s, r), *to = serve_get_path(s, r);
	int err = rd_err(r);

	if (err == 0) {
		log_info("rename old \"%s\" new \"%s\"", from, to);
		serve_errno(s, id, rename_noreplace(from, to));
	}
	free(from);
	free(to);
	return err;
}

int
serve_symlink(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	char *target = serve_get_path(s, r), *name = serve_get_path(s, r);
	int err = rd_err(r);

	if (err == 0) {
		log_info("symlink old \"%s\" new \"%s\"", target, name);
		serve_errno(s, id, symlink(target, name));
	}
	free(target);
	free(name);
	return err;
}

int
serve_readlink(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	char *path = serve_get_path(s, r), target[PATH_MAX];
	int err = rd_err(r);
	ssize_t n;

	if (err < 0)
		goto out;
	log_verbose("readlink \"%s\"", path);
	n = readlink(path, target, sizeof target - 1);
	if (n < 0) {
		serve_errno(s, id, -1);
	} else {
		target[n] = '\0';
		serve_name(s, id, target);
	}
out:
	free(path);
	return err;
}

/*
 * The absolute path, where only the last part may be missing: a client
 * asks so for the place of a file that it is about to make. Caller frees;
 * NULL with errno.
 */
char *
serve_resolve(const char *path)
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
serve_realpath(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	char *path = serve_get_path(s, r), *full;
	int err = rd_err(r);

	if (err < 0)
		goto out;
	log_verbose("realpath \"%s\"", path);
	full = serve_resolve(path[0] != '\0' ? path : ".");
	if (full == NULL)
		serve_errno(s, id, -1);
	else
		serve_name(s, id, full);
	free(full);
out:
	free(path);
	return err;
}
