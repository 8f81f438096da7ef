/* SPDX-License-Identifier: ISC */
/*
 * One attempt to log in, as the monitor sees it: who, under which rules of
 * the configuration, what was proven so far. All decisions are made here.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_LOGIN_H
#define HPN_SERVER_MONITOR_LOGIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/wire.h"
#include "conf/auth-method-table.h"
#include "conf/server-conf.h"
#include "server/monitor-wire.h"
#include "server/monitor/login-methods.h"
#include "server/monitor/pam.h"
#include "server/peer.h"
#include "server/permits.h"
#include "server/state.h"
#include "server/user.h"

struct gss_acceptor;
struct gss_exchange;

struct login {
	const struct server_state *state; /* borrowed */
	const struct peer *peer;	  /* borrowed */
	char *name;	     /* as the client sent it */
	char *shown_name;    /* the same for log lines: not too long */
	char *service;
	struct user *user;   /* never NULL */
	struct server_conf conf; /* for this user */
	bool name_ok;	     /* account exists and may log in by the rules */
	bool allowed;	     /* and nothing else is in its way */
	bool checked;	     /* a password, answer or signature was checked */
	bool complete;	     /* authenticated */
	bool must_change;    /* for nothing but to change the password */
	int failures;
	bool asked_none, tried_empty;
	struct auth_methods methods;
	struct permits permits; /* what all proofs so far allow */
	struct strlist used_keys;    /* fingerprints of identities */
	struct buf auth_info; /* a line per method that succeeded */
	struct pam *pam;     /* NULL without UsePAM */
	/* The key exchange, if it was by GSSAPI; else NULL. Borrowed. */
	struct gss_exchange *gss_exchange;
	/* The client that came with a ticket, and may have brought more; or
	 * NULL. */
	struct gss_acceptor *gss;
	char *principal; /* of whom that was, once stored; or NULL */
	char *ccache; /* path of what was brought, once stored; or NULL */
	struct span session_id; /* borrowed from the monitor */
	uint64_t deadline_ms; /* of login, monotonic; 0: none */
};

struct login *login_new(const struct server_state *state,
    const struct peer *peer, struct span session_id,
    struct gss_exchange *exchange, const char *name, const char *service);
/* The methods that may be tried first, if they are the same for every user and
 * none of these may come in by "none": caller frees; else NULL. */
char *login_methods_of_all(const struct server_conf *c);
void login_free(struct login *l);
/* No try of a secret is refused earlier, for nobody. */
uint64_t login_floor_us(const struct server_state *state);

/* Text of Banner; NULL if there is none. Caller frees. */
char *login_banner(const struct login *l);

/* How a method reaches the client in the middle of a try: prompt and answer
 * are bodies of the two messages of its dialogue. ERR_CANCELLED: the client has
 * sent another request instead, which drops the dialogue. */
struct login_dialogue {
	void *arg;
	int (*converse)(void *arg, const struct buf *prompt,
	    struct buf *answer);
};
/* One try: in has the fields that auth_read_WORD() has written for this
 * method. Fills the verdict, and writes its log line. ERR_CANCELLED: the
 * dialogue was dropped, so there is no verdict. Another error: the fields are
 * wrong, and whoever wrote them is not to be trusted. */
int login_try(struct login *l, enum auth_method_id id, struct rd *in,
    const struct login_dialogue *d, struct monitor_verdict *v) must_check;

#endif
