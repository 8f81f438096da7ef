/* SPDX-License-Identifier: ISC */
/* The table of peers: the edges of each row, and what it is not about. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/version.h"
#include "peer-version.h"

enum {
	OURS = PEER_TAKES_AHEAD | PEER_ANSWERS_IN_ORDER | PEER_KNOWS_EOW |
	    PEER_TAKES_WIDE_WINDOWS | PEER_FORGIVES | PEER_TELLS_METRICS |
	    PEER_WIDENS_WINDOWS,
	OPENSSH = PEER_TAKES_AHEAD | PEER_ANSWERS_IN_ORDER | PEER_KNOWS_EOW |
	    PEER_REFUSES_GSS_HOSTKEY,
	WAITS = OPENSSH | PEER_WAITS_FOR_ANSWERS,
	HPN = PEER_TELLS_METRICS | PEER_WIDENS_WINDOWS,
};

static const struct {
	const char *line;
	uint32_t traits;
} lines[] = {
	/* This project's own, also before and after this version. */
	{ HPN_IDENT, OURS },
	{ HPN_IDENT " an addendum", OURS },
	{ "SSH-2.0-OpenSSH_10.5_hpn18 HPNSSH_0.9.0", OURS },
	{ "SSH-2.0-OpenSSH_99.0 HPNSSH_9", OURS },
	{ "SSH-2.0-other HPNSSH_1", 0 },
	{ "SSH-2.0-OpenSSH_9.2 HPNSSH", WAITS },
	{ "SSH-2.0-OpenSSH_9.2 hpnssh_1", WAITS },

	/* OpenSSH, and the versions that wait. */
	{ "SSH-2.0-OpenSSH", OPENSSH },
	{ "SSH-2.0-OpenSSH_7.9", OPENSSH },
	{ "SSH-2.0-OpenSSH_7.99", OPENSSH },
	{ "SSH-2.0-OpenSSH_8.0", WAITS },
	{ "SSH-2.0-OpenSSH_8.10", WAITS },
	{ "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3", WAITS },
	{ "SSH-2.0-OpenSSH_9.9", WAITS },
	{ "SSH-2.0-OpenSSH_10.5", WAITS },
	{ "SSH-2.0-OpenSSH_10.5p1", WAITS },
	{ "SSH-2.0-OpenSSH_10.6", OPENSSH },
	{ "SSH-2.0-OpenSSH_10.50", OPENSSH },
	{ "SSH-2.0-OpenSSH_11.0", OPENSSH },
	{ "SSH-2.0-OpenSSH_100.1", OPENSSH },
	{ "SSH-2.0-OpenSSH_9", OPENSSH },
	{ "SSH-2.0-OpenSSH_9.", OPENSSH },
	{ "SSH-2.0-OpenSSH_for_Windows_9.5", OPENSSH },
	{ "SSH-2.0-OpenSSH-keyscan", OPENSSH },
	/* 2^32 + 9: no number is taken for a smaller one. */
	{ "SSH-2.0-OpenSSH_4294967305.0", OPENSSH },
	{ "SSH-2.0-OpenSSH_9.4294967296", OPENSSH | PEER_WAITS_FOR_ANSWERS },
	{ "SSH-2.0-openssh_9.2", 0 },
	{ "SSH-1.99-OpenSSH_9.2", 0 },
	{ "SSH-2.0-OpenSS", 0 },
	{ " SSH-2.0-OpenSSH_9.2", 0 },

	/* HPN-SSH by others. */
	{ "SSH-2.0-OpenSSH_9.2_hpn15.9", WAITS | HPN },
	{ "SSH-2.0-OpenSSH_9.2_hpn16",
	    WAITS | HPN | PEER_SCP_IS_HPNSCP },
	{ "SSH-2.0-OpenSSH_9.2-hpn16v1", WAITS | PEER_SCP_IS_HPNSCP },
	{ "SSH-2.0-OpenSSH_10.2p1_hpn18.8.0",
	    WAITS | HPN | PEER_SCP_IS_HPNSCP },
	{ "SSH-2.0-OpenSSH_10.9_hpn18",
	    OPENSSH | HPN | PEER_SCP_IS_HPNSCP },
	{ "SSH-2.0-OpenSSH_10.2p1_hpn19.0", WAITS | HPN },
	{ "SSH-2.0-OpenSSH_10.2p1_hpn180", WAITS | HPN },
	{ "SSH-2.0-OpenSSH_10.2p1_hpn", WAITS | HPN },
	{ "SSH-2.0-other_hpn18", HPN },
	{ "SSH-2.0-other-hpn18", 0 },

	/* Clients that fail when they are told of the host's other keys. */
	{ "SSH-2.0-Cisco-1.25", PEER_FAILS_ON_HOSTKEYS },
	{ "SSH-2.0-Cisco-1.", PEER_FAILS_ON_HOSTKEYS },
	{ "SSH-2.0-Cisco-2.0", 0 },
	{ "SSH-2.0-TTSSH/2.72 Win32", PEER_FAILS_ON_HOSTKEYS },
	{ "SSH-2.0-TTSSH/", PEER_FAILS_ON_HOSTKEYS },
	{ "SSH-2.0-TTSSH", 0 },
	{ "SSH-2.0-x TTSSH/2.72", 0 },

	{ "SSH-2.0-", 0 },
	{ "SSH-2.0-dropbear_2022.83", 0 },
	{ "", 0 },
};

static void
traits(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		uint32_t got = peer_version_traits(lines[i].line);

		if (got != lines[i].traits)
			fail_msg("\"%s\": %#x, not %#x", lines[i].line, got,
			    lines[i].traits);
	}
}

static void
protocols(void **state)
{
	static const struct {
		const char *line;
		bool is_2, is_other;
		unsigned major;
	} rows[] = {
		{ "SSH-2.0-x", true, false, 0 },
		{ "SSH-2.0-", true, false, 0 },
		{ "SSH-1.99-x", true, false, 0 },
		{ "SSH-1.5-x", false, true, 1 },
		{ "SSH-9.9-new", false, true, 9 },
		{ "SSH-3.0-x", false, true, 3 },
		{ "SSH-4294967298.0-x", false, true, 9999 },
		{ "SSH-2.1-x", false, false, 0 },
		{ "SSH-2.0", false, false, 0 },
		{ "SSH-1.5", false, false, 0 },
		{ "SSH-1-x", false, false, 0 },
		{ "SSH-.5-x", false, false, 0 },
		{ "SSH--1.5-x", false, false, 0 },
		{ "SSH-x", false, false, 0 },
		{ "SSH-", false, false, 0 },
		{ "", false, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		unsigned major = 0;

		assert_int_equal(peer_version_is_2(rows[i].line),
		    rows[i].is_2);
		assert_int_equal(peer_version_is_other(rows[i].line, &major),
		    rows[i].is_other);
		assert_int_equal(major, rows[i].major);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(traits),
		cmocka_unit_test(protocols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
