/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/hosts/hostcheck.h"

static void
decisions(void **state)
{
	enum { NO = CLIENT_ASK_NO, YES = CLIENT_ASK_YES, ASK = CLIENT_ASK_ASK,
		NEW = CLIENT_ASK_ACCEPT_NEW };
	static const struct {
		enum knownhosts_verdict verdict;
		int strict;
		bool batch;
		enum hostcheck_action want;
	} t[] = {
		{ KNOWNHOSTS_OK, YES, true, HOSTCHECK_ACCEPT },
		{ KNOWNHOSTS_OK, NO, false, HOSTCHECK_ACCEPT },
		{ KNOWNHOSTS_NEW, YES, false, HOSTCHECK_REFUSE },
		{ KNOWNHOSTS_NEW, ASK, false, HOSTCHECK_ASK },
		{ KNOWNHOSTS_NEW, ASK, true, HOSTCHECK_REFUSE },
		{ KNOWNHOSTS_NEW, NEW, true, HOSTCHECK_ADD },
		{ KNOWNHOSTS_NEW, NO, true, HOSTCHECK_ADD },
		{ KNOWNHOSTS_CHANGED, YES, false, HOSTCHECK_REFUSE },
		{ KNOWNHOSTS_CHANGED, ASK, false, HOSTCHECK_REFUSE },
		{ KNOWNHOSTS_CHANGED, NEW, false, HOSTCHECK_REFUSE },
		{ KNOWNHOSTS_CHANGED, NO, false, HOSTCHECK_DISTRUST },
		{ KNOWNHOSTS_IS_REVOKED, NO, false, HOSTCHECK_REFUSE },
		{ KNOWNHOSTS_IS_REVOKED, ASK, false, HOSTCHECK_REFUSE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		assert_int_equal(hostcheck_decide(t[i].verdict, t[i].strict,
				     t[i].batch),
		    t[i].want);
}

/* Every pair: the verdict under the name that was reached, then the one
 * under the other default port. */
static void
two_names(void **state)
{
	enum { OK = KNOWNHOSTS_OK, NEW = KNOWNHOSTS_NEW,
		CHANGED = KNOWNHOSTS_CHANGED, REVOKED = KNOWNHOSTS_IS_REVOKED };
	static const struct {
		int reached, other, want;
	} t[] = {
		{ OK, OK, OK }, { OK, NEW, OK }, { OK, CHANGED, OK },
		{ OK, REVOKED, REVOKED },
		{ NEW, OK, OK }, { NEW, NEW, NEW }, { NEW, CHANGED, CHANGED },
		{ NEW, REVOKED, REVOKED },
		{ CHANGED, OK, CHANGED }, { CHANGED, NEW, CHANGED },
		{ CHANGED, CHANGED, CHANGED }, { CHANGED, REVOKED, REVOKED },
		{ REVOKED, OK, REVOKED }, { REVOKED, NEW, REVOKED },
		{ REVOKED, CHANGED, REVOKED }, { REVOKED, REVOKED, REVOKED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		assert_int_equal(
		    hostcheck_combine((enum knownhosts_verdict)t[i].reached,
			(enum knownhosts_verdict)t[i].other),
		    t[i].want);
}

static void
known_types_come_first(void **state)
{
	static const char plain[] =
	    "ssh-ed25519,ecdsa-sha2-nistp256,rsa-sha2-512,rsa-sha2-256";
	static const char both[] = "ssh-ed25519-cert-v01@openssh.com,"
	    "rsa-sha2-512-cert-v01@openssh.com,ssh-ed25519,rsa-sha2-512";
	static const struct {
		const char *all, *types;
		bool certificates; /* an authority is known */
		const char *want;
	} t[] = {
		{ plain, "", false, plain },
		{ plain, "ssh-ed25519", false, plain },
		{ plain, "ssh-rsa", false,
		    "rsa-sha2-512,rsa-sha2-256,ssh-ed25519,"
		    "ecdsa-sha2-nistp256" },
		{ plain, "ssh-rsa ecdsa-sha2-nistp256", false,
		    "ecdsa-sha2-nistp256,rsa-sha2-512,rsa-sha2-256,"
		    "ssh-ed25519" },
		{ plain, "ssh-dss", false, plain },
		{ plain, "", true, plain },
		/* A known key may come with a certificate. */
		{ both, "", false, both },
		{ both, "ssh-rsa", false,
		    "rsa-sha2-512-cert-v01@openssh.com,rsa-sha2-512,"
		    "ssh-ed25519-cert-v01@openssh.com,ssh-ed25519" },
		/* With an authority, one of another type is better. */
		{ both, "ssh-rsa", true,
		    "ssh-ed25519-cert-v01@openssh.com,"
		    "rsa-sha2-512-cert-v01@openssh.com,rsa-sha2-512,"
		    "ssh-ed25519" },
		{ "x,ssh-ed25519,ssh-ed25519-cert-v01@openssh.com", "", true,
		    "ssh-ed25519-cert-v01@openssh.com,x,ssh-ed25519" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct strlist types = { 0 };
		char *got;

		assert_int_equal(strlist_split(&types, t[i].types, " "), 0);
		got = hostcheck_order(t[i].all, &types, t[i].certificates);
		assert_string_equal(got, t[i].want);
		free(got);
		strlist_clear(&types);
	}
}

/* ---- with a file -------------------------------------------------------- */

static char dir[] = "/tmp/test-hostcheck-XXXXXX";
static char known_hosts[64];
static struct client_conf conf;
static struct key *first, *second;

static int
set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(known_hosts, sizeof known_hosts, "%s/known_hosts", dir);
	client_conf_init(&conf);
	assert_int_equal(client_conf_finish(&conf), 0);
	conf.host.hostname = strdup("localhost.test");
	strlist_clear(&conf.known.global_known_hosts_file);
	strlist_clear(&conf.known.user_known_hosts_file);
	assert_int_equal(
	    strlist_add(&conf.known.user_known_hosts_file, known_hosts), 0);
	assert_int_equal(key_generate("ed25519", 0, &first), 0);
	assert_int_equal(key_generate("ed25519", 0, &second), 0);
	log_set_level(LOG_LVL_QUIET);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	key_free(first);
	key_free(second);
	client_conf_clear(&conf);
	unlink(known_hosts);
	rmdir(dir);
	return 0;
}

/* Connects once; the result of each key in a row of one connection. */
static int
check(const struct key *k, const struct key *then, bool *distrusted)
{
	struct hostcheck *h = NULL;
	struct buf blob = { 0 };
	int r;

	assert_int_equal(hostcheck_new(&h, &conf, "127.0.0.1", 2222), 0);
	assert_int_equal(key_to_blob(k, &blob), 0);
	r = hostcheck_key(h, buf_span(&blob));
	if (then != NULL && r == 0) {
		buf_reset(&blob);
		assert_int_equal(key_to_blob(then, &blob), 0);
		r = hostcheck_key(h,
		    buf_span(&blob));
	}
	if (distrusted != NULL)
		*distrusted = hostcheck_distrusted(h);
	buf_clear(&blob);
	hostcheck_free(h);
	return r;
}

static void
life_of_a_host_key(void **state)
{
	struct buf content = { 0 };
	bool distrusted = false;
	char *text;

	(void)state;
	conf.known.strict_host_key_checking = CLIENT_ASK_YES;
	assert_int_equal(check(first, NULL, NULL), ERR_HOSTKEY);
	conf.known.strict_host_key_checking = CLIENT_ASK_ACCEPT_NEW;
	assert_int_equal(check(first, NULL, NULL), 0);
	conf.known.strict_host_key_checking = CLIENT_ASK_YES;
	assert_int_equal(check(first, NULL, NULL), 0);
	assert_int_equal(file_read(known_hosts, &content, 4096), 0);
	text = buf_dup_string(&content);
	assert_non_null(strstr(text, "[localhost.test]:2222 ssh-ed25519 "));
	free(text);
	buf_clear(&content);
	/* Another key of the same type. */
	conf.known.strict_host_key_checking = CLIENT_ASK_ACCEPT_NEW;
	assert_int_equal(check(second, NULL, NULL), ERR_HOSTKEY);
	conf.known.strict_host_key_checking = CLIENT_ASK_NO;
	assert_int_equal(check(second, NULL, &distrusted), 0);
	assert_true(distrusted);
	assert_int_equal(check(first, NULL, &distrusted), 0);
	assert_false(distrusted);
}

/* CVE-2025-26465 was a way around the check by errors on the way; a rekey
 * with another key is one more. */
static void
a_rekey_keeps_the_host_key(void **state)
{
	(void)state;
	conf.known.strict_host_key_checking = CLIENT_ASK_NO;
	assert_int_equal(check(first, first, NULL), 0);
	assert_int_equal(check(first, second, NULL), ERR_HOSTKEY);
}

static int
show(struct hostcheck *h, const struct key *k)
{
	struct buf blob = { 0 };
	int r;

	assert_int_equal(key_to_blob(k, &blob), 0);
	r = hostcheck_key(h, buf_span(&blob));
	buf_clear(&blob);
	return r;
}

/* A first connection, which has accepted k (NULL: nothing yet), and one more
 * beside it. */
static void
begin_two(struct hostcheck *h[2], const struct key *k, bool early)
{
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(hostcheck_new(&h[i], &conf, NULL, 22), 0);
	if (k != NULL)
		assert_int_equal(show(h[0], k), 0);
	hostcheck_set_first(h[1], h[0], early);
}

static void
end_two(struct hostcheck *h[2])
{
	hostcheck_free(h[1]);
	hostcheck_free(h[0]);
}

/* Nothing is on file, and nothing is needed there: what the first accepted is
 * the key, with the strictest configuration and with the loosest. */
static void
a_further_connection_has_the_first_ones_key(void **state)
{
	static const int strict[] = { CLIENT_ASK_NO, CLIENT_ASK_YES };
	struct hostcheck *h[2];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(strict); i++) {
		conf.known.strict_host_key_checking = CLIENT_ASK_NO;
		unlink(known_hosts);
		begin_two(h, first, false);
		unlink(known_hosts);
		conf.known.strict_host_key_checking = strict[i];
		assert_int_equal(show(h[1], second), ERR_HOSTKEY);
		assert_int_equal(show(h[1], first), 0);
		assert_int_equal(show(h[1], second), ERR_HOSTKEY);
		assert_int_equal(hostcheck_confirm(h[1]), 0);
		/* It notes nothing anywhere. */
		assert_null(hostcheck_noted_in(h[1]));
		assert_int_equal(access(known_hosts, F_OK), -1);
		end_two(h);
	}
}

static void
a_further_connection_asks_for_that_type(void **state)
{
	struct hostcheck *h[2];
	struct key *ecdsa;
	char *algorithms;

	(void)state;
	conf.known.strict_host_key_checking = CLIENT_ASK_NO;
	unlink(known_hosts);
	assert_int_equal(key_generate("ecdsa", 256, &ecdsa), 0);
	begin_two(h, ecdsa, false);
	unlink(known_hosts);
	algorithms = hostcheck_algorithms(h[1]);
	assert_true(str_has_prefix(algorithms,
	    "ecdsa-sha2-nistp256-cert-v01@openssh.com,"
	    "ecdsa-sha2-nistp256,"));
	free(algorithms);
	assert_true(hostcheck_knows(h[1], "ecdsa-sha2-nistp256"));
	assert_true(hostcheck_knows(h[1],
	    "ecdsa-sha2-nistp256-cert-v01@openssh.com"));
	assert_false(hostcheck_knows(h[1], "ssh-ed25519"));
	end_two(h);
	key_free(ecdsa);
}

/* Not even a key that is on file, if the first has not accepted it. */
static void
a_first_one_without_a_key_gives_none(void **state)
{
	struct hostcheck *h[2];

	(void)state;
	conf.known.strict_host_key_checking = CLIENT_ASK_NO;
	assert_int_equal(check(first, NULL, NULL), 0);
	begin_two(h, NULL, false);
	assert_int_equal(show(h[1], first), ERR_HOSTKEY);
	end_two(h);
}

static void
an_early_one_waits_for_the_first(void **state)
{
	struct hostcheck *h[2];

	(void)state;
	conf.known.strict_host_key_checking = CLIENT_ASK_NO;
	begin_two(h, NULL, true);
	assert_int_equal(show(h[1], second), 0);
	assert_int_equal(show(h[1], first), ERR_HOSTKEY);
	assert_int_equal(show(h[0], first), 0);
	assert_int_equal(hostcheck_confirm(h[1]), ERR_HOSTKEY);
	end_two(h);
	begin_two(h, NULL, true);
	assert_int_equal(hostcheck_key(h[1], (struct span){ NULL, 0 }),
	    ERR_HOSTKEY);
	/* One that has shown none yet is held to the first one's. */
	assert_int_equal(show(h[0], first), 0);
	assert_int_equal(hostcheck_confirm(h[1]), 0);
	assert_int_equal(show(h[1], second), ERR_HOSTKEY);
	assert_int_equal(show(h[1], first), 0);
	end_two(h);
	begin_two(h, NULL, true);
	assert_int_equal(show(h[1], first), 0);
	assert_int_equal(hostcheck_confirm(h[1]), ERR_HOSTKEY);
	assert_int_equal(show(h[0], first), 0);
	assert_int_equal(hostcheck_confirm(h[1]), 0);
	end_two(h);
}

/* Where the first may send no password, no other may. */
static void
distrust_is_shared(void **state)
{
	struct hostcheck *h[2];

	(void)state;
	conf.known.strict_host_key_checking = CLIENT_ASK_NO;
	assert_int_equal(check(first, NULL, NULL), 0);
	assert_int_equal(hostcheck_new(&h[0], &conf, "127.0.0.1", 2222), 0);
	assert_int_equal(hostcheck_new(&h[1], &conf, "127.0.0.1", 2222), 0);
	hostcheck_set_first(h[1], h[0], true);
	assert_int_equal(show(h[1], second), 0);
	assert_int_equal(show(h[0], second), 0);
	assert_int_equal(hostcheck_confirm(h[1]), 0);
	assert_true(hostcheck_distrusted(h[0]));
	assert_true(hostcheck_distrusted(h[1]));
	end_two(h);
}

static void
garbage_is_no_key(void **state)
{
	static const uint8_t junk[] = { 0, 0, 0, 200, 1 };
	struct hostcheck *h = NULL;

	(void)state;
	conf.known.strict_host_key_checking = CLIENT_ASK_NO;
	assert_int_equal(hostcheck_new(&h, &conf, NULL, 22), 0);
	assert_int_equal(hostcheck_key(h, (struct span){ junk, sizeof junk }),
	    ERR_HOSTKEY);
	assert_int_equal(hostcheck_key(h, (struct span){ NULL, 0 }),
	    ERR_HOSTKEY);
	hostcheck_free(h);
}

static int
vouch(struct hostcheck *h, const struct key *k)
{
	struct buf blob = { 0 };
	int r;

	assert_int_equal(key_to_blob(k, &blob), 0);
	r = hostcheck_vouched(h,
	    buf_span(&blob));
	buf_clear(&blob);
	return r;
}

/* Kerberos has proven the host: its key needs not be known, but it stays the
 * same, here and in a further connection, and must not be revoked. */
static void
a_key_that_is_vouched_for(void **state)
{
	struct strlist *revoked = &conf.known.revoked_host_keys;
	struct hostcheck *h[2];

	(void)state;
	conf.known.strict_host_key_checking = CLIENT_ASK_YES;
	begin_two(h, NULL, true);
	assert_int_equal(vouch(h[0], second), 0);
	assert_int_equal(vouch(h[0], first), ERR_HOSTKEY);
	assert_int_equal(show(h[0], first), ERR_HOSTKEY);
	assert_int_equal(show(h[0], second), 0);
	assert_false(hostcheck_distrusted(h[0]));
	assert_null(hostcheck_noted_in(h[0]));
	assert_int_equal(vouch(h[1], first), ERR_HOSTKEY);
	end_two(h);
	/* A list that cannot be read refuses every key. */
	assert_int_equal(strlist_add(revoked, "/nonexistent/revoked"), 0);
	begin_two(h, NULL, true);
	assert_int_equal(vouch(h[0], second), ERR_HOSTKEY);
	end_two(h);
	strlist_clear(revoked);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decisions),
		cmocka_unit_test(two_names),
		cmocka_unit_test(known_types_come_first),
		cmocka_unit_test(life_of_a_host_key),
		cmocka_unit_test(a_rekey_keeps_the_host_key),
		cmocka_unit_test(a_further_connection_has_the_first_ones_key),
		cmocka_unit_test(a_further_connection_asks_for_that_type),
		cmocka_unit_test(a_first_one_without_a_key_gives_none),
		cmocka_unit_test(an_early_one_waits_for_the_first),
		cmocka_unit_test(distrust_is_shared),
		cmocka_unit_test(garbage_is_no_key),
		cmocka_unit_test(a_key_that_is_vouched_for),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
