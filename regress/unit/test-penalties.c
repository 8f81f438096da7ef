/* SPDX-License-Identifier: ISC */
/* PerSourcePenalties: the table of sources, beside a simple model of it. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "regress/unit/dice.h"

#include "base/child.h"
#include "base/mem.h"
#include "base/wire.h"
#include "server/listener/penalties.h"

#define S(n) ((int64_t)(n) * 1000 * 1000)

static struct server_penalties
usual(void)
{
	const struct server_penalties conf = { .enabled = true,
		.cost_us = { [PENALTY_NOAUTH] = S(1),
		    [PENALTY_INVALID_USER] = S(5),
		    [PENALTY_AUTHFAIL] = S(5),
		    [PENALTY_REFUSED] = S(10),
		    [PENALTY_GRACE] = S(10),
		    [PENALTY_CRASH] = S(90) },
		.min_us = S(15),
		.max_us = S(600),
		.max_sources = { 65536, 65536 } };

	return conf;
}

static struct startups_source
source(uint8_t family, uint32_t n)
{
	struct startups_source s = { .family = family };

	wire_put_u32(s.bytes, n);
	return s;
}

/* How many of a class it takes until the source is refused. */
static unsigned
needed(enum penalty_class c)
{
	const struct server_penalties conf = usual();
	struct penalties *p = penalties_new(&conf);
	const struct startups_source s = source(4, 1);
	unsigned n = 0;
	int64_t rest;

	while (penalties_refuse(p, &s, S(1)) == NULL && n < 100) {
		(void)penalties_add(p, &s, c, S(1), &rest);
		n++;
	}
	assert_string_equal(penalties_refuse(p, &s, S(1)),
	    penalties_reason(c));
	penalties_free(p);
	return n;
}

/* A client whose session survives comes back over a path that resets each of
 * its logins, a hundred times, with the waits of client/survive.c for a
 * terminal: that locks nobody out. */
static void
tries_to_come_back_are_no_attack(void **state)
{
	static const int64_t first_ms[] = { 0, 250, 500, 1000 };
	const struct server_penalties conf = usual();
	struct penalties *p = penalties_new(&conf);
	const struct startups_source s = source(4, 1);
	int64_t now = S(1), rest;

	(void)state;
	for (size_t i = 0; i < 100; i++) {
		now += i < ARRAY_LEN(first_ms) ? first_ms[i] * 1000 : S(2);
		(void)penalties_add(p, &s, PENALTY_NOAUTH, now, &rest);
		assert_null(penalties_refuse(p, &s, now));
	}
	penalties_free(p);
}

static void
the_minimum_is_to_be_exceeded(void **state)
{
	(void)state;
	assert_int_equal(needed(PENALTY_NOAUTH), 16);
	assert_int_equal(needed(PENALTY_INVALID_USER), 4);
	assert_int_equal(needed(PENALTY_AUTHFAIL), 4);
	assert_int_equal(needed(PENALTY_REFUSED), 2);
	assert_int_equal(needed(PENALTY_GRACE), 2);
	assert_int_equal(needed(PENALTY_CRASH), 1);
}

static void
effects_and_time(void **state)
{
	const struct server_penalties conf = usual();
	struct penalties *p = penalties_new(&conf);
	const struct startups_source s = source(6, 1), other = source(6, 2);
	int64_t rest;

	(void)state;
	assert_int_equal(penalties_add(p, &s, PENALTY_AUTHFAIL, 0, &rest),
	    PENALTIES_DEFERRED);
	assert_int_equal(rest, S(5));
	assert_int_equal(penalties_add(p, &s, PENALTY_GRACE, S(1), &rest),
	    PENALTIES_RAISED);
	assert_int_equal(rest, S(14));
	assert_null(penalties_refuse(p, &s, S(1)));
	assert_int_equal(penalties_add(p, &s, PENALTY_AUTHFAIL, S(2), &rest),
	    PENALTIES_ACTIVATED);
	assert_int_equal(rest, S(18));
	assert_non_null(penalties_refuse(p, &s, S(2)));
	assert_null(penalties_refuse(p, &other, S(2)));
	/* Enforced to its end, not only while more than the minimum is left. */
	assert_non_null(penalties_refuse(p, &s, S(20) - 1));
	assert_null(penalties_refuse(p, &s, S(20)));
	assert_int_equal(penalties_count(p, PENALTY_IPV6), 0);
	/* Nothing is left of it then. */
	assert_int_equal(penalties_add(p, &s, PENALTY_NOAUTH, S(20), &rest),
	    PENALTIES_DEFERRED);
	assert_int_equal(penalties_add(p, &other, PENALTY_CRASH, S(20),
			     &rest),
	    PENALTIES_ENFORCED);
	for (int i = 0; i < 20; i++)
		(void)penalties_add(p, &other, PENALTY_CRASH, S(20), &rest);
	assert_int_equal(rest, S(600));
	assert_null(penalties_refuse(p, &other, S(620)));
	penalties_free(p);
}

static void
what_has_no_penalty(void **state)
{
	struct server_penalties conf = usual();
	struct penalties *p = penalties_new(&conf);
	const struct startups_source none = { .family = 0 };
	const struct startups_source s = source(4, 1);
	int64_t rest;

	(void)state;
	assert_int_equal(penalties_add(p, &none, PENALTY_CRASH, 0, &rest),
	    PENALTIES_NOTHING);
	assert_null(penalties_refuse(p, &none, 0));
	conf.cost_us[PENALTY_CRASH] = 0;
	assert_int_equal(penalties_add(p, &s, PENALTY_CRASH, 0, &rest),
	    PENALTIES_NOTHING);
	conf.cost_us[PENALTY_CRASH] = S(700);
	conf.enabled = false;
	assert_int_equal(penalties_add(p, &s, PENALTY_CRASH, 0, &rest),
	    PENALTIES_NOTHING);
	conf.enabled = true;
	assert_int_equal(penalties_add(p, &s, PENALTY_CRASH, 0, &rest),
	    PENALTIES_ENFORCED);
	assert_int_equal(rest, conf.max_us);
	assert_null(penalties_refuse(p, &s, conf.max_us));
	penalties_free(p);
}

static void
full_tables(void **state)
{
	struct server_penalties conf = usual();
	struct penalties *p;
	struct startups_source s;
	int64_t rest;

	(void)state;
	conf.max_sources[PENALTY_IPV4] = conf.max_sources[PENALTY_IPV6] = 3;
	conf.deny_all[PENALTY_IPV6] = true;
	p = penalties_new(&conf);
	for (uint32_t n = 1; n <= 4; n++)
		for (uint8_t family = 4; family <= 6; family += 2) {
			s = source(family, n);
			(void)penalties_add(p, &s, PENALTY_CRASH, S(n), &rest);
		}
	assert_int_equal(penalties_count(p, PENALTY_IPV4), 3);
	assert_int_equal(penalties_count(p, PENALTY_IPV6), 3);
	/* Permissive: the first to expire has made room for the last. */
	s = source(4, 1);
	assert_null(penalties_refuse(p, &s, S(4)));
	s = source(4, 4);
	assert_non_null(penalties_refuse(p, &s, S(4)));
	/* deny-all: no room, and nobody is let in until there is. */
	s = source(6, 9);
	assert_string_equal(penalties_refuse(p, &s, S(4)),
	    "too many penalised addresses");
	assert_null(penalties_refuse(p, &s, S(91)));
	s = source(6, 4);
	assert_null(penalties_refuse(p, &s, S(91)));
	penalties_free(p);
}

/* ---- beside a model ----------------------------------------------------- */

enum { MODEL_MAX = 16, MODEL_SOURCES = 40, STEPS = 20000 };

struct model_entry {
	struct startups_source source;
	int64_t expires_us;
	bool active;
};

/* A list in no order. */
struct model {
	struct model_entry entries[MODEL_MAX];
	size_t n, max;
};

static void
model_expire(struct model *m, int64_t now)
{
	for (size_t i = 0; i < m->n;)
		if (m->entries[i].expires_us <= now)
			m->entries[i] = m->entries[--m->n];
		else
			i++;
}

static struct model_entry *
model_find(struct model *m, const struct startups_source *s)
{
	for (size_t i = 0; i < m->n; i++)
		if (memcmp(&m->entries[i].source, s, sizeof *s) == 0)
			return &m->entries[i];
	return NULL;
}

static size_t
model_soonest(const struct model *m)
{
	size_t best = 0;

	for (size_t i = 1; i < m->n; i++)
		if (m->entries[i].expires_us < m->entries[best].expires_us)
			best = i;
	return best;
}

static void
model_add(struct model *m, const struct server_penalties *conf,
    const struct startups_source *s, int64_t cost, int64_t now)
{
	struct model_entry *e = model_find(m, s);
	size_t soonest;

	if (e == NULL) {
		if (m->n == m->max && conf->deny_all[PENALTY_IPV4])
			return;
		if (m->n == m->max) {
			soonest = model_soonest(m);
			m->entries[soonest] = m->entries[--m->n];
		}
		e = &m->entries[m->n++];
		*e = (struct model_entry){ *s, now, false };
	}
	e->expires_us += cost;
	if (e->expires_us > now + conf->max_us)
		e->expires_us = now + conf->max_us;
	if (e->expires_us - now > conf->min_us)
		e->active = true;
}

/* Every step may differ by a microsecond, so that no two expire together:
 * which of these is forgotten first is nobody's business. */
static void
agree(const struct server_penalties *conf, uint64_t seed)
{
	struct penalties *p = penalties_new(conf);
	struct model m = { .max = (size_t)conf->max_sources[PENALTY_IPV4] };
	struct dice dice = { seed };
	int64_t now = 0, rest;

	for (int i = 0; i < STEPS; i++) {
		struct startups_source s = source(4,
		    dice_below(&dice, MODEL_SOURCES));
		enum penalty_class c = dice_below(&dice, PENALTY_CLASSES);
		const struct model_entry *e;
		bool refused;

		now += 1 + dice_below(&dice, 2000000);
		model_expire(&m, now);
		if (dice_below(&dice, 3) != 0) {
			model_add(&m, conf, &s, conf->cost_us[c], now);
			(void)penalties_add(p, &s, c, now, &rest);
		}
		e = model_find(&m, &s);
		refused = (e != NULL && e->active) ||
		    (conf->deny_all[PENALTY_IPV4] && m.n == m.max);
		assert_int_equal(penalties_refuse(p, &s, now) != NULL,
		    refused);
		assert_int_equal(penalties_count(p, PENALTY_IPV4), m.n);
	}
	penalties_free(p);
}

static void
as_the_model(void **state)
{
	struct server_penalties conf = usual();

	(void)state;
	for (int max = 1; max <= MODEL_MAX; max += 5) {
		conf.max_sources[PENALTY_IPV4] = max;
		conf.deny_all[PENALTY_IPV4] = false;
		agree(&conf, (uint64_t)max);
		conf.deny_all[PENALTY_IPV4] = true;
		agree(&conf, (uint64_t)max);
	}
	conf.max_us = S(20);
	conf.deny_all[PENALTY_IPV4] = false;
	agree(&conf, 77);
}

static void
crashes(void **state)
{
	static const struct {
		int signal;
		bool crash;
	} rows[] = { { SIGABRT, true }, { SIGBUS, true }, { SIGFPE, true },
		{ SIGILL, true }, { SIGSEGV, true }, { SIGSYS, true },
		{ SIGTRAP, true }, { SIGTERM, false }, { SIGKILL, false },
		{ SIGHUP, false }, { SIGALRM, false } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(child_crashed(rows[i].signal),
		    rows[i].crash);
	assert_false(child_crashed(255 << 8)); /* an exit status */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_minimum_is_to_be_exceeded),
		cmocka_unit_test(tries_to_come_back_are_no_attack),
		cmocka_unit_test(effects_and_time),
		cmocka_unit_test(what_has_no_penalty),
		cmocka_unit_test(full_tables),
		cmocka_unit_test(as_the_model),
		cmocka_unit_test(crashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
