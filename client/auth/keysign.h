/* SPDX-License-Identifier: ISC */
/*
 * Asking hpnssh-keysign, which may use the private keys of this host, to sign a
 * request for host-based authentication.
 *
 * Frames in both directions: u32 length, byte version, then for the request
 * u32 number of the descriptor with the connection, string data; in the answer
 * string signature.
 *
 * Threads: loop thread only; waits for the program, for a bounded time.
 */
#ifndef HPN_CLIENT_AUTH_KEYSIGN_H
#define HPN_CLIENT_AUTH_KEYSIGN_H

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"

/* Appends the signature. fd is the connection, by whose address the program
 * finds the name of this host. Logs what fails. */
int keysign_ask(int fd, struct span data, struct buf *signature) must_check;

#endif
