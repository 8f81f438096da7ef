/* SPDX-License-Identifier: ISC */
/*
 * What a grant allows: each set of rights under each value of TransferGrants,
 * and the scope's way from one monitor to another.
 */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <string.h>

#include "server/grant.h"
#include "xfer/sftp/sftp-rights.h"

/* The same rule, right by right. */
static bool
is_allowed(uint32_t rights, bool put, bool get)
{
	bool any = false;

	for (uint32_t bit = 1; bit <= rights && bit != 0; bit <<= 1) {
		if ((rights & bit) == 0)
			continue;
		any = true;
		if (bit == SFTP_MAY_READ && !get)
			return false;
		if (bit == SFTP_MAY_OWNER || bit > SFTP_MAY_ALL)
			return false;
		if (bit == SFTP_MAY_LIST && !put && !get)
			return false;
		if (bit != SFTP_MAY_READ && bit != SFTP_MAY_LIST && !put)
			return false;
	}
	return any;
}

static void
test_rights(void **state)
{
	(void)state;
	for (uint32_t rights = 0; rights < 4 * (SFTP_MAY_ALL + 1); rights++)
		for (unsigned kinds = 0; kinds < 4; kinds++)
			if (grant_rights_allowed(rights, kinds) !=
			    is_allowed(rights, (kinds & GRANT_PUT) != 0,
				(kinds & GRANT_GET) != 0))
				fail_msg("rights %u, TransferGrants %u", rights,
				    kinds);
	for (int bit = 9; bit < 32; bit++)
		assert_false(grant_rights_allowed(SFTP_MAY_LIST |
		    UINT32_C(1) << bit, GRANT_PUT | GRANT_GET));
}

static void
test_scope(void **state)
{
	struct grant_scope s = { .path = (char *)"/a/place",
		.rights = SFTP_MAY_LIST | SFTP_MAY_MAKE, .bytes = UINT64_MAX,
		.files = UINT64_C(0x123456789a), .deletes = 0 };
	struct grant_scope got, copy;
	struct buf b = { 0 };
	struct rd r;

	(void)state;
	grant_scope_put(&b, &s);
	for (size_t n = 0; n < buf_len(&b); n++) {
		r = rd_from(buf_data(&b), n);
		got = (struct grant_scope){ .path = NULL };
		assert_true(grant_scope_get(&r, &got) < 0);
		grant_scope_clear(&got);
	}
	/* What follows is not the scope's. */
	buf_put_u64(&b, 77);
	r = rd_from_buf(&b);
	assert_int_equal(grant_scope_get(&r, &got), 0);
	assert_true(rd_u64(&r) == 77 && rd_end(&r) == 0);
	assert_int_equal(grant_scope_copy(&copy, &got), 0);
	grant_scope_clear(&got);
	assert_null(got.path);
	assert_string_equal(copy.path, s.path);
	assert_true(copy.rights == s.rights && copy.bytes == s.bytes &&
	    copy.files == s.files && copy.deletes == 0);
	grant_scope_clear(&copy);
	assert_int_equal(grant_scope_copy(&copy, &got), 0);
	assert_null(copy.path);
	buf_clear(&b);
}

/* Paths that do not begin at the root, that are too long, or have a NUL, and
 * rights that there are not. */
static void
test_bad_scopes(void **state)
{
	char *longest = malloc(GRANT_PATH_MAX + 2);
	const struct {
		const char *path;
		size_t len;
		uint32_t rights;
		bool good;
	} rows[] = {
		{ "/", 1, 1, true },
		{ "", 0, 1, false },
		{ "a", 1, 1, false },
		{ "./a", 3, 1, false },
		{ "/a\0b", 4, 1, false },
		{ "/a", 2, SFTP_MAY_ALL, true },
		{ "/a", 2, SFTP_MAY_ALL + 1, false },
		{ "/a", 2, UINT32_MAX, false },
		{ longest, GRANT_PATH_MAX + 1, 1, false },
	};

	(void)state;
	assert_non_null(longest);
	memset(longest, '/', GRANT_PATH_MAX + 2);
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct grant_scope got = { .path = NULL };
		struct buf b = { 0 };
		struct rd r;

		buf_put_string(&b, rows[i].path, rows[i].len);
		buf_put_u32(&b, rows[i].rights);
		for (int n = 0; n < 3; n++)
			buf_put_u64(&b, 1);
		r = rd_from_buf(&b);
		if ((grant_scope_get(&r, &got) == 0) != rows[i].good)
			fail_msg("row %zu", i);
		grant_scope_clear(&got);
		buf_clear(&b);
	}
	free(longest);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rights),
		cmocka_unit_test(test_scope),
		cmocka_unit_test(test_bad_scopes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
