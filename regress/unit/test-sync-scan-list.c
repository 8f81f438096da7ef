/* SPDX-License-Identifier: ISC */
/*
 * Listings of a server that has no extensions, leaves out attributes, and lies:
 * what a scan makes of them.
 */
#include "regress/unit/help.h"

#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/sync/sync-scan.h"

/* ---- the server ---------------------------------------------------------- */

/* What is in every directory whose depth is less than `deep`. */
struct world {
	const char *names; /* with zero bytes between and behind them */
	size_t names_len;
	uint32_t flags; /* of attributes in listings */
	bool empty;	/* listings are without entries, and have no end */
	bool dirs;	/* all of them are directories, else files */
	unsigned deep;
	uint32_t refuses; /* status of OPENDIR below the top; 0: none */
	const char *nul;  /* NULL, or a name that gets a zero byte in it */
	/* What was asked for. */
	unsigned open, most_open, lstats;
	struct sftp *client;
};

static unsigned
depth_of(struct span path)
{
	unsigned n = 0;

	for (size_t i = 0; i < path.len; i++)
		n += path.p[i] == '/';
	return n;
}

static void
put_status(struct buf *b, uint32_t id, uint32_t status)
{
	buf_put_u8(b, SFTP_STATUS);
	buf_put_u32(b, id);
	buf_put_u32(b, status);
	buf_put_cstring(b, "");
	buf_put_cstring(b, "");
}

static void
put_attributes(struct buf *b, const struct world *w, uint32_t flags)
{
	const struct sftp_attrs a = { .flags = flags, .size = 5, .mtime = 7,
		.mode = w->dirs ? S_IFDIR | 0755 : S_IFREG | 0644 };

	sftp_put_attrs(b, &a);
}

/* *told: the entries were. */
static void
answer_readdir(struct world *w, struct buf *b, uint32_t id, struct span handle,
    bool *told)
{
	uint32_t n = 0;

	if (!w->empty && (*told || depth_of(handle) >= w->deep)) {
		put_status(b, id, SFTP_EOF);
		return;
	}
	*told = true;
	for (size_t i = 0; i < w->names_len; i++)
		n += w->names[i] == '\0';
	buf_put_u8(b, SFTP_NAME);
	buf_put_u32(b, id);
	buf_put_u32(b, w->empty ? 0 : n);
	for (const char *at = w->names; !w->empty && n > 0; n--) {
		bool nul = w->nul != NULL && strcmp(at, w->nul) == 0;

		buf_put_string(b, at, strlen(at) + nul);
		buf_put_cstring(b, "");
		put_attributes(b, w, w->flags);
		at += strlen(at) + 1;
	}
}

enum { HANDLES = 2000 };
static struct {
	char path[60];
	bool told;
} handles[HANDLES];
static unsigned handles_used;

static void
answer_opendir(struct world *w, struct buf *b, uint32_t id, struct span path)
{
	char number[16];

	if (w->refuses != 0 && depth_of(path) > 0) {
		put_status(b, id, w->refuses);
		return;
	}
	assert_true(handles_used < HANDLES && path.len < 60);
	memcpy(handles[handles_used].path, path.p, path.len);
	handles[handles_used].path[path.len] = '\0';
	handles[handles_used].told = false;
	snprintf(number, sizeof number, "%u", handles_used++);
	buf_put_u8(b, SFTP_HANDLE);
	buf_put_u32(b, id);
	buf_put_cstring(b, number);
	w->open++;
	w->most_open = MAX(w->most_open, w->open);
}

static void
answer(struct world *w, struct rd *in, struct buf *b)
{
	uint8_t type = rd_u8(in);
	uint32_t id = rd_u32(in);
	struct span first = type != SFTP_INIT ? rd_string(in) :
						(struct span){ .len = 0 };
	unsigned h = 0;

	if (type == SFTP_INIT) {
		buf_put_u8(b, SFTP_VERSION_REPLY);
		buf_put_u32(b, 3);
	} else if (type == SFTP_OPENDIR) {
		answer_opendir(w, b, id, first);
	} else if (type == SFTP_READDIR) {
		for (size_t i = 0; i < first.len; i++)
			h = h * 10 + first.p[i] - '0';
		answer_readdir(w, b, id, span_text(handles[h].path),
		    &handles[h].told);
	} else if (type == SFTP_CLOSE) {
		w->open--;
		put_status(b, id, SFTP_OK);
	} else if (type == SFTP_LSTAT || type == SFTP_STAT) {
		w->lstats += type == SFTP_LSTAT;
		buf_put_u8(b, SFTP_ATTRS);
		buf_put_u32(b, id);
		put_attributes(b, w, SFTP_A_MODE | SFTP_A_SIZE | SFTP_A_TIMES);
	} else {
		put_status(b, id, SFTP_OP_UNSUPPORTED);
	}
}

static int
turn(void *arg, int timeout_ms)
{
	struct world *w = arg;
	struct buf *asked = sftp_output(w->client), all = { 0 }, one = { 0 };
	struct rd in = rd_from_buf(asked);

	assert_true(in.len > 0 || timeout_ms >= 0);
	while (in.len > 0) {
		struct rd message = rd_sub(&in);

		answer(w, &message, &one);
		buf_put_string_buf(&all, &one);
		buf_reset(&one);
	}
	buf_reset(asked);
	assert_true(sftp_feed(w->client, buf_data(&all), buf_len(&all)) ==
	    sftp_error(w->client));
	buf_clear(&all);
	buf_clear(&one);
	return 0;
}

static void
woken(void *arg)
{
	(void)arg;
}

static const struct xfer_carrier_ops ops = { .turn = turn, .wake = woken };

/* What the scan tells of it: "[group]" or its status, and names. */
static void
expect(struct world *w, const char *text)
{
	const struct sync_scan_opts o = { .root = "t", .want = WALK_MODE,
		.recursive = true };
	struct buf out = { 0 };
	struct walk_item item;
	struct sync_scan *c;
	int r;

	handles_used = 0;
	assert_int_equal(sftp_new(&w->client), 0);
	sftp_attach(w->client, (struct xfer_carrier){ &ops, w });
	assert_int_equal(sync_scan_new(&c, w->client, &o), 0);
	while ((r = sync_scan_next(c, &item)) > 0) {
		if (r == SYNC_SCAN_LATER)
			assert_int_equal(sftp_step(w->client, false, -1), 0);
		else if (item.is_group)
			buf_printf(&out, item.status != 0 ? "[%s]%u " : "[%s] ",
			    item.path, item.status);
		else
			buf_printf(&out, "%s:%d ", item.name, item.kind);
	}
	assert_int_equal(r, 0);
	assert_false(sync_scan_has_ns(c) || sync_scan_has_digests(c));
	buf_put_u8(&out, 0);
	if (text != NULL)
		assert_string_equal((const char *)buf_data(&out), text);
	sync_scan_free(c);
	while (sftp_pending(w->client) > 0)
		assert_int_equal(sftp_step(w->client, false, -1), 0);
	assert_int_equal(w->open, 0);
	sftp_free(w->client);
	buf_clear(&out);
}

enum { FULL = SFTP_A_MODE | SFTP_A_SIZE | SFTP_A_TIMES };
#define NAMES(s) .names = s, .names_len = sizeof(s) - 1

/* ---- tests --------------------------------------------------------------- */

static void
test_names_that_are_none(void **state)
{
	static const char *const bad[] = { "a/b", "../x", "", "/", NULL };
	char names[40];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		size_t len = 2 + (size_t)snprintf(names + 2, sizeof names - 2,
		    "%s", bad[i] != NULL ? bad[i] : "b") + 1;
		struct world w = { .names = names, .names_len = len,
			.flags = FULL, .deep = 1,
			.nul = bad[i] == NULL ? "b" : NULL };

		memcpy(names, "x", 2);
		expect(&w, "[]5 "); /* BAD_MESSAGE */
	}
}

static void
test_order(void **state)
{
	struct world w = { NAMES("b\0.\0a\0..\0c\0a\0b\0"), .flags = FULL,
		.deep = 1 };

	(void)state;
	expect(&w, "[] a:1 b:1 c:1 ");
	w.dirs = true;
	w.deep = 2;
	expect(&w, "[] a:2 b:2 c:2 [a] a:2 b:2 c:2 [a/a] [a/b] [a/c] "
		   "[b] a:2 b:2 c:2 [b/a] [b/b] [b/c] "
		   "[c] a:2 b:2 c:2 [c/a] [c/b] [c/c] ");
	assert_int_equal(w.lstats, 0);
}

static void
test_attributes_left_out(void **state)
{
	struct world w = { NAMES("b\0a\0"), .flags = SFTP_A_SIZE, .deep = 1 };

	(void)state;
	expect(&w, "[] a:1 b:1 ");
	assert_int_equal(w.lstats, 2);
}

static void
test_refused(void **state)
{
	struct world w = { NAMES("a\0b\0"), .flags = FULL, .deep = 3,
		.dirs = true, .refuses = SFTP_PERMISSION_DENIED };

	(void)state;
	expect(&w, "[] a:2 b:2 [a]3 [b]3 ");
}

static void
test_no_end(void **state)
{
	struct world w = { NAMES(""), .flags = FULL, .deep = 1, .empty = true };

	(void)state;
	expect(&w, "[]5 ");
}

/* A server that tells no limits gets 50 handles at most: half of what all
 * servers are believed to have. */
static void
test_handles(void **state)
{
	struct world w = { NAMES("a\0b\0c\0d\0e\0f\0g\0h\0i\0j\0k\0"),
		.flags = FULL, .deep = 3, .dirs = true };

	(void)state;
	expect(&w, NULL);
	assert_int_equal(handles_used, 1 + 11 + 121 + 1331);
	assert_in_range(w.most_open, 20, 51);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_that_are_none),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_attributes_left_out),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_no_end),
		cmocka_unit_test(test_handles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
