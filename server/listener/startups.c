/* SPDX-License-Identifier: ISC */
#include "server/listener/startups.h"

#include <netinet/in.h>
#include <string.h>

static void
keep_bits(uint8_t *p, size_t len, int bits)
{
	for (size_t i = 0; i < len; i++, bits -= 8) {
		if (bits >= 8)
			continue;
		p[i] &= bits <= 0 ? 0 : (uint8_t)(0xff00 >> bits);
	}
}

struct startups_source
startups_source_of(const struct sockaddr *sa,
    const struct server_net_bits *bits)
{
	struct startups_source src = { .family = 0 };
	const struct sockaddr_in6 *six = (const void *)sa;
	const struct sockaddr_in *four = (const void *)sa;

	if (sa->sa_family == AF_INET) {
		src.family = 4;
		memcpy(src.bytes, &four->sin_addr, 4);
	} else if (sa->sa_family == AF_INET6 &&
	    IN6_IS_ADDR_V4MAPPED(&six->sin6_addr)) {
		src.family = 4;
		memcpy(src.bytes, &six->sin6_addr.s6_addr[12], 4);
	} else if (sa->sa_family == AF_INET6) {
		src.family = 6;
		memcpy(src.bytes, &six->sin6_addr, 16);
	}
	if (src.family == 4)
		keep_bits(src.bytes, 4, bits->ipv4);
	else if (src.family == 6)
		keep_bits(src.bytes, 16, bits->ipv6);
	return src;
}

bool
startups_same_source(const struct startups_source *a,
    const struct startups_source *b)
{
	return a->family != 0 && a->family == b->family &&
	    memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

/* From limits->begin connections on, the chance to be refused rises linearly
 * from rate percent to 100 percent at limits->full. */
bool
startups_drop(const struct server_startups *limits, int count,
    uint32_t chance)
{
	int percent;

	if (count < limits->begin)
		return false;
	if (count >= limits->full || limits->full <= limits->begin ||
	    limits->rate >= 100)
		return true;
	percent = limits->rate +
	    (100 - limits->rate) * (count - limits->begin) /
		(limits->full - limits->begin);
	return chance < (uint32_t)percent;
}
