/* SPDX-License-Identifier: ISC */
/* The client's keywords and flags for forwarding and for shared connections. */
#include "conf/client-conf-internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "compat/bsd.h"

/* ---- LocalForward, RemoteForward, DynamicForward ------------------------ */

/* Parses one line: where to listen and, except for DynamicForward, the
 * target. */
static int
parse_line(struct forward_spec *spec, const struct conf_row *row,
    const struct strlist *words, const struct conf_location *at)
{
	enum forward_kind kind = (enum forward_kind)row->param;
	bool socks = kind == FORWARD_DYNAMIC || words->n == 1 ||
	    strcmp(words->v[1], "[socks]:0") == 0;
	char *text, *name;
	int r;

	if (words->n > (kind == FORWARD_DYNAMIC ? 1 : 2)) {
		name = conf_lower(row->name);
		r = conf_error(at, "keyword %s extra arguments at end of line",
		    name);
		free(name);
		return r;
	}
	if (kind == FORWARD_LOCAL && words->n == 1)
		return conf_error(at, "Missing target argument.");
	if (socks)
		text = xstrdup(words->v[0]);
	else
		xasprintf(&text, "%s:%s", words->v[0], words->v[1]);
	r = forward_spec_parse(spec, kind, text);
	free(text);
	if (r == 0 && spec->target_is_socks == socks)
		return 0;
	if (r == 0)
		forward_spec_clear(spec);
	return conf_error(at, "Bad forwarding specification.");
}

static int
add_spec(struct forward_list *l, struct forward_spec *spec,
    const struct conf_location *at)
{
	int r = forward_list_add(l, spec);

	forward_spec_clear(spec);
	return r == ERR_LIMIT ? conf_error(at, "Too many forwards.") : r;
}

static int
parse_forward(const struct conf_row *row, void *field,
    const struct strlist *lines, const struct conf_location *at)
{
	struct forward_spec spec;
	int r = 0;

	for (size_t i = 0; r == 0 && i < lines->n; i++) {
		struct strlist words = { 0 };

		r = conf_words(lines->v[i], &words, at);
		if (r == 0 && words.n == 0)
			r = conf_error(at, "%s: missing argument", row->name);
		if (r == 0)
			r = parse_line(&spec, row, &words, at);
		if (r == 0)
			r = add_spec(field, &spec, at);
		strlist_clear(&words);
	}
	return r;
}

/* Writes one end of a forward. A path is written as it is, even with blanks,
 * because OpenSSH shows it so. text: how an end with a port is written;
 * freed. */
static void
put_end(struct buf *out, const struct forward_endpoint *e, char *text)
{
	const char *shown = e->path != NULL ? e->path : text;

	buf_put(out, shown, strlen(shown));
	free(text);
}

static int
format_forward(const struct conf_row *row, const void *field,
    struct strlist *lines)
{
	const struct forward_list *l = field;
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->n; i++) {
		struct buf line = { 0 };

		if (l->v[i].kind != (enum forward_kind)row->param)
			continue;
		put_end(&line, &l->v[i].listen,
		    forward_listen_text(&l->v[i]));
		if (l->v[i].kind != FORWARD_DYNAMIC) {
			buf_put_u8(&line, ' ');
			put_end(&line, &l->v[i].target,
			    forward_target_text(&l->v[i]));
		}
		r = strlist_add_len(lines, (const char *)buf_data(&line),
		    buf_len(&line));
		buf_clear(&line);
	}
	return r;
}

static void
clear_forwards(void *field)
{
	forward_list_clear(field);
}

const struct conf_type client_forward_type = { parse_forward, format_forward,
	clear_forwards, NULL, false };

int
client_conf_add_forward(struct client_conf *c, enum forward_kind kind,
    const char *text)
{
	static const char *const names[] = { [FORWARD_LOCAL] = "local",
		[FORWARD_REMOTE] = "remote",
		[FORWARD_DYNAMIC] = "dynamic" };
	const struct conf_location at = { .file = NULL };
	struct forward_spec spec;

	if (forward_spec_parse(&spec, kind, text) != 0) {
		log_error("Bad %s forwarding specification '%s'", names[kind],
		    text);
		return ERR_SYNTAX;
	}
	return add_spec(kind == FORWARD_REMOTE ? &c->forward.remote :
						 &c->forward.local, &spec, &at);
}

/* ---- TunnelDevice ------------------------------------------------------- */

/* Reads a unit number or "any", up to a colon or the end, and moves *s
 * there. */
static bool
parse_unit(const char **s, int *unit)
{
	size_t len = strcspn(*s, ":");
	char word[16];
	int64_t v;

	if (len >= sizeof word)
		return false;
	memcpy(word, *s, len);
	word[len] = '\0';
	*s += len;
	if (str_equal_nocase(word, "any")) {
		*unit = CLIENT_TUNNEL_ANY;
		return true;
	}
	if (str_to_int(word, 0, CLIENT_TUNNEL_UNIT_MAX, &v) != 0)
		return false;
	*unit = (int)v;
	return true;
}

/* Reads "local" or "local:remote" units of tunnel devices. */
static bool
parse_units(const char *text, int *units)
{
	units[1] = CLIENT_TUNNEL_ANY;
	if (!parse_unit(&text, &units[0]))
		return false;
	if (*text == '\0')
		return true;
	text++;
	return parse_unit(&text, &units[1]) && *text == '\0';
}

bool
client_conf_is_tunnel_device(const char *text)
{
	int units[2];

	return parse_units(text, units);
}

static int
parse_tunnel(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	int units[2];

	(void)row;
	if (!parse_units(words->v[0], units))
		return conf_error(at, "Bad tun device.");
	memcpy(field, units, sizeof units);
	return 0;
}

static int
format_tunnel(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	char text[32];
	size_t len = 0;
	int units[2];

	(void)row;
	memcpy(units, field, sizeof units);
	for (int i = 0; i < 2; i++) {
		if (i > 0)
			text[len++] = ':';
		if (units[i] == CLIENT_TUNNEL_ANY)
			strlcpy(text + len, "any", sizeof text - len);
		else
			snprintf(text + len, sizeof text - len, "%d",
			    units[i]);
		len = strlen(text);
	}
	return strlist_add(words, text);
}

const struct conf_type client_tunnel_type = { parse_tunnel, format_tunnel,
	NULL, NULL, true };

_Static_assert(offsetof(struct client_conf, forward.tunnel_remote) ==
	offsetof(struct client_conf, forward.tunnel_local) + sizeof(int),
    "the row of TunnelDevice writes two numbers");

/* ---- ObscureKeystrokeTiming, ControlPersist ----------------------------- */

enum { OBSCURE_MS = 20, OBSCURE_MAX_MS = 1000 };

static const char interval[] = "interval:";

static int
parse_obscure(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	const char *s = words->v[0];
	int64_t v;
	int flag, r;

	if (str_has_prefix(s, interval)) {
		if (str_to_int(s + strlen(interval), 1, OBSCURE_MAX_MS, &v) !=
		    0)
			return conf_error(at, "%s: \"%s\": an interval has 1 "
			    "to %d ms", row->name, s, OBSCURE_MAX_MS);
		*(int *)field = (int)v;
		return 0;
	}
	if ((r = conf_flag.parse(row, &flag, words, at)) < 0)
		return r;
	*(int *)field = flag != 0 ? OBSCURE_MS : 0;
	return 0;
}

static int
format_obscure(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	int v = *(const int *)field;
	char text[32];

	(void)row;
	if (v == 0 || v == OBSCURE_MS)
		return strlist_add(words, v == 0 ? "no" : "yes");
	snprintf(text, sizeof text, "%s%d", interval, v);
	return strlist_add(words, text);
}

const struct conf_type client_obscure_type = { parse_obscure, format_obscure,
	NULL, NULL, true };

static const struct conf_enum persist_values[] = {
	{ "no", CLIENT_PERSIST_NO },
	{ "yes", CLIENT_PERSIST_FOREVER },
	{ "false", CLIENT_PERSIST_NO },
	{ "true", CLIENT_PERSIST_FOREVER },
	{ NULL, 0 },
};

static int
parse_persist(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	int64_t v;

	(void)row;
	for (const struct conf_enum *e = persist_values; e->name != NULL; e++) {
		if (str_equal_nocase(e->name, words->v[0])) {
			*(int *)field = e->value;
			return 0;
		}
	}
	if (str_to_seconds(words->v[0], &v) < 0 || v > INT_MAX)
		return conf_error(at, "Bad ControlPersist argument.");
	*(int *)field = (int)v;
	return 0;
}

static int
format_persist(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	int v = *(const int *)field;
	char text[16];

	(void)row;
	if (v == CLIENT_PERSIST_NO || v == CLIENT_PERSIST_FOREVER)
		return strlist_add(words,
		    v == CLIENT_PERSIST_NO ? "no" : "yes");
	snprintf(text, sizeof text, "%d", v);
	return strlist_add(words, text);
}

const struct conf_type client_persist_type = { parse_persist, format_persist,
	NULL, NULL, true };

/* ---- the end of reading ------------------------------------------------- */

void
client_conf_default_forwards(struct client_conf *c)
{
	if (!c->load.stdio_forward)
		return;
	if (!client_conf_is_set(c, "ExitOnForwardFailure"))
		c->forward.exit_on_failure = 1;
	if (!client_conf_is_set(c, "ClearAllForwardings"))
		c->forward.clear_all_forwardings = 1;
}

static int
expand_path(const struct client_conf *c, char **path)
{
	char *expanded;
	int r;

	if (*path == NULL || strchr(*path, '%') == NULL)
		return 0;
	r = client_conf_expand(c, CLIENT_TOKENS_SOCKET, "forwarding", *path,
	    &expanded);
	if (r < 0)
		return r;
	free(*path);
	*path = expanded; /* if it is too long, the forwarding fails later */
	return 0;
}

static int
expand_paths(const struct client_conf *c, struct forward_list *l)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->n; i++) {
		r = expand_path(c, &l->v[i].listen.path);
		if (r == 0)
			r = expand_path(c, &l->v[i].target.path);
	}
	return r;
}

int
client_conf_settle_forwards(struct client_conf *c)
{
	int r;

	if (c->forward.clear_all_forwardings) {
		forward_list_clear(&c->forward.local);
		forward_list_clear(&c->forward.remote);
		c->forward.tunnel = CLIENT_TUNNEL_NO;
	}
	r = expand_paths(c, &c->forward.local);
	return r < 0 ? r : expand_paths(c, &c->forward.remote);
}
