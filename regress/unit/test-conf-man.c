/* SPDX-License-Identifier: ISC */
/* The manual pages and the tables tell the same keywords. */
#include "regress/unit/hex.h"

#include <stdlib.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "conf/client-conf.h"
#include "conf/server-conf.h"

static const char item[] = ".It Cm ";

static void
read_page(const char *name, struct strlist *lines)
{
	const char *dir = getenv("srcdir");
	struct buf text;
	char *path, *s;

	buf_init(&text);
	xasprintf(&path, "%s/man/%s", dir != NULL ? dir : ".", name);
	if (file_read(path, &text, 1 << 20) < 0)
		fail_msg("cannot read %s", path);
	s = buf_dup_string(&text);
	assert_int_equal(strlist_split(lines, s, "\n"), 0);
	free(s);
	free(path);
	buf_clear(&text);
}

static bool
row_accepted(const struct conf_row *row)
{
	return row->type != &conf_refused && row->type != &conf_deprecated;
}

static void
check_page(const struct conf_table *t, const char *name)
{
	unsigned told[CONF_ROWS_MAX] = { 0 };
	struct strlist lines = { 0 };
	const struct conf_row *row;
	const char *keyword;

	read_page(name, &lines);
	for (size_t i = 0; i < lines.n; i++) {
		if (!str_has_prefix(lines.v[i], item))
			continue;
		keyword = lines.v[i] + strlen(item);
		row = conf_find(t, keyword);
		if (row == NULL || !row_accepted(row) ||
		    strcmp(row->name, keyword) != 0)
			fail_msg("%s tells of %s", name, keyword);
		else if (told[conf_index(t, row)]++ > 0)
			fail_msg("%s tells of %s twice", name, keyword);
	}
	for (size_t i = 0; i < t->count; i++)
		if (row_accepted(&t->rows[i]) && told[i] == 0)
			fail_msg("%s does not tell of %s", name,
			    t->rows[i].name);
	strlist_clear(&lines);
}

static void
test_client(void **state)
{
	(void)state;
	check_page(&client_conf_table, "hpnssh_config.5");
}

static void
test_server(void **state)
{
	(void)state;
	check_page(&server_conf_table, "hpnsshd_config.5");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_client),
	    cmocka_unit_test(test_server),
	};

	return cmocka_run_group_tests_name("conf-man", tests, NULL, NULL);
}
