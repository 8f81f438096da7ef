/* SPDX-License-Identifier: ISC */
#include "xfer/sftp/sftp-text.h"

enum { PIECE = 128 * 1024 };

static void read_on(struct sftp_text *t);

static void
end(struct sftp_text *t)
{
	if (buf_len(&t->text) > 0)
		buf_put_u8(&t->text, 0);
	if (buf_err(&t->text) < 0)
		buf_clear(&t->text);
	t->done(t->arg);
}

static void
on_data(void *arg, uint64_t offset, const uint8_t *p, size_t len)
{
	struct sftp_text *t = arg;

	if (offset == buf_len(&t->text))
		buf_put(&t->text, p, len);
}

static void
on_read(void *arg, const struct sftp_reply *reply)
{
	struct sftp_text *t = arg;

	if (reply->err == 0 && reply->type == SFTP_DATA &&
	    reply->data_len > 0 && buf_len(&t->text) < t->max && !t->at_once) {
		read_on(t);
		return;
	}
	if (reply->err == 0)
		sftp_close(t->s, &t->handle, NULL, NULL);
	end(t);
}

static void
read_on(struct sftp_text *t)
{
	sftp_read(t->s, &t->handle, buf_len(&t->text), PIECE, on_data, on_read,
	    t);
}

static void
on_open(void *arg, const struct sftp_reply *reply)
{
	struct sftp_text *t = arg;

	if (reply->err != 0 || reply->type != SFTP_HANDLE) {
		end(t);
		return;
	}
	sftp_keep_handle(&t->handle, reply);
	read_on(t);
}

void
sftp_text_read(struct sftp_text *t, const char *path)
{
	const struct sftp_attrs none = { .flags = 0 };

	sftp_open(t->s, path, SFTP_O_READ, &none, on_open, t);
}
