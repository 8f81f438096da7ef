/* SPDX-License-Identifier: ISC */
/*
 * Our channels and a server's over a socketpair, one channel of our own
 * between them, and an owner of foreign ones; what it may say. All of it fails
 * the test that runs when it cannot do its work, or when one of the two ends
 * the connection.
 */
#ifndef HPN_REGRESS_UNIT_FOREIGN_HOST_H
#define HPN_REGRESS_UNIT_FOREIGN_HOST_H

#include "base/loop.h"
#include "client/mux/mux-foreign.h"
#include "packet.h"

enum {
	FAR_WINDOW = 64 * 1024, /* that both sides give */
	FAR_PACKET = 16 * 1024,
	FAR_PORT = 4000, /* that the server picks, at "here" */
	FAR_MAX = 2048,
	INBOX_MAX = 64,
};

/* What came for the owner. */
struct letter {
	struct buf b;
	struct rd r; /* behind its type */
	uint8_t type;
};

struct foreign_world {
	struct channels *near, *far;
	struct channel *far_channel[FAR_MAX]; /* the first one is our own's */
	unsigned far_eofs, far_requests, cancels;
	bool answers_later; /* to tcpip-forward: the test gives owed */
	struct channels_owed *owed;
	struct channel *own;
	struct foreign *owner;
	struct letter inbox[INBOX_MAX];
	size_t inbox_count;
};
extern struct foreign_world w;

int setup(void **state);
/* Checks that our own channel works, and that no other is left. */
int teardown(void **state);
/* For a connection that was settled. */
int teardown_lost(void **state);
void run(int turns);
struct foreign *new_owner(void);
void empty_inbox(void);
/* Our own channel still carries what it is given. */
void check_own(void);
/* The server opens a channel for somebody who came to its port. */
struct channel *come_to(const char *host, uint32_t port);

/* What the owner f says. b is cleared. */
int foreign_say(struct foreign *f, struct buf *b);
int say_numbers(struct foreign *f, uint8_t type, const uint32_t *v, size_t n);
int say_open(struct foreign *f, const char *type, uint32_t number);
int say_data(struct foreign *f, uint32_t id, size_t len);
int say_request(struct foreign *f, uint32_t id, const char *name, bool reply);
int say_global(struct foreign *f, const char *name, const char *host,
    uint32_t port, bool reply);
/* A type and numbers. */
#define SAY(f, type, ...)                                                    \
	say_numbers(f, type, (const uint32_t[]){ __VA_ARGS__ },              \
	    sizeof(const uint32_t[]){ __VA_ARGS__ } / sizeof(uint32_t))

/* The only message that came has this type, and is for this number of the
 * owner; what is behind that. Its bytes are w.inbox[0].b, to be cleared. */
struct rd expect(uint8_t type, uint32_t number);
/* And there is nothing. */
void expect_only(uint8_t type, uint32_t number);
/* An open channel; its number as the owner knows it. */
uint32_t open_channel(struct foreign *f, uint32_t number);
/* The server listens at "here" for w.owner. */
void listen_for_owner(void);
/* Somebody came there: the number of the OPEN that is all that came. */
uint32_t offered_channel(void);

#endif
