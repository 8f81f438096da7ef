/* SPDX-License-Identifier: ISC */
#include "forward/socks.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"

enum { COMMAND_CONNECT = 1, METHOD_NONE = 0 };
/* The types of address in SOCKS 5. */
enum { ADDRESS_IPV4 = 1, ADDRESS_NAME = 3, ADDRESS_IPV6 = 4 };
enum { IPV4_LEN = 4, IPV6_LEN = 16 };
/* Bytes of the SOCKS 4 request after the version: command, port, address. */
enum { V4_HEAD_LEN = 1 + 2 + IPV4_LEN };

/* Sets which field comes next, and its length. want 0: the field ends at a zero
 * byte. */
static enum socks_result
expect(struct socks *s, enum socks_state state, size_t want)
{
	s->state = state;
	s->want = want;
	s->have = 0;
	return SOCKS_NEED_MORE;
}

static void
set_reply(struct socks *s, const uint8_t *bytes, size_t len)
{
	memcpy(s->reply, bytes, len);
	s->reply_len = len;
}

static uint16_t
port_at(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* Takes the field as the target's host: a name, or an address as text. */
static bool
take_name(struct socks *s, size_t len)
{
	if (len == 0 || memchr(s->field, '\0', len) != NULL)
		return false;
	s->host = strndup((const char *)s->field, len);
	return s->host != NULL;
}

static bool
take_address(struct socks *s, int family, const uint8_t *address)
{
	char text[INET6_ADDRSTRLEN];

	if (inet_ntop(family, address, text, sizeof text) == NULL)
		return false;
	s->host = strdup(text);
	return s->host != NULL;
}

/* ---- one function for each field ---------------------------------------- */

static enum socks_result
end_v4(struct socks *s)
{
	static const uint8_t granted[8] = { 0, 0x5a };

	set_reply(s, granted, sizeof granted);
	s->state = SOCKS_END;
	return SOCKS_DONE;
}

static enum socks_result
on_version(struct socks *s)
{
	if (s->field[0] == 4)
		return expect(s, SOCKS_V4_HEAD, V4_HEAD_LEN);
	if (s->field[0] == 5)
		return expect(s, SOCKS_V5_METHOD_COUNT, 1);
	return SOCKS_BAD;
}

/* Reads the SOCKS 4 request. The address 0.0.0.x means that a host name follows
 * (SOCKS 4a). */
static enum socks_result
on_v4_head(struct socks *s)
{
	const uint8_t *a = s->field + 3;

	if (s->field[0] != COMMAND_CONNECT)
		return SOCKS_BAD;
	s->port = port_at(s->field + 1);
	s->by_name = a[0] == 0 && a[1] == 0 && a[2] == 0 && a[3] != 0;
	if (!s->by_name && !take_address(s, AF_INET, a))
		return SOCKS_BAD;
	return expect(s, SOCKS_V4_USER, 0);
}

static enum socks_result
on_v4_user(struct socks *s)
{
	return s->by_name ? expect(s, SOCKS_V4_NAME, 0) : end_v4(s);
}

static enum socks_result
on_v4_name(struct socks *s)
{
	return take_name(s, s->have - 1) ? end_v4(s) : SOCKS_BAD;
}

static enum socks_result
on_v5_method_count(struct socks *s)
{
	return s->field[0] > 0 ? expect(s, SOCKS_V5_METHODS, s->field[0]) :
				 SOCKS_BAD;
}

static enum socks_result
on_v5_methods(struct socks *s)
{
	static const uint8_t chosen[2] = { 5, METHOD_NONE };

	if (memchr(s->field, METHOD_NONE, s->have) == NULL)
		return SOCKS_BAD;
	set_reply(s, chosen, sizeof chosen);
	(void)expect(s, SOCKS_V5_HEAD, 4);
	return SOCKS_REPLY;
}

/* The head of a SOCKS 5 request: version, command, a zero byte, kind of
 * address. */
static enum socks_result
on_v5_head(struct socks *s)
{
	if (s->field[0] != 5 || s->field[1] != COMMAND_CONNECT ||
	    s->field[2] != 0)
		return SOCKS_BAD;
	s->by_name = s->field[3] == ADDRESS_NAME;
	switch (s->field[3]) {
	case ADDRESS_IPV4:
		return expect(s, SOCKS_V5_ADDRESS, IPV4_LEN);
	case ADDRESS_IPV6:
		return expect(s, SOCKS_V5_ADDRESS, IPV6_LEN);
	case ADDRESS_NAME:
		return expect(s, SOCKS_V5_NAME_LEN, 1);
	default:
		return SOCKS_BAD;
	}
}

static enum socks_result
on_v5_name_len(struct socks *s)
{
	return s->field[0] > 0 ? expect(s, SOCKS_V5_ADDRESS, s->field[0]) :
				 SOCKS_BAD;
}

static enum socks_result
on_v5_address(struct socks *s)
{
	bool taken = s->by_name ?
	    take_name(s, s->have) :
	    take_address(s, s->have == IPV6_LEN ? AF_INET6 : AF_INET,
		s->field);

	return taken ? expect(s, SOCKS_V5_PORT, 2) : SOCKS_BAD;
}

static enum socks_result
on_v5_port(struct socks *s)
{
	const uint8_t done[10] = { 5, 0, 0, ADDRESS_IPV4, 0, 0, 0, 0,
		s->field[0], s->field[1] };

	s->port = port_at(s->field);
	set_reply(s, done, sizeof done);
	s->state = SOCKS_END;
	return SOCKS_DONE;
}

static enum socks_result (*const on_field[])(struct socks *s) = {
	[SOCKS_VERSION] = on_version,
	[SOCKS_V4_HEAD] = on_v4_head,
	[SOCKS_V4_USER] = on_v4_user,
	[SOCKS_V4_NAME] = on_v4_name,
	[SOCKS_V5_METHOD_COUNT] = on_v5_method_count,
	[SOCKS_V5_METHODS] = on_v5_methods,
	[SOCKS_V5_HEAD] = on_v5_head,
	[SOCKS_V5_NAME_LEN] = on_v5_name_len,
	[SOCKS_V5_ADDRESS] = on_v5_address,
	[SOCKS_V5_PORT] = on_v5_port,
};

/* ---- reading ------------------------------------------------------------ */

/* Adds bytes to the field; returns how many. A field that ends at a zero byte
 * includes that byte. */
static size_t
collect(struct socks *s, const uint8_t *p, size_t len)
{
	size_t limit = s->want > 0 ? s->want : sizeof s->field;
	size_t n = MIN(len, limit - s->have);
	const uint8_t *zero;

	if (s->want == 0 && (zero = memchr(p, '\0', n)) != NULL)
		n = (size_t)(zero - p) + 1;
	memcpy(s->field + s->have, p, n);
	s->have += n;
	return n;
}

static bool
is_complete(const struct socks *s)
{
	if (s->want > 0)
		return s->have == s->want;
	return s->have > 0 && s->field[s->have - 1] == '\0';
}

enum socks_result
socks_feed(struct socks *s, const void *data, size_t len, size_t *used)
{
	const uint8_t *p = data;
	enum socks_result result = SOCKS_NEED_MORE;

	*used = 0;
	if (s->state == SOCKS_VERSION)
		s->want = 1;
	while (result == SOCKS_NEED_MORE && *used < len) {
		*used += collect(s, p + *used, len - *used);
		if (is_complete(s))
			result = on_field[s->state](s);
		else if (s->have == sizeof s->field)
			/* The name is longer than SOCKS_NAME_MAX. */
			result = SOCKS_BAD;
	}
	return result;
}

void
socks_clear(struct socks *s)
{
	free(s->host);
	memset(s, 0, sizeof *s);
}
