/* SPDX-License-Identifier: ISC */
/*
 * The login of one connection in the monitor: the user, the configuration for
 * this user, and what was proven so far. All decisions are made here.
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
#include "server/grant.h"
#include "server/monitor-wire.h"
#include "server/monitor/login-methods.h"
#include "server/monitor/pam.h"
#include "server/peer.h"
#include "server/permits.h"
#include "server/state.h"
#include "server/user.h"

struct gss_acceptor;
struct gss_exchange;
struct monitor_events;

/* The methods that a login has shown. */
struct login_shown {
	struct buf proofs; /* of each method its name and the blob of the user's
			    * key, both strings */
	size_t n;
	unsigned methods;  /* bits 1 << enum auth_method_id of the methods in
			    * proofs */
	uint64_t at_ms;	   /* clock_boot_ms() when the last method was shown */
	struct buf info;   /* lines for ExposeAuthInfo */
};

struct login {
	const struct server_state *state; /* borrowed */
	const struct peer *peer;	  /* borrowed */
	struct monitor_events *events;	  /* borrowed; or NULL */
	char *name;	     /* as the client sent it */
	char *shown_name;    /* name, cut to USER_SHOWN_MAX for log lines */
	char *service;
	struct user *user;   /* never NULL */
	struct server_conf conf; /* as Match blocks make it for this user */
	bool name_ok;	     /* the account exists, and login_rules_allow()
			      * it */
	bool allowed;	     /* name_ok, and nothing else forbids the login */
	bool checked;	     /* a password, answer or signature was checked */
	bool complete;	     /* the user is authenticated */
	bool must_change;    /* the login may only change the password */
	int failures;
	bool asked_none, tried_empty;
	struct auth_methods methods;
	struct permits permits; /* what all proofs so far allow */
	struct strlist used_keys;    /* fingerprints of keys that were used */
	char *found_at; /* where the last key is that lets in; NULL: none */
	/* Lines that the client shows with -v: what its keys allow. */
	struct strlist client_lines;
	struct buf auth_info; /* a line per method that succeeded */
	struct pam *pam;     /* NULL without UsePAM */
	/* The key exchange if it was by GSSAPI, else NULL; borrowed. */
	struct gss_exchange *gss_exchange;
	/* GSSAPI context of the client that proved itself by a ticket. It may
	 * have delegated credentials. Or NULL. */
	struct gss_acceptor *gss;
	/* The client's principal, from delegated_store() on; or NULL. */
	char *principal;
	/* Path of the stored credentials (delegated.h); or NULL. */
	char *ccache;
	struct span session_id; /* borrowed from the monitor */
	/* The host key of the first key exchange, borrowed from the monitor;
	 * empty: there was none. */
	struct span hostkey;
	struct login_shown shown; /* for tickets */
	bool instead; /* the ticket was for the place of a lost connection, and
		       * `shown` is what was shown there */
	int ticket_fd; /* socket to the monitor whose ticket, or session, let
		        * the user in; -1 */
	bool resumes; /* the session of that monitor goes on over this
		       * connection */
	/* Scope of the grant that let the user in; path NULL: none did. The
	 * connection ends at grant_end_ms (clock_boot_ms()). */
	struct grant_scope grant;
	uint64_t grant_end_ms;
	bool passed_over; /* a ticket was refused */
	uint64_t deadline_ms; /* limit of LoginGraceTime, monotonic; 0: none */
};

struct login *login_new(const struct server_state *state,
    const struct peer *peer, struct span session_id,
    struct gss_exchange *exchange, const char *name, const char *service);
/* Comma list of the methods that may be tried first; caller frees. NULL: they
 * depend on the user, or "none" may let some user in. */
char *login_methods_of_all(const struct server_conf *c);
void login_free(struct login *l);
/* Microseconds after which a wrong secret may be refused at the earliest, for
 * any user. */
uint64_t login_floor_us(const struct server_state *state);

/* The text of the file of Banner; caller frees. NULL: none is shown. */
char *login_banner(const struct login *l);

/* Sends a question to the client in the middle of a try and waits for the
 * reply. prompt and answer are bodies of the two messages of the method's
 * dialogue. ERR_CANCELLED: the client has sent another request instead, which
 * ends the dialogue. */
struct login_dialogue {
	void *arg;
	int (*converse)(void *arg, const struct buf *prompt,
	    struct buf *answer);
};
/* Makes one try. in has the fields that auth_read_WORD() of the method has
 * written. Fills *v and writes the log line. ERR_CANCELLED: the client has
 * ended the dialogue, so there is no verdict. Another error: the fields are
 * malformed, and the process that wrote them is not to be trusted. */
int login_try(struct login *l, enum auth_method_id id, struct rd *in,
    const struct login_dialogue *d, struct monitor_verdict *v) must_check;

#endif
