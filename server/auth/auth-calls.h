/* SPDX-License-Identifier: ISC */
/*
 * What hpnsshd-auth asks the monitor. Each call blocks until the answer is
 * there; an error means that the monitor is not to be asked any more.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_AUTH_AUTH_CALLS_H
#define HPN_SERVER_AUTH_AUTH_CALLS_H

#include "server/monitor-wire.h"

void monitor_log(int fd, enum log_level level, bool forced, const char *text);
/* The exchange hash, once. */
int monitor_sign(int fd, const char *alg, struct span hash,
    struct buf *signature) must_check;
int monitor_user(int fd, const char *name, const char *service,
    struct monitor_user *out) must_check;
/* fields: as auth_read_WORD() wrote them. */
int monitor_try(int fd, enum auth_method_id method, const struct buf *fields,
    struct monitor_verdict *out) must_check;
/* body: of the client's message in the dialogue of this try. */
int monitor_try_answer(int fd, struct span body,
    struct monitor_verdict *out) must_check;
int monitor_hand_over(int fd, const struct buf *packet,
    const struct buf *kex) must_check;

#endif
