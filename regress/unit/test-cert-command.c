/* SPDX-License-Identifier: ISC */
/* CertificateCommand: what is good for long enough, what is read of what the
 * program prints, and how often it is run. */
#include "regress/unit/help.h"
#include "regress/unit/make-cert.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "client/auth/cert-command.h"

enum { NOW = 1000000 };

static void
good_for_long_enough(void **state)
{
	static const struct {
		enum cert_kind kind;
		uint64_t after, before;
		bool good;
	} t[] = {
		{ CERT_USER, 0, CERT_FOREVER, true },
		{ CERT_HOST, 0, CERT_FOREVER, false },
		{ CERT_USER, NOW, CERT_FOREVER, true },
		{ CERT_USER, NOW + 1, CERT_FOREVER, false },
		{ CERT_USER, 0, NOW, false },
		{ CERT_USER, 0, NOW - 1, false },
		/* A long life: five minutes. */
		{ CERT_USER, 0, NOW + 300, false },
		{ CERT_USER, 0, NOW + 301, true },
		/* A short one: a tenth. */
		{ CERT_USER, NOW - 90, NOW + 10, false },
		{ CERT_USER, NOW - 89, NOW + 11, true },
		{ CERT_USER, NOW, NOW + 1, true },
		/* Nonsense that an authority may sign. */
		{ CERT_USER, NOW, NOW, false },
		{ CERT_USER, CERT_FOREVER, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		const struct cert c = { .kind = t[i].kind,
			.valid_after = t[i].after,
			.valid_before = t[i].before };

		assert_int_equal(cert_command_is_good(&c, NOW), t[i].good);
	}
}

/* Appends the line of a certificate, or of the plain key. */
static void
put_line(struct buf *text, bool certificate, const char *comment)
{
	struct key *k = NULL, *cert;

	assert_int_equal(key_generate("ed25519", 0, &k), 0);
	cert = make_cert_for(k);
	assert_int_equal(key_format_line(certificate ? cert : k, comment,
			     text), 0);
	buf_put_u8(text, '\n');
	key_free(cert);
	key_free(k);
}

static size_t
read_all(struct span text)
{
	struct key **v = NULL;
	size_t n = 0;

	cert_command_read(text, &v, &n);
	for (size_t i = 0; i < n; i++) {
		assert_true(key_is_cert(v[i]));
		assert_false(key_is_private(v[i]));
		key_free(v[i]);
	}
	free(v);
	return n;
}

static void
what_is_read(void **state)
{
	struct buf text = { 0 };
	size_t len;

	(void)state;
	assert_int_equal(read_all(buf_span(&text)), 0);
	put_line(&text, true, "a comment");
	len = buf_len(&text);
	assert_int_equal(read_all(buf_span(&text)), 1);
	/* Without its end, or with another system's. */
	assert_int_equal(read_all((struct span){ buf_data(&text), len - 1 }),
	    1);
	assert_int_equal(read_all((struct span){ buf_data(&text), len / 2 }),
	    0);
	buf_printf(&text, "\n# a word\r\n \t\nthis is none\n");
	put_line(&text, false, NULL);
	put_line(&text, true, NULL);
	assert_int_equal(read_all(buf_span(&text)), 2);
	/* Nothing is read from a private key on. */
	buf_printf(&text, "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n");
	put_line(&text, true, NULL);
	assert_int_equal(read_all(buf_span(&text)), 2);
	buf_clear(&text);
	for (int i = 0; i < 70; i++)
		put_line(&text, true, NULL);
	assert_int_equal(read_all(buf_span(&text)), 64);
	buf_clear(&text);
	buf_put_u8(&text, '\0');
	put_line(&text, true, NULL);
	assert_int_equal(read_all(buf_span(&text)), 0);
	buf_clear(&text);
}

/* ---- how often ---------------------------------------------------------- */

static char dir[] = "/tmp/test-cc-XXXXXX";
static char program[64], count[64];

static size_t
runs(void)
{
	struct buf b = { 0 };
	size_t n;

	if (access(count, F_OK) != 0)
		return 0;
	assert_int_equal(file_read(count, &b, 4096), 0);
	n = buf_len(&b);
	buf_clear(&b);
	return n;
}

/* The program prints this, and its reason into a file. */
static void
use(const char *script)
{
	char text[4096];

	snprintf(text, sizeof text, "#!/bin/sh\nprintf x >>%s\n%s\n", count,
	    script);
	assert_int_equal(file_replace(program, text, strlen(text), 0700), 0);
}

static void
once_for_each_host(void **state)
{
	struct client_conf conf, other;
	struct buf line = { 0 }, script = { 0 };
	char *text;

	(void)state;
	client_conf_init(&conf);
	client_conf_init(&other);
	assert_int_equal(client_conf_set(&conf, "Hostname", "one"), 0);
	assert_int_equal(client_conf_set(&other, "Hostname", "two"), 0);
	conf.auth.certificate_command = strdup(program);
	other.auth.certificate_command = strdup(program);
	put_line(&line, true, NULL);
	text = buf_dup_string(&line);
	buf_printf(&script, "cat <<'end'\n%send", text);
	free(text);
	text = buf_dup_string(&script);

	use("exit 1");
	assert_null(cert_command_issued(&conf, 0));
	assert_false(cert_command_run(&conf, CERT_COMMAND_MISSING, NULL,
	    false));
	assert_int_equal(runs(), 1);
	assert_false(cert_command_run(&conf, CERT_COMMAND_REFUSED, NULL,
	    false));
	assert_int_equal(runs(), 1);

	use(text);
	assert_true(cert_command_run(&other, CERT_COMMAND_MISSING, NULL,
	    false));
	assert_int_equal(runs(), 2);
	assert_non_null(cert_command_issued(&other, 0));
	assert_null(cert_command_issued(&other, 1));
	assert_null(cert_command_issued(&conf, 0));
	/* In vain until somebody says otherwise; what was printed stays. */
	assert_false(cert_command_run(&other, CERT_COMMAND_MISSING, NULL,
	    false));
	assert_non_null(cert_command_issued(&other, 0));
	cert_command_was_good(&other);
	assert_true(cert_command_run(&other, CERT_COMMAND_ENDS, NULL, false));
	assert_int_equal(runs(), 3);
	assert_null(cert_command_issued(&other, 1));
	/* A failure takes nothing away. */
	cert_command_was_good(&other);
	use("exit 1");
	assert_false(cert_command_run(&other, CERT_COMMAND_ENDS, NULL, false));
	assert_non_null(cert_command_issued(&other, 0));
	free(text);
	buf_clear(&line);
	buf_clear(&script);
	client_conf_clear(&conf);
	client_conf_clear(&other);
}

static int
set_up(void **state)
{
	(void)state;
	log_set_level(LOG_LVL_QUIET);
	assert_non_null(mkdtemp(dir));
	snprintf(program, sizeof program, "%s/program", dir);
	snprintf(count, sizeof count, "%s/count", dir);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	unlink(program);
	unlink(count);
	rmdir(dir);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_for_long_enough),
		cmocka_unit_test(what_is_read),
		cmocka_unit_test(once_for_each_host),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
