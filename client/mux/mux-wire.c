/* SPDX-License-Identifier: ISC */
#include "client/mux/mux-wire.h"

#include <stdlib.h>
#include <string.h>

/* LENGTH: bytes of a message's length field. TEXT_MAX: a command may be as long
 * as a message. */
enum { LENGTH = 4, TEXT_MAX = MUX_MESSAGE_MAX, HOST_MAX = 1024 };

/* ---- frames ------------------------------------------------------------- */

void
mux_begin(struct buf *b, enum mux_type type)
{
	buf_reset(b);
	buf_put_u32(b, (uint32_t)type);
}

void
mux_begin_request(struct buf *b, enum mux_type type, uint32_t id)
{
	mux_begin(b, type);
	buf_put_u32(b, id);
}

int
mux_frame(struct buf *out, const struct buf *message)
{
	int r = buf_err(message);

	if (r == 0 && buf_len(message) > MUX_MESSAGE_MAX)
		r = ERR_LIMIT;
	if (r != 0)
		return r;
	buf_put_string_buf(out, message);
	return buf_err(out);
}

int
mux_unframe(const struct buf *in, struct rd *message)
{
	uint32_t len;

	if (buf_len(in) < LENGTH)
		return 0;
	len = wire_get_u32(buf_data(in));
	if (len > MUX_MESSAGE_MAX)
		return ERR_LIMIT;
	if (buf_len(in) < LENGTH + (size_t)len)
		return 0;
	*message = rd_from(buf_data(in) + LENGTH, len);
	return 1;
}

void
mux_consume(struct buf *in)
{
	buf_consume(in, LENGTH + (size_t)wire_get_u32(buf_data(in)));
}

/* ---- fields ------------------------------------------------------------- */

static void
put_flag(struct buf *b, bool flag)
{
	buf_put_u32(b, flag ? 1 : 0);
}

static bool
read_flag(struct rd *r)
{
	return rd_u32(r) != 0;
}

void
mux_put_hello(struct buf *b, const char *extension, const char *value)
{
	buf_put_u32(b, MUX_VERSION);
	if (extension != NULL)
		mux_put_extension(b, extension, value);
}

void
mux_put_extension(struct buf *b, const char *name, const char *value)
{
	buf_put_cstring(b, name);
	buf_put_cstring(b, value);
}

int
mux_read_hello(struct rd *r)
{
	uint32_t version = rd_u32(r);
	int err = rd_err(r);

	if (err != 0)
		return err;
	if (version != MUX_VERSION)
		return ERR_UNSUPPORTED;
	while (r->len > 0 && rd_err(r) == 0) {
		(void)rd_string(r);
		(void)rd_string(r);
	}
	return rd_end(r);
}

void
mux_put_session(struct buf *b, const struct mux_session *s)
{
	buf_put_cstring(b, ""); /* reserved */
	put_flag(b, s->tty);
	put_flag(b, s->x11);
	put_flag(b, s->agent);
	put_flag(b, s->subsystem);
	buf_put_u32(b, s->escape);
	buf_put_cstring(b, s->term);
	buf_put_cstring(b, s->command);
	for (size_t i = 0; i < s->env.n; i++)
		buf_put_cstring(b, s->env.v[i]);
}

static int
read_env(struct rd *r, struct strlist *env)
{
	char *entry;
	int err = rd_err(r);

	while (err == 0 && r->len > 0) {
		if (env->n == MUX_ENV_MAX)
			return ERR_LIMIT;
		entry = rd_cstring(r, TEXT_MAX);
		if ((err = rd_err(r)) == 0)
			err = strlist_add(env, entry);
		free(entry);
	}
	return err;
}

int
mux_read_session(struct rd *r, struct mux_session *s)
{
	*s = (struct mux_session){ 0 };
	(void)rd_string(r); /* reserved */
	s->tty = read_flag(r);
	s->x11 = read_flag(r);
	s->agent = read_flag(r);
	s->subsystem = read_flag(r);
	s->escape = rd_u32(r);
	s->term = rd_cstring(r, HOST_MAX);
	s->command = rd_cstring(r, TEXT_MAX);
	return read_env(r, &s->env);
}

void
mux_session_clear(struct mux_session *s)
{
	free(s->term);
	free(s->command);
	strlist_clear(&s->env);
	*s = (struct mux_session){ 0 };
}

void
mux_put_forward(struct buf *b, const struct mux_forward *f)
{
	buf_put_u32(b, f->type);
	buf_put_cstring(b, f->listen_host);
	buf_put_u32(b, f->listen_port);
	buf_put_cstring(b, f->target_host);
	buf_put_u32(b, f->target_port);
}

int
mux_read_forward(struct rd *r, struct mux_forward *f)
{
	*f = (struct mux_forward){ 0 };
	f->type = rd_u32(r);
	f->listen_host = rd_cstring(r, HOST_MAX);
	f->listen_port = rd_u32(r);
	f->target_host = rd_cstring(r, HOST_MAX);
	f->target_port = rd_u32(r);
	return rd_end(r);
}

void
mux_forward_clear(struct mux_forward *f)
{
	free(f->listen_host);
	free(f->target_host);
	*f = (struct mux_forward){ 0 };
}

void
mux_put_stdio(struct buf *b, const struct mux_stdio *s)
{
	buf_put_cstring(b, ""); /* reserved */
	buf_put_cstring(b, s->host);
	buf_put_u32(b, s->port);
}

int
mux_read_stdio(struct rd *r, struct mux_stdio *s)
{
	*s = (struct mux_stdio){ 0 };
	(void)rd_string(r); /* reserved */
	s->host = rd_cstring(r, HOST_MAX);
	s->port = rd_u32(r);
	return rd_end(r);
}

void
mux_stdio_clear(struct mux_stdio *s)
{
	free(s->host);
	*s = (struct mux_stdio){ 0 };
}
