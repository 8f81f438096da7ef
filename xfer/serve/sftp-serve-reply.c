/* SPDX-License-Identifier: ISC */
/* Handles, fields and replies of the SFTP server; see sftp-serve-internal.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "xfer/serve/sftp-serve-internal.h"

/* ---- handles ------------------------------------------------------------ */

static int
handles_grow(struct sftp_serve *s)
{
	struct serve_handle *grown;
	int cap = s->handles_cap > 0 ? s->handles_cap * 2 : 16;

	if (s->handles_cap >= s->handles_max)
		return ERR_LIMIT;
	cap = MIN(cap, s->handles_max);
	grown = recallocarray(s->handles, (size_t)s->handles_cap, (size_t)cap,
	    sizeof *grown);
	if (grown == NULL)
		return ERR_NOMEM;
	for (int i = cap - 1; i >= s->handles_cap; i--) {
		grown[i].fd = -1;
		grown[i].next_free = s->free_slot;
		s->free_slot = i;
	}
	s->handles = grown;
	s->handles_cap = cap;
	return 0;
}

int
serve_handle_new(struct sftp_serve *s, const char *path)
{
	struct serve_handle *h;
	int slot, r;

	if (s->free_slot < 0 && (r = handles_grow(s)) < 0)
		return r;
	slot = s->free_slot;
	h = &s->handles[slot];
	h->path = strdup(path);
	if (h->path == NULL)
		return ERR_NOMEM;
	s->free_slot = h->next_free;
	h->bytes_read = h->bytes_written = 0;
	h->write_error = 0;
	h->append = h->no_nowait = h->writes = false;
	h->opened_ms = s->opts.tell != NULL ? clock_ms() : 0;
	h->key = (struct serve_key){ 0 };
	h->dir = NULL;
	h->fd = -1;
	h->kind = SERVE_UNUSABLE; /* until the file is open */
	return slot;
}

void
serve_handle_close(struct sftp_serve *s, struct serve_handle *h)
{
	int saved = errno;

	if (h->dir != NULL)
		closedir(h->dir);
	if (h->fd >= 0)
		close(h->fd);
	serve_walk_free(h->walk);
	h->dir = NULL;
	h->walk = NULL;
	h->fd = -1;
	free(h->path);
	h->path = NULL;
	h->kind = SERVE_FREE;
	h->generation++;
	h->next_free = s->free_slot;
	s->free_slot = (int)(h - s->handles);
	errno = saved;
}

struct serve_handle *
serve_get_handle(struct sftp_serve *s, struct rd *r, int kind)
{
	struct span wire = rd_string(r);
	struct serve_handle *h;
	int slot;

	if (wire.len != SERVE_HANDLE_WIRE)
		return NULL;
	slot = wire_get_u16(wire.p);
	if (slot >= s->handles_cap)
		return NULL;
	h = &s->handles[slot];
	if (h->kind <= SERVE_UNUSABLE ||
	    h->generation != wire_get_u16(wire.p + 2))
		return NULL;
	return (kind == SERVE_FREE || (int)h->kind == kind) ? h : NULL;
}

int
serve_check_handle(struct sftp_serve *s, const struct serve_op *op,
    const struct rd *r, const struct serve_handle *h, uint32_t status)
{
	int err = rd_err(r);

	if (err < 0)
		return err;
	if (h == NULL)
		serve_status(s, op->id, status);
	return h != NULL;
}

void
serve_log_close(struct sftp_serve *s, const struct serve_handle *h,
    bool is_dir, const char *before)
{
	if (is_dir)
		serve_info(s, "%sclosedir \"%s\"", before, h->path);
	else
		serve_info(s, "%sclose \"%s\" bytes read %llu written %llu",
		    before, h->path, (unsigned long long)h->bytes_read,
		    (unsigned long long)h->bytes_written);
}

static int
handle_fd(const struct serve_handle *h)
{
	return h->dir != NULL ? dirfd(h->dir) : h->fd;
}

void
serve_touch_handle(struct sftp_serve *s, struct serve_op *op,
    const struct serve_handle *h, bool changes)
{
	op->order.touches = SERVE_TOUCHES_FILE;
	op->order.key = h->key;
	op->order.from = 0;
	op->order.to = UINT64_MAX;
	op->order.changes = changes;
	op->file.slot = (int)(h - s->handles);
	op->file.fd = handle_fd(h);
}

void
serve_put_handle(struct sftp_serve *s, uint32_t id, int slot)
{
	buf_put_u32(&s->out, 1 + 4 + 4 + SERVE_HANDLE_WIRE);
	buf_put_u8(&s->out, SFTP_HANDLE);
	buf_put_u32(&s->out, id);
	buf_put_u32(&s->out, SERVE_HANDLE_WIRE);
	buf_put_u16(&s->out, (uint16_t)slot);
	buf_put_u16(&s->out, s->handles[slot].generation);
}

/* ---- fields and replies ------------------------------------------------- */

char *
serve_get_path(struct sftp_serve *s, struct rd *r)
{
	char *path = rd_cstring(r, SFTP_PATH_MAX);

	if (path != NULL && s->opts.path_ok != NULL &&
	    !s->opts.path_ok(s->opts.path_ok_arg, path)) {
		free(path);
		rd_fail(r, ERR_DENIED);
		return NULL;
	}
	return path;
}

void
serve_fail(struct sftp_serve *s, uint32_t id, uint32_t status,
    const char *text)
{
	struct buf *b = &s->out;
	size_t mark = buf_open_string(b);

	buf_put_u8(b, SFTP_STATUS);
	buf_put_u32(b, id);
	buf_put_u32(b, status);
	buf_put_cstring(b, text);
	buf_put_cstring(b, ""); /* language tag */
	buf_close_string(b, mark);
}

/* The text of a status in log lines. It is that of OpenSSH's server, since
 * scripts search for it. */
static const char *
logged_status(uint32_t status)
{
	if (status == SFTP_NO_SUCH_FILE)
		return "No such file";
	if (status == SFTP_OP_UNSUPPORTED)
		return "Operation unsupported";
	return sftp_status_text(status);
}

void
serve_status(struct sftp_serve *s, uint32_t id, uint32_t status)
{
	serve_log(s, status > SFTP_EOF ? LOG_LVL_INFO : LOG_LVL_DEBUG3,
	    "sent status %s", logged_status(status));
	serve_fail(s, id, status, sftp_status_text(status));
}

void
serve_errno(struct sftp_serve *s, uint32_t id, int error)
{
	uint32_t status = sftp_status_from_errno(error);

	if (error == 0) {
		serve_status(s, id, status);
		return;
	}
	serve_log(s, LOG_LVL_INFO, "sent status %s", logged_status(status));
	serve_fail(s, id, status, strerror(error));
}

size_t
serve_begin_reply(struct sftp_serve *s, uint32_t id)
{
	size_t mark = buf_open_string(&s->out);

	buf_put_u8(&s->out, SFTP_EXTENDED_REPLY);
	buf_put_u32(&s->out, id);
	return mark;
}

static void
put_attrs(struct sftp_serve *s, uint32_t id, const struct stat *st)
{
	struct sftp_attrs attrs;
	size_t mark = buf_open_string(&s->out);

	sftp_attrs_from_stat(&attrs, st);
	buf_put_u8(&s->out, SFTP_ATTRS);
	buf_put_u32(&s->out, id);
	sftp_put_attrs(&s->out, &attrs);
	buf_close_string(&s->out, mark);
}

void
serve_name(struct sftp_serve *s, uint32_t id, const char *name)
{
	size_t mark = buf_open_string(&s->out);

	buf_put_u8(&s->out, SFTP_NAME);
	buf_put_u32(&s->out, id);
	buf_put_u32(&s->out, 1);
	buf_put_cstring(&s->out, name);
	buf_put_cstring(&s->out, name);
	sftp_put_attrs(&s->out, NULL);
	buf_close_string(&s->out, mark);
}

/* ---- replies of ops ----------------------------------------------------- */

static bool
failed(struct sftp_serve *s, const struct serve_op *op)
{
	if (op->error != 0)
		serve_errno(s, op->id, op->error);
	return op->error != 0;
}

void
serve_done_status(struct sftp_serve *s, struct serve_op *op)
{
	if (!failed(s, op))
		serve_status(s, op->id, SFTP_OK);
}

void
serve_done_attrs(struct sftp_serve *s, struct serve_op *op)
{
	if (!failed(s, op))
		put_attrs(s, op->id, &op->st);
}

void
serve_done_name(struct sftp_serve *s, struct serve_op *op)
{
	if (failed(s, op))
		return;
	buf_put_u8(&op->data, 0);
	if (buf_err(&op->data) != 0)
		serve_status(s, op->id, SFTP_FAILURE);
	else
		serve_name(s, op->id, (const char *)buf_data(&op->data));
}

void
serve_done_data(struct sftp_serve *s, struct serve_op *op)
{
	size_t mark;

	if (failed(s, op))
		return;
	if (buf_err(&op->data) != 0) {
		serve_status(s, op->id, SFTP_FAILURE);
		return;
	}
	mark = serve_begin_reply(s, op->id);
	buf_put_buf(&s->out, &op->data);
	buf_close_string(&s->out, mark);
}
