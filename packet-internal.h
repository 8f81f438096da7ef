/* SPDX-License-Identifier: ISC */
/*
 * What packet.c, packet-tx.c, packet-rx.c and packet-state.c share. Included
 * by these only.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_PACKET_INTERNAL_H
#define HPN_PACKET_INTERNAL_H

#include <time.h>

#include "packet-zlib.h"
#include "packet.h"

enum {
	PACKET_RX_FIRST = 32 * 1024,   /* bytes of the first input buffer */
	PACKET_RX_READ = 1024 * 1024,  /* most bytes taken by one read(2) */
	PACKET_TX_FIRST = 16 * 1024,   /* bytes of the first output ring */
	PACKET_TX_BULK = 1024 * 1024,  /* pending bytes at which bulk waits */
	PACKET_TX_MAX = 32 * 1024 * 1024, /* pending bytes at which we fail */
	PACKET_HELD_MAX = 16 * 1024 * 1024, /* bytes kept during a rekey */
	PACKET_HELD_MAX_PREAUTH = 128 * 1024,
	PACKET_PAD_MIN = 4,
	PACKET_SIZE_MIN = 16, /* RFC 4253 section 6: whole packet, no MAC */
	PACKET_TAG_MAX = 64,
	PACKET_SLACK = 4 + 1 + 255 + PACKET_TAG_MAX, /* around a payload */
};

struct packet_half {
	struct packet_keys keys; /* kept for export; secret */
	struct cipher *cipher;	 /* NULL: nothing protects yet */
	struct cipher_pos pos;
	struct packet_counters total;
	uint64_t bytes_since_keys;
	struct zstream *zlib; /* NULL: not compressing */
};

/*
 * The output ring: content is [head, tail), or, once it has wrapped,
 * [head, wrap) and then [0, tail). A packet never crosses the end.
 */
struct packet_ring {
	uint8_t *data;
	size_t cap, head, tail, wrap;
	bool wrapped;
};

struct packet {
	int fd_in, fd_out;
	bool server, authenticated;
	struct packet_half half[2]; /* by enum packet_dir */

	struct packet_ring tx;
	bool hold;
	struct buf held; /* messages that wait for NEWKEYS, as strings */
	bool recording;
	struct buf recorded; /* as strings */
	uint8_t *bulk;	 /* place of the open bulk packet, or NULL */
	size_t bulk_max;
	struct buf tx_plain; /* scratch for compression */

	uint8_t *rx; /* input [rx_off, rx_end) */
	size_t rx_cap, rx_off, rx_end;
	bool rx_have_len; /* length of the packet at rx_off is known */
	uint32_t rx_len;
	uint32_t rx_seqnr; /* of the payload given last */
	struct buf rx_plain; /* inflated payload */
	enum packet_expect expect;
	unsigned id_lines; /* lines before the identification */

	uint64_t rekey_bytes;
	uint32_t rekey_seconds;
	time_t keyed_at; /* monotonic seconds */

	uint32_t disconnect_reason;
	char disconnect_text[512];
};

time_t packet_clock(void);
int packet_tx_raw(struct packet *p, const void *bytes, size_t len) must_check;
size_t packet_ring_pending(const struct packet_ring *r);
/* The ring's content in order, at most two pieces; number of pieces. */
int packet_ring_pieces(const struct packet_ring *r, struct span piece[2]);
void packet_ring_clear(struct packet_ring *r);

#endif
