/* SPDX-License-Identifier: ISC */
/* Which names are looked up for a canonical host name, and what comes of the
 * answers. */
#include "regress/unit/help.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "conf/client-conf.h"

/* The names that there are, with their aliases. */
static const struct {
	const char *name, *alias;
} zone[] = {
	{ "box.b.test.", "box.b.test" },
	{ "two.names.", NULL },
	{ "www.b.test.", "Real.B.Test." },
	{ "www", "real.b.test" },
	{ "shell.b.test.", "$(id).b.test" },
	{ "dash.b.test.", "-x.b.test" },
	{ "dots.b.test.", "a..b.test" },
	{ "slash.b.test.", "a/b.test" },
};

static struct strlist asked;
static unsigned slow_us;

static int
resolve(const char *name, int family, bool expected, struct addrinfo **list,
    char **alias)
{
	const struct addrinfo hints = { .ai_family = AF_INET,
		.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };

	(void)family;
	*alias = NULL;
	assert_int_equal(strlist_add(&asked, name), 0);
	assert_true(!expected || name[strlen(name) - 1] != '.');
	usleep(slow_us);
	for (size_t i = 0; i < ARRAY_LEN(zone); i++) {
		if (strcmp(zone[i].name, name) != 0)
			continue;
		assert_int_equal(getaddrinfo("127.0.0.9", NULL, &hints, list),
		    0);
		if (zone[i].alias != NULL)
			*alias = xstrdup(zone[i].alias);
		return 0;
	}
	return ERR_NOT_FOUND;
}

#define DOMAINS "CanonicalDomains=a.test B.Test."
#define ALIASES "CanonicalizePermittedCNAMEs=x,*.B.test:*.b.test"

static int
load(struct client_conf *c, const char *host, const char *const options[4])
{
	const struct client_conf_context context = { .host = host,
		.config_path = "none", .resolve = resolve };

	strlist_clear(&asked);
	messages_forget();
	client_conf_init(c);
	for (size_t i = 0; i < 4 && options[i] != NULL; i++)
		assert_int_equal(client_conf_set_option(c, options[i]), 0);
	return client_conf_load(c, &context);
}

static int
begin(void **state)
{
	(void)state;
	messages_keep();
	slow_us = 0;
	return 0;
}

static char *
joined(const struct strlist *l)
{
	struct buf b = { 0 };
	char *s;

	for (size_t i = 0; i < l->n; i++)
		buf_printf(&b, "%s%s", i > 0 ? " " : "", l->v[i]);
	s = buf_dup_string(&b);
	buf_clear(&b);
	assert_non_null(s);
	return s;
}

#define YES "CanonicalizeHostname=yes"
#define ALWAYS "CanonicalizeHostname=always"

static const struct {
	const char *host;
	const char *options[4];
	/* The names that are looked up; the host's name then, NULL: the
	 * configuration is refused. */
	const char *names, *becomes;
} cases[] = {
	/* off, and how it is turned on */
	{ "box", { DOMAINS }, "", "box" },
	{ "BOX", { DOMAINS, "CanonicalizeHostname=no" }, "", "box" },
	{ "box", { DOMAINS, "CanonicalizeHostname=none" }, "", "box" },
	{ "Box", { DOMAINS, YES }, "box.a.test. box.b.test.", "box.b.test" },
	{ "box", { DOMAINS, ALWAYS }, "box.a.test. box.b.test.",
	    "box.b.test" },
	{ "box", { YES }, "", "box" },
	{ "x", { DOMAINS, YES, "Hostname=BOX" }, "box.a.test. box.b.test.",
	    "box.b.test" },
	/* through proxies */
	{ "box", { DOMAINS, YES, "ProxyCommand=x" }, "", "box" },
	{ "box", { DOMAINS, YES, "ProxyJump=x" }, "", "box" },
	{ "box", { DOMAINS, YES, "ProxyCommand=none" },
	    "box.a.test. box.b.test.", "box.b.test" },
	{ "box", { DOMAINS, ALWAYS, "ProxyJump=x" },
	    "box.a.test. box.b.test.", "box.b.test" },
	/* dots */
	{ "two.names.", { DOMAINS, YES }, "two.names.", "two.names" },
	{ "no.names.", { DOMAINS, YES }, "no.names.", "no.names." },
	{ "a.b", { DOMAINS, YES }, "a.b.a.test. a.b.b.test.", "a.b" },
	{ "a.b", { DOMAINS, YES, "CanonicalizeMaxDots=0" }, "", "a.b" },
	{ "a.b.c", { DOMAINS, YES }, "", "a.b.c" },
	{ "a.b.c", { DOMAINS, YES, "CanonicalizeMaxDots=2" },
	    "a.b.c.a.test. a.b.c.b.test.", "a.b.c" },
	/* names that there are not */
	{ "no", { DOMAINS, YES }, "no.a.test. no.b.test.", "no" },
	{ "no", { DOMAINS, YES, "CanonicalizeFallbackLocal=no" },
	    "no.a.test. no.b.test.", NULL },
	{ "no.", { DOMAINS, YES, "CanonicalizeFallbackLocal=no" }, "no.",
	    NULL },
	{ "a.b.c", { DOMAINS, YES, "CanonicalizeFallbackLocal=no" }, "",
	    "a.b.c" },
	/* addresses */
	{ "127.1", { DOMAINS, YES }, "", "127.0.0.1" },
	{ "127.1", { NULL }, "", "127.0.0.1" },
	{ "0::1", { DOMAINS, YES, ALIASES }, "", "::1" },
	{ "::1", { DOMAINS, YES, ALIASES, "AddressFamily=inet" }, "", "::1" },
	/* aliases */
	{ "www", { DOMAINS, YES }, "www.a.test. www.b.test.", "www.b.test" },
	{ "www", { DOMAINS, YES, ALIASES }, "www.a.test. www.b.test.",
	    "real.b.test" },
	{ "www", { DOMAINS, YES, "CanonicalizePermittedCNAMEs=*.c:*" },
	    "www.a.test. www.b.test.", "www.b.test" },
	{ "www", { DOMAINS, YES, "CanonicalizePermittedCNAMEs=*:*.c" },
	    "www.a.test. www.b.test.", "www.b.test" },
	{ "www",
	    { DOMAINS, YES, "CanonicalizePermittedCNAMEs=a:b *:!real.*,*" },
	    "www.a.test. www.b.test.", "www.b.test" },
	{ "www",
	    { DOMAINS, YES, "CanonicalizePermittedCNAMEs=a:b *.test:*.test" },
	    "www.a.test. www.b.test.", "real.b.test" },
	{ "www", { "CanonicalizePermittedCNAMEs=*:*", YES }, "www",
	    "real.b.test" },
	{ "www", { "CanonicalizePermittedCNAMEs=*:*" }, "", "www" },
	{ "www", { "CanonicalizePermittedCNAMEs=*:*", YES, "ProxyJump=x" },
	    "", "www" },
	{ "www", { "CanonicalizePermittedCNAMEs=*:*", ALWAYS, "ProxyJump=x" },
	    "www", "real.b.test" },
	{ "no", { "CanonicalizePermittedCNAMEs=*:*", YES }, "no", NULL },
	{ "no", { "CanonicalizePermittedCNAMEs=*:*", ALWAYS, "ProxyJump=x" },
	    "no", "no" },
	/* aliases that would be more than a name, wherever they get to */
	{ "shell", { DOMAINS, YES, "CanonicalizePermittedCNAMEs=*:*" },
	    "shell.a.test. shell.b.test.", "shell.b.test" },
	{ "dash", { DOMAINS, YES, "CanonicalizePermittedCNAMEs=*:*" },
	    "dash.a.test. dash.b.test.", "dash.b.test" },
	{ "dots", { DOMAINS, YES, "CanonicalizePermittedCNAMEs=*:*" },
	    "dots.a.test. dots.b.test.", "dots.b.test" },
	{ "slash", { DOMAINS, YES, "CanonicalizePermittedCNAMEs=*:*" },
	    "slash.a.test. slash.b.test.", "slash.b.test" },
};

static void
names(void **state)
{
	struct client_conf c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int r = load(&c, cases[i].host, cases[i].options);
		char *got = joined(&asked);
		const char *name = r == 0 ? c.host.hostname : NULL;

		if (strcmp(got, cases[i].names) != 0 ||
		    (name == NULL) != (cases[i].becomes == NULL) ||
		    (name != NULL && strcmp(name, cases[i].becomes) != 0))
			fail_msg("case %zu, %s: asked \"%s\", became %s", i,
			    cases[i].host, got, name != NULL ? name : "-");
		assert_string_equal(c.load.original_host, cases[i].host);
		free(got);
		client_conf_clear(&c);
	}
	strlist_clear(&asked);
}

static void
message(void **state)
{
	static const char *const options[4] = { DOMAINS, YES,
		"CanonicalizeFallbackLocal=no" };
	struct client_conf c;

	(void)state;
	assert_int_equal(load(&c, "No", options), ERR_NOT_FOUND);
	assert_string_equal(messages,
	    "hpnssh: Could not resolve host \"no\"\n");
	client_conf_clear(&c);
	strlist_clear(&asked);
}

/* They serve for the connection, unless a proxy makes it. */
static void
addresses(void **state)
{
	static const char *const direct[4] = { DOMAINS, YES },
	    *const proxy[4] = { DOMAINS, ALWAYS, "ProxyJump=x" },
	    *const off[4] = { DOMAINS };
	struct client_conf c;

	(void)state;
	assert_int_equal(load(&c, "box", direct), 0);
	assert_non_null(c.load.addresses);
	assert_int_equal(c.load.addresses_family, AF_UNSPEC);
	assert_int_equal(((const struct sockaddr_in *)(const void *)
	    c.load.addresses->ai_addr)->sin_addr.s_addr, htonl(0x7f000009));
	client_conf_clear(&c);
	assert_int_equal(load(&c, "box", proxy), 0);
	assert_null(c.load.addresses);
	client_conf_clear(&c);
	assert_int_equal(load(&c, "box", off), 0);
	assert_null(c.load.addresses);
	client_conf_clear(&c);
	strlist_clear(&asked);
}

/* A resolver that is slow for each name is not asked for many. */
static void
time_limit(void **state)
{
	static const char *const options[4] = {
		"CanonicalDomains=a b c d e f g h", YES, "ConnectTimeout=1" };
	struct client_conf c;

	(void)state;
	slow_us = 600000;
	assert_int_equal(load(&c, "no", options), ERR_TIMEOUT);
	assert_true(asked.n == 2);
	assert_non_null(strstr(messages, "no time is left"));
	client_conf_clear(&c);
	strlist_clear(&asked);
}

static void
values(void **state)
{
	static const char *const bad[] = { "CanonicalDomains=a..b",
		"CanonicalDomains=-a", "CanonicalDomains=.a",
		"CanonicalDomains=_a", "CanonicalDomains=a b$",
		"CanonicalDomains=none a", "CanonicalDomains=a none",
		"CanonicalDomains=\"\"", "CanonicalDomains=.",
		"CanonicalizeMaxDots=-1", "CanonicalizeMaxDots=x",
		"CanonicalizeHostname=maybe", "CanonicalizeFallbackLocal=x",
		"CanonicalizePermittedCNAMEs=a",
		"CanonicalizePermittedCNAMEs=a:",
		"CanonicalizePermittedCNAMEs=a:b none" };
	struct client_conf c;
	struct buf many = { 0 };
	char *text;

	(void)state;
	client_conf_init(&c);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (client_conf_set_option(&c, bad[i]) != ERR_SYNTAX)
			fail_msg("%s is taken", bad[i]);
	buf_printf(&many, "CanonicalDomains");
	for (unsigned i = 0; i < CLIENT_CANONICAL_MAX; i++)
		buf_printf(&many, " d%u", i);
	text = buf_dup_string(&many);
	assert_int_equal(client_conf_set_option(&c, text), 0);
	free(text);
	client_conf_clear(&c);
	buf_printf(&many, " one-more");
	text = buf_dup_string(&many);
	assert_int_equal(client_conf_set_option(&c, text), ERR_SYNTAX);
	free(text);
	buf_clear(&many);
	client_conf_clear(&c);
}

static int
read_text(struct client_conf *c, const char *text)
{
	struct client_conf_context context = { .host = "alias" };
	char *path = temp_file("config", text);
	int r;

	messages_forget();
	context.config_path = path;
	r = client_conf_load(c, &context);
	free(path);
	return r;
}

/* What asks for a second pass, and what is true in which. */
static void
second_pass(void **state)
{
	static const struct {
		const char *text;
		int port;
	} passes[] = {
		{ "Match canonical\nPort 7\n", 2222 },
		{ "Match !canonical\nPort 7\n", 7 },
		{ "Match final\nPort 7\n", 7 },
		{ "Match !final\nPort 7\nMatch canonical\nPort 8\n", 7 },
		{ "Match !final host x\nMatch canonical\nPort 7\n", 2222 },
		{ "Match final host x\nMatch canonical\nPort 7\n", 7 },
		{ "Match final canonical\nPort 7\n", 7 },
		{ "CanonicalizeHostname no\nMatch canonical\nPort 7\n", 2222 },
		{ "CanonicalizeHostname yes\nMatch canonical\nPort 7\n", 7 },
		{ "CanonicalizeHostname yes\nMatch final\nPort 7\n", 7 },
		{ "CanonicalizeHostname yes\nProxyJump x\n"
		  "Match canonical all\nPort 7\n", 7 },
		/* The name is settled by then, and so are the rules for it. */
		{ "Match final\nHostname x\nMatch host x\nPort 7\n", 2222 },
		{ "Match final\nCanonicalizeHostname yes\n"
		  "Match canonical\nPort 7\n", 7 },
		{ "Hostname x\nMatch final host x\nPort 7\n", 7 },
		{ "Host alias\nHostname REAL\nMatch final host REAL\n"
		  "Port 7\nMatch final originalhost alias\nPort 8\n", 7 },
	};
	struct client_conf c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(passes); i++) {
		client_conf_init(&c);
		if (read_text(&c, passes[i].text) != 0)
			fail_msg("%s: %s", passes[i].text, messages);
		if (c.host.port != passes[i].port)
			fail_msg("%s: port is %d", passes[i].text, c.host.port);
		client_conf_clear(&c);
	}
	client_conf_init(&c);
	assert_int_equal(read_text(&c, "Match final\nHostname x\n"
	    "CanonicalizeHostname yes\n"), 0);
	assert_string_equal(c.host.hostname, "alias");
	assert_int_equal(c.canonical.hostname, CLIENT_CANONICAL_NO);
	client_conf_clear(&c);
}

/* What stands behind the % of an address is an interface, not a token. */
static void
scoped_address(void **state)
{
	struct client_conf c;

	(void)state;
	client_conf_init(&c);
	assert_int_equal(read_text(&c, "Hostname fe80::1%%lo\nPort 7\n"
	    "Match final\nUser u\n"), 0);
	assert_string_equal(c.host.hostname, "fe80::1%lo");
	client_conf_clear(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(names, begin),
		cmocka_unit_test_setup(message, begin),
		cmocka_unit_test_setup(addresses, begin),
		cmocka_unit_test_setup(time_limit, begin),
		cmocka_unit_test_setup(values, begin),
		cmocka_unit_test_setup(second_pass, begin),
		cmocka_unit_test_setup(scoped_address, begin),
	};

	return cmocka_run_group_tests(tests, temp_make, temp_remove);
}
