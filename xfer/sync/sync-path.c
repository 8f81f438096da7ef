/* SPDX-License-Identifier: ISC */
#include "xfer/sync/sync-path.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

char *
sync_path_below(const char *top, const char *path)
{
	char *joined;

	if (*path == '\0')
		return xstrdup(top);
	if (*top == '\0')
		return xstrdup(path);
	joined = str_join_path(top, path);
	if (joined == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	return joined;
}
