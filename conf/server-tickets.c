/* SPDX-License-Identifier: ISC */
#include "conf/server-tickets.h"

#include <limits.h>
#include <stddef.h>

#include "base/mem.h"
#include "conf/conf-internal.h"
#include "conf/conf-parts.h"

enum { LIFETIME_MAX_S = 3600, LINGER_MAX_S = 24 * 3600 };

static const struct conf_enum address_values[] = {
	{ "same", SERVER_TICKET_SAME_ADDRESS },
	{ "any", SERVER_TICKET_ANY_ADDRESS },
	{ NULL, 0 },
};

static const struct conf_enum permit_values[] = {
	{ "transfer", SERVER_TICKET_TRANSFER },
	{ "all", SERVER_TICKET_ALL },
	{ NULL, 0 },
};

static const struct conf_part rows[] = {
#define AT_PART(field) offsetof(struct server_tickets, field)
	{ "lifetime", AT_PART(lifetime_s), CONF_PART_TIME, 1, LIFETIME_MAX_S,
	    60, NULL },
	{ "max", AT_PART(max), CONF_PART_NUMBER, 1, SERVER_TICKETS_MAX, 16,
	    NULL },
	{ "connections", AT_PART(connections), CONF_PART_NUMBER, 1,
	    SERVER_TICKETS_MAX, 16, NULL },
	{ "maxage", AT_PART(max_age_s), CONF_PART_TIME, 1, INT_MAX, 8 * 3600,
	    NULL },
	{ "linger", AT_PART(linger_s), CONF_PART_TIME, 0, LINGER_MAX_S,
	    15 * 60, NULL },
	{ "address", AT_PART(address), CONF_PART_WORD, 0, 0,
	    SERVER_TICKET_SAME_ADDRESS, address_values },
	{ "permit", AT_PART(permit), CONF_PART_WORD, 0, 0,
	    SERVER_TICKET_TRANSFER, permit_values },
#undef AT_PART
};
static const struct conf_parts parts = { rows, ARRAY_LEN(rows) };

_Static_assert(sizeof(struct server_tickets) <= CONF_FIELD_MAX,
    "a field of this size can not be checked without being kept");
_Static_assert(offsetof(struct server_tickets, enabled) == 0,
    "the flag stands first");

static int
parse_tickets(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	return conf_parts_parse(row, &parts, field, words, at);
}

static int
format_tickets(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	(void)row;
	return conf_parts_format(&parts, field, words);
}

const struct conf_type server_tickets_type = { parse_tickets, format_tickets,
	NULL, NULL, false };
