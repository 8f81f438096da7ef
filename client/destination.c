/* SPDX-License-Identifier: ISC */
#include "client/destination.h"

#include <ctype.h>
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

/* %41 to A (RFC 3986 section 2.1), in place. */
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

static int
parse_port(struct destination *d, const char *text)
{
	int64_t port;
	int r;

	if (*text == '\0')
		return 0;
	if ((r = str_to_int(text, 1, 65535, &port)) != 0)
		return r;
	d->port = xstrdup(text);
	return 0;
}

/* host, host:port, [host], [host]:port */
static int
parse_uri_host(struct destination *d, const char *text)
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
			goto out; /* a path means nothing here */
		*slash = '\0';
	}
	if ((at = strrchr(copy, '@')) != NULL) {
		*at = '\0';
		host = at + 1;
		copy[strcspn(copy, ";")] = '\0'; /* connection parameters */
		if (*copy == '\0' || !percent_decode(copy))
			goto out;
		d->user = xstrdup(copy);
	}
	r = parse_uri_host(d, host);
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
	/* A word of its own that looks like a flag. */
	return strstr(user, " -") == NULL;
}

bool
destination_host_ok(const char *host)
{
	return *host != '\0' && *host != '-' && !has_control(host) &&
	    strpbrk(host, "'`\"$\\;&<>|(){} ") == NULL;
}
