/* SPDX-License-Identifier: ISC */
/* Records of a walk, of servers that do it right and of others. */
#include "regress/unit/help.h"

#include <string.h>

#include "base/mem.h"
#include "xfer/sftp/walk-reader.h"

static struct walk_reader reader;
static struct walk_item item;

#define RECORDS(s) ((struct span){ (const uint8_t *)(s), sizeof(s) - 1 })
#define TOP "\x80\0\0"

/* The first error, or 0 at the end. */
static int
read_all(uint32_t want, struct span records)
{
	int r;

	walk_reader_init(&reader, want);
	walk_reader_reply(&reader, records);
	while ((r = walk_reader_next(&reader, &item)) == 1)
		;
	walk_reader_clear(&reader);
	return r;
}

static void
test_fields(void **state)
{
	(void)state;
	walk_reader_init(&reader, WALK_MODE | WALK_OWNER | WALK_MTIME |
		WALK_NAMES | WALK_BLOCKS);
	walk_reader_reply(&reader, RECORDS(TOP
		"\x01\0\3abc\xa4\3\1\2\xac\2\x14\x05\2\7\x08\1"
		"\x31\2\2de\0\3\6\1\0"));
	assert_int_equal(walk_reader_next(&reader, &item), 1);
	assert_true(item.is_group);
	assert_string_equal(item.path, "");
	assert_int_equal(walk_reader_next(&reader, &item), 1);
	assert_string_equal(item.name, "abc");
	assert_int_equal(item.kind, WALK_FILE);
	assert_int_equal(item.mode, 0644);
	assert_int_equal(item.mode, 0x1a4);
	assert_int_equal(item.uid, 1);
	assert_int_equal(item.gid, 2);
	assert_int_equal(item.size, 300);
	assert_int_equal(item.mtime, 10);
	assert_int_equal(item.nsec, 5);
	assert_int_equal(item.nlink, 2);
	assert_int_equal(item.dev, 7);
	assert_int_equal(item.ino, 8);
	assert_int_equal(item.blocks, 1);
	assert_int_equal(walk_reader_next(&reader, &item), 1);
	assert_string_equal(item.name, "abde");
	assert_int_equal(item.mode, 0644);
	assert_int_equal(item.gid, 2);
	assert_int_equal(item.mtime, 8);
	assert_int_equal(item.ino, 0);
	assert_int_equal(walk_reader_next(&reader, &item), 0);
	/* The next reply goes on. */
	walk_reader_reply(&reader, RECORDS("\x80\0\3abd"));
	assert_int_equal(walk_reader_next(&reader, &item), 1);
	assert_string_equal(item.path, "abd");
	assert_int_equal(walk_reader_next(&reader, &item), 0);
}

#define NAME(bytes) TOP "\3\0" bytes /* a link; its length and text */

static const struct {
	const char *what;
	struct span records;
	uint32_t want;
} refused[] = {
	{ "slash", RECORDS(NAME("\3a/b")), 0 },
	{ "dots", RECORDS(NAME("\2..")), 0 },
	{ "dot", RECORDS(NAME("\1.")), 0 },
	{ "empty", RECORDS(NAME("\0")), 0 },
	{ "zero byte", RECORDS(NAME("\2a\0")), 0 },
	{ "twice", RECORDS(NAME("\1a") "\3\1\0"), 0 },
	{ "unsorted", RECORDS(NAME("\1b") "\3\0\1a"), 0 },
	{ "no group", RECORDS("\3\0\1a"), 0 },
	{ "more shared than there is", RECORDS(NAME("\1a") "\3\2\1b"), 0 },
	{ "4 GB", RECORDS(NAME("\xff\xff\xff\xff\x0f" "a")), 0 },
	{ "2^64", RECORDS(NAME(
	    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" "a")), 0 },
	{ "2^70", RECORDS(NAME(
	    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f" "a")), 0 },
	{ "endless", RECORDS(NAME(
	    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")), 0 },
	{ "longer than it need be", RECORDS(NAME("\x81\0" "a")), 0 },
	{ "cut", RECORDS(NAME("\4abc")), 0 },
	{ "group twice", RECORDS(TOP TOP), 0 },
	{ "cycle", RECORDS(TOP "\x80\0\1a\x80\0\3a/b\x80\0\1a"), 0 },
	{ "groups unsorted", RECORDS(TOP "\x80\0\1b\x80\0\1a"), 0 },
	{ "a.b before a/b", RECORDS(TOP "\x80\0\3a.b\x80\1\2/b"), 0 },
	{ "absolute group", RECORDS(TOP "\x80\0\2/a"), 0 },
	{ "group of dots", RECORDS(TOP "\x80\0\4a/.."), 0 },
	{ "slash behind", RECORDS(TOP "\x80\0\2a/"), 0 },
	{ "two slashes", RECORDS(TOP "\x80\0\4a//b"), 0 },
	{ "group flags", RECORDS("\x84\0\0"), 0 },
	{ "a mount that was not asked for", RECORDS("\x82\0\0"), 0 },
	{ "flag that is none", RECORDS("\x82\0\0\4"), 0 },
	{ "an error that is none", RECORDS("\x81\0\0\0"), 0 },
	{ "entry behind an error", RECORDS("\x81\0\0\4\3\0\1a"), 0 },
	{ "kind", RECORDS(TOP "\x08\0\1a"), 0 },
	{ "kind behind the last", RECORDS(TOP "\x09\0\1a\0"), WALK_AWAY },
	{ "digest of a file that is away", RECORDS(TOP "\x48\0\1a\0"
	    "01234567890123456789012345678901"), WALK_AWAY | WALK_DIGEST },
	{ "flags of a name", RECORDS(TOP "\x40\0\1a\4"), 0 },
	{ "name without a reason", RECORDS(TOP "\0\0\1a\0"), 0 },
	{ "mode not asked for", RECORDS(TOP "\x13\0\1a"), 0 },
	{ "owner not asked for", RECORDS(TOP "\x23\0\1a"), 0 },
	{ "digest not asked for", RECORDS(TOP "\x41\0\1a\0"
	    "01234567890123456789012345678901"), 0 },
	{ "digest of a link", RECORDS(TOP "\x43\0\1a"), WALK_DIGEST },
	{ "digest that is cut", RECORDS(TOP "\x41\0\1a\0" "0123"),
	    WALK_DIGEST },
	{ "mode", RECORDS(TOP "\3\0\1a\x80\x20"), WALK_MODE },
	{ "nanoseconds", RECORDS(TOP "\3\0\1a\0\x80\x94\xeb\xdc\3"),
	    WALK_MTIME },
	{ "time beyond all", RECORDS(TOP
	    "\3\0\1a\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1\0"
	    "\3\0\1b\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1\0"), WALK_MTIME },
	{ "size", RECORDS(TOP
	    "\1\0\1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"), 0 },
	{ "zero byte in a text", RECORDS(TOP "\3\0\1a\2x\0"), WALK_TEXT },
};

static void
test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		if (read_all(refused[i].want, refused[i].records) >= 0)
			fail_msg("%s", refused[i].what);
		/* And there is no way on. */
		assert_true(walk_reader_next(&reader, &item) < 0);
	}
	assert_int_equal(read_all(0, RECORDS(NAME("\1a") "\3\0\1b")), 0);
	assert_int_equal(read_all(0,
	    RECORDS(TOP "\x80\0\1a\x80\1\2/b\x80\1\2.b")), 0);
}

/* The longest that there may be, and one byte more. */
static void
test_longest(void **state)
{
	struct buf b = { 0 };

	(void)state;
	for (int more = 0; more < 2; more++) {
		buf_reset(&b);
		buf_put(&b, TOP "\3\0", 5);
		buf_put_u8(&b, more == 0 ? 0xff : 0x80); /* 255, 256 */
		buf_put_u8(&b, more == 0 ? 1 : 2);
		for (int i = 0; i < 255 + more; i++)
			buf_put_u8(&b, 'n');
		assert_int_equal(read_all(0, buf_span(&b)) == 0, more == 0);
	}
	for (int more = 0; more < 2; more++) {
		buf_reset(&b);
		buf_put(&b, TOP "\x80\0", 5);
		buf_put_u8(&b, more == 0 ? 0xff : 0x80);
		buf_put_u8(&b, more == 0 ? 0x1f : 0x20); /* 4095, 4096 */
		for (int i = 0; i < WALK_PATH_MAX + more; i++)
			buf_put_u8(&b, i % 200 == 199 ? '/' : 'n');
		assert_int_equal(read_all(0, buf_span(&b)) == 0, more == 0);
	}
	buf_clear(&b);
}

/* Extended attributes: "user.a" with "1" is a set of 15 bytes. */
#define SET_A "\0\0\0\6user.a\0\0\0\1" "1"
#define SET_B "\0\0\0\6user.b\0\0\0\1" "1"

static void
test_xattrs(void **state)
{
	(void)state;
	walk_reader_init(&reader, WALK_XATTRS);
	walk_reader_reply(&reader, RECORDS(TOP
		"\x01\0\1a\0\1"	  /* those before the first: none */
		"\x01\0\1b\0\x11" SET_A
		"\x02\0\1c\1"	  /* the same */
		"\x01\0\1d\0\0"	  /* they cannot be read */
		"\x04\0\1e"		  /* a FIFO has none */
		"\x03\0\1f\1"));
	assert_int_equal(walk_reader_next(&reader, &item), 1);
	assert_int_equal(walk_reader_next(&reader, &item), 1);
	assert_int_equal(item.xattrs.len, 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(walk_reader_next(&reader, &item), 1);
		assert_int_equal(item.xattrs.len, 15);
		assert_memory_equal(item.xattrs.p, SET_A, 15);
		assert_false(item.xattrs_unread);
	}
	assert_int_equal(walk_reader_next(&reader, &item), 1);
	assert_true(item.xattrs_unread);
	assert_int_equal(item.xattrs.len, 0);
	assert_int_equal(walk_reader_next(&reader, &item), 1);
	assert_int_equal(item.kind, WALK_FIFO);
	assert_int_equal(walk_reader_next(&reader, &item), 1);
	assert_int_equal(item.xattrs.len, 15);
	assert_int_equal(walk_reader_next(&reader, &item), 0);
	walk_reader_clear(&reader);
}

/* A set that is none, of a kind that was not asked for, or too long. */
static void
test_false_xattrs(void **state)
{
	(void)state;
	assert_int_equal(read_all(2 * WALK_XATTRS, RECORDS(TOP
		"\x01\0\1b\0\x11" SET_A)), ERR_FORMAT);
	assert_int_equal(read_all(WALK_XATTRS, RECORDS(TOP
		"\x01\0\1b\0\x20" SET_B SET_A)), ERR_FORMAT);
	assert_int_equal(read_all(WALK_XATTRS, RECORDS(TOP
		"\x01\0\1b\0\x10" SET_A)), ERR_FORMAT);
	assert_int_equal(read_all(WALK_XATTRS, RECORDS(TOP
		"\x01\0\1b\0\xff\xff\xff\xff\x0f" SET_A)), ERR_FORMAT);
	assert_true(read_all(WALK_XATTRS, RECORDS(TOP
		"\x01\0\1b\0\x12" SET_A)) < 0);
}

/* The group of a path's directory, cut out. */
static const char *
group_of(const char *path, char out[16])
{
	const char *slash = strrchr(path, '/');
	size_t len = slash != NULL ? (size_t)(slash - path) : 0;

	memcpy(out, path, len);
	out[len] = '\0';
	return out;
}

static int
sign(int x)
{
	return x < 0 ? -1 : x > 0;
}

/* Names are in the order of their directories' groups, then of last names. */
static void
test_order_of_names(void **state)
{
	static const char *const parts[] = { "a", "ab", "b", "a+", "a\xc3" };
	char path[2][16], group[2][16];
	int names, want;

	(void)state;
	for (unsigned n = 0; n < 155 * 155; n++) {
		unsigned which[2] = { n / 155, n % 155 };

		/* One, two or three parts: 5 + 25 + 125 paths. */
		for (int i = 0; i < 2; i++) {
			unsigned w = which[i];
			unsigned depth = w < 5 ? 1 : w < 30 ? 2 : 3;

			w -= depth == 1 ? 0 : depth == 2 ? 5 : 30;
			path[i][0] = '\0';
			for (unsigned d = 0; d < depth; d++, w /= 5) {
				strcat(path[i], d > 0 ? "/" : "");
				strcat(path[i], parts[w % 5]);
			}
		}
		names = strcmp(path[0] + strlen(group_of(path[0], group[0])),
		    path[1] + strlen(group_of(path[1], group[1])));
		want = walk_path_cmp(group[0], group[1]);
		if (want == 0)
			want = names;
		assert_int_equal(sign(walk_name_cmp(path[0], path[1])),
		    sign(want));
		assert_int_equal(sign(walk_name_cmp(path[1], path[0])),
		    -sign(want));
	}
}

static void
test_away(void **state)
{
	(void)state;
	walk_reader_init(&reader, WALK_AWAY);
	walk_reader_reply(&reader, RECORDS(TOP "\x08\0\1a\7" "\x01\0\1b\7"));
	assert_int_equal(walk_reader_next(&reader, &item), 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(walk_reader_next(&reader, &item), 1);
		assert_int_equal(item.kind, WALK_FILE);
		assert_int_equal(item.size, 7);
		assert_int_equal(item.away, i == 0);
	}
	walk_reader_clear(&reader);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_away),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(test_xattrs),
		cmocka_unit_test(test_false_xattrs),
		cmocka_unit_test(test_order_of_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
