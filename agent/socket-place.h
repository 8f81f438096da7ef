/* SPDX-License-Identifier: ISC */
/*
 * The agent's own socket in the file system: made, and taken away if it is
 * still the same.
 *
 * Threads: any; making one sets the umask.
 */
#ifndef HPN_AGENT_SOCKET_PLACE_H
#define HPN_AGENT_SOCKET_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

struct socket_place {
	int fd;	       /* listens; -1: none */
	char *path;    /* as it is told to others */
	char *whole;   /* from the root; NULL: it is not ours to take away */
	char *directory; /* made for it alone; NULL: none */
	dev_t dev;
	ino_t ino;
};

/* Each says on stderr what is wrong, and gives an error. */
int socket_place_named(struct socket_place *s, const char *path) must_check;
/* In a directory that is made for it, below TMPDIR. */
int socket_place_temporary(struct socket_place *s) must_check;
/* Below the user's home; clean: what was left behind there is removed. */
int socket_place_usual(struct socket_place *s, bool clean) must_check;
/* The one that systemd has handed over, if it started this process. *handed:
 * it did. */
int socket_place_handed(struct socket_place *s, bool *handed) must_check;

/* Closes it, in a process that does not use it. */
void socket_place_forget(struct socket_place *s);
void socket_place_remove(struct socket_place *s);

#endif
