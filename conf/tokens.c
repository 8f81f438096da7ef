/* SPDX-License-Identifier: ISC */
#include "conf/tokens.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own-account.h"

static int
finish(struct buf *b, int r, char **out)
{
	if (r == 0)
		r = buf_err(b);
	if (r == 0 && (*out = buf_dup_string(b)) == NULL)
		r = ERR_NOMEM;
	buf_clear(b);
	return r;
}

static const struct token *
find_token(const struct token *tokens, size_t n, char letter)
{
	for (size_t i = 0; i < n; i++)
		if (tokens[i].letter == letter)
			return &tokens[i];
	return NULL;
}

/* Appends the value of the token at *text and moves *text behind it. *bad: the
 * unknown letter, if it fails. */
static int
put_token(struct buf *b, const char **text, const struct token *tokens,
    size_t n, char *bad)
{
	const struct token *t;
	char letter = (*text)[1];

	if (letter == '%') {
		buf_put_u8(b, '%');
	} else if (letter == '\0' ||
	    (t = find_token(tokens, n, letter)) == NULL) {
		*bad = letter;
		return ERR_SYNTAX;
	} else if (t->value != NULL) {
		buf_put(b, t->value, strlen(t->value));
	}
	*text += 2;
	return 0;
}

/* Appends the value of the variable ${NAME} at *text and moves *text behind it.
 * *bad is '$' if it fails. */
static int
put_variable(struct buf *b, const char **text, char *bad)
{
	const char *start = *text + 2, *end = strchr(start, '}'), *value;
	char *name;

	*bad = '$';
	if (end == NULL || end == start)
		return ERR_SYNTAX;
	name = strndup(start, (size_t)(end - start));
	if (name == NULL)
		return ERR_NOMEM;
	value = getenv(name);
	free(name);
	if (value == NULL)
		return ERR_NOT_FOUND;
	buf_put(b, value, strlen(value));
	*text = end + 1;
	return 0;
}

static int
expand(const char *text, bool percent, const struct token *tokens, size_t n,
    bool env, char **out, char *bad)
{
	struct buf b;
	int r = 0;

	*out = NULL;
	*bad = '\0';
	buf_init(&b);
	buf_set_max(&b, TOKENS_MAX);
	while (r == 0 && *text != '\0') {
		if (percent && *text == '%')
			r = put_token(&b, &text, tokens, n, bad);
		else if (env && text[0] == '$' && text[1] == '{')
			r = put_variable(&b, &text, bad);
		else
			buf_put_u8(&b, (uint8_t)*text++);
	}
	return finish(&b, r, out);
}

int
tokens_expand(const char *text, const struct token *tokens, size_t n,
    char **out, char *bad)
{
	return expand(text, true, tokens, n, false, out, bad);
}

int
tokens_expand_env(const char *text, const struct token *tokens, size_t n,
    char **out, char *bad)
{
	return expand(text, true, tokens, n, true, out, bad);
}

int
tokens_expand_variables(const char *text, char **out, char *bad)
{
	return expand(text, false, NULL, 0, true, out, bad);
}

int
tokens_expand_tilde(const char *path, const char *home, char **out)
{
	struct passwd *pw = NULL;
	struct buf b;
	size_t len;
	char *name;

	*out = NULL;
	buf_init(&b);
	if (*path == '~') {
		path++;
		len = strcspn(path, "/");
		if (len > 0) {
			if ((name = strndup(path, len)) == NULL)
				return ERR_NOMEM;
			pw = getpwnam(name);
			free(name);
		} else if (home == NULL) {
			home = own_account_home();
		}
		if (pw != NULL)
			home = pw->pw_dir;
		else if (len > 0 || home == NULL)
			return ERR_NOT_FOUND;
		path += len;
		len = strlen(home);
		buf_put(&b, home, len);
		/* A home directory ends with a slash, as OpenSSH writes it:
		 * scripts compare. */
		if (*path == '\0' && (len == 0 || home[len - 1] != '/'))
			buf_put_u8(&b, '/');
	}
	buf_put(&b, path, strlen(path));
	return finish(&b, 0, out);
}
