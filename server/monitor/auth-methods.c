/* SPDX-License-Identifier: ISC */
#include "server/monitor/auth-methods.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"

static void
add(struct strlist *l, const char *s, size_t len)
{
	if (strlist_add_len(l, s, len) != 0)
		fatal("out of memory");
}

/* A name in a list, "method" or "method:device", against a method. */
static bool
names(const char *entry, size_t len, const char *method, const char *device)
{
	const char *colon = memchr(entry, ':', len);
	size_t base = colon != NULL ? (size_t)(colon - entry) : len;

	if (strlen(method) != base || strncmp(entry, method, base) != 0)
		return false;
	if (colon == NULL || device == NULL)
		return true;
	return strlen(device) == len - base - 1 &&
	    strncmp(colon + 1, device, len - base - 1) == 0;
}

static bool
all_enabled(const struct auth_methods *m, const char *list)
{
	const char *pos = list, *entry;
	size_t len;

	while (csv_next(&pos, &entry, &len)) {
		bool found = false;

		for (size_t i = 0; i < m->enabled.n && !found; i++)
			found = names(entry, len, m->enabled.v[i], NULL);
		if (!found)
			return false;
	}
	return true;
}

int
auth_methods_init(struct auth_methods *m, const struct strlist *lists,
    const char *enabled)
{
	memset(m, 0, sizeof *m);
	if (strlist_split(&m->enabled, enabled, ",") != 0)
		fatal("out of memory");
	if (lists->n == 0 ||
	    (lists->n == 1 && strcmp(lists->v[0], "any") == 0)) {
		m->any = true;
		return 0;
	}
	for (size_t i = 0; i < lists->n; i++)
		if (all_enabled(m, lists->v[i]))
			add(&m->lists, lists->v[i], strlen(lists->v[i]));
	return m->lists.n > 0 ? 0 : ERR_NOT_FOUND;
}

void
auth_methods_clear(struct auth_methods *m)
{
	strlist_clear(&m->enabled);
	strlist_clear(&m->lists);
}

bool
auth_methods_may(const struct auth_methods *m, const char *method)
{
	if (m->any)
		return strlist_has(&m->enabled, method);
	for (size_t i = 0; i < m->lists.n; i++)
		if (names(m->lists.v[i], strcspn(m->lists.v[i], ","), method,
			NULL))
			return true;
	return false;
}

char *
auth_methods_next(const struct auth_methods *m)
{
	struct buf b = { 0 };
	char *list;

	for (size_t i = 0; i < m->enabled.n; i++)
		if (auth_methods_may(m, m->enabled.v[i]))
			buf_printf(&b, "%s%s", buf_len(&b) > 0 ? "," : "",
			    m->enabled.v[i]);
	list = buf_dup_string(&b);
	buf_clear(&b);
	if (list == NULL)
		fatal("out of memory");
	return list;
}

int
auth_methods_done(struct auth_methods *m, const char *method,
    const char *device)
{
	struct strlist rest = { 0 };
	int complete = 0;

	if (m->any)
		return 1;
	for (size_t i = 0; i < m->lists.n; i++) {
		const char *list = m->lists.v[i];
		size_t len = strcspn(list, ",");

		if (!names(list, len, method, device)) {
			add(&rest, list, strlen(list));
		} else if (list[len] == ',') {
			list += len + 1;
			add(&rest, list, strlen(list));
		} else {
			complete = 1;
		}
	}
	strlist_clear(&m->lists);
	m->lists = rest;
	return complete;
}
