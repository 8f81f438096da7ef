/* SPDX-License-Identifier: ISC */
/*
 * "internal-sftp": the SFTP engine in the session process, fed with what
 * arrives on its channel and read straight into the packets that leave. So
 * no program has to exist in a user's restricted root directory, and nothing
 * is copied through pipes. With flags that concern a whole process (-d, -u,
 * and those of the log) it runs in a child.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_INTERNAL_SFTP_H
#define HPN_SERVER_SESSION_INTERNAL_SFTP_H

#include <stdbool.h>

#include "base/loop.h"
#include "channels.h"
#include "server/user.h"

struct internal_sftp;
struct owners;

/* In a child, over descriptors 0 and 1. client: its address, for the log.
 * Returns the exit status. */
int internal_sftp_run(const char *command, const struct user *user,
    const char *client, struct owners *owners);

/* Here. All is borrowed. NULL: it has to be a child. */
struct internal_sftp *internal_sftp_start(const char *command,
    const struct user *user, struct owners *owners, struct loop *l,
    struct channel *c);
/* The channel's source is at its end: the exit status. */
int internal_sftp_status(const struct internal_sftp *is);
/* The peer wants no more of it; what it still sends is dropped. */
void internal_sftp_stop(struct internal_sftp *is);
void internal_sftp_free(struct internal_sftp *is);

#endif
