/* SPDX-License-Identifier: ISC */
/*
 * The privileged process of one connection (hpnsshd-session): it starts
 * hpnsshd-auth for the network side, answers what that asks, and after
 * authentication starts the user's process and answers that one. It never
 * reads a byte from the network itself.
 *
 * Threads: none but the only one.
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

/* How far the connection is; a request names those it is allowed in. */
enum monitor_phase {
	MONITOR_PHASE_KEX = 1,	   /* nobody has given a name yet */
	MONITOR_PHASE_AUTH = 2,	   /* a name is known */
	MONITOR_PHASE_DIALOGUE = 4, /* a try waits for the client's answer */
	MONITOR_PHASE_ACCEPTED = 8, /* authenticated, state to be handed over */
	MONITOR_PHASE_SESSION = 16, /* the user's process runs */
	MONITOR_PHASE_OVER = 32,    /* no request is admitted any more */
};

enum {
	MONITOR_TTYS_MAX = 256,
	MONITOR_STATUS_FATAL = 255, /* of the process */
};

struct loop;

struct monitor {
	struct server_state state;
	struct peer peer;
	char *peer_text; /* "address port n" */
	char *remote;	 /* "address-n" */
	int socket_fd;	 /* the connection */
	int fd;		 /* to the unprivileged process */
	int startup_fd;	 /* to the listener; see server/state.h */
	enum penalty_class penalty; /* the highest reported to it */
	int user_program; /* hpnsshd-user; see user-exec.h */
	bool sftp_only;	  /* the login may do SFTP, and nothing else */
	pid_t child; /* who is answered; hpnsshd-auth first */
	pid_t auth;  /* hpnsshd-auth, once it has handed over */
	enum monitor_phase phase;
	uint32_t asked[MONITOR_REQUEST_COUNT]; /* how often each came */
	uint32_t tries;	 /* requests of all kinds that are tries */
	uint32_t lines;	 /* of hpnsshd-auth that were logged */
	bool owes_answer; /* the current request has no answer yet */
	bool left_unread; /* who has ended, with something of ours unread */
	struct buf pending; /* a request that came instead of an answer */
	uint64_t deadline_ms; /* of login, monotonic; 0: none */
	uint8_t session_id[64];
	size_t session_id_len; /* 0: the first exchange is not done */
	struct gss_exchange *gss; /* NULL: keys by GSSAPI are not offered */
	struct login *login;
	struct buf packet_state, kex_state; /* handed over; secret */
	char *id_local; /* identification line */
	char *ttys[MONITOR_TTYS_MAX]; /* names of those in use; owned */
	size_t tty_count;
	uint64_t sign_busy_ms; /* see monitor_sign_wait_ms() */
};

/* Handler of one request: its fields are read from in, the answer is put
 * into out. An error ends the connection. */
typedef int (*monitor_handler)(struct monitor *m, struct rd *in,
    struct buf *out);

/* Receives and answers one request. ERR_EOF: the other side is gone.
 * ERR_TIMEOUT: login took too long. ERR_PROTOCOL: a request that is not
 * admitted now; whoever sent it is not to be trusted any more. */
int monitor_step(struct monitor *m) must_check;

/* Questions to the client in the middle of a try: sends the verdict as the
 * answer of the current request, and waits for the client's own answer.
 * ERR_CANCELLED: another request came instead. */
int monitor_converse(struct monitor *m, const struct monitor_verdict *v,
    struct buf *answer) must_check;

/*
 * Signatures of a session have a pace: a few at once, then 100 in a second.
 * Milliseconds to wait before the one that is wanted now. *busy_ms, 0 at
 * first, is when all that were taken will have been paid for. Pure.
 */
uint64_t monitor_sign_wait_ms(uint64_t *busy_ms, uint64_t now_ms);
void monitor_wait_to_sign(struct monitor *m);
/* How long an agent with a host key may take to sign now. */
unsigned monitor_signer_ms(const struct monitor *m);
/* Should the connection end without authentication, its address gets at least
 * this penalty. The listener hears of it at once, so that it does not depend
 * on how this process ends. */
void monitor_report_penalty(struct monitor *m, enum penalty_class c);

/* Handlers, in monitor-auth.c, monitor-gss.c and monitor-session.c */
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
/* Sends the answer of the current request, for a handler that has more to send
 * behind it. */
int monitor_answer(struct monitor *m, const struct buf *fields) must_check;
/* Records the end of the logins that are still on record. */
void monitor_logout_all(struct monitor *m);

/* A child's exit status; a death by signal is worth a line. wait_ms: then it
 * is killed; 0: it may take as long as it wants. */
int monitor_reap(struct monitor *m, pid_t pid, const char *what,
    uint64_t wait_ms);
/* After the login (monitor-user.c): starts the user's process and answers it
 * until it ends. Returns the exit status. The loop, and with it the handlers of
 * signals, has to live until this returns. */
int monitor_serve_user(struct monitor *m, struct loop *loop);
/* The whole life of a connection, with the descriptors of server/state.h.
 * waits: the connection is received first. Returns the exit status. */
int monitor_run(bool waits);

#endif
