/* SPDX-License-Identifier: ISC */
/*
 * The names that hpnscp writes to: what a source is called inside of a target
 * directory, and which transfers must not run at the same time, because the
 * later one replaces what the earlier one makes.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_COPY_SCP_TARGETS_H
#define HPN_CLIENT_COPY_SCP_TARGETS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

/* The target itself, or source's last part in it if it is a directory. Caller
 * frees; NULL when out of memory. */
char *scp_target_name(const char *target, bool is_dir, const char *source);

/* The targets of transfers that run at the same time. Starts as zeros. */
struct scp_targets {
	void *tree; /* of tsearch() */
	struct strlist names;
	bool has_content; /* the content of a directory is among them */
};

/* Whether a transfer to `to` might write to a file that a transfer in t writes
 * to. */
bool scp_targets_collide(const struct scp_targets *t, const char *to);
int scp_targets_add(struct scp_targets *t, const char *to) must_check;
void scp_targets_clear(struct scp_targets *t);

#endif
