/* SPDX-License-Identifier: ISC */
/* Reading files, lines and words of configurations, whatever the keywords. */
#include "conf/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "conf/command-words.h"
#include "conf/tokens.h"

enum { FAULTS_MAX = 20 }; /* errors; then reading ends */

static const char blanks[] = " \t\r\f\v";

/* ---- lines -------------------------------------------------------------- */

int
conf_line_split(struct conf_line *line, const char *text,
    const struct conf_location *at)
{
	size_t len;

	line->keyword = line->rest = NULL;
	text += strspn(text, blanks);
	if (*text == '\0' || *text == '#')
		return 0;
	len = strcspn(text, " \t\r\f\v=\"");
	if (len == 0)
		return conf_error(at, "a line begins with a keyword");
	line->keyword = xstrndup(text, len);
	text += len;
	text += strspn(text, blanks);
	if (*text == '=')
		text++;
	text += strspn(text, blanks);
	len = strlen(text);
	while (len > 0 && strchr(blanks, text[len - 1]) != NULL)
		len--;
	line->rest = xstrndup(text, len);
	return 0;
}

void
conf_line_clear(struct conf_line *line)
{
	free(line->keyword);
	free(line->rest);
	line->keyword = line->rest = NULL;
}

int
conf_words(const char *rest, struct strlist *words,
    const struct conf_location *at)
{
	char *word = xmalloc(strlen(rest) + 1);
	int r = 0;

	for (;;) {
		rest += strspn(rest, blanks);
		if (*rest == '\0' || *rest == '#')
			break;
		if (words->n >= CONF_WORDS_MAX) {
			r = conf_error(at, "too many words");
			break;
		}
		if ((r = command_word(&rest, word)) != 0) {
			r = conf_error(at, "a quote is not closed");
			break;
		}
		if ((r = strlist_add(words, word)) < 0)
			break;
	}
	free(word);
	return r;
}

/* ---- files -------------------------------------------------------------- */

static int
check_owner(int fd, const char *path, enum conf_writers writers)
{
	const bool users = writers == CONF_BY_USER_OR_ROOT;
	struct stat st;

	if (fstat(fd, &st) == -1) {
		log_error("%s: %s", path, strerror(errno));
		return ERR_SYSTEM;
	}
	if ((st.st_uid != 0 && !(users && st.st_uid == getuid())) ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		log_error("Bad owner or permissions on %s", path);
		return ERR_PERMISSION;
	}
	return 0;
}

static int
read_whole(const char *path, enum conf_writers writers, struct buf *out)
{
	int fd, r = 0;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd == -1) {
		if (errno == ENOENT || errno == ENOTDIR)
			return ERR_NOT_FOUND;
		log_error("%s: %s", path, strerror(errno));
		return ERR_SYSTEM;
	}
	if (writers != CONF_BY_ANYONE)
		r = check_owner(fd, path, writers);
	if (r == 0) {
		r = fd_read_file(fd, out, CONF_FILE_MAX);
		if (r < 0)
			log_error("%s: %s", path, err_text(r));
	}
	fd_close(&fd);
	return r < 0 ? r : 0;
}

/* Splits the line of len bytes at p and calls fn for it. */
static int
one_line(const char *p, size_t len, conf_line_fn fn, void *arg,
    const struct conf_location *at)
{
	struct conf_line line;
	char *text;
	int r;

	if (len > CONF_LINE_MAX)
		return conf_error(at, "line is too long");
	if (memchr(p, '\0', len) != NULL)
		return conf_error(at, "line holds a zero byte");
	text = xstrndup(p, len);
	r = conf_line_split(&line, text, at);
	if (r == 0 && line.keyword != NULL)
		r = fn(arg, &line, at);
	conf_line_clear(&line);
	free(text);
	return r;
}

static int
each_line(const char *path, const struct buf *content, conf_line_fn fn,
    void *arg)
{
	struct conf_location at = { .file = path };
	const char *p = (const char *)buf_data(content);
	const char *end = p + buf_len(content), *newline;
	unsigned faults = 0;
	int r, first = 0;

	while (p < end && faults < FAULTS_MAX) {
		newline = memchr(p, '\n', (size_t)(end - p));
		if (newline == NULL)
			newline = end;
		at.line++;
		r = one_line(p, (size_t)(newline - p), fn, arg, &at);
		if (r == ERR_CANCELLED) /* reported already, for all files */
			return r;
		if (r < 0) {
			faults++;
			if (first == 0)
				first = r;
		}
		p = newline < end ? newline + 1 : end;
	}
	if (faults > 0)
		log_error("%s: terminating, %u bad configuration options",
		    path, faults);
	return first;
}

int
conf_too_deep(const struct conf_location *at)
{
	(void)conf_error(at, "Include: nested too deeply");
	return ERR_CANCELLED;
}

int
conf_read(const char *path, enum conf_writers writers, conf_line_fn fn,
    void *arg)
{
	struct buf content;
	int r;

	buf_init(&content);
	r = read_whole(path, writers, &content);
	if (r == 0)
		r = each_line(path, &content, fn, arg);
	buf_clear(&content);
	return r;
}

static int
add_matches(const char *pattern, struct strlist *paths,
    const struct conf_location *at)
{
	glob_t found;
	int r = 0, g;

	memset(&found, 0, sizeof found);
	g = glob(pattern, 0, NULL, &found);
	if (g == 0) {
		for (size_t i = 0; r == 0 && i < found.gl_pathc; i++)
			r = strlist_add(paths, found.gl_pathv[i]);
	} else if (g != GLOB_NOMATCH) {
		r = conf_error(at, "Include: cannot look for %s", pattern);
	}
	globfree(&found);
	return r;
}

int
conf_include_paths(const struct strlist *words, const char *dir,
    struct strlist *paths, const struct conf_location *at)
{
	char *home, *full;
	int r = 0;

	for (size_t i = 0; r == 0 && i < words->n; i++) {
		if (words->v[i][0] == '\0')
			return conf_error(at, "Include: empty file name");
		r = tokens_expand_tilde(words->v[i], NULL, &home);
		if (r < 0)
			return conf_error(at, "Include: no such user in %s",
			    words->v[i]);
		if (home[0] == '/')
			full = xstrdup(home);
		else
			xasprintf(&full, "%s/%s", dir, home);
		r = add_matches(full, paths, at);
		free(home);
		free(full);
	}
	return r;
}
