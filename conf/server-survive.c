/* SPDX-License-Identifier: ISC */
#include "conf/server-survive.h"

#include <stddef.h>

#include "base/mem.h"
#include "conf/conf-internal.h"
#include "conf/conf-parts.h"
#include "connection-survive-wire.h"
#include "packet-keep.h"

enum { MEMORY_MIN = 1024 * 1024 }; /* what any path needs */

static const struct conf_enum address_values[] = {
	{ "any", SERVER_SURVIVE_ANY_ADDRESS },
	{ "same", SERVER_SURVIVE_SAME_ADDRESS },
	{ NULL, 0 },
};

static const struct conf_part rows[] = {
#define AT_PART(field) offsetof(struct server_survive, field)
	{ "time", AT_PART(time_s), CONF_PART_TIME, 1, SURVIVE_SECONDS_MAX,
	    10 * 60, NULL },
	{ "memory", AT_PART(memory), CONF_PART_SIZE, MEMORY_MIN,
	    PACKET_KEEP_MAX, 32 * 1024 * 1024, NULL },
	{ "max", AT_PART(max), CONF_PART_NUMBER, 1, SERVER_SURVIVE_MAX, 4,
	    NULL },
	{ "address", AT_PART(address), CONF_PART_WORD, 0, 0,
	    SERVER_SURVIVE_ANY_ADDRESS, address_values },
#undef AT_PART
};
static const struct conf_parts parts = { rows, ARRAY_LEN(rows) };

_Static_assert(sizeof(struct server_survive) <= CONF_FIELD_MAX,
    "a field of this size can not be checked without being kept");
_Static_assert(offsetof(struct server_survive, enabled) == 0,
    "the flag stands first");

static int
parse_survive(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	return conf_parts_parse(row, &parts, field, words, at);
}

static int
format_survive(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	(void)row;
	return conf_parts_format(&parts, field, words);
}

const struct conf_type server_survive_type = { parse_survive, format_survive,
	NULL, NULL, false };
