/* SPDX-License-Identifier: ISC */
/*
 * The sandbox that hpnsshd-auth enters before it reads the first byte from the
 * network. In it the process cannot open descriptors or files or start
 * processes. Only those system calls are allowed that it needs for its open
 * descriptors; any other kills it, where the kernel can do that.
 *
 * Threads: the process has only one.
 */
#ifndef HPN_SERVER_AUTH_SANDBOX_H
#define HPN_SERVER_AUTH_SANDBOX_H

#include "base/err.h"

/* Enters the sandbox for ever. After an error the process must not go on. */
int sandbox_enter(void) must_check;

#endif
