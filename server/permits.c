/* SPDX-License-Identifier: ISC */
#include "server/permits.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "conf/permit-pattern.h"

/* ---- for people -------------------------------------------------------- */

char *
permits_text(const struct permits *p)
{
	char tunnel[24] = "", *text;

	if (p->tunnel_unit != PERMITS_TUNNEL_ANY)
		snprintf(tunnel, sizeof tunnel, " tun=%lld",
		    (long long)p->tunnel_unit);
	xasprintf(&text, "%s%s%s%s%s%s%s%s%s%s%s%s%s",
	    p->agent_forwarding ? " agent-forwarding" : "",
	    p->command != NULL ? " command" : "",
	    p->env.n > 0 ? " environment" : "",
	    p->expires != 0 ? " expires" : "",
	    p->no_touch ? " no-touch-required" : "",
	    p->open.n > 0 ? " permitopen" : "",
	    p->listen.n > 0 ? " permitlisten" : "",
	    p->forward != 0 ? " port-forwarding" : "", p->pty ? " pty" : "",
	    p->verify_required ? " uv" : "", tunnel,
	    p->user_rc ? " user-rc" : "",
	    p->x11_forwarding ? " x11-forwarding" : "");
	return text;
}

/* ---- life ------------------------------------------------------------- */

void
permits_init(struct permits *p)
{
	*p = (struct permits){
		.pty = true,
		.user_rc = true,
		.agent_forwarding = true,
		.x11_forwarding = true,
		.forward = PERMITS_FORWARD_ALL,
		.tunnel_modes = PERMITS_TUNNEL_ALL,
		.no_touch = true,
		.tunnel_unit = PERMITS_TUNNEL_ANY,
	};
}

void
permits_init_session_only(struct permits *p)
{
	*p = (struct permits){ .pty = true, .no_touch = true,
		.tunnel_unit = PERMITS_TUNNEL_ANY };
}

static void
endpoints_clear(struct permits_endpoints *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->v[i].host);
	free(list->v);
}

static void
limit_clear(struct permits_limit *limit)
{
	for (size_t i = 0; i < limit->n; i++)
		endpoints_clear(&limit->v[i]);
	free(limit->v);
}

void
permits_clear(struct permits *p)
{
	free(p->command);
	strlist_clear(&p->env);
	limit_clear(&p->open);
	limit_clear(&p->listen);
	memset(p, 0, sizeof *p);
}

/* ---- lists ------------------------------------------------------------ */

static struct permits_endpoints *
limit_add_list(struct permits_limit *limit)
{
	limit->v = xrecallocarray(limit->v, limit->n, limit->n + 1,
	    sizeof *limit->v);
	return &limit->v[limit->n++];
}

static void
endpoints_add(struct permits_endpoints *to, const char *host, size_t len,
    uint16_t port)
{
	if ((to->n & (to->n - 1)) == 0) /* n is a power of two: v is full, and
					 * is doubled */
		to->v = xrecallocarray(to->v, to->n,
		    MAX(2 * to->n, (size_t)1), sizeof *to->v);
	to->v[to->n++] = (struct permits_endpoint){
		.host = xstrndup(host, len),
		.port = port,
	};
}

static int
add_endpoint(struct permits_limit *limit, const char *text, bool port_alone)
{
	struct permit_pattern p;

	if (permit_pattern_parse(&p, text, port_alone) != 0)
		return ERR_SYNTAX;
	if (limit->n == 0)
		(void)limit_add_list(limit);
	if (limit->v[0].n >= PERMITS_ENDPOINTS_MAX)
		return ERR_LIMIT;
	endpoints_add(&limit->v[0], p.host, p.host_len, p.port);
	return 0;
}

int
permits_add_open(struct permits *p, const char *text)
{
	return add_endpoint(&p->open, text, false);
}

int
permits_add_listen(struct permits *p, const char *text)
{
	return add_endpoint(&p->listen, text, true);
}

void
permits_open_nothing(struct permits *p)
{
	(void)limit_add_list(&p->open);
}

void
permits_listen_nothing(struct permits *p)
{
	(void)limit_add_list(&p->listen);
}

/* ---- environment ------------------------------------------------------ */

/* The length of the variable's name and the "=" behind it. */
static size_t
name_len(const char *assignment)
{
	return strcspn(assignment, "=") + 1;
}

static const char *
env_find(const struct strlist *env, const char *assignment)
{
	size_t len = name_len(assignment);

	for (size_t i = 0; i < env->n; i++)
		if (strncmp(env->v[i], assignment, len) == 0)
			return env->v[i];
	return NULL;
}

int
permits_add_env(struct permits *p, const char *assignment)
{
	size_t len = name_len(assignment) - 1;

	if (len == 0 || assignment[len] != '=')
		return ERR_SYNTAX;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)assignment[i]) &&
		    assignment[i] != '_')
			return ERR_SYNTAX;
	if (env_find(&p->env, assignment) != NULL)
		return 0;
	return strlist_add(&p->env, assignment);
}

/* ---- merging ---------------------------------------------------------- */

static bool
env_agrees(const struct strlist *a, const struct strlist *b)
{
	for (size_t i = 0; i < b->n; i++) {
		const char *other = env_find(a, b->v[i]);

		if (other != NULL && strcmp(other, b->v[i]) != 0)
			return false;
	}
	return true;
}

static void
env_merge(struct strlist *into, const struct strlist *from)
{
	for (size_t i = 0; i < from->n; i++)
		if (env_find(into, from->v[i]) == NULL)
			xstrlist_add(into, from->v[i]);
}

static void
limit_merge(struct permits_limit *into, const struct permits_limit *from)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct permits_endpoints *list = &from->v[i];
		struct permits_endpoints *copy = limit_add_list(into);

		for (size_t j = 0; j < list->n; j++)
			endpoints_add(copy, list->v[j].host,
			    strlen(list->v[j].host), list->v[j].port);
	}
}

static void
tunnel_merge(struct permits *into, const struct permits *from)
{
	into->tunnel_modes &= from->tunnel_modes;
	if (into->tunnel_unit == PERMITS_TUNNEL_ANY)
		into->tunnel_unit = from->tunnel_unit;
	else if (from->tunnel_unit != PERMITS_TUNNEL_ANY &&
	    from->tunnel_unit != into->tunnel_unit)
		into->tunnel_modes = 0; /* no unit is allowed by both */
}

int
permits_merge(struct permits *into, const struct permits *from,
    const char **why)
{
	*why = NULL;
	if (into->command != NULL && from->command != NULL &&
	    strcmp(into->command, from->command) != 0)
		*why = "two different commands are forced";
	else if (!env_agrees(&into->env, &from->env))
		*why = "an environment variable has two different values";
	if (*why != NULL)
		return ERR_DENIED;
	into->pty = into->pty && from->pty;
	into->user_rc = into->user_rc && from->user_rc;
	into->agent_forwarding = into->agent_forwarding &&
	    from->agent_forwarding;
	into->forward &= from->forward;
	into->x11_forwarding = into->x11_forwarding && from->x11_forwarding;
	into->no_touch = into->no_touch && from->no_touch;
	into->verify_required = into->verify_required || from->verify_required;
	tunnel_merge(into, from);
	if (into->expires == 0 ||
	    (from->expires != 0 && from->expires < into->expires))
		into->expires = from->expires;
	if (into->command == NULL && from->command != NULL)
		into->command = xstrdup(from->command);
	env_merge(&into->env, &from->env);
	limit_merge(&into->open, &from->open);
	limit_merge(&into->listen, &from->listen);
	return 0;
}

/* ---- questions -------------------------------------------------------- */

/* A host to connect to is compared byte by byte: no look-up, no patterns. */
static bool
same_host(const char *host, const char *permitted)
{
	return strcmp(permitted, "*") == 0 || strcmp(permitted, host) == 0;
}

static bool
same_pattern(const char *address, const char *permitted)
{
	return str_match(address, permitted);
}

/* For a path instead of a host: it fits only an endpoint that allows all hosts,
 * because endpoints cannot name paths. */
static bool
any_host(const char *host, const char *permitted)
{
	(void)host;
	return strcmp(permitted, "*") == 0;
}

static bool
list_allows(const struct permits_endpoints *list, const char *host,
    uint16_t port, bool (*fits)(const char *host, const char *permitted))
{
	for (size_t i = 0; i < list->n; i++)
		if ((list->v[i].port == 0 || list->v[i].port == port) &&
		    fits(host, list->v[i].host))
			return true;
	return false;
}

static bool
limit_allows(const struct permits_limit *limit, const char *host,
    uint16_t port, bool (*fits)(const char *host, const char *permitted))
{
	for (size_t i = 0; i < limit->n; i++)
		if (!list_allows(&limit->v[i], host, port, fits))
			return false;
	return true;
}

bool
permits_may_open(const struct permits *p, const char *host, uint16_t port)
{
	return (p->forward & PERMITS_OPEN_TCP) != 0 && port != 0 &&
	    limit_allows(&p->open, host, port, same_host);
}

bool
permits_may_open_path(const struct permits *p)
{
	/* Port 0 fits only endpoints that allow any port. */
	return (p->forward & PERMITS_OPEN_PATH) != 0 &&
	    limit_allows(&p->open, "", 0, any_host);
}

bool
permits_may_listen(const struct permits *p, const char *address,
    uint16_t port)
{
	char *lower;
	bool may;

	if ((p->forward & PERMITS_LISTEN_TCP) == 0)
		return false;
	lower = xstrdup(address);
	for (char *at = lower; *at != '\0'; at++)
		*at = (char)tolower((unsigned char)*at);
	may = limit_allows(&p->listen, lower, port, same_pattern);
	free(lower);
	return may;
}

bool
permits_may_listen_path(const struct permits *p)
{
	return (p->forward & PERMITS_LISTEN_PATH) != 0;
}

bool
permits_may_tunnel(const struct permits *p, enum permits_tunnel mode,
    int64_t unit)
{
	return (p->tunnel_modes & mode) != 0 &&
	    (unit == PERMITS_TUNNEL_ANY ||
		p->tunnel_unit == PERMITS_TUNNEL_ANY || p->tunnel_unit == unit);
}
