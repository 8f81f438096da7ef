/* SPDX-License-Identifier: ISC */
/*
 * No cipher (RFC 4253 section 6.3), for data that is public or protected by
 * other means. A MAC still proves that the packets are the peer's, in order;
 * with the MAC "none" nothing does.
 */
#include "cipher-internal.h"

static int
start(struct cipher *c, const uint8_t *key, const uint8_t *iv)
{
	(void)c;
	(void)key;
	(void)iv;
	return 0;
}

static void
stop(void *state)
{
	(void)state;
}

static int
encrypt_packet(struct cipher *c, const struct cipher_pos *pos, uint8_t *pkt,
    uint32_t len)
{
	return mac_compute(c->mac, pos->seqnr, pkt, 4 + len, pkt + 4 + len);
}

const struct cipher_ops cipher_none = {
	.algorithm = "none",
	.start = start,
	.stop = stop,
	.encrypt = encrypt_packet,
	.decrypt_length = cipher_clear_length,
	.decrypt = cipher_check_mac,
};
