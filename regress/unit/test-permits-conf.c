/* SPDX-License-Identifier: ISC */
/* What a configuration allows, and what is left of it with a key. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/mem.h"
#include "conf/server-conf.h"
#include "server/permits.h"

/* What can be asked, by one letter each: o open h:80, O open other:81, p open
 * a path, l listen on localhost:80, L listen on any port, q listen at a path,
 * a agent, x X11, t point-to-point, e ethernet. */
static void
describe(const struct permits *p, char out[16])
{
	size_t n = 0;

#define ASK(letter, may)                                                      \
	do {                                                                  \
		if (may)                                                      \
			out[n++] = letter;                                    \
	} while (0)
	ASK('o', permits_may_open(p, "h", 80));
	ASK('O', permits_may_open(p, "other", 81));
	ASK('p', permits_may_open_path(p));
	ASK('l', permits_may_listen(p, "LocalHost", 80));
	ASK('L', permits_may_listen(p, "", 0));
	ASK('q', permits_may_listen_path(p));
	ASK('a', p->agent_forwarding);
	ASK('x', p->x11_forwarding);
	ASK('t', permits_may_tunnel(p, PERMITS_TUNNEL_POINT_TO_POINT, 0));
	ASK('e', permits_may_tunnel(p, PERMITS_TUNNEL_ETHERNET, 3));
#undef ASK
	out[n] = '\0';
}

struct line {
	const char *keyword, *value;
};

static void
read_conf(struct server_conf *c, const struct line *lines, size_t n)
{
	server_conf_init(c);
	for (size_t i = 0; i < n && lines[i].keyword != NULL; i++)
		assert_int_equal(server_conf_set(c, lines[i].keyword,
		    lines[i].value), 0);
	assert_int_equal(server_conf_finish(c), 0);
}

enum { LINES = 3 };

static const struct {
	struct line lines[LINES];
	const char *allowed;
} rows[] = {
	{ { { NULL, NULL } }, "oOplLqa" },
	{ { { "AllowTcpForwarding", "no" } }, "a" },
	{ { { "AllowTcpForwarding", "local" } }, "oOpa" },
	{ { { "AllowTcpForwarding", "remote" } }, "lLqa" },
	{ { { "AllowStreamLocalForwarding", "no" } }, "oOlLa" },
	{ { { "AllowStreamLocalForwarding", "local" } }, "oOplLa" },
	{ { { "AllowStreamLocalForwarding", "remote" } }, "oOlLqa" },
	{ { { "AllowTcpForwarding", "local" },
	      { "AllowStreamLocalForwarding", "remote" } },
	    "oOa" },
	{ { { "AllowAgentForwarding", "no" } }, "oOplLq" },
	{ { { "X11Forwarding", "yes" } }, "oOplLqax" },
	{ { { "PermitTunnel", "yes" } }, "oOplLqate" },
	{ { { "PermitTunnel", "ethernet" } }, "oOplLqae" },
	{ { { "PermitTunnel", "point-to-point" } }, "oOplLqat" },
	{ { { "PermitOpen", "none" } }, "lLqa" },
	{ { { "PermitOpen", "any" } }, "oOplLqa" },
	{ { { "PermitOpen", "h:80" } }, "olLqa" },
	{ { { "PermitOpen", "*:*" } }, "oOplLqa" },
	{ { { "PermitOpen", "*:81" } }, "OlLqa" },
	{ { { "PermitListen", "none" } }, "oOpqa" },
	{ { { "PermitListen", "localhost:80" } }, "oOplqa" },
	{ { { "PermitListen", "80" } }, "oOplqa" },
	{ { { "X11Forwarding", "yes" }, { "PermitTunnel", "yes" },
	      { "DisableForwarding", "yes" } },
	    "" },
};

static void
what_is_configured(void **state)
{
	char got[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct server_conf c;
		struct permits p;

		read_conf(&c, rows[i].lines, LINES);
		permits_init_conf(&p, &c);
		describe(&p, got);
		if (strcmp(got, rows[i].allowed) != 0)
			fail_msg("row %zu: %s", i, got);
		assert_true(p.pty && p.user_rc);
		permits_clear(&p);
		server_conf_clear(&c);
	}
}

/* Whatever the key says, with it there is never more than without. */
static void
keys_take_away_only(void **state)
{
	char got[16];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct server_conf c;
		struct permits p, key;
		const char *why;

		read_conf(&c, rows[i].lines, LINES);
		permits_init_conf(&p, &c);
		permits_init(&key);
		assert_int_equal(permits_add_open(&key, "h:80"), 0);
		assert_int_equal(permits_merge(&p, &key, &why), 0);
		describe(&p, got);
		for (const char *at = got; *at != '\0'; at++)
			assert_non_null(strchr(rows[i].allowed, *at));
		assert_null(strchr(got, 'O'));
		assert_null(strchr(got, 'p'));
		permits_clear(&key);
		permits_init_session_only(&key);
		assert_int_equal(permits_merge(&p, &key, &why), 0);
		describe(&p, got);
		assert_string_equal(got, "");
		permits_clear(&key);
		permits_clear(&p);
		server_conf_clear(&c);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_configured),
		cmocka_unit_test(keys_take_away_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
