/* SPDX-License-Identifier: ISC */
/*
 * The rules of --chmod, which change permissions of the source before anything
 * is compared with them: items between commas, each an octal number or of the
 * form of chmod(1), for all, or after "D" for directories only, after "F" for
 * all else only. "X" asks for the permissions that the source had before the
 * first item.
 *
 * Threads: any, once the rules were read.
 */
#ifndef HPN_XFER_RULES_SYNC_CHMOD_H
#define HPN_XFER_RULES_SYNC_CHMOD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct sync_chmod;

enum { SYNC_CHMOD_ITEMS_MAX = 256 };

/* mask: the umask, for items that do not say whose permissions they are
 * about. */
struct sync_chmod *sync_chmod_new(uint32_t mask) must_check;
/* Adds the items of text behind those that are there. 0; ERR_SYNTAX, ERR_LIMIT,
 * ERR_NOMEM: the rules are as before, and *why (a literal) says what is wrong
 * with the text. */
int sync_chmod_add(struct sync_chmod *rules, const char *text,
    const char **why) must_check;
void sync_chmod_free(struct sync_chmod *rules); /* NULL: nothing */
/* Permissions (07777) that a file with these permissions shall have. rules may
 * be NULL. */
uint32_t sync_chmod_apply(const struct sync_chmod *rules, uint32_t mode,
    bool is_dir);

#endif
