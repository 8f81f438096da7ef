/* SPDX-License-Identifier: ISC */
/*
 * The agent's own socket in the file system: made, and taken away if it is
 * still the same.
 *
 * Threads: any; making one sets the umask.
 */
#ifndef HPN_AGENT_LISTEN_SOCKET_H
#define HPN_AGENT_LISTEN_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct listen_socket {
	int fd;	       /* listens; -1: none */
	char *path;    /* as it is told to others */
	char *whole;   /* from the root; NULL: it is not ours to take away */
	char *directory; /* made for it alone; NULL: none */
	dev_t dev;
	ino_t ino;
};

/* The functions say on stderr what is wrong, and give an error. */
int listen_socket_named(struct listen_socket *s, const char *path) must_check;
/* The socket is made in a directory of its own, below TMPDIR. */
int listen_socket_temporary(struct listen_socket *s) must_check;
/* Below the user's home; clean: what was left behind there is removed. */
int listen_socket_usual(struct listen_socket *s, bool clean) must_check;
/* The one that systemd has handed over, if it started this process. *handed:
 * it did. */
int listen_socket_handed(struct listen_socket *s, bool *handed) must_check;

/* Closes it, in a process that does not use it. */
void listen_socket_forget(struct listen_socket *s);
void listen_socket_remove(struct listen_socket *s);

#endif
