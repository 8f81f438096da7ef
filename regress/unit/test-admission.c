/* SPDX-License-Identifier: ISC */
/* Which connections are refused, and the lines about it. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "regress/unit/help.h"
#include "server/listener/admission.h"

#define S(n) ((int64_t)(n) * 1000 * 1000)

/* A configuration of these lines, as finished. */
static void
configure(struct server_conf *c, const char *const *lines, size_t n)
{
	server_conf_init(c);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(server_conf_set_option(c, lines[i]), 0);
	assert_int_equal(server_conf_finish(c), 0);
}

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} u;
	socklen_t len;
};

static struct address
address(const char *text)
{
	struct address a = { .len = sizeof a.u.four };

	if (inet_pton(AF_INET, text, &a.u.four.sin_addr) == 1) {
		a.u.four.sin_family = AF_INET;
		a.u.four.sin_port = htons(17);
		return a;
	}
	a.len = sizeof a.u.six;
	assert_int_equal(inet_pton(AF_INET6, text, &a.u.six.sin6_addr), 1);
	a.u.six.sin6_family = AF_INET6;
	a.u.six.sin6_port = htons(17);
	return a;
}

static bool
refused(struct admission *a, const char *text, int startups, int64_t now)
{
	struct address from = address(text);
	struct admission_peer peer = admission_peer_of(a, &from.u.any,
	    from.len);
	const struct admission_load load = { .startups = startups,
		.same_source = startups };

	return NULL != admission_refuses(a, -1, &from.u.any, from.len, &peer,
	    &load,
	    now);
}

static void
penalise(struct admission *a, const char *text, enum penalty_class c,
    int64_t now)
{
	struct address from = address(text);
	struct admission_peer peer = admission_peer_of(a, &from.u.any,
	    from.len);

	admission_penalise(a, &peer, c, now);
}

static void
lines_of_penalties(void **state)
{
	struct server_conf c;
	struct admission *a;

	(void)state;
	configure(&c, NULL, 0);
	a = admission_new(&c);
	log_set_level(LOG_LVL_INFO);
	messages_forget();
	penalise(a, "192.0.2.7", PENALTY_AUTHFAIL, S(10));
	assert_text(messages, ""); /* it is for VERBOSE */
	log_set_level(LOG_LVL_VERBOSE);
	penalise(a, "2001:db8::1", PENALTY_AUTHFAIL, S(10));
	assert_text(messages, "srclimit_penalise: ipv6: new 2001:db8::1/128 "
	    "deferred penalty of 5.000 seconds for penalty: failed "
	    "authentication\n");
	log_set_level(LOG_LVL_INFO);
	messages_forget();
	penalise(a, "192.0.2.8", PENALTY_CRASH, S(10));
	assert_text(messages, "srclimit_penalise: ipv4: new 192.0.2.8/32 "
	    "active penalty of 90.000 seconds for penalty: caused crash\n");
	messages_forget();
	penalise(a, "192.0.2.7", PENALTY_REFUSED, S(10) + 250000);
	assert_text(messages, "");
	penalise(a, "192.0.2.7", PENALTY_NOAUTH, S(10) + 250000);
	assert_text(messages, "srclimit_penalise: 192.0.2.7/32: activating "
	    "ipv4 penalty of 15.750 seconds for penalty: connections without "
	    "attempting authentication\n");
	messages_forget();
	assert_false(refused(a, "192.0.2.6", 0, S(11)));
	assert_true(refused(a, "192.0.2.7", 5, S(11)));
	assert_text(messages, "drop connection #5 from [192.0.2.7]:17 on "
	    "[UNKNOWN]:65535 penalty: connections without attempting "
	    "authentication\n");
	admission_free(a);
	server_conf_clear(&c);
}

static void
networks_and_exemptions(void **state)
{
	static const char *const lines[] = { "PerSourceNetBlockSize=24:64",
		"PerSourcePenaltyExemptList=192.0.2.9,10.0.0.0/8,2001:*" };
	struct server_conf c;
	struct admission *a;

	(void)state;
	configure(&c, lines, ARRAY_LEN(lines));
	a = admission_new(&c);
	messages_forget();
	penalise(a, "192.0.2.7", PENALTY_CRASH, S(1));
	assert_non_null(strstr(messages, "ipv4: new 192.0.2.0/24 active"));
	messages_forget();
	penalise(a, "10.1.2.3", PENALTY_CRASH, S(1));
	penalise(a, "2001:db8::1", PENALTY_CRASH, S(1));
	penalise(a, "::ffff:10.0.0.1", PENALTY_CRASH, S(1));
	assert_text(messages, "");
	assert_true(refused(a, "192.0.2.8", 0, S(2)));
	assert_true(refused(a, "::ffff:192.0.2.8", 0, S(2)));
	assert_false(refused(a, "192.0.3.8", 0, S(2)));
	assert_false(refused(a, "192.0.2.9", 0, S(2)));
	assert_false(refused(a, "10.1.2.3", 0, S(2)));
	assert_false(refused(a, "2001:db8::1", 0, S(2)));
	admission_free(a);
	server_conf_clear(&c);
}

static unsigned
lines_logged(void)
{
	unsigned n = 0;

	for (const char *s = messages; *s != '\0'; s++)
		n += *s == '\n';
	messages_forget();
	return n;
}

static void
floods_are_not_logged(void **state)
{
	static const char *const lines[] = { "MaxStartups=1" };
	struct server_conf c;
	struct admission *a;

	(void)state;
	configure(&c, lines, ARRAY_LEN(lines));
	a = admission_new(&c);
	messages_forget();
	for (int i = 0; i < 100; i++)
		assert_true(refused(a, "192.0.2.7", 1, S(5)));
	assert_int_equal(lines_logged(), 3);
	penalise(a, "192.0.2.8", PENALTY_CRASH, S(5));
	messages_forget();
	for (int i = 0; i < 100; i++)
		assert_true(refused(a, "192.0.2.8", 1, S(5)));
	assert_int_equal(lines_logged(), 7);
	/* A second later there is room for nothing after so many. */
	assert_true(refused(a, "192.0.2.7", 1, S(6)));
	assert_int_equal(lines_logged(), 0);
	assert_true(refused(a, "192.0.2.7", 1, S(66)));
	assert_non_null(strstr(messages, "Maxstartups logging rate-limited: "
	    "additional 98 connections dropped\n"));
	assert_non_null(strstr(messages, "PerSourcePenalties logging "
	    "rate-limited: additional 93 connections dropped\n"));
	assert_non_null(strstr(messages, "drop connection #1 from "
	    "[192.0.2.7]:17 on [UNKNOWN]:65535 Maxstartups\n"));
	assert_int_equal(lines_logged(), 3);
	/* One a second goes on to be logged. */
	for (int i = 0; i < 50; i++)
		assert_true(refused(a, "192.0.2.7", 1, S(67 + i)));
	assert_true(strlen(messages) > 0);
	assert_null(strstr(messages, "rate-limited"));
	/* A flood without an end is told of now and then. */
	messages_forget();
	for (int i = 0; i < 700; i++)
		for (int k = 0; k < 3; k++)
			assert_true(refused(a, "192.0.2.7", 1, S(200 + i)));
	assert_int_equal(lines_logged(), 4 + 2);
	admission_free(a);
	server_conf_clear(&c);
}

static int
begin(void **state)
{
	(void)state;
	messages_keep();
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_penalties),
		cmocka_unit_test(networks_and_exemptions),
		cmocka_unit_test(floods_are_not_logged),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
