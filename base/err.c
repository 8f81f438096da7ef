/* SPDX-License-Identifier: ISC */
#include "base/err.h"

#include <errno.h>
#include <string.h>

#define ERR_TEXT(name, text) text,
static const char *const texts[] = { ERR_LIST(ERR_TEXT) };
#undef ERR_TEXT

const char *
err_text(int code)
{
	if (code >= 0)
		return "success";
	if (code == ERR_SYSTEM && errno != 0)
		return strerror(errno);
	if (-1 - code >= ERR_ORD_COUNT)
		return "unknown error";
	return texts[-1 - code];
}
