/* SPDX-License-Identifier: ISC */
/*
 * Names of users and groups, as listings show them, and home directories. A
 * process of its own asks the system for them (base/lookup.h), and the answers
 * are remembered. An answer is waited for, but not long: if the process hangs,
 * nothing has a name until it answers again.
 *
 * Users with a root directory of their own shall not learn who else has an
 * account. The process then names only owners of files that it was shown.
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
	OWNERS_NAME_MAX = 256, /* bytes with the NUL; a longer name counts as
			        * unknown */
	OWNERS_HOME_MAX = 1024,
	OWNERS_ASKED_MAX = 255, /* bytes of a name whose id is asked for */
};

enum owners_kind { OWNERS_USER = 1, OWNERS_GROUP };

/* Makes the memory for names; the process starts with the first question. NULL:
 * out of memory. */
struct owners *owners_new(void);
void owners_free(struct owners *o);
/* Starts the process now. Returns our end of its socket, which the caller
 * leaves alone, or -1. */
int owners_start(struct owners *o);
/* The descriptor of owners_start() has the number fd now. */
void owners_moved(struct owners *o, int fd);

/* Is the name of id remembered, so that owners_name() needs no file? */
bool owners_knows(const struct owners *o, enum owners_kind kind, uint32_t id);
/* The name of the user or group id. file: a descriptor (O_PATH will do) of a
 * file that has this owner; or -1. False: id has no name, or it may not be
 * told, or the answer did not come in time. */
bool owners_name(struct owners *o, enum owners_kind kind, uint32_t id,
    int file, char name[OWNERS_NAME_MAX]);
/* The home directory of a user. False: it is not known, or may not be told. */
bool owners_home(struct owners *o, const char *user,
    char home[OWNERS_HOME_MAX]);
/* True if the text can be the name of a user or group: it has no control
 * characters and no colon. */
bool owners_may_name(const void *name, size_t len);
/* The id of a user or group by name. False: it is unknown, or may not be
 * told. */
bool owners_id(struct owners *o, enum owners_kind kind, const char *name,
    uint32_t *id);

/* The main function of the process: answers at sock until the other end is
 * closed. shown_only: it names only owners of files that it was shown. */
void owners_serve(int sock, bool shown_only);

#endif
