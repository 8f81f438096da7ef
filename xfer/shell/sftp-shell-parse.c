/* SPDX-License-Identifier: ISC */
/*
 * Words of a command line. Outside of quotes the character behind a '\' is an
 * ordinary one. Within "" this is so only for '"' and '\', within '' only for
 * "'" and '\'; before other characters '\' is an ordinary character. A '#' at
 * the beginning of a word begins a comment.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "xfer/shell/sftp-shell-internal.h"

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Characters that have a meaning in patterns. */
static bool
is_magic(char c)
{
	return c == '*' || c == '?' || c == '[' || c == ']' || c == '\\';
}

/* A word under construction. */
struct draft {
	struct buf text, pattern;
};

static void
add(struct draft *d, char c, bool quoted)
{
	buf_put_u8(&d->text, (uint8_t)c);
	if (quoted && is_magic(c))
		buf_put_u8(&d->pattern, '\\');
	buf_put_u8(&d->pattern, (uint8_t)c);
}

/* Reads one word that begins at p into d. Returns its end; *quote is the quote
 * that is still open there, or 0. */
static const char *
take_word(const char *p, struct draft *d, char *quote)
{
	*quote = '\0';
	for (; *p != '\0'; p++) {
		if (*quote == '\0' && is_blank(*p))
			break;
		if (*quote == '\0' && (*p == '"' || *p == '\'')) {
			*quote = *p;
		} else if (*quote != '\0' && *p == *quote) {
			*quote = '\0';
		} else if (*p == '\\' &&
		    (*quote == '\0' || p[1] == *quote || p[1] == '\\')) {
			if (p[1] != '\0')
				add(d, *++p, true);
		} else {
			add(d, *p, *quote != '\0');
		}
	}
	return p;
}

static int
keep(struct shell_words *words, struct draft *d)
{
	struct shell_word *w = &words->v[words->n];

	buf_put_u8(&d->text, '\0');
	buf_put_u8(&d->pattern, '\0');
	if (buf_err(&d->text) < 0 || buf_err(&d->pattern) < 0)
		return ERR_NOMEM;
	w->text = strdup((const char *)buf_data(&d->text));
	w->pattern = strdup((const char *)buf_data(&d->pattern));
	words->n++;
	return w->text != NULL && w->pattern != NULL ? 0 : ERR_NOMEM;
}

int
shell_split(const char *line, struct shell_words *words)
{
	const char *p = line;
	struct draft d;
	int r;

	*words = (struct shell_words){ .n = 0 };
	for (;;) {
		words->open = false;
		while (is_blank(*p))
			p++;
		if (*p == '\0' || *p == '#')
			return 0;
		if (words->n == SHELL_WORDS_MAX)
			return ERR_LIMIT;
		buf_init(&d.text);
		buf_init(&d.pattern);
		p = take_word(p, &d, &words->quote);
		r = keep(words, &d);
		buf_clear(&d.text);
		buf_clear(&d.pattern);
		if (r < 0)
			return r;
		words->open = *p == '\0';
		if (words->quote != '\0')
			return ERR_SYNTAX;
		if (words->open)
			return 0;
	}
}

void
shell_words_clear(struct shell_words *words)
{
	for (size_t i = 0; i < words->n; i++) {
		free(words->v[i].text);
		free(words->v[i].pattern);
	}
	words->n = 0;
}

/* Puts a backslash before each character that needs one. */
static char *
escape(const char *text, bool (*needs)(char c, char quote), char quote)
{
	char *out = malloc(2 * strlen(text) + 1), *to = out;

	if (out == NULL)
		return NULL;
	for (; *text != '\0'; text++) {
		if (needs(*text, quote))
			*to++ = '\\';
		*to++ = *text;
	}
	*to = '\0';
	return out;
}

static bool
needs_for_glob(char c, char quote)
{
	(void)quote;
	return is_magic(c);
}

static bool
needs_for_word(char c, char quote)
{
	if (quote != '\0')
		return c == quote || c == '\\';
	return is_blank(c) || is_magic(c) || c == '"' || c == '\'' ||
	    c == '#';
}

char *
shell_escape_glob(const char *text)
{
	return escape(text, needs_for_glob, '\0');
}

char *
shell_escape_word(const char *text, char quote)
{
	return escape(text, needs_for_word, quote);
}
