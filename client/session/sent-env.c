/* SPDX-License-Identifier: ISC */
#include "client/session/sent-env.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

extern char **environ;

static bool
is_sent(const struct client_conf *conf, const char *entry)
{
	char *name = xstrndup(entry, strcspn(entry, "="));
	bool sent = false;

	for (size_t i = 0; i < conf->session.send_env.n && !sent; i++)
		sent = str_match(name, conf->session.send_env.v[i]);
	free(name);
	return sent;
}

static bool
has_name(const struct strlist *env, const char *entry)
{
	size_t len = strcspn(entry, "=") + 1;

	for (size_t i = 0; i < env->n; i++)
		if (strncmp(env->v[i], entry, len) == 0)
			return true;
	return false;
}

/* Adds the variables of SetEnv. missing: only those whose name is not in out
 * yet. */
static int
add_set(const struct client_conf *conf, struct strlist *out, bool missing)
{
	char *text;
	int r = 0;

	for (size_t i = 0; i < conf->session.set_env.n && r == 0; i++) {
		r = client_conf_expand_env(conf, conf->session.set_env.v[i],
		    &text);
		if (r != 0)
			break;
		if (!missing || !has_name(out, text))
			r = strlist_add(out, text);
		free(text);
	}
	return r;
}

int
sent_env_choose(const struct client_conf *conf, struct strlist *out)
{
	int r = 0;

	for (char **e = environ; *e != NULL && r == 0; e++)
		if (is_sent(conf, *e))
			r = strlist_add(out, *e);
	return r == 0 ? add_set(conf, out, false) : r;
}

int
sent_env_complete(const struct client_conf *conf, struct strlist *env)
{
	return add_set(conf, env, true);
}
