/* SPDX-License-Identifier: ISC */
/* Hands a connection over from one of our processes to another. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "packet-internal.h"

enum { STATE_VERSION = 1, RX_STATE_MAX = 2 * 1024 * 1024 };

static void
put_half(struct buf *out, const struct packet_half *h)
{
	uint8_t iv[CIPHER_IV_MAX];

	memcpy(iv, h->keys.iv, sizeof iv);
	if (h->cipher != NULL && cipher_is_chained(h->keys.cipher))
		cipher_chain(h->cipher, iv);
	buf_put_bool(out, h->cipher != NULL);
	buf_put_cstring(out, h->cipher != NULL ? h->keys.cipher->name : "");
	buf_put_cstring(out, h->keys.mac != NULL ? h->keys.mac->name : "");
	buf_put_bool(out, h->keys.compress);
	buf_put_string(out, h->keys.key, sizeof h->keys.key);
	buf_put_string(out, iv, sizeof iv);
	buf_put_string(out, h->keys.mac_key, sizeof h->keys.mac_key);
	buf_put_u32(out, h->pos.seqnr);
	buf_put_u64(out, h->pos.packet);
	buf_put_u64(out, h->pos.block);
	buf_put_u64(out, h->total.bytes);
	buf_put_u64(out, h->total.packets);
	buf_put_u64(out, h->total.payload);
	buf_put_u64(out, h->bytes_since_keys);
	explicit_bzero(iv, sizeof iv);
}

int
packet_export(const struct packet *p, struct buf *out)
{
	struct span piece[2];
	size_t mark;
	int n;

	ENSURE(p->threads.pipe == NULL);
	/* zlib@openssh.com starts after authentication, and so after any
	 * hand-over: there are no streams with a state to hand over. */
	ENSURE(p->half[0].zlib == NULL && p->half[1].zlib == NULL);
	buf_put_u8(out, STATE_VERSION);
	put_half(out, &p->half[PACKET_TX]);
	put_half(out, &p->half[PACKET_RX]);
	buf_put_u8(out, (uint8_t)p->rx.expect);
	buf_put_bool(out, p->tx.postponing);
	buf_put_string_buf(out, &p->tx.postponed);
	buf_put_u64(out, p->rekey.bytes);
	buf_put_u32(out, p->rekey.seconds);
	buf_put_bool(out, p->rx.have_len);
	buf_put_u32(out, p->rx.len);
	buf_put_string(out, p->rx.buf + p->rx.off, p->rx.end - p->rx.off);
	n = packet_ring_pieces(&p->tx.ring, piece);
	mark = buf_open_string(out);
	for (int i = 0; i < n; i++)
		buf_put(out, piece[i].p, piece[i].len);
	buf_close_string(out, mark);
	return buf_err(out);
}

static void
take_bytes(struct rd *r, uint8_t *to, size_t len)
{
	struct span s = rd_string(r);

	if (s.len != len)
		rd_fail(r, ERR_FORMAT);
	else
		memcpy(to, s.p, len);
}

static int
take_half(struct packet *p, enum packet_dir dir, struct rd *r)
{
	struct packet_half *h = &p->half[dir];
	bool keyed = rd_bool(r);
	char *cipher = rd_cstring(r, 128), *mac = rd_cstring(r, 128);
	int err;

	h->keys.compress = rd_bool(r);
	take_bytes(r, h->keys.key, sizeof h->keys.key);
	take_bytes(r, h->keys.iv, sizeof h->keys.iv);
	take_bytes(r, h->keys.mac_key, sizeof h->keys.mac_key);
	h->pos.seqnr = rd_u32(r);
	h->pos.packet = rd_u64(r);
	h->pos.block = rd_u64(r);
	h->total.bytes = rd_u64(r);
	h->total.packets = rd_u64(r);
	h->total.payload = rd_u64(r);
	h->bytes_since_keys = rd_u64(r);
	if ((err = rd_err(r)) != 0 || !keyed)
		goto out;
	h->keys.cipher = cipher_by_name(cipher);
	h->keys.mac = mac[0] != '\0' ? mac_by_name(mac) : NULL;
	err = h->keys.cipher == NULL ? ERR_FORMAT :
	    cipher_new(&h->cipher, h->keys.cipher, h->keys.mac,
		dir == PACKET_TX, h->keys.key, h->keys.iv, h->keys.mac_key);
out:
	free(cipher);
	free(mac);
	return err;
}

int
packet_import(struct packet *p, struct rd *in)
{
	struct span held, rx, tx;
	uint8_t expect;
	int r;

	ENSURE(p->rx.buf == NULL && p->half[0].cipher == NULL);
	if (rd_u8(in) != STATE_VERSION)
		return ERR_FORMAT;
	if ((r = take_half(p, PACKET_TX, in)) != 0 ||
	    (r = take_half(p, PACKET_RX, in)) != 0)
		return r;
	expect = rd_u8(in);
	p->tx.postponing = rd_bool(in);
	held = rd_string(in);
	p->rekey.bytes = rd_u64(in);
	p->rekey.seconds = rd_u32(in);
	p->rx.have_len = rd_bool(in);
	p->rx.len = rd_u32(in);
	rx = rd_string(in);
	tx = rd_string(in);
	if ((r = rd_err(in)) != 0)
		return r;
	/* The process that has exported the state may be the peer's by now, if
	 * the peer has broken it. */
	if (expect > PACKET_EXPECT_CONNECTION ||
	    (p->rx.have_len && !packet_rx_length_is_possible(p)))
		return ERR_FORMAT;
	p->rx.expect = (enum packet_expect)expect;
	buf_put(&p->tx.postponed, held.p, held.len);
	if ((r = buf_err(&p->tx.postponed)) != 0)
		return r;
	if (rx.len > RX_STATE_MAX)
		return ERR_LIMIT;
	p->rx.cap = MAX(rx.len, (size_t)PACKET_RX_FIRST);
	if ((p->rx.buf = malloc(p->rx.cap)) == NULL)
		return ERR_NOMEM;
	memcpy(p->rx.buf, rx.p, rx.len);
	p->rx.end = rx.len;
	return packet_tx_raw(p, tx.p, tx.len);
}
