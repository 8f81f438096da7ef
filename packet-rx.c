/* SPDX-License-Identifier: ISC */
/* The receiving half of packet.h: the input buffer, decryption, and the
 * messages that the transport layer itself handles. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "packet-internal.h"

enum {
	ID_LINE_MAX = 8192, /* bytes of a line before the identification */
	ID_LINES_MAX = 1024,
	ID_MAX = 255, /* RFC 4253 section 4.2, with CR LF */
	RX_ROOM_MIN = 256 * 1024, /* bytes that are worth a read(2) */
	RX_CAP_MAX = PACKET_RX_READ + CIPHER_LEN_MAX + PACKET_TAG_MAX + 4,
};

/* The size that the input buffer should have for the next read. */
static size_t
wanted_cap(const struct packet *p)
{
	size_t want = MAX(p->rx.cap, (size_t)PACKET_RX_FIRST);

	if (p->rx.have_len)
		want = MAX(want, (size_t)4 + p->rx.len + PACKET_TAG_MAX);
	/* The last read filled the buffer: larger reads will pay. */
	if (p->rx.end == p->rx.cap && p->rx.cap > 0 && p->authenticated)
		want = MIN(MAX(p->rx.cap * 2, want), (size_t)RX_CAP_MAX);
	return want;
}

/* Goes on in the other input buffer. The bytes that are no whole packet yet are
 * copied to it. */
static int
rx_switch(struct packet *p)
{
	size_t len = p->rx.end - p->rx.off, want = wanted_cap(p), cap;
	uint8_t *rx = p->rx.other;

	if (want > p->rx.other_cap) {
		if ((rx = malloc(want)) == NULL)
			return ERR_NOMEM;
		free(p->rx.other);
		p->rx.other_cap = want;
	}
	memcpy(rx, p->rx.buf + p->rx.off, len);
	cap = p->rx.cap;
	p->rx.other = p->rx.buf;
	p->rx.buf = rx;
	p->rx.cap = p->rx.other_cap;
	p->rx.other_cap = cap;
	p->rx.which ^= 1;
	p->rx.off = 0;
	p->rx.end = len;
	return 0;
}

static int
rx_make_room(struct packet *p)
{
	size_t len = p->rx.end - p->rx.off, want;
	uint8_t *rx;

	if (p->rx.jobs[p->rx.which] > 0) {
		/* The jobs' bytes may not move. */
		if (p->rx.cap - p->rx.end >= RX_ROOM_MIN ||
		    p->rx.jobs[p->rx.which ^ 1] > 0)
			return 0;
		return rx_switch(p);
	}
	want = wanted_cap(p);
	if (want > p->rx.cap) {
		if ((rx = malloc(want)) == NULL)
			return ERR_NOMEM;
		if (len > 0)
			memcpy(rx, p->rx.buf + p->rx.off, len);
		free(p->rx.buf);
		p->rx.buf = rx;
		p->rx.cap = want;
	} else if (p->rx.off > 0 && len > 0) {
		memmove(p->rx.buf, p->rx.buf + p->rx.off, len);
	}
	p->rx.off = 0;
	p->rx.end = len;
	return 0;
}

void
packet_rx_trim(struct packet *p)
{
	size_t len = p->rx.end - p->rx.off;
	uint8_t *rx;

	if (packet_rx_posted(p))
		return;
	free(p->rx.other);
	p->rx.other = NULL;
	p->rx.other_cap = 0;
	if (p->rx.cap <= PACKET_RX_FIRST || len > PACKET_RX_FIRST ||
	    (rx = malloc(PACKET_RX_FIRST)) == NULL)
		return;
	memcpy(rx, p->rx.buf + p->rx.off, len);
	free(p->rx.buf);
	p->rx.buf = rx;
	p->rx.cap = PACKET_RX_FIRST;
	p->rx.off = 0;
	p->rx.end = len;
}

int
packet_fill(struct packet *p)
{
	size_t room;
	ssize_t n;
	int r;

	if ((r = rx_make_room(p)) != 0)
		return r;
	room = MIN(p->rx.cap - p->rx.end, (size_t)PACKET_RX_READ);
	if (room == 0) {
		p->rx.dry = true;
		return ERR_AGAIN; /* no room until packets are taken */
	}
	n = fd_read(p->fd_in, p->rx.buf + p->rx.end, room);
	p->rx.dry = n < (ssize_t)room;
	/* Posted packets are taken first. The next read will find the end of
	 * file or the error again. */
	if (n <= 0 && packet_rx_posted(p))
		return ERR_AGAIN;
	if (n == 0)
		return ERR_CLOSED;
	if (n == -1)
		return errno == EAGAIN || errno == EWOULDBLOCK ? ERR_AGAIN :
								  ERR_SYSTEM;
	p->rx.end += (size_t)n;
	return (int)n;
}

uint32_t
packet_rx_seqnr(const struct packet *p)
{
	return p->rx.seqnr;
}

int
packet_read_identification(struct packet *p, char **line,
    void (*other)(void *arg, const char *text), void *arg)
{
	for (;;) {
		const uint8_t *start = p->rx.buf + p->rx.off, *nl = NULL;
		size_t have = p->rx.end - p->rx.off, len;
		char *text;

		if (have > 0)
			nl = memchr(start, '\n', have);
		if (nl == NULL)
			return have > ID_LINE_MAX ? ERR_PROTOCOL : 0;
		len = (size_t)(nl - start);
		p->rx.off += len + 1;
		if (len > 0 && start[len - 1] == '\r')
			len--;
		text = span_dup((struct span){ start, len });
		if (text == NULL)
			return ERR_PROTOCOL;
		if (str_has_prefix(text, "SSH-") && len + 2 <= ID_MAX) {
			*line = text;
			return 1;
		}
		if (other == NULL || len > ID_LINE_MAX ||
		    ++p->rx.id_lines > ID_LINES_MAX) {
			free(text);
			return ERR_PROTOCOL;
		}
		other(arg, text);
		free(text);
	}
}

/* Logs why a packet cannot be decrypted, in OpenSSH's words, which programs
 * look for. Returns r. */
static int
tell_broken(int r, uint32_t len)
{
	if (r == ERR_PACKET_LENGTH)
		log_info("Bad packet length %u.", len);
	else if (r == ERR_MAC)
		log_info("Corrupted MAC on input.");
	return r;
}

/* Refuses a packet: returns r. But if the cipher must hide the reason, returns
 * 0, and the refusal is ERR_MAC as soon as the bytes of the largest possible
 * packet have arrived. size: bytes of the packet that were authenticated. */
static int
refuse(struct packet *p, int r, uint32_t size)
{
	const struct cipher *c = p->half[PACKET_RX].cipher;

	if (c == NULL || !cipher_hides_refusal(c))
		return tell_broken(r, p->rx.len);
	p->rx.refused = true;
	p->rx.len = size;
	p->rx.passed = 0;
	return 0;
}

/* Drops input that follows a refused packet: 0, or ERR_MAC when enough bytes
 * have arrived. */
static int
pass_refused(struct packet *p)
{
	p->rx.passed += p->rx.end - p->rx.off;
	p->rx.off = p->rx.end;
	if (p->rx.passed < 4 + (size_t)CIPHER_LEN_MAX)
		return 0;
	/* Authenticating as many bytes as were not yet, so that each refusal
	 * takes the same time. */
	cipher_spend(p->half[PACKET_RX].cipher, CIPHER_LEN_MAX - p->rx.len);
	return tell_broken(ERR_MAC, 0);
}

bool
packet_rx_length_is_possible(const struct packet *p)
{
	const struct cipher *c = p->half[PACKET_RX].cipher;
	size_t align = c != NULL ? cipher_align(c) : 8;
	size_t head = c != NULL && cipher_length_apart(c) ? 0 : 4;

	if (p->proxied)
		return p->rx.len > 1 && p->rx.len <= CIPHER_LEN_MAX;
	return p->rx.len >= 1 + PACKET_PAD_MIN && p->rx.len <= CIPHER_LEN_MAX &&
	    (head + p->rx.len) % align == 0;
}

/* Reads the length of the packet at rx.off: 1, 0 if more input is needed (or
 * the packet was refused), or an error. */
static int
take_length(struct packet *p)
{
	struct packet_half *h = &p->half[PACKET_RX];
	size_t have = p->rx.end - p->rx.off;
	uint8_t *pkt = p->rx.buf + p->rx.off;
	int r;

	if (have < (h->cipher != NULL ? cipher_head_len(h->cipher) : 4))
		return 0;
	if ((r = packet_may_count(h)) != 0)
		return r;
	if (h->cipher == NULL) {
		p->rx.len = wire_get_u32(pkt);
	} else {
		r = cipher_decrypt_length(h->cipher, &h->pos, pkt, &p->rx.len);
		if (r != 0)
			return r;
	}
	if (!packet_rx_length_is_possible(p))
		return refuse(p, ERR_PACKET_LENGTH, 0);
	p->rx.have_len = true;
	return 1;
}

/* Sets *size to the bytes of the packet at rx.off, or to 0 if more input is
 * needed. */
static int
frame(struct packet *p, size_t *size)
{
	const struct cipher *c = p->half[PACKET_RX].cipher;
	int r;

	*size = 0;
	if (!p->rx.have_len && (r = take_length(p)) <= 0)
		return r;
	*size = 4 + (size_t)p->rx.len + (c != NULL ? cipher_tag_len(c) : 0);
	if (p->rx.end - p->rx.off < *size)
		*size = 0;
	return 0;
}

/* Counts the packet at rx.off, of size bytes, and moves rx.off behind it. */
static void
advance(struct packet *p, size_t size)
{
	struct packet_half *h = &p->half[PACKET_RX];

	if (h->cipher != NULL) {
		h->pos.block += cipher_blocks(h->cipher, p->rx.len);
		h->pos.packet++;
	}
	h->pos.seqnr++;
	h->bytes_since_keys += size;
	p->rx.off += size;
	p->rx.have_len = false;
}

/* Checks the padding of a decrypted packet, and counts the packet: 1 with its
 * payload, or an error. */
static int
take_payload(struct packet *p, const uint8_t *pkt, uint32_t len, uint32_t seqnr,
    size_t size, struct span *payload)
{
	struct packet_half *h = &p->half[PACKET_RX];
	size_t pad = pkt[4];

	if ((pad < PACKET_PAD_MIN && !p->proxied) || pad + 1 >= len)
		return ERR_PROTOCOL;
	*payload = (struct span){ pkt + 5, len - 1 - pad };
	p->rx.seqnr = seqnr;
	h->total.bytes += size;
	h->total.packets++;
	h->total.payload += payload->len;
	return 1;
}

/* Decrypts the packet at rx.off: 1 with its payload, 0 if more input is needed,
 * or an error. */
static int
take_packet(struct packet *p, struct span *payload)
{
	struct packet_half *h = &p->half[PACKET_RX];
	uint8_t *pkt = p->rx.buf + p->rx.off;
	uint32_t seqnr = h->pos.seqnr;
	size_t size;
	int r;

	if (p->rx.refused)
		return pass_refused(p);
	if ((r = frame(p, &size)) != 0 || size == 0)
		return r;
	if (h->cipher != NULL &&
	    (r = cipher_decrypt(h->cipher, &h->pos, pkt, p->rx.len)) != 0)
		return r == ERR_MAC ? refuse(p, r, p->rx.len) : r;
	advance(p, size);
	return take_payload(p, pkt, p->rx.len, seqnr, size, payload);
}

/*
 * May threads decrypt packets before the packets in front of them were handled?
 * Not if one of these may be NEWKEYS, because the packets after it need other
 * keys. The peer sends NEWKEYS only when it has our KEXINIT, so the answer is
 * no from our KEXINIT to the peer's NEWKEYS.
 */
static bool
threads_may_decrypt(const struct packet *p)
{
	return p->authenticated && !p->tx.postponing &&
	    p->rx.expect == PACKET_EXPECT_ANY &&
	    packet_threads_can(p, PACKET_RX) &&
	    pipeline_threads(p->threads.pipe) > 0;
}

/* Posts the packets that have arrived as jobs, if there are enough bytes. */
static void
post_arrived(struct packet *p)
{
	struct packet_half *h = &p->half[PACKET_RX];
	struct pipeline_job *j;
	size_t size, posted = 0;

	/* If a read brings few bytes, the loop needs no help. */
	if (p->rx.err != 0 || !threads_may_decrypt(p) ||
	    (pipeline_pending(p->threads.pipe, PIPELINE_DECRYPT) == 0 &&
		p->rx.end - p->rx.off < PACKET_RX_BATCH))
		return;
	while ((j = pipeline_next(p->threads.pipe, PIPELINE_DECRYPT)) != NULL) {
		/* rx.err is returned after the packets posted before it. */
		p->rx.err = frame(p, &size);
		if (p->rx.err != 0 || size == 0)
			break;
		/* A small packet is a job only behind a large one. */
		if (p->rx.len < PACKET_JOB_MIN &&
		    pipeline_pending(p->threads.pipe, PIPELINE_DECRYPT) == 0)
			break;
		j->pos = h->pos;
		j->pkt = p->rx.buf + p->rx.off;
		j->len = p->rx.len;
		j->size = size;
		j->where = p->rx.which;
		p->rx.jobs[p->rx.which]++;
		pipeline_post(p->threads.pipe, PIPELINE_DECRYPT);
		posted += size;
		advance(p, size);
	}
	if (posted > 0)
		pipeline_kick(p->threads.pipe);
}

/* As take_packet(), for packets that are jobs, in the order of arrival. */
static int
take_decrypted(struct packet *p, struct span *payload)
{
	const struct pipeline_job *j;
	struct pipeline_job got;

	post_arrived(p);
	if (pipeline_pending(p->threads.pipe, PIPELINE_DECRYPT) == 0)
		return p->rx.err != 0 ? p->rx.err : take_packet(p, payload);
	while ((j = pipeline_done(p->threads.pipe, PIPELINE_DECRYPT)) == NULL) {
		/* The threads go on while the caller reads more input. */
		if (!p->rx.dry && pipeline_threads(p->threads.pipe) > 0)
			return 0;
		if (!pipeline_help(p->threads.pipe, PIPELINE_DECRYPT))
			return 0;
	}
	got = *j;
	pipeline_release(p->threads.pipe, PIPELINE_DECRYPT);
	p->rx.jobs[got.where]--;
	if (got.err != 0)
		return tell_broken(got.err, got.len);
	return take_payload(p, got.pkt, got.len, got.pos.seqnr, got.size,
	    payload);
}

static int
on_disconnect(struct packet *p, struct rd *r)
{
	struct span text;
	char *copy;

	p->disconnect_reason = rd_u32(r);
	text = rd_string(r);
	if (rd_err(r) != 0)
		return ERR_PROTOCOL;
	text.len = MIN(text.len, sizeof p->disconnect_text / 4);
	copy = span_dup(text);
	str_escape(p->disconnect_text, sizeof p->disconnect_text,
	    copy != NULL ? copy : "");
	free(copy);
	return ERR_DISCONNECTED;
}

static int
on_ping(struct packet *p, struct rd *r)
{
	struct span data = rd_string(r);
	struct buf b;
	int err;

	if ((err = rd_end(r)) != 0)
		return err;
	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_PONG);
	buf_put_string(&b, data.p, data.len);
	err = packet_put(p, &b);
	buf_clear(&b);
	return err;
}

static bool
is_expected(const struct packet *p, uint8_t type)
{
	switch (p->rx.expect) {
	case PACKET_EXPECT_ANY:
		return true;
	case PACKET_EXPECT_KEX:
		return ssh_msg_is_kex(type) || type <= SSH_MSG_DEBUG ||
		    type == SSH_MSG_EXT_INFO;
	case PACKET_EXPECT_STRICT:
		return ssh_msg_is_kex(type) || type == SSH_MSG_DISCONNECT;
	case PACKET_EXPECT_CONNECTION:
		return type >= SSH_MSG_GLOBAL_REQUEST &&
		    type <= SSH_MSG_CHANNEL_FAILURE;
	}
	return false;
}

/* Shows a DEBUG message to the user of a client, with -v. A server does not log
 * what clients want to have in its log. */
static void
show_debug_message(const struct packet *p, struct rd r)
{
	struct span text;

	(void)rd_bool(&r);
	text = rd_string(&r);
	if (rd_err(&r) == 0 && !p->server)
		log_debug("Remote: %.*s", (int)MIN(text.len, (size_t)900),
		    (const char *)text.p);
}

/* Handles a message of the transport layer: 0, 1 if it is none, or an error. */
static int
handle_transport_message(struct packet *p, uint8_t type, struct rd r)
{
	switch (type) {
	case SSH_MSG_DISCONNECT:
		return on_disconnect(p, &r);
	case SSH_MSG_IGNORE:
	case SSH_MSG_PONG:
		return 0;
	case SSH_MSG_UNIMPLEMENTED:
		log_debug("peer does not implement packet %u", rd_u32(&r));
		return 0;
	case SSH_MSG_DEBUG:
		show_debug_message(p, r);
		return 0;
	case SSH_MSG_PING:
		if (p->half[PACKET_RX].cipher == NULL)
			return ERR_PROTOCOL;
		return on_ping(p, &r);
	case SSH_MSG_RECEIVED:
		return p->tx.keep != NULL ? packet_keep_on_received(p, &r) : 1;
	default:
		return 1;
	}
}

int
packet_next(struct packet *p, struct rd *payload)
{
	struct packet_half *h = &p->half[PACKET_RX];
	struct span body;
	struct rd r;
	uint8_t type;
	int err;

	for (;;) {
		err = p->threads.pipe == NULL ? take_packet(p, &body) :
					take_decrypted(p, &body);
		if (err <= 0)
			return err;
		if (!p->authenticated &&
		    h->total.packets > PACKET_RX_MAX_PREAUTH)
			return ERR_LIMIT;
		if (h->zlib != NULL) {
			buf_reset(&p->rx.plain);
			err = zstream_inflate(h->zlib, body.p, body.len,
			    CIPHER_LEN_MAX, &p->rx.plain);
			if (err != 0)
				return err;
			body = buf_span(&p->rx.plain);
		}
		*payload = r = rd_from_span(body);
		type = rd_u8(&r);
		if (rd_err(&r) != 0 || type == 0 || !is_expected(p, type)) {
			log_debug("message %u came at the wrong time", type);
			return ERR_PROTOCOL;
		}
		p->rx.type = type;
		if ((err = handle_transport_message(p, type, r)) != 0)
			return err;
	}
}
