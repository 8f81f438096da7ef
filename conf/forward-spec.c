/* SPDX-License-Identifier: ISC */
#include "conf/forward-spec.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "conf/tokens.h"

enum { FIELDS_MAX = 4 };

struct field {
	char *text; /* owned */
	bool is_path;
};

/* ---- reading ------------------------------------------------------------ */

/* Copies the field at *s, which ends before a colon or at the end, to out, and
 * moves *s behind it. out must have room for all of *s. False: a bracket is not
 * closed, or something other than a colon follows it. */
static bool
read_field(const char **s, char *out)
{
	const char *p = *s, *end;

	if (*p == '[') {
		end = strchr(++p, ']');
		if (end == NULL || (end[1] != ':' && end[1] != '\0'))
			return false;
		memcpy(out, p, (size_t)(end - p));
		out[end - p] = '\0';
		*s = end + 1;
		return true;
	}
	for (; *p != '\0' && *p != ':'; p++) {
		if (*p == '\\' && p[1] != '\0')
			p++;
		*out++ = *p;
	}
	*out = '\0';
	*s = p;
	return true;
}

static void
clear_fields(struct field *f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(f[i].text);
}

/* Splits the text at colons. Returns the number of fields, which the caller
 * clears; 0: the text is malformed. */
static size_t
split(const char *text, struct field *f)
{
	size_t n = 0, room = strlen(text) + 1;

	for (;;) {
		if (n == FIELDS_MAX)
			goto wrong;
		f[n].text = xmalloc(room);
		if (!read_field(&text, f[n++].text))
			goto wrong;
		f[n - 1].is_path = strchr(f[n - 1].text, '/') != NULL;
		if (*text == '\0' || *++text == '\0')
			return n; /* a colon may end it, as in OpenSSH */
	}
wrong:
	clear_fields(f, n);
	return 0;
}

/* Reads a port number or the name of a TCP service. */
static bool
parse_port(const char *text, uint16_t *port)
{
	const struct servent *service;
	int64_t v;

	if (isdigit((unsigned char)text[0]) &&
	    str_to_int(text, 0, UINT16_MAX, &v) == 0) {
		*port = (uint16_t)v;
		return true;
	}
	service = text[0] != '\0' ? getservbyname(text, "tcp") : NULL;
	if (service != NULL)
		*port = ntohs((uint16_t)service->s_port);
	return service != NULL;
}

/* Reads the endpoint that begins at f[0]: a path, a port alone (port_alone), or
 * a host and a port. Returns the number of fields that it has taken; 0: they
 * are malformed. */
static size_t
take_endpoint(struct forward_endpoint *e, struct field *f, bool port_alone)
{
	if (f[0].is_path) {
		if (strlen(f[0].text) > FORWARD_PATH_MAX)
			return 0;
		e->path = f[0].text;
		f[0].text = NULL;
		return 1;
	}
	if (port_alone)
		return parse_port(f[0].text, &e->port) ? 1 : 0;
	if (f[1].is_path || strlen(f[0].text) > FORWARD_HOST_MAX ||
	    !parse_port(f[1].text, &e->port))
		return 0;
	e->host = f[0].text;
	f[0].text = NULL;
	return 2;
}

/* Reads what to listen on, and behind it the target, which has `target` fields
 * (0: there is none). */
static bool
take_both(struct forward_spec *s, struct field *f, size_t n, size_t target)
{
	size_t used;

	if (n <= target)
		return false;
	used = take_endpoint(&s->listen, f, n - target == 1);
	if (used == 0 || n - used != target)
		return false;
	return target == 0 ||
	    take_endpoint(&s->target, f + used, false) == target;
}

/* How many of the last fields are the target; 0: there is none, as the client
 * names it by SOCKS. */
static size_t
target_fields(const struct field *f, size_t n)
{
	if (n == 1 || (n == 2 && !f[1].is_path))
		return 0;
	return f[n - 1].is_path ? 1 : 2;
}

static bool
ports_are_right(const struct forward_spec *s)
{
	if (s->listen.path == NULL && s->listen.port == 0 &&
	    s->kind != FORWARD_REMOTE)
		return false;
	return s->target_is_socks || s->target.path != NULL ||
	    s->target.port != 0;
}

/* Fills *s, whose endpoints must be zeroed, and moves the texts that it keeps
 * from the fields to it. False: they are malformed. The caller clears s then,
 * and the fields in any case. */
static bool
take_fields(struct forward_spec *s, struct field *f, size_t n)
{
	size_t target = target_fields(f, n);

	s->target_is_socks = target == 0;
	if ((s->kind == FORWARD_DYNAMIC && target != 0) ||
	    (s->kind == FORWARD_LOCAL && target == 0) ||
	    !take_both(s, f, n, target))
		return false;
	if (s->listen.host != NULL && strcmp(s->listen.host, "*") == 0)
		s->listen.host[0] = '\0';
	return ports_are_right(s);
}

/* Splits the text after skipping leading blanks and replacing variables.
 * Returns as split(). */
static size_t
read_fields(const char *text, struct field *f)
{
	char *expanded, bad;
	size_t n;

	text += strspn(text, " \t\r\n");
	if (tokens_expand_variables(text, &expanded, &bad) != 0)
		return 0;
	n = split(expanded, f);
	free(expanded);
	return n;
}

int
forward_spec_parse(struct forward_spec *out, enum forward_kind kind,
    const char *text)
{
	struct field f[FIELDS_MAX] = { 0 };
	size_t n = read_fields(text, f);
	bool right;

	*out = (struct forward_spec){ .kind = kind };
	right = n > 0 && take_fields(out, f, n);
	clear_fields(f, n);
	if (!right)
		forward_spec_clear(out);
	return right ? 0 : ERR_SYNTAX;
}

int
forward_target_parse(struct forward_endpoint *out, const char *text)
{
	struct field f[FIELDS_MAX] = { 0 };
	size_t n = read_fields(text, f), used = 0;
	bool right;

	memset(out, 0, sizeof *out);
	if (n == 2 || (n == 1 && f[0].is_path))
		used = take_endpoint(out, f, false);
	right = used > 0 && used == n && (out->path != NULL ||
		(out->port != 0 && out->host[0] != '\0'));
	clear_fields(f, n);
	if (!right)
		forward_endpoint_clear(out);
	return right ? 0 : ERR_SYNTAX;
}

/* ---- writing ------------------------------------------------------------ */

/* The field with a backslash in front of each character that would end it or
 * mean something else. The caller frees it. */
static char *
quoted(const char *field)
{
	struct buf b = { 0 };
	const char *p = field;
	char *text;

	for (; *p != '\0'; p++) {
		if (*p == ':' || *p == '\\' || (*p == '[' && p == field) ||
		    (p == field && strchr(" \t\r\n", *p) != NULL) ||
		    (*p == '{' && p > field && p[-1] == '$'))
			buf_put_u8(&b, '\\');
		buf_put_u8(&b, (uint8_t)*p);
	}
	text = buf_dup_string(&b);
	buf_clear(&b);
	return text != NULL ? text : xstrdup(field);
}

/* Can the host be written in brackets? Not with a ], which would end it, or a
 * $, which might begin a variable. */
static bool
is_plain(const char *host)
{
	return strchr(host, ']') == NULL && strchr(host, '$') == NULL;
}

static char *
endpoint_text(const struct forward_endpoint *e, bool listens)
{
	const char *host = e->host;
	char *text, *name;

	if (e->path != NULL)
		return quoted(e->path);
	if (host != NULL && host[0] == '\0' && listens)
		host = "*";
	if (host == NULL) {
		xasprintf(&text, "%u", (unsigned)e->port);
	} else if (is_plain(host)) {
		xasprintf(&text, "[%s]:%u", host, (unsigned)e->port);
	} else {
		name = quoted(host);
		xasprintf(&text, "%s:%u", name, (unsigned)e->port);
		free(name);
	}
	return text;
}

char *
forward_listen_text(const struct forward_spec *s)
{
	return endpoint_text(&s->listen, true);
}

char *
forward_target_text(const struct forward_spec *s)
{
	return s->target_is_socks ? xstrdup("[socks]:0") :
				    endpoint_text(&s->target, false);
}

/* ---- life --------------------------------------------------------------- */

void
forward_endpoint_clear(struct forward_endpoint *e)
{
	free(e->host);
	free(e->path);
	memset(e, 0, sizeof *e);
}

void
forward_spec_clear(struct forward_spec *s)
{
	forward_endpoint_clear(&s->listen);
	forward_endpoint_clear(&s->target);
	memset(s, 0, sizeof *s);
}

static bool
same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool
same_endpoint(const struct forward_endpoint *a,
    const struct forward_endpoint *b)
{
	return a->port == b->port && same_text(a->host, b->host) &&
	    same_text(a->path, b->path);
}

bool
forward_spec_equals(const struct forward_spec *a, const struct forward_spec *b)
{
	return a->kind == b->kind && a->target_is_socks == b->target_is_socks &&
	    same_endpoint(&a->listen, &b->listen) &&
	    same_endpoint(&a->target, &b->target);
}

static int
copy_endpoint(struct forward_endpoint *to, const struct forward_endpoint *from)
{
	to->port = from->port;
	to->host = from->host != NULL ? strdup(from->host) : NULL;
	to->path = from->path != NULL ? strdup(from->path) : NULL;
	return (from->host == NULL) == (to->host == NULL) &&
	    (from->path == NULL) == (to->path == NULL) ? 0 : ERR_NOMEM;
}

int
forward_spec_copy(struct forward_spec *to, const struct forward_spec *from)
{
	int r;

	*to = (struct forward_spec){ .kind = from->kind,
		.target_is_socks = from->target_is_socks };
	if ((r = copy_endpoint(&to->listen, &from->listen)) < 0 ||
	    (r = copy_endpoint(&to->target, &from->target)) < 0)
		forward_spec_clear(to);
	return r;
}

int
forward_list_add(struct forward_list *l, const struct forward_spec *s)
{
	struct forward_spec copy;
	int r;

	for (size_t i = 0; i < l->n; i++)
		if (forward_spec_equals(&l->v[i], s))
			return 0;
	if (l->n >= FORWARD_LIST_MAX)
		return ERR_LIMIT;
	if ((r = forward_spec_copy(&copy, s)) < 0)
		return r;
	l->v = xrecallocarray(l->v, l->n, l->n + 1, sizeof *l->v);
	l->v[l->n++] = copy;
	return 0;
}

void
forward_list_clear(struct forward_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		forward_spec_clear(&l->v[i]);
	free(l->v);
	l->v = NULL;
	l->n = 0;
}
