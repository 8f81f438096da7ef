/* SPDX-License-Identifier: ISC */
/*
 * Inside of agent/: the agent's state, a client, and how requests are answered
 * at once or later. Not for other folders.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_AGENT_INTERNAL_H
#define HPN_AGENT_INTERNAL_H

#include "agent/agentd.h"
#include "agent/constraints.h"
#include "agent/helper-jobs.h"
#include "agent/identities.h"
#include "base/askpass.h"

struct client;
struct dialog;
struct provider;

struct agentd {
	struct loop *loop;
	struct agent_params p;
	struct identities *keys;
	struct shield *shield;

	/* wrong: passphrases that failed since the agent was unlocked last. The
	 * other field is the time (clock_ms) from which the next one may be
	 * tried. */
	unsigned wrong;
	uint64_t next_try_ms;
	unsigned dialogs; /* dialogs that are shown now */

	TAILQ_HEAD(providers, provider) providers;
	struct helper_line fido;
	struct loop_timer *reaper;

	int listener; /* -1: none */
	struct loop_fd *watch;
	struct loop_timer *pause; /* no client is taken before it is over */
	TAILQ_HEAD(clients, client) clients;
	/* how many clients there are; bytes of all their requests */
	size_t n_clients, buffered;
};

/* What a client's first request waits for: one of these, or nothing. */
struct waiting {
	struct dialog *dialog;
	void *job; /* the job of a signer */
	void (*cancel)(void *job);
	struct loop_timer *timer;
};

struct client {
	struct agentd *a;
	int fd;
	struct loop_fd *watch;
	/* fires when the client's next request is run */
	struct loop_timer *turn;
	struct buf in, out;	 /* in begins with its first request */
	struct binds binds;
	struct waiting waiting;
	/* What was found out while the first request waited, for when it is
	 * run once more: the serial of the identity whose use the user has
	 * confirmed; and whether it is this client's turn to try a
	 * passphrase. */
	uint64_t confirmed;
	bool may_try;
	TAILQ_ENTRY(client) entry;
};

/* WAITS: something in c->waiting will call client_answer() or
 * client_again(). */
enum outcome { ANSWERED, WAITS };

/* A request while it is answered. body is what follows the byte of its type. */
struct request {
	struct agentd *a;
	struct client *c;
	uint8_t type;
	struct rd body;
	struct buf *answer; /* the answer's message, from its type on */
};

/* requests.c: runs the request of message by the table of requests. ANSWERED:
 * answer has the message to send. */
enum outcome requests_run(struct client *c, struct span message,
    struct buf *answer);
/* These fill the answer, and return ANSWERED. */
enum outcome request_fail(struct request *q);
enum outcome request_succeed(struct request *q);

/* requests-keys.c, requests-providers.c, requests-sign.c, requests-lock.c */
enum outcome request_list(struct request *q);
enum outcome request_add(struct request *q);
enum outcome request_remove(struct request *q);
enum outcome request_remove_all(struct request *q);
/* Sets the lifetime, confirmation and destinations of id by the constraints. */
int request_constrain(const struct agentd *a, const struct constraints *c,
    struct identity *id) must_check;
enum outcome request_add_provider(struct request *q);
enum outcome request_remove_provider(struct request *q);
enum outcome request_sign(struct request *q);
enum outcome request_lock(struct request *q);
enum outcome request_unlock(struct request *q);

/* clients.c: the wait of the client's first request ends. client_answer() sends
 * the message as its answer, client_again() runs the request once more. Then
 * the client's next request is run. Not to be called inside of
 * requests_run(). */
void client_answer(struct client *c, const struct buf *message);
void client_fail(struct client *c);
void client_again(struct client *c);
void client_end(struct client *c);

/* agentd.c: has the loop wait for helper processes that were killed, a moment
 * later. */
void agentd_reap_soon(struct agentd *a);
/* Ends all helpers of tokens. The keys stay. */
void agentd_stop_tokens(struct agentd *a);

/* dialogs.c: why the user cannot be asked now; NULL: dialog_ask() may be
 * called. */
const char *dialog_refusal(const struct agentd *a);
/* A dialog that asks the user as askpass_ask() does. */
struct dialog *dialog_ask(struct agentd *a, enum askpass_kind kind,
    const char *text, askpass_fn told, void *arg);
void dialog_drop(struct dialog *d); /* NULL is fine */

/* sealed-keys.c: shield_seal() and shield_open() for a private key. */
int sealed_key_make(struct shield *s, const struct key *k,
    struct buf *out) must_check;
int sealed_key_open(const struct shield *s, const struct buf *sealed,
    struct key **out) must_check;

/* confirm.c: asks the user whether the key of id may sign data. False: the user
 * cannot be asked, which is no consent. */
bool confirm_ask(struct client *c, const struct identity *id,
    const struct sign_data *data) must_check;

#endif
