/* SPDX-License-Identifier: ISC */
/* Keywords about certificates: how they are read, shown and expanded. */
#include "regress/unit/help.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "conf/client-conf.h"

static void
load(struct client_conf *c, const char *content)
{
	char *path = temp_file("config", content);
	struct client_conf_context context = { .host = "host",
		.config_path = path };

	client_conf_init(c);
	assert_int_equal(client_conf_load(c, &context), 0);
	free(path);
}

static void
assert_dumped(const struct client_conf *c, const char *lines)
{
	struct buf out = { 0 };
	char *text;

	assert_int_equal(client_conf_dump(c, &out), 0);
	text = buf_dup_string(&out);
	assert_non_null(strstr(text, lines));
	free(text);
	buf_clear(&out);
}

static void
as_they_are_shown(void **state)
{
	struct client_conf c;

	(void)state;
	load(&c, "CertificateFile ~/%n-cert.pub\nCertificateFile none\n"
		 "CertificateFile /b\nCASignatureAlgorithms -rsa*,*sk-*\n"
		 "KnownHostsCommand  /bin/x \"a  b\" # %H \n");
	assert_dumped(&c, "\ncertificatefile ~/%n-cert.pub\n"
			  "certificatefile /b\n");
	assert_dumped(&c, "\ncasignaturealgorithms ssh-ed25519,"
			  "ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,"
			  "ecdsa-sha2-nistp521\n");
	assert_dumped(&c, "\nknownhostscommand /bin/x \"a  b\" # %H\n");
	client_conf_clear(&c);
	load(&c, "KnownHostsCommand none\nKnownHostsCommand /x\n");
	assert_null(c.known.known_hosts_command);
	client_conf_clear(&c);
}

/* Values with blanks have no quotes, each variable has a line, and tokens
 * stand for what they are. */
static void
as_programs_read_it(void **state)
{
	struct client_conf c;

	(void)state;
	load(&c, "User \"a b\"\nSetEnv A%h=x%h \"B=two words\"\n"
		 "SetEnv C=3\nRevokedHostKeys /r/%h ${HOME}/b\n"
		 "UserKnownHostsFile \"/a b\" /c\n"
		 "ProxyJump  u;ser@host;x,'b  # comment\n");
	assert_dumped(&c, "\nuser a b\n");
	assert_dumped(&c, "\nsetenv A%h=xhost\nsetenv B=two words\n");
	assert_dumped(&c, "\nuserknownhostsfile /a b /c\n");
	assert_dumped(&c, "\nrevokedhostkeys /r/host /");
	assert_dumped(&c, "\nproxyjump u;ser@host;x,'b\n");
	client_conf_clear(&c);
}

static void
jumps_of_the_command_line(void **state)
{
	static const char *const bad[] = { "a;b", "host'with'quote", "u;r@a" };
	struct client_conf c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char option[64];

		client_conf_init(&c);
		snprintf(option, sizeof option, "ProxyJump=%s", bad[i]);
		assert_int_not_equal(client_conf_set_option(&c, option), 0);
		assert_int_not_equal(
		    client_conf_set(&c, "ProxyJump", bad[i]), 0);
		assert_null(c.tcp.proxy_jump);
		client_conf_clear(&c);
	}
	client_conf_init(&c);
	assert_int_equal(client_conf_set_option(&c, "ProxyJump=None # x"), 0);
	assert_null(c.tcp.proxy_jump);
	assert_true(client_conf_is_set(&c, "ProxyJump"));
	client_conf_clear(&c);
}

static void
what_the_user_has_named(void **state)
{
	struct client_conf c;

	(void)state;
	load(&c, "CertificateFile /b\nIdentityFile /k\n");
	assert_true(client_conf_is_explicit(&c, "/b"));
	assert_true(client_conf_is_explicit(&c, "/k"));
	assert_int_equal(strlist_add(&c.load.system_identities, "/k"), 0);
	assert_false(client_conf_is_explicit(&c, "/k"));
	client_conf_clear(&c);
	load(&c, "");
	assert_true(c.auth.identity_file.n > 0);
	assert_false(client_conf_is_explicit(&c, c.auth.identity_file.v[0]));
	client_conf_clear(&c);
}

static void
a_hundred_certificates(void **state)
{
	struct client_conf c;
	char line[64];

	(void)state;
	client_conf_init(&c);
	for (int i = 0; i <= 100; i++) {
		snprintf(line, sizeof line, "CertificateFile=/%d", i);
		assert_int_equal(client_conf_set_option(&c, line),
		    i < 100 ? 0 : ERR_SYNTAX);
	}
	assert_int_equal(c.auth.certificate_file.n, 100);
	client_conf_clear(&c);
}

/* Tokens of keys are for KnownHostsCommand alone. */
static void
tokens_of_a_host_key(void **state)
{
	const struct client_host_tokens t = { .reason = "ORDER",
		.name = "[h]:1", .key_type = "type", .base64 = "%p" };
	struct client_conf c;
	char *text;

	(void)state;
	load(&c, "");
	assert_int_equal(client_conf_expand_host(&c,
			     CLIENT_TOKENS_KNOWN_HOSTS, &t, "x",
			     "%I %H %t %f %K %n %%I", &text), 0);
	assert_string_equal(text, "ORDER [h]:1 type NONE %p host %I");
	free(text);
	assert_int_equal(client_conf_expand(&c, CLIENT_TOKENS_COMMAND, "x",
			     "%I", &text), ERR_SYNTAX);
	client_conf_clear(&c);
}

static void
the_socket_of_the_agent(void **state)
{
	static const struct {
		const char *line, *path; /* NULL: none */
	} cases[] = {
		{ "IdentityAgent SSH_AUTH_SOCK", "/env" },
		{ "IdentityAgent $HPN_TEST_SOCK", "/sock%h" },
		{ "IdentityAgent $HPN_TEST_NONE", NULL },
		{ "IdentityAgent none", NULL },
		{ "IdentityAgent /x/%h", "/x/host" },
	};
	struct client_conf c;
	char *path;

	(void)state;
	setenv("SSH_AUTH_SOCK", "/env", 1);
	setenv("HPN_TEST_SOCK", "/sock%h", 1);
	unsetenv("HPN_TEST_NONE");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		load(&c, cases[i].line);
		path = client_conf_agent(&c);
		if (cases[i].path == NULL)
			assert_null(path);
		else
			assert_string_equal(path, cases[i].path);
		free(path);
		client_conf_clear(&c);
	}
}

static int
set_up(void **state)
{
	messages_keep();
	return temp_make(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_they_are_shown),
		cmocka_unit_test(as_programs_read_it),
		cmocka_unit_test(jumps_of_the_command_line),
		cmocka_unit_test(what_the_user_has_named),
		cmocka_unit_test(a_hundred_certificates),
		cmocka_unit_test(tokens_of_a_host_key),
		cmocka_unit_test(the_socket_of_the_agent),
	};

	return cmocka_run_group_tests(tests, set_up, temp_remove);
}
