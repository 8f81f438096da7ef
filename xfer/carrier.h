/* SPDX-License-Identifier: ISC */
/*
 * What carries an SFTP session's bytes. The engine does not know: it is
 * handed a table of functions. Here is the one over descriptors, and the
 * start of a program (an ssh client, an sftp-server) at their other end;
 * a channel inside of this process can be another.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_CARRIER_H
#define HPN_XFER_CARRIER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum { XFER_READ = 1, XFER_WRITE = 2 };

struct xfer_carrier_ops {
	/* Bytes > 0, 0 at the end, ERR_AGAIN, ERR_SYSTEM. */
	ssize_t (*read)(void *arg, uint8_t *p, size_t max);
	/* Bytes taken (may be fewer), ERR_AGAIN, ERR_SYSTEM, ERR_CLOSED. */
	ssize_t (*write)(void *arg, const uint8_t *p, size_t len);
	/* Waits at most timeout_ms (-1: no limit) until one of events
	 * (XFER_*) is possible; gives those that are, 0 after the time. */
	int (*wait)(void *arg, int events, int timeout_ms);
	/* No more will be written; the peer sees the end. */
	void (*end)(void *arg);
};

/* Copied by value; arg is borrowed. */
struct xfer_carrier {
	const struct xfer_carrier_ops *ops;
	void *arg;
};

/* A pair of descriptors, or one socket as both; and perhaps a child. */
struct xfer_pipe {
	int fd_in, fd_out; /* -1: none */
	pid_t pid;	   /* 0: none */
};

/* Makes the descriptors, which p owns now, non-blocking. */
int xfer_pipe_open(struct xfer_pipe *p, int fd_in, int fd_out) must_check;
/* Starts argv[0] (searched in PATH if without '/') with its standard input
 * and output at the other end; its standard error is ours. */
int xfer_pipe_spawn(struct xfer_pipe *p, char *const argv[]) must_check;
struct xfer_carrier xfer_pipe_carrier(struct xfer_pipe *p);
/* Closes, and waits for the child; its exit status, 128 + signal, or 0. */
int xfer_pipe_close(struct xfer_pipe *p);

#endif
