/* SPDX-License-Identifier: ISC */
/* Requests of the client engine that wait for their answer. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compat/bsd.h"
#include "xfer/sftp/sftp-engine.h"

enum { NAME_BYTES_MAX = 256 };

struct call {
	bool done;
	int result; /* 0, status > 0, ERR_* */
	struct sftp_attrs attrs;
	char *name; /* owned */
	struct sftp_statvfs vfs;
	struct sftp_handle handle;
	sftp_entry_fn entry;
	void *entry_arg;
	bool enough, dots;
	char *group; /* owned; for owners, beside the user's in name */
};

static struct {
	int status;
	char words[SFTP_WORDS_MAX];
} told;

static void
keep_words(const struct sftp_reply *reply)
{
	told.status = (int)reply->status;
	strlcpy(told.words, reply->words, sizeof told.words);
}

const char *
sftp_call_words(int status)
{
	return status == told.status ? told.words :
				       sftp_status_text((uint32_t)status);
}

static bool
take_result(struct call *c, const struct sftp_reply *reply, uint8_t type)
{
	c->done = true;
	c->result = reply->err != 0 ? reply->err : (int)reply->status;
	told.status = 0;
	if (c->result > 0)
		keep_words(reply);
	if (c->result == 0 && reply->type != type)
		c->result = SFTP_BAD_MESSAGE;
	return c->result == 0;
}

static int
wait_for(struct sftp *s, struct call *c)
{
	int r = sftp_run_until(s, &c->done);

	return c->done ? c->result : r;
}

static void
status_done(void *arg, const struct sftp_reply *reply)
{
	(void)take_result(arg, reply, SFTP_STATUS);
}

static void
attrs_done(void *arg, const struct sftp_reply *reply)
{
	struct call *c = arg;

	if (take_result(c, reply, SFTP_ATTRS))
		c->attrs = reply->attrs;
}

static void
name_done(void *arg, const struct sftp_reply *reply)
{
	struct call *c = arg;
	struct sftp_entry entry;
	struct rd r = reply->body;

	if (!take_result(c, reply, SFTP_NAME))
		return;
	if (reply->count >= 1 && sftp_next_entry(&r, &entry))
		c->name = span_dup(entry.name);
	if (c->name == NULL)
		c->result = SFTP_BAD_MESSAGE;
}

static void
statvfs_done(void *arg, const struct sftp_reply *reply)
{
	struct call *c = arg;
	struct rd r = reply->body;

	if (!take_result(c, reply, SFTP_EXTENDED_REPLY))
		return;
	sftp_get_statvfs(&r, &c->vfs);
	if (rd_err(&r) < 0)
		c->result = SFTP_BAD_MESSAGE;
}

static void
handle_done(void *arg, const struct sftp_reply *reply)
{
	struct call *c = arg;

	if (take_result(c, reply, SFTP_HANDLE))
		sftp_keep_handle(&c->handle, reply);
}

static void
entries_done(void *arg, const struct sftp_reply *reply)
{
	struct call *c = arg;
	struct sftp_entry entry;
	struct rd r = reply->body;
	char *name;

	if (!take_result(c, reply, SFTP_NAME))
		return;
	while (!c->enough && sftp_next_entry(&r, &entry)) {
		if (!sftp_name_is_safe(entry.name) &&
		    !(c->dots && (span_equals(entry.name, ".") ||
				     span_equals(entry.name, ".."))))
			continue;
		name = span_dup(entry.name);
		if (name == NULL) {
			c->result = ERR_NOMEM;
			return;
		}
		c->enough = !c->entry(c->entry_arg, name, &entry);
		free(name);
	}
	if (r.err != 0)
		c->result = SFTP_BAD_MESSAGE;
}

int
sftp_call_stat(struct sftp *s, const char *path, bool follow,
    struct sftp_attrs *attrs)
{
	struct call c = { .done = false };
	int r;

	sftp_path_request(s, follow ? SFTP_STAT : SFTP_LSTAT, path,
	    attrs_done, &c);
	r = wait_for(s, &c);
	*attrs = c.attrs;
	return r;
}

int
sftp_call_name(struct sftp *s, enum sftp_type type, const char *path,
    char **name)
{
	struct call c = { .done = false };
	int r;

	if (type == SFTP_EXTENDED)
		sftp_ext_path(s, SFTP_EXT_EXPAND_PATH, path, NULL, name_done,
		    &c);
	else
		sftp_path_request(s, type, path, name_done, &c);
	r = wait_for(s, &c);
	*name = c.name;
	return r;
}

int
sftp_call_path(struct sftp *s, enum sftp_type type, const char *path)
{
	struct call c = { .done = false };

	if (type == SFTP_MKDIR || type == SFTP_SETSTAT)
		sftp_attrs_request(s, type, path, NULL, status_done, &c);
	else
		sftp_path_request(s, type, path, status_done, &c);
	return wait_for(s, &c);
}

int
sftp_call_mkdir(struct sftp *s, const char *path,
    const struct sftp_attrs *attrs)
{
	struct call c = { .done = false };

	sftp_attrs_request(s, SFTP_MKDIR, path, attrs, status_done, &c);
	return wait_for(s, &c);
}

int
sftp_call_paths(struct sftp *s, enum sftp_type type, const char *first,
    const char *second)
{
	struct call c = { .done = false };

	sftp_two_paths(s, type, first, second, status_done, &c);
	return wait_for(s, &c);
}

int
sftp_call_ext(struct sftp *s, enum sftp_extension ext, const char *first,
    const char *second)
{
	struct call c = { .done = false };

	if (!sftp_has(s, ext))
		return SFTP_OP_UNSUPPORTED;
	sftp_ext_path(s, ext, first, second, status_done, &c);
	return wait_for(s, &c);
}

int
sftp_call_setstat(struct sftp *s, const char *path, bool follow,
    const struct sftp_attrs *attrs)
{
	struct call c = { .done = false };

	if (!follow && !sftp_has(s, SFTP_EXT_LSETSTAT))
		return SFTP_OP_UNSUPPORTED;
	if (follow)
		sftp_attrs_request(s, SFTP_SETSTAT, path, attrs, status_done,
		    &c);
	else
		sftp_lsetstat(s, path, attrs, status_done, &c);
	return wait_for(s, &c);
}

static int
fstat_handle(struct sftp *s, const struct sftp_handle *h, uint64_t *size)
{
	struct call c = { .done = false };
	int r;

	sftp_handle_request(s, SFTP_FSTAT, h, attrs_done, &c);
	r = wait_for(s, &c);
	*size = c.attrs.size;
	return r == 0 && !(c.attrs.flags & SFTP_A_SIZE) ? SFTP_BAD_MESSAGE : r;
}

static int
cut_handle(struct sftp *s, const struct sftp_handle *h, uint64_t size)
{
	const struct sftp_attrs a = { .flags = SFTP_A_SIZE, .size = size };
	struct call c = { .done = false };

	sftp_fsetstat(s, h, &a, status_done, &c);
	return wait_for(s, &c);
}

static int
close_handle(struct sftp *s, const struct sftp_handle *h)
{
	struct call c = { .done = false };

	sftp_close(s, h, status_done, &c);
	return wait_for(s, &c);
}

/*
 * The target may be the source under another name, so it is not truncated
 * before its new content is there. Its old size is asked for first: then, even
 * if somebody appends to the file meanwhile, old is not larger than size if
 * both are one file, and nothing is cut off. A source in /proc has the size 0,
 * but content. A target that is longer than 0 then is another file, and may be
 * truncated first.
 */
static int
copy_handles(struct sftp *s, const struct sftp_handle *from,
    const struct sftp_handle *to)
{
	struct call copy = { .done = false };
	uint64_t old, size;
	int r;

	if ((r = fstat_handle(s, to, &old)) != 0 ||
	    (r = fstat_handle(s, from, &size)) != 0)
		return r;
	if (size == 0 && old > 0 && (r = cut_handle(s, to, 0)) != 0)
		return r;
	sftp_copy_data(s, from, 0, 0, to, 0, status_done, &copy);
	if ((r = wait_for(s, &copy)) != 0)
		return r;
	return size > 0 && old > size ? cut_handle(s, to, size) : 0;
}

int
sftp_call_copy(struct sftp *s, const char *from, const char *to,
    const struct sftp_attrs *attrs, const char **failed)
{
	struct call in = { .done = false }, out = { .done = false };
	int r, last;

	*failed = NULL;
	if (!sftp_has(s, SFTP_EXT_COPY_DATA))
		return SFTP_OP_UNSUPPORTED;
	sftp_open(s, from, SFTP_O_READ, NULL, handle_done, &in);
	if ((r = wait_for(s, &in)) != 0) {
		*failed = from;
		return r;
	}
	sftp_open(s, to, SFTP_O_WRITE | SFTP_O_CREAT, attrs, handle_done,
	    &out);
	if ((r = wait_for(s, &out)) != 0) {
		*failed = to;
	} else {
		r = copy_handles(s, &in.handle, &out.handle);
		last = close_handle(s, &out.handle);
		r = r != 0 ? r : last;
	}
	last = close_handle(s, &in.handle);
	return r != 0 ? r : last;
}

static void
owner_done(void *arg, const struct sftp_reply *reply)
{
	struct call *c = arg;
	struct rd r = reply->body, users, groups;

	if (!take_result(c, reply, SFTP_EXTENDED_REPLY))
		return;
	users = rd_sub(&r);
	groups = rd_sub(&r);
	c->name = rd_cstring(&users, NAME_BYTES_MAX);
	c->group = rd_cstring(&groups, NAME_BYTES_MAX);
	if (c->name == NULL || c->group == NULL)
		c->result = SFTP_BAD_MESSAGE;
}

int
sftp_call_owner(struct sftp *s, uint32_t uid, uint32_t gid, char **user,
    char **group)
{
	struct call c = { .done = false };
	int r;

	*user = *group = NULL;
	if (!sftp_has(s, SFTP_EXT_USERS_GROUPS))
		return SFTP_OP_UNSUPPORTED;
	sftp_users_groups(s, &uid, 1, &gid, 1, owner_done, &c);
	r = wait_for(s, &c);
	if (r != 0) {
		free(c.name);
		free(c.group);
		return r;
	}
	*user = c.name;
	*group = c.group;
	return 0;
}

int
sftp_call_statvfs(struct sftp *s, const char *path, struct sftp_statvfs *v)
{
	struct call c = { .done = false };
	int r;

	if (!sftp_has(s, SFTP_EXT_STATVFS))
		return SFTP_OP_UNSUPPORTED;
	sftp_ext_path(s, SFTP_EXT_STATVFS, path, NULL, statvfs_done, &c);
	r = wait_for(s, &c);
	*v = c.vfs;
	return r;
}

static int
list(struct sftp *s, const char *path, bool dots, sftp_entry_fn fn, void *arg)
{
	struct call open = { .done = false }, close = { .done = false };
	struct call read;
	int r;

	sftp_path_request(s, SFTP_OPENDIR, path, handle_done, &open);
	r = wait_for(s, &open);
	if (r != 0)
		return r;
	do {
		read = (struct call){ .entry = fn, .entry_arg = arg,
			.dots = dots };
		sftp_handle_request(s, SFTP_READDIR, &open.handle,
		    entries_done, &read);
		r = wait_for(s, &read);
	} while (r == 0 && !read.enough);
	if (r < 0)
		return r;
	sftp_close(s, &open.handle, status_done, &close);
	if (wait_for(s, &close) < 0)
		return sftp_error(s);
	return r == SFTP_EOF ? 0 : r;
}

int
sftp_call_list(struct sftp *s, const char *path, sftp_entry_fn fn, void *arg)
{
	return list(s, path, false, fn, arg);
}

int
sftp_call_list_all(struct sftp *s, const char *path, sftp_entry_fn fn,
    void *arg)
{
	return list(s, path, true, fn, arg);
}
