/* SPDX-License-Identifier: ISC */
#include "conf/auth-method-table.h"

#include <string.h>

#include "base/mem.h"

const struct auth_method auth_method_table[AUTH_METHOD_COUNT] = {
#define ROW(id, word, ...) [AUTH_METHOD_##id] = { __VA_ARGS__ },
	AUTH_METHODS(ROW)
#undef ROW
};

static bool
is_text(const char *p, size_t len, const char *text)
{
	return text != NULL && strlen(text) == len &&
	    memcmp(p, text, len) == 0;
}

const struct auth_method *
auth_method_by_name(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(auth_method_table); i++)
		if (is_text(name, len, auth_method_table[i].name))
			return &auth_method_table[i];
	return NULL;
}

const struct auth_method *
auth_method_requested(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < ARRAY_LEN(auth_method_table); i++)
		if (is_text(name, len, auth_method_table[i].alias))
			return &auth_method_table[i];
	return auth_method_by_name(name, len);
}

const struct auth_method *
auth_method_listed(const char *entry, size_t len, bool *has_device)
{
	const char *colon = memchr(entry, ':', len);
	size_t base = colon != NULL ? (size_t)(colon - entry) : len;
	const struct auth_method *m = auth_method_by_name(entry, base);

	*has_device = m != NULL &&
	    (colon == NULL || is_text(colon + 1, len - base - 1, m->device));
	return m;
}

bool
auth_method_enabled(const struct auth_method *m, const struct server_conf *c)
{
	const char *flag = (const char *)c + m->option;

	return m->option == 0 || *(const int *)(const void *)flag != 0;
}

bool
auth_method_offered(const struct auth_method *m, const struct server_conf *c)
{
	return m->option != 0 && auth_method_enabled(m, c);
}

bool
auth_method_served(const struct auth_method *m, const struct server_conf *c)
{
	return auth_method_offered(m, c) && (!m->needs_pam || c->login.use_pam);
}
