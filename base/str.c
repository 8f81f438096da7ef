/* SPDX-License-Identifier: ISC */
#include "base/str.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/mem.h"
#include "compat/bsd-mem.h"

enum {
	LIST_MAX = 65536,      /* strings in a strlist */
	PATTERN_MAX = 1024,    /* bytes of one pattern of a list */
	BASE64_MAX = 0x8000000 /* characters */
};

/* ---- struct strlist ----------------------------------------------------- */

int
strlist_add_len(struct strlist *l, const char *s, size_t len)
{
	char **v, *copy;

	if (l->n >= LIST_MAX)
		return ERR_LIMIT;
	copy = strndup(s, len);
	if (copy == NULL)
		return ERR_NOMEM;
	v = reallocarray(l->v, l->n + 2, sizeof *v);
	if (v == NULL) {
		free(copy);
		return ERR_NOMEM;
	}
	v[l->n++] = copy;
	v[l->n] = NULL;
	l->v = v;
	return 0;
}

int
strlist_add(struct strlist *l, const char *s)
{
	return strlist_add_len(l, s, strlen(s));
}

int
strlist_split(struct strlist *l, const char *s, const char *seps)
{
	size_t len;
	int r;

	for (s += strspn(s, seps); *s != '\0'; s += strspn(s, seps)) {
		len = strcspn(s, seps);
		if ((r = strlist_add_len(l, s, len)) < 0)
			return r;
		s += len;
	}
	return 0;
}

int
strlist_copy(struct strlist *to, const struct strlist *from)
{
	struct strlist copy = { 0 };
	int r;

	for (size_t i = 0; i < from->n; i++) {
		if ((r = strlist_add(&copy, from->v[i])) < 0) {
			strlist_clear(&copy);
			return r;
		}
	}
	strlist_clear(to);
	*to = copy;
	return 0;
}

bool
strlist_has(const struct strlist *l, const char *s)
{
	for (size_t i = 0; i < l->n; i++)
		if (strcmp(l->v[i], s) == 0)
			return true;
	return false;
}

static int
by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void
strlist_sort_unique(struct strlist *l)
{
	size_t n = 0;

	if (l->n == 0)
		return;
	qsort(l->v, l->n, sizeof *l->v, by_bytes);
	for (size_t i = 1; i < l->n; i++)
		if (strcmp(l->v[n], l->v[i]) == 0)
			free(l->v[i]);
		else
			l->v[++n] = l->v[i];
	l->n = n + 1;
	l->v[l->n] = NULL;
}

void
strlist_clear(struct strlist *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	l->v = NULL;
	l->n = 0;
}

/* ---- patterns ----------------------------------------------------------- */

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/*
 * If a match fails, only the last star seen is tried again with more text: what
 * an earlier star matched can stay. So the time is at most the product of both
 * lengths.
 */
static bool
match_span(const char *s, const char *p, size_t p_len, bool nocase)
{
	const char *p_end = p + p_len, *star = NULL, *retry = NULL;

	while (*s != '\0') {
		if (p < p_end && *p == '*') {
			star = ++p;
			retry = s;
		} else if (p < p_end &&
		    (*p == '?' || *p == *s ||
			(nocase && lower(*p) == lower(*s)))) {
			p++;
			s++;
		} else if (star != NULL) {
			p = star;
			s = ++retry;
		} else {
			return false;
		}
	}
	while (p < p_end && *p == '*')
		p++;
	return p == p_end;
}

bool
str_match(const char *s, const char *pattern)
{
	return match_span(s, pattern, strlen(pattern), false);
}

bool
str_match_nocase(const char *s, const char *pattern)
{
	return match_span(s, pattern, strlen(pattern), true);
}

int
str_match_list(const char *s, const char *patterns, bool nocase)
{
	const char *pos = patterns, *p;
	bool negated, found = false;
	size_t len;

	while (csv_next(&pos, &p, &len)) {
		negated = len > 0 && *p == '!';
		if (negated) {
			p++;
			len--;
		}
		if (len > PATTERN_MAX || !match_span(s, p, len, nocase))
			continue;
		if (negated)
			return -1;
		found = true;
	}
	return found ? 1 : 0;
}

/* ---- comma lists -------------------------------------------------------- */

bool
csv_next(const char **pos, const char **name, size_t *len)
{
	const char *s = *pos, *end;

	while (*s == ',')
		s++;
	*name = s;
	end = strchr(s, ',');
	*len = end != NULL ? (size_t)(end - s) : strlen(s);
	*pos = s + *len;
	return *len > 0;
}

bool
csv_has_span(const char *list, const char *name, size_t len)
{
	const char *pos = list, *p;
	size_t n;

	while (csv_next(&pos, &p, &n))
		if (n == len && memcmp(p, name, n) == 0)
			return true;
	return false;
}

bool
csv_has(const char *list, const char *name)
{
	return csv_has_span(list, name, strlen(name));
}

bool
csv_has_nocase(const char *list, const char *name)
{
	const char *pos = list, *p;
	size_t len;

	while (csv_next(&pos, &p, &len))
		if (str_is_span_nocase(name, p, len))
			return true;
	return false;
}

char *
csv_first_common(const char *mine, const char *theirs)
{
	const char *pos = mine, *p;
	size_t len;

	while (csv_next(&pos, &p, &len))
		if (csv_has_span(theirs, p, len))
			return strndup(p, len);
	return NULL;
}

char *
csv_filter(const char *list, const char *patterns, bool keep)
{
	char *out, *end, *name;
	const char *pos = list, *p;
	size_t len;
	bool hit;

	out = end = malloc(strlen(list) + 1);
	if (out == NULL)
		return NULL;
	while (csv_next(&pos, &p, &len)) {
		if ((name = strndup(p, len)) == NULL) {
			free(out);
			return NULL;
		}
		hit = str_match_list(name, patterns, false) > 0;
		free(name);
		if (hit != keep)
			continue;
		if (end != out)
			*end++ = ',';
		memcpy(end, p, len);
		end += len;
	}
	*end = '\0';
	return out;
}

/* ---- numbers ------------------------------------------------------------ */

/* Reads the decimal digits at *s into *out, which may be up to max. */
static int
read_digits(const char **s, uint64_t max, uint64_t *out)
{
	const char *p = *s;
	uint64_t n = 0, digit;

	if (*p < '0' || *p > '9')
		return ERR_SYNTAX;
	for (; *p >= '0' && *p <= '9'; p++) {
		digit = (uint64_t)(*p - '0');
		if (n > (max - digit) / 10)
			return ERR_LIMIT;
		n = n * 10 + digit;
	}
	*s = p;
	*out = n;
	return 0;
}

int
str_to_int(const char *s, int64_t min, int64_t max, int64_t *out)
{
	bool negative = *s == '-';
	uint64_t n;
	int64_t v;
	int r;

	if (*s == '-' || *s == '+')
		s++;
	if ((r = read_digits(&s, INT64_MAX, &n)) < 0)
		return r;
	if (*s != '\0')
		return ERR_SYNTAX;
	v = negative ? -(int64_t)n : (int64_t)n;
	if (v < min || v > max)
		return ERR_LIMIT;
	*out = v;
	return 0;
}

static int64_t
seconds_in(char unit)
{
	switch (lower(unit)) {
	case 's':
		return 1;
	case 'm':
		return 60;
	case 'h':
		return 3600;
	case 'd':
		return 86400;
	case 'w':
		return 604800;
	default:
		return 0;
	}
}

int
str_to_seconds(const char *s, int64_t *seconds)
{
	int64_t total = 0, unit;
	uint64_t n;
	int r;

	do {
		if ((r = read_digits(&s, INT64_MAX, &n)) < 0)
			return r;
		unit = *s == '\0' ? 1 : seconds_in(*s++);
		if (unit == 0)
			return ERR_SYNTAX;
		if ((int64_t)n > (INT64_MAX - total) / unit)
			return ERR_LIMIT;
		total += (int64_t)n * unit;
	} while (*s != '\0');
	*seconds = total;
	return 0;
}

int
str_to_bytes(const char *s, uint64_t *bytes)
{
	unsigned shift = 0;
	uint64_t n;
	int r;

	if ((r = read_digits(&s, UINT64_MAX, &n)) < 0)
		return r;
	if (*s != '\0') {
		switch (lower(*s++)) {
		case 'k':
			shift = 10;
			break;
		case 'm':
			shift = 20;
			break;
		case 'g':
			shift = 30;
			break;
		case 't':
			shift = 40;
			break;
		default:
			return ERR_SYNTAX;
		}
	}
	if (*s != '\0')
		return ERR_SYNTAX;
	if (n > UINT64_MAX >> shift)
		return ERR_LIMIT;
	*bytes = n << shift;
	return 0;
}

/* ---- escaping ----------------------------------------------------------- */

/* The character changes the direction of the text after it, so that a text can
 * look like another one. */
static bool
turns_text(uint32_t c)
{
	return (c >= 0x200e && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) ||
	    (c >= 0x2066 && c <= 0x2069);
}

size_t
str_utf8_len(const char *text, uint32_t *code)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = (const unsigned char *)text;
	uint32_t c;
	size_t len;

	if (p[0] < 0x80) {
		*code = p[0];
		return 1;
	}
	if (p[0] >= 0xc2 && p[0] <= 0xdf) {
		len = 2;
		c = p[0] & 0x1f;
	} else if (p[0] >= 0xe0 && p[0] <= 0xef) {
		len = 3;
		c = p[0] & 0x0f;
	} else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
		len = 4;
		c = p[0] & 0x07;
	} else {
		return 0;
	}
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < smallest[len] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*code = c;
	return len;
}

/* Bytes of the character at p; 0 if it must not be sent to a terminal. */
static size_t
printable_len(const char *p)
{
	uint32_t c;
	size_t len = str_utf8_len(p, &c);

	return len == 0 || c < 0x20 || (c >= 0x7f && c < 0xa0) ||
		turns_text(c) ? 0 : len;
}

int
str_columns(uint32_t c)
{
	enum { MAYBE_WIDE = 0x1100 };
	int n = wcwidth((wchar_t)c);

	if (n >= 0)
		return n;
	return c < MAYBE_WIDE ? 1 : 2;
}

void
str_escape(char *out, size_t size, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t at = 0, len;

	if (size == 0)
		return;
	while (*p != '\0') {
		len = printable_len((const char *)p);
		if (size - at <= (len > 0 ? len : 4))
			break;
		if (len > 0) {
			memcpy(out + at, p, len);
			at += len;
			p += len;
		} else {
			out[at++] = '\\';
			out[at++] = (char)('0' + (*p >> 6));
			out[at++] = (char)('0' + (*p >> 3 & 7));
			out[at++] = (char)('0' + (*p & 7));
			p++;
		}
	}
	out[at] = '\0';
}

char *
xstr_escape(const char *text)
{
	size_t size = 4 * strlen(text) + 1;
	char *out = xmalloc(size);

	str_escape(out, size, text);
	return out;
}

char *
str_shorten_path(const char *path)
{
	enum { PATH_SHOWN = 1024, END_SHOWN = 200 };
	size_t len = strlen(path), head = END_SHOWN, tail = len - END_SHOWN;
	char *shown;

	if (len <= PATH_SHOWN)
		return strdup(path);
	/* The cuts must not be inside a UTF-8 character. */
	while (head > 0 && (path[head] & 0xc0) == 0x80)
		head--;
	while ((path[tail] & 0xc0) == 0x80)
		tail++;
	shown = malloc(head + 3 + len - tail + 1);
	if (shown == NULL)
		return NULL;
	memcpy(shown, path, head);
	memcpy(shown + head, "...", 3);
	memcpy(shown + head + 3, path + tail, len - tail + 1);
	return shown;
}

char *
xstr_shorten_path(const char *path)
{
	char *shown = str_shorten_path(path);

	/* no memory: xstrdup() ends the process */
	return shown != NULL ? shown : xstrdup(path);
}

bool
str_equal_nocase(const char *a, const char *b)
{
	while (*a != '\0' && lower(*a) == lower(*b)) {
		a++;
		b++;
	}
	return lower(*a) == lower(*b);
}

bool
str_is_span_nocase(const char *s, const char *p, size_t len)
{
	return strlen(s) == len && strncasecmp(s, p, len) == 0;
}

bool
str_has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* ---- base64 and hexadecimal --------------------------------------------- */

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *
str_base64_encode(const void *p, size_t len)
{
	const uint8_t *in = p;
	char *out, *to;
	uint32_t v;
	size_t n;

	if (len > BASE64_MAX)
		return NULL;
	out = to = malloc((len + 2) / 3 * 4 + 1);
	if (out == NULL)
		return NULL;
	for (size_t i = 0; i < len; i += 3) {
		n = MIN(len - i, (size_t)3);
		v = (uint32_t)in[i] << 16;
		if (n > 1)
			v |= (uint32_t)in[i + 1] << 8;
		if (n > 2)
			v |= in[i + 2];
		*to++ = base64_digits[v >> 18];
		*to++ = base64_digits[v >> 12 & 63];
		*to++ = n > 1 ? base64_digits[v >> 6 & 63] : '=';
		*to++ = n > 2 ? base64_digits[v & 63] : '=';
	}
	*to = '\0';
	return out;
}

/* The value of a base64 digit, or a negative number. Without branch or table,
 * as the text may be a secret key. */
static int
base64_value(unsigned char c)
{
	int v = -1, x = c;

	/* Each term is all ones if x lies in its range, else 0. */
	v += (('A' - 1 - x) & (x - 'Z' - 1)) >> 8 & (x - 'A' + 1);
	v += (('a' - 1 - x) & (x - 'z' - 1)) >> 8 & (x - 'a' + 27);
	v += (('0' - 1 - x) & (x - '9' - 1)) >> 8 & (x - '0' + 53);
	v += (('+' - 1 - x) & (x - '+' - 1)) >> 8 & 63;
	v += (('/' - 1 - x) & (x - '/' - 1)) >> 8 & 64;
	return v;
}

int
str_base64_decode(const char *s, size_t len, uint8_t **out, size_t *out_len)
{
	size_t pad = 0, n = 0;
	uint32_t v = 0;
	uint8_t *to;
	int d, bad = 0;

	*out = NULL;
	*out_len = 0;
	if (len > BASE64_MAX || len % 4 != 0)
		return len > BASE64_MAX ? ERR_LIMIT : ERR_FORMAT;
	while (pad < 2 && pad < len && s[len - 1 - pad] == '=')
		pad++;
	to = malloc(len / 4 * 3 + 1);
	if (to == NULL)
		return ERR_NOMEM;
	for (size_t i = 0; i < len; i++) {
		d = i < len - pad ? base64_value((unsigned char)s[i]) : 0;
		bad |= d;
		v = v << 6 | ((uint32_t)d & 63);
		if (i % 4 != 3)
			continue;
		to[n++] = (uint8_t)(v >> 16);
		to[n++] = (uint8_t)(v >> 8);
		to[n++] = (uint8_t)v;
	}
	/* Spare bits before the padding must be 0, so that equal bytes always
	 * have the same text. */
	for (size_t i = 0; i < pad; i++)
		bad |= -(int)to[--n];
	if (bad < 0) {
		freezero(to, len / 4 * 3 + 1);
		return ERR_FORMAT;
	}
	*out = to;
	*out_len = n;
	return 0;
}

char *
str_hex(const void *p, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *in = p;
	char *out;

	if (len > SIZE_MAX / 2 - 1 || (out = malloc(len * 2 + 1)) == NULL)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		out[2 * i] = digits[in[i] >> 4];
		out[2 * i + 1] = digits[in[i] & 15];
	}
	out[len * 2] = '\0';
	return out;
}

char *
str_join_path(const char *dir, const char *name)
{
	size_t len = strlen(dir);
	char *path;

	if (asprintf(&path, "%s%s%s", dir,
	    len > 0 && dir[len - 1] == '/' ? "" : "/", name) < 0)
		return NULL;
	return path;
}

int
str_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

size_t
str_count_lines(const void *p, size_t len)
{
	const char *at = p;
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += at[i] == '\n';
	return n;
}
