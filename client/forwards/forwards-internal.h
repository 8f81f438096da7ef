/* SPDX-License-Identifier: ISC */
/*
 * What the forwards*.c files share: forwards that listen on this host
 * (forwards-local.c), forwards that the server listens on (forwards-remote.c),
 * and connections that have yet to tell their target by SOCKS
 * (forwards-socks.c).
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_FORWARDS_FORWARDS_INTERNAL_H
#define HPN_CLIENT_FORWARDS_FORWARDS_INTERNAL_H

#include "base/resolve.h"
#include "base/wire.h"
#include "client/forwards/forwards.h"
#include "compat/queue.h"
#include "forward/forwarded.h"
#include "forward/listeners.h"

enum {
	/* Channels that we opened and the server has not answered. While there
	 * are so many, no more connections are accepted. */
	FORWARDS_UNANSWERED_MAX = 128,
	/* Connections that have not told their target yet. If one more comes,
	 * the oldest is closed. Each has FORWARDS_UNDECIDED_MS to tell it. */
	FORWARDS_UNDECIDED_MAX = 128,
	FORWARDS_UNDECIDED_MS = 2 * 60 * 1000,
	/* Log lines that other hosts or users can cause: at most MAX in MS are
	 * shown to the user. */
	FORWARDS_WARNINGS_MAX = 16,
	FORWARDS_WARNINGS_MS = 60 * 1000,
};

/* A list of callbacks that are told whether a forward could be made. */
struct forwards_waiter {
	struct forwards_waiter *next;
	forwards_done_fn done;
	void *arg;
};

struct forwards_local;	   /* -L, -D */
struct forwards_remote;	   /* -R */
/* A connection that was accepted, while the server has not answered its
 * channel's OPEN. */
struct forwards_opening;
/* A connection that was accepted and has not told its target. */
struct forwards_undecided;

/* The progress of starting the forwards of the configuration. */
struct forwards_start {
	struct forwards_item *items;
	size_t left; /* forwards that have neither succeeded nor failed */
	size_t locals, locals_failed;
	bool asked;  /* the server was asked for those of -R */
	bool failed; /* one failed, with ExitOnForwardFailure */
	bool over;   /* done() was called */
	void (*done)(void *arg, bool failed);
	void *arg;
};

struct forwards {
	struct forwards_params p;
	struct forwarded_list *list;
	/* For bind addresses; made when first needed. */
	struct resolver *resolver;
	TAILQ_HEAD(forwards_locals, forwards_local) locals;
	TAILQ_HEAD(forwards_remotes, forwards_remote) remotes;
	TAILQ_HEAD(forwards_openings, forwards_opening) openings;
	size_t unanswered; /* number of openings */
	/* The newest first. */
	TAILQ_HEAD(forwards_undecided_list, forwards_undecided) undecided;
	size_t undecided_count;
	unsigned warnings;  /* lines of forwards_warn() since warned_ms */
	uint64_t warned_ms; /* on clock_ms() */
	struct forwards_start start;
};

/* forwards.c */
/* Logs a line about something that other hosts or users have caused; limited in
 * number (FORWARDS_WARNINGS_MAX). */
void forwards_warn(struct forwards *f, const char *fmt, ...) printf_like(2, 3);
/* Adds a waiter to the end of the list, unless done is NULL. */
void forwards_wait(struct forwards_waiter **list, forwards_done_fn done,
    void *arg);
/* Calls done() of each waiter, and frees the list. */
void forwards_tell(struct forwards_waiter *list, const char *error,
    uint16_t allocated);
/* The target of a forward, as lines of the log name it. Caller frees. */
char *forwards_target(const struct forward_spec *s);
/* Logs that a forward was asked for. remote: the connections that it forwards
 * are made at the server (-R). */
void forwards_tell_wanted(const struct forwards *f,
    const struct forward_spec *s, bool remote);
/* Frees the list without calling done(). */
void forwards_forget(struct forwards_waiter *list);
/* True if the forward listens at this endpoint, whatever its target is. */
bool forwards_listens(const struct forward_spec *s,
    const struct forward_endpoint *listen);

/* forwards-local.c */
void forwards_add_local(struct forwards *f, const struct forward_spec *spec,
    forwards_done_fn done, void *arg);
bool forwards_has_local(const struct forwards *f,
    const struct forward_spec *spec);
/* Ends the forward that equals spec; if spec is NULL, all of this kind that
 * listen at this endpoint. True: there was one. */
bool forwards_cancel_local(struct forwards *f, enum forward_kind kind,
    const struct forward_endpoint *listen, const struct forward_spec *spec);
void forwards_free_locals(struct forwards *f);
/* A connection that a listener of ours accepted. */
struct forwards_accepted {
	int fd;
	/* Port that it was made to; 0: the listener is at a path. */
	uint16_t port;
	struct listener_peer peer;
};
/* Opens a channel for an accepted connection; a->fd is owned by the forwards
 * from here on. Once the server has accepted the channel, reply is written to
 * a->fd. first was read from a->fd already, and is sent first. */
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
/* Reads by SOCKS which target an accepted connection wants; a->fd is owned by
 * the forwards from here on. */
void forwards_decide_fd(struct forwards *f,
    const struct forwards_accepted *a);
/* As forwards_decide_fd(), for a channel that the server has opened. Returns an
 * enum channel_answer. */
int forwards_decide_channel(struct forwards *f, struct channel *c);
void forwards_free_undecided(struct forwards *f);

#endif
