/* SPDX-License-Identifier: ISC */
/*
 * The requests of hpnsshd-auth to the monitor (server/monitor-wire.h). Each
 * function but monitor_log() and monitor_hand_over() blocks until the answer is
 * there. ERR_DENIED: the monitor refused. After any other error the monitor
 * must not be asked any more.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_AUTH_AUTH_CALLS_H
#define HPN_SERVER_AUTH_AUTH_CALLS_H

#include "server/monitor-wire.h"

void monitor_log(int fd, enum log_level level, bool forced, const char *text);
/* Appends the host key's signature of the exchange hash. The monitor signs only
 * once for hpnsshd-auth. */
int monitor_sign(int fd, const char *alg, struct span hash,
    struct buf *signature) must_check;
int monitor_user(int fd, const char *name, const char *service,
    struct monitor_user *out) must_check;
/* Asks for the verdict on a request of the client. fields: as auth_read_WORD()
 * of the method wrote them. */
int monitor_try(int fd, enum auth_method_id method, const struct buf *fields,
    struct monitor_verdict *out) must_check;
/* Asks for the verdict on the client's message in the dialogue of the last try.
 * body: see MONITOR_TRY_ANSWER. */
int monitor_try_answer(int fd, struct span body,
    struct monitor_verdict *out) must_check;
int monitor_hand_over(int fd, const struct buf *packet,
    const struct buf *kex) must_check;

#endif
