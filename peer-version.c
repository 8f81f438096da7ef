/* SPDX-License-Identifier: ISC */
#include "peer-version.h"

#include <stddef.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/version.h"

enum {
	NUMBERS = 2, /* that a pattern may have */
	NUMBER_MAX = 9999,
	PATTERN_SIZE = 28,
};

struct row {
	/* Fits the beginning of a line: * is any text, # a decimal number. */
	char pattern[PATTERN_SIZE];
	/* The first and the last version, as the numbers of the pattern, that
	 * the row is about. All zero: the pattern has no number. */
	uint8_t from[NUMBERS], to[NUMBERS];
	uint32_t traits;
	bool alone; /* for lines that fit, the rows below do not count */
};

/* The traits of a line are those of all rows that fit it. */
static const struct row rows[] = {
	/* This project, client or server. Its line has OpenSSH's name too, but
	 * the rows about OpenSSH are not true of it. */
	{ .pattern = "SSH-2.0-OpenSSH*" HPN_TRUE_NAME,
	    .traits = PEER_TAKES_AHEAD | PEER_ANSWERS_IN_ORDER |
		PEER_KNOWS_EOW | PEER_TAKES_WIDE_WINDOWS | PEER_FORGIVES |
		PEER_TELLS_METRICS | PEER_WIDENS_WINDOWS,
	    .alone = true },
	/* OpenSSH, in all versions that are in use. */
	{ .pattern = "SSH-2.0-OpenSSH",
	    .traits = PEER_TAKES_AHEAD | PEER_ANSWERS_IN_ORDER |
		PEER_KNOWS_EOW | PEER_REFUSES_GSS_HOSTKEY },
	/* OpenSSH up to the last version that was looked at: later ones may
	 * behave in another way. */
	{ .pattern = "SSH-2.0-OpenSSH_#.#",
	    .from = { 8, 0 },
	    .to = { 10, 5 },
	    .traits = PEER_WAITS_FOR_ANSWERS },
	/* From version 16 on HPN-SSH's programs have names of their own. */
	{ .pattern = "SSH-2.0-OpenSSH*hpn#",
	    .from = { 16 },
	    .to = { 18 },
	    .traits = PEER_SCP_IS_HPNSCP },
	/* HPN-SSH, whatever its line has in front of that name. */
	{ .pattern = "*_hpn",
	    .traits = PEER_TELLS_METRICS | PEER_WIDENS_WINDOWS },
	{ .pattern = "SSH-2.0-Cisco-1.", .traits = PEER_FAILS_ON_HOSTKEYS },
	/* Tera Term */
	{ .pattern = "SSH-2.0-TTSSH/", .traits = PEER_FAILS_ON_HOSTKEYS },
};

/* The line fits the pattern; v gets the line's numbers, from v[n] on. Quick, as
 * a line has at most 255 bytes and a pattern one star. */
static bool
fits(const char *s, const char *pattern, unsigned *v, size_t n)
{
	for (; *pattern != '\0'; pattern++) {
		if (*pattern == '*') {
			for (; *s != '\0'; s++)
				if (fits(s, pattern + 1, v, n))
					return true;
			return false;
		}
		if (*pattern == '#') {
			if (*s < '0' || *s > '9')
				return false;
			for (v[n] = 0; *s >= '0' && *s <= '9'; s++)
				v[n] = MIN(v[n] * 10 + (unsigned)(*s - '0'),
				    (unsigned)NUMBER_MAX);
			n++;
		} else if (*s++ != *pattern) {
			return false;
		}
	}
	return true;
}

/* Is version v before (< 0), equal to, or after (> 0) the version of a row? */
static int
compare(const unsigned *v, const uint8_t *version)
{
	return v[0] != version[0] ? (int)v[0] - version[0] :
				    (int)v[1] - version[1];
}

uint32_t
peer_version_traits(const char *line)
{
	uint32_t traits = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		unsigned v[NUMBERS] = { 0 };

		if (!fits(line, rows[i].pattern, v, 0) ||
		    compare(v, rows[i].from) < 0 || compare(v, rows[i].to) > 0)
			continue;
		traits |= rows[i].traits;
		if (rows[i].alone)
			break;
	}
	return traits;
}

bool
peer_version_is_2(const char *line)
{
	return str_has_prefix(line, "SSH-2.0-") ||
	    str_has_prefix(line, "SSH-1.99-");
}

bool
peer_version_is_other(const char *line, unsigned *major)
{
	unsigned v[NUMBERS] = { 0 };

	if (peer_version_is_2(line) || !fits(line, "SSH-#.#-", v, 0) ||
	    v[0] == 2)
		return false;
	*major = v[0];
	return true;
}
