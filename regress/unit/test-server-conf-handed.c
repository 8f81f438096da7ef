/* SPDX-License-Identifier: ISC */
/*
 * A server's configuration as it is handed to another process, which may be of
 * another version: what is cut, or has other keywords, is refused.
 */
#include "regress/unit/conf-sample.h"
#include "regress/unit/help.h"

#include <stdlib.h>

#include "base/log.h"
#include "conf/server-conf.h"

static int
set_up(void **state)
{
	messages_keep();
	return temp_make(state);
}

static void
must_read(struct server_conf *c, const char *content)
{
	char *path = temp_file("config", content);

	server_conf_init(c);
	assert_int_equal(server_conf_read_file(c, path), 0);
	assert_int_equal(server_conf_finish(c), 0);
	free(path);
}

/* What another process could send, cut anywhere, is refused. */
static void
test_import_cut(void **state)
{
	struct server_conf c, d;
	struct buf out;
	struct rd in;

	(void)state;
	must_read(&c, "Match user a\nBanner /x\n");
	buf_init(&out);
	assert_int_equal(server_conf_export(&c, &out), 0);
	for (size_t len = 0; len < buf_len(&out); len += 7) {
		in = rd_from(buf_data(&out), len);
		server_conf_init(&d);
		assert_true(server_conf_import(&d, &in) < 0);
		server_conf_clear(&d);
	}
	buf_clear(&out);
	server_conf_clear(&c);
}

/* Behind a row of what was exported. */
static void
skip_row(struct rd *in)
{
	struct strlist words = { 0 };

	(void)rd_string(in);
	(void)rd_bool(in);
	assert_int_equal(conf_import_words(in, &words), 0);
	strlist_clear(&words);
}

/* A program of another version has other rows: one that is missing would be 0,
 * whatever that means. Of a block only some are there. */
static void
test_import_without_a_row(void **state)
{
	struct buf all = { 0 }, part = { 0 };
	struct server_conf c, d;
	size_t at = 0, next, rows = 0;
	struct rd in;

	(void)state;
	must_read(&c, "Match user a\nBanner /x\n");
	assert_int_equal(server_conf_export(&c, &all), 0);
	for (;; at = next) {
		in = rd_from(buf_data(&all) + at, buf_len(&all) - at);
		if (rd_string(&in).len == 0)
			break;
		in = rd_from(buf_data(&all) + at, buf_len(&all) - at);
		skip_row(&in);
		next = buf_len(&all) - in.len;
		buf_reset(&part);
		buf_put(&part, buf_data(&all), at);
		buf_put(&part, buf_data(&all) + next, buf_len(&all) - next);
		in = rd_from_buf(&part);
		server_conf_init(&d);
		messages_forget();
		assert_int_equal(server_conf_import(&d, &in), ERR_FORMAT);
		assert_non_null(strstr(messages, "another version"));
		server_conf_clear(&d);
		rows++;
	}
	assert_true(rows > 100);
	buf_clear(&part);
	buf_clear(&all);
	server_conf_clear(&c);
}

/* A keyword that this version does not know is named as such. */
static void
test_import_of_another_row(void **state)
{
	struct buf b = { 0 };
	struct server_conf d;
	struct rd in;

	(void)state;
	buf_put_cstring(&b, "KeywordOfTomorrow");
	buf_put_bool(&b, true);
	buf_put_u32(&b, 0);
	buf_put_cstring(&b, "");
	in = rd_from_buf(&b);
	server_conf_init(&d);
	messages_forget();
	assert_int_equal(server_conf_import(&d, &in), ERR_FORMAT);
	assert_non_null(strstr(messages, "a keyword that is not known"));
	server_conf_clear(&d);
	buf_clear(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_import_cut),
		cmocka_unit_test(test_import_without_a_row),
		cmocka_unit_test(test_import_of_another_row),
	};

	return cmocka_run_group_tests(tests, set_up, temp_remove);
}
