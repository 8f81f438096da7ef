/* SPDX-License-Identifier: ISC */
/* check-file and the extensions of our own. */
#include "regress/unit/sftp-host.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "compat/file.h"
#include "crypto/digest.h"
#include "xfer/block-sum.h"
#include "xfer/part-lock.h"
#include "xfer/sftp/sftp-engine.h"

static void
expect_digests(const char *alg, const char *hex)
{
	struct reply reply = answer();

	assert_int_equal(reply.type, SFTP_EXTENDED_REPLY);
	assert_true(span_equals(rd_string(&reply.body), alg));
	assert_hex(reply.body.p, reply.body.len, hex);
}

/* Digests as coreutils give them. */
static void
test_check_file(void **state)
{
	uint32_t h;

	(void)state;
	make_file("abc", "abc");
	ask_check("abc", "crc32,md5,sha256", 0, 0, 0);
	expect_digests("md5", "900150983cd24fb0d6963f7d28e17f72");
	ask_check("abc", "sha256", 0, 3, 0);
	expect_digests("sha256", "ba7816bf8f01cfea414140de5dae2223"
				 "b00361a396177a9cb410ff61f20015ad");
	ask_check("abc", "sha1", 3, 0, 0); /* nothing */
	expect_digests("sha1", "da39a3ee5e6b4b0d3255bfef95601890afd80709");
	ask_check("abc", "sha1", 3, 0, 256);
	expect_digests("sha1", "");
	ask_check("abc", "sha1", 2, 2, 0);
	expect_status(SFTP_EOF);
	ask_check("abc", "sha1", 4, 0, 0);
	expect_status(SFTP_EOF);
	ask_check("abc", "crc32", 0, 0, 0);
	expect_status(SFTP_FAILURE);
	ask_check("abc", "sha1", 0, 0, 255);
	expect_status(SFTP_BAD_MESSAGE);
	ask_check("none", "sha1", 0, 0, 0);
	expect_status(SFTP_NO_SUCH_FILE);
	ask_check(".", "sha1", 0, 0, 0);
	expect_status(SFTP_FAILURE);
	/* 1000 zeros: three blocks of 300, one of 100 */
	assert_int_equal(truncate("abc", 0), 0);
	assert_int_equal(truncate("abc", 1000), 0);
	ask_open("abc", SFTP_O_READ);
	h = answer_handle();
	put_handle(ask_ext("check-file-handle"), h);
	buf_put_cstring(&message, "md5");
	buf_put_u64(&message, 0);
	buf_put_u64(&message, 0);
	buf_put_u32(&message, 300);
	expect_digests("md5", "4aa09c46db228e7f610ad440cd89c103"
			      "4aa09c46db228e7f610ad440cd89c103"
			      "4aa09c46db228e7f610ad440cd89c103"
			      "6d0bb00954ceb7fbee436bb55a8397a9");
	close_handle(h, SFTP_OK);
	ask_open("abc", SFTP_O_WRITE);
	h = answer_handle();
	put_handle(ask_ext("check-file-handle"), h);
	buf_put_cstring(&message, "md5");
	buf_put_u64(&message, 0);
	buf_put_u64(&message, 0);
	buf_put_u32(&message, 0);
	expect_status(SFTP_NO_SUCH_FILE); /* EBADF: opened for writing */
	close_handle(h, SFTP_OK);
	/* 8160 digests of SHA-256 are the most that fit. */
	assert_int_equal(truncate("abc", 8160 * 256), 0);
	ask_check("abc", "sha256", 0, 0, 256);
	assert_int_equal(answer().body.len, 4 + 6 + 8160 * 32);
	assert_int_equal(truncate("abc", 8160 * 256 + 1), 0);
	ask_check("abc", "sha256", 0, 0, 256);
	expect_status(SFTP_FAILURE);
	assert_int_equal(unlink("abc"), 0);
}

/* Holes count as the zeros that they are read as, wherever blocks begin. */
static void
test_check_holes(void **state)
{
	enum { SIZE = 10 * 65536 + 77, AT = 3 * 65536 - 5 };
	static const uint32_t blocks[] = { 256, 4096, 65536, 100000, 1 << 20 };
	static const uint64_t from[] = { 0, 1, 65536, AT + 20 };
	int fd = open("holes", O_RDWR | O_CREAT | O_EXCL, 0600);
	uint8_t *bytes = calloc(1, SIZE);
	struct reply reply;

	(void)state;
	assert_true(fd >= 0 && bytes != NULL);
	assert_int_equal(ftruncate(fd, SIZE), 0);
	memset(bytes + AT, 'x', 10);
	assert_int_equal(pwrite(fd, bytes + AT, 10, AT), 10);
	for (size_t i = 0; i < ARRAY_LEN(blocks) * ARRAY_LEN(from); i++) {
		uint64_t at = from[i % ARRAY_LEN(from)];
		uint32_t block = blocks[i / ARRAY_LEN(from)];

		ask_check("holes", "sha256", at, 0, block);
		reply = answer();
		(void)rd_string(&reply.body);
		for (size_t n = 0; n * 32 < reply.body.len; n++) {
			uint64_t begin = at + n * block;
			uint64_t end = MIN(begin + block, (uint64_t)SIZE);
			uint8_t sum[DIGEST_MAX_LEN];

			assert_int_equal(digest_once(DIGEST_SHA256,
			    bytes + begin, (size_t)(end - begin), sum), 0);
			assert_memory_equal(reply.body.p + 32 * n, sum, 32);
		}
	}
	close(fd);
	free(bytes);
	assert_int_equal(unlink("holes"), 0);
}

#define SUMS_SEED "0123456789abcdef0123456789abcdef"

/* A link gets its own times, and what it leads to keeps those it has. */
static void
test_times_by_name(void **state)
{
	struct stat st;

	(void)state;
	make_file("f", "text");
	assert_int_equal(symlink("f", "l"), 0);
	buf_put_cstring(ask_ext("times-ns-name@hpnssh.org"), "l");
	for (uint32_t i = 1; i <= 2; i++) {
		buf_put_u64(&message, 1000000000 + i);
		buf_put_u32(&message, 123456700 + i);
	}
	expect_status(SFTP_OK);
	assert_int_equal(lstat("l", &st), 0);
	assert_int_equal(st.st_mtim.tv_sec, 1000000002);
	assert_int_equal(st.st_mtim.tv_nsec, 123456702);
	assert_int_equal(stat("f", &st), 0);
	assert_int_not_equal(st.st_mtim.tv_sec, 1000000002);
	buf_put_cstring(ask_ext("times-ns-name@hpnssh.org"), "nothing");
	for (int i = 0; i < 2; i++) {
		buf_put_u64(&message, 0);
		buf_put_u32(&message, 0);
	}
	expect_status(SFTP_NO_SUCH_FILE);
	assert_int_equal(unlink("l"), 0);
	assert_int_equal(unlink("f"), 0);
}

/* Copies one that is not there, does not fit, or is another's: nothing of that
 * is copied for good. */
static void
test_copy_blocks(void **state)
{
	enum { SIZE = 4 * 2048 };
	uint8_t bytes[SIZE], got[SIZE];
	struct host_copy copy = { .from_at = 2048, .to_at = 100, .len = 4096,
		.p = bytes + 2048 };
	int fd = open("from", O_RDWR | O_CREAT | O_EXCL, 0600), to;

	(void)state;
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)(i * i >> 5);
	assert_int_equal(pwrite(fd, bytes, SIZE, 0), SIZE);
	ask_open("from", SFTP_O_READ);
	copy.from = answer_handle();
	ask_open("to", SFTP_O_READ | SFTP_O_WRITE | SFTP_O_CREAT);
	copy.to = answer_handle();
	ask_copy_blocks(&copy);
	expect_status(SFTP_OK);
	to = open("to", O_RDONLY);
	assert_int_equal(pread(to, got, SIZE, 0), 100 + 4096);
	assert_memory_equal(got + 100, bytes + 2048, 4096);
	copy.p = bytes; /* it means other blocks */
	ask_copy_blocks(&copy);
	expect_status(SFTP_FAILURE);
	copy.p = bytes + 2048;
	assert_int_equal(pwrite(fd, "!", 1, 2 * 2048 + 77), 1);
	ask_copy_blocks(&copy);
	expect_status(SFTP_FAILURE);
	copy.from_at = SIZE - 2048; /* it is longer than the file */
	ask_copy_blocks(&copy);
	expect_status(SFTP_FAILURE);
	copy.from_at = 2048;
	copy.from = copy.to; /* onto itself */
	ask_copy_blocks(&copy);
	expect_status(SFTP_FAILURE);
	copy.len = 100; /* not whole blocks */
	ask_copy_blocks(&copy);
	expect_status(SFTP_BAD_MESSAGE);
	copy.len = 0;
	ask_copy_blocks(&copy);
	expect_status(SFTP_BAD_MESSAGE);
	close(to);
	close(fd);
	assert_int_equal(unlink("from"), 0);
	assert_int_equal(unlink("to"), 0);
}

static void
ask_sums(uint32_t h, uint64_t offset, uint64_t len, uint32_t block,
    size_t seed_len)
{
	put_handle(ask_ext("block-sums@hpnssh.org"), h);
	buf_put_u64(&message, offset);
	buf_put_u64(&message, len);
	buf_put_u32(&message, block);
	buf_put_string(&message, SUMS_SEED, seed_len);
}

/* The factor of that seed is 0x63646565: the last low bits become 101. */
static void
expect_sums(const uint8_t *bytes, size_t len, size_t block)
{
	struct reply reply = answer();
	uint8_t strong[BLOCK_SUM_STRONG];
	struct poly1305 *poly;

	assert_int_equal(reply.type, SFTP_EXTENDED_REPLY);
	assert_int_equal(poly1305_new(&poly), 0);
	for (size_t at = 0, n; at < len; at += n) {
		uint32_t weak = 0;

		n = MIN(block, len - at);
		for (size_t i = 0; i < n; i++)
			weak = weak * 0x63646565 + bytes[at + i];
		assert_int_equal(block_sum_strong(poly,
		    (const uint8_t *)SUMS_SEED, bytes + at, n, strong), 0);
		assert_int_equal(rd_u32(&reply.body), weak);
		assert_memory_equal(rd_bytes(&reply.body, 16).p, strong, 16);
	}
	assert_int_equal(rd_end(&reply.body), 0);
	poly1305_free(poly);
}

/* Of a file with a hole of three blocks: whole, a part, what is refused. */
static void
test_block_sums(void **state)
{
	enum { SIZE = 6 * 4096 + 100 };
	uint8_t *bytes = calloc(1, SIZE);
	int fd = open("sums", O_RDWR | O_CREAT | O_EXCL, 0600);
	uint32_t h;

	(void)state;
	assert_true(fd >= 0 && bytes != NULL);
	for (size_t i = 0; i < 4096; i++)
		bytes[i] = (uint8_t)(i * i >> 3);
	for (size_t i = 4 * 4096; i < SIZE; i++)
		bytes[i] = (uint8_t)(i * 7);
	assert_int_equal(pwrite(fd, bytes, 4096, 0), 4096);
	assert_int_equal(pwrite(fd, bytes + 4 * 4096, SIZE - 4 * 4096,
	    4 * 4096), SIZE - 4 * 4096);
	ask_open("sums", SFTP_O_READ);
	h = answer_handle();
	ask_sums(h, 0, SIZE, 4096, 32);
	expect_sums(bytes, SIZE, 4096);
	buf_put_cstring(ask_ext("block-sums-name@hpnssh.org"), "sums");
	buf_put_u64(&message, 0);
	buf_put_u64(&message, SIZE);
	buf_put_u32(&message, 4096);
	buf_put_string(&message, SUMS_SEED, 32);
	expect_sums(bytes, SIZE, 4096);
	buf_put_cstring(ask_ext("block-sums-name@hpnssh.org"), "nothing");
	buf_put_u64(&message, 0);
	buf_put_u64(&message, SIZE);
	buf_put_u32(&message, 4096);
	buf_put_string(&message, SUMS_SEED, 32);
	expect_status(SFTP_NO_SUCH_FILE);
	ask_sums(h, 77, 5000, 2048, 32);
	expect_sums(bytes + 77, 5000, 2048);
	ask_sums(h, 0, SIZE + 1, 4096, 32);
	expect_status(SFTP_EOF);
	ask_sums(h, SIZE + 1, 1, 4096, 32);
	expect_status(SFTP_EOF);
	ask_sums(h, 0, 0, 4096, 32);
	expect_status(SFTP_BAD_MESSAGE);
	ask_sums(h, 0, SIZE, 4096, 31);
	expect_status(SFTP_BAD_MESSAGE);
	ask_sums(h, 0, SIZE, 4097, 32);
	expect_status(SFTP_BAD_MESSAGE);
	ask_sums(h, 0, SIZE, 1024, 32);
	expect_status(SFTP_BAD_MESSAGE);
	ask_sums(h, 0, SIZE, 2 << 20, 32);
	expect_status(SFTP_BAD_MESSAGE);
	/* more than 1 GiB; more than 13,056 sums */
	ask_sums(h, 0, (UINT64_C(1) << 30) + 1, 1 << 20, 32);
	expect_status(SFTP_BAD_MESSAGE);
	ask_sums(h, 0, 13056 * 2048 + 1, 2048, 32);
	expect_status(SFTP_BAD_MESSAGE);
	assert_int_equal(ftruncate(fd, 13056 * 2048), 0);
	ask_sums(h, 0, 13056 * 2048, 2048, 32);
	assert_int_equal(answer().body.len, 13056 * 20);
	close_handle(h, SFTP_OK);
	ask_sums(h, 0, 4096, 4096, 32);
	expect_status(SFTP_FAILURE);
	close(fd);
	free(bytes);
	assert_int_equal(unlink("sums"), 0);
}

/* All entries, with what stat-ns tells, and the end; beside READDIR. */
static void
test_readdir_ns(void **state)
{
	struct sftp_stat_ns ns;
	struct sftp_entry e;
	struct reply reply;
	unsigned found = 0;
	struct stat st;
	uint32_t h, n;

	(void)state;
	assert_int_equal(mkdir("dir", 0700), 0);
	make_file("dir/f", "12345");
	assert_int_equal(symlink("f", "dir/l"), 0);
	ask_path(SFTP_OPENDIR, "dir");
	h = answer_handle();
	put_handle(ask_ext("readdir-ns@hpnssh.org"), h);
	reply = answer();
	assert_int_equal(reply.type, SFTP_EXTENDED_REPLY);
	n = rd_u32(&reply.body);
	assert_int_equal(n, 4); /* with "." and ".." */
	for (; n > 0; n--) {
		assert_true(sftp_next_entry_ns(&reply.body, true, &e, &ns));
		if (!span_equals(e.name, "f") && !span_equals(e.name, "l"))
			continue;
		assert_int_equal(lstat(span_equals(e.name, "f") ? "dir/f" :
			"dir/l", &st), 0);
		found++;
		assert_int_equal(e.attrs.size, st.st_size);
		assert_int_equal(e.attrs.mode, st.st_mode);
		assert_int_equal(ns.mtime, st.FILE_MTIME.tv_sec);
		assert_int_equal(ns.mtime_ns, st.FILE_MTIME.tv_nsec);
		assert_int_equal(ns.ino, st.st_ino);
	}
	assert_int_equal(found, 2);
	assert_int_equal(rd_end(&reply.body), 0);
	put_handle(ask_ext("readdir-ns@hpnssh.org"), h);
	expect_status(SFTP_EOF);
	close_handle(h, SFTP_OK);
	put_handle(ask_ext("readdir-ns@hpnssh.org"), h);
	expect_status(SFTP_FAILURE);
	assert_int_equal(system("rm -r dir"), 0);
}

static void
test_times_ns(void **state)
{
	static const uint64_t before_1970 = (uint64_t)INT64_C(-5);
	struct reply reply;
	struct stat st;
	uint32_t h;

	(void)state;
	make_file("t", "12345");
	assert_int_equal(link("t", "u"), 0);
	assert_int_equal(symlink("t", "l"), 0);
	ask_open("t", SFTP_O_READ);
	h = answer_handle();
	put_handle(ask_ext("times-ns@hpnssh.org"), h);
	buf_put_u64(&message, 1700000000);
	buf_put_u32(&message, 123456789);
	buf_put_u64(&message, before_1970);
	buf_put_u32(&message, 999999999);
	expect_status(SFTP_OK);
	put_handle(ask_ext("times-ns@hpnssh.org"), h);
	buf_put_u64(&message, 0);
	buf_put_u32(&message, 1000000000);
	buf_put_u64(&message, 0);
	buf_put_u32(&message, 0);
	expect_status(SFTP_BAD_MESSAGE);
	close_handle(h, SFTP_OK);
	assert_int_equal(stat("t", &st), 0);
	for (uint32_t follow = 0; follow < 2; follow++) {
		buf_put_cstring(ask_ext("stat-ns@hpnssh.org"), "l");
		buf_put_u32(&message, follow);
		reply = answer();
		assert_int_equal(reply.type, SFTP_EXTENDED_REPLY);
		if (!follow)
			continue;
		assert_int_equal(rd_u64(&reply.body), 1700000000);
		assert_int_equal(rd_u32(&reply.body), 123456789);
		assert_int_equal(rd_u64(&reply.body), before_1970);
		assert_int_equal(rd_u32(&reply.body), 999999999);
		assert_int_equal(rd_u32(&reply.body), 2);
		assert_int_equal(rd_u64(&reply.body), st.st_dev);
		assert_int_equal(rd_u64(&reply.body), st.st_ino);
		assert_int_equal(rd_u64(&reply.body), st.st_blocks);
		assert_int_equal(rd_end(&reply.body), 0);
	}
	assert_int_equal(unlink("t"), 0);
	assert_int_equal(unlink("u"), 0);
	assert_int_equal(unlink("l"), 0);
}

/* Whole, or not at all, and nothing is left beside it. */
static void
test_put_file(void **state)
{
	struct stat st;

	(void)state;
	ask_put_file("p", false, 0666, "new");
	expect_status(SFTP_OK);
	expect_file("p", "new");
	expect_mode("p", 0644); /* by the umask */
	/* What is there keeps its mode. A file with a part's name is no
	 * obstacle, and stays. */
	assert_int_equal(chmod("p", 0600), 0);
	make_file(".p.hpnpart", "a text");
	ask_put_file("p", false, 0444, "over");
	expect_status(SFTP_OK);
	expect_file("p", "over");
	expect_mode("p", 0600);
	ask_put_file("p", true, 04555, "");
	expect_status(SFTP_OK);
	expect_file("p", "");
	expect_mode("p", 04555);
	assert_int_equal(stat("p", &st), 0);
	assert_int_equal(st.st_mtime, 1000000007);
	/* What cannot be replaced is left alone. (Who may not write it is told
	 * that, and root may.) */
	assert_int_equal(chmod("p", 0644), 0);
	assert_int_equal(symlink("p", "l"), 0);
	ask_put_file("l", false, 0644, "x");
	expect_status(SFTP_OP_UNSUPPORTED);
	assert_int_equal(link("p", "q"), 0);
	ask_put_file("q", false, 0644, "x");
	expect_status(SFTP_OP_UNSUPPORTED);
	expect_file("p", "");
	ask_put_file(".", false, 0644, "x");
	expect_status(SFTP_OP_UNSUPPORTED);
	ask_put_file("none/p", false, 0644, "x");
	expect_status(SFTP_NO_SUCH_FILE);
	ask_put_file("p/x", false, 0644, "x");
	(void)answer();
	ask_put_file("", false, 0644, "x");
	expect_status(SFTP_NO_SUCH_FILE);
	assert_int_equal(unlink("q"), 0);
	expect_file(".p.hpnpart", "a text");
	/* Cut short */
	ask_put_file("p", false, 0644, "x");
	buf_truncate(&message, buf_len(&message) - 2);
	expect_status(SFTP_BAD_MESSAGE);
	expect_file("p", "");
	assert_int_equal(unlink("p") | unlink("l") | unlink(".p.hpnpart"), 0);
	assert_int_not_equal(system("ls -A | grep hpnpart"), 0);
}

static void
ask_put_ns(const char *path, uint32_t sets, const struct sftp_attrs *a,
    uint32_t nsec)
{
	struct buf *b = ask_ext("put-file-ns@hpnssh.org");

	buf_put_cstring(b, path);
	buf_put_u32(b, sets);
	sftp_put_attrs(b, a);
	for (unsigned i = 0; i < 2; i++) {
		buf_put_u64(b, (uint64_t)(int64_t)(i == 0 ? -5 : 5000000000));
		buf_put_u32(b, nsec + i);
	}
	buf_put_cstring(b, "new");
}

/* What is named is set, with all bits of the mode and of the times. */
static void
test_put_file_ns(void **state)
{
	struct sftp_attrs a = { .flags = SFTP_A_MODE | SFTP_A_OWNER,
		.mode = 02755, .uid = UINT32_MAX, .gid = getegid() };
	const uint32_t all = SFTP_A_MODE | SFTP_A_OWNER | SFTP_A_TIMES;
	struct stat st;

	(void)state;
	ask_put_ns("p", all, &a, 123456788);
	expect_status(SFTP_OK);
	expect_mode("p", 02755);
	assert_int_equal(stat("p", &st), 0);
	assert_int_equal(st.st_mtim.tv_sec, 5000000000);
	assert_int_equal(st.st_mtim.tv_nsec, 123456789);
	assert_int_equal(st.st_atim.tv_sec, -5);
	assert_int_equal(st.st_atim.tv_nsec, 123456788);
	expect_file("p", "new");
	/* Nothing is named: what is there keeps its mode, and gets new times.
	 */
	assert_int_equal(chmod("p", 0600), 0);
	ask_put_ns("p", 0, &a, 1);
	expect_status(SFTP_OK);
	expect_mode("p", 0600);
	assert_int_equal(stat("p", &st), 0);
	assert_int_not_equal(st.st_mtim.tv_sec, 5000000000);
	/* What it cannot do as it is asked. */
	ask_put_ns("p", SFTP_A_OWNER, &a, 1);
	expect_status(SFTP_OP_UNSUPPORTED);
	ask_put_ns("p", SFTP_A_SIZE, &a, 1);
	expect_status(SFTP_OP_UNSUPPORTED);
	ask_put_ns("p", SFTP_A_TIMES, &a, 999999999);
	expect_status(SFTP_BAD_MESSAGE);
	a.flags = 0;
	ask_put_ns("p", SFTP_A_MODE, &a, 1);
	expect_status(SFTP_OP_UNSUPPORTED);
	expect_mode("p", 0600);
	assert_int_equal(unlink("p"), 0);
	assert_int_not_equal(system("ls -A | grep hpnpart"), 0);
}

/* Root replaces files of others with files of theirs; without an owner in the
 * request their files are left to the ordinary way. */
static void
test_put_file_ns_owner(void **state)
{
	struct sftp_attrs a = { .flags = SFTP_A_MODE | SFTP_A_OWNER,
		.mode = 0640, .uid = 12345, .gid = 12346 };
	struct stat st;

	(void)state;
	if (geteuid() != 0)
		skip();
	make_file("p", "old");
	assert_int_equal(chown("p", 12345, 12346), 0);
	ask_put_ns("p", SFTP_A_MODE, &a, 1);
	expect_status(SFTP_OP_UNSUPPORTED);
	expect_file("p", "old");
	ask_put_ns("p", SFTP_A_MODE | SFTP_A_OWNER, &a, 1);
	expect_status(SFTP_OK);
	expect_file("p", "new");
	expect_mode("p", 0640);
	assert_int_equal(stat("p", &st), 0);
	assert_int_equal(st.st_uid, 12345);
	assert_int_equal(st.st_gid, 12346);
	assert_int_equal(unlink("p"), 0);
}

static void
ask_get(const char *path, uint32_t most)
{
	buf_put_cstring(ask_ext("get-file@hpnssh.org"), path);
	buf_put_u32(&message, most);
}

static void
expect_got(const char *text)
{
	struct reply reply = answer();
	struct sftp_attrs a;
	struct span data;

	assert_int_equal(reply.type, SFTP_EXTENDED_REPLY);
	sftp_get_attrs(&reply.body, &a);
	data = rd_string(&reply.body);
	assert_int_equal(rd_end(&reply.body), 0);
	assert_true(span_equals(data, text));
	assert_int_equal(a.size, strlen(text));
	assert_int_equal(a.mode, S_IFREG | 0644);
}

static void
test_get_file(void **state)
{
	(void)state;
	make_file("g", "some text");
	ask_get("g", 9);
	expect_got("some text");
	ask_get("g", UINT32_MAX);
	expect_got("some text");
	ask_get("g", 8);
	expect_status(SFTP_OP_UNSUPPORTED);
	ask_get(".", 100);
	expect_status(SFTP_OP_UNSUPPORTED);
	ask_get("none", 100);
	expect_status(SFTP_NO_SUCH_FILE);
	assert_int_equal(mkfifo("fifo", 0600), 0);
	ask_get("fifo", 100);
	expect_status(SFTP_OP_UNSUPPORTED);
	/* It says that it is empty, and is not. */
	ask_get("/proc/self/status", 100);
	expect_status(SFTP_OP_UNSUPPORTED);
	make_file("g", "");
	ask_get("g", 0);
	expect_got("");
	assert_int_equal(unlink("g") | unlink("fifo"), 0);
}

static struct reply
sparse_map(uint32_t h, uint64_t offset)
{
	struct reply reply;

	put_handle(ask_ext("sparse-map@hpnssh.org"), h);
	buf_put_u64(&message, offset);
	reply = answer();
	assert_int_equal(reply.type, SFTP_EXTENDED_REPLY);
	return reply;
}

/* As lseek() tells it; the file system may know no holes. */
static void
test_sparse_map(void **state)
{
	struct reply reply;
	uint32_t h, count;
	off_t at = 0;
	int fd;

	(void)state;
	make_file("s", "start");
	assert_int_equal(truncate("s", 1 << 20), 0);
	fd = open("s", O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "x", 1, 500000), 1);
	ask_open("s", SFTP_O_READ);
	h = answer_handle();
	reply = sparse_map(h, 0);
	count = rd_u32(&reply.body);
	assert_true(count > 0);
	for (; count > 0; count--) {
		at = lseek(fd, at, SEEK_DATA);
		assert_int_equal(rd_u64(&reply.body), at);
		assert_int_equal(rd_u64(&reply.body),
		    lseek(fd, at, SEEK_HOLE) - at);
		at = lseek(fd, at, SEEK_HOLE);
	}
	assert_int_equal(rd_u8(&reply.body), 0);
	assert_int_equal(rd_end(&reply.body), 0);
	reply = sparse_map(h, 1 << 20);
	assert_int_equal(rd_u32(&reply.body), 0);
	assert_int_equal(rd_u8(&reply.body), 0);
	close_handle(h, SFTP_OK);
	close(fd);
	assert_int_equal(unlink("s"), 0);
}

/* More extents than a reply has room for. */
static void
test_sparse_map_more(void **state)
{
	enum { STEP = 256 * 1024, COUNT = 1030 };
	struct reply reply;
	uint64_t end = 0;
	uint32_t h, n;
	int fd;

	(void)state;
	fd = open("s", O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(pwrite(fd, "x", 1, (off_t)i * STEP), 1);
	if (lseek(fd, 0, SEEK_HOLE) != STEP * (off_t)(COUNT - 1) + 1) {
		ask_open("s", SFTP_O_READ);
		h = answer_handle();
		reply = sparse_map(h, 0);
		n = rd_u32(&reply.body);
		assert_int_equal(n, 1024);
		for (; n > 0; n--) {
			end = rd_u64(&reply.body);
			end += rd_u64(&reply.body);
		}
		assert_int_equal(rd_u8(&reply.body), 1);
		reply = sparse_map(h, end);
		assert_int_equal(rd_u32(&reply.body), COUNT - 1024);
		close_handle(h, SFTP_OK);
	}
	close(fd);
	assert_int_equal(unlink("s"), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_check_file),
		cmocka_unit_test(test_check_holes),
		cmocka_unit_test(test_block_sums),
		cmocka_unit_test(test_copy_blocks),
		cmocka_unit_test(test_times_by_name),
		cmocka_unit_test(test_readdir_ns),
		cmocka_unit_test(test_times_ns),
		cmocka_unit_test(test_put_file),
		cmocka_unit_test(test_put_file_ns),
		cmocka_unit_test(test_put_file_ns_owner),
		cmocka_unit_test(test_get_file),
		cmocka_unit_test(test_sparse_map),
		cmocka_unit_test(test_sparse_map_more),
	};

	return serve_run_modes(tests);
}
