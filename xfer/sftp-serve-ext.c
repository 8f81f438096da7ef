/* SPDX-License-Identifier: ISC */
/* Extensions of the SFTP server; see sftp-serve-int.h. */
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "xfer/sftp-serve-int.h"

enum { COPY_CHUNK = 256 * 1024, IDS_MAX = 4096 };

int
serve_posix_rename(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	char *from = serve_get_path(s, r), *to = serve_get_path(s, r);
	int err = rd_err(r);

	if (err == 0) {
		log_info("posix-rename old \"%s\" new \"%s\"", from, to);
		serve_errno(s, id, rename(from, to));
	}
	free(from);
	free(to);
	return err;
}

int
serve_hardlink(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	char *from = serve_get_path(s, r), *to = serve_get_path(s, r);
	int err = rd_err(r);

	if (err == 0) {
		log_info("hardlink old \"%s\" new \"%s\"", from, to);
		serve_errno(s, id, link(from, to));
	}
	free(from);
	free(to);
	return err;
}

int
serve_fsync(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_FILE);
	int err = rd_err(r);

	if (err < 0)
		return err;
	if (h == NULL) {
		serve_status(s, id, SFTP_NO_SUCH_FILE);
		return 0;
	}
	log_verbose("fsync \"%s\"", h->path);
	serve_errno(s, id, fsync(h->fd));
	return 0;
}

/* --- file systems --- */

static void
reply_statvfs(struct sftp_serve *s, uint32_t id, const struct statvfs *st)
{
	struct sftp_statvfs v = {
		.bsize = st->f_bsize,
		.frsize = st->f_frsize,
		.blocks = st->f_blocks,
		.bfree = st->f_bfree,
		.bavail = st->f_bavail,
		.files = st->f_files,
		.ffree = st->f_ffree,
		.favail = st->f_favail,
		.fsid = st->f_fsid,
		.flag = (st->f_flag & ST_RDONLY ? SFTP_VFS_RDONLY : 0) |
		    (st->f_flag & ST_NOSUID ? SFTP_VFS_NOSUID : 0),
		.namemax = st->f_namemax,
	};
	size_t mark = buf_open_string(&s->out);

	buf_put_u8(&s->out, SFTP_EXTENDED_REPLY);
	buf_put_u32(&s->out, id);
	sftp_put_statvfs(&s->out, &v);
	buf_close_string(&s->out, mark);
}

int
serve_statvfs(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	char *path = serve_get_path(s, r);
	struct statvfs st;
	int err = rd_err(r);

	if (err < 0)
		goto out;
	log_verbose("statvfs \"%s\"", path);
	if (statvfs(path, &st) != 0)
		serve_errno(s, id, -1);
	else
		reply_statvfs(s, id, &st);
out:
	free(path);
	return err;
}

int
serve_fstatvfs(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_FREE);
	struct statvfs st;
	int err = rd_err(r);

	if (err < 0)
		return err;
	if (h == NULL)
		serve_status(s, id, SFTP_FAILURE);
	else if (fstatvfs(h->dir != NULL ? dirfd(h->dir) : h->fd, &st) != 0)
		serve_errno(s, id, -1);
	else
		reply_statvfs(s, id, &st);
	return 0;
}

int
serve_limits(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	size_t mark = buf_open_string(&s->out);

	(void)r;
	buf_put_u8(&s->out, SFTP_EXTENDED_REPLY);
	buf_put_u32(&s->out, id);
	buf_put_u64(&s->out, SFTP_MESSAGE_MAX);
	buf_put_u64(&s->out, SFTP_DATA_MAX);
	buf_put_u64(&s->out, SFTP_DATA_MAX);
	buf_put_u64(&s->out, (uint64_t)s->handles_max);
	buf_close_string(&s->out, mark);
	return 0;
}

/* --- copying on the server --- */

static int
write_whole(int fd, const uint8_t *p, size_t len, off_t offset)
{
	ssize_t n;

	while (len > 0) {
		n = pwrite(fd, p, len, offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		p += n;
		len -= (size_t)n;
		offset += n;
	}
	return 0;
}

/*
 * Copies len bytes, or to the end of the file if len is UINT64_MAX; with
 * copy_file_range() where both ends can, which shares blocks or copies
 * inside of the kernel. 0, or -1 with errno.
 */
static int
copy_range(struct serve_handle *from, off_t from_at, struct serve_handle *to,
    off_t to_at, uint64_t len)
{
	bool in_kernel = !to->append;
	uint8_t *block = NULL;
	int result = -1;
	ssize_t n;

	while (len > 0) {
		size_t want = (size_t)MIN(len, (uint64_t)COPY_CHUNK);

		if (in_kernel) {
			/* Large steps: there is no buffer to fit into. */
			want = (size_t)MIN(len, (uint64_t)1 << 30);
			n = copy_file_range(from->fd, &from_at, to->fd,
			    &to_at, want, 0);
			if (n < 0 && errno == EINTR)
				continue;
			/* Files of /proc copy as empty that way. */
			if (n <= 0) {
				in_kernel = false;
				continue;
			}
		} else {
			if (block == NULL &&
			    (block = malloc(COPY_CHUNK)) == NULL)
				goto out;
			n = pread(from->fd, block, want, from_at);
			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0 ||
			    write_whole(to->fd, block, (size_t)n, to_at) != 0)
				goto out;
			from_at += n;
			to_at += n;
		}
		if (n == 0)
			break;
		from->bytes_read += (uint64_t)n;
		to->bytes_written += (uint64_t)n;
		if (len != UINT64_MAX)
			len -= (uint64_t)n;
	}
	result = 0;
	if (len != UINT64_MAX && len > 0) {
		errno = EIO; /* the source ended early */
		result = -1;
	}
out:
	free(block);
	return result;
}

int
serve_copy_data(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	struct serve_handle *from = serve_get_handle(s, r, SERVE_FILE), *to;
	uint64_t from_at = rd_u64(r), len = rd_u64(r), to_at;
	int err;

	to = serve_get_handle(s, r, SERVE_FILE);
	to_at = rd_u64(r);
	if ((err = rd_err(r)) < 0)
		return err;
	if (from == NULL || to == NULL || from == to || from_at > INT64_MAX ||
	    to_at > INT64_MAX) {
		serve_status(s, id, SFTP_FAILURE);
		return 0;
	}
	log_info("copy-data from \"%s\" to \"%s\"", from->path, to->path);
	serve_errno(s, id,
	    copy_range(from, (off_t)from_at, to, (off_t)to_at,
		len != 0 ? len : UINT64_MAX));
	return 0;
}

/* --- people --- */

/*
 * "~", "~/x", "~user/x" to a path from the root; others as REALPATH does.
 * Caller frees; NULL with errno.
 */
static char *
expand(const struct sftp_serve *s, const char *path)
{
	const struct passwd *pw;
	const char *home, *rest;
	char *user, *joined, *full;

	if (path[0] != '~')
		return serve_resolve(path[0] != '\0' ? path : ".");
	rest = path + 1 + strcspn(path + 1, "/");
	if (rest == path + 1) {
		home = s->opts.home;
		if (home == NULL && (pw = getpwuid(getuid())) != NULL)
			home = pw->pw_dir;
	} else {
		user = strndup(path + 1, (size_t)(rest - path - 1));
		if (user == NULL)
			return NULL;
		pw = getpwnam(user);
		free(user);
		home = pw != NULL ? pw->pw_dir : NULL;
	}
	if (home == NULL) {
		errno = ENOENT;
		return NULL;
	}
	if (asprintf(&joined, "%s%s", home, rest) < 0)
		return NULL;
	full = serve_resolve(joined);
	free(joined);
	return full;
}

int
serve_expand_path(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	char *path = serve_get_path(s, r), *full;
	int err = rd_err(r);

	if (err < 0)
		goto out;
	log_verbose("expand \"%s\"", path);
	full = expand(s, path);
	if (full == NULL)
		serve_errno(s, id, -1);
	else
		serve_name(s, id, full);
	free(full);
out:
	free(path);
	return err;
}

int
serve_home_directory(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	char *user = rd_cstring(r, SFTP_PATH_MAX);
	const struct passwd *pw;
	int err = rd_err(r);

	if (err < 0)
		goto out;
	log_verbose("home-directory \"%s\"", user);
	pw = user[0] != '\0' ? getpwnam(user) : getpwuid(getuid());
	if (pw == NULL)
		serve_status(s, id, SFTP_NO_SUCH_FILE);
	else
		serve_name(s, id, pw->pw_dir);
out:
	free(user);
	return err;
}

int
serve_users_groups(struct sftp_serve *s, uint32_t id, struct rd *r)
{
	struct rd uids = rd_sub(r), gids = rd_sub(r);
	struct buf *b = &s->out;
	const struct passwd *pw;
	const struct group *gr;
	int err = rd_err(r);
	size_t mark, list;

	if (err < 0)
		return err;
	if (uids.len % 4 != 0 || gids.len % 4 != 0 ||
	    uids.len / 4 > IDS_MAX || gids.len / 4 > IDS_MAX)
		return ERR_LIMIT;
	log_verbose("users-groups-by-id: %zu users, %zu groups",
	    uids.len / 4, gids.len / 4);
	mark = buf_open_string(b);
	buf_put_u8(b, SFTP_EXTENDED_REPLY);
	buf_put_u32(b, id);
	list = buf_open_string(b);
	while (uids.len > 0) {
		pw = getpwuid(rd_u32(&uids));
		buf_put_cstring(b, pw != NULL ? pw->pw_name : "");
	}
	buf_close_string(b, list);
	list = buf_open_string(b);
	while (gids.len > 0) {
		gr = getgrgid(rd_u32(&gids));
		buf_put_cstring(b, gr != NULL ? gr->gr_name : "");
	}
	buf_close_string(b, list);
	buf_close_string(b, mark);
	return 0;
}
