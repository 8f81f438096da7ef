/* SPDX-License-Identifier: ISC */
/*
 * The client of hpnssh-pkcs11-helper with helpers of our own, scripts that
 * hang, end, or answer what the test wants.
 */
#include "regress/unit/hex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "keys/p11-client.h"

static char dir[] = "/tmp/hpn-p11-XXXXXX";
static const struct p11_pin no_pin = { .kind = P11_PIN_NONE };

/* Helpers run this. */
static void
set_helper(const char *commands)
{
	char path[64], script[256];

	snprintf(path, sizeof path, "%s/helper", dir);
	snprintf(script, sizeof script, "#!/bin/sh\ncd %s\n%s\n", dir,
	    commands);
	assert_int_equal(file_replace(path, script, strlen(script), 0700), 0);
	assert_int_equal(setenv("SSH_PKCS11_HELPER", path, 1), 0);
}

/* They answer so, and then stay. */
static void
set_answer(const struct buf *body)
{
	char path[64];
	struct buf b = { 0 };

	buf_put_string_buf(&b, body);
	snprintf(path, sizeof path, "%s/answer", dir);
	assert_int_equal(file_replace(path, buf_data(&b), buf_len(&b), 0600),
	    0);
	buf_clear(&b);
	set_helper("cat answer; exec sleep 60");
}

static int
list_with(unsigned limit_ms, struct p11 **p)
{
	struct p11_list list = { 0 };
	int r;

	assert_int_equal(p11_start(p, "/lib/any.so"), 0);
	r = p11_get_list(*p, &no_pin, limit_ms, &list);
	p11_list_clear(&list);
	return r;
}

static void
test_hanging(void **state)
{
	uint64_t begin = clock_ms();
	struct p11_list list = { 0 };
	struct p11 *p = NULL;

	(void)state;
	set_helper("exec sleep 60");
	assert_int_equal(list_with(100, &p), ERR_TIMEOUT);
	/* Nothing is asked of it any more. */
	assert_int_equal(p11_get_list(p, &no_pin, 0, &list), ERR_P11);
	p11_end(p);
	assert_true(clock_ms() - begin < 10000);
}

static void
test_ending(void **state)
{
	static const char *const ways[] = { "exit 0", "kill -SEGV $$",
		"printf '\\0\\0\\0\\11\\1'", "exit 1" };
	struct p11 *p = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
		set_helper(ways[i]);
		assert_int_equal(list_with(20000, &p), ERR_P11);
		p11_end(p);
	}
}

static void
test_bad_answers(void **state)
{
	static const char *const answers[] = { "", "\1", "\2\0", "\1\7",
		"\1\0", "\1\0\377\377\377\377", "\1\2",
		"\1\0\0\0\0\0\0\0\0\0!" };
	static const size_t lens[] = { 0, 1, 2, 2, 2, 6, 2, 11 };
	struct p11 *p = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof lens / sizeof *lens; i++) {
		struct buf b = { 0 };

		buf_put(&b, answers[i], lens[i]);
		set_answer(&b);
		assert_int_equal(list_with(20000, &p), ERR_P11);
		p11_end(p);
		buf_clear(&b);
	}
	/* Longer than any answer is. */
	set_helper("printf '\\377\\377\\377\\377'; exec sleep 60");
	assert_int_equal(list_with(20000, &p), ERR_P11);
	p11_end(p);
}

static void
test_statuses(void **state)
{
	static const struct {
		enum p11_status status;
		int want;
	} cases[] = {
		{ P11_FAILED, ERR_P11 },
		{ P11_PIN_WRONG, ERR_PIN },
		{ P11_PIN_LOCKED, ERR_PIN_LOCKED },
		{ P11_NO_KEY, ERR_NOT_FOUND },
		{ P11_NO_LIBRARY, ERR_P11 },
	};
	struct buf b = { 0 };
	struct p11 *p = NULL;
	bool on_reader = false;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		buf_reset(&b);
		p11_put_head(&b, P11_LIST, cases[i].status);
		set_answer(&b);
		assert_int_equal(list_with(20000, &p), cases[i].want);
		p11_end(p);
	}
	buf_reset(&b);
	p11_put_head(&b, P11_LIST, P11_NEEDS_PIN);
	buf_put_cstring(&b, "my token");
	buf_put_bool(&b, true);
	set_answer(&b);
	assert_int_equal(list_with(20000, &p), ERR_PIN_NEEDED);
	assert_string_equal(p11_wanted(p, &on_reader), "my token");
	assert_true(on_reader);
	p11_end(p);
	buf_clear(&b);
}

/* Of one that signs something else than it was given. */
static void
test_wrong_signature(void **state)
{
	static const uint8_t asked[] = "data", other[] = "Data";
	struct span data = { asked, 4 };
	struct buf b = { 0 }, made = { 0 }, got = { 0 };
	struct p11 *p = NULL;
	struct key *k = NULL;

	(void)state;
	assert_int_equal(key_generate("ed25519", 0, &k), 0);
	for (int right = 0; right <= 1; right++) {
		buf_reset(&b);
		buf_reset(&made);
		assert_int_equal(key_sign(k, "ssh-ed25519",
		    (struct span){ right ? asked : other, 4 }, &made), 0);
		p11_put_head(&b, P11_SIGN, P11_DONE);
		buf_put_string_buf(&b, &made);
		set_answer(&b);
		assert_int_equal(p11_start(&p, "/lib/any.so"), 0);
		assert_int_equal(p11_sign(p, k, "ssh-ed25519", data, &no_pin,
		    20000, &got), right ? 0 : ERR_SIGNATURE);
		assert_int_equal(buf_len(&got), right ? buf_len(&made) : 0);
		p11_end(p);
	}
	buf_clear(&b);
	buf_clear(&made);
	buf_clear(&got);
	key_free(k);
}

static void
test_refused_here(void **state)
{
	char pin[P11_PIN_MAX + 2];
	struct p11_pin given = { P11_PIN_GIVEN, pin, 0 };
	struct p11_list list = { 0 };
	struct p11 *p = NULL;

	(void)state;
	memset(pin, '1', sizeof pin - 1);
	pin[sizeof pin - 1] = '\0';
	set_helper("exec sleep 60");
	assert_int_equal(p11_start(&p, "/lib/any.so"), 0);
	assert_int_equal(p11_get_list(p, &given, 0, &list), ERR_LIMIT);
	p11_end(p);
	p = NULL;
	assert_int_equal(setenv("SSH_PKCS11_HELPER", "/not/there", 1), 0);
	assert_int_equal(p11_start(&p, "/lib/any.so"), ERR_P11);
	assert_null(p);
}

static int
set_up(void **state)
{
	(void)state;
	return mkdtemp(dir) != NULL ? 0 : -1;
}

static int
clean_up(void **state)
{
	char path[64];

	(void)state;
	snprintf(path, sizeof path, "%s/helper", dir);
	(void)unlink(path);
	snprintf(path, sizeof path, "%s/answer", dir);
	(void)unlink(path);
	return rmdir(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hanging),
		cmocka_unit_test(test_ending),
		cmocka_unit_test(test_bad_answers),
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_wrong_signature),
		cmocka_unit_test(test_refused_here),
	};

	return cmocka_run_group_tests(tests, set_up, clean_up);
}
