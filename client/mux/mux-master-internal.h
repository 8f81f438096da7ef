/* SPDX-License-Identifier: ISC */
/*
 * What the mux-master*.c files share: the master, and a mux client as the
 * master sees it.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_MUX_MUX_MASTER_INTERNAL_H
#define HPN_CLIENT_MUX_MUX_MASTER_INTERNAL_H

#include "client/mux/mux-transport.h"
#include "client/mux/mux-master.h"
#include "client/mux/mux-socket.h"
#include "client/mux/mux-wire.h"
#include "compat/queue.h"

struct foreign;
struct askpass;
struct mux_pending;
struct stdio_forward;

enum mux_client_state {
	MUX_CLIENT_NEW,	   /* has not said hello */
	MUX_CLIENT_READY,   /* may send requests */
	MUX_CLIENT_SENDING, /* its request's descriptors are being received */
	MUX_CLIENT_OPENING, /* waits for the user's or the server's answer */
	MUX_CLIENT_OPEN,
	MUX_CLIENT_ENDING, /* gets what is still queued, then is freed */
};

struct mux_client {
	struct mux_master *m;
	TAILQ_ENTRY(mux_client) entry;
	struct mux_transport *transport;
	enum mux_client_state state;
	uint32_t request; /* id of the request that is not answered yet */

	/* The request whose descriptors are awaited: a session (wanted) or
	 * standard input and output (target; host NULL: a session). */
	struct mux_session wanted;
	struct mux_stdio target;
	/* Called when all descriptors have come and the user allows it. */
	void (*start)(struct mux_client *c);
	int fds[MUX_SESSION_FDS];
	size_t fd_count, fds_wanted;

	/* The master's configuration, with the client's escape character.
	 * Borrows all that it points to. */
	struct client_conf conf;
	uint32_t channel;	 /* number of the session's channel */
	/* The forward that the user is asked about. */
	struct mux_forward forward_wanted;
	char *question; /* to the user, not answered yet; NULL: none */
	void (*answered)(struct mux_client *c, bool allowed);
	/* The master ends once the client has the answer. */
	bool ends_master;
	struct session *session;
	struct stdio_forward *forward;
	/* For -O proxy (mux-master-proxy.c); else NULL. */
	struct foreign *foreign;
	/* Nothing is read from the client until the connection has room for its
	 * messages (on_turn() in mux-master-proxy.c). */
	bool held;
};

struct mux_master {
	struct mux_master_params p;
	struct mux_socket socket;
	struct loop_fd *watch;
	/* Runs while nobody is accepted, because descriptors or memory ran
	 * out. */
	struct loop_timer *pause_timer;
	struct loop_timer *idle_timer;
	TAILQ_HEAD(mux_clients, mux_client) clients; /* the newest first */
	size_t count;
	/* The user was told that there is no room for a client. Reset when the
	 * last client has gone. */
	bool told_full;
	/* Forwards that the server has not answered for yet. */
	TAILQ_HEAD(mux_pending_list, mux_pending) pending;
	struct askpass *confirm; /* the question that is asked now, or NULL */
	/* The client that this question is about. */
	struct mux_client *asked;
	bool keeps; /* USE_SHARING has begun */
};

/* mux-master.c. Sends a message to the client; an answer without fields; a
 * refusal with its reason (type: MUX_FAILURE or MUX_DENIED). */
void mux_client_send(struct mux_client *c, const struct buf *message);
void mux_client_answer(struct mux_client *c, enum mux_type type, uint32_t id);
void mux_client_refuse(struct mux_client *c, enum mux_type type, uint32_t id,
    const char *why);
/* Lets the mux client go once all that is queued for it is sent. */
void mux_client_finish(struct mux_client *c);

/* mux-master-ask.c. Asks the user the question that fmt makes, if the master
 * was told to ask (ControlMaster=ask); then() gets the answer, perhaps within
 * this call. Meanwhile nothing is read from c. */
void mux_client_ask(struct mux_client *c,
    void (*then)(struct mux_client *c, bool allowed), const char *fmt,
    ...) printf_like(3, 4);
/* Tells the client that the user refused c->request. */
void mux_client_deny(struct mux_client *c);
/* Drops the question about c, if there is one, because c goes. */
void mux_client_leave_question(struct mux_client *c);

/* mux-master-session.c. Handle a client's request, or a descriptor that belongs
 * to it. An error ends the client's transport. */
int mux_client_wants_session(struct mux_client *c, uint32_t id,
    struct rd *r) must_check;
int mux_client_wants_stdio(struct mux_client *c, uint32_t id,
    struct rd *r) must_check;
int mux_client_descriptor(struct mux_client *c, int fd) must_check;
/* Frees the client's session and its stdio forward. */
void mux_client_leave_channels(struct mux_client *c);

/* mux-master-forward.c */
int mux_client_wants_forward(struct mux_client *c, uint32_t id,
    struct rd *r) must_check;
int mux_client_cancels_forward(struct mux_client *c, uint32_t id,
    struct rd *r) must_check;
/* The client goes: the server's answers about its forwards are not sent to it
 * any more. */
void mux_client_leave_forwards(const struct mux_client *c);
void mux_master_drop_pending(struct mux_master *m);

/* mux-master-proxy.c. mux_client_relay() handles a message of a client that has
 * c->foreign. */
int mux_client_wants_proxy(struct mux_client *c, uint32_t id,
    struct rd *r) must_check;
int mux_client_relay(struct mux_client *c, struct rd message) must_check;
void mux_client_leave_proxy(struct mux_client *c);

/* mux-master-requests.c */
int mux_client_request(struct mux_client *c, uint32_t type,
    struct rd *r) must_check;

/* mux-master.c. Stops listening: no new client can come. */
void mux_master_stop(struct mux_master *m);

#endif
