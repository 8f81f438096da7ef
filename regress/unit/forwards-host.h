/* SPDX-License-Identifier: ISC */
/*
 * The forwards of a client, and a server for them in the same loop that does
 * what the test wants, for tests of client/forwards/forwards*. All of it fails
 * the test that runs when it cannot do its work.
 */
#ifndef HPN_REGRESS_UNIT_FORWARDS_HOST_H
#define HPN_REGRESS_UNIT_FORWARDS_HOST_H

#include "base/err.h"
#include "channels.h"
#include "client/common/uses.h"
#include "client/forwards/forwards-internal.h"

enum { HELD_MAX = 512 };

/* The client, near. */
struct test_client {
	struct client_conf conf;
	struct uses uses;
	struct forwards *forwards;
};

/* The server, far. */
struct test_server {
	bool refuses; /* requests to listen, and to connect */
	bool holds; /* does not answer opens, but collects them */
	uint32_t gives_port; /* for port 0 */
	struct channel *held[HELD_MAX];
	size_t held_count;
	uint32_t refused_with; /* the reason of the client's last refusal */
	int opened, closed; /* channels, whoever has opened them */
	int pipe[2]; /* the channels are tied to pipe[1] */
};

extern struct test_client near;
extern struct test_server far;
/* What the server was asked for, what was logged, and what became of forwards:
 * a line for each. */
extern char said[4096];

/* Of cmocka: before and after each test. */
int forwards_setup(void **state);
int forwards_teardown(void **state);
/* As setup does it. distrusted: the host's key is not the known one. */
void client_begins(bool distrusted);
/* A forward as the user writes it; name: who is told in said. */
void client_adds(enum forward_kind kind, const char *text, char *name);
/* False: there was no such forward. */
bool client_cancels(enum forward_kind kind, const char *text);

/* The server opens a channel; path NULL: an address and a port. */
void server_opens(const char *address, uint32_t port, const char *path);
/* A channel that was held is accepted: an enum channel_answer. */
int server_accepts(struct channel *c);
void say(const char *fmt, ...) printf_like(1, 2);

/* So many turns of both that all has arrived that was sent. */
void run_both(void);
/* Runs, compares all of said and clears it. */
void expect_said(const char *text);
/* What arrives at fd, until want is there, or (NULL) its end. */
void expect_bytes(int fd, const char *want);

/* A TCP socket with a free port of the loopback. */
int bound_socket(uint16_t *port, bool listens);
int connect_to(uint16_t port);
/* A free port that is listened on by a forward with this target. */
uint16_t listen_here(enum forward_kind kind, const char *target);

#endif
