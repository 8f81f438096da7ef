/* SPDX-License-Identifier: ISC */
/* Manifests are those of sha256sum(1), and hostile ones are refused. */
#include <sys/stat.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "regress/unit/help.h"
#include "xfer/manifest.h"

#define HEX "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"

static const uint8_t digest[MANIFEST_DIGEST] = { 0xca, 0x97, 0x81, 0x12, 0xca,
	0x1b, 0xbd, 0xca, 0xfa, 0xc2, 0x31, 0xb3, 0x9a, 0x23, 0xdc, 0x4d, 0xa7,
	0x86, 0xef, 0xf8, 0x14, 0x7c, 0x4e, 0x72, 0xb9, 0x80, 0x77, 0x85, 0xaf,
	0xee, 0x48, 0xbb };

static char top[] = "/tmp/hpn-manifest.XXXXXX";

static int
enter(void **state)
{
	(void)state;
	return mkdtemp(top) != NULL && chdir(top) == 0 ? 0 : -1;
}

static int
leave(void **state)
{
	(void)state;
	(void)unlink("m");
	(void)unlink("l");
	return chdir("/") == 0 && rmdir(top) == 0 ? 0 : -1;
}

static void
write_text(const char *text, size_t len)
{
	FILE *f = fopen("m", "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
}

/* What is written is what sha256sum prints, and is read again as it was. */
static void
test_lines(void **state)
{
	static const struct {
		const char *name, *line;
	} cases[] = {
		{ "a", HEX "  a\n" },
		{ " a b ", HEX "   a b \n" },
		{ "d/\xc3\xa9", HEX "  d/\xc3\xa9\n" },
		{ "n\nl", "\\" HEX "  n\\nl\n" },
		{ "b\\s", "\\" HEX "  b\\\\s\n" },
		{ "c\rr\\n", "\\" HEX "  c\\rr\\\\n\n" },
		{ "..a/b..", HEX "  ..a/b..\n" },
	};
	struct manifest_out *out;
	struct manifest_entry e;
	struct manifest_in *in;
	char line[256];
	const char *why;
	FILE *f;

	(void)state;
	assert_int_equal(manifest_create(&out, "m"), 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		manifest_add(out, digest, cases[i].name);
	assert_int_equal(access("m", F_OK), -1);
	assert_int_equal(manifest_end(out, true), 0);
	f = fopen("m", "r");
	assert_non_null(f);
	assert_int_equal(manifest_open(&in, "m"), 0);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_non_null(fgets(line, sizeof line, f));
		assert_string_equal(line, cases[i].line);
		assert_int_equal(manifest_next(in, &e, &why), 1);
		assert_string_equal(e.name, cases[i].name);
		assert_memory_equal(e.digest, digest, sizeof digest);
		assert_int_equal(manifest_line(in), i + 1);
	}
	assert_int_equal(manifest_next(in, &e, &why), 0);
	manifest_close(in);
	fclose(f);
}

static void
test_refused_lines(void **state)
{
	static const char *const lines[] = { "", "x", HEX, HEX " ", HEX " a",
		HEX "  ", HEX "  /etc/passwd", HEX "  ../a", HEX "  a/../../b",
		HEX "  a/..", HEX "  .//..", HEX "  a/", "\\" HEX "  a\\",
		"\\" HEX "  a\\t", "\\" HEX "  \\n/../a",
		"SHA256 (a) = " HEX, "G" HEX "  a", "\\", "\\\\" HEX "  a" };
	struct manifest_entry e;
	struct manifest_in *in;
	char text[256];
	const char *why;

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		snprintf(text, sizeof text, "%s\n" HEX " *./good", lines[i]);
		write_text(text, strlen(text));
		assert_int_equal(manifest_open(&in, "m"), 0);
		assert_int_equal(manifest_next(in, &e, &why), ERR_FORMAT);
		assert_non_null(why);
		assert_int_equal(manifest_next(in, &e, &why), 1);
		assert_string_equal(e.name, "good");
		assert_int_equal(manifest_next(in, &e, &why), 0);
		manifest_close(in);
	}
}

/* A line without an end takes no memory. */
static void
test_long_line(void **state)
{
	static const char good[] = "\n" HEX "  a\n" HEX "  nul\0x\n";
	size_t len = 8 * MANIFEST_LINE_MAX;
	struct manifest_entry e;
	struct manifest_in *in;
	const char *why;
	char *text = malloc(len + sizeof good - 1);

	(void)state;
	assert_non_null(text);
	memset(text, 'a', len);
	memcpy(text + len, good, sizeof good - 1);
	write_text(text, len + sizeof good - 1);
	free(text);
	assert_int_equal(manifest_open(&in, "m"), 0);
	assert_int_equal(manifest_next(in, &e, &why), ERR_FORMAT);
	assert_int_equal(manifest_next(in, &e, &why), 1);
	assert_string_equal(e.name, "a");
	assert_int_equal(manifest_next(in, &e, &why), ERR_FORMAT);
	manifest_close(in);
}

/* A link at the name is replaced, and not followed; mode by the umask; what was
 * there stays until the end, and if the manifest is not kept. */
static void
test_replaces(void **state)
{
	mode_t mask = umask(027);
	struct manifest_out *out;
	struct stat st;

	(void)state;
	write_text("old", 3);
	assert_int_equal(symlink("m", "l"), 0);
	assert_int_equal(manifest_create(&out, "l"), 0);
	manifest_add(out, digest, "a");
	assert_int_equal(manifest_end(out, false), 0);
	assert_int_equal(lstat("l", &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(manifest_create(&out, "l"), 0);
	manifest_add(out, digest, "a");
	assert_int_equal(manifest_end(out, true), 0);
	assert_int_equal(lstat("l", &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0640);
	assert_int_equal(stat("m", &st), 0);
	assert_int_equal(st.st_size, 3);
	umask(mask);
	assert_int_equal(manifest_create(&out, "none/m"), ERR_SYSTEM);
	assert_int_equal(errno, ENOENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_refused_lines),
		cmocka_unit_test(test_long_line),
		cmocka_unit_test(test_replaces),
	};

	return cmocka_run_group_tests_name("manifest", tests, enter, leave);
}
