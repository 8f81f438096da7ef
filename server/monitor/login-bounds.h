/* SPDX-License-Identifier: ISC */
/*
 * What a session is held to by the rules that held at its login. One that
 * survives its connection goes on only where the rules of today would hold it
 * to the same.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_LOGIN_BOUNDS_H
#define HPN_SERVER_MONITOR_LOGIN_BOUNDS_H

#include "server/monitor/login-internal.h"

enum { LOGIN_BOUNDS_LEN = 32 };

/* A digest of it: of the permits (p), the account, and what the configuration
 * of this user says. */
int login_bounds(const struct login *l, const struct permits *p,
    uint8_t out[LOGIN_BOUNDS_LEN]) must_check;

#endif
