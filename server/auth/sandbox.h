/* SPDX-License-Identifier: ISC */
/*
 * What hpnsshd-auth locks itself into before the first byte from the
 * network: no new descriptors, files or processes, and only the system calls
 * that speaking on what is already open needs. Any other kills the process.
 *
 * Threads: the process has only one.
 */
#ifndef HPN_SERVER_AUTH_SANDBOX_H
#define HPN_SERVER_AUTH_SANDBOX_H

#include "base/err.h"

/* The process enters the sandbox for ever. An error means that it must not go
 * on. */
int sandbox_enter(void) must_check;

#endif
