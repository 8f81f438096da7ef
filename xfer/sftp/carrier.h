/* SPDX-License-Identifier: ISC */
/*
 * What carries the bytes of an SFTP session. The engine sees only a driver: a
 * table of functions that move the bytes of all its sessions, and wait for
 * more. A driver takes the output of a session with sftp_take(), and gives it
 * the replies with sftp_feed() and sftp_feed_end().
 *
 * In programs the driver is the process's event loop; tests have other drivers.
 * This file has the carrier over two descriptors, and starts a program (an ssh
 * client, an sftp-server) behind them. A channel of this process is another
 * carrier.
 *
 * Threads: the loop's.
 */
#ifndef HPN_XFER_SFTP_CARRIER_H
#define HPN_XFER_SFTP_CARRIER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/loop.h"

struct sftp;

struct xfer_carrier_ops {
	/* One turn: sends what sessions have to send, as far as the kernel
	 * takes it, and feeds the replies that came; for all sessions of the
	 * driver. Waits at most timeout_ms (-1: no limit) until something can
	 * be moved. 0, or an error of the driver; the end of a session is not
	 * an error. */
	int (*turn)(void *arg, int timeout_ms);
	/* The session has queued output: called once for each request, inside
	 * of a turn as well as outside. It only notes that the next turn has
	 * to send; it takes no output and makes no request. */
	void (*wake)(void *arg);
};

/* Copied by value; arg is borrowed. */
struct xfer_carrier {
	const struct xfer_carrier_ops *ops;
	void *arg;
};

/* A carrier over a pair of descriptors, or over one socket as both, and perhaps
 * a child process behind them. It must not move in memory. */
struct xfer_pipe {
	int fd_in, fd_out; /* -1: none */
	pid_t pid;	   /* 0: none */
	struct loop *loop;
	struct loop_fd *in, *out; /* for a socket both are the same watch */
	struct sftp *sftp;	  /* borrowed; NULL: none */
	uint8_t *chunk;
};

/* Begins to carry over two descriptors, which p owns from now on and makes
 * non-blocking. On an error xfer_pipe_close() must be called as well. */
int xfer_pipe_open(struct xfer_pipe *p, struct loop *loop, int fd_in,
    int fd_out) must_check;
/* Starts argv[0] (searched in PATH if without '/') with its standard input
 * and output at the other end; its standard error is ours. */
int xfer_pipe_spawn(struct xfer_pipe *p, struct loop *loop,
    char *const argv[]) must_check;
/* p carries s from now on (calls sftp_attach()). When s is freed p must be
 * closed before the next turn. */
void xfer_pipe_attach(struct xfer_pipe *p, struct sftp *s);
/* Closes the descriptors, and waits for the child. Returns the child's exit
 * status, or 128 + signal; 0 without a child. */
int xfer_pipe_close(struct xfer_pipe *p);

#endif
