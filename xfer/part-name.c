/* SPDX-License-Identifier: ISC */
#include "xfer/part-name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "crypto/digest.h"
#include "crypto/rand.h"

enum {
	NAME_BYTES_MAX = 255,
	DIGEST_BYTES = 8,
	DIGITS = 2 * DIGEST_BYTES,
	SUFFIX_MAX = 16,
};
#define PART ".hpnpart"
#define LINK ".hpnlink"

/* Writes the beginning of text's digest to out, in hexadecimal digits. False if
 * no digest could be made. */
static bool
digits_of(const char *text, size_t len, char out[DIGITS + 1])
{
	uint8_t digest[DIGEST_MAX_LEN];

	if (digest_once(DIGEST_SHA256, text, len, digest) < 0)
		return false;
	for (int i = 0; i < DIGEST_BYTES; i++)
		snprintf(out + 2 * i, 3, "%02x", digest[i]);
	return true;
}

static char *
beside(const char *target, const char *suffix)
{
	const char *name = path_last(target);
	int dir_len = (int)(name - target), len = (int)strlen(name);
	int most = NAME_BYTES_MAX - 1 - (int)strlen(suffix);
	char hex[1 + DIGITS + 1] = "", *path;

	if (len > most) {
		if (!digits_of(name, (size_t)len, hex + 1))
			return NULL;
		hex[0] = '~';
		len = most - (int)strlen(hex);
	}
	if (asprintf(&path, "%.*s.%.*s%s%s", dir_len, target, len, name, hex,
	    suffix) < 0)
		return NULL;
	return path;
}

/* A name beside target, with a random number in it, that ends with `end`. */
static char *
beside_random(const char *target, const char *end)
{
	char suffix[SUFFIX_MAX + 2 * (int)sizeof(uint64_t)];
	uint64_t number;

	rand_bytes(&number, sizeof number);
	snprintf(suffix, sizeof suffix, ".%016jx%s", (uintmax_t)number, end);
	return beside(target, suffix);
}

char *
xfer_part_name(const char *target, unsigned number)
{
	char suffix[SUFFIX_MAX] = PART;

	if (number > XFER_PARTS_MAX)
		return beside_random(target, PART);
	if (number > 1)
		snprintf(suffix, sizeof suffix, PART "%u", number);
	return beside(target, suffix);
}

char *
xfer_temp_name(const char *dir, const char *target, unsigned number)
{
	char digits[DIGITS + 1], suffix[1 + DIGITS + SUFFIX_MAX], more[2] = "";
	char *at, *name;

	if (!digits_of(target, strlen(target), digits) ||
	    asprintf(&at, "%s/%s", dir, path_last(target)) < 0)
		return NULL;
	if (number > 1 && number <= XFER_PARTS_MAX)
		more[0] = (char)('0' + number);
	snprintf(suffix, sizeof suffix, ".%s" PART "%s", digits, more);
	name = number > XFER_PARTS_MAX ? beside_random(at, PART) :
					 beside(at, suffix);
	free(at);
	return name;
}

char *
xfer_probe_name(const char *target)
{
	return beside_random(target, PART);
}

bool
xfer_is_part(const char *path)
{
	const char *name = path_last(path);
	size_t len = strlen(name), suffix = strlen(PART);

	if (len > 0 && name[len - 1] >= '2' && name[len - 1] <= '9')
		len--;
	return name[0] == '.' && len > 1 + suffix &&
	    memcmp(name + len - suffix, PART, suffix) == 0;
}

static char *
own_name(const char *target, unsigned number, const char *end)
{
	char digits[DIGITS + 1], suffix[1 + DIGITS + SUFFIX_MAX], *text;
	int len;

	if (number > XFER_PARTS_MAX)
		return beside_random(target, end);
	len = asprintf(&text, "%u %s", number, path_last(target));
	if (len < 0)
		return NULL;
	if (!digits_of(text, (size_t)len, digits)) {
		free(text);
		return NULL;
	}
	free(text);
	snprintf(suffix, sizeof suffix, ".%s%s", digits, end);
	return beside(target, suffix);
}

char *
xfer_link_name(const char *target, unsigned number)
{
	return own_name(target, number, LINK);
}

char *
xfer_put_name(const char *target, unsigned number)
{
	return own_name(target, number, PART);
}

bool
xfer_is_own_name(const char *path)
{
	const char *name = path_last(path);
	size_t len = strlen(name), end = strlen(PART);

	if (name[0] != '.' || len < 1 + 1 + DIGITS + end)
		return false;
	len -= end;
	return (strcmp(name + len, PART) == 0 ||
		   strcmp(name + len, LINK) == 0) &&
	    name[len - DIGITS - 1] == '.' &&
	    strspn(name + len - DIGITS, "0123456789abcdef") >= DIGITS;
}
