/* SPDX-License-Identifier: ISC */
/*
 * The proxy command that goes through jump hosts (ProxyJump). It is an "hpnssh
 * -W" on the last jump host, and gets the jump hosts in front of that one by
 * its own -J, so that it goes through them in the same way.
 *
 * Threads: any; the environment is read.
 */
#ifndef HPN_CLIENT_CONNECT_JUMP_H
#define HPN_CLIENT_CONNECT_JUMP_H

#include "base/err.h"
#include "base/str.h"
#include "conf/client-conf.h"

/* Appends the proxy command for conf->tcp.proxy_jump, which must be set. An
 * error was logged: the host is its own jump host, or the jump hosts lead in a
 * circle. */
int jump_command(struct strlist *argv,
    const struct client_conf *conf) must_check;
/* To be called in the child that will execute the proxy command: counts one
 * more jump host in the environment. */
void jump_count(void);

#endif
