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
/* Sets in t the modes that the string names and this system has. An opcode from
 * 160 on ends the list; other unknown opcodes are ignored. ERR_TRUNCATED. */
int ttymodes_apply(struct span modes, struct termios *t) must_check;

#endif
