/* SPDX-License-Identifier: ISC */
/*
 * "internal-sftp": the SFTP server in the session process. It gets the bytes of
 * its channel, and its replies are written directly into packets. So no program
 * has to exist below a ChrootDirectory, and no pipe copies bytes. With flags
 * that concern a whole process (-d, -u, and those of the log) it runs in a
 * child process.
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
struct serve_params;
struct session_events;

/* Runs the SFTP server in a child process, over descriptors 0 and 1. client:
 * address of the client, for the log. Returns the exit status. */
int internal_sftp_run(const char *command, const struct user *user,
    const char *client, struct owners *owners);

/* Starts the SFTP server in this process, over the channel c. All arguments are
 * borrowed; events: log of transferred files, or NULL. The server keeps to the
 * scope of the grant that let the client in, if one did. NULL: the flags of the
 * command need a child process, or that scope cannot be used. */
struct internal_sftp *internal_sftp_start(const char *command,
    const struct serve_params *params, struct owners *owners,
    struct loop *l, struct channel *c, struct session_events *events);
/* The exit status. To be called after the channel's source has ended. */
int internal_sftp_status(const struct internal_sftp *is);
/* Stops the server, because the peer has closed the channel. What the peer
 * still sends is ignored. */
void internal_sftp_stop(struct internal_sftp *is);
void internal_sftp_free(struct internal_sftp *is);

#endif
