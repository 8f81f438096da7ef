/* SPDX-License-Identifier: ISC */
/*
 * Values that consist of several parts: "no", or "yes" with parts behind it,
 * each NAME:VALUE. A keyword of this form is stored in a struct that begins
 * with an int flag; a table describes the other fields, all of type int.
 *
 * Threads: any.
 */
#ifndef HPN_CONF_CONF_PARTS_H
#define HPN_CONF_CONF_PARTS_H

#include <stddef.h>

#include "conf/conf.h"

enum conf_part_kind {
	CONF_PART_NUMBER,
	CONF_PART_TIME, /* in seconds */
	CONF_PART_SIZE, /* in bytes */
	CONF_PART_WORD, /* of values */
};

struct conf_part {
	const char *name;
	size_t offset;
	enum conf_part_kind kind;
	int min, max, def;
	const struct conf_enum *values;
};

/* The table of parts, in the order in which -T shows them. */
struct conf_parts {
	const struct conf_part *v;
	size_t n;
};

/* Parses and formats a value, for the table of types of a keyword. */
int conf_parts_parse(const struct conf_row *row, const struct conf_parts *parts,
    void *field, const struct strlist *words,
    const struct conf_location *at) must_check;
int conf_parts_format(const struct conf_parts *parts, const void *field,
    struct strlist *words) must_check;

#endif
