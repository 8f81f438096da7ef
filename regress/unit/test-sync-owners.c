/* SPDX-License-Identifier: ISC */
/*
 * Owners by name, between two servers that are played here: the test reads what
 * is asked of each, and answers.
 */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/wire.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/sync/sync-owners.h"

/* A server of which the test is the other half. */
struct end {
	struct sftp *s;
	struct buf said; /* what the session has sent */
};

static struct end source, target;
static struct sync_owners *owners;

static void
message_to(struct end *e, const struct buf *body)
{
	struct buf b = { 0 };

	buf_put_string(&b, buf_data(body), buf_len(body));
	assert_int_equal(sftp_feed(e->s, buf_data(&b), buf_len(&b)), 0);
	buf_clear(&b);
}

static void
begin_end(struct end *e, const char *extension)
{
	struct buf b = { 0 };

	*e = (struct end){ .s = NULL };
	assert_int_equal(sftp_new(&e->s), 0);
	buf_put_u8(&b, SFTP_VERSION_REPLY);
	buf_put_u32(&b, 3);
	buf_put_cstring(&b, extension);
	buf_put_cstring(&b, "1");
	message_to(e, &b);
	buf_clear(&b);
}

/* Reads the next request that is no INIT; its id is put first. False: there is
 * none. */
static bool
asked(struct end *e, uint32_t *id, const char *name, struct rd *fields)
{
	struct buf *out = sftp_output(e->s);
	struct rd all, body;

	buf_put(&e->said, buf_data(out), buf_len(out));
	sftp_output_sent(e->s, buf_len(out));
	while (buf_len(&e->said) > 0) {
		all = rd_from_buf(&e->said);
		body = rd_sub(&all);
		assert_int_equal(all.err, 0);
		buf_consume(&e->said, buf_len(&e->said) - all.len);
		if (rd_u8(&body) != SFTP_EXTENDED)
			continue;
		*id = rd_u32(&body);
		if (!span_equals(rd_string(&body), name))
			continue;
		*fields = body;
		return true;
	}
	return false;
}

static void
answer(struct end *e, uint32_t id, const struct buf *lists)
{
	struct buf b = { 0 };

	buf_put_u8(&b, SFTP_EXTENDED_REPLY);
	buf_put_u32(&b, id);
	buf_put(&b, buf_data(lists), buf_len(lists));
	message_to(e, &b);
	buf_clear(&b);
}

static void
refuse(struct end *e, uint32_t id)
{
	struct buf b = { 0 };

	buf_put_u8(&b, SFTP_STATUS);
	buf_put_u32(&b, id);
	buf_put_u32(&b, SFTP_OP_UNSUPPORTED);
	buf_put_cstring(&b, "no");
	buf_put_cstring(&b, "");
	message_to(e, &b);
	buf_clear(&b);
}

/* The source's names: "uN" and "gN", but 7 has none, and 8 one that nobody can
 * have. */
static void
put_names(struct buf *b, struct rd ids, char letter)
{
	size_t mark = buf_open_string(b);
	char name[32];

	while (ids.len > 0) {
		uint32_t id = rd_u32(&ids);

		snprintf(name, sizeof name, "%c%u", letter, (unsigned)id);
		buf_put_cstring(b, id == 7 ? "" : id == 8 ? "a:b" : name);
	}
	buf_close_string(b, mark);
}

static size_t
tell_names(void)
{
	struct buf b = { 0 };
	struct rd r, users, groups;
	uint32_t id;
	size_t n;

	if (!asked(&source, &id, "users-groups-by-id@openssh.com", &r))
		return 0;
	users = rd_sub(&r);
	groups = rd_sub(&r);
	assert_int_equal(rd_end(&r), 0);
	n = (users.len + groups.len) / 4;
	put_names(&b, users, 'u');
	put_names(&b, groups, 'g');
	answer(&source, id, &b);
	buf_clear(&b);
	return n;
}

/* The target's ids are those of the source and 1000; "u9" is nobody's. */
static void
put_ids(struct buf *b, struct rd names, char letter)
{
	size_t mark = buf_open_string(b);

	while (names.len > 0) {
		struct span name = rd_string(&names);

		assert_int_equal(names.err, 0);
		assert_int_equal(name.p[0], letter);
		buf_put_u32(b, span_equals(name, "u9") ? UINT32_MAX :
		    1000 + (uint32_t)strtoul((const char *)name.p + 1, NULL,
			10));
	}
	buf_close_string(b, mark);
}

static size_t
tell_ids(void)
{
	struct buf b = { 0 };
	struct rd r, users, groups;
	uint32_t id;

	if (!asked(&target, &id, "ids-by-name@hpnssh.org", &r))
		return 0;
	users = rd_sub(&r);
	groups = rd_sub(&r);
	assert_int_equal(rd_end(&r), 0);
	put_ids(&b, users, 'u');
	put_ids(&b, groups, 'g');
	answer(&target, id, &b);
	buf_clear(&b);
	return 1;
}

static int
begin(void **state)
{
	(void)state;
	begin_end(&source, "users-groups-by-id@openssh.com");
	begin_end(&target, "ids-by-name@hpnssh.org");
	owners = sync_owners_new(source.s, target.s);
	assert_non_null(owners);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	sync_owners_free(owners);
	sftp_free(source.s);
	sftp_free(target.s);
	buf_clear(&source.said);
	buf_clear(&target.said);
	return 0;
}

static bool
finds(enum owners_kind kind, uint32_t id, uint32_t want)
{
	uint32_t to;

	return sync_owners_find(owners, kind, id, &to) && to == want;
}

/* ---- tests --------------------------------------------------------------- */

/* Each id is asked for once, all of them together. */
static void
test_names(void **state)
{
	uint32_t to;

	(void)state;
	assert_true(finds(OWNERS_USER, 0, 0));
	assert_true(finds(OWNERS_GROUP, 0, 0));
	assert_true(finds(OWNERS_USER, UINT32_MAX, UINT32_MAX));
	assert_int_equal(sync_owners_ask(owners), 0);
	assert_int_equal(tell_names(), 0);
	for (int twice = 0; twice < 2; twice++) {
		for (uint32_t id = 5; id < 10; id++)
			assert_false(sync_owners_find(owners, OWNERS_USER, id,
			    &to));
		assert_false(sync_owners_find(owners, OWNERS_GROUP, 6, &to));
		assert_int_equal(sync_owners_ask(owners), 0);
	}
	assert_int_equal(tell_names(), 6);
	assert_int_equal(tell_names(), 0);
	assert_true(finds(OWNERS_USER, 7, 7));
	assert_true(finds(OWNERS_USER, 8, 8));
	assert_false(sync_owners_find(owners, OWNERS_USER, 5, &to));
	assert_int_equal(tell_ids(), 1);
	assert_true(finds(OWNERS_USER, 5, 1005));
	assert_true(finds(OWNERS_USER, 6, 1006));
	assert_true(finds(OWNERS_GROUP, 6, 1006));
	assert_true(finds(OWNERS_USER, 9, 9));
	assert_false(sync_owners_find(owners, OWNERS_GROUP, 5, &to));
}

/* More ids than a request takes, and than the table begins with. */
static void
test_many(void **state)
{
	enum { MANY = 5000 };
	size_t asked_for = 0, n, requests = 0;
	uint32_t to;

	(void)state;
	for (uint32_t id = 10; id < 10 + MANY; id++)
		assert_false(sync_owners_find(owners, OWNERS_USER + (id & 1),
		    id, &to));
	assert_int_equal(sync_owners_ask(owners), 0);
	while ((n = tell_names()) > 0) {
		assert_in_range(n, 1, 256);
		asked_for += n;
		requests++;
	}
	assert_int_equal(asked_for, MANY);
	assert_int_equal(requests, (MANY + 255) / 256);
	while (tell_ids() > 0)
		continue;
	for (uint32_t id = 10; id < 10 + MANY; id++)
		assert_true(finds(OWNERS_USER + (id & 1), id, 1000 + id));
}

static void
test_limit(void **state)
{
	uint32_t to, id = 1;

	(void)state;
	while (id <= SYNC_OWNERS_MAX) {
		assert_false(sync_owners_find(owners, OWNERS_USER, id++, &to));
		if (id % 4096 == 0)
			while (tell_names() > 0)
				while (tell_ids() > 0)
					continue;
	}
	assert_int_equal(sync_owners_ask(owners), 0);
	assert_false(sync_owners_find(owners, OWNERS_USER, id, &to));
	assert_int_equal(sync_owners_ask(owners), ERR_LIMIT);
}

/* A server that cannot answer, either of them, or answers too little: numbers
 * stay. */
static void
test_numbers(void **state)
{
	struct buf b = { 0 };
	struct rd r;
	uint32_t to, id;

	(void)state;
	for (uint32_t n = 20; n < 23; n++) {
		assert_false(sync_owners_find(owners, OWNERS_USER, n, &to));
		assert_int_equal(sync_owners_ask(owners), 0);
		if (n == 20) {
			assert_true(asked(&source, &id,
			    "users-groups-by-id@openssh.com", &r));
			refuse(&source, id);
		} else {
			assert_int_equal(tell_names(), 1);
			assert_true(asked(&target, &id,
			    "ids-by-name@hpnssh.org", &r));
			if (n == 21)
				refuse(&target, id);
			else
				answer(&target, id, &b);
		}
		assert_true(finds(OWNERS_USER, n, n));
	}
}

/* A session that ends is told, and what is asked may be freed before it is
 * answered. */
static void
test_lost(void **state)
{
	uint32_t to;

	(void)state;
	assert_false(sync_owners_find(owners, OWNERS_USER, 5, &to));
	assert_int_equal(sync_owners_ask(owners), 0);
	assert_int_equal(sftp_feed_end(source.s, ERR_CLOSED), ERR_CLOSED);
	assert_false(sync_owners_find(owners, OWNERS_USER, 5, &to));
	assert_int_equal(sync_owners_ask(owners), ERR_CLOSED);
}

static void
test_freed(void **state)
{
	uint32_t to;

	(void)state;
	assert_false(sync_owners_find(owners, OWNERS_USER, 5, &to));
	assert_int_equal(sync_owners_ask(owners), 0);
	assert_false(sync_owners_find(owners, OWNERS_USER, 6, &to));
	sync_owners_free(owners);
	owners = NULL;
	assert_int_equal(tell_names(), 1);
	assert_int_equal(tell_ids(), 0);
}

/* ---- a target that looks up no names ------------------------------------- */

static const char passwd[] = "root:x:0:0::/:/bin/sh\n\nu51:x:\nu5:x:77:77:::\n"
    "u6:x:-1:1:::\n:x:9:\n+::::::\nu9:x:99999999999:1:::\nu10";

static int
begin_stock(void **state)
{
	(void)state;
	begin_end(&source, "users-groups-by-id@openssh.com");
	begin_end(&target, "users-groups-by-id@openssh.com");
	owners = sync_owners_new(source.s, target.s);
	assert_non_null(owners);
	return 0;
}

/* Answers all that is asked of the target: no names are looked up, its names
 * are those of the source up to `same`, and it has the file of users, which it
 * tells in pieces, and none of groups. Returns how many files were opened. */
static unsigned
play_stock(uint32_t same)
{
	struct buf *out = sftp_output(target.s), b;
	unsigned opened = 0;

	for (;;) {
		buf_put(&target.said, buf_data(out), buf_len(out));
		sftp_output_sent(target.s, buf_len(out));
		if (buf_len(&target.said) == 0)
			break;
		struct rd all = rd_from_buf(&target.said);
		struct rd body = rd_sub(&all), users;
		uint8_t type = rd_u8(&body);
		uint32_t id = rd_u32(&body), offset;
		bool is_file, names;

		buf_init(&b);
		if (type == SFTP_EXTENDED) {
			names = span_equals(rd_string(&body),
			    "users-groups-by-id@openssh.com");
			users = rd_sub(&body);
			if (names && users.len >= 4 && rd_u32(&users) <= same) {
				users.p -= 4;
				users.len += 4;
				put_names(&b, users, 'u');
			} else if (names) {
				buf_put_u32(&b, 4);
				buf_put_cstring(&b, "");
			}
			buf_put_u32(&b, 0);
			if (names)
				answer(&target, id, &b);
			else
				refuse(&target, id);
		} else if (type == SFTP_OPEN) {
			is_file = span_equals(rd_string(&body), "/etc/passwd");
			opened++;
			if (is_file) {
				buf_put_u8(&b, SFTP_HANDLE);
				buf_put_u32(&b, id);
				buf_put_cstring(&b, "h");
				message_to(&target, &b);
			} else {
				refuse(&target, id);
			}
		} else if (type == SFTP_READ) {
			(void)rd_string(&body);
			(void)rd_u32(&body);
			offset = rd_u32(&body);
			if (offset < sizeof passwd - 1) {
				buf_put_u8(&b, SFTP_DATA);
				buf_put_u32(&b, id);
				buf_put_string(&b, passwd + offset,
				    MIN(sizeof passwd - 1 - offset,
					(size_t)20));
				message_to(&target, &b);
			} else {
				refuse(&target, id);
			}
		} else if (type == SFTP_CLOSE) {
			refuse(&target, id);
		}
		buf_clear(&b);
		buf_consume(&target.said, buf_len(&target.said) - all.len);
	}
	return opened;
}

/* Its files are read, once, if the numbers have other names there. */
static void
test_files(void **state)
{
	uint32_t to;

	(void)state;
	assert_false(sync_owners_find(owners, OWNERS_USER, 4, &to));
	assert_int_equal(sync_owners_ask(owners), 0);
	assert_int_equal(tell_names(), 1);
	assert_int_equal(play_stock(4), 0);
	assert_true(finds(OWNERS_USER, 4, 4));
	for (uint32_t id = 5; id < 12; id++) {
		assert_false(sync_owners_find(owners, OWNERS_USER, id, &to));
		assert_int_equal(sync_owners_ask(owners), 0);
		assert_int_equal(tell_names(), 1);
		assert_int_equal(play_stock(4), id == 5 ? 2 : 0);
		assert_true(finds(OWNERS_USER, id, id == 5 ? 77 : id));
	}
	assert_false(sync_owners_find(owners, OWNERS_USER, 51, &to));
	assert_int_equal(sync_owners_ask(owners), 0);
	assert_int_equal(tell_names(), 1);
	assert_int_equal(play_stock(4), 0);
	assert_true(finds(OWNERS_USER, 51, 51));
}

/* A session that ends while they are read. */
static void
test_files_lost(void **state)
{
	uint32_t to, id;
	struct rd r;

	(void)state;
	assert_false(sync_owners_find(owners, OWNERS_USER, 5, &to));
	assert_int_equal(sync_owners_ask(owners), 0);
	assert_int_equal(tell_names(), 1);
	assert_true(asked(&target, &id, "users-groups-by-id@openssh.com", &r));
	refuse(&target, id);
	assert_true(asked(&target, &id, "ids-by-name@hpnssh.org", &r));
	refuse(&target, id);
	sync_owners_free(owners);
	owners = NULL;
	assert_int_equal(sftp_feed_end(target.s, ERR_CLOSED), ERR_CLOSED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names, begin, end),
		cmocka_unit_test_setup_teardown(test_many, begin, end),
		cmocka_unit_test_setup_teardown(test_limit, begin, end),
		cmocka_unit_test_setup_teardown(test_numbers, begin, end),
		cmocka_unit_test_setup_teardown(test_lost, begin, end),
		cmocka_unit_test_setup_teardown(test_freed, begin, end),
		cmocka_unit_test_setup_teardown(test_files, begin_stock, end),
		cmocka_unit_test_setup_teardown(test_files_lost, begin_stock,
		    end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
