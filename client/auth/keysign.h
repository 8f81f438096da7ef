/* SPDX-License-Identifier: ISC */
/*
 * Asks hpnssh-keysign to sign a request for host-based authentication. Only
 * that program may use the private keys of this host.
 *
 * A message in either direction is: u32 length of the rest, byte version, and
 * then, in a request, u32 number of the descriptor that has the connection,
 * string data; in the answer, string signature.
 *
 * Threads: loop thread only; waits for the program, for a bounded time.
 */
#ifndef HPN_CLIENT_AUTH_KEYSIGN_H
#define HPN_CLIENT_AUTH_KEYSIGN_H

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"

/* Appends the signature over data. fd is the socket of the connection, by whose
 * local address the program finds the name of this host. Errors were logged. */
int keysign_ask(int fd, struct span data, struct buf *signature) must_check;

#endif
