/* SPDX-License-Identifier: ISC */
/*
 * What the files of the master share: a mux client as the master sees it.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_MUX_MUX_MASTER_INTERNAL_H
#define HPN_CLIENT_MUX_MUX_MASTER_INTERNAL_H

#include "client/mux/mux-transport.h"
#include "client/mux/mux-master.h"
#include "client/mux/mux-socket.h"
#include "client/mux/mux-wire.h"

struct foreign;
struct askpass;
struct mux_pending;
struct stdio_forward;

enum mux_client_state {
	MUX_CLIENT_NEW,	   /* has not said hello */
	MUX_CLIENT_READY,   /* may ask for something */
	MUX_CLIENT_SENDING, /* its descriptors are on their way */
	MUX_CLIENT_OPENING, /* the server is asked for its channel */
	MUX_CLIENT_OPEN,
	MUX_CLIENT_ENDING, /* it gets the last answer */
};

struct mux_client {
	struct mux_master *m;
	struct mux_client *next;
	struct mux_transport *transport;
	enum mux_client_state state;
	uint32_t request; /* id of the one that is not answered yet */

	/* The request that waits for its descriptors: one of these. */
	struct mux_session wanted;
	struct mux_stdio target;
	void (*start)(struct mux_client *c); /* when all fds are there */
	int fds[MUX_SESSION_FDS];
	size_t fd_count, fds_wanted;

	struct client_conf conf; /* the master's, with its own escape character;
				  * borrows all that it points to */
	uint32_t channel;	 /* its number */
	struct mux_forward forward_wanted; /* while the user is asked */
	char *question; /* for the user, who has not answered yet */
	void (*answered)(struct mux_client *c, bool allowed);
	bool ends_master;	 /* when it has the answer */
	struct session *session;
	struct stdio_forward *forward;
	struct foreign *foreign; /* it speaks for itself (mux-master-proxy.c) */
	bool held; /* it is not heard, until there is room for its messages */
};

struct mux_master {
	struct mux_master_params p;
	struct mux_socket socket;
	struct loop_fd *watch;
	struct loop_timer *pause_timer; /* no descriptors are left */
	struct loop_timer *idle_timer;
	struct mux_client *clients;
	size_t count;
	bool told_full; /* that there is no room; once until all are gone */
	struct mux_pending *pending; /* forwards that the server considers */
	struct askpass *confirm; /* the question that is asked now... */
	struct mux_client *asked;     /* ...and whose it is */
	bool keeps; /* USE_SHARING has begun */
};

/* Answers. */
void mux_client_send(struct mux_client *c, const struct buf *message);
void mux_client_answer(struct mux_client *c, enum mux_type type, uint32_t id);
/* MUX_FAILURE or MUX_DENIED */
void mux_client_refuse(struct mux_client *c, enum mux_type type, uint32_t id,
    const char *why);
/* The mux client ends when it has its answer. */
void mux_client_finish(struct mux_client *c);

/* mux-master-ask.c. Calls then, perhaps in this call, with the user's answer,
 * if the user is to be asked. Meanwhile nothing more is read from c. */
void mux_client_ask(struct mux_client *c,
    void (*then)(struct mux_client *c, bool allowed), const char *fmt,
    ...) printf_like(3, 4);
/* The user said no to c->request. */
void mux_client_deny(struct mux_client *c);
/* The question is dropped: nobody waits for the answer any more. */
void mux_client_leave_question(struct mux_client *c);

/* mux-master-session.c. A request, as it arrived: 0, or an error, which ends
 * the transport. */
int mux_client_wants_session(struct mux_client *c, uint32_t id,
    struct rd *r) must_check;
int mux_client_wants_stdio(struct mux_client *c, uint32_t id,
    struct rd *r) must_check;
int mux_client_descriptor(struct mux_client *c, int fd) must_check;
/* The mux client's session, or its connection from the server, ends. */
void mux_client_leave_channels(struct mux_client *c);

/* mux-master-forward.c */
int mux_client_wants_forward(struct mux_client *c, uint32_t id,
    struct rd *r) must_check;
int mux_client_cancels_forward(struct mux_client *c, uint32_t id,
    struct rd *r) must_check;
/* The mux client hears no answer about its forwards any more. */
void mux_client_leave_forwards(const struct mux_client *c);
void mux_master_drop_pending(struct mux_master *m);

/* mux-master-proxy.c. relay: a message, when c->foreign is there. */
int mux_client_wants_proxy(struct mux_client *c, uint32_t id,
    struct rd *r) must_check;
int mux_client_relay(struct mux_client *c, struct rd message) must_check;
void mux_client_leave_proxy(struct mux_client *c);

/* mux-master-requests.c */
int mux_client_request(struct mux_client *c, uint32_t type,
    struct rd *r) must_check;

/* mux-master.c. Nobody new comes. */
void mux_master_stop(struct mux_master *m);

#endif
