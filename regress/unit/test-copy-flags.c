/* SPDX-License-Identifier: ISC */
/* The options that hpnscp and hpnsftp have in common. */
#include "regress/unit/hex.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "client/common/ssh-flags.h"
#include "client/copy/copy-flags.h"

enum { WORDS_MAX = 12 };

/* What getopt makes of the words, taken in order. The last result. */
static int
take_words(struct copy_flags *f, const char *const *words, const char **why)
{
	char *argv[WORDS_MAX + 2] = { (char *)(uintptr_t) "test" };
	int argc = 1, flag, r = 1;

	for (; words[argc - 1] != NULL; argc++)
		argv[argc] = (char *)(uintptr_t)words[argc - 1];
	*f = (struct copy_flags){ .port = 0 };
	optind = 0; /* getopt begins anew */
	opterr = 0;
	while (r == 1 && (flag = getopt(argc, argv, COPY_FLAGS)) != -1)
		r = copy_flag_take(f, flag, optarg, why);
	return r;
}

static void
assert_list(const struct strlist *got, const char *const *want)
{
	size_t n = 0;

	for (; want[n] != NULL; n++) {
		assert_true(n < got->n);
		assert_string_equal(got->v[n], want[n]);
	}
	assert_int_equal(got->n, n);
}

/* Each option, alone and in each spelling: what is handed on. */
static void
test_each(void **state)
{
	static const struct {
		const char *given[WORDS_MAX], *handed_on[WORDS_MAX];
	} rows[] = {
		{ { "-4" }, { "-4" } },
		{ { "-6" }, { "-6" } },
		{ { "-A" }, { "-A" } },
		{ { "-C" }, { "-C" } },
		{ { "-q" }, { "-q" } },
		{ { "-v" }, { "-v" } },
		{ { "-v", "-v" }, { "-v", "-v" } },
		{ { "-c", "aes128-ctr" }, { "-c", "aes128-ctr" } },
		{ { "-caes128-ctr" }, { "-c", "aes128-ctr" } },
		{ { "-F", "none" }, { "-F", "none" } },
		{ { "-i", "-v" }, { "-i", "-v" } },
		{ { "-ifile" }, { "-i", "file" } },
		{ { "-J", "a,b" }, { "-J", "a,b" } },
		{ { "-o", "User=me" }, { "-o", "User=me" } },
		{ { "-oUser me" }, { "-o", "User me" } },
		{ { "-D", "server" }, { NULL } },
		{ { "-S", "program" }, { NULL } },
		{ { "-P", "22" }, { NULL } },
		{ { "-l", "8" }, { NULL } },
	};
	struct copy_flags f;
	const char *why;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(take_words(&f, rows[i].given, &why), 1);
		assert_list(&f.ssh, rows[i].handed_on);
		copy_flags_clear(&f);
	}
}

static void
test_combined(void **state)
{
	static const char *const words[] = { "-4qvCoPort=1", "-P22", "-l",
		"80", "-Dserver x", "-S", "ssh", "-Akey", NULL };
	static const char *const handed_on[] = { "-4", "-q", "-v", "-C", "-o",
		"Port=1", "-A", NULL };
	struct copy_flags f;
	const char *why = NULL;

	(void)state;
	/* -k, behind -A, is no option of these. */
	assert_int_equal(take_words(&f, words, &why), 0);
	assert_list(&f.ssh, handed_on);
	assert_true(f.quiet);
	assert_true(f.verbose);
	assert_int_equal(f.port, 22);
	assert_int_equal(f.rate_bytes, 80 * 1024 / 8);
	assert_string_equal(f.sftp_server, "server x");
	assert_string_equal(f.ssh_program, "ssh");
	copy_flags_clear(&f);
}

static void
test_bad_values(void **state)
{
	static const struct {
		const char *given[3], *why;
	} rows[] = {
		{ { "-P", "0" }, "bad port" },
		{ { "-P", "65536" }, "bad port" },
		{ { "-P", "22x" }, "bad port" },
		{ { "-P", "" }, "bad port" },
		{ { "-l", "0" }, "bad limit" },
		{ { "-l", "104857601" }, "bad limit" },
		{ { "-l", "-1" }, "bad limit" },
	};
	struct copy_flags f;
	const char *why;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(
		    take_words(&f, rows[i].given, &why), ERR_SYNTAX);
		assert_string_equal(why, rows[i].why);
		copy_flags_clear(&f);
	}
}

/* The table and the getopt string agree on every character; what is handed
 * on is what a connection of this process takes, too. */
static void
test_all_flags(void **state)
{
	struct copy_flags f = { .port = 0 };
	struct ssh_flags flags = { .config_path = NULL };
	struct client_conf conf;
	const char *colon, *why;
	size_t before;
	int known = 0;

	(void)state;
	client_conf_init(&conf);
	for (int flag = 1; flag < 128; flag++) {
		colon = flag == ':' ? NULL : strchr(COPY_FLAGS, flag);
		before = f.ssh.n;
		if (copy_flag_take(&f, flag, "22", &why) == 0) {
			assert_null(colon);
			continue;
		}
		known++;
		assert_non_null(colon);
		if (f.ssh.n > before)
			assert_int_equal(f.ssh.n - before,
			    colon[1] == ':' ? 2 : 1);
	}
	assert_int_equal(known, 15);
	strlist_clear(&f.ssh);
	for (const char *c = COPY_FLAGS; *c != '\0'; c++)
		if (*c != ':')
			assert_int_equal(copy_flag_take(&f, *c,
					     *c == 'o' ? "User=me" :
					     *c == 'c' ? "aes128-ctr" :
							 "22",
					     &why),
			    1);
	copy_flags_set_batch(&f);
	assert_int_equal(ssh_flags_take_all(&flags, &conf, &f.ssh), 0);
	log_set_level(LOG_LVL_QUIET);
	client_conf_clear(&conf);
	copy_flags_clear(&f);
}

static void
test_numbers(void **state)
{
	static const char *const bad[] = { "", "0", "-1", "x", "1x",
		"104857601" };
	struct xfer_opts o = { .requests_max = 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(copy_flag_requests(&o, bad[i]), ERR_SYNTAX);
		assert_int_equal(copy_flag_block(&o, bad[i]), ERR_SYNTAX);
	}
	assert_int_equal(o.requests_max, 0);
	assert_int_equal(o.block_bytes, 0);
	assert_int_equal(copy_flag_requests(&o, "64"), 0);
	assert_int_equal(o.requests_max, 64);
	assert_int_equal(copy_flag_requests(&o, "104857600"), 0);
	assert_int_equal(o.requests_max, 65535);
	assert_int_equal(copy_flag_block(&o, "32k"), 0);
	assert_int_equal(o.block_bytes, 32 * 1024);
	assert_int_equal(copy_flag_block(&o, "256K"), 0);
	assert_int_equal(o.block_bytes, MIN(256 * 1024, SFTP_DATA_MAX));
	assert_int_equal(copy_flag_block(&o, "257K"), ERR_SYNTAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_combined),
		cmocka_unit_test(test_bad_values),
		cmocka_unit_test(test_all_flags),
		cmocka_unit_test(test_numbers),
	};

	log_init("test", LOG_LVL_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
