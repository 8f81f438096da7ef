/* SPDX-License-Identifier: ISC */
/*
 * What the files of the master share: a passenger as it sees one.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_MUX_MUX_MASTER_INTERNAL_H
#define HPN_CLIENT_MUX_MUX_MASTER_INTERNAL_H

#include "client/mux/mux-link.h"
#include "client/mux/mux-master.h"
#include "client/mux/mux-socket.h"
#include "client/mux/mux-wire.h"

struct foreign;
struct askpass;
struct mux_pending;
struct stdio_forward;

enum passenger_state {
	PASSENGER_NEW,	   /* has not said hello */
	PASSENGER_READY,   /* may ask for something */
	PASSENGER_SENDING, /* its descriptors are on their way */
	PASSENGER_OPENING, /* the server is asked for its channel */
	PASSENGER_OPEN,
	PASSENGER_ENDING, /* it gets the last answer */
};

struct passenger {
	struct mux_master *m;
	struct passenger *next;
	struct mux_link *link;
	enum passenger_state state;
	uint32_t request; /* id of the one that is not answered yet */

	/* What it asked for: one of these. */
	struct mux_session wanted;
	struct mux_stdio target;
	void (*start)(struct passenger *p); /* when all fds are there */
	int fds[MUX_SESSION_FDS];
	size_t fd_count, fds_wanted;

	struct client_conf conf; /* the master's, with its own escape character;
				  * borrows all that it points to */
	uint32_t channel;	 /* its number */
	struct mux_forward forward_wanted; /* while the user is asked */
	char *question; /* for the user, who has not answered yet */
	void (*answered)(struct passenger *p, bool allowed);
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
	struct passenger *passengers;
	size_t count;
	bool told_full; /* that there is no room; once until all are gone */
	struct mux_pending *pending; /* forwards that the server considers */
	struct askpass *confirm; /* the question that is asked now... */
	struct passenger *asked;     /* ...and whose it is */
	bool keeps; /* USE_SHARING has begun */
};

/* Answers. */
void passenger_send(struct passenger *p, const struct buf *message);
void passenger_answer(struct passenger *p, enum mux_type type, uint32_t id);
/* MUX_FAILURE or MUX_DENIED */
void passenger_refuse(struct passenger *p, enum mux_type type, uint32_t id,
    const char *why);
/* It ends when it has its answer. */
void passenger_finish(struct passenger *p);

/* mux-master-ask.c. Calls then, perhaps in this call, with the user's answer,
 * if the user is to be asked. Meanwhile nothing more is read from p. */
void passenger_ask(struct passenger *p,
    void (*then)(struct passenger *p, bool allowed), const char *fmt,
    ...) printf_like(3, 4);
/* The user said no to p->request. */
void passenger_deny(struct passenger *p);
/* Nobody waits for the answer any more. */
void passenger_leave_question(struct passenger *p);

/* mux-master-session.c. A request, as it arrived: 0, or an error, which ends
 * the link. */
int passenger_wants_session(struct passenger *p, uint32_t id,
    struct rd *r) must_check;
int passenger_wants_stdio(struct passenger *p, uint32_t id,
    struct rd *r) must_check;
int passenger_descriptor(struct passenger *p, int fd) must_check;
/* What it had on the connection ends. */
void passenger_leave_channels(struct passenger *p);

/* mux-master-forward.c */
int passenger_wants_forward(struct passenger *p, uint32_t id,
    struct rd *r) must_check;
int passenger_cancels_forward(struct passenger *p, uint32_t id,
    struct rd *r) must_check;
/* It hears no answer any more. */
void passenger_leave_forwards(const struct passenger *p);
void mux_master_drop_pending(struct mux_master *m);

/* mux-master-proxy.c. relay: a message, when p->foreign is there. */
int passenger_wants_proxy(struct passenger *p, uint32_t id,
    struct rd *r) must_check;
int passenger_relay(struct passenger *p, struct rd message) must_check;
void passenger_leave_proxy(struct passenger *p);

/* mux-master-requests.c */
int passenger_request(struct passenger *p, uint32_t type,
    struct rd *r) must_check;

/* mux-master.c. Nobody new comes. */
void mux_master_stop(struct mux_master *m);

#endif
