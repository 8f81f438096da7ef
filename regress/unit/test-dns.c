/* SPDX-License-Identifier: ISC */
/* Which records of a DNS message answer the question. */
#include "regress/unit/help.h"

#include "base/dns.h"

enum { CNAME = 5, AD = 0x20 };

static struct buf msg;

static void
put_name(const char *name)
{
	while (*name != '\0') {
		size_t len = strcspn(name, ".");

		buf_put_u8(&msg, (uint8_t)len);
		buf_put(&msg, name, len);
		name += len + (name[len] == '.');
	}
	buf_put_u8(&msg, 0);
}

static void
put_u16(unsigned v)
{
	buf_put_u8(&msg, (uint8_t)(v >> 8));
	buf_put_u8(&msg, (uint8_t)v);
}

/* A header and a question. */
static void
begin(unsigned flags, unsigned records)
{
	buf_clear(&msg);
	put_u16(1);
	put_u16(0x8180 | flags);
	put_u16(1);
	put_u16(records);
	put_u16(0);
	put_u16(0);
	put_name("h.test");
	put_u16(DNS_TYPE_SSHFP);
	put_u16(1);
}

static void
put_head(const char *name, unsigned type, unsigned len)
{
	put_name(name);
	put_u16(type);
	put_u16(1);
	put_u16(0);
	put_u16(60);
	put_u16(len);
}

static void
put_data(const char *name, const char *data)
{
	put_head(name, DNS_TYPE_SSHFP, (unsigned)strlen(data));
	buf_put(&msg, data, strlen(data));
}

static void
put_alias(const char *name, const char *to)
{
	put_head(name, CNAME, (unsigned)strlen(to) + 2);
	put_name(to);
}

static int
take(struct dns_answer *a)
{
	return dns_read(buf_data(&msg), buf_len(&msg), "H.test.",
	    DNS_TYPE_SSHFP, a);
}

static struct dns_answer a;

static void
records(void **state)
{
	(void)state;
	begin(0, 2);
	put_data("h.Test", "abc");
	put_data("h.test", "de");
	assert_int_equal(take(&a), 0);
	assert_int_equal(a.n, 2);
	assert_false(a.authentic);
	assert_int_equal(a.v[0].len, 3);
	assert_memory_equal(a.v[0].data, "abc", 3);
	assert_int_equal(a.v[1].len, 2);
	begin(AD, 0);
	assert_int_equal(take(&a), 0);
	assert_int_equal(a.n, 0);
	assert_true(a.authentic);
	begin(AD | 3, 0);
	assert_int_equal(take(&a), ERR_NOT_FOUND);
	assert_false(a.authentic);
}

/* Records of names that nobody has asked for do not count. */
static void
owners(void **state)
{
	(void)state;
	begin(AD, 5);
	put_data("evil.test", "1");
	put_alias("h.test", "real.test");
	put_data("h.test", "2");
	put_alias("other.test", "evil.test");
	put_data("Real.test", "3");
	assert_int_equal(take(&a), 0);
	assert_int_equal(a.n, 1);
	assert_memory_equal(a.v[0].data, "3", 1);
}

static void
limits(void **state)
{
	char longest[DNS_DATA_MAX + 2];

	(void)state;
	begin(AD, DNS_RECORDS_MAX);
	for (unsigned i = 0; i < DNS_RECORDS_MAX; i++)
		put_data("h.test", "x");
	assert_int_equal(take(&a), 0);
	assert_int_equal(a.n, DNS_RECORDS_MAX);
	begin(AD, DNS_RECORDS_MAX + 1);
	for (unsigned i = 0; i <= DNS_RECORDS_MAX; i++)
		put_data("h.test", "x");
	assert_int_equal(take(&a), ERR_LIMIT);
	assert_int_equal(a.n, 0);
	assert_false(a.authentic);
	memset(longest, 'x', sizeof longest);
	longest[DNS_DATA_MAX + 1] = '\0';
	begin(0, 1);
	put_data("h.test", longest);
	assert_int_equal(take(&a), ERR_LIMIT);
	longest[DNS_DATA_MAX] = '\0';
	begin(0, 1);
	put_data("h.test", longest);
	assert_int_equal(take(&a), 0);
}

/* Cut anywhere, it is refused. */
static void
pieces(void **state)
{
	(void)state;
	begin(AD, 2);
	put_alias("h.test", "real.test");
	put_data("real.test", "abc");
	for (size_t len = 0; len < buf_len(&msg); len++) {
		assert_int_not_equal(dns_read(buf_data(&msg), len, "h.test",
		    DNS_TYPE_SSHFP, &a), 0);
		assert_false(a.authentic);
	}
	assert_int_equal(take(&a), 0);
	buf_clear(&msg);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records),
		cmocka_unit_test(owners),
		cmocka_unit_test(limits),
		cmocka_unit_test(pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
