/* SPDX-License-Identifier: ISC */
/*
 * Pseudo-terminals for pty-req (RFC 4254 section 6.2).
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_PTY_H
#define HPN_SERVER_PTY_H

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/wire.h"

enum { PTY_NAME_MAX = 64 };

struct pty_size {
	uint32_t columns, rows, width_px, height_px;
};

/* Opens a pair (close-on-exec). The kernel's devpts gives it to the calling
 * user. name gets the path of the slave. On error both descriptors are -1. */
int pty_open(int *master, int *slave, char name[PTY_NAME_MAX]) must_check;
/* Gives slave to uid. Its group becomes tty, which may write to it; if there is
 * no such group, gid. Does nothing if we are not the superuser: then the
 * terminal is the user's own already. */
int pty_give(int slave, uid_t uid, gid_t gid) must_check;
void pty_set_size(int fd, const struct pty_size *size);
/* Applies the encoded modes of a pty-req (base/ttymodes.h). */
int pty_apply_modes(int slave, struct span modes) must_check;
/* The process becomes the leader of a new session (setsid()) with slave as its
 * controlling terminal. */
int pty_make_controlling(int slave) must_check;

#endif
