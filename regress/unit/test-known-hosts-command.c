/* SPDX-License-Identifier: ISC */
/* KnownHostsCommand: what it is told, and what it may not do. */
#include "regress/unit/help.h"
#include "regress/unit/show-key.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "client/hosts/hostcheck.h"
#include "client/hosts/known-hosts-command.h"

static char dir[] = "/tmp/test-khc-XXXXXX";
static char program[64], count[64];
static struct client_conf conf;
static struct key *key, *other;

static int
set_up(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(program, sizeof program, "%s/program", dir);
	snprintf(count, sizeof count, "%s/count", dir);
	client_conf_init(&conf);
	assert_int_equal(client_conf_set(&conf, "User", "me"), 0);
	assert_int_equal(client_conf_finish(&conf), 0);
	conf_of_host(&conf, "h.test", NULL);
	conf.known.strict_host_key_checking = CLIENT_ASK_YES;
	assert_int_equal(key_generate("ed25519", 0, &key), 0);
	assert_int_equal(key_generate("ed25519", 0, &other), 0);
	log_set_level(LOG_LVL_QUIET);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	key_free(key);
	key_free(other);
	client_conf_clear(&conf);
	unlink(program);
	unlink(count);
	rmdir(dir);
	return 0;
}

/* The command is a script, with these arguments. */
static void
use(const char *script, const char *arguments)
{
	char text[1024];

	snprintf(text, sizeof text, "#!/bin/sh\n%s\n", script);
	assert_int_equal(file_replace(program, text, strlen(text), 0700), 0);
	free(conf.known.known_hosts_command);
	assert_int_not_equal(asprintf(&conf.known.known_hosts_command,
				 "%s %s", program, arguments), -1);
}

static int
ask(const struct key *k, int limit_ms, struct buf *out)
{
	buf_clear(out);
	return known_hosts_command_within(limit_ms, &conf,
	    k != NULL ? KNOWN_HOSTS_FOR_HOSTNAME : KNOWN_HOSTS_FOR_ORDER,
	    "[h.test]:2222", k, out);
}

static void
expect(const struct buf *out, const char *want)
{
	assert_int_equal(buf_len(out), strlen(want));
	assert_memory_equal(buf_data(out), want, strlen(want));
}

static void
nothing_without_the_keyword(void **state)
{
	struct buf out = { 0 };

	(void)state;
	free(conf.known.known_hosts_command);
	conf.known.known_hosts_command = NULL;
	assert_int_equal(ask(key, 1000, &out), 0);
	expect(&out, "");
}

/* Words are split as a shell does, then tokens are expanded; no shell sees
 * them. */
static void
words_and_tokens(void **state)
{
	struct buf out = { 0 }, want = { 0 }, line = { 0 };
	char *fp = key_fingerprint(key, DIGEST_SHA256), *text;

	(void)state;
	use("printf '<%s>' \"$@\"",
	    "%I %H '%t %f' \"a b\" # $HOME `x` %% %n ${HPN_TEST} %K");
	setenv("HPN_TEST", "value %I", 1);
	assert_int_equal(ask(NULL, 10000, &out), 0);
	expect(&out, "<ORDER><[h.test]:2222><NONE NONE><a b><#><$HOME><`x`>"
		     "<%><><value %I><NONE>");
	assert_int_equal(ask(key, 10000, &out), 0);
	assert_int_equal(key_format_line(key, NULL, &line), 0);
	text = buf_dup_string(&line);
	buf_printf(&want, "<HOSTNAME><[h.test]:2222><ssh-ed25519 %s><a b><#>"
			  "<$HOME><`x`><%%><><value %%I><%s>",
	    fp, strchr(text, ' ') + 1);
	assert_int_equal(buf_len(&out), buf_len(&want));
	assert_memory_equal(buf_data(&out), buf_data(&want), buf_len(&want));
	free(text);
	free(fp);
	buf_clear(&line);
	buf_clear(&want);
	buf_clear(&out);
}

static void
what_is_refused(void **state)
{
	static const struct {
		const char *script, *arguments;
		int want;
	} t[] = {
		{ "exit 1", "", ERR_HOSTKEY },
		{ "echo line; exit 3", "", ERR_HOSTKEY },
		{ "kill -9 $$", "", ERR_HOSTKEY },
		{ ":", "%z", ERR_SYNTAX },
		{ ":", "\"x", ERR_SYNTAX },
		{ ":", "${HPN_NO_SUCH}", ERR_NOT_FOUND },
		{ "head -c 1100000 /dev/zero", "", ERR_LIMIT },
		{ "exec sleep 60", "", ERR_TIMEOUT },
		{ "exec sleep 60 >/dev/null", "", ERR_TIMEOUT },
	};
	struct buf out = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		uint64_t before = clock_ms();

		use(t[i].script, t[i].arguments);
		assert_int_equal(ask(key, t[i].want == ERR_TIMEOUT ? 300 :
				     20000, &out), t[i].want);
		if (t[i].want == ERR_TIMEOUT)
			assert_true(clock_ms() - before < 50 * 1000);
	}
	free(conf.known.known_hosts_command);
	conf.known.known_hosts_command = strdup("true");
	assert_int_equal(ask(key, 1000, &out), ERR_ARGUMENT);
	free(conf.known.known_hosts_command);
	conf.known.known_hosts_command = strdup("/nonexistent/program");
	assert_int_equal(ask(key, 1000, &out), ERR_SYSTEM);
	buf_clear(&out);
}

static size_t
calls(void)
{
	struct buf b = { 0 };
	size_t n;

	assert_int_equal(file_read(count, &b, 4096), 0);
	n = buf_len(&b);
	buf_clear(&b);
	return n;
}

/* Its lines are known_hosts, asked for once to propose and once to check; the
 * host's other keys are not learned by them. */
static void
its_lines_make_a_host_known(void **state)
{
	struct hostcheck *h;
	struct buf line = { 0 };
	char *text, script[512], *list;

	(void)state;
	assert_int_equal(key_format_line(key, NULL, &line), 0);
	text = buf_dup_string(&line);
	snprintf(script, sizeof script,
	    "printf x >>%s\necho 'h.test,[h.test]:2222 %s'", count, text);
	use(script, "");
	assert_int_equal(hostcheck_new(&h, &conf, NULL, 2222), 0);
	list = hostcheck_algorithms(h);
	assert_true(hostcheck_knows(h, "ssh-ed25519"));
	assert_false(hostcheck_knows(h, "rsa-sha2-512"));
	assert_int_equal(calls(), 1);
	assert_int_equal(show_key(h, other), ERR_HOSTKEY);
	assert_int_equal(show_key(h, key), 0);
	assert_null(hostcheck_noted_in(h));
	assert_int_equal(calls(), 3);
	free(list);
	hostcheck_free(h);
	free(text);
	buf_clear(&line);
}

/* Even a key in a file is refused then: the program might have revoked it. */
static void
its_failure_is_fatal(void **state)
{
	struct hostcheck *h;
	char *list;

	(void)state;
	conf.known.strict_host_key_checking = CLIENT_ASK_NO;
	use("exit 1", "");
	assert_int_equal(hostcheck_new(&h, &conf, NULL, 22), 0);
	assert_int_equal(show_key(h, key), ERR_HOSTKEY);
	hostcheck_free(h);
	use("test $1 != ORDER", "%I");
	assert_int_equal(hostcheck_new(&h, &conf, NULL, 22), 0);
	list = hostcheck_algorithms(h);
	assert_int_equal(show_key(h, key), ERR_HOSTKEY);
	free(list);
	hostcheck_free(h);
	assert_int_equal(hostcheck_new(&h, &conf, NULL, 22), 0);
	assert_int_equal(show_key(h, key), 0);
	hostcheck_free(h);
	conf.known.strict_host_key_checking = CLIENT_ASK_YES;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_without_the_keyword),
		cmocka_unit_test(words_and_tokens),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(its_lines_make_a_host_known),
		cmocka_unit_test(its_failure_is_fatal),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
