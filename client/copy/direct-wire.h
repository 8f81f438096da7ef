/* SPDX-License-Identifier: ISC */
/*
 * What the two programs of a copy from host to host (hpnscp --direct) say to
 * each other: the one that the user has started, and the one on the source's
 * host, which it starts there and which connects to the target's host. Over
 * that one's standard input and output, each message framed by fd_send_msg():
 *
 *	hello, of the source's end: u8 version, string public key
 *	job, of the other one: struct direct_job
 *
 * The end of its standard input means that nobody wants the copy any more; its
 * exit status tells how it went. docs/PROTOCOL.md has the grant in between.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_COPY_DIRECT_WIRE_H
#define HPN_CLIENT_COPY_DIRECT_WIRE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/wire.h"
#include "client/auth/login-tickets.h"

enum {
	DIRECT_VERSION = 1,
	DIRECT_MESSAGE_MAX = 1024 * 1024, /* bytes */
	DIRECT_SOURCES_MAX = 10000,
};

/* Options of the copy, as bits. */
enum direct_flag {
	DIRECT_RECURSIVE = 1,
	DIRECT_PRESERVE = 2,
	DIRECT_VERBOSE = 4,
	DIRECT_FSYNC = 8,
	DIRECT_SPARSE = 16,
	DIRECT_LINKS = 32,
	DIRECT_HARD_LINKS = 64,
	DIRECT_NO_SPACE_CHECK = 128,
	DIRECT_FLAGS = 255,
};

/* Zeroed: empty. Clear with direct_job_clear(). */
struct direct_job {
	uint8_t grant[LOGIN_TICKET_NAME_LEN]; /* name of the grant */
	char *host, *user; /* where it is good, and for whom; owned */
	uint16_t port;
	struct buf hostkey; /* public blob, the only one that is taken */
	uint32_t flags;
	uint64_t rate_bytes; /* a second; 0: no limit */
	struct strlist sources; /* paths or patterns */
};

void direct_job_put(struct buf *b, const struct direct_job *j);
/* ERR_FORMAT, ERR_LIMIT, ERR_UNSUPPORTED: of another version. The caller clears
 * j also after an error. */
int direct_job_get(struct rd *r, struct direct_job *j) must_check;
void direct_job_clear(struct direct_job *j);

#endif
