/* SPDX-License-Identifier: ISC */
#include "regress/unit/path-model.h"

#include "base/mem.h"

#define BETA	     0.7 /* what is left of a window after a loss */
#define CUBIC	     0.4
#define WINDOW_FIRST 10.0
#define WINDOW_LEAST 2.0
#define IDLE_S	     0.5 /* until slow start begins again */
#define BURST	     16.0 /* packets that any queue takes */

void
path_model_init(struct path_model *p, double mbit, double back, double rtt_ms,
    double queue, double loss, unsigned seed)
{
	double rate = mbit * 1e6 / 8 / (PATH_MSS + 52);

	/* One acknowledgement for two packets. */
	rate = MIN(rate, back * 1e6 / 8 / 52 * 2);

	*p = (struct path_model){ .rate = rate, .base_s = rtt_ms / 1000,
		.loss = loss, .dice = { seed } };
	p->queue_max = MAX(queue * rate * p->base_s, BURST);
}

static double
cube(double x)
{
	return x * x * x;
}

static double
cube_root(double x)
{
	double r = MAX(x, 1);

	for (int i = 0; i < 40; i++)
		r = (2 * r + x / (r * r)) / 3;
	return x > 0 ? r : 0;
}

/* That one or more are lost, of which there are so many in the mean. */
static double
some_lost(double lost)
{
	return 1 - 1 / (1 + lost + lost * lost / 2);
}

static double
chance(struct path_model *p)
{
	return dice_below(&p->dice, 1u << 30) / (double)(1u << 30);
}

void
path_flow_start(struct path_model *p, struct path_flow *f)
{
	if (f->on)
		return;
	if (f->window <= 0 || p->now_s - f->idle_since_s > IDLE_S) {
		f->window = WINDOW_FIRST;
		f->slow_start = f->top <= 0 || f->window < f->top;
	}
	f->epoch_s = p->now_s;
	f->on = true;
}

void
path_flow_stop(struct path_model *p, struct path_flow *f)
{
	f->on = false;
	f->idle_since_s = p->now_s;
}

double
path_model_step_s(const struct path_model *p)
{
	return MAX(p->base_s / 6, 0.002);
}

static double
under_way(const struct path_flow *f)
{
	return !f->on ? 0 : f->most > 0 ? MIN(f->window, f->most) : f->window;
}

static void
lose(struct path_model *p, struct path_flow *f, double trip_s)
{
	if (p->now_s < f->deaf_until_s)
		return;
	f->top = f->window < f->top ? f->window * (1 + BETA) / 2 : f->window;
	f->window = MAX(f->window * BETA, WINDOW_LEAST);
	f->plateau_s = cube_root(MAX(f->top - f->window, 0) / CUBIC);
	f->epoch_s = p->now_s;
	f->slow_start = false;
	f->deaf_until_s = p->now_s + trip_s;
}

/* acks: packets that were acknowledged in this step. */
static void
grow(struct path_model *p, struct path_flow *f, double acks, double trip_s)
{
	double t = p->now_s - f->epoch_s + trip_s, want, reno;
	double delay = trip_s - p->base_s;
	double bound = MIN(MAX(p->base_s / 8, 0.004), 0.016);

	if (f->most > 0 && f->window > 2 * f->most)
		return;
	if (f->slow_start) {
		f->window += acks;
		if (f->window < WINDOW_LEAST * 8 || delay <= bound)
			return;
		f->slow_start = false;
		f->top = f->window;
		f->plateau_s = 0;
		f->epoch_s = p->now_s;
		return;
	}
	want = f->top + CUBIC * cube(t - f->plateau_s);
	reno = f->top * BETA + 3 * (1 - BETA) / (1 + BETA) * t / trip_s;
	want = MAX(want, reno);
	if (want > f->window)
		f->window += MIN((want - f->window) / f->window, 0.5) * acks;
}

static void
flow_turn(struct path_model *p, struct path_flow *f, double sent, double acks,
    double dropped, double trip_s, double step_s)
{
	double lost = sent * p->loss + dropped;

	f->moved += MAX(acks * (1 - p->loss), 0) * PATH_MSS;
	if (f->trip_s <= 0)
		f->trip_s = trip_s;
	f->trip_s += (trip_s - f->trip_s) * MIN(step_s / p->base_s, 1);
	if (f->least_s <= 0 || trip_s < f->least_s)
		f->least_s = trip_s;
	grow(p, f, acks, trip_s);
	if (lost > 0 && chance(p) < some_lost(lost))
		lose(p, f, trip_s);
}

void
path_model_turn(struct path_model *p, double step_s)
{
	double trip_s = p->base_s + p->queue / p->rate, sent = 0, out, dropped;
	double queued;

	for (int i = 0; i < PATH_FLOWS; i++)
		sent += under_way(&p->flow[i]) / trip_s * step_s;
	out = MIN(p->queue + sent, p->rate * step_s);
	queued = p->queue + sent - out;
	dropped = MAX(queued - p->queue_max, 0);
	p->queue = queued - dropped;
	for (int i = 0; i < PATH_FLOWS; i++) {
		struct path_flow *f = &p->flow[i];
		double own = under_way(f) / trip_s * step_s;

		if (own > 0)
			flow_turn(p, f, own, out * own / sent,
			    dropped * own / sent, trip_s, step_s);
	}
	p->now_s += step_s;
}
