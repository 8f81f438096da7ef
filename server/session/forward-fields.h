/* SPDX-License-Identifier: ISC */
/*
 * Reads fields of requests for forwarding (names and paths), and tells a client
 * why a request was refused.
 *
 * Threads: any.
 */
#ifndef HPN_SERVER_SESSION_FORWARD_FIELDS_H
#define HPN_SERVER_SESSION_FORWARD_FIELDS_H

#include <stddef.h>

#include "base/wire.h"
#include "packet.h"

enum {
	FORWARD_HOST_MAX = 1024, /* bytes of a name */
	FORWARD_PATH_MAX = 107,	 /* bytes of a path; struct sockaddr_un has room
				  * for these */
};

/* Reads the next string of r. Caller frees. NULL: the request must be refused
 * because the string has a NUL or is longer than max bytes; or, if rd_err() is
 * set, there is no string. */
char *forward_read_text(struct rd *r, size_t max);
/* Sends text in a DEBUG message, which clients show with -v. */
void forward_tell(struct packet *p, const char *text);

#endif
