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
	int fd;	       /* the socket, which listens; -1: none */
	char *path;    /* path as other programs are told it */
	char *whole;   /* absolute path; NULL: it is not ours to remove */
	char *directory; /* directory made for the socket alone; NULL: none */
	dev_t dev;
	ino_t ino;
};

/* Makes a socket at path. This function and the next ones say on stderr what is
 * wrong, and return an error. */
int listen_socket_named(struct listen_socket *s, const char *path) must_check;
/* Makes a socket in a directory of its own, below TMPDIR. */
int listen_socket_temporary(struct listen_socket *s) must_check;
/* Makes a socket below the user's home. clean: removes sockets there that were
 * left behind. */
int listen_socket_usual(struct listen_socket *s, bool clean) must_check;
/* Takes the socket that systemd has handed over. *handed: it did so. */
int listen_socket_handed(struct listen_socket *s, bool *handed) must_check;

/* Closes the socket, in a process that does not use it. */
void listen_socket_forget(struct listen_socket *s);
void listen_socket_remove(struct listen_socket *s);

#endif
