/* SPDX-License-Identifier: ISC */
#include "keys/timestamp.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int
number(const char **s, size_t digits)
{
	int n = 0;

	for (; digits > 0; digits--)
		n = 10 * n + (*(*s)++ - '0');
	return n;
}

/* False if mktime() had to change a field, because there is no such day or
 * time. An hour that is left out in spring is allowed, although mktime() moves
 * it by an hour. */
static bool
is_in_calendar(const struct tm *asked, const struct tm *got)
{
	return asked->tm_year == got->tm_year &&
	    asked->tm_mon == got->tm_mon && asked->tm_mday == got->tm_mday &&
	    asked->tm_min == got->tm_min;
}

int
timestamp_parse(const char *text, uint64_t *out)
{
	size_t digits = strspn(text, "0123456789");
	const char *zone = text + digits;
	struct tm tm = { .tm_isdst = -1 }, asked;
	bool utc = strcmp(zone, "Z") == 0 || strcmp(zone, "UTC") == 0;
	time_t t;

	if ((digits != 8 && digits != 12 && digits != 14) ||
	    (*zone != '\0' && !utc))
		return ERR_SYNTAX;
	tm.tm_year = number(&text, 4) - 1900;
	tm.tm_mon = number(&text, 2) - 1;
	tm.tm_mday = number(&text, 2);
	if (digits > 8) {
		tm.tm_hour = number(&text, 2);
		tm.tm_min = number(&text, 2);
	}
	if (digits > 12)
		tm.tm_sec = number(&text, 2);
	asked = tm;
	t = utc ? timegm(&tm) : mktime(&tm);
	if (t < 0 || !is_in_calendar(&asked, &tm))
		return ERR_SYNTAX;
	*out = (uint64_t)t;
	return 0;
}

char *
timestamp_format(uint64_t seconds)
{
	char text[64], *out = NULL;
	time_t t = (time_t)seconds;
	struct tm tm;

	if (t >= 0 && (uint64_t)t == seconds && localtime_r(&t, &tm) != NULL &&
	    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm) > 0)
		return strdup(text);
	if (asprintf(&out, "%llu", (unsigned long long)seconds) == -1)
		return NULL;
	return out;
}
