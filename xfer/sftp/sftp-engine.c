/* SPDX-License-Identifier: ISC */
#include "xfer/sftp/sftp-engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "xfer/sftp/sftp-internal.h"

enum {
	HANDLES_DEFAULT = 100,
	HANDLES_EXPECTED = 256, /* assumed while the server's limits are on
				 * their way */
};

/* ---- life --------------------------------------------------------------- */

int
sftp_new(struct sftp **out)
{
	struct sftp *s = calloc(1, sizeof *s);

	if (s == NULL)
		return ERR_NOMEM;
	buf_init(&s->in);
	buf_init(&s->out);
	s->free_slot = -1;
	s->data.slot = -1;
	s->write.slot = -1;
	s->files.first = s->files.last = -1;
	buf_put_u32(&s->out, 5);
	buf_put_u8(&s->out, SFTP_INIT);
	buf_put_u32(&s->out, SFTP_VERSION);
	if (buf_err(&s->out) < 0) {
		sftp_free(s);
		return ERR_NOMEM;
	}
	*out = s;
	return 0;
}

void
sftp_end(struct sftp *s, int err)
{
	if (s->err == 0)
		s->err = err;
	/* The callbacks of these WRITEs close their files. */
	s->files.first = s->files.last = -1;
	s->files.before = s->files.left = 0;
	buf_reset(&s->out);
	/* Requests that callbacks add fail in the same sweep, or at once. */
	for (int i = 0; i < s->cap; i++) {
		struct sftp_reply reply = { .err = s->err };

		if (s->requests[i].used)
			sftp_complete(s, i, &reply);
	}
}

void
sftp_free(struct sftp *s)
{
	if (s == NULL)
		return;
	sftp_end(s, ERR_CANCELLED);
	buf_clear(&s->in);
	buf_clear(&s->out);
	free(s->requests);
	free(s);
}

int
sftp_feed_end(struct sftp *s, int err)
{
	sftp_end(s, err);
	return s->err;
}

/* ---- output ------------------------------------------------------------- */

static size_t
take_bytes(struct sftp *s, uint8_t *p, size_t max)
{
	size_t n = MIN(max, buf_len(&s->out));

	if (n > 0)
		memcpy(p, buf_data(&s->out), n);
	buf_consume(&s->out, n);
	return n;
}

/* Reads data of a WRITE from its file into p. Bytes that the file does not have
 * are sent as zeros, since the message's length is fixed already. */
static void
read_source(struct sftp_request *q, uint8_t *p, size_t len)
{
	ssize_t n = 0;

	while (len > 0) {
		if (q->file.error == 0 &&
		    q->file.got == q->file.len - q->file.left)
			n = fd_pread(q->file.fd, p, len, q->offset);
		if (n < 0)
			q->file.error = errno;
		if (n <= 0) {
			memset(p, 0, len);
			q->file.left -= (uint32_t)len;
			return;
		}
		p += n;
		len -= (size_t)n;
		q->offset += (uint64_t)n;
		q->file.got += (uint32_t)n;
		q->file.left -= (uint32_t)n;
	}
}

/* Takes output up to the end of the first WRITE from a file: first the bytes in
 * front of the file's data, then the data. Returns how many bytes. */
static size_t
take_file(struct sftp *s, uint8_t *p, size_t max)
{
	struct sftp_request *q = &s->requests[s->files.first];
	size_t head = take_bytes(s, p, MIN(max, q->file.before));
	size_t data = MIN(max - head, (size_t)q->file.left);
	uint64_t from;

	q->file.before -= head;
	s->files.before -= head;
	if (q->file.before > 0)
		return head;
	from = clock_us();
	read_source(q, p + head, data);
	q->file.us += clock_us() - from;
	s->files.left -= data;
	if (q->file.left == 0) {
		s->files.first = q->file.next;
		if (s->files.first < 0)
			s->files.last = -1;
	}
	return head + data;
}

/* Takes output of at most max bytes, for the caller to send. */
static size_t
take_output(struct sftp *s, uint8_t *p, size_t max)
{
	const struct sftp_request *q;
	size_t n = 0;

	while (s->files.first >= 0 && n < max) {
		q = &s->requests[s->files.first];
		/* A WRITE is not split over two packets if this packet is
		 * nearly full: servers write whole blocks faster. */
		if (n > max / 8 * 7 &&
		    q->file.before + q->file.left > max - n)
			return n;
		n += take_file(s, p + n, max - n);
	}
	return n + take_bytes(s, p + n, max - n);
}

size_t
sftp_take(struct sftp *s, uint8_t *p, size_t max)
{
	size_t n = take_output(s, p, max);

	s->sent += n;
	return n;
}

size_t
sftp_output_len(const struct sftp *s)
{
	return buf_len(&s->out) + s->files.left;
}

struct buf *
sftp_output(struct sftp *s)
{
	struct buf all;
	uint8_t *p;
	size_t len;

	if (s->files.first < 0)
		return &s->out;
	buf_init(&all);
	while ((len = sftp_output_len(s)) > 0 &&
	    (p = buf_reserve(&all, len)) != NULL)
		buf_commit(&all, take_output(s, p, len));
	if (len > 0)
		sftp_end(s, ERR_NOMEM);
	buf_clear(&s->out);
	s->out = all;
	return &s->out;
}

void
sftp_output_sent(struct sftp *s, size_t n)
{
	buf_consume(&s->out, n);
	s->sent += n;
}

void
sftp_wake(const struct sftp *s)
{
	if (s->err == 0 && s->carrier.ops != NULL)
		s->carrier.ops->wake(s->carrier.arg);
}

/* ---- what is known of the session --------------------------------------- */

bool
sftp_is_ready(const struct sftp *s)
{
	return s->version != 0 && !s->limits_pending;
}

bool
sftp_has_version(const struct sftp *s)
{
	return s->version != 0;
}

int
sftp_error(const struct sftp *s)
{
	return s->err;
}

bool
sftp_has(const struct sftp *s, enum sftp_extension ext)
{
	return s->has[ext];
}

/* The most data of a READ or WRITE. packet_bytes also counts the fields around
 * the data, for which 1 KiB is plenty. */
static uint32_t
data_max(const struct sftp *s, uint64_t limit)
{
	uint64_t packet = s->limits.packet_bytes;

	if (limit == 0 && packet > 2048)
		limit = packet - 1024;
	if (limit == 0)
		limit = SFTP_DATA_DEFAULT;
	return (uint32_t)MIN(limit, (uint64_t)SFTP_DATA_MAX);
}

uint32_t
sftp_read_max(const struct sftp *s)
{
	return data_max(s, s->limits.read_bytes);
}

uint32_t
sftp_write_max(const struct sftp *s)
{
	return data_max(s, s->limits.write_bytes);
}

uint32_t
sftp_handles_max(const struct sftp *s)
{
	if (s->limits.open_handles == 0)
		return s->limits_pending ? HANDLES_EXPECTED : HANDLES_DEFAULT;
	return (uint32_t)MIN(s->limits.open_handles, (uint64_t)SFTP_SLOTS_MAX);
}

size_t
sftp_pending(const struct sftp *s)
{
	return s->pending;
}

uint64_t
sftp_received(const struct sftp *s)
{
	return s->received;
}

uint64_t
sftp_sent(const struct sftp *s)
{
	return s->sent;
}

enum sftp_server
sftp_server(const struct sftp *s)
{
	for (int i = 0; i < SFTP_EXT_COUNT; i++)
		if (s->has[i] &&
		    strstr(sftp_extensions[i].name, "@hpnssh.org") != NULL)
			return SFTP_SERVER_OWN;
	/* Only OpenSSH offers both of these. */
	return s->has[SFTP_EXT_LIMITS] && s->has[SFTP_EXT_EXPAND_PATH] ?
	    SFTP_SERVER_OPENSSH :
	    SFTP_SERVER_OTHER;
}

enum sftp_renames
sftp_renames(const struct sftp *s)
{
	return s->renames;
}

void
sftp_set_renames(struct sftp *s, enum sftp_renames renames)
{
	s->renames = renames;
}

bool
sftp_keeps_order(const struct sftp *s)
{
	return sftp_server(s) != SFTP_SERVER_OTHER;
}

/* OpenSSH's server and ours number handles from 0. */
bool
sftp_guess_handle(const struct sftp *s, struct sftp_handle *h)
{
	*h = (struct sftp_handle){ .len = 4 };
	return !s->handle_requested && sftp_keeps_order(s);
}

bool
sftp_guess_walk(const struct sftp *s, struct sftp_handle *h)
{
	*h = (struct sftp_handle){ .len = 4 };
	return !s->handle_requested &&
	    (s->version == 0 || s->has[SFTP_EXT_WALK]);
}

enum sftp_confined
sftp_confined(const struct sftp *s)
{
	if (s->is_confined)
		return SFTP_CONFINED_YES;
	return s->confines > 0 ? SFTP_CONFINED_ASKED : SFTP_CONFINED_NOT;
}

/* ---- with a carrier ----------------------------------------------------- */

void
sftp_attach(struct sftp *s, struct xfer_carrier carrier)
{
	s->carrier = carrier;
	if (sftp_output_len(s) > 0)
		sftp_wake(s);
}

int
sftp_step(struct sftp *s, bool more, int timeout_ms)
{
	int r = s->err;

	if (r == 0)
		r = s->carrier.ops->turn(s->carrier.arg, more ? 0 : timeout_ms);
	/* Not all output could be sent, so there is no room for more: wait. */
	if (r == 0 && s->err == 0 && more && sftp_output_len(s) > 0)
		r = s->carrier.ops->turn(s->carrier.arg, timeout_ms);
	if (r < 0)
		return sftp_feed_end(s, r);
	return s->err;
}

int
sftp_run_until(struct sftp *s, const bool *done)
{
	int r;

	while (!*done)
		if ((r = sftp_step(s, false, -1)) < 0)
			return r;
	return 0;
}
