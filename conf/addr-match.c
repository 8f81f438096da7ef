/* SPDX-License-Identifier: ISC */
#include "conf/addr-match.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/str.h"
#include "compat/bsd.h"

struct addr {
	int family;
	uint8_t bytes[16];
	unsigned bits; /* 32 for IPv4, 128 for IPv6 */
};

enum { ADDR_TEXT_MAX = 64, NET_TEXT_MAX = 80 };

/* Reads a numeric address. A scope ("%eth0") is ignored. An IPv4 address that
 * is mapped to IPv6 (::ffff:192.0.2.1) becomes the IPv4 address. */
static bool
addr_parse(const char *text, struct addr *a)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	char plain[ADDR_TEXT_MAX];

	if (strlcpy(plain, text, sizeof plain) >= sizeof plain)
		return false;
	plain[strcspn(plain, "%")] = '\0';
	memset(a, 0, sizeof *a);
	if (inet_pton(AF_INET, plain, a->bytes) == 1) {
		a->family = AF_INET;
		a->bits = 32;
		return true;
	}
	if (inet_pton(AF_INET6, plain, a->bytes) != 1)
		return false;
	a->family = AF_INET6;
	a->bits = 128;
	if (memcmp(a->bytes, mapped, sizeof mapped) == 0) {
		memmove(a->bytes, a->bytes + 12, 4);
		a->family = AF_INET;
		a->bits = 32;
	}
	return true;
}

static bool
bit_set(const struct addr *a, unsigned i)
{
	return (a->bytes[i / 8] >> (7 - i % 8) & 1) != 0;
}

/* Reads "address/bits". ERR_FORMAT: the text is no network at all. ERR_SYNTAX:
 * bits is malformed, or the address has bits behind them. */
static int
cidr_parse(const char *text, struct addr *net, unsigned *bits)
{
	char plain[NET_TEXT_MAX], *slash;
	int64_t n;

	if (strlcpy(plain, text, sizeof plain) >= sizeof plain ||
	    (slash = strchr(plain, '/')) == NULL)
		return ERR_FORMAT;
	*slash++ = '\0';
	if (!addr_parse(plain, net))
		return ERR_FORMAT;
	if (str_to_int(slash, 0, net->bits, &n) < 0)
		return ERR_SYNTAX;
	*bits = (unsigned)n;
	for (unsigned i = *bits; i < net->bits; i++)
		if (bit_set(net, i))
			return ERR_SYNTAX;
	return 0;
}

static bool
is_inside(const char *addr, const struct addr *net, unsigned bits)
{
	struct addr a;

	if (!addr_parse(addr, &a) || a.family != net->family)
		return false;
	for (unsigned i = 0; i < bits; i++)
		if (bit_set(&a, i) != bit_set(net, i))
			return false;
	return true;
}

/* Matches one item of a list, a network or a pattern, without its '!'. */
static int
match_item(const char *host, const char *addr, const char *item, bool *hit)
{
	struct addr net;
	unsigned bits;
	int r;

	*hit = false;
	r = cidr_parse(item, &net, &bits);
	if (r == 0) {
		*hit = addr != NULL && is_inside(addr, &net, bits);
		return 0;
	}
	/* With a slash the item must be a network, not a pattern. */
	if (r == ERR_SYNTAX || strchr(item, '/') != NULL)
		return ERR_SYNTAX;
	*hit = (addr != NULL && str_match_nocase(addr, item)) ||
	    (host != NULL && str_match_nocase(host, item));
	return 0;
}

int
addr_match_host(const char *host, const char *addr, const char *list)
{
	const char *pos = list, *p;
	bool negated, hit, found = false, barred = false;
	size_t len;
	char *item;
	int r;

	while (csv_next(&pos, &p, &len)) {
		negated = *p == '!';
		item = strndup(p + negated, len - negated);
		if (item == NULL)
			return ERR_NOMEM;
		r = match_item(host, addr, item, &hit);
		free(item);
		if (r < 0)
			return ERR_SYNTAX;
		if (hit && negated)
			barred = true;
		else if (hit)
			found = true;
	}
	return barred ? -1 : found ? 1 : 0;
}

int
addr_match_list(const char *addr, const char *list)
{
	return addr_match_host(NULL, addr, list);
}

/* Matches one item of a list for addr_match_networks(): an address or a
 * network, but no pattern. */
static int
match_network(const char *addr, const char *item, bool *hit)
{
	struct addr net;
	unsigned bits;
	int r;

	if (item[strspn(item, "0123456789abcdefABCDEF.:/")] != '\0')
		return ERR_SYNTAX;
	if (strchr(item, '/') != NULL) {
		if ((r = cidr_parse(item, &net, &bits)) != 0)
			return ERR_SYNTAX;
	} else {
		if (!addr_parse(item, &net))
			return ERR_SYNTAX;
		bits = net.bits;
	}
	*hit = addr != NULL && is_inside(addr, &net, bits);
	return 0;
}

int
addr_match_networks(const char *addr, const char *list)
{
	bool hit, found = false;
	size_t len;
	char *item;
	int r;

	for (;; list += len + 1) {
		len = strcspn(list, ",");
		if ((item = strndup(list, len)) == NULL)
			return ERR_NOMEM;
		hit = false;
		r = match_network(addr, item, &hit);
		free(item);
		if (r != 0)
			return r;
		found |= hit;
		if (list[len] == '\0')
			return found ? 1 : 0;
	}
}
