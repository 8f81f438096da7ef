/* SPDX-License-Identifier: ISC */
/* The job of hpnscp --direct-end: what is put is read again, and nothing else
 * is taken for one. */
#include "regress/unit/help.h"

#include <string.h>

#include "base/mem.h"
#include "client/copy/direct-wire.h"

static struct direct_job
plain(void)
{
	struct direct_job j = { .host = xstrdup("host.example"),
		.user = xstrdup("ann"),
		.port = 2222,
		.flags = DIRECT_RECURSIVE | DIRECT_SPARSE,
		.rate_bytes = 1000 };

	memcpy(j.grant, "abcdefghijklmnopqrstuvwx", sizeof j.grant);
	buf_put(&j.hostkey, "blob", 4);
	xstrlist_add(&j.sources, "a b");
	xstrlist_add(&j.sources, "c*");
	return j;
}

/* What comes of a job in which `change` has changed something. */
static int
result_of(void (*change)(struct direct_job *j))
{
	struct direct_job j = plain(), got = { .host = NULL };
	struct buf b = { 0 };
	struct rd r;
	int err;

	change(&j);
	direct_job_put(&b, &j);
	r = rd_from_buf(&b);
	err = direct_job_get(&r, &got);
	direct_job_clear(&got);
	direct_job_clear(&j);
	buf_clear(&b);
	return err;
}

static void
there_and_back(void **state)
{
	struct direct_job j = plain(), got;
	struct buf b = { 0 };
	size_t len;

	(void)state;
	direct_job_put(&b, &j);
	len = buf_len(&b);
	buf_put_u8(&b, 0);
	for (size_t cut = 0; cut <= len + 1; cut++) {
		struct rd r = rd_from_span(
		    (struct span){ buf_data(&b), cut });

		got = (struct direct_job){ .host = NULL };
		assert_int_equal(direct_job_get(&r, &got) == 0, cut == len);
		if (cut == len) {
			assert_string_equal(got.host, "host.example");
			assert_string_equal(got.user, "ann");
			assert_int_equal(got.port, 2222);
			assert_int_equal(got.flags, j.flags);
			assert_int_equal(got.rate_bytes, 1000);
			assert_memory_equal(got.grant, j.grant,
			    sizeof j.grant);
			assert_int_equal(buf_len(&got.hostkey), 4);
			assert_int_equal(got.sources.n, 2);
			assert_string_equal(got.sources.v[1], "c*");
		}
		direct_job_clear(&got);
	}
	direct_job_clear(&j);
	buf_clear(&b);
}

static void
no_host(struct direct_job *j)
{
	j->host[0] = '\0';
}

static void
no_user(struct direct_job *j)
{
	j->user[0] = '\0';
}

static void
flag_of_tomorrow(struct direct_job *j)
{
	j->flags |= DIRECT_FLAGS + 1;
}

static void
no_source(struct direct_job *j)
{
	strlist_clear(&j->sources);
}

static void
empty_source(struct direct_job *j)
{
	xstrlist_add(&j->sources, "");
}

static void
too_many(struct direct_job *j)
{
	while (j->sources.n <= DIRECT_SOURCES_MAX)
		xstrlist_add(&j->sources, "x");
}

static void
list_without_files(struct direct_job *j)
{
	j->flags |= DIRECT_LIST;
	strlist_clear(&j->sources);
	xstrlist_add(&j->sources, "/top");
}

/* Of a list, each path below the top has its size, and none is missing. */
static void
a_list(void **state)
{
	struct direct_job j = plain(), got;
	struct buf b = { 0 };
	size_t len;

	(void)state;
	j.flags |= DIRECT_LIST;
	xstrlist_add(&j.sources, "d");
	j.sizes = xcalloc(2, sizeof *j.sizes);
	j.sizes[0] = 1;
	j.sizes[1] = UINT64_MAX;
	direct_job_put(&b, &j);
	len = buf_len(&b);
	buf_put_u8(&b, 0);
	for (size_t cut = len - 20; cut <= len + 1; cut++) {
		struct rd r = rd_from_span(
		    (struct span){ buf_data(&b), cut });

		got = (struct direct_job){ .host = NULL };
		assert_int_equal(direct_job_get(&r, &got) == 0, cut == len);
		if (cut == len) {
			assert_int_equal(got.sources.n, 3);
			assert_true(got.sizes[0] == 1 &&
			    got.sizes[1] == UINT64_MAX);
		}
		direct_job_clear(&got);
	}
	direct_job_clear(&j);
	buf_clear(&b);
	assert_int_equal(result_of(list_without_files), ERR_FORMAT);
}

static void
what_is_no_job(void **state)
{
	struct buf b = { 0 };
	struct direct_job got = { .host = NULL };
	struct rd r;

	(void)state;
	assert_int_equal(result_of(no_host), ERR_FORMAT);
	assert_int_equal(result_of(no_user), ERR_FORMAT);
	assert_int_equal(result_of(flag_of_tomorrow), ERR_FORMAT);
	assert_int_equal(result_of(empty_source), ERR_FORMAT);
	assert_int_equal(result_of(no_source), ERR_LIMIT);
	assert_int_equal(result_of(too_many), ERR_LIMIT);
	buf_put_u8(&b, DIRECT_VERSION + 1);
	r = rd_from_buf(&b);
	assert_int_equal(direct_job_get(&r, &got), ERR_UNSUPPORTED);
	direct_job_clear(&got);
	buf_clear(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(a_list),
		cmocka_unit_test(what_is_no_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
