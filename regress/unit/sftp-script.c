/* SPDX-License-Identifier: ISC */
#include "regress/unit/sftp-script.h"

#include <string.h>

#include "base/mem.h"

void
script_say(struct script *c, const struct buf *body)
{
	struct buf b = { 0 };

	buf_put_string(&b, buf_data(body), buf_len(body));
	/* A message that is none ends the session, which the test sees. */
	(void)!sftp_feed(c->s, buf_data(&b), buf_len(&b));
	buf_clear(&b);
}

void
script_fields(struct script *c, uint8_t type, uint32_t id,
    const struct buf *fields)
{
	struct buf b = { 0 };

	buf_put_u8(&b, type);
	buf_put_u32(&b, id);
	buf_put(&b, buf_data(fields), buf_len(fields));
	script_say(c, &b);
	buf_clear(&b);
}

void
script_status(struct script *c, uint32_t id, uint32_t status)
{
	struct buf b = { 0 };

	buf_put_u32(&b, status);
	buf_put_cstring(&b, "no");
	buf_put_cstring(&b, "");
	script_fields(c, SFTP_STATUS, id, &b);
	buf_clear(&b);
}

void
script_string(struct script *c, uint8_t type, uint32_t id, const void *p,
    size_t len)
{
	struct buf b = { 0 };

	buf_put_string(&b, p, len);
	script_fields(c, type, id, &b);
	buf_clear(&b);
}

void
script_begin(struct script *c, const char *extension)
{
	struct buf b = { 0 };

	*c = (struct script){ .s = NULL };
	assert_int_equal(sftp_new(&c->s), 0);
	buf_put_u8(&b, SFTP_VERSION_REPLY);
	buf_put_u32(&b, SFTP_VERSION);
	if (extension != NULL) {
		buf_put_cstring(&b, extension);
		buf_put_cstring(&b, "1");
	}
	script_say(c, &b);
	assert_int_equal(sftp_error(c->s), 0);
	buf_clear(&b);
}

void
script_end(struct script *c)
{
	sftp_free(c->s);
	buf_clear(&c->said);
}

bool
script_next(struct script *c, struct script_request *q)
{
	struct buf *out = sftp_output(c->s);
	struct rd all, body;

	buf_put(&c->said, buf_data(out), buf_len(out));
	sftp_output_sent(c->s, buf_len(out));
	while (buf_len(&c->said) > 0) {
		all = rd_from_buf(&c->said);
		body = rd_sub(&all);
		assert_int_equal(all.err, 0);
		buf_consume(&c->said, buf_len(&c->said) - all.len);
		q->type = rd_u8(&body);
		if (q->type == SFTP_INIT)
			continue;
		q->id = rd_u32(&body);
		q->fields = body;
		assert_int_equal(body.err, 0);
		return true;
	}
	return false;
}

/* ---- files -------------------------------------------------------------- */

static void
answer_read(struct script *c, const struct script_request *q,
    const char *text, size_t piece)
{
	struct rd fields = q->fields;
	uint64_t at = rd_u64(&fields);
	size_t len = rd_u32(&fields), left = strlen(text);

	if (at >= left) {
		script_status(c, q->id, SFTP_EOF);
		return;
	}
	left -= (size_t)at;
	len = MIN(MIN(len, left), piece);
	script_string(c, SFTP_DATA, q->id, text + at, len);
}

void
script_file(struct script *c, struct script_request *q,
    const char *(*text_of)(const char *path), size_t piece)
{
	struct span name = rd_string(&q->fields);
	char path[256];

	assert_true(q->fields.err == 0 && name.len < sizeof path);
	memcpy(path, name.p, name.len);
	path[name.len] = '\0';
	if (q->type == SFTP_CLOSE)
		script_status(c, q->id, SFTP_OK);
	else if (text_of(path) == NULL)
		script_status(c, q->id, SFTP_NO_SUCH_FILE);
	else if (q->type == SFTP_OPEN) /* its handle is the path */
		script_string(c, SFTP_HANDLE, q->id, path, name.len);
	else
		answer_read(c, q, text_of(path), piece);
}
