/* SPDX-License-Identifier: ISC */
/*
 * Keystream that threads make ahead: the bytes are those of the serial
 * cipher, whatever is asked for, whenever it ends; and nothing of it is left
 * in memory.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/wire.h"
#include "cipher-ctr-internal.h"
#include "cipher.h"
#include "crypto/rand.h"

static const struct {
	const char *cipher, *mac;
} suites[] = {
	{ "aes128-ctr", "umac-64-etm@openssh.com" },
	{ "aes192-ctr", "hmac-sha1-etm@openssh.com" },
	{ "aes256-ctr", "umac-128@openssh.com" }, /* encrypt-and-MAC */
};

enum { PKT_MAX = 4 + CIPHER_LEN_MAX + MAC_MAX_LEN };

static uint8_t plain[PKT_MAX], a[PKT_MAX], b[PKT_MAX];

/* The same keys three times: serial, and with threads both ways. */
struct trio {
	struct cipher *serial, *enc, *dec;
	struct cipher_pos pos;
};

static void
trio_open(struct trio *t, size_t suite, const uint8_t iv[CIPHER_IV_MAX])
{
	const struct cipher_alg *alg = cipher_by_name(suites[suite].cipher);
	const struct mac_alg *mac = mac_by_name(suites[suite].mac);
	uint8_t key[CIPHER_KEY_MAX], mac_key[MAC_KEY_MAX_LEN];
	struct cipher **all[] = { &t->serial, &t->enc, &t->dec };

	rand_bytes(key, sizeof key);
	rand_bytes(mac_key, sizeof mac_key);
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		assert_int_equal(cipher_new(all[i], alg, mac, i < 2, key, iv,
				     mac_key),
		    0);
	t->pos = (struct cipher_pos){ 0 };
}

static void
trio_start(struct trio *t, size_t threads)
{
	assert_int_equal(
	    cipher_keystream_start(t->enc, &t->pos, threads), 0);
	assert_int_equal(
	    cipher_keystream_start(t->dec, &t->pos, threads), 0);
	assert_int_equal(cipher_keystream_threads(t->enc), threads);
}

static void
trio_close(struct trio *t)
{
	cipher_free(t->serial);
	cipher_free(t->enc);
	cipher_free(t->dec);
}

/* A packet of about so many bytes goes through all of them. */
static void
pass_packet(struct trio *t, uint32_t about)
{
	uint32_t apart = cipher_length_apart(t->serial) ? 0 : 4;
	uint32_t len = (about + 16) / 16 * 16 - apart, got;
	size_t whole = 4 + len + cipher_tag_len(t->serial);

	wire_put_u32(plain, len);
	memcpy(a, plain, 4 + len);
	memcpy(b, plain, 4 + len);
	assert_int_equal(cipher_encrypt(t->serial, &t->pos, a, len), 0);
	assert_int_equal(cipher_encrypt(t->enc, &t->pos, b, len), 0);
	assert_memory_equal(a, b, whole);
	assert_int_equal(cipher_decrypt_length(t->dec, &t->pos, b, &got), 0);
	assert_int_equal(got, len);
	assert_int_equal(cipher_decrypt(t->dec, &t->pos, b, len), 0);
	assert_memory_equal(b, plain, 4 + len);
	t->pos.block += cipher_blocks(t->serial, len);
	t->pos.packet++;
	t->pos.seqnr++;
}

static uint32_t
random_size(void)
{
	uint32_t max = rand_uniform(4) == 0 ? CIPHER_LEN_MAX - 32 : 40000;

	return rand_uniform(rand_uniform(3) == 0 ? 100 : max);
}

static const size_t thread_counts[] = { 1, 2, 5 };

static void
test_same_bytes(void **state)
{
	uint8_t iv[CIPHER_IV_MAX];

	(void)state;
	for (size_t s = 0; s < ARRAY_LEN(suites); s++) {
		for (size_t n = 0; n < ARRAY_LEN(thread_counts); n++) {
			struct trio t;

			rand_bytes(iv, sizeof iv);
			trio_open(&t, s, iv);
			/* In the middle of a key's life. */
			for (uint32_t i = rand_uniform(4); i > 0; i--)
				pass_packet(&t, random_size());
			trio_start(&t, thread_counts[n]);
			for (int i = 0; i < 150; i++)
				pass_packet(&t, random_size());
			pass_packet(&t, CIPHER_LEN_MAX - 16);
			pass_packet(&t, 0);
			cipher_keystream_stop(t.enc);
			assert_int_equal(cipher_keystream_threads(t.enc), 0);
			pass_packet(&t, 40000);
			trio_close(&t);
		}
	}
}

/* The counter's carries, at 32, 64 and 128 bits, come within a chunk. */
static void
test_wrap(void **state)
{
	(void)state;
	for (size_t bytes = 4; bytes <= 16; bytes *= 2) {
		uint8_t iv[CIPHER_IV_MAX] = { 7 };
		struct trio t;

		memset(iv + 16 - bytes, 0xff, bytes);
		iv[14] = 0x80; /* half a ring before it */
		trio_open(&t, bytes == 8 ? 2 : 0, iv);
		trio_start(&t, 2);
		for (int i = 0; i < 12; i++)
			pass_packet(&t, 200000);
		trio_close(&t);
	}
}

/* Positions that jump: ahead in the ring, out of it, and back. */
static void
test_jumps(void **state)
{
	const uint8_t iv[CIPHER_IV_MAX] = { 3 };
	const uint64_t to[] = { 100, 8192, 8191, 8193, 30000, 0, 50000, 65536,
		1000000, 65000, (uint64_t)1 << 60, 999999 };
	struct trio t;

	(void)state;
	trio_open(&t, 0, iv);
	trio_start(&t, 2);
	for (size_t i = 0; i < ARRAY_LEN(to); i++) {
		t.pos.block = to[i];
		pass_packet(&t, random_size());
		pass_packet(&t, 1000);
	}
	trio_close(&t);
}

static size_t
threads_of_process(void)
{
	DIR *d = opendir("/proc/self/task");
	size_t n = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d)) != NULL;)
		n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static size_t wiped_bytes;

static void
on_wiped(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		assert_int_equal(bytes[i], 0);
	wiped_bytes += len;
}

/* At any moment, also when the threads are in the middle of it. */
static void
test_early_end(void **state)
{
	const uint8_t iv[CIPHER_IV_MAX] = { 9 };
	size_t before = threads_of_process(), tries = 0, left;

	(void)state;
	wiped_bytes = 0;
	ctr_keystream_wiped_hook = on_wiped;
	for (; tries < 30; tries++) {
		struct trio t;

		trio_open(&t, tries % ARRAY_LEN(suites), iv);
		trio_start(&t, 1 + tries % 3);
		if (tries % 4 == 1)
			usleep(rand_uniform(300));
		if (tries % 4 > 1)
			pass_packet(&t, random_size());
		if (tries % 5 == 0) /* again, with another ring */
			trio_start(&t, 1);
		trio_close(&t);
	}
	ctr_keystream_wiped_hook = NULL;
	assert_int_equal(wiped_bytes,
	    (tries + tries / 5) * 2 * CTR_CHUNKS_MIN * CTR_CHUNK);
	/* A joined thread may be seen there for a moment. */
	for (int i = 0; (left = threads_of_process()) != before && i < 6000;
	     i++)
		usleep(10 * 1000);
	assert_int_equal(left, before);
}

/* The parent goes on with its threads; a child goes on without. */
static void
test_fork(void **state)
{
	const uint8_t iv[CIPHER_IV_MAX] = { 1 };
	struct trio t;
	int status;
	pid_t pid;

	(void)state;
	trio_open(&t, 0, iv);
	trio_start(&t, 2);
	for (int i = 0; i < 10; i++) {
		pass_packet(&t, 100000);
		if ((pid = fork()) == 0) {
			if (cipher_keystream_threads(t.enc) != 0)
				_exit(1);
			for (int n = 0; n < 20; n++)
				pass_packet(&t, 100000);
			trio_close(&t);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		assert_int_equal(cipher_keystream_threads(t.enc), 2);
	}
	trio_close(&t);
}

static void
test_no_threads_to_be_had(void **state)
{
	const struct rlimit none = { 0, 0 };
	const uint8_t iv[CIPHER_IV_MAX] = { 1 };
	int status;
	pid_t pid;

	(void)state;
	if ((pid = fork()) == 0) {
		struct trio t;

		/* The limit does not hold for root. */
		if (geteuid() == 0 && setuid(65534) != 0)
			_exit(2);
		if (setrlimit(RLIMIT_NPROC, &none) != 0)
			_exit(3);
		trio_open(&t, 0, iv);
		if (cipher_keystream_start(t.enc, &t.pos, 2) != ERR_SYSTEM ||
		    cipher_keystream_threads(t.enc) != 0)
			_exit(4);
		pass_packet(&t, 100000);
		trio_close(&t);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void
test_other_ciphers(void **state)
{
	const struct cipher_alg *alg;
	const struct cipher_pos pos = { 0 };
	const uint8_t zeros[CIPHER_KEY_MAX] = { 0 };
	struct cipher *c;

	(void)state;
	for (size_t i = 0; (alg = cipher_at(i)) != NULL; i++) {
		assert_int_equal(cipher_keystream_can(alg),
		    strstr(alg->name, "-ctr") != NULL);
		if (cipher_keystream_can(alg))
			continue;
		assert_int_equal(cipher_new(&c, alg,
				     alg->needs_mac ? mac_at(0) : NULL, true,
				     zeros, zeros, zeros),
		    0);
		assert_false(cipher_keystream_measure(c));
		assert_int_equal(cipher_keystream_start(c, &pos, 1),
		    ERR_ARGUMENT);
		assert_int_equal(cipher_keystream_threads(c), 0);
		cipher_free(c);
	}
}

static int
fill_plain(void **state)
{
	(void)state;
	rand_bytes(plain, sizeof plain);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_bytes),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_jumps),
		cmocka_unit_test(test_early_end),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_no_threads_to_be_had),
		cmocka_unit_test(test_other_ciphers),
	};

	return cmocka_run_group_tests_name("cipher-ctr-mt", tests, fill_plain,
	    NULL);
}
