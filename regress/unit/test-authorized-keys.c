/* SPDX-License-Identifier: ISC */
/* authorized_keys: options, times, lines, and the search in a file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "regress/unit/own-account.h"
#include "server/monitor/authorized-keys.h"

/* Blobs with the frame of a key are all that the parser asks for. */
static const uint8_t blob_a[] = "\0\0\0\013ssh-ed25519\0\0\0\004AAAA";
static const uint8_t blob_b[] = "\0\0\0\013ssh-ed25519\0\0\0\004BBBB";
static const struct span key_a = { blob_a, sizeof blob_a - 1 };
static const struct span key_b = { blob_b, sizeof blob_b - 1 };
static const struct authkeys_wanted plain_a = { { blob_a, sizeof blob_a - 1 },
	false };
static const struct authkeys_wanted ca_a = { { blob_a, sizeof blob_a - 1 },
	true };
static char *line_a, *line_b;
static char dir[] = "/tmp/test-authorized-keys-XXXXXX";

static int
set_up(void **state)
{
	char *a = str_base64_encode(key_a.p, key_a.len);
	char *b = str_base64_encode(key_b.p, key_b.len);

	(void)state;
	log_set_level(LOG_LVL_QUIET);
	xasprintf(&line_a, "ssh-ed25519 %s", a);
	xasprintf(&line_b, "ssh-ed25519 %s", b);
	free(a);
	free(b);
	assert_non_null(mkdtemp(dir));
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	free(line_a);
	free(line_b);
	return rmdir(dir);
}

static int
match_as(const struct authkeys_wanted *wanted, const char *options,
    struct authkeys_options *o)
{
	const char *why;
	char *line;
	int r;

	xasprintf(&line, "%s%s%s a comment", options,
	    options[0] != '\0' ? " " : "", line_a);
	r = authkeys_match_line(line, wanted, o, &why);
	if (r != 0 && r != ERR_NOT_FOUND)
		assert_non_null(why);
	free(line);
	return r;
}

static int
match(const char *options, struct authkeys_options *o)
{
	return match_as(&plain_a, options, o);
}

static void
plain_line_allows_all(void **state)
{
	struct authkeys_options o;

	(void)state;
	assert_int_equal(match("", &o), 0);
	assert_true(o.permits.pty && o.permits.user_rc &&
	    o.permits.agent_forwarding && o.permits.forward != 0 &&
	    o.permits.x11_forwarding && o.permits.tunnel_modes != 0);
	assert_false(o.permits.no_touch || o.permits.verify_required);
	assert_null(o.permits.command);
	assert_null(o.from);
	authkeys_options_clear(&o);
}

static void
flags_take_away_and_give_back(void **state)
{
	static const struct {
		const char *options;
		bool pty, user_rc, agent, port, x11, tunnel;
	} rows[] = {
		{ "no-pty", false, true, true, true, true, true },
		{ "NO-PTY", false, true, true, true, true, true },
		{ "no-user-rc", true, false, true, true, true, true },
		{ "no-agent-forwarding,no-port-forwarding", true, true, false,
		    false, true, true },
		{ "no-X11-forwarding", true, true, true, true, false, true },
		{ "restrict", false, false, false, false, false, false },
		{ "restrict,pty", true, false, false, false, false, false },
		{ "pty,restrict", false, false, false, false, false, false },
		{ "restrict,x11-forwarding,user-rc", false, true, false,
		    false, true, false },
		{ "restrict,tunnel=\"1\"", false, false, false, false, false,
		    false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct authkeys_options o;

		assert_int_equal(match(rows[i].options, &o), 0);
		assert_int_equal(o.permits.pty, rows[i].pty);
		assert_int_equal(o.permits.user_rc, rows[i].user_rc);
		assert_int_equal(o.permits.agent_forwarding, rows[i].agent);
		assert_int_equal(o.permits.forward,
		    rows[i].port ? PERMITS_FORWARD_ALL : 0);
		assert_int_equal(o.permits.x11_forwarding, rows[i].x11);
		assert_int_equal(o.permits.tunnel_modes,
		    rows[i].tunnel ? PERMITS_TUNNEL_ALL : 0);
		authkeys_options_clear(&o);
	}
}

static void
values(void **state)
{
	struct authkeys_options o;

	(void)state;
	assert_int_equal(match("command=\"echo \\\"a b\\\" # \\n\","
			       "from=\"10.0.0.0/8,!10.1.1.1\","
			       "environment=\"A=1\",environment=\"B=x y\","
			       "environment=\"A=2\",permitopen=\"h:1\","
			       "permitlisten=\"*:2\",permitlisten=\"80\","
			       "tunnel=\"7\"",
			     &o),
	    0);
	assert_string_equal(o.permits.command, "echo \"a b\" # \\n");
	assert_string_equal(o.from, "10.0.0.0/8,!10.1.1.1");
	assert_int_equal(o.permits.env.n, 2); /* the first one counts */
	assert_string_equal(o.permits.env.v[0], "A=1");
	assert_string_equal(o.permits.env.v[1], "B=x y");
	assert_true(permits_may_open(&o.permits, "h", 1));
	assert_false(permits_may_open(&o.permits, "h", 2));
	assert_true(permits_may_listen(&o.permits, "x", 2));
	assert_true(permits_may_listen(&o.permits, "x", 80));
	assert_false(permits_may_listen(&o.permits, "x", 81));
	assert_true(permits_may_tunnel(&o.permits,
	    PERMITS_TUNNEL_ETHERNET, 7));
	assert_false(permits_may_tunnel(&o.permits,
	    PERMITS_TUNNEL_ETHERNET, 8));
	authkeys_options_clear(&o);
}

/* Nothing acts on these yet, but a line that has them counts. */
static void
options_of_security_keys(void **state)
{
	static const struct {
		const char *options;
		bool no_touch, verify;
	} rows[] = {
		{ "no-touch-required", true, false },
		{ "touch-required", false, false },
		{ "no-touch-required,touch-required", false, false },
		{ "verify-required", false, true },
		{ "verify-required,no-verify-required", false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct authkeys_options o;

		assert_int_equal(match(rows[i].options, &o), 0);
		assert_int_equal(o.permits.no_touch, rows[i].no_touch);
		assert_int_equal(o.permits.verify_required, rows[i].verify);
		authkeys_options_clear(&o);
	}
}

static void
principals_belong_to_a_ca(void **state)
{
	struct authkeys_options o;

	(void)state;
	assert_int_equal(match("principals=\"a\"", &o), ERR_SYNTAX);
	assert_int_equal(match("principals=\"a\",pty", &o), ERR_SYNTAX);
	assert_int_equal(match_as(&ca_a, "principals=\"a\"", &o),
	    ERR_SYNTAX);
	assert_int_equal(match_as(&ca_a, "principals=\"a\",cert-authority",
			     &o), 0);
	assert_true(o.cert_authority);
	assert_string_equal(o.principals, "a");
	authkeys_options_clear(&o);
}

/* A certificate by a key that may log in is no such key; nor may the key of an
 * authority log in itself. */
static void
a_key_and_an_authority_are_two_things(void **state)
{
	static const struct {
		const char *options;
		bool key, authority;
	} rows[] = {
		{ "", true, false },
		{ "pty", true, false },
		{ "cert-authority", false, true },
		{ "CERT-AUTHORITY,pty", false, true },
		{ "principals=\"a\",cert-authority", false, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct authkeys_options o;

		assert_int_equal(match_as(&plain_a, rows[i].options, &o),
		    rows[i].key ? 0 : ERR_NOT_FOUND);
		authkeys_options_clear(&o);
		assert_int_equal(match_as(&ca_a, rows[i].options, &o),
		    rows[i].authority ? 0 : ERR_NOT_FOUND);
		authkeys_options_clear(&o);
	}
}

static void
options_alone(void **state)
{
	struct authkeys_options o;
	const char *why;

	(void)state;
	assert_int_equal(authkeys_parse_options("command=\"a b\",no-pty", &o,
			     &why), 0);
	assert_string_equal(o.permits.command, "a b");
	assert_false(o.permits.pty);
	authkeys_options_clear(&o);
	assert_int_equal(authkeys_parse_options("no-pty restrict", &o, &why),
	    ERR_SYNTAX);
	assert_int_equal(authkeys_parse_options("no-pty ", &o, &why),
	    ERR_SYNTAX);
	assert_int_equal(authkeys_parse_options("", &o, &why),
	    ERR_UNSUPPORTED);
}

static void
when_options_apply(void **state)
{
	static const struct {
		const char *options;
		enum authkeys_applies result;
	} rows[] = {
		{ "pty", AUTHKEYS_APPLIES },
		{ "expiry-time=\"19700102Z\"", AUTHKEYS_EXPIRED },
		{ "expiry-time=\"19700103Z\"", AUTHKEYS_APPLIES },
		{ "from=\"192.0.2.0/24\"", AUTHKEYS_APPLIES },
		{ "from=\"*.example.org\"", AUTHKEYS_APPLIES },
		{ "from=\"!192.0.2.7,*\"", AUTHKEYS_OTHER_CLIENT },
		{ "from=\"198.51.100.1\"", AUTHKEYS_OTHER_CLIENT },
		{ "from=\"\"", AUTHKEYS_BAD_NETWORK },
		{ "from=\"192.0.2.0/33\"", AUTHKEYS_BAD_NETWORK },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct authkeys_options o;

		assert_int_equal(match(rows[i].options, &o), 0);
		assert_int_equal(authkeys_options_apply(&o,
				     "client.example.org", "192.0.2.7", 86400),
		    rows[i].result);
		authkeys_options_clear(&o);
	}
}

static void
wrong_options(void **state)
{
	static const char *const rows[] = { "nonsense", "no-restrict",
		"no-cert-authority", "command", "command=", "command=x",
		"command=\"x", "command=\"x\"\"y\"", "pty,,pty", "pty,", ",pty",
		"command=\"a\",command=\"b\"", "from=\"a\",from=\"b\"",
		"environment=\"1\"", "environment=\"=1\"",
		"environment=\"A-B=1\"", "expiry-time=\"20250231\"",
		"expiry-time=\"soon\"", "permitopen=\"nothing\"", "pty=\"1\"",
		"permitopen=\"h:abc\"", "permitopen=\"80\"",
		"permitlisten=\"abc\"", "permitlisten=\"h:0\"",
		"tunnel=\"x\"", "tunnel=\"-1\"", "tunnel=\"2147483646\"",
		"tunnel=\"1:2\"", "tunnel", "tunnel=\"\"",
		"cert-authority,principals=\"a\",principals=\"b\"" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct authkeys_options o;
		int r = match(rows[i], &o);

		if (r == 0 || r == ERR_NOT_FOUND)
			fail_msg("accepted: %s", rows[i]);
	}
}

static void
lines_that_are_none(void **state)
{
	static const char *const rows[] = { "", "   ", "# comment", "\t#", "\r",
		"\n" };
	struct authkeys_options o;
	const char *why;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(authkeys_match_line(rows[i], &plain_a, &o,
				     &why), ERR_NOT_FOUND);
	assert_int_equal(authkeys_match_line(line_b, &plain_a, &o, &why),
	    ERR_NOT_FOUND);
	/* The type in front has to be that of the key. */
	assert_int_equal(authkeys_match_line("ssh-rsa AAAA", &plain_a, &o,
			     &why), ERR_UNSUPPORTED);
}

/* None of them may stand for a key that is good for ever. */
static void
expiry_that_is_no_time(void **state)
{
	static const char *const texts[] = { "", "Z", "2025010Z", "20250101X",
		"20230229Z", "19691231Z", "19700101Z", "19700101000000Z" };
	struct authkeys_options o;
	char line[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		snprintf(line, sizeof line, "expiry-time=\"%s\"", texts[i]);
		assert_int_equal(match(line, &o), ERR_SYNTAX);
	}
	assert_int_equal(match("expiry-time=\"19700101000001Z\"", &o), 0);
	assert_int_equal(o.permits.expires, 1);
	authkeys_options_clear(&o);
}

static void
the_earliest_expiry_counts(void **state)
{
	struct authkeys_options o;

	(void)state;
	assert_int_equal(match("expiry-time=\"20250102Z\","
			       "expiry-time=\"20250101Z\","
			       "expiry-time=\"20250103Z\"",
			     &o),
	    0);
	assert_int_equal(o.permits.expires, 1735689600);
	authkeys_options_clear(&o);
}

/* ---- files ------------------------------------------------------------- */

struct search {
	const char *text;
	mode_t mode, dir_mode;
	bool lax;
	int result;
	unsigned line;
};

static void
search(const struct search *s)
{
	struct user *u = own_account();
	struct authkeys_query q = { .user = u, .wanted = plain_a,
		.address = "192.0.2.7", .host = "client.example.org",
		.now = time(NULL),
		.strict_modes = !s->lax };
	struct permits p;
	unsigned line = 0;
	char *path, *text;

	free(u->home);
	u->home = xstrdup(dir);
	xasprintf(&path, "%s/keys", dir);
	xasprintf(&text, s->text, line_a);
	assert_int_equal(file_replace(path, text, strlen(text), s->mode), 0);
	assert_int_equal(chmod(dir, s->dir_mode), 0);
	assert_int_equal(authkeys_search(&q, path, &p, &line), s->result);
	assert_int_equal(p.pty, s->result == 0);
	if (s->result == 0)
		assert_int_equal(line, s->line);
	permits_clear(&p);
	assert_int_equal(chmod(dir, 0700), 0);
	unlink(path);
	free(path);
	free(text);
	user_free(u);
}

static void
files(void **state)
{
	static const struct search rows[] = {
		{ "%s\n", 0600, 0700, false, 0, 1 },
		{ "# x\n\n%s", 0644, 0755, false, 0, 3 },
		{ "nonsense\n%s\r\n", 0600, 0700, false, 0, 2 },
		{ "from=\"192.0.2.0/24\" %s\n", 0600, 0700, false, 0, 1 },
		{ "from=\"*.example.org\" %s\n", 0600, 0700, false, 0, 1 },
		{ "from=\"192.0.2.0/24,!192.0.2.7\" %s\n", 0600, 0700, false,
		    ERR_NOT_FOUND, 0 },
		{ "from=\"198.51.100.1\" %s\n", 0600, 0700, false,
		    ERR_NOT_FOUND, 0 },
		{ "expiry-time=\"20200101\" %s\n", 0600, 0700, false,
		    ERR_NOT_FOUND, 0 },
		{ "expiry-time=\"20990101\" %s\n", 0600, 0700, false, 0, 1 },
		{ "cert-authority %s\n", 0600, 0700, false, ERR_NOT_FOUND, 0 },
		{ "principals=\"a\" %s\n", 0600, 0700, false, ERR_NOT_FOUND,
		    0 },
		{ "", 0600, 0700, false, ERR_NOT_FOUND, 0 },
		/* Others could have written it. */
		{ "%s\n", 0620, 0700, false, ERR_DENIED, 0 },
		{ "%s\n", 0602, 0700, false, ERR_DENIED, 0 },
		{ "%s\n", 0600, 0770, false, ERR_DENIED, 0 },
		{ "%s\n", 0666, 0777, true, 0, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		search(&rows[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_line_allows_all),
		cmocka_unit_test(flags_take_away_and_give_back),
		cmocka_unit_test(values),
		cmocka_unit_test(options_of_security_keys),
		cmocka_unit_test(principals_belong_to_a_ca),
		cmocka_unit_test(a_key_and_an_authority_are_two_things),
		cmocka_unit_test(options_alone),
		cmocka_unit_test(when_options_apply),
		cmocka_unit_test(wrong_options),
		cmocka_unit_test(lines_that_are_none),
		cmocka_unit_test(expiry_that_is_no_time),
		cmocka_unit_test(the_earliest_expiry_counts),
		cmocka_unit_test(files),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
