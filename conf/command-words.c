/* SPDX-License-Identifier: ISC */
#include "conf/command-words.h"

#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\r\f\v";

static bool
is_escape(const char *s, char quote)
{
	if (s[0] != '\\' || s[1] == '\0')
		return false;
	return strchr("\"'\\", s[1]) != NULL || (quote == '\0' && s[1] == ' ');
}

int
command_word(const char **s, char *out)
{
	const char *p = *s;
	char quote = '\0';

	for (; *p != '\0'; p++) {
		if (quote == '\0' && strchr(blanks, *p) != NULL)
			break;
		if (is_escape(p, quote))
			*out++ = *++p;
		else if (quote == '\0' && (*p == '"' || *p == '\''))
			quote = *p;
		else if (quote != '\0' && *p == quote)
			quote = '\0';
		else
			*out++ = *p;
	}
	*out = '\0';
	*s = p;
	return quote == '\0' ? 0 : ERR_SYNTAX;
}

int
command_words(const char *text, struct strlist *words)
{
	char *word = malloc(strlen(text) + 1);
	int r = word != NULL ? 0 : ERR_NOMEM;

	while (r == 0) {
		text += strspn(text, blanks);
		if (*text == '\0')
			break;
		r = words->n < COMMAND_WORDS_MAX ? command_word(&text, word) :
						   ERR_LIMIT;
		if (r == 0)
			r = strlist_add(words, word);
	}
	free(word);
	return r;
}
