/* SPDX-License-Identifier: ISC */
/*
 * Terminal modes on the wire (RFC 4254 section 8, RFC 8160): the encoded
 * string of a pty-req, made from and applied to a struct termios. One table
 * serves both directions.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_TTYMODES_H
#define HPN_BASE_TTYMODES_H

#include <termios.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"

/* Appends opcodes, arguments and the end mark (not the string's length). */
void ttymodes_encode(const struct termios *t, struct buf *out);
/* Changes what the modes name and this system has; opcodes from 160 on end
 * the list, unknown ones below are passed over. ERR_TRUNCATED. */
int ttymodes_apply(struct span modes, struct termios *t) must_check;

#endif
