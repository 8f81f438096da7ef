/* SPDX-License-Identifier: ISC */
/*
 * Two connection layers over a socketpair in one loop, for tests of channels:
 * one end opens sessions, the other accepts them. All of it fails the test
 * that runs when it cannot do its work.
 */
#ifndef HPN_REGRESS_UNIT_CHANNELS_HOST_H
#define HPN_REGRESS_UNIT_CHANNELS_HOST_H

#include "base/loop.h"
#include "channels.h"
#include "packet.h"

struct end {
	struct packet *packet;
	struct channels *chs;
	struct channel *ch;
	char refused_text[64];
	int opened, refused, eofs, closed, sink_errors, requests;
	uint32_t window, max_packet;
	bool defers; /* the accepting side calls world_accept() later */
	int fds[4]; /* for the accepting side: source, sink, ext source... */
};

struct world {
	struct loop *loop;
	int sock[2];
	struct end a, b; /* a opens, b accepts */
};

/* Counts what happens, in the struct end that it is given. */
extern const struct channel_ops world_ops;

void world_open(struct world *w);
void world_close(struct world *w);
/* So many turns of both ends; the first error of a layer. */
int world_run(struct world *w, int turns);
/* a opens a channel of type session. */
void world_open_session(struct world *w);
/* e accepts the channel that it was asked for; an enum channel_answer. */
int world_accept(struct end *e);
size_t channels_alive(const struct channels *chs);

#endif
