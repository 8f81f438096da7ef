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

/* Opens a pair (close-on-exec), owned by the calling user as the kernel's
 * devpts gives it. name gets the path of the slave; on error both are -1. */
int pty_open(int *master, int *slave, char name[PTY_NAME_MAX]) must_check;
/* Makes slave the user's: of the group tty, which may write to it, if there is
 * one, or else of gid. Nothing to do for an ordinary user's own. */
int pty_give(int slave, uid_t uid, gid_t gid) must_check;
void pty_set_size(int fd, const struct pty_size *size);
/* Applies encoded modes (base/ttymodes.h). */
int pty_apply_modes(int slave, struct span modes) must_check;
/* Makes slave the controlling terminal of a new session. */
int pty_make_controlling(int slave) must_check;

#endif
