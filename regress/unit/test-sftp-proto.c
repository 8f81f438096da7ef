/* SPDX-License-Identifier: ISC */
#include "regress/unit/hex.h"

#include <sys/stat.h>

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/wire.h"
#include "compat/file.h"
#include "xfer/sftp/sftp-proto.h"

static void
test_attrs_layout(void **state)
{
	static const struct {
		struct sftp_attrs a;
		const char *hex;
	} rows[] = {
		{ { 0 }, "00000000" },
		{ { .flags = SFTP_A_SIZE, .size = 0x0102030405060708 },
		    "000000010102030405060708" },
		{ { .flags = SFTP_A_OWNER, .uid = 7, .gid = 8 },
		    "000000020000000700000008" },
		{ { .flags = SFTP_A_MODE, .mode = 0100644 },
		    "00000004000081a4" },
		{ { .flags = SFTP_A_TIMES, .atime = 1, .mtime = 0xffffffff },
		    "0000000800000001ffffffff" },
		{ { .flags = 15, .size = 1, .uid = 2, .gid = 3, .mode = 4,
		      .atime = 5, .mtime = 6 },
		    "0000000f0000000000000001000000020000000300000004"
		    "0000000500000006" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct buf b = { 0 };
		struct sftp_attrs back;
		struct rd r;

		sftp_put_attrs(&b, &rows[i].a);
		assert_int_equal(buf_err(&b), 0);
		assert_hex(buf_data(&b), buf_len(&b), rows[i].hex);
		r = rd_from_buf(&b);
		sftp_get_attrs(&r, &back);
		assert_int_equal(rd_end(&r), 0);
		assert_memory_equal(&back, &rows[i].a, sizeof back);
		buf_clear(&b);
	}
}

static void
test_attrs_extended(void **state)
{
	uint8_t raw[64];
	struct sftp_attrs a;
	/* one pair, then a byte that is not ours */
	size_t len = hex_decode("800000040000006400000001"
				"00000001780000000179ee",
	    raw, sizeof raw);
	struct rd r = rd_from(raw, len);

	(void)state;
	sftp_get_attrs(&r, &a);
	assert_int_equal(rd_err(&r), 0);
	assert_int_equal(r.len, 1);
	assert_int_equal(a.flags, SFTP_A_MODE);
	assert_int_equal(a.mode, 0x64);
	/* a count that cannot be */
	len = hex_decode("80000000ffffffff", raw, sizeof raw);
	r = rd_from(raw, len);
	sftp_get_attrs(&r, &a);
	assert_int_equal(rd_err(&r), ERR_LIMIT);
	/* every cut is noticed */
	for (size_t cut = 0; cut < 32; cut++) {
		static const uint8_t whole[32] = { 0, 0, 0, 15 };

		r = rd_from(whole, cut);
		sftp_get_attrs(&r, &a);
		assert_int_equal(rd_err(&r), ERR_TRUNCATED);
	}
}

static void
test_attrs_from_stat(void **state)
{
	struct stat st = { .st_size = -1, .st_mode = S_IFDIR | 0755,
		.st_uid = 3, .st_gid = 4, .FILE_MTIME = { .tv_sec = -5 },
		.FILE_ATIME = { .tv_sec = (time_t)0x1ffffffff } };
	struct sftp_attrs a;

	(void)state;
	sftp_attrs_from_stat(&a, &st);
	assert_int_equal(a.flags, 15);
	assert_int_equal(a.size, 0);
	assert_int_equal(a.mode, 040755);
	assert_int_equal(a.mtime, 0);
	assert_int_equal(a.atime, UINT32_MAX);
}

static void
test_status(void **state)
{
	static const struct {
		int error;
		enum sftp_status status;
	} rows[] = {
		{ 0, SFTP_OK },
		{ ENOENT, SFTP_NO_SUCH_FILE },
		{ ENOTDIR, SFTP_NO_SUCH_FILE },
		{ EACCES, SFTP_PERMISSION_DENIED },
		{ EPERM, SFTP_PERMISSION_DENIED },
		{ EEXIST, SFTP_FAILURE },
		{ ENOSPC, SFTP_FAILURE },
		{ EISDIR, SFTP_FAILURE },
		{ EINVAL, SFTP_BAD_MESSAGE },
		{ ENOSYS, SFTP_OP_UNSUPPORTED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(sftp_status_from_errno(rows[i].error),
		    rows[i].status);
	assert_string_equal(sftp_status_text(SFTP_NO_SUCH_FILE),
	    "No such file or directory");
	assert_string_equal(sftp_status_text(SFTP_PERMISSION_DENIED),
	    "Permission denied");
	assert_string_equal(sftp_status_text(99), "Unknown status");
}

static void
test_open_flags(void **state)
{
	char text[64], tiny[8];

	(void)state;
	sftp_open_flags_text(
	    SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_TRUNC, text, sizeof text);
	assert_string_equal(text, "WRITE,CREATE,TRUNCATE");
	sftp_open_flags_text(0, text, sizeof text);
	assert_string_equal(text, "");
	sftp_open_flags_text(63, tiny, sizeof tiny);
	assert_string_equal(tiny, "READ,WR");
}

static void
test_statvfs(void **state)
{
	struct sftp_statvfs v = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 }, back;
	struct buf b = { 0 };
	struct rd r;

	(void)state;
	sftp_put_statvfs(&b, &v);
	assert_int_equal(buf_len(&b), 88);
	r = rd_from_buf(&b);
	sftp_get_statvfs(&r, &back);
	assert_int_equal(rd_end(&r), 0);
	assert_memory_equal(&v, &back, sizeof v);
	buf_clear(&b);
}

/* What a person is told: words that say more than the status, and nothing that
 * speaks to the terminal. */
static void
test_status_words(void **state)
{
	static const struct {
		uint32_t status;
		const char *text, *words;
	} rows[] = {
		{ SFTP_FAILURE, "No space left on device",
		    "No space left on device" },
		{ SFTP_FAILURE, "Failure", "Failure" },
		{ SFTP_FAILURE, "SSH_FX_FAILURE", "Failure" },
		{ SFTP_FAILURE, "", "Failure" },
		{ SFTP_BAD_MESSAGE, "File name too long",
		    "File name too long" },
		/* The words that scripts know. */
		{ SFTP_NO_SUCH_FILE, "No such file",
		    "No such file or directory" },
		{ SFTP_PERMISSION_DENIED, "nope", "Permission denied" },
		{ SFTP_FAILURE, "a\033]0;x\007\nhpnscp: done",
		    "a\\033]0;x\\007\\012hpnscp: done" },
		{ 77, "odd", "odd" },
		{ 77, "", "Unknown status" },
	};
	char words[SFTP_WORDS_MAX], longest[1000];
	struct span text;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		text = (struct span){ (const uint8_t *)rows[i].text,
			strlen(rows[i].text) };
		sftp_status_words(rows[i].status, &text, words, sizeof words);
		assert_string_equal(words, rows[i].words);
	}
	memset(longest, 'x', sizeof longest);
	text = (struct span){ (const uint8_t *)longest, sizeof longest };
	sftp_status_words(SFTP_FAILURE, &text, words, sizeof words);
	assert_int_equal(strlen(words), sizeof words - 1);
	assert_true(sftp_words_are_full(strerror(ENOSPC)));
	assert_true(sftp_words_are_full(strerror(EDQUOT)));
	assert_false(sftp_words_are_full("Failure"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attrs_layout),
		cmocka_unit_test(test_attrs_extended),
		cmocka_unit_test(test_attrs_from_stat),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_status_words),
		cmocka_unit_test(test_open_flags),
		cmocka_unit_test(test_statvfs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
