/* SPDX-License-Identifier: ISC */
/*
 * The part of libc.h that needs the library of crypt(), which few programs are
 * linked with.
 */
#include "compat/libc.h"

#include "config.h"

#include <stddef.h>
#ifdef HAVE_CRYPT_GENSALT
#include <crypt.h>
#endif

const char *
libc_password_setting(void)
{
#ifdef HAVE_CRYPT_GENSALT
	return crypt_gensalt(NULL, 0, NULL, 0);
#else
	return NULL;
#endif
}
