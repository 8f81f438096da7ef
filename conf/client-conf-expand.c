/* SPDX-License-Identifier: ISC */
/* Expanding tokens (%h) in the client's values: which tokens each keyword has,
 * and their values. */
#include "conf/client-conf.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/own-account.h"
#include "compat/bsd.h"
#include "compat/libc.h"
#include "conf/defaults.h"
#include "conf/tokens.h"
#include "crypto/digest.h"

enum { SHA1_LEN = 20 };

/* The values that tokens stand for. */
struct facts {
	char local_host[HOST_NAME_MAX + 1], short_host[HOST_NAME_MAX + 1];
	char uid[16], port[16];
	char *hash; /* owned; value of %C, made when it is needed */
	char *local_user, *home;
	const char *host, *typed_host, *user, *key_name, *jump, *tunnel;
	struct client_host_tokens shown;
};

static const char usual[] = "CdhijkLlnpru";

static const struct {
	const char *letters;
	bool env, tilde;
} sets[] = {
	[CLIENT_TOKENS_PATH] = { usual, true, true },
	[CLIENT_TOKENS_COMMAND] = { usual, false, false },
	[CLIENT_TOKENS_LOCAL] = { "CdhijkLlnpruT", false, false },
	[CLIENT_TOKENS_SETENV] = { usual, true, false },
	[CLIENT_TOKENS_PROXY] = { "hnpr", false, false },
	[CLIENT_TOKENS_HOSTNAME] = { "h", false, false },
	[CLIENT_TOKENS_SOCKET] = { usual, false, false },
	[CLIENT_TOKENS_USER] = { "dhijkLlnpu", true, false },
	[CLIENT_TOKENS_KNOWN_HOSTS] = { "CdhijkLlnprufHIKt", true, false },
	[CLIENT_TOKENS_CERTIFICATE] = { "CdhijkLlnprufIKt", true, false },
};

/* The value of %C: a hash that names the connection and fits into a path. */
static char *
connection_hash(const struct facts *f)
{
	uint8_t sum[SHA1_LEN];
	struct buf text;
	char *hex = NULL;

	buf_init(&text);
	buf_printf(&text, "%s%s%s%s%s", f->local_host, f->host, f->port,
	    f->user, f->jump);
	if (buf_err(&text) == 0 &&
	    digest_once(DIGEST_SHA1, buf_data(&text), buf_len(&text), sum) ==
		0)
		hex = str_hex(sum, sizeof sum);
	buf_clear(&text);
	return hex;
}

static void
facts_gather(struct facts *f, const struct client_conf *c)
{
	const char *name;

	memset(f, 0, sizeof *f);
	if (gethostname(f->local_host, sizeof f->local_host - 1) == -1)
		f->local_host[0] = '\0';
	strlcpy(f->short_host, f->local_host, sizeof f->short_host);
	f->short_host[strcspn(f->short_host, ".")] = '\0';
	snprintf(f->uid, sizeof f->uid, "%u", (unsigned)getuid());
	snprintf(f->port, sizeof f->port, "%d",
	    c->host.port != 0 ? c->host.port : HPN_DEFAULT_PORT);
	name = own_account_name();
	f->local_user = xstrdup(name != NULL ? name : "");
	name = own_account_home();
	f->home = xstrdup(name != NULL ? name : "/");
	f->typed_host =
	    c->load.original_host != NULL ? c->load.original_host : "";
	f->host = c->host.hostname != NULL ? c->host.hostname : f->typed_host;
	f->user = c->host.user != NULL ? c->host.user : f->local_user;
	f->key_name = c->host.host_key_alias != NULL ? c->host.host_key_alias :
						  f->typed_host;
	f->tunnel = c->load.tunnel_name != NULL ? c->load.tunnel_name : "NONE";
	f->jump = c->tcp.proxy_jump != NULL ? c->tcp.proxy_jump : "";
}

static void
facts_clear(struct facts *f)
{
	free(f->local_user);
	free(f->home);
	free(f->hash);
}

static const char *
or_none(const char *text)
{
	return text != NULL ? text : "NONE";
}

static int
expand_with(struct facts *f, enum client_tokens set, const char *text,
    char **out, char *bad)
{
	struct token all[] = {
		{ 'C', NULL },
		{ 'd', f->home },
		{ 'h', set == CLIENT_TOKENS_HOSTNAME ? f->typed_host :
						       f->host },
		{ 'i', f->uid },
		{ 'j', f->jump },
		{ 'k', f->key_name },
		{ 'L', f->short_host },
		{ 'l', f->local_host },
		{ 'n', f->typed_host },
		{ 'p', f->port },
		{ 'r', f->user },
		{ 'T', f->tunnel },
		{ 'u', f->local_user },
		{ 'f', or_none(f->shown.fingerprint) },
		{ 'H', or_none(f->shown.name) },
		{ 'I', or_none(f->shown.reason) },
		{ 'K', or_none(f->shown.base64) },
		{ 't', or_none(f->shown.key_type) },
	};
	size_t n = 0;

	if (strstr(text, "%C") != NULL && f->hash == NULL)
		f->hash = connection_hash(f);
	all[0].value = f->hash;
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (strchr(sets[set].letters, all[i].letter) != NULL)
			all[n++] = all[i];
	if (sets[set].env)
		return tokens_expand_env(text, all, n, out, bad);
	return tokens_expand(text, all, n, out, bad);
}

static int
explain(const char *what, const char *text, int r, char bad)
{
	if (r == ERR_NOT_FOUND && bad == '$')
		log_error("%s: a variable of \"%s\" is not in the "
		    "environment", what, text);
	else if (r == ERR_NOT_FOUND)
		log_error("%s: no such user in \"%s\"", what, text);
	else if (r == ERR_SYNTAX && bad == '$')
		log_error("%s: bad ${ in \"%s\"", what, text);
	else if (r == ERR_SYNTAX && bad != '\0')
		log_error("%s: unknown token %%%c in \"%s\"", what, bad, text);
	else
		log_error("%s: cannot expand \"%s\": %s", what, text,
		    err_text(r));
	return r;
}

static int
expand(const struct client_conf *c, enum client_tokens set,
    const struct client_host_tokens *shown, const char *what,
    const char *text, char **out)
{
	char *path = NULL, bad = '\0';
	struct facts f;
	int r = 0;

	*out = NULL;
	facts_gather(&f, c);
	if (shown != NULL)
		f.shown = *shown;
	if (sets[set].tilde)
		r = tokens_expand_tilde(text, f.home, &path);
	if (r == 0)
		r = expand_with(&f, set, path != NULL ? path : text, out,
		    &bad);
	facts_clear(&f);
	free(path);
	return r < 0 ? explain(what, text, r, bad) : 0;
}

int
client_conf_expand(const struct client_conf *c, enum client_tokens set,
    const char *what, const char *text, char **out)
{
	return expand(c, set, NULL, what, text, out);
}

int
client_conf_expand_env(const struct client_conf *c, const char *entry,
    char **out)
{
	size_t len = strcspn(entry, "=");
	char *value = NULL;
	int r;

	*out = NULL;
	len += entry[len] == '=';
	r = client_conf_expand(c, CLIENT_TOKENS_SETENV, "SetEnv", entry + len,
	    &value);
	if (r == 0 && asprintf(out, "%.*s%s", (int)len, entry, value) == -1) {
		*out = NULL;
		r = ERR_NOMEM;
	}
	free(value);
	return r;
}

int
client_conf_expand_host(const struct client_conf *c, enum client_tokens set,
    const struct client_host_tokens *host, const char *what, const char *text,
    char **out)
{
	return expand(c, set, host, what, text, out);
}

int
client_conf_expand_list(const struct client_conf *c, const char *what,
    const struct strlist *paths, struct strlist *out)
{
	char *path;
	int r = 0;

	for (size_t i = 0; r == 0 && i < paths->n; i++) {
		r = client_conf_expand(c, CLIENT_TOKENS_PATH, what,
		    paths->v[i], &path);
		if (r == 0)
			r = strlist_add(out, path);
		free(path);
	}
	return r;
}

char *
client_conf_agent(const struct client_conf *c)
{
	const char *text = c->auth.identity_agent, *env = NULL, *value;
	char *path;

	if (text == NULL || strcmp(text, "SSH_AUTH_SOCK") == 0)
		env = "SSH_AUTH_SOCK";
	else if (text[0] == '$' && text[1] != '{')
		env = text + 1;
	if (env != NULL) {
		value = getenv(env);
		return value != NULL && *value != '\0' ? xstrdup(value) : NULL;
	}
	if (strcmp(text, "none") == 0 ||
	    client_conf_expand(c, CLIENT_TOKENS_PATH, "IdentityAgent", text,
		&path) != 0)
		return NULL;
	return path;
}
