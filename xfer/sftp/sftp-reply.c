/* SPDX-License-Identifier: ISC */
/*
 * The client engine's replies. Input is handled where it lies. Only bytes of an
 * incomplete message are gathered in s->in, and DATA is passed on piece by
 * piece.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "xfer/block-sum.h"
#include "xfer/sftp/sftp-internal.h"
#include "xfer/xattrs.h"

enum {
	DATA_HEAD = 4 + 1 + 4 + 4, /* length, type, id, data length */
	CHECK_BYTES = 32,
};

static void
limits_done(void *arg, const struct sftp_reply *reply)
{
	struct sftp *s = arg;
	struct rd r = reply->body;
	struct sftp_limits limits;

	s->limits_pending = false;
	if (reply->err != 0 || reply->type != SFTP_EXTENDED_REPLY)
		return;
	limits.packet_bytes = rd_u64(&r);
	limits.read_bytes = rd_u64(&r);
	limits.write_bytes = rd_u64(&r);
	limits.open_handles = rd_u64(&r);
	if (rd_err(&r) == 0)
		s->limits = limits;
}

/* Is the extension offered in the version that we want? For check-file, the
 * only one that is offered with a list (want NULL): has the list our
 * algorithm? */
static bool
offer_fits(const char *want, struct span offered)
{
	char *list;
	bool fits;

	if (want != NULL)
		return span_equals(offered, want);
	list = span_dup(offered);
	fits = list != NULL && csv_has(list, SFTP_CHECK_ALGORITHM);
	free(list);
	return fits;
}

static int
take_version(struct sftp *s, struct rd *r)
{
	struct span name, version;

	s->version = rd_u32(r);
	if (rd_err(r) < 0)
		return ERR_PROTOCOL;
	if (s->version < SFTP_VERSION)
		return ERR_UNSUPPORTED;
	while (r->len > 0 && r->err == 0) {
		name = rd_string(r);
		version = rd_string(r);
		for (int i = 0; i < SFTP_EXT_COUNT; i++)
			if (span_equals(name, sftp_extensions[i].name) &&
			    offer_fits(sftp_extensions[i].version, version))
				s->has[i] = true;
	}
	if (rd_err(r) < 0)
		return ERR_PROTOCOL;
	if (s->has[SFTP_EXT_LIMITS]) {
		s->limits_pending = true;
		sftp_request_limits(s, limits_done, s);
	}
	return 0;
}

/* The request with this id; NULL: there is no such request under way. */
static struct sftp_request *
find(const struct sftp *s, uint32_t id, int *slot)
{
	*slot = (int)(id & 0xffff);
	if (*slot >= s->cap || !s->requests[*slot].used ||
	    s->requests[*slot].count != id >> 16)
		return NULL;
	return &s->requests[*slot];
}

/* The reply, besides STATUS, that a request may have. */
static uint8_t
expected_reply(uint8_t type)
{
	switch (type) {
	case SFTP_OPEN:
	case SFTP_OPENDIR:
		return SFTP_HANDLE;
	case SFTP_READ:
		return SFTP_DATA;
	case SFTP_STAT:
	case SFTP_LSTAT:
	case SFTP_FSTAT:
		return SFTP_ATTRS;
	case SFTP_READDIR:
	case SFTP_REALPATH:
	case SFTP_READLINK:
		return SFTP_NAME;
	default:
		return SFTP_STATUS;
	}
}

static bool
reply_fits(const struct sftp_request *q, uint8_t type)
{
	if (type == SFTP_STATUS || type == expected_reply(q->type))
		return true;
	return q->type == SFTP_EXTENDED &&
	    (type == SFTP_EXTENDED_REPLY || type == SFTP_NAME);
}

/* Sets the text of an error for the user. Some servers send no text. */
static void
take_words(struct sftp *s, struct sftp_reply *reply, struct rd *r)
{
	struct rd rest = *r;
	struct span text = { .len = 0 };

	if (r->err != 0 || reply->status == SFTP_OK)
		return;
	if (rest.len > 0)
		text = rd_string(&rest);
	if (rest.err != 0)
		text.len = 0;
	sftp_status_words(reply->status, &text, s->words, sizeof s->words);
	reply->words = s->words;
}

/* The session is confined, or was not: a second refusal leaves it as it is. */
static void
take_confined(struct sftp *s, uint8_t type, struct rd r)
{
	bool ok = type == SFTP_STATUS && rd_u32(&r) == SFTP_OK && r.err == 0;

	s->confines--;
	s->is_confined |= ok;
}

static int
take_message(struct sftp *s, const uint8_t *p, size_t len)
{
	struct rd r = rd_from(p, len);
	struct sftp_reply reply = { .type = rd_u8(&r) };
	struct sftp_request *q;
	uint32_t id;
	int slot;

	if (s->version == 0)
		return reply.type == SFTP_VERSION_REPLY ?
		    take_version(s, &r) :
		    ERR_PROTOCOL;
	id = rd_u32(&r);
	q = find(s, id, &slot);
	/* A WRITE whose data is not all sent cannot have an answer either. */
	if (r.err != 0 || q == NULL || !reply_fits(q, reply.type) ||
	    q->file.left > 0)
		return ERR_PROTOCOL;
	if (q->confines)
		take_confined(s, reply.type, r);
	reply.source_len = q->file.got;
	reply.source_errno = q->file.error;
	reply.source_us = q->file.us;
	switch (reply.type) {
	case SFTP_STATUS:
		reply.status = rd_u32(&r);
		/* A request for a handle or data cannot be answered with OK. */
		if (reply.status == SFTP_OK &&
		    expected_reply(q->type) != SFTP_STATUS)
			return ERR_PROTOCOL;
		take_words(s, &reply, &r);
		reply.body = r;
		break;
	case SFTP_HANDLE:
		reply.handle = rd_string(&r);
		if (reply.handle.len == 0 ||
		    reply.handle.len > SFTP_HANDLE_MAX)
			return ERR_PROTOCOL;
		break;
	case SFTP_ATTRS:
		sftp_get_attrs(&r, &reply.attrs);
		break;
	case SFTP_NAME:
		reply.count = rd_u32(&r);
		reply.body = r;
		break;
	default:
		reply.body = r;
		break;
	}
	if (r.err != 0)
		return ERR_PROTOCOL;
	sftp_complete(s, slot, &reply);
	return s->err;
}

/* A DATA reply begins: p holds its DATA_HEAD bytes. */
static int
data_begin(struct sftp *s, const uint8_t *p)
{
	uint32_t body = wire_get_u32(p), id = wire_get_u32(p + 5);
	uint32_t len = wire_get_u32(p + 9);
	int slot;
	struct sftp_request *q = find(s, id, &slot);

	if (s->version == 0 || q == NULL || q->type != SFTP_READ ||
	    len > q->want || len == 0 || body != DATA_HEAD - 4 + len)
		return ERR_PROTOCOL;
	s->data.slot = slot;
	s->data.left = s->data.len = len;
	s->data.offset = q->offset;
	return 0;
}

static size_t
data_continue(struct sftp *s, const uint8_t *p, size_t len)
{
	struct sftp_request *q = &s->requests[s->data.slot];
	size_t n = MIN(len, (size_t)s->data.left);

	q->data(q->arg, s->data.offset, p, n);
	s->data.offset += n;
	s->data.left -= (uint32_t)n;
	if (s->data.left == 0) {
		struct sftp_reply reply = { .type = SFTP_DATA,
			.data_len = s->data.len };
		int slot = s->data.slot;

		s->data.slot = -1;
		sftp_complete(s, slot, &reply);
	}
	return n;
}

/*
 * How many bytes of the message at p are needed to act on it, as far as the
 * first len bytes tell. *data: it is a DATA reply, of which only the head is
 * needed.
 */
static int
bytes_needed(const uint8_t *p, size_t len, size_t *need, bool *data)
{
	uint32_t body;

	*data = false;
	*need = 5;
	if (len < 5)
		return 0;
	body = wire_get_u32(p);
	if (body < 5 || body > SFTP_MESSAGE_MAX)
		return ERR_PROTOCOL;
	*need = 4 + (size_t)body;
	if (p[4] == SFTP_DATA) {
		if (*need < DATA_HEAD)
			return ERR_PROTOCOL;
		*need = DATA_HEAD;
		*data = true;
	}
	return 0;
}

static ssize_t
feed_step(struct sftp *s, const uint8_t *p, size_t len)
{
	size_t have = buf_len(&s->in), need, take;
	const uint8_t *at = have > 0 ? buf_data(&s->in) : p;
	bool data;
	int r;

	if (s->data.slot >= 0)
		return (ssize_t)data_continue(s, p, len);
	r = bytes_needed(at, have > 0 ? have : len, &need, &data);
	if (r < 0)
		return r;
	if ((have > 0 ? have : len) >= need && need > 5) {
		r = data ? data_begin(s, at) :
			   take_message(s, at + 4, need - 4);
		if (have > 0)
			buf_consume(&s->in, need);
		if (r < 0)
			return r;
		return have > 0 ? 0 : (ssize_t)need;
	}
	take = MIN(len, need - have);
	buf_put(&s->in, p, take);
	r = buf_err(&s->in);
	return r < 0 ? r : (ssize_t)take;
}

int
sftp_feed(struct sftp *s, const uint8_t *p, size_t len)
{
	size_t before;
	ssize_t n;

	s->received += len;
	while (s->err == 0) {
		before = buf_len(&s->in);
		if (len == 0 && before == 0)
			break;
		n = feed_step(s, p, len);
		if (n < 0) {
			sftp_end(s, (int)n);
			break;
		}
		if (n == 0 && buf_len(&s->in) == before)
			break;
		p += n;
		len -= (size_t)n;
	}
	return s->err;
}

/* ---- what is in them ---------------------------------------------------- */

bool
sftp_next_entry(struct rd *body, struct sftp_entry *entry)
{
	if (body->len == 0 || body->err != 0)
		return false;
	entry->name = rd_string(body);
	entry->long_name = rd_string(body);
	sftp_get_attrs(body, &entry->attrs);
	return body->err == 0;
}

bool
sftp_next_entry_ns(struct rd *body, bool exact, struct sftp_entry *entry,
    struct sftp_stat_ns *st)
{
	if (!exact)
		return sftp_next_entry(body, entry);
	if (body->len == 0 || body->err != 0)
		return false;
	*entry = (struct sftp_entry){ .name = rd_string(body) };
	sftp_get_attrs(body, &entry->attrs);
	return sftp_get_stat_ns(body, st) == 0;
}

bool
sftp_name_is_safe(struct span name)
{
	if (name.len == 0 || name.len > 4096 || span_equals(name, ".") ||
	    span_equals(name, ".."))
		return false;
	return memchr(name.p, '/', name.len) == NULL &&
	    memchr(name.p, '\0', name.len) == NULL;
}

void
sftp_keep_handle(struct sftp_handle *h, const struct sftp_reply *reply)
{
	h->len = (uint32_t)reply->handle.len;
	memcpy(h->bytes, reply->handle.p, reply->handle.len);
}

int
sftp_get_digests(struct rd *body, size_t count, const uint8_t **digests)
{
	struct span algorithm = rd_string(body);

	if (rd_err(body) < 0 || !span_equals(algorithm, SFTP_CHECK_ALGORITHM) ||
	    body->len != count * CHECK_BYTES)
		return ERR_PROTOCOL;
	*digests = body->p;
	return 0;
}

int
sftp_get_sums(struct rd *body, size_t count, const uint8_t **sums)
{
	if (body->len != count * BLOCK_SUM_BYTES)
		return ERR_PROTOCOL;
	*sums = body->p;
	return 0;
}

int
sftp_get_xattrs(struct rd *body, uint32_t kinds, struct span *set)
{
	int err;

	*set = rd_string(body);
	err = rd_end(body);
	return err < 0 ? err : xattrs_check(*set, kinds);
}

int
sftp_get_stat_ns(struct rd *body, struct sftp_stat_ns *st)
{
	st->atime = (int64_t)rd_u64(body);
	st->atime_ns = rd_u32(body);
	st->mtime = (int64_t)rd_u64(body);
	st->mtime_ns = rd_u32(body);
	st->nlink = rd_u32(body);
	st->dev = rd_u64(body);
	st->ino = rd_u64(body);
	st->blocks = rd_u64(body);
	return rd_err(body);
}

int
sftp_get_file_reply(struct rd *body, struct sftp_attrs *attrs,
    struct span *data)
{
	sftp_get_attrs(body, attrs);
	*data = rd_string(body);
	return rd_err(body);
}
