/* SPDX-License-Identifier: ISC */
/*
 * Between the files of the forwards: those that listen here (forwards-local.c),
 * those that the server listens on (forwards-remote.c), and connections that
 * have yet to tell where they want to go (forwards-socks.c).
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_FORWARDS_FORWARDS_INTERNAL_H
#define HPN_CLIENT_FORWARDS_FORWARDS_INTERNAL_H

#include "base/resolve.h"
#include "base/wire.h"
#include "client/forwards/forwards.h"
#include "forward/forwarded.h"
#include "forward/listeners.h"

enum {
	/* Channels that the server has not answered: while there are so many,
	 * nothing more is accepted. */
	FORWARDS_UNANSWERED_MAX = 128,
	/* Connections that have not told their target: when there are more,
	 * the oldest is closed. */
	FORWARDS_UNDECIDED_MAX = 128,
	FORWARDS_UNDECIDED_MS = 2 * 60 * 1000,
	/* The limit for lines that others can cause: so many in this time are
	 * shown to the user. */
	FORWARDS_WARNINGS_MAX = 16,
	FORWARDS_WARNINGS_MS = 60 * 1000,
};

/* A waiter hears how it went. */
struct forwards_waiter {
	struct forwards_waiter *next;
	forwards_done_fn done;
	void *arg;
};

struct forwards_local;	   /* -L, -D */
struct forwards_remote;	   /* -R */
struct forwards_opening;   /* accepted, and its channel is not answered yet */
struct forwards_undecided; /* accepted, and its target is not known yet */

/* The forwards of the configuration, as they begin. */
struct forwards_start {
	struct forwards_item *items;
	size_t left; /* of them */
	size_t locals, locals_failed;
	bool asked;  /* the server, for those of -R */
	bool failed; /* and that is the end */
	bool over;   /* done() was called */
	void (*done)(void *arg, bool failed);
	void *arg;
};

struct forwards {
	struct forwards_params p;
	struct forwarded_list *list;
	struct resolver *resolver; /* of bind addresses; made when needed */
	struct forwards_local *locals;
	struct forwards_remote *remotes;
	struct forwards_opening *openings;
	size_t unanswered; /* openings */
	struct forwards_undecided *undecided; /* the newest first */
	size_t undecided_count;
	unsigned warnings;  /* since */
	uint64_t warned_ms; /* this moment */
	struct forwards_start start;
};

/* forwards.c */
/* A line about what others have caused. */
void forwards_warn(struct forwards *f, const char *fmt, ...) printf_like(2, 3);
/* Adds to the end. */
void forwards_wait(struct forwards_waiter **list, forwards_done_fn done,
    void *arg);
/* Tells and frees all of them. */
void forwards_tell(struct forwards_waiter *list, const char *error,
    uint16_t allocated);
/* What a line of the log calls the target of a forward; to be freed. */
char *forwards_target(const struct forward_spec *s);
/* The line for a forward that was asked for. remote: connections begin at the
 * server. */
void forwards_tell_wanted(const struct forwards *f,
    const struct forward_spec *s, bool remote);
/* Frees them without a word. */
void forwards_forget(struct forwards_waiter *list);
/* The forward listens there, whatever its target is. */
bool forwards_listens(const struct forward_spec *s,
    const struct forward_endpoint *listen);

/* forwards-local.c */
void forwards_add_local(struct forwards *f, const struct forward_spec *spec,
    forwards_done_fn done, void *arg);
bool forwards_has_local(const struct forwards *f,
    const struct forward_spec *spec);
/* spec NULL: all that listen there. */
bool forwards_cancel_local(struct forwards *f, enum forward_kind kind,
    const struct forward_endpoint *listen, const struct forward_spec *spec);
void forwards_free_locals(struct forwards *f);
/* A connection that was accepted. */
struct forwards_accepted {
	int fd;
	uint16_t port; /* that it was made to; 0: to a path */
	struct listener_peer peer;
};
/* Opens a channel for it, whose fd is owned from here on. When the server has
 * accepted that, reply is written to fd; first was read from it already. */
void forwards_open(struct forwards *f, const struct forwards_accepted *a,
    const struct forwarded_target *target, struct span reply,
    struct span first);

/* forwards-remote.c */
void forwards_add_remote(struct forwards *f, const struct forward_spec *spec,
    forwards_done_fn done, void *arg);
bool forwards_has_remote(const struct forwards *f,
    const struct forward_spec *spec);
bool forwards_cancel_remote(struct forwards *f,
    const struct forward_endpoint *listen, const struct forward_spec *spec);
void forwards_free_remotes(struct forwards *f);

/* forwards-socks.c */
/* A connection that was accepted here; its fd is owned from here on. */
void forwards_decide_fd(struct forwards *f,
    const struct forwards_accepted *a);
/* A channel that the server has opened. An enum channel_answer. */
int forwards_decide_channel(struct forwards *f, struct channel *c);
void forwards_free_undecided(struct forwards *f);

#endif
