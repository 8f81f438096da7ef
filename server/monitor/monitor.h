/* SPDX-License-Identifier: ISC */
/*
 * The privileged process of one connection (hpnsshd-session). It starts
 * hpnsshd-auth, which talks to the client, and answers its requests. After
 * authentication it starts the user's process and answers the requests of that.
 * It never reads a byte from the network itself.
 *
 * Threads: the process has only one.
 */
#ifndef HPN_SERVER_MONITOR_MONITOR_H
#define HPN_SERVER_MONITOR_MONITOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "server/monitor-wire.h"
#include "server/monitor/gss-exchange.h"
#include "server/monitor/login.h"
#include "server/peer.h"
#include "server/state.h"

/* How far the connection is. The table in monitor.c says in which phases each
 * request is admitted. */
enum monitor_phase {
	MONITOR_PHASE_KEX = 1,	   /* no user name was given yet */
	MONITOR_PHASE_AUTH = 2,	   /* a name is known */
	MONITOR_PHASE_DIALOGUE = 4, /* a try waits for the client's answer */
	MONITOR_PHASE_ACCEPTED = 8, /* authenticated: MONITOR_HAND_OVER is to
				     * come */
	MONITOR_PHASE_SESSION = 16, /* the user's process runs */
	MONITOR_PHASE_OVER = 32,    /* no request is admitted any more */
};

enum {
	MONITOR_TTYS_MAX = 256,
	MONITOR_STATUS_FATAL = 255, /* exit status of this process */
};

struct loop;
struct monitor_events;
struct monitor_survive;
struct monitor_tickets;

struct monitor {
	struct server_state state;
	struct peer peer;
	char *peer_text; /* "address port n" */
	char *remote;	 /* "address-n" */
	int socket_fd;	 /* the connection */
	int fd;		 /* socket to the child that sends requests */
	int startup_fd;	 /* pipe to the listener; see server/state.h */
	enum penalty_class penalty; /* the highest that was reported to the
				     * listener */
	bool sftp_only;	  /* the login may do only SFTP */
	pid_t child; /* the process whose requests are answered: hpnsshd-auth,
		      * later hpnsshd-user */
	pid_t auth;  /* hpnsshd-auth, after its MONITOR_HAND_OVER */
	enum monitor_phase phase;
	uint32_t asked[MONITOR_REQUEST_COUNT]; /* how often each request was
						* admitted */
	uint32_t tries;	 /* how many requests were tries to log in */
	uint32_t lines;	 /* log lines of hpnsshd-auth that were counted */
	bool owes_answer; /* the current request has no answer yet */
	/* The child has ended, and had not read all that we sent. */
	bool left_unread;
	struct buf pending; /* request that came instead of an answer */
	uint64_t deadline_ms; /* limit of LoginGraceTime, monotonic; 0: none */
	uint8_t session_id[64];
	size_t session_id_len; /* 0: the first key exchange is not complete */
	/* Host key of the first key exchange, borrowed from state.keys; empty:
	 * that exchange was by GSSAPI. */
	struct span hostkey;
	struct monitor_tickets *tickets; /* NULL: none are issued */
	struct monitor_survive *survive; /* NULL: the session ends with its
					  * connection */
	struct {
		struct loop *loop; /* NULL: the connection is not by a grant */
		struct loop_fd *watch;
		struct loop_timer *timer;
		bool over;
	} granted;
	struct gss_exchange *gss; /* NULL: key exchange by GSSAPI is not
				   * offered */
	struct login *login;
	struct monitor_events *events; /* NULL: no EventLog */
	struct monitor_shares *shares; /* NULL: there is no session process */
	struct buf packet_state, kex_state; /* from MONITOR_HAND_OVER; secret */
	char *id_local; /* our identification line */
	char *ttys[MONITOR_TTYS_MAX]; /* names of terminals in use; owned */
	size_t tty_count;
	char *tty_host; /* what their login records name in place of
			 * peer.host; NULL: nothing else. Owned. */
	uint64_t sign_busy_ms; /* see monitor_sign_wait_ms() */
};

/* Handles one request: reads its fields from in, and puts the fields of the
 * answer into out. An error ends the connection. */
typedef int (*monitor_handler)(struct monitor *m, struct rd *in,
    struct buf *out);

/* Receives and answers one request. ERR_EOF: the child has ended. ERR_TIMEOUT:
 * LoginGraceTime is over. ERR_PROTOCOL: the request is not admitted now, and
 * the process that sent it is not to be trusted. */
int monitor_step(struct monitor *m) must_check;

/* Asks the client something in the middle of a try: sends v as the answer to
 * the current request, and waits for MONITOR_TRY_ANSWER, whose body goes to
 * answer. ERR_CANCELLED: another request came instead. */
int monitor_converse(struct monitor *m, const struct monitor_verdict *v,
    struct buf *answer) must_check;

/*
 * Signatures for a session are limited to a few at once and 100 in a second.
 * Returns how many milliseconds to wait before making one now. *busy_ms is 0 at
 * first, and then the time until which those that were made use up the limit.
 * Pure.
 */
uint64_t monitor_sign_wait_ms(uint64_t *busy_ms, uint64_t now_ms);
void monitor_wait_to_sign(struct monitor *m);
/* The limit in milliseconds for an agent or security key to sign now. */
unsigned monitor_signer_ms(const struct monitor *m);
/* Tells the listener that the peer's address gets at least this penalty if the
 * connection ends without authentication. It is told at once, so that it does
 * not depend on how this process ends. */
void monitor_report_penalty(struct monitor *m, enum penalty_class c);

/* Handlers of requests, in monitor-auth.c, monitor-gss.c, monitor-session.c,
 * monitor-tickets.c and monitor-grants.c. */
int monitor_on_sign(struct monitor *m, struct rd *in, struct buf *out);
int monitor_on_sign_rekey(struct monitor *m, struct rd *in, struct buf *out);
int monitor_on_gss_step(struct monitor *m, struct rd *in, struct buf *out);
int monitor_on_gss_sign(struct monitor *m, struct rd *in, struct buf *out);
int monitor_on_gss_step_rekey(struct monitor *m, struct rd *in,
    struct buf *out);
int monitor_on_gss_sign_rekey(struct monitor *m, struct rd *in,
    struct buf *out);
int monitor_on_user(struct monitor *m, struct rd *in, struct buf *out);
int monitor_on_try(struct monitor *m, struct rd *in, struct buf *out);
int monitor_on_hand_over(struct monitor *m, struct rd *in, struct buf *out);
int monitor_on_pty(struct monitor *m, struct rd *in, struct buf *out);
int monitor_on_pty_end(struct monitor *m, struct rd *in, struct buf *out);
int monitor_on_prove(struct monitor *m, struct rd *in, struct buf *out);
int monitor_on_tickets(struct monitor *m, struct rd *in, struct buf *out);
int monitor_on_grant(struct monitor *m, struct rd *in, struct buf *out);
int monitor_on_grant_end(struct monitor *m, struct rd *in, struct buf *out);
int monitor_on_receipt(struct monitor *m, struct rd *in, struct buf *out);
int monitor_on_lost(struct monitor *m, struct rd *in, struct buf *out);
/* Sends the answer to the current request now, for a handler that has to send
 * something after it. */
int monitor_answer(struct monitor *m, const struct buf *fields) must_check;
/* Has the login records of all terminals name this host, until the next call,
 * because the session is detached, or its client came back from elsewhere. */
void monitor_move_ttys(struct monitor *m, const char *host);
/* Records the end of all logins on terminals that are still recorded. */
void monitor_logout_all(struct monitor *m);

/* Waits for the child's end and returns its exit status. Logs a death by
 * signal. what: its name for the log. wait_ms: after that time it is killed; 0:
 * no limit. */
int monitor_reap(struct monitor *m, pid_t pid, const char *what,
    uint64_t wait_ms);
/* In monitor-user.c. After the login, starts the user's process and answers its
 * requests until it ends. Returns the exit status. The loop, with its signal
 * handlers, must not be freed before. */
int monitor_serve_user(struct monitor *m, struct loop *loop);
/* Serves a connection from begin to end, with the descriptors of
 * server/state.h. waits: the process was started in advance, and first receives
 * the connection. Returns the exit status. */
int monitor_run(bool waits);

#endif
