/* SPDX-License-Identifier: ISC */
/* Extensions of the SFTP server; see sftp-serve-internal.h. */
#include <sys/statvfs.h>

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "compat/file.h"
#include "xfer/serve/sftp-serve-internal.h"

enum {
	IDS_MAX = 4096,
	NAMES_MAX = 256, /* names of users and groups in one request */
	OWN_GROUPS_MAX = 4096,
};

/* ---- file systems ------------------------------------------------------- */

static int
run_statvfs(struct serve_op *op)
{
	struct statvfs st;
	struct sftp_statvfs v;

	if (op->path != NULL && op->below != NULL &&
	    (op->file.fd = op->own.fd = serve_open_at(op, op->path,
		 FILE_HANDLE | O_CLOEXEC, 0)) < 0)
		return -1;
	if ((op->path != NULL && op->below == NULL ? statvfs(op->path, &st) :
		fstatvfs(op->file.fd, &st)) != 0)
		return -1;
	v = (struct sftp_statvfs){
		.bsize = st.f_bsize,
		.frsize = st.f_frsize,
		.blocks = st.f_blocks,
		.bfree = st.f_bfree,
		.bavail = st.f_bavail,
		.files = st.f_files,
		.ffree = st.f_ffree,
		.favail = st.f_favail,
		.fsid = st.f_fsid,
		.flag = (st.f_flag & ST_RDONLY ? SFTP_VFS_RDONLY : 0) |
		    (st.f_flag & ST_NOSUID ? SFTP_VFS_NOSUID : 0),
		.namemax = st.f_namemax,
	};
	sftp_put_statvfs(&op->data, &v);
	return 0;
}

int
serve_statvfs(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	op->path = serve_get_path(s, r);
	if (op->path == NULL)
		return rd_err(r);
	serve_info(s, "statvfs \"%s\"", op->path);
	op->run = run_statvfs;
	op->done = serve_done_data;
	return 0;
}

int
serve_fstatvfs(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_FREE);
	int err = serve_check_handle(s, op, r, h, SFTP_FAILURE);

	if (err <= 0)
		return err;
	serve_info(s, "fstatvfs \"%s\"", h->path);
	serve_touch_handle(s, op, h, false);
	op->run = run_statvfs;
	op->done = serve_done_data;
	return 0;
}

int
serve_limits(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	size_t mark = serve_begin_reply(s, op->id);

	(void)r;
	buf_put_u64(&s->out, SFTP_MESSAGE_MAX);
	buf_put_u64(&s->out, SFTP_DATA_MAX);
	buf_put_u64(&s->out, SFTP_DATA_MAX);
	buf_put_u64(&s->out, (uint64_t)s->handles_max);
	buf_close_string(&s->out, mark);
	return 0;
}

/* ---- people ------------------------------------------------------------- */

/*
 * Turns "~", "~/x" or "~user/x" into an absolute path, which the caller frees.
 * NULL: there is no such home, or no memory.
 */
static char *
expand(const struct sftp_serve *s, const char *path)
{
	const char *rest = path + 1 + strcspn(path + 1, "/");
	char *user = strndup(path + 1, (size_t)(rest - path - 1));
	char *joined = NULL, home[SERVE_HOME_MAX];

	if (user != NULL && serve_home_of(s, user, home) &&
	    asprintf(&joined, "%s%s", home, rest) < 0)
		joined = NULL;
	free(user);
	return joined;
}

int
serve_expand_path(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	char *expanded;

	op->path = serve_get_path(s, r);
	if (op->path == NULL)
		return rd_err(r);
	serve_verbose(s, "expand \"%s\"", op->path);
	if (op->path[0] == '~') {
		if (s->below != NULL)
			return ERR_DENIED; /* the home is outside of the
					    * confined session's root */
		expanded = expand(s, op->path);
		if (expanded == NULL)
			return ERR_NOT_FOUND;
		free(op->path);
		op->path = expanded;
	}
	op->run = serve_run_resolve;
	op->done = serve_done_name;
	return 0;
}

int
serve_home_directory(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	char home[SERVE_HOME_MAX];

	op->path = rd_cstring(r, SFTP_PATH_MAX);
	if (op->path == NULL)
		return rd_err(r);
	serve_verbose(s, "home-directory \"%s\"", op->path);
	if (s->below != NULL)
		return ERR_DENIED;
	if (!serve_home_of(s, op->path, home))
		return ERR_NOT_FOUND;
	serve_name(s, op->id, home);
	return 0;
}

int
serve_users_groups(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	struct rd uids = rd_sub(r), gids = rd_sub(r);
	struct buf *b = &s->out;
	char name[OWNERS_NAME_MAX];
	int err = rd_err(r);
	size_t mark, list;

	if (err < 0)
		return err;
	if (uids.len % 4 != 0 || gids.len % 4 != 0 ||
	    uids.len / 4 > IDS_MAX || gids.len / 4 > IDS_MAX)
		return ERR_LIMIT;
	serve_verbose(s, "users-groups-by-id: %zu users, %zu groups",
	    uids.len / 4, gids.len / 4);
	mark = serve_begin_reply(s, op->id);
	list = buf_open_string(b);
	while (uids.len > 0) {
		(void)serve_owner(s, OWNERS_USER, rd_u32(&uids), -1, name);
		buf_put_cstring(b, name);
	}
	buf_close_string(b, list);
	list = buf_open_string(b);
	while (gids.len > 0) {
		(void)serve_owner(s, OWNERS_GROUP, rd_u32(&gids), -1, name);
		buf_put_cstring(b, name);
	}
	buf_close_string(b, list);
	buf_close_string(b, mark);
	return 0;
}

/* Counts the names of a list. ERR_LIMIT: there are too many, or one cannot be a
 * name. */
static int
check_names(struct rd list, size_t *n)
{
	struct span name;

	while (list.len > 0) {
		name = rd_string(&list);
		if (rd_err(&list) < 0)
			return rd_err(&list);
		if (!owners_may_name(name.p, name.len) || ++*n > NAMES_MAX)
			return ERR_LIMIT;
	}
	return rd_err(&list);
}

static void
put_ids(struct sftp_serve *s, enum owners_kind kind, struct rd list)
{
	char text[OWNERS_ASKED_MAX + 1];
	size_t mark = buf_open_string(&s->out);
	struct span name;

	while (list.len > 0) {
		name = rd_string(&list);
		memcpy(text, name.p, name.len);
		text[name.len] = '\0';
		buf_put_u32(&s->out, serve_id(s, kind, text));
	}
	buf_close_string(&s->out, mark);
}

int
serve_ids_by_name(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	struct rd users = rd_sub(r), groups = rd_sub(r);
	size_t n = 0, mark;
	int err = rd_end(r);

	if (err < 0 || (err = check_names(users, &n)) < 0 ||
	    (err = check_names(groups, &n)) < 0)
		return err;
	serve_verbose(s, "ids-by-name: %zu names", n);
	mark = serve_begin_reply(s, op->id);
	put_ids(s, OWNERS_USER, users);
	put_ids(s, OWNERS_GROUP, groups);
	buf_close_string(&s->out, mark);
	return 0;
}

/* Puts the groups of this process: first the one that its new files get. */
static void
put_own_groups(struct buf *b)
{
	int n = getgroups(0, NULL);
	gid_t *groups = n > 0 ? calloc((size_t)n, sizeof *groups) : NULL;

	buf_put_u32(b, (uint32_t)getegid());
	n = groups != NULL ? getgroups(n, groups) : 0;
	for (int i = 0; i < MIN(n, (int)OWN_GROUPS_MAX); i++)
		buf_put_u32(b, (uint32_t)groups[i]);
	free(groups);
}

int
serve_own_ids(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	int err = rd_end(r);
	size_t mark, list;

	if (err < 0)
		return err;
	serve_verbose(s, "own-ids");
	mark = serve_begin_reply(s, op->id);
	buf_put_u32(&s->out, (uint32_t)geteuid());
	list = buf_open_string(&s->out);
	put_own_groups(&s->out);
	buf_close_string(&s->out, list);
	buf_close_string(&s->out, mark);
	return 0;
}
