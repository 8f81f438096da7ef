/* SPDX-License-Identifier: ISC */
/*
 * The names that hpnscp writes to: the name that a source gets inside of a
 * target directory, and which transfers must not run at the same time, because
 * the later one replaces what the earlier one makes.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_COPY_SCP_TARGETS_H
#define HPN_CLIENT_COPY_SCP_TARGETS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"

/* The name to write to: target, or if that is a directory, the last part of
 * source in it. Caller frees; NULL when out of memory. */
char *scp_target_name(const char *target, bool is_dir, const char *source);

/* The targets of transfers that run at the same time. Initialized with
 * zeros. */
struct scp_targets {
	void *tree; /* names without a directory's content, by tsearch(3) */
	struct strlist names;
	bool has_content; /* a directory's content is among the targets */
};

/* Whether a transfer to `to` might write to the same files as a transfer to one
 * of the targets in t. */
bool scp_targets_collide(const struct scp_targets *t, const char *to);
int scp_targets_add(struct scp_targets *t, const char *to) must_check;
void scp_targets_clear(struct scp_targets *t);

#endif
