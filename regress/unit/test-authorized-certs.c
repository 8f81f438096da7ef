/* SPDX-License-Identifier: ISC */
/* Certificates of users: every reason to refuse one, in its order, and what
 * one permits together with the line that was found for it. */
#include "regress/unit/help.h"
#include "regress/unit/make-cert.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "server/monitor/authorized-certs.h"

enum { NOW = 1000000 };

static struct key *plain, *ca;

static int
set_up(void **state)
{
	(void)state;
	log_init("test", LOG_LVL_INFO);
	messages_keep();
	assert_int_equal(key_generate("ed25519", 0, &plain), 0);
	return key_generate("ed25519", 0, &ca);
}

static int
tear_down(void **state)
{
	(void)state;
	key_free(plain);
	key_free(ca);
	return 0;
}

/* Words of a certificate; "name" or "name=value" of options. */
struct words {
	const char *principals;
	const char *critical[3], *extensions[3];
	enum cert_kind kind;	   /* 0: of a user */
	uint64_t after, before;	   /* before 0: for ever */
};

static void
add_options(struct cert_options *to, const char *const *words)
{
	for (size_t i = 0; i < 3 && words[i] != NULL; i++) {
		size_t len = strcspn(words[i], "=");
		char *name = xstrndup(words[i], len);

		assert_int_equal(cert_options_add(to, name,
				     words[i][len] != '\0' ?
					 words[i] + len + 1 : NULL), 0);
		free(name);
	}
}

static struct key *
make(const struct words *w)
{
	struct cert_request r = { .kind = w->kind != 0 ? w->kind : CERT_USER,
		.serial = 7,
		.id = "an id",
		.valid_after = w->after,
		.valid_before = w->before != 0 ? w->before : CERT_FOREVER };
	struct key *cert;

	assert_int_equal(strlist_split(&r.principals, w->principals, ","), 0);
	add_options(&r.critical, w->critical);
	add_options(&r.extensions, w->extensions);
	cert = make_cert_by(plain, &r, ca, "ssh-ed25519");
	strlist_clear(&r.principals);
	cert_options_clear(&r.critical);
	cert_options_clear(&r.extensions);
	return cert;
}

static void
read_line(const char *options, struct authkeys_options *o)
{
	const char *why;

	if (options[0] == '\0')
		authkeys_options_init(o);
	else if (authkeys_parse_options(options, o, &why) != 0)
		fail_msg("%s: %s", options, why);
}

#define KIND "Certificate invalid: not a user certificate"
#define EARLY "Certificate invalid: not yet valid"
#define EXPIRED "Certificate invalid: expired"
#define EMPTY "Certificate lacks principal list"
#define NAME "Certificate invalid: name is not a listed principal"
#define PRINCIPAL "Certificate does not contain an authorized principal"
#define OPTIONS "Invalid certificate options"
#define SOURCE "Refused by certificate options"
#define COMMAND "forced command options do not match"
#define LINE "Refused by certificate principals options"

/* What is wrong with a certificate whoever asks. */
#define NAMES(names, ...) { { .principals = names, __VA_ARGS__ }
#define CRITICAL(word) NAMES("alice", .critical = { word })
#define SOURCES(list) CRITICAL("source-address=" list)
#define EXTENSION(word) NAMES("alice", .extensions = { word })
static const struct refusal {
	struct words words;
	const char *why; /* NULL: it is welcome */
} refusals[] = {
	NAMES("alice", .kind = 0), NULL },
	NAMES("bob,alice", .kind = 0), NULL },
	NAMES("alice", .after = NOW, .before = NOW + 1), NULL },
	NAMES("alice", .kind = CERT_HOST), KIND },
	NAMES("alice", .after = NOW + 1), EARLY },
	NAMES("alice", .before = NOW), EXPIRED },
	NAMES("alice", .before = 1), EXPIRED },
	NAMES("", .kind = 0), EMPTY },
	NAMES("bob", .kind = 0), NAME },
	NAMES("Alice", .kind = 0), NAME },
	NAMES("alic,alicea", .kind = 0), NAME },
	/* of users, patterns are names */
	NAMES("*", .kind = 0), NAME },
	NAMES("a*,alic?", .kind = 0), NAME },
	NAMES("!bob", .kind = 0), NAME },
	CRITICAL("unknown"), OPTIONS },
	CRITICAL("unknown=x"), OPTIONS },
	CRITICAL("permit-pty"), OPTIONS },
	CRITICAL("force-command"), OPTIONS },
	CRITICAL("verify-required=x"), OPTIONS },
	EXTENSION("permit-pty=x"), OPTIONS },
	EXTENSION("unknown"), NULL },
	EXTENSION("force-command=x"), NULL },
	SOURCES("192.0.2.7"), NULL },
	SOURCES("192.0.2.0/24"), NULL },
	SOURCES("::/0,192.0.2.0/24"), NULL },
	SOURCES("192.0.3.0/24"), SOURCE },
	SOURCES("192.0.2.70"), SOURCE },
	SOURCES("::/0"), SOURCE },
	/* malformed, though another item fits */
	SOURCES(""), OPTIONS },
	SOURCES("192.0.2.0/24,"), OPTIONS },
	SOURCES(",192.0.2.7"), OPTIONS },
	SOURCES("192.0.2.7,host"), OPTIONS },
	SOURCES("*"), OPTIONS },
	SOURCES("192.0.2.*"), OPTIONS },
	SOURCES("!192.0.2.8,192.0.2.7"), OPTIONS },
	SOURCES("192.0.2.7/24"), OPTIONS },
	SOURCES("192.0.2.0/33"), OPTIONS },
	SOURCES("192.0.2.7 "), OPTIONS },
};

static void
check(const char *got, const char *want, const struct words *w,
    const struct permits *p)
{
	if ((got == NULL) != (want == NULL) ||
	    (got != NULL && strcmp(got, want) != 0))
		fail_msg("%s %s: %s", w->principals,
		    w->critical[0] != NULL ? w->critical[0] : "",
		    got != NULL ? got : "welcome");
	if (got != NULL) {
		static const struct permits nothing;

		assert_memory_equal(p, &nothing, sizeof nothing);
	}
}

static void
refused_whoever_asks(void **state)
{
	struct authkeys_options line;
	struct permits p;

	(void)state;
	authkeys_options_init(&line);
	line.cert_authority = true;
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		const struct refusal *r = &refusals[i];
		struct key *cert = make(&r->words);
		const struct authcert_shown shown = { key_cert(cert), "alice",
			"192.0.2.7", NOW };

		check(authcert_refusal_by_ca(&shown, NULL, AUTHKEYS_APPLIES,
			  &p), r->why, &r->words, &p);
		permits_clear(&p);
		check(authcert_refusal_of_line(&shown, &line, &p), r->why,
		    &r->words, &p);
		permits_clear(&p);
		key_free(cert);
	}
	authkeys_options_clear(&line);
}

/* The client's address cannot be told: then it is nowhere. */
static void
unknown_address(void **state)
{
	const struct words w = { .principals = "alice",
		.critical = { "source-address=0.0.0.0/0,::/0" } };
	struct key *cert = make(&w);
	const struct authcert_shown shown = { key_cert(cert), "alice",
		"UNKNOWN", NOW };
	struct permits p;

	(void)state;
	check(authcert_refusal_by_ca(&shown, NULL, AUTHKEYS_APPLIES, &p),
	    SOURCE, &w, &p);
	key_free(cert);
}

/* No certificate of ours has an option twice: it would be sorted out. */
static void
options_given_twice(void **state)
{
	static const char *const names[] = { "force-command",
		"source-address" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const struct words w = { .principals = "alice" };
		struct key *cert = make(&w);
		struct cert c = *key_cert(cert);
		const struct authcert_shown shown = { &c, "alice", "192.0.2.7",
			NOW };
		struct buf value = { 0 }, twice = { 0 };
		struct permits p;

		buf_put_cstring(&value, "192.0.2.7");
		for (int n = 1; n <= 2; n++) {
			buf_put_cstring(&twice, names[i]);
			buf_put_string_buf(&twice, &value);
			c.critical = buf_span(&twice);
			check(authcert_refusal_by_ca(&shown, NULL,
				  AUTHKEYS_APPLIES, &p),
			    n == 1 ? NULL : OPTIONS,
			    &w, &p);
			permits_clear(&p);
		}
		buf_clear(&value);
		buf_clear(&twice);
		key_free(cert);
	}
}

static void
lines_with_principals(void **state)
{
	static const struct {
		const char *options, *principals, *why;
		uint64_t before;
	} rows[] = {
		/* the user's name is not asked for */
		{ "principals=\"ops\"", "ops", NULL, 0 },
		{ "principals=\"dev,ops\"", "x,ops", NULL, 0 },
		{ "principals=\"ops\"", "alice", PRINCIPAL, 0 },
		{ "principals=\"alice\"", "ops", PRINCIPAL, 0 },
		{ "principals=\"*\"", "ops", PRINCIPAL, 0 },
		{ "principals=\"ops\"", "*", PRINCIPAL, 0 },
		{ "principals=\"OPS\"", "ops", PRINCIPAL, 0 },
		{ "principals=\" ops\"", "ops", PRINCIPAL, 0 },
		{ "principals=\"\"", "ops", PRINCIPAL, 0 },
		{ "principals=\"\"", "", PRINCIPAL, 0 },
		{ "principals=\",ops\"", "ops", PRINCIPAL, 0 },
		{ "principals=\"dev,,ops\"", "ops", PRINCIPAL, 0 },
		{ "principals=\"dev,\"", "ops", PRINCIPAL, 0 },
		{ "principals=\"ops\"", "", PRINCIPAL, 0 },
		{ "principals=\"ops\"", "ops", EXPIRED, NOW },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct words w = { .principals = rows[i].principals,
			.before = rows[i].before };
		struct key *cert = make(&w);
		const struct authcert_shown shown = { key_cert(cert), "alice",
			"192.0.2.7", NOW };
		struct authkeys_options line;
		struct permits p;

		read_line(rows[i].options, &line);
		check(authcert_refusal_of_line(&shown, &line, &p), rows[i].why,
		    &w, &p);
		permits_clear(&p);
		authkeys_options_clear(&line);
		key_free(cert);
	}
}

/* The order in which the log tells of what is wrong. */
static void
the_first_reason_is_told(void **state)
{
	const struct words all = { .principals = "bob",
		.critical = { "unknown" },
		.before = 1 };
	struct key *cert = make(&all);
	const struct authcert_shown shown = { key_cert(cert), "alice",
		"192.0.2.7", NOW };
	struct authkeys_options line;
	struct permits p;

	(void)state;
	read_line("principals=\"ops\"", &line);
	check(authcert_refusal_of_line(&shown, &line, &p), OPTIONS, &all, &p);
	check(authcert_refusal_by_ca(&shown, NULL, AUTHKEYS_APPLIES, &p),
	    EXPIRED, &all, &p);
	authkeys_options_clear(&line);
	key_free(cert);
}

/* ---- what both allow --------------------------------------------------- */

static void
permits_of_both(const char *options, const struct words *w, bool by_ca,
    struct permits *p)
{
	struct key *cert = make(w);
	const struct authcert_shown shown = { key_cert(cert), "alice",
		"192.0.2.7", NOW };
	struct authkeys_options line;
	const char *why;

	read_line(options, &line);
	why = by_ca ? authcert_refusal_by_ca(&shown, &line, AUTHKEYS_APPLIES,
			  p) : authcert_refusal_of_line(&shown, &line, p);
	if (why != NULL)
		fail_msg("%s: %s", options, why);
	authkeys_options_clear(&line);
	key_free(cert);
}

/* Nothing is granted but what the certificate says. */
static void
extensions_permit(void **state)
{
	static const struct {
		const char *extension;
		bool pty, rc, agent, port, x11, no_touch;
	} rows[] = {
		{ "unknown", false, false, false, false, false, false },
		{ "permit-pty", true, false, false, false, false, false },
		{ "permit-user-rc", false, true, false, false, false, false },
		{ "permit-agent-forwarding", false, false, true, false, false,
		    false },
		{ "permit-port-forwarding", false, false, false, true, false,
		    false },
		{ "permit-X11-forwarding", false, false, false, false, true,
		    false },
		{ "no-touch-required", false, false, false, false, false,
		    true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct words w = { .principals = "alice",
			.extensions = { rows[i].extension } };
		struct permits p;

		permits_of_both("no-touch-required", &w, i % 2 != 0, &p);
		assert_int_equal(p.pty, rows[i].pty);
		assert_int_equal(p.user_rc, rows[i].rc);
		assert_int_equal(p.agent_forwarding, rows[i].agent);
		assert_int_equal(p.x11_forwarding, rows[i].x11);
		assert_int_equal(p.forward,
		    rows[i].port ? PERMITS_FORWARD_ALL : 0);
		assert_int_equal(p.tunnel_modes,
		    rows[i].port ? PERMITS_TUNNEL_ALL : 0);
		assert_int_equal(p.no_touch, rows[i].no_touch);
		assert_null(p.command);
		permits_clear(&p);
	}
}

static void
line_takes_away(void **state)
{
	const struct words w = { .principals = "alice",
		.critical = { "verify-required" },
		.extensions = { "permit-pty", "permit-port-forwarding",
		    "no-touch-required" } };
	struct permits p;

	(void)state;
	for (int by_ca = 0; by_ca <= 1; by_ca++) {
		permits_of_both("no-pty,permitopen=\"h:1\",tunnel=\"3\","
				"environment=\"A=1\"", &w, by_ca, &p);
		assert_false(p.pty || p.no_touch || p.user_rc);
		assert_true(p.verify_required);
		assert_true(permits_may_open(&p, "h", 1));
		assert_false(permits_may_open(&p, "h", 2));
		assert_false(permits_may_tunnel(&p, PERMITS_TUNNEL_ETHERNET,
		    4));
		assert_int_equal(p.env.n, 1);
		permits_clear(&p);
		permits_of_both("restrict", &w, by_ca, &p);
		assert_false(p.pty || p.forward != 0 || p.tunnel_modes != 0);
		permits_clear(&p);
		permits_of_both("verify-required,no-touch-required",
		    &(const struct words){ .principals = "alice" }, by_ca, &p);
		assert_true(p.verify_required);
		assert_false(p.no_touch);
		permits_clear(&p);
	}
}

static void
commands_of_both(void **state)
{
	static const struct {
		const char *options, *critical, *command, *why;
	} rows[] = {
		{ "pty", "force-command=a b", "a b", NULL },
		{ "command=\"a b\"", NULL, "a b", NULL },
		{ "command=\"a b\"", "force-command=a b", "a b", NULL },
		{ "command=\"a\"", "force-command=a b", NULL, COMMAND },
		{ "command=\"a b\"", "force-command=", NULL, COMMAND },
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		const size_t n = i / 2;
		const struct words w = { .principals = "alice",
			.critical = { rows[n].critical } };
		struct key *cert = make(&w);
		const struct authcert_shown shown = { key_cert(cert), "alice",
			"192.0.2.7", NOW };
		struct authkeys_options line;
		struct permits p;

		read_line(rows[n].options, &line);
		check(i % 2 == 0 ?
			authcert_refusal_of_line(&shown, &line, &p) :
			authcert_refusal_by_ca(&shown, &line,
			    AUTHKEYS_APPLIES, &p), rows[n].why, &w, &p);
		if (rows[n].why == NULL)
			assert_string_equal(p.command, rows[n].command);
		permits_clear(&p);
		authkeys_options_clear(&line);
		key_free(cert);
	}
}

/* ---- lists of principals ----------------------------------------------- */

static void
principal_lines(void **state)
{
	static const struct {
		const char *line;
		int result;
	} rows[] = {
		{ "ops", 0 },
		{ "  ops \t", 0 },
		{ "ops # of us", 0 },
		{ "no-pty ops", 0 },
		{ "no-pty \t ops", 0 },
		{ "command=\"a b\" ops", 0 },
		{ "", ERR_NOT_FOUND },
		{ "   ", ERR_NOT_FOUND },
		{ "# ops", ERR_NOT_FOUND },
		{ "#ops", ERR_NOT_FOUND },
		{ "dev", ERR_NOT_FOUND },
		{ "*", ERR_NOT_FOUND },
		{ "op", ERR_NOT_FOUND },
		{ "OPS", ERR_NOT_FOUND },
		{ "ops,dev", ERR_NOT_FOUND },
		{ "ops dev", ERR_NOT_FOUND },
		{ "command=\"#\" ops", ERR_NOT_FOUND },
		{ "dev ops", ERR_UNSUPPORTED },
		{ "nonsense ops", ERR_UNSUPPORTED },
		{ "no-pty restrict ops", ERR_SYNTAX },
		{ "command=\"a ops", ERR_SYNTAX },
	};
	struct key *cert = make(&(const struct words){ .principals = "x,ops" });
	const char *why;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct authkeys_options o;
		int r = authcert_match_principal(rows[i].line,
		    key_cert(cert), &o, &why);

		if (r != rows[i].result)
			fail_msg("%s: %d", rows[i].line, r);
		if (r == 0)
			authkeys_options_clear(&o);
	}
	key_free(cert);
}

static void
options_of_a_principal(void **state)
{
	static const struct {
		const char *line, *why;
		enum authkeys_applies applies;
	} rows[] = {
		{ "ops", NULL, AUTHKEYS_APPLIES },
		{ "no-pty ops", NULL, AUTHKEYS_APPLIES },
		{ "ops", LINE, AUTHKEYS_EXPIRED },
		{ "ops", LINE, AUTHKEYS_OTHER_CLIENT },
		{ "ops", LINE, AUTHKEYS_BAD_NETWORK },
		{ "cert-authority ops", LINE, AUTHKEYS_APPLIES },
		{ "principals=\"ops\" ops", LINE, AUTHKEYS_APPLIES },
		{ "cert-authority,principals=\"ops\" ops", LINE,
		    AUTHKEYS_APPLIES },
	};
	const struct words w = { .principals = "ops" };
	struct key *cert = make(&w);
	/* The user's name is not asked for. */
	const struct authcert_shown shown = { key_cert(cert), "alice",
		"192.0.2.7", NOW };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct authkeys_options o;
		struct permits p;
		const char *why;

		assert_int_equal(authcert_match_principal(rows[i].line,
				     key_cert(cert), &o, &why), 0);
		check(authcert_refusal_by_ca(&shown, &o, rows[i].applies, &p),
		    rows[i].why, &w, &p);
		permits_clear(&p);
		authkeys_options_clear(&o);
	}
	key_free(cert);
}

static void
the_log_tells_whose_it_is(void **state)
{
	struct key *cert = make(&(const struct words){ .principals = "alice" });
	char *print = key_fingerprint(ca, DIGEST_SHA256), *want;

	(void)state;
	authcert_log_refusal(key_cert(cert), DIGEST_SHA256, NULL, "why");
	xasprintf(&want, "Refusing certificate ID \"an id\" serial=7 signed "
			 "by ED25519 CA %s: why", print);
	assert_string_equal(last_message, want);
	free(want);
	authcert_log_refusal(key_cert(cert), DIGEST_SHA256, "f:1", "why");
	xasprintf(&want, "Refusing certificate ID \"an id\" serial=7 signed "
			 "by ED25519 CA %s via f:1: why", print);
	assert_string_equal(last_message, want);
	free(want);
	free(print);
	key_free(cert);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_whoever_asks),
		cmocka_unit_test(unknown_address),
		cmocka_unit_test(options_given_twice),
		cmocka_unit_test(lines_with_principals),
		cmocka_unit_test(the_first_reason_is_told),
		cmocka_unit_test(extensions_permit),
		cmocka_unit_test(line_takes_away),
		cmocka_unit_test(commands_of_both),
		cmocka_unit_test(principal_lines),
		cmocka_unit_test(options_of_a_principal),
		cmocka_unit_test(the_log_tells_whose_it_is),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
