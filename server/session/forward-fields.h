/* SPDX-License-Identifier: ISC */
/*
 * Fields of requests for forwarding: names and paths as clients send them,
 * and what a client is told of a refusal.
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
	FORWARD_PATH_MAX = 107,	 /* what a struct sockaddr_un takes */
};

/* The next string, as a copy that the caller frees. NULL: it holds a NUL, or
 * is longer than max bytes, so that the request is to be refused; or there is
 * none, as rd_err() tells. */
char *forward_read_text(struct rd *r, size_t max);
/* A DEBUG message, which clients show with -v. */
void forward_tell(struct packet *p, const char *text);

#endif
