/* SPDX-License-Identifier: ISC */
/*
 * The other program of a copy from host to host: `hpnscp --direct-end`, which
 * this one starts by hpnssh on the host that is to connect to the other one,
 * and talks to through pipes (direct-wire.h). Nothing it says is trusted.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COPY_DIRECT_PROGRAM_H
#define HPN_CLIENT_COPY_DIRECT_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/loop.h"
#include "base/str.h"
#include "base/wire.h"
#include "client/copy/direct-wire.h"
#include "xfer/target.h"

/* Begin with loop, take and arg set, in and out -1, and the rest zero. */
struct direct_program {
	struct loop *loop;
	/* Takes each message behind the hello, once `listens` is set. */
	void (*take)(void *arg, struct span message);
	void *arg;
	bool listens;
	pid_t child;	 /* hpnssh; 0: none */
	int in, out;	 /* pipes from and to the child; -1: closed */
	struct loop_fd *watch;
	struct buf got;	 /* bytes of the program's hello that have come */
	struct buf told; /* bytes behind the hello that are not read yet */
	bool deaf;	 /* what it tells makes no sense, and is passed over */
	struct span key; /* the program's public key, in got, which is not
			  * changed once key is set */
	bool ended;	 /* no more bytes come from the program */
};

/* Starts it on the host of `at`; options are hpnssh's, port is that of a host
 * that has none itself (0: none). Ends this program if hpnssh cannot be
 * started. */
void direct_program_start(struct direct_program *p,
    const struct strlist *options, const struct xfer_target *at, int port);
/* True once the whole hello has come. p->key is then set, and is empty if the
 * bytes are no hello, for instance a text that the shell there printed. */
bool direct_program_hello(struct direct_program *p);
/* Sends a job, from now on messages are taken. 0, or ERR_*. */
int direct_program_send(struct direct_program *p,
    const struct direct_job *job) must_check;
/* Closes the pipes to the program, waits for it, and returns its exit
 * status. */
int direct_program_end(struct direct_program *p);
/* Ends it if it still runs, and frees what p has. */
void direct_program_clear(struct direct_program *p);

#endif
