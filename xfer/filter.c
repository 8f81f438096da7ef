/* SPDX-License-Identifier: ISC */
/*
 * DESIGN. A pattern becomes a row of steps. A path is matched by going over its
 * bytes once, with the set of all steps that may come next. So no pattern can
 * make the matcher go back in the path.
 */
#include "xfer/filter.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "compat/bsd-mem.h"

enum token {
	TOKEN_BYTE,  /* the byte `byte` */
	TOKEN_ONE,   /* any byte but a slash */
	TOKEN_NAME,  /* any number of bytes but slashes */
	TOKEN_DEEP,  /* any number of any bytes */
	TOKEN_CLASS, /* one byte of a set */
};

struct set {
	uint8_t bits[32];
};

struct step {
	uint8_t token, byte;
	uint16_t set; /* index in sets of the rule */
};

struct rule {
	bool exclude, anchored, whole, dirs_only;
	bool tree; /* matches a directory, and all that is in it */
	struct step *steps; /* owned */
	size_t count;
	struct set *sets; /* owned */
	size_t sets_count;
};

struct filter {
	struct rule *rules; /* owned */
	size_t count, cap, bytes;
};

struct filter *
filter_new(void)
{
	return calloc(1, sizeof(struct filter));
}

static void
rule_clear(struct rule *r)
{
	free(r->steps);
	free(r->sets);
}

void
filter_free(struct filter *f)
{
	if (f == NULL)
		return;
	for (size_t i = 0; i < f->count; i++)
		rule_clear(&f->rules[i]);
	free(f->rules);
	free(f);
}

/* ---- patterns ----------------------------------------------------------- */

static void
set_add(struct set *s, unsigned from, unsigned to)
{
	for (; from <= to; from++)
		s->bits[from / 8] |= (uint8_t)(1u << from % 8);
}

static bool
set_has(const struct set *s, uint8_t byte)
{
	return (s->bits[byte / 8] >> byte % 8 & 1) != 0;
}

static bool
in_named(const char *name, size_t len, int c)
{
	static const struct {
		const char *name;
		int (*has)(int c);
	} classes[] = { { "alnum", isalnum }, { "alpha", isalpha },
		{ "blank", isblank }, { "cntrl", iscntrl },
		{ "digit", isdigit }, { "graph", isgraph },
		{ "lower", islower }, { "print", isprint },
		{ "punct", ispunct }, { "space", isspace },
		{ "upper", isupper }, { "xdigit", isxdigit } };

	for (size_t i = 0; i < ARRAY_LEN(classes); i++)
		if (strlen(classes[i].name) == len &&
		    memcmp(classes[i].name, name, len) == 0)
			return c < 128 && classes[i].has(c) != 0;
	return false;
}

/* Reads a class like [:digit:] at p. Returns what is behind it; NULL: there is
 * no class at p. */
static const char *
named_class(struct set *s, const char *p)
{
	const char *end = p[1] == ':' ? strstr(p + 2, ":]") : NULL;

	if (end == NULL)
		return NULL;
	for (int c = 0; c < 128; c++)
		if (in_named(p + 2, (size_t)(end - p - 2), c))
			set_add(s, (unsigned)c, (unsigned)c);
	return end + 2;
}

/* Reads one byte of a set, which may be escaped. */
static uint8_t
set_byte(const char **p)
{
	if (**p == '\\' && (*p)[1] != '\0')
		(*p)++;
	return (uint8_t)*(*p)++;
}

/* Reads the set whose "[" is before p. Returns what is behind it; NULL: it has
 * no end. */
static const char *
parse_set(struct set *s, const char *p)
{
	bool not = *p == '!' || *p == '^', first = true;
	const char *after;
	uint8_t from, to;

	*s = (struct set){ .bits = { 0 } };
	p += not ? 1 : 0;
	for (; *p != '\0' && (first || *p != ']'); first = false) {
		if (*p == '[' && (after = named_class(s, p)) != NULL) {
			p = after;
			continue;
		}
		from = to = set_byte(&p);
		if (*p == '-' && p[1] != ']' && p[1] != '\0') {
			p++;
			to = set_byte(&p);
		}
		if (from <= to)
			set_add(s, from, to);
	}
	if (*p == '\0')
		return NULL;
	for (size_t i = 0; not && i < sizeof s->bits; i++)
		s->bits[i] = (uint8_t)~s->bits[i];
	s->bits['/' / 8] &= (uint8_t)~(1u << '/' % 8);
	s->bits[0] &= (uint8_t)~1u;
	return p + 1;
}

/* Reads one token at p. Returns what is behind it; NULL: it is invalid. */
static const char *
parse_token(struct rule *r, const char *p, bool wild)
{
	struct step *step = &r->steps[r->count++];

	*step = (struct step){ .token = TOKEN_BYTE, .byte = (uint8_t)*p };
	switch (*p) {
	case '*':
		step->token = p[1] == '*' ? TOKEN_DEEP : TOKEN_NAME;
		return p + strspn(p, "*");
	case '?':
		step->token = TOKEN_ONE;
		return p + 1;
	case '[':
		step->token = TOKEN_CLASS;
		step->set = (uint16_t)r->sets_count;
		return parse_set(&r->sets[r->sets_count++], p + 1);
	case '\\':
		if (!wild || p[1] == '\0')
			return p + 1;
		step->byte = (uint8_t)p[1];
		return p + 2;
	default:
		return p + 1;
	}
}

static size_t
count_of(const char *p, char c)
{
	size_t n = 0;

	for (; *p != '\0'; p++)
		n += *p == c;
	return n;
}

/* Makes steps of a pattern. p: the pattern without the slashes before and
 * behind it, which r has noted. */
static int
compile(struct rule *r, const char *p)
{
	bool wild = strpbrk(p, "*?[") != NULL;
	size_t sets = count_of(p, '[');

	r->steps = calloc(strlen(p) + 1, sizeof *r->steps);
	r->sets = calloc(sets + 1, sizeof *r->sets);
	if (r->steps == NULL || r->sets == NULL)
		return ERR_NOMEM;
	while (*p != '\0')
		if ((p = parse_token(r, p, wild)) == NULL)
			return ERR_FORMAT;
	return 0;
}

static int
parse(struct rule *r, const char *pattern)
{
	size_t len;
	char *p;
	int err;

	r->anchored = *pattern == '/';
	p = strdup(pattern + r->anchored);
	if (p == NULL)
		return ERR_NOMEM;
	len = strlen(p);
	if (len > 4 && strcmp(p + len - 4, "/***") == 0) {
		r->tree = true;
		p[len -= 4] = '\0';
	} else if (len > 0 && p[len - 1] == '/') {
		r->dirs_only = true;
		p[--len] = '\0';
	}
	r->whole = r->anchored || strchr(p, '/') != NULL ||
	    strstr(p, "**") != NULL;
	err = len > 0 ? compile(r, p) : ERR_FORMAT;
	free(p);
	return err;
}

static int
make_room(struct filter *f)
{
	size_t cap = f->cap > 0 ? f->cap * 2 : 16;
	struct rule *grown;

	if (f->count < f->cap)
		return 0;
	grown = recallocarray(f->rules, f->cap, cap, sizeof *grown);
	if (grown == NULL)
		return ERR_NOMEM;
	f->rules = grown;
	f->cap = cap;
	return 0;
}

int
filter_add(struct filter *f, bool exclude, const char *pattern)
{
	size_t len = strlen(pattern);
	struct rule *r;
	int err;

	if (f->count == FILTER_RULES_MAX || len > FILTER_PATTERN_MAX ||
	    f->bytes + len > FILTER_BYTES_MAX)
		return ERR_LIMIT;
	if ((err = make_room(f)) < 0)
		return err;
	r = &f->rules[f->count];
	*r = (struct rule){ .exclude = exclude };
	err = parse(r, pattern);
	if (err < 0) {
		rule_clear(r);
		return err;
	}
	f->bytes += len;
	f->count++;
	return 0;
}

int
filter_add_wire(struct filter *f, const void *p, size_t len)
{
	const char *at = p, *end;
	int err;

	while (len > 0) {
		end = memchr(at, '\0', len);
		if (end == NULL || (*at != '+' && *at != '-'))
			return ERR_FORMAT;
		if ((err = filter_add(f, *at == '-', at + 1)) < 0)
			return err;
		len -= (size_t)(end + 1 - at);
		at = end + 1;
	}
	return 0;
}

/* ---- matching ----------------------------------------------------------- */

/* Adds step i to the set of steps that may come next. Steps behind it are
 * added, too, as long as the step before them may match nothing. */
static void
put_state(const struct rule *r, uint8_t *states, size_t i)
{
	for (;; i++) {
		states[i] = 1;
		if (i == r->count || (r->steps[i].token != TOKEN_NAME &&
		    r->steps[i].token != TOKEN_DEEP))
			return;
	}
}

static bool
takes(const struct rule *r, const struct step *step, uint8_t c)
{
	switch ((enum token)step->token) {
	case TOKEN_BYTE:
		return c == step->byte;
	case TOKEN_CLASS:
		return set_has(&r->sets[step->set], c);
	case TOKEN_DEEP:
		return true;
	default:
		return c != '/';
	}
}

/* The set of steps that may come after the byte c. A step that may repeat stays
 * in it. */
static void
advance(const struct rule *r, const uint8_t *now, uint8_t *next, uint8_t c)
{
	memset(next, 0, r->count + 1);
	for (size_t i = 0; i < r->count; i++) {
		if (now[i] == 0 || !takes(r, &r->steps[i], c))
			continue;
		put_state(r, next, r->steps[i].token == TOKEN_NAME ||
		    r->steps[i].token == TOKEN_DEEP ? i : i + 1);
	}
}

/* Does the rule match path? A rule for a tree may also match a directory above
 * it. */
static bool
matches(const struct rule *r, const char *path, bool is_dir)
{
	uint8_t sets[2][FILTER_PATTERN_MAX + 1], *now = sets[0];
	uint8_t *next = sets[1], *other;

	memset(now, 0, r->count + 1);
	put_state(r, now, 0);
	if (!r->anchored && r->steps[0].token == TOKEN_DEEP) {
		advance(r, now, next, '/'); /* as if a slash were before the
					     * path */
		for (size_t i = 0; i <= r->count; i++)
			now[i] |= next[i];
	}
	for (; *path != '\0'; path++) {
		if (r->tree && *path == '/' && now[r->count] != 0)
			return true;
		advance(r, now, next, (uint8_t)*path);
		if (*path == '/' && !r->anchored)
			put_state(r, next, 0);
		other = now;
		now = next;
		next = other;
	}
	return now[r->count] != 0 && (is_dir || !r->tree);
}

static bool
rule_fits(const struct rule *r, const char *path, bool is_dir)
{
	const char *slash;

	if (r->dirs_only && !is_dir)
		return false;
	slash = r->whole || r->tree ? NULL : strrchr(path, '/');
	return matches(r, slash != NULL ? slash + 1 : path, is_dir);
}

bool
filter_excludes(const struct filter *f, const char *path, bool is_dir)
{
	for (size_t i = 0; i < f->count; i++)
		if (rule_fits(&f->rules[i], path, is_dir))
			return f->rules[i].exclude;
	return false;
}
