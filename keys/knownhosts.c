/* SPDX-License-Identifier: ISC */
#include "keys/knownhosts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "crypto/digest.h"
#include "crypto/rand.h"
#include "keys/cert.h"
#include "keys/knownhosts-internal.h"

enum {
	LINE_MAX_BYTES = 64 * 1024,
	SALT_LEN = 20, /* as long as an HMAC-SHA1 */
};

static const char hash_mark[] = "|1|";

/* Lines of a file. */

int
knownhosts_lines_open(struct knownhosts_lines *l, const char *path)
{
	int r;

	*l = (struct knownhosts_lines){ 0 };
	r = file_read(path, &l->content, KNOWNHOSTS_FILE_MAX);
	l->left = (struct span){ buf_data(&l->content), buf_len(&l->content) };
	return r;
}

int
knownhosts_lines_begin(struct knownhosts_lines *l, struct span content)
{
	*l = (struct knownhosts_lines){ 0 };
	buf_put(&l->content, content.p, content.len);
	l->left = (struct span){ buf_data(&l->content), buf_len(&l->content) };
	return buf_err(&l->content);
}

void
knownhosts_lines_close(struct knownhosts_lines *l)
{
	free(l->text);
	l->text = NULL;
	buf_clear(&l->content);
}

int
knownhosts_lines_next(struct knownhosts_lines *l)
{
	const uint8_t *p = l->left.p, *nl;
	size_t len = l->left.len, n;

	free(l->text);
	l->text = NULL;
	if (len == 0)
		return 0;
	nl = memchr(p, '\n', len);
	n = nl != NULL ? (size_t)(nl - p) : len;
	l->number++;
	l->raw = (struct span){ p, n };
	/* A line that is too long or has a NUL is replaced by one that does
	 * not parse. */
	if (n > LINE_MAX_BYTES || memchr(p, '\0', n) != NULL)
		l->text = strdup("?");
	else
		l->text = strndup((const char *)p,
		    n > 0 && p[n - 1] == '\r' ? n - 1 : n);
	if (l->text == NULL)
		return ERR_NOMEM;
	if (nl != NULL)
		n++;
	l->left = (struct span){ p + n, len - n };
	return 1;
}

/* Parsing. */

static int
parse_marker(const char **s, enum knownhosts_marker *out)
{
	static const struct {
		const char *word;
		enum knownhosts_marker marker;
	} markers[] = {
		{ "@revoked", KNOWNHOSTS_REVOKED },
		{ "@cert-authority", KNOWNHOSTS_CA },
	};
	size_t len = strcspn(*s, " \t");

	*out = KNOWNHOSTS_NONE;
	if (**s != '@')
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(markers); i++) {
		if (strlen(markers[i].word) != len ||
		    strncmp(*s, markers[i].word, len) != 0)
			continue;
		*out = markers[i].marker;
		*s += len;
		*s += strspn(*s, " \t");
		return 0;
	}
	return ERR_FORMAT;
}

/* Moves *s behind the two words of a key whose type is not known here. */
static void
skip_key(const char **s)
{
	for (int i = 0; i < 2; i++) {
		*s += strspn(*s, " \t");
		*s += strcspn(*s, " \t");
	}
}

int
knownhosts_parse_hosts(const char **s, struct knownhosts_line *l)
{
	size_t len;
	int r;

	*s += strspn(*s, " \t");
	if (**s == '\0' || **s == '#' || **s == '\r' || **s == '\n')
		return ERR_NOT_FOUND;
	if (strlen(*s) > LINE_MAX_BYTES)
		return ERR_LIMIT;
	if ((r = parse_marker(s, &l->marker)) != 0)
		return r;
	len = strcspn(*s, " \t\r\n");
	if (len == 0 || (*s)[len] == '\0')
		return ERR_FORMAT;
	l->hosts = strndup(*s, len);
	*s += len;
	return l->hosts != NULL ? 0 : ERR_NOMEM;
}

int
knownhosts_parse_key(const char *s, struct knownhosts_line *l)
{
	int r = key_parse_line(&s, &l->key);

	if (r == ERR_KEY_TYPE) {
		skip_key(&s);
		r = 0;
	}
	if (r != 0)
		return r;
	/* No certificate is an authority. */
	if (l->key != NULL && key_is_cert(l->key) &&
	    l->marker == KNOWNHOSTS_CA) {
		key_free(l->key);
		l->key = NULL;
	}
	s += strspn(s, " \t");
	l->comment = strndup(s, strcspn(s, "\r\n"));
	return l->comment != NULL ? 0 : ERR_NOMEM;
}

/* A key costs more to decode than a name to compare: with a name, only lines
 * for that name are parsed to their end, and others are ERR_NOT_FOUND. */
static int
parse_line_of(const char *line, const char *name, struct knownhosts_line *out)
{
	struct knownhosts_line l = { 0 };
	int r = knownhosts_parse_hosts(&line, &l);

	if (r == 0 && name != NULL && !knownhosts_hosts_match(l.hosts, name))
		r = ERR_NOT_FOUND;
	if (r == 0)
		r = knownhosts_parse_key(line, &l);
	if (r == 0)
		*out = l;
	else
		knownhosts_line_clear(&l);
	return r;
}

int
knownhosts_parse_line(const char *line, struct knownhosts_line *out)
{
	return parse_line_of(line, NULL, out);
}

void
knownhosts_line_clear(struct knownhosts_line *l)
{
	free(l->hosts);
	free(l->comment);
	key_free(l->key);
	*l = (struct knownhosts_line){ 0 };
}

/* Names. */

static char *
lower_case(const char *s)
{
	char *copy = strdup(s);

	for (char *p = copy; p != NULL && *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	return copy;
}

char *
knownhosts_name(const char *host, uint16_t port)
{
	char *low = lower_case(host), *name = NULL;

	if (low == NULL || port == 22)
		return low;
	if (asprintf(&name, "[%s]:%u", low, port) == -1)
		name = NULL;
	free(low);
	return name;
}

static char *
hash_with(const uint8_t *salt, size_t salt_len, const char *name)
{
	uint8_t mac[DIGEST_MAX_LEN];
	char *low = lower_case(name), *salt64 = NULL, *mac64 = NULL;
	char *out = NULL;

	if (low == NULL ||
	    digest_hmac(DIGEST_SHA1, salt, salt_len, low, strlen(low),
		mac) != 0)
		goto out;
	salt64 = str_base64_encode(salt, salt_len);
	mac64 = str_base64_encode(mac, digest_len(DIGEST_SHA1));
	if (salt64 == NULL || mac64 == NULL ||
	    asprintf(&out, "%s%s|%s", hash_mark, salt64, mac64) == -1)
		out = NULL;
out:
	free(mac64);
	free(salt64);
	free(low);
	return out;
}

char *
knownhosts_hash(const char *name)
{
	uint8_t salt[SALT_LEN];

	rand_bytes(salt, sizeof salt);
	return hash_with(salt, sizeof salt, name);
}

bool
knownhosts_is_hashed(const char *hosts)
{
	return str_has_prefix(hosts, hash_mark);
}

/* Hashes the name with the field's salt and compares. */
static bool
hashed_match(const char *field, const char *name)
{
	const char *salt64 = field + strlen(hash_mark);
	uint8_t *salt = NULL;
	size_t len = 0;
	char *again = NULL;
	bool match = false;

	if (str_base64_decode(salt64, strcspn(salt64, "|"), &salt, &len) == 0 &&
	    len == SALT_LEN)
		again = hash_with(salt, len, name);
	if (again != NULL)
		match = strcmp(again, field) == 0;
	free(again);
	free(salt);
	return match;
}

bool
knownhosts_hosts_match(const char *hosts, const char *host)
{
	if (knownhosts_is_hashed(hosts))
		return hashed_match(hosts, host);
	return str_match_list(host, hosts, true) == 1;
}

/* Looking up. */

/* name: NULL, or only lines for it. */
static int
each_line(struct knownhosts_lines *lines, const char *name,
    knownhosts_line_fn fn, void *arg)
{
	struct knownhosts_line line = { 0 };
	int r = 0, parsed;

	while (r == 0 && (r = knownhosts_lines_next(lines)) == 1) {
		parsed = parse_line_of(lines->text, name, &line);
		r = parsed == ERR_NOMEM ? parsed : 0;
		if (r == 0 && parsed != ERR_NOT_FOUND)
			r = fn(arg, lines->text, lines->number,
			    parsed == 0 ? &line : NULL);
		knownhosts_line_clear(&line);
	}
	return r;
}

static int
each_line_of_file(const char *path, const char *name, knownhosts_line_fn fn,
    void *arg)
{
	struct knownhosts_lines lines;
	int r = knownhosts_lines_open(&lines, path);

	/* There is no key in a directory: as if it were not there. */
	if (r == ERR_SYSTEM && errno == EISDIR)
		errno = ENOENT;
	if (r == 0)
		r = each_line(&lines, name, fn, arg);
	knownhosts_lines_close(&lines);
	return r;
}

int
knownhosts_each_line(const char *path, knownhosts_line_fn fn, void *arg)
{
	return each_line_of_file(path, NULL, fn, arg);
}

struct check {
	const char *path;
	const char *name;
	const struct key *key;
	struct knownhosts_found *found;
};

/* The verdict of a line replaces that of an earlier one if it has a higher
 * rank. Of several other keys the last is told of. */
static int
rank(enum knownhosts_verdict v)
{
	switch (v) {
	case KNOWNHOSTS_NEW:
		return 0;
	case KNOWNHOSTS_CHANGED:
		return 1;
	case KNOWNHOSTS_OK:
		return 2;
	case KNOWNHOSTS_IS_REVOKED:
		return 3;
	}
	return 0;
}

/* Does a line with @revoked for this key concern k? */
static bool
revokes(const struct key *revoked, const struct key *k)
{
	const struct cert *c = key_cert(k);

	return key_same_identity(revoked, k) ||
	    (c != NULL && key_same_identity(revoked, c->ca));
}

static int
note_line(struct check *c, enum knownhosts_verdict v, unsigned number,
    const struct key *k)
{
	free(c->found->path);
	c->found->path = strdup(c->path);
	c->found->line = number;
	c->found->type = key_short_name(k);
	c->found->verdict = v;
	return c->found->path != NULL ? 0 : ERR_NOMEM;
}

static int
check_line(void *arg, const char *text, unsigned number,
    const struct knownhosts_line *line)
{
	struct check *c = arg;
	enum knownhosts_verdict v;

	(void)text;
	if (line == NULL) {
		log_debug("%s:%u: line is not understood", c->path, number);
		return 0;
	}
	if (line->key == NULL || line->marker == KNOWNHOSTS_CA)
		return 0;
	if (line->marker == KNOWNHOSTS_REVOKED) {
		if (!revokes(line->key, c->key))
			return 0;
		v = KNOWNHOSTS_IS_REVOKED;
	} else if (key_same_identity(line->key, c->key) &&
	    !key_is_cert(line->key)) {
		v = KNOWNHOSTS_OK;
	} else {
		v = KNOWNHOSTS_CHANGED;
	}
	if (rank(v) < rank(c->found->verdict) ||
	    (v == c->found->verdict && v != KNOWNHOSTS_CHANGED))
		return 0;
	return note_line(c, v, number, line->key);
}

static int
ca_line(void *arg, const char *text, unsigned number,
    const struct knownhosts_line *line)
{
	struct check *c = arg;

	(void)text;
	if (line == NULL || line->key == NULL ||
	    line->marker != KNOWNHOSTS_CA ||
	    c->found->verdict == KNOWNHOSTS_OK ||
	    (c->key != NULL && !key_equal_public(line->key, c->key)))
		return 0;
	return note_line(c, KNOWNHOSTS_OK, number, line->key);
}

/* Calls fn for the lines of c->name. A missing file counts as empty. A file
 * that cannot be read is an error, because it might revoke the key. */
static int
each_line_of_all(const struct knownhosts_places *places, struct check *c,
    knownhosts_line_fn fn, void *arg)
{
	struct knownhosts_lines lines;
	int r = 0;

	for (size_t i = 0; r == 0 && i < places->files->n; i++) {
		c->path = places->files->v[i];
		r = each_line_of_file(c->path, c->name, fn, arg);
		if (r == ERR_SYSTEM && (errno == ENOENT || errno == ENOTDIR))
			r = 0;
	}
	if (r != 0 || places->lines.len == 0)
		return r;
	c->path = places->lines_name;
	r = knownhosts_lines_begin(&lines, places->lines);
	if (r == 0)
		r = each_line(&lines, c->name, fn, arg);
	knownhosts_lines_close(&lines);
	return r;
}

static int
look_up(const struct knownhosts_places *places, const char *name,
    const struct key *k, knownhosts_line_fn fn,
    struct knownhosts_found *found)
{
	struct check c = { NULL, name, k, found };
	int r;

	*found = (struct knownhosts_found){ .verdict = KNOWNHOSTS_NEW };
	r = each_line_of_all(places, &c, fn, &c);
	if (r != 0)
		knownhosts_found_clear(found);
	return r;
}

int
knownhosts_check(const struct knownhosts_places *places, const char *name,
    const struct key *k, struct knownhosts_found *found)
{
	return look_up(places, name, k, check_line, found);
}

int
knownhosts_find_ca(const struct knownhosts_places *places, const char *name,
    const struct key *ca, struct knownhosts_found *found)
{
	return look_up(places, name, ca, ca_line, found);
}

void
knownhosts_found_clear(struct knownhosts_found *f)
{
	free(f->path);
	*f = (struct knownhosts_found){ .verdict = KNOWNHOSTS_NEW };
}

struct types {
	struct check check;
	enum knownhosts_marker marker; /* lines with it count in this pass */
	struct strlist revoked;	       /* keys, as key_format_line has them */
	struct strlist *types;
};

static int
add_revoked(struct types *t, const char *key)
{
	return strlist_has(&t->revoked, key) ? 0 :
					       strlist_add(&t->revoked, key);
}

static int
add_type(struct types *t, const char *key, const char *type)
{
	if (strlist_has(&t->revoked, key) || strlist_has(t->types, type))
		return 0;
	return strlist_add(t->types, type);
}

static int
types_line(void *arg, const char *text, unsigned number,
    const struct knownhosts_line *line)
{
	struct types *t = arg;
	struct buf b = { 0 };
	char *key = NULL;
	int r;

	(void)text;
	(void)number;
	if (line == NULL || line->key == NULL || line->marker != t->marker ||
	    (t->marker == KNOWNHOSTS_NONE && key_is_cert(line->key)))
		return 0;
	r = key_format_line(line->key, NULL, &b);
	if (r == 0 && (key = buf_dup_string(&b)) == NULL)
		r = ERR_NOMEM;
	if (r == 0)
		r = t->marker == KNOWNHOSTS_REVOKED ?
		    add_revoked(t, key) :
		    add_type(t, key, key_type(line->key));
	free(key);
	buf_clear(&b);
	return r;
}

int
knownhosts_types(const struct knownhosts_places *places, const char *name,
    struct strlist *types)
{
	struct types t = { { .name = name }, KNOWNHOSTS_REVOKED, { 0 }, types };
	int r;

	r = each_line_of_all(places, &t.check, types_line, &t);
	t.marker = KNOWNHOSTS_NONE;
	if (r == 0)
		r = each_line_of_all(places, &t.check, types_line, &t);
	strlist_clear(&t.revoked);
	return r;
}

/* Adding. */

/* Can this name be written as the first field of a line? It must not hold what
 * would begin another field or line, a comment or a marker, and must not be a
 * list or pattern, which would name other hosts as well. */
static bool
name_ok(const char *name)
{
	for (const char *s = name; *s != '\0'; s++)
		if (iscntrl((unsigned char)*s) || strchr(" ,*?!|", *s) != NULL)
			return false;
	return *name != '\0' && *name != '#' && *name != '@';
}

int
knownhosts_format(const char *name, const struct key *k, bool hash,
    struct buf *out)
{
	char *host = hash ? knownhosts_hash(name) : lower_case(name);
	int r = 0;

	if (host == NULL)
		return ERR_NOMEM;
	if (!name_ok(name))
		r = ERR_ARGUMENT;
	if (r == 0) {
		buf_printf(out, "%s ", host);
		r = key_format_line(key_identity(k), NULL, out);
	}
	buf_put_u8(out, '\n');
	free(host);
	return r != 0 ? r : buf_err(out);
}

int
knownhosts_add(const char *path, const char *name, const struct key *k,
    bool hash)
{
	struct buf text = { 0 };
	int r = knownhosts_format(name, k, hash, &text);

	if (r == 0)
		r = knownhosts_append(path,
		    (struct span){ buf_data(&text), buf_len(&text) });
	buf_clear(&text);
	return r;
}
