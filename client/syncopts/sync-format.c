/* SPDX-License-Identifier: ISC */
#include "client/syncopts/sync-format.h"

#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

/* ---- lines -------------------------------------------------------------- */

static void
add_text(struct buf *b, const char *text)
{
	buf_put(b, text, strlen(text));
}

static void
add_time(struct buf *b, time_t t, const char *form)
{
	struct tm tm;
	char text[64];

	if (localtime_r(&t, &tm) == NULL ||
	    strftime(text, sizeof text, form, &tm) == 0)
		snprintf(text, sizeof text, "%lld", (long long)t);
	add_text(b, text);
}

static void
add_mode(struct buf *b, uint32_t mode)
{
	static const char letters[] = "rwxrwxrwx";
	char text[10] = "---------";

	for (unsigned i = 0; i < 9; i++)
		if (mode & (0400u >> i))
			text[i] = letters[i];
	if (mode & 04000)
		text[2] = text[2] == 'x' ? 's' : 'S';
	if (mode & 02000)
		text[5] = text[5] == 'x' ? 's' : 'S';
	if (mode & 01000)
		text[8] = text[8] == 'x' ? 't' : 'T';
	add_text(b, text);
}

static void
add_number(struct buf *b, uint64_t n)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, n);
	add_text(b, text);
}

static bool
is_delete(const struct sync_format_item *i)
{
	return i->letters[0] == '*';
}

static void
add_letters(struct buf *b, const struct sync_format_item *i)
{
	add_text(b, i->letters);
}

static void
add_name(struct buf *b, const struct sync_format_item *i)
{
	char *shown = xstr_escape(i->path);

	add_text(b, shown);
	free(shown);
}

static void
add_link(struct buf *b, const struct sync_format_item *i)
{
	char *shown;

	bool is_link = i->source != NULL && i->source->kind == WALK_LINK;

	if (i->source == NULL || (!is_link && (i->letters[0] != 'h' ||
		*i->source->text == '\0')))
		return;
	shown = xstr_escape(i->source->text);
	add_text(b, is_link ? " -> " : " => ");
	add_text(b, shown);
	free(shown);
}

static void
add_size(struct buf *b, const struct sync_format_item *i)
{
	add_number(b, i->source != NULL ? i->source->size : 0);
}

static void
add_operation(struct buf *b, const struct sync_format_item *i)
{
	add_text(b, is_delete(i) ? "del." : i->up ? "send" : "recv");
}

static void
add_mtime(struct buf *b, const struct sync_format_item *i)
{
	add_time(b, i->source != NULL ? (time_t)i->source->mtime : 0,
	    "%Y/%m/%d-%H:%M:%S");
}

static void
add_now(struct buf *b, const struct sync_format_item *i)
{
	(void)i;
	add_time(b, time(NULL), "%Y/%m/%d %H:%M:%S");
}

static void
add_pid(struct buf *b, const struct sync_format_item *i)
{
	(void)i;
	add_number(b, (uint64_t)getpid());
}

static void
add_permissions(struct buf *b, const struct sync_format_item *i)
{
	add_mode(b, i->source != NULL ? i->source->mode : 0);
}

static void
add_user(struct buf *b, const struct sync_format_item *i)
{
	add_number(b, i->source != NULL ? i->source->uid : 0);
}

static void
add_group(struct buf *b, const struct sync_format_item *i)
{
	add_number(b, i->source != NULL ? i->source->gid : 0);
}

static const struct {
	char letter;
	void (*add)(struct buf *b, const struct sync_format_item *i);
} escapes[] = {
	{ 'i', add_letters },
	{ 'n', add_name },
	{ 'f', add_name },
	{ 'L', add_link },
	{ 'l', add_size },
	{ 'o', add_operation },
	{ 'M', add_mtime },
	{ 't', add_now },
	{ 'p', add_pid },
	{ 'B', add_permissions },
	{ 'U', add_user },
	{ 'G', add_group },
};

static size_t
escape_of(char letter)
{
	size_t i = 0;

	while (i < ARRAY_LEN(escapes) && escapes[i].letter != letter)
		i++;
	return i;
}

const char *
sync_format_check(const char *format)
{
	for (const char *p = format; (p = strchr(p, '%')) != NULL; p += 2)
		if (p[1] != '%' && escape_of(p[1]) == ARRAY_LEN(escapes))
			return "has a letter behind % that is not here: there "
			       "are %i %n %f %L %l %o %M %t %p %B %U %G %%";
	return NULL;
}

void
sync_format_put(struct buf *b, const char *format,
    const struct sync_format_item *i)
{
	for (const char *p = format; *p != '\0'; p++) {
		if (*p == '%' && p[1] != '%' && p[1] != '\0')
			escapes[escape_of(*++p)].add(b, i);
		else
			buf_put(b, *p == '%' ? ++p : p, 1);
	}
	add_text(b, "\n");
}
