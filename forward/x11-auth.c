/* SPDX-License-Identifier: ISC */
#include "forward/x11-auth.h"

#include <string.h>

#include "base/mem.h"
#include "crypto/rand.h"

/*
 * The connection setup packet: byte order, an unused byte, version (2 times 16
 * bits), the lengths of the protocol's name and of its data, 2 unused bytes;
 * then name and data, each padded to a multiple of 4 bytes.
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
x11_setup_init(struct x11_setup *s, const struct x11_cookie *fake,
    const struct x11_cookie *real)
{
	*s = (struct x11_setup){ .fake = fake, .real = real };
	buf_init_secret(&s->packet);
}

void
x11_setup_clear(struct x11_setup *s)
{
	buf_clear(&s->packet);
}

/* The length that the packet must have: that with our cookie. */
static size_t
packet_len(const struct x11_setup *s)
{
	return HEAD_LEN + padded(strlen(s->fake->protocol)) +
	    padded(s->fake->len);
}

static size_t
number_at(const uint8_t *p, bool big_endian)
{
	return big_endian ? (size_t)p[0] << 8 | p[1] :
			    (size_t)p[1] << 8 | p[0];
}

static bool
has_our_lengths(const struct x11_setup *s, const uint8_t *p)
{
	bool big_endian = p[0] == 'B';

	if (!big_endian && p[0] != 'l')
		return false;
	return number_at(p + AT_NAME_LEN, big_endian) ==
	    strlen(s->fake->protocol) &&
	    number_at(p + AT_DATA_LEN, big_endian) == s->fake->len;
}

static size_t
data_at(const struct x11_setup *s)
{
	return HEAD_LEN + padded(strlen(s->fake->protocol));
}

static bool
has_our_cookie(const struct x11_setup *s, const uint8_t *p)
{
	bool name = mem_equal_ct(p + HEAD_LEN, s->fake->protocol,
	    strlen(s->fake->protocol));
	bool data = mem_equal_ct(p + data_at(s), s->fake->data, s->fake->len);

	return name && data;
}

/* Replaces our cookie in the packet by the display's, in a new buffer, and
 * wipes the old one. */
static void
exchange_cookie(struct x11_setup *s)
{
	struct buf old = s->packet;
	size_t at = data_at(s), behind = at + s->real->len;

	buf_init_secret(&s->packet);
	buf_put(&s->packet, buf_data(&old), at);
	buf_put(&s->packet, s->real->data, s->real->len);
	buf_put(&s->packet, buf_data(&old) + behind, buf_len(&old) - behind);
	buf_clear(&old);
	if (buf_err(&s->packet) != 0)
		s->state = X11_SETUP_REFUSED;
}

size_t
x11_setup_take(struct x11_setup *s, const uint8_t *p, size_t len)
{
	size_t want = packet_len(s);
	size_t taken = MIN(len, want - buf_len(&s->packet));

	if (s->state != X11_SETUP_INCOMPLETE)
		return 0;
	buf_put(&s->packet, p, taken);
	if (buf_err(&s->packet) != 0 ||
	    (buf_len(&s->packet) >= HEAD_LEN &&
		!has_our_lengths(s, buf_data(&s->packet)))) {
		s->state = X11_SETUP_REFUSED;
		return taken;
	}
	if (buf_len(&s->packet) < want)
		return taken;
	if (!has_our_cookie(s, buf_data(&s->packet))) {
		s->state = X11_SETUP_REFUSED;
		return taken;
	}
	s->state = X11_SETUP_ACCEPTED;
	exchange_cookie(s);
	return taken;
}

void
x11_cookie_imitate(struct x11_cookie *fake, const struct x11_cookie *real)
{
	memcpy(fake->protocol, real->protocol, sizeof fake->protocol);
	fake->len = real->len;
	rand_bytes(fake->data, fake->len);
}
