/* SPDX-License-Identifier: ISC */
/* What the monitor signs, asked of it as both processes would. */
#include "regress/unit/monitor-host.h"
#include "regress/unit/no-superuser.h"

#include <string.h>

#include "base/mem.h"

static void
set(const char *keyword, const char *value)
{
	assert_int_equal(server_conf_set(&m->state.conf, keyword, value), 0);
}

/* An own configuration instead of the default. */
static void
configure(const char *kex, const char *hostkey)
{
	server_conf_clear(&m->state.conf);
	server_conf_init(&m->state.conf);
	set("LogLevel", "QUIET");
	set("KexAlgorithms", kex);
	set("HostKeyAlgorithms", hostkey);
	assert_int_equal(server_conf_finish(&m->state.conf), 0);
}

/* What a configured exchange could have had signed, in either phase: the
 * length is that of its hash, the algorithm one of HostKeyAlgorithms whose key
 * there is. */
static void
only_what_is_configured_is_signed(void **state)
{
	static const size_t lens[] = { 20, 32, 48, 64 };
	static const char *const algs[] = { "ssh-ed25519", "ssh-rsa",
		"rsa-sha2-256", "rsa-sha2-512", "ecdsa-sha2-nistp256",
		"ssh-ed25519-cert-v01@openssh.com", "none", "" };
	static const struct {
		const char *kex, *hostkey;
		size_t len[2];
		const char *alg[2];
	} rows[] = {
		{ "curve25519-sha256", "ssh-ed25519", { 32 },
		    { "ssh-ed25519" } },
		{ "ecdh-sha2-nistp384", "ssh-ed25519,rsa-sha2-512", { 48 },
		    { "ssh-ed25519", "rsa-sha2-512" } },
		{ "mlkem768x25519-sha256,sntrup761x25519-sha512",
		    "rsa-sha2-256", { 32, 64 }, { "rsa-sha2-256" } },
		{ "diffie-hellman-group14-sha1", "ssh-rsa", { 20 },
		    { "ssh-rsa" } },
	};
	static const enum monitor_request what[] = { MONITOR_SIGN,
		MONITOR_SIGN_REKEY };
	struct buf answer = { 0 };

	(void)state;
	add_rsa(&m->state.keys);
	for (size_t i = 0; i < ARRAY_LEN(rows) * ARRAY_LEN(lens) *
		ARRAY_LEN(algs) * 2; i++) {
		size_t row = i / 2 % ARRAY_LEN(rows);
		size_t len = lens[i / 2 / ARRAY_LEN(rows) % ARRAY_LEN(lens)];
		const char *alg =
		    algs[i / 2 / ARRAY_LEN(rows) / ARRAY_LEN(lens)];
		bool fits = false, named = false;

		for (size_t j = 0; j < 2; j++) {
			fits |= rows[row].len[j] == len;
			named |= rows[row].alg[j] != NULL &&
			    strcmp(rows[row].alg[j], alg) == 0;
		}
		configure(rows[row].kex, rows[row].hostkey);
		memset(m->asked, 0, sizeof m->asked);
		m->session_id_len = 0;
		m->sign_busy_ms = 0;
		m->phase = i % 2 == 0 ? MONITOR_PHASE_KEX :
					MONITOR_PHASE_SESSION;
		if (ask_signature_by(what[i % 2], alg, len) !=
		    (fits && named ? 0 : ERR_PROTOCOL))
			fail_msg("%s, %s: %s of %zu bytes", rows[row].kex,
			    rows[row].hostkey, alg, len);
		if (fits && named)
			drain_answer(&answer);
	}
	buf_clear(&answer);
}

/* Whatever the user's process says: no proof by SHA-1 unless the configuration
 * has it. */
static void
proofs_by_what_is_configured(void **state)
{
	static const struct {
		const char *alg;
		int strict, lax; /* without ssh-rsa configured, with it */
	} rows[] = {
		{ "rsa-sha2-512", 0, 0 },
		{ "rsa-sha2-256", 0, 0 },
		{ "ssh-rsa", ERR_PROTOCOL, 0 },
		{ "ssh-ed25519", ERR_PROTOCOL, ERR_PROTOCOL },
		{ "rsa-sha2-1024", ERR_PROTOCOL, ERR_PROTOCOL },
		{ "", ERR_PROTOCOL, ERR_PROTOCOL },
	};
	struct buf b = { 0 }, answer = { 0 };
	int want;

	(void)state;
	add_rsa(&m->state.keys);
	m->session_id_len = 32;
	m->phase = MONITOR_PHASE_SESSION;
	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		configure("curve25519-sha256",
		    i % 2 == 0 ? "ssh-ed25519" : "ssh-rsa");
		m->sign_busy_ms = 0;
		buf_reset(&b);
		buf_put_cstring(&b, rows[i / 2].alg);
		buf_put_string_buf(&b, &m->state.keys.v[1].public);
		want = i % 2 == 0 ? rows[i / 2].strict : rows[i / 2].lax;
		assert_int_equal(ask(MONITOR_PROVE, buf_data(&b), buf_len(&b)),
		    want);
		if (want == 0)
			drain_answer(&answer);
	}
	buf_clear(&b);
	buf_clear(&answer);
}

int
main(void)
{
#define TEST(fn)                                                              \
	cmocka_unit_test_setup_teardown(fn, monitor_setup, monitor_teardown)
	const struct CMUnitTest tests[] = {
		TEST(only_what_is_configured_is_signed),
		TEST(proofs_by_what_is_configured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
