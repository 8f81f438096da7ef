/* SPDX-License-Identifier: ISC */
#include "forward/x11-auth.h"

#include <string.h>

#include "base/mem.h"
#include "crypto/rand.h"

/*
 * The packet: byte order, an unused byte, version (2 times 16 bits), the
 * lengths of name and data, 2 unused bytes; then name and data, each filled up
 * to a multiple of 4.
 */
enum {
	HEAD_LEN = 12,
	AT_NAME_LEN = 6,
	AT_DATA_LEN = 8,
};

static size_t
padded(size_t len)
{
	return (len + 3) & ~(size_t)3;
}

void
x11_gate_init(struct x11_gate *g, const struct x11_cookie *fake,
    const struct x11_cookie *real)
{
	*g = (struct x11_gate){ .fake = fake, .real = real };
	buf_init_secret(&g->packet);
}

void
x11_gate_clear(struct x11_gate *g)
{
	buf_clear(&g->packet);
}

/* All that a client of ours can send has this length. */
static size_t
packet_len(const struct x11_gate *g)
{
	return HEAD_LEN + padded(strlen(g->fake->protocol)) +
	    padded(g->fake->len);
}

static size_t
number_at(const uint8_t *p, bool big_endian)
{
	return big_endian ? (size_t)p[0] << 8 | p[1] :
			    (size_t)p[1] << 8 | p[0];
}

static bool
has_our_lengths(const struct x11_gate *g, const uint8_t *p)
{
	bool big_endian = p[0] == 'B';

	if (!big_endian && p[0] != 'l')
		return false;
	return number_at(p + AT_NAME_LEN, big_endian) ==
	    strlen(g->fake->protocol) &&
	    number_at(p + AT_DATA_LEN, big_endian) == g->fake->len;
}

static size_t
data_at(const struct x11_gate *g)
{
	return HEAD_LEN + padded(strlen(g->fake->protocol));
}

static bool
has_our_cookie(const struct x11_gate *g, const uint8_t *p)
{
	bool name = mem_equal_ct(p + HEAD_LEN, g->fake->protocol,
	    strlen(g->fake->protocol));
	bool data = mem_equal_ct(p + data_at(g), g->fake->data, g->fake->len);

	return name && data;
}

/* A copy with the display's cookie. */
static void
exchange_cookie(struct x11_gate *g)
{
	struct buf old = g->packet;
	size_t at = data_at(g), behind = at + g->real->len;

	buf_init_secret(&g->packet);
	buf_put(&g->packet, buf_data(&old), at);
	buf_put(&g->packet, g->real->data, g->real->len);
	buf_put(&g->packet, buf_data(&old) + behind, buf_len(&old) - behind);
	buf_clear(&old);
	if (buf_err(&g->packet) != 0)
		g->state = X11_GATE_REFUSED;
}

size_t
x11_gate_take(struct x11_gate *g, const uint8_t *p, size_t len)
{
	size_t want = packet_len(g);
	size_t taken = MIN(len, want - buf_len(&g->packet));

	if (g->state != X11_GATE_HELD)
		return 0;
	buf_put(&g->packet, p, taken);
	if (buf_err(&g->packet) != 0 ||
	    (buf_len(&g->packet) >= HEAD_LEN &&
		!has_our_lengths(g, buf_data(&g->packet)))) {
		g->state = X11_GATE_REFUSED;
		return taken;
	}
	if (buf_len(&g->packet) < want)
		return taken;
	if (!has_our_cookie(g, buf_data(&g->packet))) {
		g->state = X11_GATE_REFUSED;
		return taken;
	}
	g->state = X11_GATE_OPEN;
	exchange_cookie(g);
	return taken;
}

void
x11_cookie_imitate(struct x11_cookie *fake, const struct x11_cookie *real)
{
	memcpy(fake->protocol, real->protocol, sizeof fake->protocol);
	fake->len = real->len;
	rand_bytes(fake->data, fake->len);
}
