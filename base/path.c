/* SPDX-License-Identifier: ISC */
#include "config.h"

#include "base/path.h"

char *
path_parent(const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	while (len > 0 && path[len - 1] != '/')
		len--;
	while (len > 1 && path[len - 1] == '/')
		len--;
	return len == 0 ? strdup(".") : strndup(path, len);
}
