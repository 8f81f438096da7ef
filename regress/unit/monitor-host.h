/* SPDX-License-Identifier: ISC */
/*
 * A monitor without a connection, whose requests the test makes: it plays
 * hpnsshd-auth or the user's process. All of it fails the test that runs when
 * it cannot do its work.
 */
#ifndef HPN_REGRESS_UNIT_MONITOR_HOST_H
#define HPN_REGRESS_UNIT_MONITOR_HOST_H

#include "regress/unit/help.h"
#include "server/monitor/monitor.h"

extern struct monitor *m;
extern int peer; /* the asker's end */

/* Of cmocka. One host key, of Ed25519. */
int monitor_setup(void **state);
int monitor_teardown(void **state);
/* Another host key. */
void add_rsa(struct hostkeys *h);

/* A request, and what monitor_step() makes of it. */
int ask(enum monitor_request what, const void *fields, size_t len);
int ask_try(uint8_t method, const void *fields, size_t len);
int ask_signature_by(enum monitor_request what, const char *alg,
    size_t hash_len);
int ask_signature(enum monitor_request what, size_t hash_len);
/* Appends the answer of a request that was granted. */
void drain_answer(struct buf *answer);

#endif
