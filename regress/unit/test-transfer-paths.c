/* SPDX-License-Identifier: ISC */
/*
 * How many connections a copy has over paths of all kinds, in a model of them:
 * it is nowhere slower than with one connection; where one connection fills the
 * path, others there get what they get beside one; and where one does not,
 * several bring what they did.
 */
#include "regress/unit/hex.h"
#include "regress/unit/path-model.h"

#include "base/mem.h"
#include "xfer/transfer/transfer-internal.h"

#define LIMIT_S	  40.0
#define LOGIN_S	  0.15 /* and six round trips, of a further connection */
#define NEIGHBOUR 12   /* the flow that is somebody else's */

struct cell {
	double mbit, back, rtt_ms, queue, loss; /* see path_model_init() */
};

struct outcome {
	double rate;	  /* of the copy, MB/s, until its end or LIMIT_S */
	double neighbour; /* bytes that the other one got meanwhile */
	double trip_s;	  /* mean round trip, from two seconds on */
	unsigned use;	  /* connections that took work in the end */
	double fills;	  /* share of the path's rate that the copy had */
};

/* A copy of so many bytes, and how it is made. */
struct copy {
	struct path_model path;
	struct xfer_growth growth;
	double bytes, sample_s, sample_bytes, start_s[PATH_FLOWS];
	unsigned wanted, opened, max;
	bool blind; /* there is no TCP_INFO */
	unsigned seed;
};

static double
moved(const struct copy *c)
{
	double sum = 0;

	for (int i = 0; i < NEIGHBOUR; i++)
		sum += c->path.flow[i].moved;
	return sum;
}

static void
add(struct copy *c, unsigned n, double delay_s)
{
	while (n-- > 0 && c->opened < NEIGHBOUR)
		c->start_s[c->opened++] = c->path.now_s + delay_s;
}

/* The fastest take work, and the others idle. */
static void
choose(struct copy *c)
{
	unsigned up = 0, use = c->max != 0 ? c->max : MAX(c->growth.use, 1u);
	struct path_flow *least, *f;

	for (unsigned i = 0; i < c->opened; i++)
		up += c->path.flow[i].on;
	for (unsigned i = 0; i < c->opened && up < use; i++)
		if (!c->path.flow[i].on && c->path.now_s >= c->start_s[i]) {
			path_flow_start(&c->path, &c->path.flow[i]);
			up++;
		}
	for (; up > use; up--) {
		least = NULL;
		for (unsigned i = 0; i < c->opened; i++) {
			f = &c->path.flow[i];
			if (f->on && (least == NULL ||
			    f->window < least->window))
				least = f;
		}
		path_flow_stop(&c->path, least);
	}
}

static struct xfer_sample
sample(const struct copy *c, double took_s)
{
	struct xfer_sample s = { .now_ms = (uint64_t)(c->path.now_s * 1000),
		.rtt_ms = (uint64_t)(c->path.base_s * 1000) + 1,
		.max = c->max };
	double trip = 0, left = c->bytes - moved(c), top = 0, sum = 0;

	for (unsigned i = 0; i < c->opened; i++) {
		const struct path_flow *f = &c->path.flow[i];

		s.connections += f->moved > 0;
		s.ready += c->path.now_s >= c->start_s[i];
		if (!f->on)
			continue;
		top = MAX(top, f->window);
		sum += f->window;
		if (f->moved <= 0 || c->blind)
			continue;
		if (trip <= 0 || f->trip_s < trip)
			trip = f->trip_s;
		if (s.least_us == 0 || f->least_s * 1e6 < (double)s.least_us)
			s.least_us = (uint64_t)(f->least_s * 1e6);
	}
	s.trip_us = (uint64_t)(trip * 1e6);
	s.top = sum > 0 ? top / sum : 0;
	s.rate = (moved(c) - c->sample_bytes) / took_s;
	s.in_trip = c->blind ? 0 : s.rate * c->path.base_s;
	s.tcp_window = c->blind ? 0 :
	    (uint64_t)UINT16_MAX << (c->path.flow[0].most > 0 ? 7 : 10);
	s.bulk_left = left > 0 ? (uint64_t)left : 0;
	s.seconds_left = s.rate > 0 ? left / s.rate : 0;
	return s;
}

static void
measure(struct copy *c)
{
	double took_s = c->path.now_s - c->sample_s;
	struct xfer_sample s;

	if (took_s < MAX(0.1, c->path.base_s))
		return;
	s = sample(c, took_s);
	add(c, xfer_growth_next(&c->growth, &s),
	    6 * c->path.base_s + LOGIN_S);
	c->sample_s = c->path.now_s;
	c->sample_bytes = moved(c);
}

/* As xfer_streams_grow() has the first ones before there is data. */
static void
open_early(struct copy *c)
{
	uint64_t trip_us = (uint64_t)(c->path.base_s * 1e6);
	uint64_t bytes = (uint64_t)c->bytes;
	unsigned early = xfer_streams_early(trip_us, bytes, 0);

	if (c->max == 0 && !c->blind && early > 0 &&
	    xfer_login_pays(trip_us / 1000, bytes))
		add(c, xfer_growth_begin(&c->growth, early), 5 *
		    c->path.base_s);
}

/* Until all is copied, or until_s. The neighbour comes at neighbour_s. */
static struct outcome
run(const struct cell *at, struct copy *c, double neighbour_s, double until_s)
{
	double step, sum = 0, most = c->path.flow[0].most;
	struct outcome o = { 0 };

	path_model_init(&c->path, at->mbit, at->back, at->rtt_ms, at->queue,
	    at->loss, c->seed);
	for (int i = 0; i < NEIGHBOUR; i++)
		c->path.flow[i].most = most;
	step = path_model_step_s(&c->path);
	add(c, 1, 0);
	open_early(c);
	while (moved(c) < c->bytes && c->path.now_s < until_s) {
		choose(c);
		if (c->path.now_s >= neighbour_s)
			path_flow_start(&c->path, &c->path.flow[NEIGHBOUR]);
		path_model_turn(&c->path, step);
		measure(c);
		if (c->path.now_s > 2)
			sum += step * (c->path.base_s + c->path.queue /
			    c->path.rate);
	}
	o.rate = moved(c) / c->path.now_s / 1e6;
	o.neighbour = c->path.flow[NEIGHBOUR].moved;
	o.trip_s = sum / MAX(c->path.now_s - 2, step);
	for (unsigned i = 0; i < c->opened; i++)
		o.use += c->path.flow[i].on;
	o.fills = o.rate * 1e6 / PATH_MSS / c->path.rate;
	return o;
}

/* ---- cells -------------------------------------------------------------- */

static const double rates[] = { 1, 10, 100, 1000 };
static const double trips[] = { 1, 10, 40, 100, 300, 600 };
static const double queues[] = { 0.1, 0.5, 1, 5 };
static const double losses[] = { 0, 1e-4, 1e-2 };
/* Of the way back: all that is needed, or what acknowledgements just fit. */
static const double backs[] = { 1, 0.006 };

enum {
	CELLS = ARRAY_LEN(rates) * ARRAY_LEN(trips) * ARRAY_LEN(queues) *
	    ARRAY_LEN(losses) * ARRAY_LEN(backs),
	SEEDS = 3,
};

/* False: that is another one once more. On short paths there are never more
 * connections, whatever the queue. */
static bool
cell(size_t n, struct cell *out)
{
	struct cell c = { .back = backs[n % ARRAY_LEN(backs)] };

	n /= ARRAY_LEN(backs);
	c.loss = losses[n % ARRAY_LEN(losses)];
	n /= ARRAY_LEN(losses);
	c.queue = queues[n % ARRAY_LEN(queues)];
	n /= ARRAY_LEN(queues);
	c.rtt_ms = trips[n % ARRAY_LEN(trips)];
	c.mbit = rates[n / ARRAY_LEN(trips)];
	*out = c;
	out->back *= c.mbit;
	return c.queue == 1 || (c.back == 1 && c.rtt_ms > 1);
}

static void
tell(const struct cell *c, const char *what, double ours, double theirs)
{
	print_error("%g Mbit/s (back %g) x %g ms, queue %g, loss %g: %s %.2f, "
		    "with one connection %.2f\n", c->mbit, c->back, c->rtt_ms,
	    c->queue, c->loss, what, ours, theirs);
}

/* Some seconds' worth; on slow paths less than what several connections are
 * for. */
static double
size_for(const struct cell *c)
{
	return MIN(MAX(c->mbit * 1e6, 2e6 + 18e6 * (c->mbit >= 10)), 200e6);
}

/* ---- tests -------------------------------------------------------------- */

/* The mean of some, where chance matters. */
static struct outcome
copied(const struct cell *at, struct copy how)
{
	unsigned seeds = at->loss > 0 ? SEEDS : 1;
	struct outcome sum = { 0 }, o;

	for (unsigned seed = 1; seed <= seeds; seed++) {
		struct copy c = how;

		c.seed = seed;
		c.bytes = size_for(at);
		o = run(at, &c, LIMIT_S, LIMIT_S);
		sum.rate += o.rate / seeds;
		sum.fills += o.fills / seeds;
	}
	return sum;
}

static struct outcome
copied_by_one(const struct cell *at)
{
	return copied(at, (struct copy){ .max = 1 });
}

static struct outcome
copied_by_stock(const struct cell *at)
{
	return copied(at, (struct copy){ .max = 1,
		.path.flow[0].most = (2 << 20) / PATH_MSS });
}

static void
test_never_slower(void **state)
{
	unsigned slower = 0;

	(void)state;
	for (size_t n = 0; n < CELLS; n++) {
		struct cell c;

		if (!cell(n, &c))
			continue;
		double one = copied_by_one(&c).rate;
		double ours = copied(&c, (struct copy){ 0 }).rate;
		double blind = copied(&c, (struct copy){ .blind = true })
		    .rate;

		if (1.05 * ours < one) {
			tell(&c, "MB/s", ours, one);
			slower++;
		}
		if (1.05 * blind < one) {
			tell(&c, "MB/s by rates alone", blind, one);
			slower++;
		}
		if (1.05 * ours < copied_by_stock(&c).rate) {
			tell(&c, "MB/s, less than stock's", ours, one);
			slower++;
		}
	}
	assert_int_equal(slower, 0);
}

static struct outcome
shared(const struct cell *at, unsigned max)
{
	struct outcome sum = { 0 }, o;

	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		struct copy c = { .max = max, .seed = seed,
			.bytes = at->mbit * 8e6 };

		o = run(at, &c, 10, 40);
		sum.neighbour += o.neighbour / 1e6;
		sum.trip_s += o.trip_s / SEEDS;
		sum.use = MAX(sum.use, o.use);
	}
	return sum;
}

/* On a path that one connection fills only one takes work, so that somebody
 * else's gets what it gets beside one, and a round trip is as long. A queue
 * below half a round trip is too short to be told from none. */
static void
test_neighbours(void **state)
{
	unsigned worse = 0, cells = 0;
	double ratios = 0;

	(void)state;
	for (size_t n = 0; n < CELLS; n++) {
		struct outcome one, ours;
		struct cell c;

		if (!cell(n, &c) || c.queue < 0.5 || c.loss > 0 ||
		    c.rtt_ms > 100 || copied_by_one(&c).fills < 0.9)
			continue;
		cells++;
		one = shared(&c, 1);
		ours = shared(&c, 0);
		ratios += c.mbit * c.rtt_ms < 5e4 ?
		    ours.neighbour / one.neighbour : 1;
		/* With thousands of packets under way it is chance who has
		 * more, for minutes. */
		if (ours.use > 1 || (c.mbit * c.rtt_ms < 5e4 &&
		    ours.neighbour < 0.75 * one.neighbour)) {
			tell(&c, "neighbour's MB", ours.neighbour,
			    one.neighbour);
			worse++;
		}
		if (ours.trip_s > 1.1 * one.trip_s) {
			tell(&c, "round trip", ours.trip_s, one.trip_s);
			worse++;
		}
	}
	assert_int_equal(worse, 0);
	assert_true(cells > 30);
	assert_true(ratios > 0.97 * cells);
}

/* What several connections are for. */
static void
test_gain(void **state)
{
	unsigned less = 0, cells = 0;

	(void)state;
	for (size_t n = 0; n < CELLS; n++) {
		struct outcome one, ours;
		struct cell c;

		if (!cell(n, &c) || c.loss <= 0 || c.rtt_ms < 10 ||
		    c.mbit < 10 || (one = copied_by_one(&c)).fills > 0.4)
			continue;
		cells++;
		ours = copied(&c, (struct copy){ 0 });
		if (ours.rate < 1.4 * one.rate) {
			tell(&c, "MB/s", ours.rate, one.rate);
			less++;
		}
	}
	assert_int_equal(less, 0);
	assert_true(cells > 50);
}

/* Buffers that hold a part of what is on the way, as they are where nobody has
 * made them larger: those that join do it while the first one is still slow. */
static void
test_small_buffers(void **state)
{
	const struct cell at = { 1000, 1000, 100, 1, 0 };
	const struct copy how = { .bytes = 60e6, .seed = 1,
		.path.flow[0].most = (4 << 20) / PATH_MSS };
	struct copy ours = how, four = how;
	double rate, at_once;

	(void)state;
	four.max = 4;
	rate = run(&at, &ours, LIMIT_S, LIMIT_S).rate;
	at_once = run(&at, &four, LIMIT_S, LIMIT_S).rate;
	if (rate < 0.9 * at_once)
		tell(&at, "MB/s", rate, at_once);
	assert_true(rate >= 0.9 * at_once);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_slower),
		cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_gain),
		cmocka_unit_test(test_small_buffers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
