/* SPDX-License-Identifier: ISC */
/*
 * A model of a path that TCP connections share: one bottleneck with a rate, a
 * delay, a queue of limited length and random losses. Data is a fluid; the
 * windows of the connections grow and shrink as CUBIC's do, slow start with
 * its end by delay (HyStart) included. The same story for the same seed.
 */
#ifndef HPN_REGRESS_UNIT_PATH_MODEL_H
#define HPN_REGRESS_UNIT_PATH_MODEL_H

#include <stdbool.h>

#include "regress/unit/dice.h"

enum { PATH_FLOWS = 13, PATH_MSS = 1448 };

struct path_flow {
	bool on;	/* it has data to send */
	double most;	/* packets under way at most; 0: as many as it likes */
	double window;	/* packets */
	double moved;	/* bytes in all */
	double trip_s;	/* smoothed round trip, as its end knows it */
	double least_s; /* the shortest; 0: unknown */
	/* CUBIC's */
	bool slow_start;
	double top, epoch_s, plateau_s, deaf_until_s, idle_since_s;
};

struct path_model {
	double rate;   /* packets a second */
	double base_s; /* round trip without a queue */
	double queue_max, queue; /* packets */
	double loss;	/* probability of a packet */
	double now_s;
	struct dice dice;
	struct path_flow flow[PATH_FLOWS];
};

/* mbit: of the bottleneck; back: of the way back, which acknowledgements take.
 * queue: in products of bandwidth and delay. */
void path_model_init(struct path_model *p, double mbit, double back,
    double rtt_ms, double queue, double loss, unsigned seed);
/* Begins to send, from slow start if it was idle for long. */
void path_flow_start(struct path_model *p, struct path_flow *f);
void path_flow_stop(struct path_model *p, struct path_flow *f);
/* How long steps are that show what happens in a round trip. */
double path_model_step_s(const struct path_model *p);
void path_model_turn(struct path_model *p, double step_s);

#endif
