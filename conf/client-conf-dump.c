/* SPDX-License-Identifier: ISC */
/* What ssh -G shows: the values as a connection would use them. Tokens, ~ and
 * variables are expanded, so that programs that read them need not do it. */
#include "conf/client-conf.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/destination.h"

/* A shallow copy of the configuration, and the texts and lists in it that are
 * not the original's. */
struct shown {
	struct client_conf conf;
	char *control_path, *agent, *command, *forward_agent, *jump;
	struct strlist known_hosts, revoked, env;
};

/* Replaces *field by its expansion, which *own owns. */
static int
show_text(const struct client_conf *c, enum client_tokens set,
    const char *keyword, char **field, char **own)
{
	int r;

	if (*field == NULL)
		return 0;
	r = client_conf_expand(c, set, keyword, *field, own);
	if (r == 0)
		*field = *own;
	return r;
}

/* Does the text name an environment variable? It is not expanded then, because
 * the variable is only read when the socket is used. */
static bool
is_variable(const char *text)
{
	return strcmp(text, "SSH_AUTH_SOCK") == 0 ||
	    (text[0] == '$' && text[1] != '{');
}

static int
show_socket(const struct client_conf *c, const char *keyword, char **field,
    char **own)
{
	if (*field == NULL || is_variable(*field) ||
	    strcmp(*field, "yes") == 0 || strcmp(*field, "none") == 0)
		return 0;
	return show_text(c, CLIENT_TOKENS_PATH, keyword, field, own);
}

/* Puts [user@]host[:port] in front of the list. */
static int
add_jump(const struct destination *d, char **list)
{
	bool address = strchr(d->host, ':') != NULL;
	char *text;

	xasprintf(&text, "%s%s%s%s%s%s%s%s%s", d->user != NULL ? d->user : "",
	    d->user != NULL ? "@" : "", address ? "[" : "", d->host,
	    address ? "]" : "", d->port != NULL ? ":" : "",
	    d->port != NULL ? d->port : "", *list != NULL ? "," : "",
	    *list != NULL ? *list : "");
	free(*list);
	*list = text;
	return 0;
}

/* Shows the list of jump hosts in one form, whether or not they were written as
 * URIs. */
static int
show_jumps(char **field, char **own)
{
	char *left = *field != NULL ? xstrdup(*field) : NULL, *rest;
	struct destination d;
	int r = 0;

	while (r == 0 && left != NULL) {
		r = destination_last_jump(&d, left, &rest);
		if (r == 0)
			r = add_jump(&d, own);
		destination_clear(&d);
		free(left);
		left = r == 0 ? rest : NULL;
	}
	if (r == 0 && *own != NULL)
		*field = *own;
	return r;
}

static int
show_env(const struct client_conf *c, struct shown *s)
{
	const struct strlist *env = &c->session.set_env;
	char *entry;
	int r = 0;

	for (size_t i = 0; r == 0 && i < env->n; i++) {
		r = client_conf_expand_env(c, env->v[i], &entry);
		if (r == 0)
			r = strlist_add(&s->env, entry);
		free(entry);
	}
	s->conf.session.set_env = s->env;
	return r;
}

static int
show(const struct client_conf *c, struct shown *s)
{
	struct client_conf *to = &s->conf;
	int r;

	if ((r = show_text(c, CLIENT_TOKENS_PATH, "ControlPath",
		 &to->mux.control_path, &s->control_path)) < 0 ||
	    (r = show_text(c, CLIENT_TOKENS_COMMAND, "RemoteCommand",
		 &to->session.remote_command, &s->command)) < 0 ||
	    (r = show_socket(c, "IdentityAgent", &to->auth.identity_agent,
		 &s->agent)) < 0 ||
	    (r = show_socket(c, "ForwardAgent", &to->forward.forward_agent,
		 &s->forward_agent)) < 0 ||
	    (r = show_jumps(&to->tcp.proxy_jump, &s->jump)) < 0 ||
	    (r = client_conf_expand_list(c, "UserKnownHostsFile",
		 &c->known.user_known_hosts_file, &s->known_hosts)) < 0)
		return r;
	to->known.user_known_hosts_file = s->known_hosts;
	r = client_conf_expand_list(c, "RevokedHostKeys",
	    &c->known.revoked_host_keys, &s->revoked);
	to->known.revoked_host_keys = s->revoked;
	return r < 0 ? r : show_env(c, s);
}

int
client_conf_dump(const struct client_conf *c, struct buf *out)
{
	struct shown s = { .conf = *c };
	int r = show(c, &s);

	if (r == 0 && c->load.original_host != NULL)
		buf_printf(out, "host %s\n", c->load.original_host);
	if (r == 0)
		r = conf_dump(&client_conf_table, &s.conf, out);
	free(s.control_path);
	free(s.agent);
	free(s.command);
	free(s.forward_agent);
	free(s.jump);
	strlist_clear(&s.known_hosts);
	strlist_clear(&s.revoked);
	strlist_clear(&s.env);
	return r;
}
