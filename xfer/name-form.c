/* SPDX-License-Identifier: ISC */
#include "xfer/name-form.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "xfer/name-form-table.h"

/* Hangul: a syllable is 588 times a first letter, 28 times a vowel, and a last
 * letter, which may be missing (Unicode, section 3.12). */
enum {
	SYLLABLE = 0xac00,
	SYLLABLES = 11172,
	FIRST = 0x1100,
	VOWEL = 0x1161,
	FINAL = 0x11a7,
	VOWELS = 21,
	FINALS = 28,
};

enum {
	PARTS_MAX = 4, /* of one code point, by the table */
	NAME_MAX_BYTES = 1024, /* no file system has longer ones */
};

/* Above a code point, its class as a mark; or that it is a byte which is no
 * UTF-8. */
#define CLASS_SHIFT 22
#define CODE_MASK 0x1fffffu
#define RAW 0x80000000u

/* A name as code points. */
struct codes {
	uint32_t *v; /* owned */
	size_t n;
};

bool
name_is_ascii(const char *name)
{
	while (*name != '\0' && (*name & 0x80) == 0)
		name++;
	return *name == '\0';
}

/* ---- what the tables say ------------------------------------------------ */

static uint32_t
small(uint32_t code)
{
	if (code < 0x80)
		return code >= 'A' && code <= 'Z' ? code + ('a' - 'A') : code;
	for (size_t i = 0; i < ARRAY_LEN(form_smalls); i++) {
		const struct form_small *s = &form_smalls[i];

		if (code >= s->first && code <= s->last &&
		    (code - s->first) % s->step == 0)
			return (uint32_t)((int32_t)code + s->distance);
	}
	return code;
}

/* The class of a mark; 0: code is no mark. */
static unsigned
class_of(uint32_t code)
{
	for (size_t i = 0; code >= 0x300 && i < ARRAY_LEN(form_classes); i++) {
		const struct form_class *c = &form_classes[i];

		if (code >= c->first && code <= c->last &&
		    (code - c->first) % c->step == 0)
			return c->value;
	}
	return 0;
}

static const struct form_parts *
parts_of(uint32_t code)
{
	size_t low = 0, high = ARRAY_LEN(form_parts), i;

	while (low < high) {
		i = low + (high - low) / 2;
		if (form_parts[i].whole == code)
			return &form_parts[i];
		if (form_parts[i].whole < code)
			low = i + 1;
		else
			high = i;
	}
	return NULL;
}

/* ---- folding ------------------------------------------------------------ */

static void
add_hangul(struct codes *c, uint32_t code)
{
	uint32_t i = code - SYLLABLE;

	c->v[c->n++] = FIRST + i / (VOWELS * FINALS);
	c->v[c->n++] = VOWEL + i % (VOWELS * FINALS) / FINALS;
	if (i % FINALS != 0)
		c->v[c->n++] = FINAL + i % FINALS;
}

/* Adds the parts of code, the first of which may have parts as well. */
static void
add_parts(struct codes *c, uint32_t code)
{
	uint32_t marks[PARTS_MAX];
	const struct form_parts *p;
	size_t n = 0;

	if (code >= SYLLABLE && code < SYLLABLE + SYLLABLES) {
		add_hangul(c, code);
		return;
	}
	while (n < PARTS_MAX - 1 && (p = parts_of(code)) != NULL) {
		code = p->first;
		if (p->second != 0)
			marks[n++] = p->second;
	}
	c->v[c->n++] = code;
	while (n > 0)
		c->v[c->n++] = marks[--n];
}

/* Marks on one letter are put in the order of their classes. Those of one class
 * keep theirs, since that is seen. */
static void
sort_marks(struct codes *c)
{
	for (size_t i = 0; i < c->n; i++) {
		uint32_t code = c->v[i] | class_of(c->v[i]) << CLASS_SHIFT;
		uint32_t class = code >> CLASS_SHIFT;
		size_t to = i;

		while (class != 0 && (code & RAW) == 0 && to > 0 &&
		    (c->v[to - 1] & RAW) == 0 &&
		    c->v[to - 1] >> CLASS_SHIFT > class) {
			c->v[to] = c->v[to - 1];
			to--;
		}
		c->v[to] = code;
	}
}

static bool
read_codes(struct codes *c, const char *name, unsigned ways)
{
	uint32_t code;
	size_t len;

	c->n = 0;
	c->v = calloc(strlen(name) + 1, PARTS_MAX * sizeof *c->v);
	if (c->v == NULL)
		return false;
	for (; *name != '\0'; name += len) {
		len = str_utf8_len(name, &code);
		if (len == 0) {
			code = RAW | (unsigned char)*name;
			len = 1;
		}
		if (ways & NAME_FORM)
			add_parts(c, code);
		else
			c->v[c->n++] = code;
	}
	if (ways & NAME_FORM)
		sort_marks(c);
	for (size_t i = 0; i < c->n; i++)
		if ((c->v[i] & RAW) == 0)
			c->v[i] = ways & NAME_CASE ?
			    small(c->v[i] & CODE_MASK) : c->v[i] & CODE_MASK;
	return true;
}

static char *
put_code(char *out, uint32_t code)
{
	if ((code & RAW) || code < 0x80) {
		*out++ = (char)(code & 0xff);
		return out;
	}
	if (code < 0x800) {
		*out++ = (char)(0xc0 | code >> 6);
	} else if (code < 0x10000) {
		*out++ = (char)(0xe0 | code >> 12);
		*out++ = (char)(0x80 | (code >> 6 & 0x3f));
	} else {
		*out++ = (char)(0xf0 | code >> 18);
		*out++ = (char)(0x80 | (code >> 12 & 0x3f));
		*out++ = (char)(0x80 | (code >> 6 & 0x3f));
	}
	*out++ = (char)(0x80 | (code & 0x3f));
	return out;
}

static char *
fold_ascii(const char *name, unsigned ways)
{
	char *out = strdup(name);

	for (char *p = out; p != NULL && (ways & NAME_CASE) && *p != '\0'; p++)
		*p = (char)small((unsigned char)*p);
	return out;
}

char *
name_fold(const char *name, unsigned ways)
{
	struct codes c;
	char *out, *end;

	if (name_is_ascii(name) || strlen(name) > NAME_MAX_BYTES)
		return fold_ascii(name, ways);
	if (!read_codes(&c, name, ways))
		return NULL;
	out = malloc(4 * c.n + 1);
	if (out != NULL) {
		end = out;
		for (size_t i = 0; i < c.n; i++)
			end = put_code(end, c.v[i]);
		*end = '\0';
	}
	free(c.v);
	return out;
}

static bool
are_one(const char *a, const char *b, unsigned ways)
{
	char *fa = name_fold(a, ways), *fb = name_fold(b, ways);
	bool one = fa != NULL && fb != NULL && strcmp(fa, fb) == 0;

	free(fa);
	free(fb);
	return one;
}

unsigned
name_ways_of(const char *a, const char *b)
{
	static const unsigned ways[] = { NAME_CASE, NAME_FORM,
		NAME_CASE | NAME_FORM };

	for (size_t i = 0; i < ARRAY_LEN(ways) && strcmp(a, b) != 0; i++)
		if (are_one(a, b, ways[i]))
			return ways[i];
	return 0;
}
