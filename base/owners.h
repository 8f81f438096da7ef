/* SPDX-License-Identifier: ISC */
/*
 * Names of users and groups, as listings show them, and homes: asked in a
 * process of its own (base/lookup.h), and remembered. The answer is waited
 * for, but not long: until a process that hangs has answered, nothing has a
 * name.
 *
 * Below a root directory of their own, users shall not learn who else has an
 * account: that process then names only owners of files that it was shown.
 *
 * Threads: one at a time.
 */
#ifndef HPN_BASE_OWNERS_H
#define HPN_BASE_OWNERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct owners;

enum {
	OWNERS_NAME_MAX = 40, /* bytes with the NUL; longer ones are cut */
	OWNERS_HOME_MAX = 1024,
};

enum owners_kind { OWNERS_USER = 1, OWNERS_GROUP };

/* The process starts with the first question. NULL: out of memory. */
struct owners *owners_new(void);
void owners_free(struct owners *o);
/* Starts the process now. Returns our end of its socket, which the caller
 * leaves alone, or -1. */
int owners_start(struct owners *o);
/* The descriptor of owners_start() has the number fd now. */
void owners_moved(struct owners *o, int fd);

/* Is the name of id remembered, so that no file need be shown? */
bool owners_knows(const struct owners *o, enum owners_kind kind, uint32_t id);
/* The name of the user or group id. file: a descriptor (O_PATH will do) of a
 * file that has this owner; or -1. False: id has no name, or it may not be
 * told, or the answer did not come in time. */
bool owners_name(struct owners *o, enum owners_kind kind, uint32_t id,
    int file, char name[OWNERS_NAME_MAX]);
/* The home directory of a user, where those may be asked for. */
bool owners_home(struct owners *o, const char *user,
    char home[OWNERS_HOME_MAX]);

/* What the process runs: answers at sock until the other end is gone. */
void owners_serve(int sock, bool shown_only);

#endif
