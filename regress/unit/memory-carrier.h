/* SPDX-License-Identifier: ISC */
/*
 * A carrier in memory between the client engine and our server engine: it cuts
 * what it carries into pieces of random sizes and can change the order of
 * replies. All of it fails the test that runs when it cannot do its work.
 */
#ifndef HPN_MEMORY_CARRIER_H
#define HPN_MEMORY_CARRIER_H

#include "regress/unit/help.h"
#include "regress/unit/dice.h"

#include "base/buf.h"
#include "xfer/serve/sftp-serve.h"
#include "xfer/sftp/sftp-engine.h"

struct memory {
	struct sftp_serve *server;
	struct buf wire; /* replies on their way */
	struct dice dice;
	bool shuffle;
	bool late; /* replies move when the server has no work left */
	uint32_t data_max; /* READs are answered with at most so much */
	struct sftp *client;
	struct memory *mate; /* moved in the same turn; NULL: none */
	bool woken;	     /* since the client had no output */
};

/* For cmocka: allows files enough for both ends, and enters a directory. */
int memory_setup(void **state);
/* Makes a server engine and a client engine, connected by *m. The
 * options, which may be NULL, are the server's. */
void memory_begin_at(struct memory *m, unsigned seed, bool shuffle,
    const struct sftp_serve_opts *opts);
void memory_begin(struct memory *m, unsigned seed, bool shuffle,
    uint32_t data_max);
void memory_end(struct memory *m);

#endif
