/* SPDX-License-Identifier: ISC */
#include "conf/rates.h"

#include <string.h>

#include "base/mem.h"

/* LEAST_BYTES: the lowest rate. With less, the messages of a login would take
 * minutes. */
enum { LEAST_BYTES = 1000, DIGITS_MAX = 9 };

static const struct unit {
	const char *name;
	uint64_t bits;
} units[] = {
	{ "kbit", UINT64_C(1000) },
	{ "Mbit", UINT64_C(1000000) },
	{ "Gbit", UINT64_C(1000000000) },
	{ "kB", UINT64_C(8000) },
	{ "MB", UINT64_C(8000000) },
	{ "GB", UINT64_C(8000000000) },
};

int
rate_read(const char *value, uint64_t *bytes)
{
	size_t digits;
	uint64_t n = 0;

	*bytes = RATE_NONE;
	if (value == NULL)
		return 0;
	digits = strspn(value, "0123456789");
	if (digits == 0 || digits > DIGITS_MAX)
		return ERR_FORMAT;
	for (size_t i = 0; i < digits; i++)
		n = n * 10 + (uint64_t)(value[i] - '0');
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (str_equal_nocase(value + digits, units[i].name)) {
			*bytes = n * units[i].bits / 8;
			return *bytes >= LEAST_BYTES ? 0 : ERR_FORMAT;
		}
	return ERR_FORMAT;
}

const char *
rate_check(const char *value)
{
	uint64_t bytes;

	return rate_read(value, &bytes) == 0 ?
	    NULL : "is no rate, such as 500Mbit or 60MB, of at least 1kB";
}

int
rate_read_group(const char *item, size_t *name_len, uint64_t *bytes)
{
	const char *equals = strrchr(item, '=');

	if (equals == NULL || equals == item)
		return ERR_FORMAT;
	*name_len = (size_t)(equals - item);
	return rate_read(equals + 1, bytes);
}

const char *
rate_check_group(const char *item)
{
	uint64_t bytes;
	size_t len;

	return rate_read_group(item, &len, &bytes) == 0 ?
	    NULL : "is no GROUP=RATE, such as students=2Gbit";
}

static bool
is_of(const char *item, const struct strlist *groups)
{
	uint64_t bytes;
	size_t len;

	if (rate_read_group(item, &len, &bytes) != 0)
		return false;
	for (size_t i = 0; i < groups->n; i++)
		if (strlen(groups->v[i]) == len &&
		    memcmp(groups->v[i], item, len) == 0)
			return true;
	return false;
}

int
rate_of_groups(const struct strlist *items, const struct strlist *groups)
{
	for (size_t i = 0; i < items->n; i++)
		if (is_of(items->v[i], groups))
			return (int)i;
	return -1;
}
