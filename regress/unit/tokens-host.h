/* SPDX-License-Identifier: ISC */
/*
 * Tokens of an agent in the process of a test: helpers that are scripts, a
 * program in place of a window, and two clients. One test program has one of
 * all this.
 */
#ifndef HPN_REGRESS_UNIT_TOKENS_HOST_H
#define HPN_REGRESS_UNIT_TOKENS_HOST_H

#include "regress/unit/agent-host.h"

#include <sys/types.h>

#include "keys/p11-wire.h"

enum { LONG_MS = 60 * 1000 };

/* Set by the test program. */
extern struct agent_host t_host;
extern struct key *key; /* of the token */
extern int fd, other;	/* clients */
extern char *library;	/* path of it */

/* The answer number n of each helper. */
void answer_is(int n, const struct buf *body);
void answer_list(int n, bool wants_login);
void answer_signature(int n, const char *data);
void answer_status(int n, enum p11_op op, enum p11_status status);
/* Helpers from now on; what each does when there is no answer. */
void helpers(const char *at_last);
/* How many there were; *last is the newest. */
int started(pid_t *last);
/* Waits for its end. */
bool is_gone(pid_t pid);

/* What a window says; NULL: there can be none. */
void askpass(const char *say);
void assert_asked(const char *want);
void drop_file(const char *name);

/* Requests, and the types of their answers. */
void put_provider(struct buf *b, const char *path, const char *pin,
    const struct buf *constraints);
int add_provider(const char *path, const char *pin);
int remove_provider(void);
int answered(int client);
int sign(int client, const struct key *k);
int lock(bool on);
/* Other clients are answered meanwhile. */
void assert_goes_on(void);

#endif
