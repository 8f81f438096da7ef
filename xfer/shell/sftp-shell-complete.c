/* SPDX-License-Identifier: ISC */
/* Completion of what is being typed: commands, and names on both sides. */
#include <sys/stat.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "xfer/sftp/remote-glob.h"
#include "xfer/shell/sftp-shell-internal.h"

void
shell_completion_clear(struct shell_completion *c)
{
	free(c->insert);
	c->insert = NULL;
	strlist_clear(&c->choices);
}

void
shell_show_choices(const struct shell_completion *c)
{
	putchar('\n');
	(void)!shell_print_names(&c->choices);
}

static const char *
last_part(const char *path)
{
	size_t len = strlen(path);

	/* A directory's own slash at the end is part of its name. */
	while (len > 1 && path[len - 1] == '/')
		len--;
	while (len > 0 && path[len - 1] != '/')
		len--;
	return path + len;
}

/*
 * Sets *out. found has all words that begin with what was typed; directories
 * end with '/'. The beginning that all of them share is inserted. A single word
 * is completed with its quote and a space, unless it is a directory.
 */
static int
conclude(struct shell_completion *out, const struct strlist *found,
    const char *typed, char quote)
{
	size_t common, skip = strlen(typed);
	const char *first;
	char *more, *insert, end[3] = "";
	int r = 0;

	if (found->n == 0)
		return 0;
	first = found->v[0];
	common = strlen(first);
	for (size_t i = 1; i < found->n; i++)
		for (size_t k = 0; k < common; k++)
			if (found->v[i][k] != first[k])
				common = k;
	/* Do not end in the middle of a character of UTF-8. */
	while (common < strlen(first) && common > skip &&
	    ((unsigned char)first[common] & 0xc0) == 0x80)
		common--;
	if (found->n == 1 && (common == 0 || first[common - 1] != '/')) {
		if (quote != '\0')
			end[0] = quote;
		strcat(end, " ");
	}
	more = strndup(first + MIN(skip, common), common - MIN(skip, common));
	insert = more != NULL ? shell_escape_word(more, quote) : NULL;
	free(more);
	if (insert == NULL)
		return ERR_NOMEM;
	out->insert = malloc(strlen(insert) + sizeof end);
	if (out->insert != NULL) {
		strcpy(out->insert, insert);
		strcat(out->insert, end);
	}
	free(insert);
	for (size_t i = 0; i < found->n && found->n > 1 && r == 0; i++)
		r = strlist_add(&out->choices, last_part(found->v[i]));
	return out->insert != NULL ? r : ERR_NOMEM;
}

static int
add_commands(struct strlist *found, const char *typed)
{
	const struct shell_command *c;
	int r = 0;

	for (c = shell_commands; c->name != NULL && r == 0; c++)
		if (str_has_prefix(c->name, typed))
			r = strlist_add(found, c->name);
	return r;
}

/* Adds name, with a slash for a directory. */
static int
add_name(struct strlist *found, const char *name, bool is_dir)
{
	char *whole;
	int r;

	if (!is_dir)
		return strlist_add(found, name);
	whole = str_join_path(name, "");
	if (whole == NULL)
		return ERR_NOMEM;
	r = strlist_add(found, whole);
	free(whole);
	return r;
}

static int
add_local(struct strlist *found, const char *pattern)
{
	struct stat st;
	glob_t g;
	int r = 0;

	if (glob(pattern, 0, NULL, &g) != 0)
		return 0;
	for (size_t i = 0; i < g.gl_pathc && r == 0; i++)
		r = add_name(found, g.gl_pathv[i],
		    stat(g.gl_pathv[i], &st) == 0 && S_ISDIR(st.st_mode));
	globfree(&g);
	return r;
}

static int
add_remote(struct shell *sh, struct strlist *found, const char *pattern,
    const char *typed)
{
	char *whole = shell_absolute_pattern(sh, pattern);
	struct strlist names = { NULL, 0 };
	struct sftp_attrs *attrs;
	int *statuses;
	int r = whole != NULL ? remote_glob(sh->s, whole, &names) : ERR_NOMEM;

	attrs = calloc(names.n + 1, sizeof *attrs);
	statuses = calloc(names.n + 1, sizeof *statuses);
	if (attrs == NULL || statuses == NULL)
		r = ERR_NOMEM;
	if (r >= 0)
		r = shell_stat_all(sh, &names, attrs, statuses);
	for (size_t i = 0; i < names.n && r == 0; i++)
		r = add_name(found, shell_display_name(sh, names.v[i], typed),
		    statuses[i] == 0 && S_ISDIR(attrs[i].mode));
	free(whole);
	free(attrs);
	free(statuses);
	strlist_clear(&names);
	return r;
}

/* What the word that is to be completed may name: local or remote files. at is
 * that word's index in words, or words->n if nothing of it is typed yet. */
static enum shell_complete_kind
kind_of(const struct shell_words *words, size_t at)
{
	const char *name = words->v[0].text;
	const struct shell_command *c;
	size_t path = 0;

	while (*name == '-' || *name == '@')
		name++;
	c = shell_command_find(*name == '!' ? "!" : name);
	if (c == NULL)
		return SHELL_NOTHING;
	for (size_t i = 1; i < at; i++)
		path += words->v[i].text[0] != '-';
	if (c->number_base != 0 && path-- == 0)
		return SHELL_NOTHING;
	return c->complete[MIN(path, (size_t)1)];
}

int
shell_complete(struct shell *sh, const char *line,
    struct shell_completion *out)
{
	struct shell_words words;
	struct strlist found = { NULL, 0 };
	enum shell_complete_kind kind;
	const char *typed = "";
	char *escaped = NULL, *pattern = NULL;
	size_t at;
	int r = shell_split(line, &words);

	*out = (struct shell_completion){ .insert = NULL };
	if (r < 0 && r != ERR_SYNTAX)
		goto out;
	at = words.open ? words.n - 1 : words.n;
	if (words.open)
		typed = words.v[at].text;
	if (at == 0) {
		r = add_commands(&found, typed);
	} else {
		kind = kind_of(&words, at);
		escaped = shell_escape_glob(typed);
		if (escaped == NULL ||
		    asprintf(&pattern, "%s*", escaped) < 0) {
			r = ERR_NOMEM;
			goto out;
		}
		r = kind == SHELL_LOCAL ? add_local(&found, pattern) :
		    kind == SHELL_REMOTE ?
		    add_remote(sh, &found, pattern, typed) : 0;
	}
	if (r == 0)
		r = conclude(out, &found, typed, words.quote);
out:
	free(escaped);
	free(pattern);
	strlist_clear(&found);
	shell_words_clear(&words);
	return r;
}
