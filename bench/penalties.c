/* SPDX-License-Identifier: ISC */
/*
 * PerSourcePenalties with more sources than its table has room for: the time
 * of each operation, and the memory of the listener.
 *
 * usage: penalties [sources, 200000 unless given]
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/wire.h"
#include "conf/server-conf.h"
#include "server/listener/penalties.h"

/* Bytes that are allocated by malloc(3). */
static size_t
memory(void)
{
	return mallinfo2().uordblks;
}

/* Addresses that are scattered, as those of many hosts are. */
static struct startups_source
source(uint8_t family, uint32_t n)
{
	struct startups_source s = { .family = family };

	wire_put_u32(s.bytes, n * UINT32_C(2654435761));
	return s;
}

static void
run(const struct server_penalties *conf, uint8_t family, uint32_t sources)
{
	struct penalties *p = penalties_new(conf);
	size_t before = memory(), refused = 0;
	double begin, add, look, expire;
	struct startups_source s;
	int64_t rest;

	begin = (double)clock_ns();
	for (uint32_t i = 0; i < sources; i++) {
		s = source(family, i);
		(void)penalties_add(p, &s, PENALTY_CRASH, i, &rest);
	}
	add = ((double)clock_ns() - begin) / sources;
	printf("IPv%d  %8zu of %8u sources  %6.1f MiB", family,
	    penalties_count(p, family == 4 ? PENALTY_IPV4 : PENALTY_IPV6),
	    sources, (double)(memory() - before) / (1 << 20));
	begin = (double)clock_ns();
	for (uint32_t i = 0; i < sources; i++) {
		s = source(family, i * 7919 % sources);
		refused += penalties_refuse(p, &s, sources) != NULL;
	}
	look = ((double)clock_ns() - begin) / sources;
	begin = (double)clock_ns();
	(void)penalties_refuse(p, &s, INT64_MAX);
	expire = ((double)clock_ns() - begin) / 1e6;
	printf("  %5.0f ns to add  %5.0f ns to look up (%.0f %% refused)  "
	       "%5.1f ms until all have expired\n",
	    add, look, 100.0 * (double)refused / sources, expire);
	penalties_free(p);
}

int
main(int argc, char **argv)
{
	uint32_t sources = argc > 1 ? (uint32_t)atol(argv[1]) : 200 * 1000;
	struct server_conf c;

	server_conf_init(&c);
	if (sources == 0 || server_conf_finish(&c) != 0)
		return 1;
	run(&c.listen.per_source_penalties, 4, sources);
	run(&c.listen.per_source_penalties, 6, sources);
	server_conf_clear(&c);
	return 0;
}
