/* SPDX-License-Identifier: ISC */
/*
 * The part of libc.h that needs the library of crypt(), which few programs are
 * linked with.
 */
#include "compat/libc.h"

#include "config.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HAVE_CRYPT_H
#include <crypt.h>
#endif

#include "compat/bsd-mem.h"

static bool
copy(const char *hash, char out[LIBC_HASH_MAX])
{
	size_t len = hash != NULL ? strlen(hash) : 0;

	out[0] = '\0';
	if (len == 0 || len >= LIBC_HASH_MAX)
		return false;
	memcpy(out, hash, len + 1);
	return true;
}

bool
libc_hash_password(const char *password, const char *setting,
    char out[LIBC_HASH_MAX])
{
#ifdef HAVE_CRYPT_R
	/* Tens of kilobytes, with the password among them. */
	struct crypt_data *data = calloc(1, sizeof *data);
	bool ok;

	out[0] = '\0';
	if (data == NULL)
		return false;
	ok = copy(crypt_r(password, setting, data), out);
	explicit_bzero(data, sizeof *data);
	free(data);
	return ok;
#else
	return copy(crypt(password, setting), out);
#endif
}

const char *
libc_password_setting(void)
{
#ifdef HAVE_CRYPT_GENSALT
	return crypt_gensalt(NULL, 0, NULL, 0);
#else
	return NULL;
#endif
}
