/* SPDX-License-Identifier: ISC */
#include "xfer/target.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "compat/bsd-mem.h"

static const char scp_scheme[] = "scp://", sftp_scheme[] = "sftp://";

void
xfer_target_clear(struct xfer_target *t)
{
	free(t->user);
	free(t->host);
	free(t->path);
	*t = (struct xfer_target){ .remote = false };
}

/* Sets the host. One that begins with '-' is refused: ssh would take it for an
 * option. */
static int
set_host(struct xfer_target *t, const char *host, size_t len)
{
	if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
		host++;
		len -= 2;
	}
	if (len == 0 || host[0] == '-')
		return ERR_SYNTAX;
	for (size_t i = 0; i < len; i++)
		if (iscntrl((unsigned char)host[i]) || host[i] == ' ')
			return ERR_SYNTAX;
	t->host = strndup(host, len);
	return t->host != NULL ? 0 : ERR_NOMEM;
}

/* Sets user and host from "[user@]host" of the given length. */
static int
set_login(struct xfer_target *t, const char *text, size_t len)
{
	const char *at = memrchr(text, '@', len);
	size_t user_len = at != NULL ? (size_t)(at - text) : 0;

	if (at == NULL)
		return set_host(t, text, len);
	if (user_len == 0 || text[0] == '-')
		return ERR_SYNTAX;
	t->user = strndup(text, user_len);
	if (t->user == NULL)
		return ERR_NOMEM;
	return set_host(t, at + 1, len - user_len - 1);
}

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes percent escapes (RFC 3986 section 2.1) in place. */
static int
decode_uri(char *s)
{
	char *to = s;
	int high, low;

	for (; *s != '\0'; s++) {
		if (*s != '%') {
			*to++ = *s;
			continue;
		}
		high = hex_value(s[1]);
		low = high >= 0 ? hex_value(s[2]) : -1;
		if (low < 0 || (high == 0 && low == 0))
			return ERR_SYNTAX;
		*to++ = (char)(high << 4 | low);
		s += 2;
	}
	*to = '\0';
	return 0;
}

static int
parse_uri(struct xfer_target *t, const char *text)
{
	size_t len = strcspn(text, "/"), host_len = len;
	const char *path = text[len] == '/' ? text + len + 1 : "";
	const char *colon = memrchr(text, ':', len);
	char digits[8];
	int64_t port;
	int r;

	/* A colon inside of brackets belongs to the address. */
	if (colon != NULL && memchr(colon, ']', len - (size_t)(colon - text)))
		colon = NULL;
	if (colon != NULL) {
		host_len = (size_t)(colon - text);
		if (len - host_len - 1 >= sizeof digits)
			return ERR_SYNTAX;
		memcpy(digits, colon + 1, len - host_len - 1);
		digits[len - host_len - 1] = '\0';
		if (str_to_int(digits, 1, 65535, &port) < 0)
			return ERR_SYNTAX;
		t->port = (int)port;
	}
	if ((r = set_login(t, text, host_len)) < 0)
		return r;
	t->path = strdup(*path != '\0' ? path : ".");
	if (t->path == NULL)
		return ERR_NOMEM;
	if ((r = decode_uri(t->path)) < 0 || (r = decode_uri(t->host)) < 0)
		return r;
	if (t->user != NULL && (r = decode_uri(t->user)) < 0)
		return r;
	return t->host[0] == '-' ||
		(t->user != NULL && t->user[0] == '-') ? ERR_SYNTAX : 0;
}

/* The colon between host and path; NULL if the text is a local path. */
static const char *
find_colon(const char *text)
{
	bool bracket = false;

	if (*text == ':')
		return NULL;
	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '[' && (p == text || p[-1] == '@'))
			bracket = true;
		else if (*p == ']' && bracket && p[1] == ':')
			return p + 1;
		else if (*p == '/')
			return NULL;
		else if (*p == ':' && !bracket)
			return p;
	}
	return NULL;
}

int
xfer_target_parse(struct xfer_target *t, const char *text)
{
	const char *colon;
	int r;

	*t = (struct xfer_target){ .remote = true };
	if (str_has_prefix(text, scp_scheme)) {
		r = parse_uri(t, text + sizeof scp_scheme - 1);
	} else if ((colon = find_colon(text)) != NULL) {
		r = set_login(t, text, (size_t)(colon - text));
		t->path = strdup(colon[1] != '\0' ? colon + 1 : ".");
	} else {
		t->remote = false;
		t->path = strdup(text);
		r = *text != '\0' ? 0 : ERR_SYNTAX;
	}
	if (r == 0 && t->path == NULL)
		r = ERR_NOMEM;
	if (r < 0)
		xfer_target_clear(t);
	return r;
}

int
xfer_target_parse_host(struct xfer_target *t, const char *text)
{
	char *with_colon;
	int r;

	if (str_has_prefix(text, sftp_scheme)) {
		*t = (struct xfer_target){ .remote = true };
		r = parse_uri(t, text + sizeof sftp_scheme - 1);
	} else if (find_colon(text) != NULL) {
		r = xfer_target_parse(t, text);
	} else {
		if (asprintf(&with_colon, "%s:", text) < 0)
			return ERR_NOMEM;
		r = xfer_target_parse(t, with_colon);
		free(with_colon);
		if (r == 0 && !t->remote)
			r = ERR_SYNTAX;
	}
	if (r < 0)
		xfer_target_clear(t);
	return r;
}

static bool
same(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool
xfer_target_same_host(const struct xfer_target *a, const struct xfer_target *b)
{
	return a->remote == b->remote && a->port == b->port &&
	    same(a->user, b->user) && same(a->host, b->host);
}

char *
xfer_base_name(const char *path)
{
	size_t end = strlen(path), start;

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/'; start--)
		;
	if (start == end || (end - start == 2 && path[start] == '.' &&
				path[start + 1] == '.'))
		return strdup(".");
	return strndup(path + start, end - start);
}
