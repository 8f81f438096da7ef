/* SPDX-License-Identifier: ISC */
/*
 * Jump hosts (ProxyJump): the proxy command is hpnssh -W on the last of them,
 * which reaches it through those in front of it in the same way.
 *
 * Threads: any; the environment is read.
 */
#ifndef HPN_CLIENT_JUMP_H
#define HPN_CLIENT_JUMP_H

#include "base/err.h"
#include "base/str.h"
#include "conf/client-conf.h"

/* Appends the program and its arguments. Needs conf->tcp.proxy_jump. Errors
 * were logged: the host is its own jump host, or they lead in a circle. */
int jump_command(struct strlist *argv,
    const struct client_conf *conf) must_check;
/* In the process that becomes this program: one more hop. */
void jump_count(void);

#endif
