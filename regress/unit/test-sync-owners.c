/* SPDX-License-Identifier: ISC */
/*
 * Owners by name, between two servers that are played here: the test reads what
 * is asked of each, and answers.
 */
#include "regress/unit/sftp-script.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "xfer/sync/sync-owners.h"

static struct script source, target;
static struct sync_owners *owners;

/* Reads the next request of that name; its id is put first. False: there is
 * none. */
static bool
asked(struct script *e, uint32_t *id, const char *name, struct rd *fields)
{
	struct script_request q;

	while (script_next(e, &q)) {
		if (q.type != SFTP_EXTENDED ||
		    !span_equals(rd_string(&q.fields), name))
			continue;
		*id = q.id;
		*fields = q.fields;
		return true;
	}
	return false;
}

static void
answer(struct script *e, uint32_t id, const struct buf *lists)
{
	script_fields(e, SFTP_EXTENDED_REPLY, id, lists);
	assert_int_equal(sftp_error(e->s), 0);
}

static void
refuse(struct script *e, uint32_t id)
{
	script_status(e, id, SFTP_OP_UNSUPPORTED);
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
	script_begin(&source, "users-groups-by-id@openssh.com");
	script_begin(&target, "ids-by-name@hpnssh.org");
	owners = sync_owners_new(source.s, target.s);
	assert_non_null(owners);
	return 0;
}

static int
end(void **state)
{
	(void)state;
	sync_owners_free(owners);
	script_end(&source);
	script_end(&target);
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
	script_begin(&source, "users-groups-by-id@openssh.com");
	script_begin(&target, "users-groups-by-id@openssh.com");
	owners = sync_owners_new(source.s, target.s);
	assert_non_null(owners);
	return 0;
}

static const char *
text_of(const char *path)
{
	return strcmp(path, "/etc/passwd") == 0 ? passwd : NULL;
}

/* Answers which names the target's numbers have: those of the source up to
 * `same`. */
static void
tell_same(struct script_request *q, uint32_t same)
{
	struct rd users = rd_sub(&q->fields);
	struct buf b = { 0 };

	if (users.len >= 4 && rd_u32(&users) <= same) {
		users.p -= 4;
		users.len += 4;
		put_names(&b, users, 'u');
	} else {
		buf_put_u32(&b, 4);
		buf_put_cstring(&b, "");
	}
	buf_put_u32(&b, 0);
	answer(&target, q->id, &b);
	buf_clear(&b);
}

/* Answers all that is asked of the target: no names are looked up, and it has
 * the file of users, which it tells in pieces, and none of groups. Returns how
 * many files were opened. */
static unsigned
play_stock(uint32_t same)
{
	struct script_request q;
	unsigned opened = 0;

	while (script_next(&target, &q)) {
		opened += q.type == SFTP_OPEN;
		if (q.type != SFTP_EXTENDED)
			script_file(&target, &q, text_of, 20);
		else if (span_equals(rd_string(&q.fields),
		    "users-groups-by-id@openssh.com"))
			tell_same(&q, same);
		else
			refuse(&target, q.id);
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
