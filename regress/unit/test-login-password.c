/* SPDX-License-Identifier: ISC */
/* How long a refusal of a secret is put off: a busy machine, and PAM. */
#include "regress/unit/help.h"

#include <stdlib.h>

#include "base/mem.h"
#include "conf/server-conf.h"
#include "server/monitor/login.h"
#include "server/state.h"

enum { HASH_US = 20 * 1000 };

static double load;

int
getloadavg(double avg[], int n)
{
	if (load < 0)
		return -1;
	assert_int_equal(n, 1);
	avg[0] = load;
	return 1;
}

static uint64_t
floor_of(bool by_pam, bool empty_ones)
{
	struct server_state s = { .decoys = { .dearest_us = HASH_US } };
	uint64_t us;

	server_conf_init(&s.conf);
	assert_int_equal(server_conf_finish(&s.conf), 0);
	s.conf.login.use_pam = by_pam;
	s.conf.login.permit_empty_passwords = empty_ones;
	us = login_floor_us(&s);
	server_conf_clear(&s.conf);
	return us;
}

static void
load_counts(void **state)
{
	uint64_t idle_us;

	(void)state;
	load = 0;
	idle_us = floor_of(false, false);
	assert_int_equal(idle_us, HASH_US * 3 / 2);
	load = -1; /* it is not known */
	assert_int_equal(floor_of(false, false), idle_us);
	load = 1e6;
	assert_int_equal(floor_of(false, false), 8 * idle_us);
}

static void
modules_hash_more_often(void **state)
{
	uint64_t one_us;

	(void)state;
	load = 0;
	one_us = floor_of(false, false);
	assert_int_equal(floor_of(false, true), one_us);
	assert_int_equal(floor_of(true, false), 2 * one_us);
	assert_int_equal(floor_of(true, true), 4 * one_us);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(load_counts),
		cmocka_unit_test(modules_hash_more_often),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
