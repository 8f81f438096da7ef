/* SPDX-License-Identifier: ISC */
#include "conf/addr-match.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/str.h"
#include "compat/bsd.h"

enum { ADDR_TEXT_MAX = 64 };

struct addr {
	int family;
	uint8_t bytes[16];
	unsigned bits; /* 32 for IPv4, 128 for IPv6 */
	char scope[ADDR_TEXT_MAX]; /* interface of an IPv6 address, as "%eth0";
				    * "": none is named */
};

/* An item of a list: an address, or the first bits of one. */
struct net {
	struct addr addr;
	unsigned bits;
	bool any_scope; /* scopes are not compared */
};

static bool
is_mapped(const struct addr *a)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return a->family == AF_INET6 &&
	    memcmp(a->bytes, mapped, sizeof mapped) == 0;
}

static bool
addr_parse(const char *text, struct addr *a)
{
	size_t len = strcspn(text, "%");
	char plain[ADDR_TEXT_MAX];

	memset(a, 0, sizeof *a);
	if (len >= sizeof plain ||
	    strlcpy(a->scope, text + len, sizeof a->scope) >= sizeof a->scope)
		return false;
	memcpy(plain, text, len);
	plain[len] = '\0';
	a->family = text[len] == '\0' &&
		inet_pton(AF_INET, plain, a->bytes) == 1 ? AF_INET : AF_INET6;
	a->bits = a->family == AF_INET ? 32 : 128;
	return a->family == AF_INET ||
	    inet_pton(AF_INET6, plain, a->bytes) == 1;
}

/* Reads an IPv4 address in one of the old forms (10.1, 0x0a000001, 012.0.0.1),
 * which OpenSSH takes in a list as well. */
static bool
addr_parse_old(const char *text, struct addr *a)
{
	struct in_addr four;

	if (text[strspn(text, "0123456789abcdefABCDEFxX.")] != '\0' ||
	    inet_aton(text, &four) == 0)
		return false;
	*a = (struct addr){ .family = AF_INET, .bits = 32 };
	memcpy(a->bytes, &four.s_addr, sizeof four.s_addr);
	return true;
}

/* Reads the numeric address of a peer. An IPv4 address that is mapped to IPv6
 * (::ffff:192.0.2.1) becomes the IPv4 address. */
static bool
peer_parse(const char *text, struct addr *a)
{
	if (!addr_parse(text, a))
		return false;
	if (is_mapped(a)) {
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

/* Reads "address/bits" or an address; with `old` also the old forms of IPv4.
 * ERR_FORMAT: the text is neither. ERR_SYNTAX: bits is malformed, or the
 * address has bits behind them, or is one of IPv4 mapped to IPv6: peers have no
 * such addresses, so a network of them would match none. */
static int
net_parse(const char *text, bool old, struct net *net)
{
	size_t len = strcspn(text, "/");
	const char *bits = text[len] == '/' ? text + len + 1 : NULL;
	char plain[2 * ADDR_TEXT_MAX];
	int64_t n;

	if (len >= sizeof plain)
		return ERR_FORMAT;
	memcpy(plain, text, len);
	plain[len] = '\0';
	if (!addr_parse(plain, &net->addr) &&
	    !(old && addr_parse_old(plain, &net->addr)))
		return ERR_FORMAT;
	net->bits = net->addr.bits;
	net->any_scope = bits != NULL && net->addr.scope[0] == '\0';
	if (bits == NULL)
		return 0;
	if (bits[strspn(bits, "0123456789")] != '\0' ||
	    str_to_int(bits, 0, net->bits, &n) < 0 || is_mapped(&net->addr))
		return ERR_SYNTAX;
	net->bits = (unsigned)n;
	for (unsigned i = net->bits; i < net->addr.bits; i++)
		if (bit_set(&net->addr, i))
			return ERR_SYNTAX;
	return 0;
}

static bool
is_inside(const char *addr, const struct net *net)
{
	struct addr a;

	if (!peer_parse(addr, &a) || a.family != net->addr.family ||
	    (!net->any_scope && strcmp(a.scope, net->addr.scope) != 0))
		return false;
	for (unsigned i = 0; i < net->bits; i++)
		if (bit_set(&a, i) != bit_set(&net->addr, i))
			return false;
	return true;
}

/* Matches one item of a list, an address, a network or a pattern, without its
 * '!'. Addresses are compared as numbers, because one has several texts. */
static int
match_item(const char *host, const char *addr, const char *item, bool *hit)
{
	bool is_name = strchr(item, '/') == NULL;
	struct net net;
	int r = net_parse(item, true, &net);

	*hit = false;
	/* With a slash the item must be a network, not a pattern. */
	if (item[0] == '\0' || r == ERR_SYNTAX || (r != 0 && !is_name))
		return ERR_SYNTAX;
	if (addr != NULL)
		*hit = r == 0 ? is_inside(addr, &net) :
				str_match_nocase(addr, item);
	if (host != NULL && is_name && str_match_nocase(host, item))
		*hit = true;
	return 0;
}

int
addr_match_host(const char *host, const char *addr, const char *list)
{
	bool negated, hit, found = false, barred = false;
	size_t len;
	char *item;
	int r;

	for (;; list += len + 1) {
		len = strcspn(list, ",");
		negated = *list == '!';
		if ((item = strndup(list + negated, len - negated)) == NULL)
			return ERR_NOMEM;
		r = match_item(host, addr, item, &hit);
		free(item);
		if (r != 0)
			return r;
		if (hit && negated)
			barred = true;
		else if (hit)
			found = true;
		if (list[len] == '\0')
			return barred ? -1 : found ? 1 : 0;
	}
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
	struct net net;

	if (item[strspn(item, "0123456789abcdefABCDEF.:/")] != '\0' ||
	    net_parse(item, false, &net) != 0)
		return ERR_SYNTAX;
	*hit = addr != NULL && is_inside(addr, &net);
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
