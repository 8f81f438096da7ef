/* SPDX-License-Identifier: ISC */
#include "xfer/part-name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crypto/digest.h"
#include "crypto/rand.h"

enum { NAME_BYTES_MAX = 255, DIGEST_BYTES = 8, SUFFIX_MAX = 16 };
#define PART ".hpnpart"

static char *
beside(const char *target, const char *suffix)
{
	const char *slash = strrchr(target, '/');
	const char *name = slash != NULL ? slash + 1 : target;
	int dir_len = (int)(name - target), len = (int)strlen(name);
	int most = NAME_BYTES_MAX - 1 - (int)strlen(suffix);
	uint8_t digest[DIGEST_MAX_LEN];
	char hex[2 * DIGEST_BYTES + 2] = "", *path;

	if (len > most) {
		if (digest_once(DIGEST_SHA256, name, (size_t)len, digest) < 0)
			return NULL;
		hex[0] = '~';
		for (int i = 0; i < DIGEST_BYTES; i++)
			snprintf(hex + 1 + 2 * i, 3, "%02x", digest[i]);
		len = most - (int)strlen(hex);
	}
	if (asprintf(&path, "%.*s.%.*s%s%s", dir_len, target, len, name, hex,
	    suffix) < 0)
		return NULL;
	return path;
}

/* A name with a random number in it, that ends so. */
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
xfer_probe_name(const char *target)
{
	return beside_random(target, PART);
}

bool
xfer_is_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	size_t len = strlen(name), suffix = strlen(PART);

	if (len > 0 && name[len - 1] >= '2' && name[len - 1] <= '9')
		len--;
	return name[0] == '.' && len > 1 + suffix &&
	    memcmp(name + len - suffix, PART, suffix) == 0;
}

char *
xfer_link_name(const char *target)
{
	return beside_random(target, ".hpnlink");
}
