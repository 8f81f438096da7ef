/* SPDX-License-Identifier: ISC */
#include "xfer/target-plan.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "xfer/plan-row.h"

/* The first row that fits decides; docs/TRANSFERS.md has the same list. */
static const struct plan_row rows[] = {
	{ TARGET_IS_SOURCE, 0, TARGET_KEEP },
	{ TARGET_THERE | TARGET_READ_ONLY, 0, TARGET_REFUSE },
	{ TARGET_NO_PART, 0, TARGET_IN_PLACE },
	{ 0, TARGET_THERE, TARGET_RENAME },
	{ 0, TARGET_REGULAR, TARGET_IN_PLACE },
	{ TARGET_NAMES, 0, TARGET_IN_PLACE },
	{ TARGET_OTHER_OWNER, 0, TARGET_IN_PLACE },
	{ 0, 0, TARGET_RENAME },
};

enum target_plan
target_plan(unsigned facts)
{
	return (enum target_plan)plan_by(rows, facts);
}

/* faccessat(2) respects access control lists, and changes nothing: neither
 * times nor what watches the file. */
bool
target_is_read_only(int at, const char *path, mode_t mode)
{
	return target_asks_writable(mode) &&
	    faccessat(at, path, W_OK, AT_EACCESS) != 0 &&
	    (errno == EACCES || errno == EPERM || errno == EROFS);
}
