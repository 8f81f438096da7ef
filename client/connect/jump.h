/* SPDX-License-Identifier: ISC */
/*
 * The proxy command that goes through jump hosts (ProxyJump): an hpnssh -W on
 * the last of them, which itself goes through the ones before in the same way.
 *
 * Threads: any; the environment is read.
 */
#ifndef HPN_CLIENT_CONNECT_JUMP_H
#define HPN_CLIENT_CONNECT_JUMP_H

#include "base/err.h"
#include "base/str.h"
#include "conf/client-conf.h"

/* Appends the program and its arguments. conf->tcp.proxy_jump is set. An error
 * was reported: the host is its own jump host, or they lead in a circle. */
int jump_command(struct strlist *argv,
    const struct client_conf *conf) must_check;
/* The child that will execute that program counts one more hop. */
void jump_count(void);

#endif
