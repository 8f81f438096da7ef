/* SPDX-License-Identifier: ISC */
#include "conf/server-penalties.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "conf/conf-internal.h"

enum { MICRO = 1000 * 1000 };

#define PARTS struct server_penalties

/* The parts of PerSourcePenalties by name, in the order in which -T shows
 * them. */
static const struct part {
	const char *name;
	enum { PART_TIME, PART_COUNT, PART_OVERFLOW } kind;
	size_t offset;
	int64_t def; /* seconds, or a count; 0 for overflow */
} parts[] = {
	{ "crash", PART_TIME, offsetof(PARTS, cost_us[PENALTY_CRASH]), 90 },
	{ "authfail", PART_TIME, offsetof(PARTS, cost_us[PENALTY_AUTHFAIL]),
	    5 },
	{ "noauth", PART_TIME, offsetof(PARTS, cost_us[PENALTY_NOAUTH]), 1 },
	{ "invaliduser", PART_TIME,
	    offsetof(PARTS, cost_us[PENALTY_INVALID_USER]), 5 },
	{ "grace-exceeded", PART_TIME,
	    offsetof(PARTS, cost_us[PENALTY_GRACE]), 10 },
	{ "refuseconnection", PART_TIME,
	    offsetof(PARTS, cost_us[PENALTY_REFUSED]), 10 },
	{ "max", PART_TIME, offsetof(PARTS, max_us), 600 },
	{ "min", PART_TIME, offsetof(PARTS, min_us), 15 },
	{ "max-sources4", PART_COUNT,
	    offsetof(PARTS, max_sources[PENALTY_IPV4]), 65536 },
	{ "max-sources6", PART_COUNT,
	    offsetof(PARTS, max_sources[PENALTY_IPV6]), 65536 },
	{ "overflow", PART_OVERFLOW, offsetof(PARTS, deny_all[PENALTY_IPV4]),
	    0 },
	{ "overflow6", PART_OVERFLOW, offsetof(PARTS, deny_all[PENALTY_IPV6]),
	    0 },
};

/* Bits of `given`: one for each part, by index, and one for "yes" or "no". */
#define GIVEN(index) (UINT32_C(1) << (index))
#define GIVEN_SWITCH GIVEN(ARRAY_LEN(parts))

static const struct conf_enum overflow_values[] = {
	{ "permissive", 0 },
	{ "deny-all", 1 },
	{ NULL, 0 },
};

_Static_assert(sizeof(struct server_penalties) <= CONF_FIELD_MAX,
    "a field of this size can not be checked without being kept");

/* ---- one value ---------------------------------------------------------- */

static int64_t
unit_seconds(char c)
{
	static const char units[] = "smhdw";
	static const int64_t seconds[] = { 1, 60, 3600, 86400, 604800 };
	const char *at = strchr(units, c >= 'A' && c <= 'Z' ? c + 32 : c);

	return c != '\0' && at != NULL ? seconds[at - units] : 0;
}

/* Reads digits, perhaps with a fraction, as millionths; at most INT_MAX whole.
 * Digits behind the sixth of a fraction are ignored. */
static bool
read_decimal(const char **s, int64_t *micro)
{
	const char *p = *s;
	int64_t whole = 0, fraction = 0, place = MICRO / 10;
	size_t digits = 0;

	for (; *p >= '0' && *p <= '9'; p++, digits++)
		if ((whole = whole * 10 + (*p - '0')) > INT_MAX)
			return false;
	if (*p == '.')
		for (p++; *p >= '0' && *p <= '9'; p++, digits++) {
			fraction += (*p - '0') * place;
			place /= 10;
		}
	*s = p;
	*micro = whole * MICRO + fraction;
	return digits > 0;
}

/* Reads a time such as "90", "1m30s" or "0.5s". */
static bool
parse_duration(const char *s, int64_t *micro)
{
	const int64_t limit = (int64_t)INT_MAX * MICRO;
	int64_t total = 0, n, unit;

	do {
		if (!read_decimal(&s, &n))
			return false;
		unit = *s == '\0' ? 1 : unit_seconds(*s++);
		if (unit == 0 || n > (limit - total) / unit)
			return false;
		total += n * unit;
	} while (*s != '\0');
	*micro = total;
	return true;
}

static bool
set_part(struct server_penalties *p, const struct part *part,
    const char *text)
{
	char *field = (char *)p + part->offset;
	int64_t v;

	switch (part->kind) {
	case PART_TIME:
		return parse_duration(text, (int64_t *)(void *)field);
	case PART_COUNT:
		if (str_to_int(text, 1, INT_MAX, &v) < 0)
			return false;
		*(int *)(void *)field = (int)v;
		return true;
	case PART_OVERFLOW:
		for (const struct conf_enum *e = overflow_values;
		    e->name != NULL; e++)
			if (strcmp(e->name, text) == 0) {
				*(bool *)field = e->value != 0;
				return true;
			}
		return false;
	}
	return false;
}

static void
set_defaults(struct server_penalties *p)
{
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		char *field = (char *)p + parts[i].offset;

		if (parts[i].kind == PART_TIME)
			*(int64_t *)(void *)field = parts[i].def * MICRO;
		else if (parts[i].kind == PART_COUNT)
			*(int *)(void *)field = (int)parts[i].def;
	}
}

/* ---- the keyword -------------------------------------------------------- */

/* Sets the part that "name:value" names. If the part has a value already, the
 * new one is only checked. False: the word is malformed. */
static bool
parse_part(struct server_penalties *p, const char *word)
{
	struct server_penalties unused;
	size_t len = strcspn(word, ":");

	for (size_t i = 0; word[len] == ':' && i < ARRAY_LEN(parts); i++) {
		if (strlen(parts[i].name) != len ||
		    strncmp(parts[i].name, word, len) != 0)
			continue;
		if ((p->given & GIVEN(i)) != 0)
			return set_part(&unused, &parts[i], word + len + 1);
		p->given |= GIVEN(i);
		return set_part(p, &parts[i], word + len + 1);
	}
	return false;
}

static bool
is_yes(const char *word)
{
	return str_equal_nocase(word, "yes") || str_equal_nocase(word, "true");
}

static bool
is_no(const char *word)
{
	return str_equal_nocase(word, "no") || str_equal_nocase(word, "false");
}

static int
parse_penalties(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	struct server_penalties p = *(struct server_penalties *)field;
	bool on = true;

	if (p.given == 0)
		set_defaults(&p);
	for (size_t i = 0; i < words->n; i++) {
		if (is_yes(words->v[i]) || is_no(words->v[i])) {
			if (words->n > 1)
				return conf_error(at, "%s: nothing goes with "
				    "\"%s\"", row->name, words->v[i]);
			on = is_yes(words->v[i]);
		} else if (!parse_part(&p, words->v[i])) {
			return conf_error(at, "%s: bad value \"%s\"",
			    row->name, words->v[i]);
		}
	}
	if ((p.given & GIVEN_SWITCH) == 0)
		p.enabled = on;
	p.given |= GIVEN_SWITCH;
	if ((p.given & GIVEN(ARRAY_LEN(parts) - 1)) == 0)
		p.deny_all[PENALTY_IPV6] = p.deny_all[PENALTY_IPV4];
	*(struct server_penalties *)field = p;
	return 0;
}

static int
format_penalties(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	const struct server_penalties *p = field;
	int r = 0;

	(void)row;
	if (!p->enabled)
		return strlist_add(words, "no");
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(parts); i++) {
		const void *at = (const char *)p + parts[i].offset;
		int64_t us;
		char *text;

		if (parts[i].kind == PART_TIME) {
			us = *(const int64_t *)at;
			xasprintf(&text, "%s:%" PRId64 ".%06" PRId64,
			    parts[i].name, us / MICRO, us % MICRO);
		} else if (parts[i].kind == PART_COUNT) {
			xasprintf(&text, "%s:%d", parts[i].name,
			    *(const int *)at);
		} else {
			xasprintf(&text, "%s:%s", parts[i].name,
			    overflow_values[*(const bool *)at].name);
		}
		r = strlist_add(words, text);
		free(text);
	}
	return r;
}

const struct conf_type server_penalties_type = { parse_penalties,
	format_penalties, NULL, NULL, false };
