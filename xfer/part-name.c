/* SPDX-License-Identifier: ISC */
#include "xfer/part-name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crypto/digest.h"

enum { NAME_BYTES_MAX = 255, DIGEST_BYTES = 8 };
#define SUFFIX ".hpnpart"

char *
xfer_part_name(const char *target)
{
	const char *slash = strrchr(target, '/');
	const char *name = slash != NULL ? slash + 1 : target;
	int dir_len = (int)(name - target), len = (int)strlen(name);
	int most = NAME_BYTES_MAX - 1 - (int)strlen(SUFFIX);
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
	if (asprintf(&path, "%.*s.%.*s%s" SUFFIX, dir_len, target, len, name,
	    hex) < 0)
		return NULL;
	return path;
}
