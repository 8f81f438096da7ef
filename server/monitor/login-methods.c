/* SPDX-License-Identifier: ISC */
#include "server/monitor/login-methods.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf/auth-method-table.h"

/* Whether an entry of a list, "method" or "method:device", means the method. */
static bool
names(const char *entry, size_t len, const char *method)
{
	bool has_device;
	const struct auth_method *m = auth_method_listed(entry, len,
	    &has_device);

	return m != NULL && has_device && strcmp(m->name, method) == 0;
}

/* Whether the method of the entry is enabled. "none" is never offered but
 * always enabled: whether it is enough, as an empty password, shows when it is
 * tried. */
static bool
is_there(const struct auth_methods *m, const char *entry, size_t len)
{
	if (names(entry, len, auth_method_table[AUTH_METHOD_NONE].name))
		return true;
	for (size_t i = 0; i < m->enabled.n; i++)
		if (names(entry, len, m->enabled.v[i]))
			return true;
	return false;
}

static bool
all_enabled(const struct auth_methods *m, const char *list)
{
	const char *pos = list, *entry;
	size_t len;

	while (csv_next(&pos, &entry, &len))
		if (!is_there(m, entry, len))
			return false;
	return true;
}

int
auth_methods_init(struct auth_methods *m, const struct strlist *lists,
    const char *enabled)
{
	memset(m, 0, sizeof *m);
	xstrlist_split(&m->enabled, enabled, ",");
	if (lists->n == 0 ||
	    (lists->n == 1 && strcmp(lists->v[0], "any") == 0)) {
		m->any = true;
		return 0;
	}
	for (size_t i = 0; i < lists->n; i++)
		if (all_enabled(m, lists->v[i]))
			xstrlist_add(&m->lists, lists->v[i]);
	return m->lists.n > 0 ? 0 : ERR_NOT_FOUND;
}

void
auth_methods_clear(struct auth_methods *m)
{
	strlist_clear(&m->enabled);
	strlist_clear(&m->lists);
}

static bool
list_names(const char *list, const char *method)
{
	const char *pos = list, *entry;
	size_t len;

	while (csv_next(&pos, &entry, &len))
		if (names(entry, len, method))
			return true;
	return false;
}

int
auth_methods_without(struct strlist *out, const struct strlist *lists,
    const char *method)
{
	for (size_t i = 0; i < lists->n; i++)
		if (!list_names(lists->v[i], method))
			xstrlist_add(out, lists->v[i]);
	return lists->n > 0 && out->n == 0 ? ERR_NOT_FOUND : 0;
}

void
auth_methods_allow_alone(struct auth_methods *m, const char *method)
{
	for (size_t i = 0; i < m->lists.n; i++)
		if (list_names(m->lists.v[i], method))
			return;
	if (!m->any)
		xstrlist_add(&m->lists, method);
	else if (!strlist_has(&m->enabled, method))
		xstrlist_add(&m->enabled, method);
}

bool
auth_methods_may(const struct auth_methods *m, const char *method)
{
	if (m->any)
		return strlist_has(&m->enabled, method);
	for (size_t i = 0; i < m->lists.n; i++)
		if (names(m->lists.v[i], strcspn(m->lists.v[i], ","), method))
			return true;
	return false;
}

static bool
is_hidden(const char *name)
{
	const struct auth_method *m = auth_method_by_name(name, strlen(name));

	return m != NULL && m->is_hidden;
}

char *
auth_methods_next(const struct auth_methods *m)
{
	struct buf b = { 0 };
	char *list;

	for (size_t i = 0; i < m->enabled.n; i++)
		if (auth_methods_may(m, m->enabled.v[i]) &&
		    !is_hidden(m->enabled.v[i]))
			buf_printf(&b, "%s%s", buf_len(&b) > 0 ? "," : "",
			    m->enabled.v[i]);
	list = buf_dup_string(&b);
	buf_clear(&b);
	if (list == NULL)
		fatal("out of memory");
	return list;
}

int
auth_methods_done(struct auth_methods *m, const char *method)
{
	struct strlist rest = { 0 };
	int complete = 0;

	if (m->any)
		return 1;
	for (size_t i = 0; i < m->lists.n; i++) {
		const char *list = m->lists.v[i];
		size_t len = strcspn(list, ",");

		if (!names(list, len, method)) {
			xstrlist_add(&rest, list);
		} else if (list[len] == ',') {
			list += len + 1;
			xstrlist_add(&rest, list);
		} else {
			complete = 1;
		}
	}
	strlist_clear(&m->lists);
	m->lists = rest;
	return complete;
}
