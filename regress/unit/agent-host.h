/* SPDX-License-Identifier: ISC */
/*
 * An agent in the process of a test, with clients whose messages are answered
 * while the test turns its loop.
 */
#ifndef HPN_REGRESS_UNIT_AGENT_HOST_H
#define HPN_REGRESS_UNIT_AGENT_HOST_H

#include "regress/unit/help.h"

#include "agent/agentd.h"
#include "keys/key.h"

struct agent_host {
	struct loop *loop;
	struct agentd *agentd;
};

/* Its keys are wiped, and its clients ended, by close. */
void agent_host_open(struct agent_host *h, const struct agent_params *params);
void agent_host_close(struct agent_host *h);

/* A client's end, which does not block. */
int agent_host_client(struct agent_host *h);
/* Sends a message as it is, and with its length in front. */
void agent_host_send_raw(int fd, const void *p, size_t len);
void agent_host_send(int fd, const struct buf *message);
/* The next answer (to be cleared), or false if there is none within so many
 * turns and the client is still connected. */
bool agent_host_answer(struct agent_host *h, int fd, struct buf *answer,
    unsigned ms);
/* Sends, clears the message, and gives the type of the answer; -1: none. */
int agent_host_ask(struct agent_host *h, int fd, struct buf *message);
/* Was the client ended? */
bool agent_host_ended(struct agent_host *h, int fd);

/* Messages. more: constraints, which make it the other type; NULL: none. */
void agent_host_put_add(struct buf *b, const struct key *k,
    const char *comment, const struct buf *more);
void agent_host_put_sign(struct buf *b, const struct key *k, const char *data,
    uint32_t flags);
/* Asks for a signature of some data. */
void agent_host_send_sign(int fd, const struct key *k);
void agent_host_put_lock(struct buf *b, bool lock, const char *passphrase);
/* How many keys the client sees. */
unsigned agent_host_count(struct agent_host *h, int fd);

#endif
