/* SPDX-License-Identifier: ISC */
#include "xfer/rcp/rcp-proto.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { MODE_DIGITS = 4 };

/* ---- records ------------------------------------------------------------ */

static bool
take(const char **p, char c)
{
	if (**p != c)
		return false;
	(*p)++;
	return true;
}

/* Reads a decimal number of at most max. */
static bool
take_number(const char **p, int64_t max, int64_t *out)
{
	const char *s = *p;
	int64_t n = 0;

	if (*s < '0' || *s > '9')
		return false;
	for (; *s >= '0' && *s <= '9'; s++) {
		int digit = *s - '0';

		if (n > (max - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	*p = s;
	*out = n;
	return true;
}

static bool
take_mode(const char **p, unsigned *mode)
{
	*mode = 0;
	for (int i = 0; i < MODE_DIGITS; i++) {
		char c = (*p)[i];

		if (c < '0' || c > '7')
			return false;
		*mode = *mode << 3 | (unsigned)(c - '0');
	}
	*p += MODE_DIGITS;
	return true;
}

static bool
take_hash(const char **p, char hash[RCP_HASH_HEX + 1])
{
	if (strspn(*p, "0123456789abcdef") != RCP_HASH_HEX)
		return false;
	memcpy(hash, *p, RCP_HASH_HEX);
	hash[RCP_HASH_HEX] = '\0';
	*p += RCP_HASH_HEX;
	return true;
}

static bool
take_time(const char **p, struct timespec *t)
{
	int64_t seconds, micro;

	if (!take_number(p, INT64_MAX, &seconds) || !take(p, ' ') ||
	    !take_number(p, 999999, &micro))
		return false;
	t->tv_sec = (time_t)seconds;
	t->tv_nsec = (long)micro * 1000;
	return (int64_t)t->tv_sec == seconds;
}

int
rcp_record_parse(struct rcp_record *rec, const char *line, bool resume)
{
	const char *p = line + 1;
	bool ok;

	*rec = (struct rcp_record){ .type = line[0] };
	switch (line[0]) {
	case 'C':
	case 'D':
		ok = take_mode(&p, &rec->mode) && take(&p, ' ') &&
		    take_number(&p, INT64_MAX, &rec->size) && take(&p, ' ');
		if (ok && resume && line[0] == 'C')
			ok = take_hash(&p, rec->hash) && take(&p, ' ');
		rec->name = p;
		break;
	case 'T':
		ok = take_time(&p, &rec->mtime) && take(&p, ' ') &&
		    take_time(&p, &rec->atime) && *p == '\0';
		break;
	default:
		ok = line[0] == 'E' && *p == '\0';
		break;
	}
	return ok ? 0 : ERR_FORMAT;
}

bool
rcp_name_is_plain(const char *name)
{
	return *name != '\0' && strchr(name, '/') == NULL &&
	    strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* ---- names that were asked for ------------------------------------------ */

/* Length of what is at p: an escaped character, a pair of brackets with its
 * content, or one character. */
static size_t
unit(const char *p)
{
	const char *end;

	if (p[0] == '\\' && p[1] != '\0')
		return 2;
	if (p[0] == '[' && (end = strchr(p + 1, ']')) != NULL)
		return (size_t)(end - p) + 1;
	return 1;
}

/* The brace that closes the one at `open`; NULL if there is none, or no comma
 * between them. */
static const char *
closing(const char *open)
{
	int depth = 0;
	bool comma = false;

	for (const char *p = open; *p != '\0'; p += unit(p)) {
		if (*p == '{')
			depth++;
		else if (*p == ',' && depth == 1)
			comma = true;
		else if (*p == '}' && --depth == 0)
			return comma ? p : NULL;
	}
	return NULL;
}

static int
add_last_part(struct strlist *wanted, const char *path)
{
	size_t end = strlen(path), start;

	if (wanted->n >= RCP_WANTED_MAX)
		return ERR_LIMIT;
	while (end > 0 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/'; start--)
		;
	return strlist_add_len(wanted, path + start, end - start);
}

static int expand(struct strlist *wanted, const char *text, size_t from);

/* Puts one of the alternatives in place of the braces; then expands the
 * rest. */
static int
expand_one(struct strlist *wanted, const char *text, const char *open,
    const char *close, const char *part, size_t len)
{
	size_t head = (size_t)(open - text), tail = strlen(close + 1);
	char *whole = malloc(head + len + tail + 1);
	int r;

	if (whole == NULL)
		return ERR_NOMEM;
	memcpy(whole, text, head);
	memcpy(whole + head, part, len);
	memcpy(whole + head + len, close + 1, tail + 1);
	r = expand(wanted, whole, head);
	free(whole);
	return r;
}

static int
expand(struct strlist *wanted, const char *text, size_t from)
{
	const char *open = text + from, *close = NULL, *part, *p;
	int depth = 0, r = 0;

	for (; *open != '\0'; open += unit(open))
		if (*open == '{' && (close = closing(open)) != NULL)
			break;
	if (*open == '\0')
		return add_last_part(wanted, text);
	for (part = p = open + 1; r == 0 && p <= close; p += unit(p)) {
		if ((*p == ',' && depth == 0) || p == close) {
			r = expand_one(wanted, text, open, close, part,
			    (size_t)(p - part));
			part = p + 1;
		} else if (*p == '{') {
			depth++;
		} else if (*p == '}') {
			depth--;
		}
	}
	return r;
}

int
rcp_wanted_add(struct strlist *wanted, const char *request)
{
	return expand(wanted, request, 0);
}

bool
rcp_wanted_has(const struct strlist *wanted, const char *name)
{
	for (size_t i = 0; i < wanted->n; i++)
		if (strcmp(wanted->v[i], name) == 0 ||
		    fnmatch(wanted->v[i], name, FNM_PERIOD) == 0)
			return true;
	return false;
}

/* ---- what a sink has (-Z) ----------------------------------------------- */

void
rcp_sink_state_write(char out[RCP_SINK_STATE_LEN],
    const struct rcp_sink_state *s)
{
	char text[RCP_SINK_STATE_LEN + 1];
	int n;

	if (s->kind == 'S')
		n = snprintf(text, sizeof text, "S");
	else
		n = snprintf(text, sizeof text, "%c%04o %lld %s", s->kind,
		    s->mode & 07777, (long long)s->size, s->hash);
	memset(out, ' ', RCP_SINK_STATE_LEN);
	memcpy(out, text, (size_t)n);
}

int
rcp_sink_state_parse(struct rcp_sink_state *s,
    const char in[RCP_SINK_STATE_LEN])
{
	char text[RCP_SINK_STATE_LEN + 1];
	const char *p = text + 1;
	bool ok = true;

	memcpy(text, in, RCP_SINK_STATE_LEN);
	text[RCP_SINK_STATE_LEN] = '\0';
	*s = (struct rcp_sink_state){ .kind = text[0] };
	if (s->kind == 'R' || s->kind == 'C') {
		ok = take_mode(&p, &s->mode) && take(&p, ' ') &&
		    take_number(&p, INT64_MAX, &s->size) && take(&p, ' ');
		if (ok && *p != ' ')
			ok = take_hash(&p, s->hash);
	} else if (s->kind != 'S') {
		ok = false;
	}
	return ok && strspn(p, " ") == strlen(p) ? 0 : ERR_FORMAT;
}
