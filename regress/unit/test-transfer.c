/* SPDX-License-Identifier: ISC */
/*
 * Transfers over several lanes that come and go: whatever is cut, reordered
 * or lost at whatever moment, what bears a target's name is the source's
 * content or what was there before, and going on makes it whole.
 */
#include "regress/unit/hex.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "xfer/sftp-engine.h"
#include "xfer/sftp-serve.h"
#include "xfer/transfer-int.h"

static char dir[64];

/* --- a host in memory --- */

enum { LANES = 24, STUCK = 20000, INIT_BYTES = 9, ALL_ATTRS = 0x0f };
#define OUR_ID 0xfffffff0u /* of a request that no client made */

struct lane {
	struct sftp *client;
	struct sftp_serve *server; /* NULL: dead */
	struct buf taken;	   /* requests on their way */
	struct buf wire;	   /* replies on their way */
	bool begun;
};

struct host {
	struct lane lanes[LANES];
	unsigned seed, idle;
	unsigned deadly;   /* one turn in so many ends a lane; 0: none */
	unsigned fatal;	   /* turns until the program is killed; 0: never */
	unsigned refuse;   /* lanes that are opened and end at once */
	unsigned opened;
	bool no_digests, old_rename, no_small, no_stat_ns;
	bool odd_handles;  /* the first is not 0 */
	bool lies;	   /* some of what get-file gives is damaged */
	unsigned corrupt;  /* DATA replies until one is damaged; 0: none */
	uint64_t claimed; /* size of what is downloaded; 0: what it is */
	const char *shrink; /* a file that becomes shorter when it is sent */
};

static unsigned
random_below(struct host *h, unsigned n)
{
	h->seed = h->seed * 1103515245 + 12345;
	return (h->seed >> 16) % n;
}

static void
lane_dies(struct lane *l)
{
	sftp_serve_free(l->server);
	l->server = NULL;
	buf_reset(&l->taken);
	buf_reset(&l->wire);
	(void)!sftp_feed_end(l->client, ERR_CLOSED);
}

static struct lane *
lane_of(struct host *h, const struct sftp *s)
{
	for (size_t i = 0; i < LANES; i++)
		if (h->lanes[i].client == s)
			return &h->lanes[i];
	fail_msg("no such lane");
	return NULL;
}

static int
host_open(void *arg, enum xfer_lane_kind kind, struct sftp **out)
{
	const struct sftp_serve_opts opts = { .home = dir };
	struct host *h = arg;
	struct lane *l = lane_of(h, NULL);

	(void)kind;
	assert_int_equal(sftp_serve_new(&l->server, &opts), 0);
	assert_int_equal(sftp_new(&l->client), 0);
	*out = l->client;
	h->opened++;
	if (h->refuse > 0) {
		h->refuse--;
		lane_dies(l);
	}
	return 0;
}

static void
host_close(void *arg, struct sftp *s)
{
	struct lane *l = lane_of(arg, s);

	sftp_free(l->client);
	sftp_serve_free(l->server);
	buf_clear(&l->taken);
	buf_clear(&l->wire);
	*l = (struct lane){ .client = NULL };
}

static void
host_path(void *arg, const struct sftp *s, struct xfer_path *out)
{
	struct host *h = arg;

	*out = (struct xfer_path){ .rtt_us = 100,
		.connection = (unsigned)(lane_of(h, s) - h->lanes) };
}

/* Makes an extension of VERSION one that nobody knows. */
static void
hide(uint8_t *p, size_t len, const char *name)
{
	uint8_t *at = memmem(p, len, name, strlen(name));

	if (at != NULL)
		*at = '?';
}

/* Takes the replies that are there; of several, any first. */
static void
collect(struct host *h, struct lane *l)
{
	struct buf *out = sftp_serve_output(l->server);
	struct rd r = rd_from_buf(out), replies[64];
	size_t n = 0, pick, at;

	while (n < ARRAY_LEN(replies) && r.len >= 4) {
		replies[n] = rd_sub(&r);
		if (replies[n].len < 5 ||
		    wire_get_u32(replies[n].p + 1) != OUR_ID)
			n++;
	}
	assert_int_equal(rd_err(&r), 0);
	while (n > 0) {
		uint8_t *p;

		pick = replies[0].p[0] != SFTP_VERSION_REPLY ?
		    random_below(h, (unsigned)n) : 0;
		at = buf_len(&l->wire);
		buf_put_string(&l->wire, replies[pick].p, replies[pick].len);
		p = (uint8_t *)buf_data(&l->wire) + at;
		if (p[4] == SFTP_VERSION_REPLY && h->no_digests)
			hide(p, replies[pick].len, "check-file");
		if (p[4] == SFTP_VERSION_REPLY && h->old_rename)
			hide(p, replies[pick].len, "posix-rename");
		if (p[4] == SFTP_VERSION_REPLY && h->no_small) {
			hide(p, replies[pick].len, "put-file");
			hide(p, replies[pick].len, "get-file");
		}
		if (h->lies && p[4] == SFTP_EXTENDED_REPLY &&
		    wire_get_u32(p + 9) == ALL_ATTRS &&
		    random_below(h, 2) == 0)
			p[9 + random_below(h, 4)] ^= 0x81;
		if (p[4] == SFTP_VERSION_REPLY && h->no_stat_ns)
			hide(p, replies[pick].len, "stat-ns");
		if (p[4] == SFTP_DATA && h->corrupt > 0 && --h->corrupt == 0)
			p[13] ^= 0x20;
		memmove(&replies[pick], &replies[pick + 1],
		    (--n - pick) * sizeof *replies);
	}
	buf_consume(out, buf_len(out) - r.len);
}

/* Behind INIT somebody else opens a file, and keeps it. */
static void
take_first_handle(struct lane *l)
{
	struct buf b = { 0 };
	size_t mark = buf_open_string(&b);

	buf_put_u8(&b, SFTP_OPEN);
	buf_put_u32(&b, OUR_ID);
	/* A guess at the handle may change it. */
	buf_put_cstring(&b, "somebodys");
	buf_put_u32(&b, SFTP_O_READ | SFTP_O_WRITE | SFTP_O_CREAT);
	sftp_put_attrs(&b, NULL);
	buf_close_string(&b, mark);
	assert_int_equal(sftp_serve_input(l->server, buf_data(&l->taken),
			     INIT_BYTES), INIT_BYTES);
	buf_consume(&l->taken, INIT_BYTES);
	assert_int_equal(sftp_serve_input(l->server, buf_data(&b),
			     buf_len(&b)), buf_len(&b));
	assert_int_equal(unlink("somebodys"), 0);
	buf_clear(&b);
	l->begun = true;
}

/* Moves a random part of what there is; false if there was nothing. */
static bool
lane_moves(struct host *h, struct lane *l)
{
	size_t n = 1 + random_below(h, 300000);
	ssize_t used = 0;

	if (h->shrink != NULL && sftp_output_len(l->client) > 500000) {
		assert_int_equal(truncate(h->shrink, 900000), 0);
		h->shrink = NULL;
	}
	buf_commit(&l->taken,
	    sftp_take(l->client, buf_reserve(&l->taken, n), n));
	if (h->odd_handles && !l->begun && buf_len(&l->taken) >= INIT_BYTES)
		take_first_handle(l);
	if ((l->begun || !h->odd_handles) && !sftp_serve_blocked(l->server))
		used = sftp_serve_input(l->server, buf_data(&l->taken),
		    buf_len(&l->taken));
	assert_true(used >= 0);
	buf_consume(&l->taken, (size_t)used);
	if (buf_len(&l->wire) == 0)
		collect(h, l);
	n = 1 + random_below(h, 300000);
	n = MIN(n, buf_len(&l->wire));
	assert_int_equal(sftp_feed(l->client, buf_data(&l->wire), n), 0);
	buf_consume(&l->wire, n);
	assert_true(sftp_serve_input(l->server, (const uint8_t *)"", 0) == 0);
	return used > 0 || n > 0;
}

static int
host_turn(void *arg, int timeout_ms)
{
	struct host *h = arg;
	bool moved = false;

	if (h->fatal > 0 && --h->fatal == 0)
		return ERR_CANCELLED;
	for (size_t i = 0; i < LANES; i++) {
		struct lane *l = &h->lanes[i];

		if (l->server == NULL || sftp_error(l->client) != 0)
			continue;
		if (h->deadly > 0 && random_below(h, h->deadly) == 0)
			lane_dies(l);
		else
			moved |= lane_moves(h, l);
	}
	h->idle = moved || timeout_ms == 0 ? 0 : h->idle + 1;
	if (h->idle > 50)
		usleep(200);
	if (h->idle > STUCK)
		fail_msg("everybody waits");
	return 0;
}

static const struct xfer_lanes_ops host_ops = { host_open, host_close,
	host_path, host_turn };

/* --- files --- */

static void
make_file(const char *name, size_t len, unsigned seed)
{
	uint8_t *p = malloc(len + 1);
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)((seed = seed * 69069 + 1) >> 24);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, p, len), 0);
	close(fd);
	free(p);
}

static bool
same(const char *one, const char *two)
{
	struct buf a = { 0 }, b = { 0 };
	bool equal;

	assert_int_equal(file_read(one, &a, 1 << 26), 0);
	assert_int_equal(file_read(two, &b, 1 << 26), 0);
	equal = buf_len(&a) == buf_len(&b) &&
	    memcmp(buf_data(&a), buf_data(&b), buf_len(&a)) == 0;
	buf_clear(&a);
	buf_clear(&b);
	return equal;
}

static struct strlist reports;

static void
report(void *arg, const char *path, const char *text)
{
	char line[4096];

	(void)arg;
	snprintf(line, sizeof line, "%s: %s", path, text);
	assert_int_equal(strlist_add(&reports, line), 0);
}

static bool
reported(const char *line)
{
	bool found = strlist_has(&reports, line);

	for (size_t i = 0; !found && i < reports.n; i++)
		print_message("reported: %s\n", reports.v[i]);
	strlist_clear(&reports);
	return found;
}

/* One run, as of a program: its result, or -1 for failures of files. */
static int
copy(struct host *h, bool up, const char *from, const char *to,
    struct xfer_opts opts)
{
	const struct xfer_lanes lanes = { &host_ops, h };
	struct sftp_attrs attrs;
	struct sftp *first;
	struct stat st;
	struct xfer *x;
	int r;

	opts.report = report;
	h->idle = 0;
	assert_int_equal(host_open(h, XFER_LANE_CONNECTION, &first), 0);
	assert_int_equal(xfer_new(&x, &lanes, first, &opts), 0);
	assert_int_equal(stat(from, &st), 0);
	sftp_attrs_from_stat(&attrs, &st);
	if (h->claimed != 0)
		attrs.size = h->claimed;
	assert_int_equal(up ? xfer_put(x, from, to) :
			      xfer_get(x, from, &attrs, to), 0);
	r = xfer_run(x);
	if (r == 0 && xfer_failures(x) > 0)
		r = -1;
	for (size_t i = 0; i < LANES; i++)
		if (h->lanes[i].client != NULL)
			(void)!sftp_feed_end(h->lanes[i].client, ERR_CLOSED);
	xfer_free(x);
	host_close(h, first);
	for (size_t i = 0; i < LANES; i++)
		assert_null(h->lanes[i].client);
	return r;
}

/* --- whatever happens --- */

static const char *const tree[] = { "t/small", "t/empty", "t/d/medium",
	"t/d/s1", "t/d/s2", "t/d/s3", "t/d/s4",
	"t/d/e/large", "t/d/e/larger", "t/d/link", "t/d/e/name",
	"t/d/e/other", "t/d/e/sparse", NULL };

static void
make_tree(void)
{
	int fd;

	assert_int_equal(mkdir("t", 0755) | mkdir("t/d", 0755) |
	    mkdir("t/d/e", 0755), 0);
	make_file("t/small", 10, 1);
	make_file("t/empty", 0, 2);
	make_file("t/d/s1", 1, 6);
	make_file("t/d/s2", 65536, 7);
	make_file("t/d/s3", 65537, 8);
	make_file("t/d/s4", 20000, 9);
	make_file("t/d/medium", 300000, 3);
	make_file("t/d/e/large", 3000000, 4);
	make_file("t/d/e/larger", 9000001, 5);
	/* further names, and holes before, between and behind data */
	assert_int_equal(symlink("medium", "t/d/link"), 0);
	assert_int_equal(link("t/d/medium", "t/d/e/name") |
	    link("t/d/medium", "t/d/e/other"), 0);
	make_file("t/d/e/sparse", 0, 6);
	fd = open("t/d/e/sparse", O_WRONLY);
	assert_int_equal(pwrite(fd, "data", 4, 2000000), 4);
	assert_int_equal(pwrite(fd, "more", 4, 4999999), 4);
	assert_int_equal(ftruncate(fd, 6000001), 0);
	close(fd);
}

/* Nothing that bears a target's name is wrong. */
static void
expect_no_lie(unsigned seed)
{
	char copy_name[64];

	for (size_t i = 0; tree[i] != NULL; i++) {
		snprintf(copy_name, sizeof copy_name, "u%s", tree[i] + 1);
		if (access(copy_name, F_OK) == 0 && !same(tree[i], copy_name))
			fail_msg("seed %u: %s is not whole", seed, copy_name);
	}
}

static void
one_story(unsigned seed)
{
	struct host h = { .seed = seed * 7919 + 1 };
	struct xfer_opts opts = { .recursive = true, .retry_wait_ms = 1 };
	bool up = seed % 2 == 0;
	int r, tries = 0;

	opts.connections_max = 1 + random_below(&h, 4);
	opts.preserve = random_below(&h, 2) == 0;
	opts.verify = random_below(&h, 4) == 0;
	opts.block_bytes = random_below(&h, 2) == 0 ? 30000 : 0;
	opts.retries = random_below(&h, 3);
	opts.links = random_below(&h, 2) == 0;
	opts.hard_links = random_below(&h, 2) == 0;
	opts.sparse = random_below(&h, 2) == 0;
	h.no_digests = random_below(&h, 2) == 0;
	h.old_rename = random_below(&h, 4) == 0;
	h.no_small = random_below(&h, 3) != 0;
	h.no_stat_ns = random_below(&h, 2) == 0;
	h.odd_handles = random_below(&h, 3) == 0;
	h.lies = random_below(&h, 3) == 0;
	do {
		h.deadly = tries < 6 ? 20 + random_below(&h, 400) : 0;
		h.fatal = tries < 6 && random_below(&h, 2) == 0 ?
		    1 + random_below(&h, 200) : 0;
		h.refuse = tries < 6 ? random_below(&h, 2) : 0;
		r = copy(&h, up, "t", "u", opts);
		if (r == -1)
			(void)reported("");
		assert_int_not_equal(r, -1);
		expect_no_lie(seed);
		opts.resume = true;
	} while (r < 0 && ++tries < 10);
	if (r != 0)
		fail_msg("seed %u: %d", seed, r);
	/* The same, and no part is left. */
	if (system("diff -r t u") != 0)
		fail_msg("seed %u", seed);
	assert_int_equal(system("rm -r u"), 0);
	assert_int_equal(reports.n, 0);
}

static void
test_kills(void **state)
{
	(void)state;
	make_tree();
	for (unsigned seed = 0; seed < 200; seed++)
		one_story(seed);
	assert_int_equal(system("rm -r t"), 0);
}

/* --- parts --- */

static void
test_part_names(void **state)
{
	char longest[256], path[300];
	char *part = xfer_part_name("a/b.c"), *other;

	(void)state;
	assert_string_equal(part, "a/.b.c.hpnpart");
	free(part);
	part = xfer_part_name("x");
	assert_string_equal(part, ".x.hpnpart");
	free(part);
	/* 255 bytes are not exceeded, and two names have two parts. */
	memset(longest, 'n', 255);
	longest[255] = '\0';
	snprintf(path, sizeof path, "/d/%s", longest);
	part = xfer_part_name(path);
	path[strlen(path) - 1] = 'm';
	other = xfer_part_name(path);
	assert_int_equal(strlen(part), 3 + 255);
	assert_string_not_equal(part, other);
	free(part);
	free(other);
	longest[246] = '\0';
	part = xfer_part_name(longest);
	assert_int_equal(strlen(part), 255);
	assert_null(strchr(part, '~'));
	free(part);
}

static ino_t
inode(const char *name)
{
	struct stat st;

	assert_int_equal(stat(name, &st), 0);
	return st.st_ino;
}

static mode_t
mode_of(const char *name)
{
	struct stat st;

	assert_int_equal(stat(name, &st), 0);
	return st.st_mode & 07777;
}

/* What a link or another name leads to is written, a file is replaced. */
static void
test_targets(void **state)
{
	const struct xfer_opts plain = { .preserve = false };
	const struct xfer_opts in_place = { .in_place = true };
	struct host h = { .seed = 1 };

	(void)state;
	for (int up = 0; up < 2; up++) {
		ino_t before;

		make_file("src", 2000000, 1);
		make_file("dst", 3000000, 2);
		assert_int_equal(chmod("dst", 0604), 0);
		before = inode("dst");
		assert_int_equal(copy(&h, up, "src", "dst", plain), 0);
		assert_true(same("src", "dst"));
		assert_int_not_equal(inode("dst"), before);
		assert_int_equal(mode_of("dst"), 0604);
		/* in place */
		make_file("src", 1000, 3);
		before = inode("dst");
		assert_int_equal(copy(&h, up, "src", "dst", in_place), 0);
		assert_true(same("src", "dst"));
		assert_int_equal(inode("dst"), before);
		/* a link */
		make_file("src", 2000, 4);
		assert_int_equal(symlink("dst", "link"), 0);
		assert_int_equal(copy(&h, up, "src", "link", plain), 0);
		assert_true(same("src", "dst"));
		assert_int_equal(inode("dst"), before);
		/* a file with two names; of a server's only one with stat-ns
		 * tells */
		if (!up) {
			assert_int_equal(link("dst", "second"), 0);
			make_file("src", 2000000, 5);
			assert_int_equal(copy(&h, up, "src", "dst", plain),
			    0);
			assert_true(same("src", "second"));
			assert_int_equal(unlink("second"), 0);
		}
		/* a device */
		assert_int_equal(copy(&h, up, "src", "/dev/null", plain), 0);
		assert_int_not_equal(access("/dev/.null.hpnpart", F_OK), 0);
		/* a source that may not be written, of many blocks */
		assert_int_equal(chmod("src", 0444) | unlink("dst"), 0);
		assert_int_equal(copy(&h, up, "src", "dst", plain), 0);
		assert_int_equal(mode_of("dst"), 0444);
		/* an old part is no obstacle, nor used */
		make_file(".dst.hpnpart", 3000000, 6);
		assert_int_equal(copy(&h, up, "src", "dst", plain), 0);
		assert_true(same("src", "dst"));
		assert_int_not_equal(access(".dst.hpnpart", F_OK), 0);
		assert_int_equal(unlink("src") | unlink("dst") |
		    unlink("link"), 0);
	}
	assert_int_equal(reports.n, 0);
}

/* A part of another source, or with wrong blocks, does no harm. */
static void
test_resume_other(void **state)
{
	const struct xfer_opts resume = { .resume = true };
	const struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	struct host h = { .seed = 1 };

	(void)state;
	make_file("src", 5000000, 1);
	for (int i = 0; i < 4; i++) {
		bool up = i % 2 == 0;

		h.no_digests = i >= 2;
		for (size_t len = 0; len < 7000000; len += 2500000) {
			make_file(".dst.hpnpart", len, 1);
			assert_int_equal(copy(&h, up, "src", "dst", resume),
			    0);
			assert_true(same("src", "dst"));
			make_file(".dst.hpnpart", len, 2);
			assert_int_equal(copy(&h, up, "src", "dst", resume),
			    0);
			assert_true(same("src", "dst"));
			assert_int_not_equal(access(".dst.hpnpart", F_OK),
			    0);
		}
		/* complete, or of the same size only */
		assert_int_equal(copy(&h, up, "src", "dst", resume), 0);
		make_file("dst", 5000000, 2);
		assert_int_equal(utimensat(AT_FDCWD, "dst", old, 0), 0);
		assert_int_equal(copy(&h, up, "src", "dst", resume), 0);
		assert_true(same("src", "dst"));
		assert_int_equal(unlink("dst"), 0);
	}
	assert_int_equal(unlink("src"), 0);
	assert_int_equal(reports.n, 0);
}

/* A part of several requests for digests, with a hole, a wrong byte and no
 * end; and with an end that the source has no more. */
static void
test_resume_holes(void **state)
{
	const struct xfer_opts resume = { .resume = true };
	const size_t size = 40000000, hole = 1500000, there = 36000000;
	struct host h = { .seed = 1 };
	struct buf src = { 0 };
	int fd;

	(void)state;
	make_file("src", size, 1);
	assert_int_equal(file_read("src", &src, size), 0);
	for (int i = 0; i < 8; i++) {
		h.no_digests = i >= 4;
		fd = open(".dst.hpnpart", O_WRONLY | O_CREAT | O_EXCL, 0644);
		assert_true(fd >= 0);
		assert_int_equal(fd_write_all(fd, buf_data(&src), hole), 0);
		assert_int_equal(lseek(fd, 6000000, SEEK_SET), 6000000);
		assert_int_equal(fd_write_all(fd, buf_data(&src) + 6000000,
		    there - 6000000), 0);
		assert_int_equal(pwrite(fd, "x", 1, 35000000), 1);
		if (i % 2 == 1)
			assert_int_equal(ftruncate(fd, 50000000), 0);
		close(fd);
		assert_int_equal(copy(&h, i % 4 < 2, "src", "dst", resume),
		    0);
		assert_true(same("src", "dst"));
		assert_int_equal(unlink("dst"), 0);
	}
	assert_int_equal(unlink("src"), 0);
	buf_clear(&src);
}

static void
test_verify(void **state)
{
	const struct xfer_opts verify = { .verify = true };
	struct host h = { .seed = 1 };

	(void)state;
	make_file("src", 2000000, 1);
	for (int i = 0; i < 4; i++) {
		h.no_digests = i >= 2;
		assert_int_equal(copy(&h, i % 2 == 0, "src", "dst", verify),
		    0);
		assert_true(same("src", "dst"));
		assert_int_equal(unlink("dst"), 0);
	}
	for (int i = 0; i < 2; i++) {
		h.no_digests = i == 0;
		h.corrupt = 2;
		assert_int_equal(copy(&h, false, "src", "dst", verify), -1);
		assert_true(reported("src: NOT THE SAME at both ends"));
		assert_int_not_equal(access("dst", F_OK), 0);
		assert_int_not_equal(access(".dst.hpnpart", F_OK), 0);
	}
	assert_int_equal(unlink("src"), 0);
}

/* A source that becomes shorter, after all of it was asked for. */
static void
test_shrinks(void **state)
{
	struct host h = { .seed = 1, .shrink = "src" };

	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct xfer_opts opts = { .in_place = i == 1 };

		make_file("src", 3000000, 1);
		h.shrink = "src";
		if (i == 0) {
			assert_int_equal(copy(&h, true, "src", "dst", opts),
			    -1);
			assert_true(reported(
			    "src: changed while it was being read"));
			assert_int_not_equal(access("dst", F_OK), 0);
			assert_int_equal(unlink(".dst.hpnpart"), 0);
			continue;
		}
		assert_int_equal(copy(&h, true, "src", "dst", opts), 0);
		assert_true(same("src", "dst"));
		assert_int_equal(unlink("dst"), 0);
	}
	assert_int_equal(unlink("src"), 0);
}

/* Nor is anything put where a source ends before its size: no marks, no end
 * of an old part, no zeros. */
static void
test_shorter_than_told(void **state)
{
	struct host h = { .seed = 1, .claimed = 20000000 };

	(void)state;
	make_file("src", 3000000, 1);
	for (int i = 0; i < 8; i++) {
		const struct xfer_opts opts = { .resume = i % 2 == 1,
			.verify = i >= 4 };

		h.no_digests = i % 4 >= 2;
		make_file(".dst.hpnpart", 5000000, 2);
		assert_int_equal(copy(&h, false, "src", "dst", opts), 0);
		assert_true(same("src", "dst"));
		assert_int_equal(unlink("dst"), 0);
	}
	assert_int_equal(unlink("src"), 0);
	assert_int_equal(reports.n, 0);
}

/* --- lanes --- */

static void
test_several_lanes(void **state)
{
	const struct xfer_opts opts = { .connections_max = 4 };
	struct host h = { .seed = 1 };

	(void)state;
	make_file("src", 20000000, 1);
	assert_int_equal(copy(&h, true, "src", "up", opts), 0);
	assert_int_equal(h.opened, 4);
	assert_int_equal(copy(&h, false, "src", "down", opts), 0);
	assert_int_equal(h.opened, 8);
	/* Three are refused: the first does it alone. */
	h.refuse = 4;
	assert_true(same("src", "up") && same("src", "down"));
	assert_int_equal(unlink("src") | unlink("up") | unlink("down"), 0);
}

static void
test_growth(void **state)
{
	struct xfer_growth g = { .stopped = false };
	struct xfer_sample s = { .now_ms = 1000, .rtt_ms = 100,
		.rate = 100, .seconds_left = 10, .connections = 1 };

	(void)state;
	/* It still rises; then not any more. */
	assert_int_equal(xfer_growth_next(&g, &s), 0);
	s.rate = 200;
	assert_int_equal(xfer_growth_next(&g, &s), 0);
	assert_int_equal(xfer_growth_next(&g, &s), 3);
	/* They are being opened; then have had no time to show. */
	s.now_ms += 1000;
	assert_int_equal(xfer_growth_next(&g, &s), 0);
	s.connections = 4;
	s.now_ms += 300;
	assert_int_equal(xfer_growth_next(&g, &s), 0);
	/* They brought much, the next ones nothing: that is it. */
	s.now_ms += 100;
	s.rate = 700;
	assert_int_equal(xfer_growth_next(&g, &s), 0);
	assert_int_equal(xfer_growth_next(&g, &s), 4);
	s.connections = 8;
	s.now_ms += 3000;
	assert_int_equal(xfer_growth_next(&g, &s), 0);
	assert_true(g.stopped);
	/* Over a long path much data is not waited for to show. */
	g = (struct xfer_growth){ .stopped = false };
	s = (struct xfer_sample){ .rtt_ms = 100, .rate = 200,
		.seconds_left = 10, .connections = 1 };
	assert_int_equal(xfer_growth_next(&g, &s), 0);
	s.rate = 400;
	s.bulk_left = 16 << 20;
	assert_int_equal(xfer_growth_next(&g, &s), 3);
	s.connections = 4;
	s.now_ms += 1000;
	s.rate = 800; /* but the others, which still rises */
	assert_int_equal(xfer_growth_next(&g, &s), 0);
	/* A sample that is low by chance says nothing. */
	s.rate = 500;
	assert_int_equal(xfer_growth_next(&g, &s), 4);
	/* Not worth it: a short path, or little left. */
	g = (struct xfer_growth){ .best = 200 };
	s = (struct xfer_sample){ .rtt_ms = 1, .rate = 200,
		.seconds_left = 10, .connections = 1 };
	assert_int_equal(xfer_growth_next(&g, &s), 0);
	s.rtt_ms = 100;
	s.seconds_left = 1;
	assert_int_equal(xfer_growth_next(&g, &s), 0);
	/* A number that was asked for. */
	s.max = 5;
	assert_int_equal(xfer_growth_next(&g, &s), 4);
	assert_int_equal(xfer_growth_next(&g, &s), 0);
}

/* Who gets the last of a file, and how much a new lane begins with. */
static void
test_lags(void **state)
{
	struct xfer x = { .rtt_ms = 100, .left_ms = 1000 };
	struct xfer_lane fast = { .x = &x, .rate = 100000000,
		.in_flight = 20000000 };
	struct xfer_lane slow = { .x = &x, .rate = 1000000 };

	(void)state;
	/* One alone has no choice. */
	assert_false(xfer_lane_lags(&slow, UINT32_MAX));
	assert_int_equal(xfer_lane_block(&slow), XFER_BLOCK_MAX);
	x.fastest = &fast;
	assert_false(xfer_lane_lags(&fast, UINT32_MAX));
	assert_false(xfer_lane_lags(&slow, 1000000));
	assert_true(xfer_lane_lags(&slow, 1200000));
	slow.in_flight = 1000000;
	assert_true(xfer_lane_lags(&slow, 200000));
	/* A new one is believed to be in slow start. */
	slow.rate = 0;
	slow.in_flight = 0;
	assert_false(xfer_lane_lags(&slow, 500000));
	assert_int_equal(xfer_lane_block(&slow), 64 * 1024);
	assert_int_equal(xfer_lane_room(&slow, true), 256 * 1024);
	slow.rate = 90000000;
	assert_int_equal(xfer_lane_block(&slow), XFER_BLOCK_MAX);
	assert_true(xfer_lane_room(&slow, true) > 9000000);
	assert_int_equal(xfer_lane_room(&fast, true), SIZE_MAX);
	/* A short path has no slow start to speak of. */
	x.rtt_ms = 1;
	slow.rate = 0;
	assert_int_equal(xfer_lane_block(&slow), XFER_BLOCK_MAX);
}

static int
setup(void **state)
{
	char template[] = "/tmp/transfer-XXXXXX", *real;

	(void)state;
	log_set_level(LOG_LVL_QUIET);
	umask(022);
	if (mkdtemp(template) == NULL || chdir(template) != 0)
		return 1;
	real = realpath(template, NULL);
	strlcpy(dir, real, sizeof dir);
	free(real);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	return chdir("/") != 0 || rmdir(dir) != 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_part_names),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_lags),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_several_lanes),
		cmocka_unit_test(test_resume_other),
		cmocka_unit_test(test_resume_holes),
		cmocka_unit_test(test_verify),
		cmocka_unit_test(test_shrinks),
		cmocka_unit_test(test_shorter_than_told),
		cmocka_unit_test(test_kills),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
