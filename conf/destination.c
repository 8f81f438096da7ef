/* SPDX-License-Identifier: ISC */
#include "conf/destination.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define URI_SCHEME "ssh://"

void
destination_clear(struct destination *d)
{
	free(d->user);
	free(d->host);
	free(d->port);
	*d = (struct destination){ 0 };
}

/* Replaces %41 by A, and so on (RFC 3986 section 2.1), in place. False: the
 * text is malformed, or has %00. */
static bool
percent_decode(char *s)
{
	char *out = s, hex[3] = "";

	for (; *s != '\0'; s++) {
		if (*s != '%') {
			*out++ = *s;
			continue;
		}
		if (!isxdigit((unsigned char)s[1]) ||
		    !isxdigit((unsigned char)s[2]))
			return false;
		hex[0] = s[1];
		hex[1] = s[2];
		*out = (char)strtol(hex, NULL, 16);
		if (*out++ == '\0')
			return false;
		s += 2;
	}
	*out = '\0';
	return true;
}

/* Reads a port number or the name of a service. Empty text leaves d->port NULL,
 * for the default port. */
static int
parse_port(struct destination *d, const char *text)
{
	const struct servent *service;
	int64_t port;

	if (*text == '\0')
		return 0;
	if (str_to_int(text, 1, 65535, &port) != 0) {
		if ((service = getservbyname(text, "tcp")) == NULL)
			return ERR_SYNTAX;
		port = ntohs((uint16_t)service->s_port);
	}
	xasprintf(&d->port, "%d", (int)port);
	return 0;
}

/* Reads host, host:port, [host] or [host]:port. */
static int
parse_host_port(struct destination *d, const char *text)
{
	const char *end;

	if (*text == '[') {
		if ((end = strchr(++text, ']')) == NULL)
			return ERR_SYNTAX;
		d->host = xstrndup(text, (size_t)(end - text));
		end++;
	} else {
		end = text + strcspn(text, ":");
		d->host = xstrndup(text, (size_t)(end - text));
	}
	if (*end == ':')
		return parse_port(d, end + 1);
	return *end == '\0' ? 0 : ERR_SYNTAX;
}

static int
parse_uri(struct destination *d, const char *text)
{
	char *copy = xstrdup(text), *host = copy, *at, *slash;
	int r = ERR_SYNTAX;

	if ((slash = strchr(copy, '/')) != NULL) {
		if (slash[1] != '\0')
			goto out; /* URIs of SSH have no path */
		*slash = '\0';
	}
	if ((at = strrchr(copy, '@')) != NULL) {
		*at = '\0';
		host = at + 1;
		copy[strcspn(copy, ";")] = '\0'; /* parameters are ignored */
		if (*copy == '\0' || !percent_decode(copy))
			goto out;
		d->user = xstrdup(copy);
	}
	r = parse_host_port(d, host);
out:
	free(copy);
	return r;
}

int
destination_parse(struct destination *d, const char *text)
{
	const char *at;
	int r = 0;

	*d = (struct destination){ 0 };
	if (str_has_prefix(text, URI_SCHEME)) {
		r = parse_uri(d, text + strlen(URI_SCHEME));
	} else {
		at = strrchr(text, '@');
		if (at == text)
			return ERR_SYNTAX;
		if (at != NULL)
			d->user = xstrndup(text, (size_t)(at - text));
		d->host = xstrdup(at != NULL ? at + 1 : text);
	}
	if (r == 0 && (d->host == NULL || *d->host == '\0'))
		r = ERR_SYNTAX;
	return r;
}

static bool
has_control(const char *s)
{
	for (; *s != '\0'; s++)
		if (iscntrl((unsigned char)*s))
			return true;
	return false;
}

bool
destination_user_ok(const char *user)
{
	size_t len = strlen(user);

	if (len == 0 || user[0] == '-' || user[len - 1] == '\\' ||
	    has_control(user) || strpbrk(user, "'`\";&<>|(){}$") != NULL)
		return false;
	/* If a shell splits the name into words, a word with - would look like
	 * a flag. */
	return strstr(user, " -") == NULL;
}

/* May the host's name be used in commands and in known_hosts? Besides
 * characters that a shell interprets, those are refused that make a name in
 * known_hosts a pattern or a list: a key under that name would count for other
 * hosts, too. */
bool
destination_host_ok(const char *host)
{
	return *host != '\0' && *host != '-' && !has_control(host) &&
	    strpbrk(host, "'`\"$\\;&<>|(){} " ",*?!") == NULL;
}

/* ---- jump hosts --------------------------------------------------------- */

/* Is the name unfit as an argument of the ssh that connects to the jump host?
 * No shell is involved, so only a leading - and control characters matter. */
static bool
is_odd(const char *name)
{
	return *name == '-' || has_control(name);
}

static int
parse_jump(struct destination *d, const char *text)
{
	const char *at;
	int r;

	if (str_has_prefix(text, URI_SCHEME)) {
		r = destination_parse(d, text);
	} else {
		*d = (struct destination){ 0 };
		if ((at = strrchr(text, '@')) != NULL)
			d->user = xstrndup(text, (size_t)(at - text));
		r = parse_host_port(d, at != NULL ? at + 1 : text);
	}
	if (r != 0 || *d->host == '\0' ||
	    (d->user != NULL && *d->user == '\0'))
		return ERR_SYNTAX;
	if (is_odd(d->host) || (d->user != NULL && is_odd(d->user)))
		return ERR_ARGUMENT;
	return 0;
}

int
destination_last_jump(struct destination *d, const char *list, char **rest)
{
	const char *comma = strrchr(list, ',');

	*rest = NULL;
	if (comma != NULL)
		*rest = xstrndup(list, (size_t)(comma - list));
	return parse_jump(d, comma != NULL ? comma + 1 : list);
}

static bool
names_ok(const struct destination *d)
{
	return destination_host_ok(d->host) &&
	    (d->user == NULL || destination_user_ok(d->user));
}

static const char *
check_jumps(const char *list, bool strict)
{
	struct destination d;
	char *left = xstrdup(list), *rest;
	int r = 0;

	for (int n = 0; left != NULL && r == 0; n++) {
		r = n < DESTINATION_JUMPS_MAX ?
		    destination_last_jump(&d, left, &rest) : ERR_LIMIT;
		if (r == ERR_LIMIT)
			break;
		if (r == 0 && strict && !names_ok(&d))
			r = ERR_ARGUMENT;
		destination_clear(&d);
		free(left);
		left = rest;
	}
	free(left);
	return r == 0 ? NULL
	       : r == ERR_ARGUMENT
		   ? "a name has characters that are not allowed"
	       : r == ERR_LIMIT ? "too many jump hosts"
				: "not a list of [user@]host[:port]";
}

const char *
destination_check_jumps(const char *list)
{
	return check_jumps(list, false);
}

const char *
destination_check_jump_names(const char *list)
{
	return check_jumps(list, true);
}
