/* SPDX-License-Identifier: ISC */
#include "xfer/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/open-named.h"
#include "xfer/whole-file.h"

enum { FLUSH_AT = 64 * 1024, DIGITS = 2 * MANIFEST_DIGEST };

/* ---- writing ------------------------------------------------------------ */

struct manifest_out {
	struct whole_file *file; /* owned */
	struct buf text;
	bool no_memory;
};

int
manifest_create(struct manifest_out **out, const char *path)
{
	struct manifest_out *m = calloc(1, sizeof *m);
	int error;

	if (m == NULL) {
		errno = ENOMEM;
		return ERR_SYSTEM;
	}
	buf_init(&m->text);
	if (whole_file_create(&m->file, path, 0666) == 0) {
		*out = m;
		return 0;
	}
	error = errno;
	free(m);
	errno = error;
	return ERR_SYSTEM;
}

static void
flush(struct manifest_out *m)
{
	m->no_memory |= buf_err(&m->text) != 0;
	whole_file_write(m->file, buf_data(&m->text), buf_len(&m->text));
	buf_reset(&m->text);
}

static void
put_char(struct buf *b, char c)
{
	static const char from[] = "\\\n\r", to[] = "\\nr";
	const char *at = c != '\0' ? strchr(from, c) : NULL;

	if (at != NULL)
		buf_put_u8(b, '\\');
	buf_put_u8(b, (uint8_t)(at != NULL ? to[at - from] : c));
}

void
manifest_add(struct manifest_out *m, const uint8_t *digest, const char *name)
{
	char digits[DIGITS + 1];

	for (int i = 0; i < MANIFEST_DIGEST; i++)
		snprintf(digits + 2 * i, 3, "%02x", digest[i]);
	if (name[strcspn(name, "\\\n\r")] != '\0')
		buf_put_u8(&m->text, '\\');
	buf_put(&m->text, digits, DIGITS);
	buf_put(&m->text, "  ", 2);
	for (const char *p = name; *p != '\0'; p++)
		put_char(&m->text, *p);
	buf_put_u8(&m->text, '\n');
	if (buf_len(&m->text) >= FLUSH_AT)
		flush(m);
}

int
manifest_end(struct manifest_out *m, bool keep)
{
	bool no_memory;
	int r;

	if (m == NULL)
		return 0;
	flush(m);
	no_memory = m->no_memory;
	r = whole_file_end(m->file, keep && !no_memory);
	buf_clear(&m->text);
	free(m);
	if (r == 0 && keep && no_memory) {
		errno = ENOMEM;
		r = ERR_SYSTEM;
	}
	return r;
}

/* ---- reading ------------------------------------------------------------ */

struct manifest_in {
	FILE *file; /* owned */
	uint64_t line;
	char text[MANIFEST_LINE_MAX + 1];
};

int
manifest_open(struct manifest_in **out, const char *path)
{
	struct manifest_in *m = calloc(1, sizeof *m);
	int fd = -1;

	if (m == NULL)
		return ERR_NOMEM;
	fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) :
				      open_named(path, O_RDONLY, 0);
	m->file = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (m->file != NULL) {
		*out = m;
		return 0;
	}
	fd_close(&fd);
	free(m);
	return ERR_SYSTEM;
}

void
manifest_close(struct manifest_in *m)
{
	if (m == NULL)
		return;
	fclose(m->file);
	free(m);
}

uint64_t
manifest_line(const struct manifest_in *m)
{
	return m->line;
}

/* Reads a line, without its newline. 1; 0: there is none. ERR_FORMAT: the line
 * is too long, or has a NUL. */
static int
read_line(struct manifest_in *m, const char **why)
{
	size_t len = 0;
	int c;

	*why = NULL;
	while ((c = getc(m->file)) != EOF && c != '\n') {
		if (c == '\0')
			*why = "has a NUL";
		if (len == MANIFEST_LINE_MAX)
			*why = "is too long";
		else
			m->text[len++] = (char)c;
	}
	m->text[len] = '\0';
	if (c == EOF && ferror(m->file))
		return ERR_SYSTEM;
	if (c == EOF && len == 0)
		return 0;
	m->line++;
	return *why != NULL ? ERR_FORMAT : 1;
}

static int
value_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Undoes the escapes in a name, in place. False: there is an unknown escape. */
static bool
unescape(char *name)
{
	static const char from[] = "\\nr", to[] = "\\\n\r";
	const char *at;
	char *out = name;

	for (const char *p = name; *p != '\0'; p++) {
		if (*p != '\\') {
			*out++ = *p;
			continue;
		}
		at = *++p != '\0' ? strchr(from, *p) : NULL;
		if (at == NULL)
			return false;
		*out++ = to[at - from];
	}
	*out = '\0';
	return true;
}

/* True if the name, as far as its text tells, leads to a place below the
 * directory in which it is looked up. */
static bool
is_below(const char *name)
{
	size_t len;

	if (*name == '\0' || *name == '/' || name[strlen(name) - 1] == '/')
		return false;
	for (; *name != '\0'; name += len + (name[len] == '/')) {
		len = strcspn(name, "/");
		if (len == 2 && memcmp(name, "..", 2) == 0)
			return false;
	}
	return true;
}

static const char *
parse(char *line, struct manifest_entry *out)
{
	bool escaped = line[0] == '\\';
	char *name;

	line += escaped;
	for (size_t i = 0; i < DIGITS; i += 2) {
		int high = value_of(line[i]), low;

		if (high < 0 || (low = value_of(line[i + 1])) < 0)
			return "is no line of a manifest";
		out->digest[i / 2] = (uint8_t)(high << 4 | low);
	}
	name = line + DIGITS;
	if (name[0] != ' ' || (name[1] != ' ' && name[1] != '*'))
		return "is no line of a manifest";
	name += 2;
	if (escaped && !unescape(name))
		return "has an escape that means nothing";
	while (strncmp(name, "./", 2) == 0)
		name += 2;
	if (!is_below(name))
		return "has a name that is not below the directory";
	out->name = name;
	return NULL;
}

int
manifest_next(struct manifest_in *m, struct manifest_entry *out,
    const char **why)
{
	int r = read_line(m, why);

	if (r != 1)
		return r;
	*why = parse(m->text, out);
	return *why == NULL ? 1 : ERR_FORMAT;
}
