/* SPDX-License-Identifier: ISC */
#include "regress/unit/sftp-host.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "crypto/digest.h"
#include "xfer/block-sum.h"

enum { PLACE_BYTES = 32768 };

struct sftp_serve *server;
struct sftp_serve_opts serve_mode;
int (*serve_enter)(void **state) = temp_enter;
struct buf message, replies;
static size_t mark; /* where message begins */

struct buf *
ask_for(uint8_t type)
{
	buf_reset(&message);
	mark = buf_open_string(&message);
	buf_put_u8(&message, type);
	if (type != SFTP_INIT)
		buf_put_u32(&message, 42);
	return &message;
}

struct buf *
ask_ext(const char *name)
{
	struct buf *b = ask_for(SFTP_EXTENDED);

	buf_put_cstring(b, name);
	return b;
}

void
begin(const struct sftp_serve_opts *opts)
{
	struct sftp_serve_opts with = *opts;

	with.threads = serve_mode.threads;
	with.eager = serve_mode.eager;
	with.direct = serve_mode.direct;
	sftp_serve_free(server);
	server = NULL;
	buf_reset(&replies);
	assert_int_equal(sftp_serve_new(&server, &with), 0);
}

void
collect(void)
{
	static uint8_t place[PLACE_BYTES];
	struct buf *out = sftp_serve_output(server);
	ssize_t n;

	if (!serve_mode.direct) {
		buf_put_buf(&replies, out);
		buf_consume(out, buf_len(out));
		return;
	}
	while ((n = sftp_serve_take(server, place, sizeof place)) > 0)
		buf_put(&replies, place, (size_t)n);
	assert_int_equal(n, 0);
}

ssize_t
feed(const uint8_t *p, size_t len)
{
	size_t used = 0;
	ssize_t n;

	for (;;) {
		struct pollfd pfd = { .events = POLLIN };

		n = sftp_serve_input(server, p + used, len - used);
		if (n < 0)
			return n;
		used += (size_t)n;
		collect();
		if (used == len && sftp_serve_idle(server))
			return (ssize_t)used;
		if (n > 0 || !sftp_serve_has_work(server))
			continue;
		pfd.fd = sftp_serve_fd(server);
		assert_int_equal(poll(&pfd, 1, 10000), 1);
	}
}

struct reply
take_reply(void)
{
	static uint8_t raw[SFTP_MESSAGE_MAX + 4];
	struct rd r = rd_from_buf(&replies);
	struct rd m = rd_sub(&r);
	size_t len = m.len;
	struct reply reply = { 0 };

	assert_int_equal(rd_err(&r), 0);
	memcpy(raw, m.p, len);
	buf_consume(&replies, len + 4);
	m = rd_from(raw, len);
	reply.type = rd_u8(&m);
	if (reply.type != SFTP_VERSION_REPLY)
		reply.id = rd_u32(&m);
	reply.body = m;
	if (reply.type == SFTP_STATUS)
		reply.status = rd_u32(&m);
	return reply;
}

void
message_end(void)
{
	buf_close_string(&message, mark);
	assert_int_equal(buf_err(&message), 0);
}

void
ask_copy_blocks(const struct host_copy *c)
{
	enum { BLOCK = 2048 };
	static const uint8_t seed[BLOCK_SUM_SEED] = "a seed, and more";
	uint8_t sums[8][BLOCK_SUM_STRONG], digest[BLOCK_SUM_COPY];
	struct poly1305 *poly;
	size_t n = c->len / BLOCK;

	assert_true(n <= ARRAY_LEN(sums));
	assert_int_equal(poly1305_new(&poly), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(block_sum_strong(poly, seed,
		    c->p + i * BLOCK, BLOCK, sums[i]), 0);
	poly1305_free(poly);
	assert_int_equal(digest_once(DIGEST_SHA256, sums, n * sizeof sums[0],
	    digest), 0);
	put_handle(ask_ext("copy-blocks@hpnssh.org"), c->from);
	buf_put_u64(&message, c->from_at);
	buf_put_u64(&message, c->len);
	put_handle(&message, c->to);
	buf_put_u64(&message, c->to_at);
	buf_put_u32(&message, BLOCK);
	buf_put_string(&message, seed, sizeof seed);
	buf_put_string(&message, digest, sizeof digest);
}

struct reply
answer(void)
{
	struct reply reply;

	message_end();
	assert_int_equal(feed(buf_data(&message), buf_len(&message)),
	    buf_len(&message));
	reply = take_reply();
	assert_int_equal(buf_len(&replies), 0);
	if (reply.type != SFTP_VERSION_REPLY)
		assert_int_equal(reply.id, 42);
	return reply;
}

void
expect_status(uint32_t status)
{
	struct reply reply = answer();

	assert_int_equal(reply.type, SFTP_STATUS);
	assert_int_equal(reply.status, status);
}

uint32_t
answer_handle(void)
{
	struct reply reply = answer();
	struct rd h;

	assert_int_equal(reply.type, SFTP_HANDLE);
	h = rd_sub(&reply.body);
	assert_int_equal(h.len, 4);
	return rd_u32(&h);
}

void
put_handle(struct buf *b, uint32_t handle)
{
	buf_put_u32(b, 4);
	buf_put_u32(b, handle);
}

void
ask_open(const char *path, uint32_t pflags)
{
	struct buf *b = ask_for(SFTP_OPEN);

	buf_put_cstring(b, path);
	buf_put_u32(b, pflags);
	sftp_put_attrs(b, NULL);
}

void
ask_path(uint8_t type, const char *path)
{
	buf_put_cstring(ask_for(type), path);
}

void
ask_paths(uint8_t type, const char *one, const char *two)
{
	struct buf *b = ask_for(type);

	buf_put_cstring(b, one);
	buf_put_cstring(b, two);
}

void
ask_write(uint32_t handle, uint64_t offset, const void *p, size_t len)
{
	struct buf *b = ask_for(SFTP_WRITE);

	put_handle(b, handle);
	buf_put_u64(b, offset);
	buf_put_string(b, p, len);
}

void
ask_read(uint32_t handle, uint64_t offset, uint32_t len)
{
	struct buf *b = ask_for(SFTP_READ);

	put_handle(b, handle);
	buf_put_u64(b, offset);
	buf_put_u32(b, len);
}

void
close_handle(uint32_t handle, uint32_t status)
{
	put_handle(ask_for(SFTP_CLOSE), handle);
	expect_status(status);
}

void
make_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

void
expect_file(const char *name, const char *text)
{
	struct buf b = { 0 };

	assert_int_equal(file_read(name, &b, 1 << 20), 0);
	assert_int_equal(buf_len(&b), strlen(text));
	assert_memory_equal(buf_data(&b), text, strlen(text));
	buf_clear(&b);
}

void
restart(const struct sftp_serve_opts *opts)
{
	begin(opts);
	buf_put_u32(ask_for(SFTP_INIT), 3);
	assert_int_equal(answer().type, SFTP_VERSION_REPLY);
}

void
queue(struct buf *all)
{
	message_end();
	buf_put_buf(all, &message);
}

void
ask_check(const char *name, const char *algs, uint64_t offset, uint64_t len,
    uint32_t block)
{
	struct buf *b = ask_ext("check-file-name");

	buf_put_cstring(b, name);
	buf_put_cstring(b, algs);
	buf_put_u64(b, offset);
	buf_put_u64(b, len);
	buf_put_u32(b, block);
}

static int
setup(void **state)
{
	const struct sftp_serve_opts opts = { .home = temp_dir };

	if (serve_enter(state) != 0)
		return 1;
	restart(&opts);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	sftp_serve_free(server);
	server = NULL;
	buf_clear(&message);
	buf_clear(&replies);
	return temp_leave(state);
}

static const char *
mode_set(size_t i)
{
	static const struct {
		const char *name;
		struct sftp_serve_opts opts;
	} modes[] = {
		{ "alone", { .threads = 0 } },
		{ "threads", { .threads = 3 } },
		{ "eager", { .threads = 3, .eager = true } },
		{ "eager direct",
		    { .threads = 3, .eager = true, .direct = true } },
		{ "direct", { .threads = 3, .direct = true } },
	};

	if (i >= ARRAY_LEN(modes))
		return NULL;
	serve_mode = modes[i].opts;
	return modes[i].name;
}

int
serve_run(const struct CMUnitTest *tests, size_t n)
{
	const char *name;
	int failed = 0;

	for (size_t i = 0; (name = mode_set(i)) != NULL; i++)
		failed += _cmocka_run_group_tests(name, tests, n, setup,
		    teardown);
	return failed;
}

void
ask_put_file(const char *path, bool exact, uint32_t perms, const char *text)
{
	const struct sftp_attrs a = { .flags = SFTP_A_MODE | SFTP_A_TIMES,
		.mode = perms, .atime = 5, .mtime = 1000000007 };
	struct buf *b = ask_ext("put-file@hpnssh.org");

	buf_put_cstring(b, path);
	buf_put_u32(b, exact);
	sftp_put_attrs(b, &a);
	buf_put_cstring(b, text);
}

void
expect_mode(const char *name, mode_t perms)
{
	struct stat st;

	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(st.st_mode & 07777, perms);
}
