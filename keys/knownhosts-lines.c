/* SPDX-License-Identifier: ISC */
/* Reads known_hosts line by line and parses lines. */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "keys/knownhosts-internal.h"

enum {
	LINE_MAX_BYTES = 64 * 1024,
	TYPE_MAX = 64,	       /* size of a key type's name, with its NUL */
	READ_MAX = 128 * 1024, /* bytes of a file in memory at once */
};
/* FILE_READ_MAX: bytes that are read of one file in all. */
#define FILE_READ_MAX ((uint64_t)1 << 30)

/* ---- lines -------------------------------------------------------------- */

void
knownhosts_lines_begin(struct knownhosts_lines *l, struct span content)
{
	*l = (struct knownhosts_lines){ .fd = -1, .all = content,
		.left = content };
}

int
knownhosts_lines_open(struct knownhosts_lines *l, const char *path)
{
	struct stat st;

	*l = (struct knownhosts_lines){ .fd = -1 };
	if ((l->piece = malloc(READ_MAX)) == NULL)
		return ERR_NOMEM;
	l->all.p = l->left.p = l->piece;
	l->fd = open(path, O_RDONLY | O_CLOEXEC);
	/* A directory holds no keys: it counts as a missing file. */
	if (l->fd != -1 && fstat(l->fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		fd_close(&l->fd);
		errno = ENOENT;
	}
	return l->fd != -1 ? 0 : ERR_SYSTEM;
}

int
knownhosts_lines_rewind(struct knownhosts_lines *l)
{
	l->left = l->all;
	l->total = l->number = 0;
	l->ended = false;
	return l->fd == -1 || lseek(l->fd, 0, SEEK_SET) != -1 ? 0 : ERR_SYSTEM;
}

void
knownhosts_lines_close(struct knownhosts_lines *l)
{
	int saved = errno;

	free(l->text);
	free(l->piece);
	l->text = NULL;
	l->piece = NULL;
	fd_close(&l->fd);
	errno = saved;
}

/* Reads the next part of the file behind the rest of the last part, which does
 * not hold a whole line. A line that is longer than LINE_MAX_BYTES is cut to
 * one byte more than that, so that it can still be recognized as too long. */
static int
read_on(struct knownhosts_lines *l)
{
	size_t len = MIN(l->left.len, (size_t)LINE_MAX_BYTES + 1);
	ssize_t n;

	memmove(l->piece, l->left.p, len);
	n = fd_read(l->fd, l->piece + len, READ_MAX - len);
	if (n == -1)
		return ERR_SYSTEM;
	l->total += (size_t)n;
	if (l->total > FILE_READ_MAX)
		return ERR_LIMIT;
	l->ended = n == 0;
	l->left = (struct span){ l->piece, len + (size_t)n };
	return 0;
}

static int
find_end(struct knownhosts_lines *l, const uint8_t **nl)
{
	size_t seen = 0;
	int r;

	for (;;) {
		*nl = l->left.len > seen ? memchr(l->left.p + seen, '\n',
		    l->left.len - seen) : NULL;
		if (*nl != NULL || l->fd == -1 || l->ended)
			return 0;
		seen = MIN(l->left.len, (size_t)LINE_MAX_BYTES + 1);
		if ((r = read_on(l)) != 0)
			return r;
	}
}

/* Copies the line to l->text as a string without CR at its end. A line that is
 * too long or has a NUL becomes "?", which does not parse. */
static int
make_text(struct knownhosts_lines *l)
{
	const uint8_t *p = l->raw.p;
	size_t n = l->raw.len;

	if (n > LINE_MAX_BYTES || (n > 0 && memchr(p, '\0', n) != NULL)) {
		p = (const uint8_t *)"?";
		n = 1;
	}
	if (n > 0 && p[n - 1] == '\r')
		n--;
	if (n >= l->text_cap) {
		char *text = realloc(l->text, 2 * (n + 1));

		if (text == NULL)
			return ERR_NOMEM;
		l->text = text;
		l->text_cap = 2 * (n + 1);
	}
	if (n > 0)
		memcpy(l->text, p, n);
	l->text[n] = '\0';
	return 0;
}

int
knownhosts_lines_next(struct knownhosts_lines *l)
{
	const uint8_t *nl;
	size_t n, whole;
	int r = find_end(l, &nl);

	if (r != 0 || l->left.len == 0)
		return r;
	n = nl != NULL ? (size_t)(nl - l->left.p) : l->left.len;
	whole = nl != NULL ? n + 1 : n;
	l->number++;
	l->raw = (struct span){ l->left.p, n };
	l->left = (struct span){ l->left.p + whole, l->left.len - whole };
	r = make_text(l);
	return r == 0 ? 1 : r;
}

/* ---- what a line says --------------------------------------------------- */

static int
parse_marker(char **s, enum knownhosts_marker *out)
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

int
knownhosts_head_cut(char *text, struct knownhosts_head *h)
{
	char *s = text + strspn(text, " \t");
	int r;

	if (*s == '\0' || *s == '#' || *s == '\r' || *s == '\n')
		return ERR_NOT_FOUND;
	if ((r = parse_marker(&s, &h->marker)) != 0)
		return r;
	h->hosts = s;
	s += strcspn(s, " \t\r\n");
	if (s == h->hosts || (*s != ' ' && *s != '\t'))
		return ERR_FORMAT;
	h->end = *s;
	*s = '\0';
	h->rest = s + 1;
	return 0;
}

void
knownhosts_head_mend(const struct knownhosts_head *h)
{
	h->rest[-1] = h->end;
}

/* Skips the type and the base64 of a key that has a type unknown here. */
static void
skip_key(const char **s)
{
	for (int i = 0; i < 2; i++) {
		*s += strspn(*s, " \t");
		*s += strcspn(*s, " \t");
	}
}

/* Parses the part of a line that begins at the key's type. l->key stays NULL
 * for a type that is unknown here. The caller clears l, after an error, too. */
static int
parse_key(const char *s, struct knownhosts_line *l)
{
	int r = key_parse_line(&s, &l->key);

	if (r == ERR_KEY_TYPE) {
		skip_key(&s);
		r = 0;
	}
	if (r != 0)
		return r;
	/* A certificate cannot be an authority, so a @cert-authority line with
	 * one has no key. */
	if (l->key != NULL && key_is_cert(l->key) &&
	    l->marker == KNOWNHOSTS_CA) {
		key_free(l->key);
		l->key = NULL;
	}
	s += strspn(s, " \t");
	l->comment = strndup(s, strcspn(s, "\r\n"));
	return l->comment != NULL ? 0 : ERR_NOMEM;
}

/* Types that are not in the table of key algorithms, but that OpenSSH accepts
 * in lines of known_hosts because it had them once. */
static const char *const other_types[] = { "ssh-dss",
	"ssh-dss-cert-v01@openssh.com" };

/* Is the name one of a key type or of an algorithm, in full ("ssh-rsa", not
 * "RSA")? */
static bool
is_type(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(other_types); i++)
		if (strcmp(other_types[i], name) == 0)
			return true;
	for (size_t i = 0; i < key_alg_count(); i++) {
		const struct key_alg *row = key_alg_at(i);

		if (strcmp(row->key_type, name) == 0 ||
		    strcmp(row->cert_type, name) == 0 ||
		    strcmp(row->name, name) == 0 ||
		    strcmp(row->cert_name, name) == 0)
			return true;
	}
	return false;
}

bool
knownhosts_is_known_type(const char *rest)
{
	char name[TYPE_MAX];
	size_t len;

	rest += strspn(rest, " \t");
	len = strcspn(rest, " \t");
	if (len == 0 || len >= sizeof name ||
	    rest[len + strspn(rest + len, " \t")] == '\0')
		return false;
	memcpy(name, rest, len);
	name[len] = '\0';
	return is_type(name);
}

bool
knownhosts_is_key_text(const char *key, const char *text)
{
	size_t len = strcspn(text += strspn(text, " \t"), " \t");
	const char *second = text + len + strspn(text + len, " \t");
	size_t second_len = strcspn(second, " \t\r\n");

	return strncmp(key, text, len) == 0 && key[len] == ' ' &&
	    strncmp(key + len + 1, second, second_len) == 0 &&
	    key[len + 1 + second_len] == '\0';
}

char *
knownhosts_key_text(const struct key *k)
{
	struct buf b = { 0 };
	char *text = NULL;

	if (key_format_line(k, NULL, &b) == 0)
		text = buf_dup_string(&b);
	buf_clear(&b);
	return text;
}

int
knownhosts_parse_rest(const struct knownhosts_head *h,
    struct knownhosts_line *out)
{
	struct knownhosts_line l = { .marker = h->marker };
	int r = 0;

	if ((l.hosts = strdup(h->hosts)) == NULL)
		r = ERR_NOMEM;
	if (r == 0)
		r = parse_key(h->rest, &l);
	if (r == 0)
		*out = l;
	else
		knownhosts_line_clear(&l);
	return r;
}

int
knownhosts_parse_line(const char *line, struct knownhosts_line *out)
{
	struct knownhosts_head h;
	char *text;
	int r;

	if (strlen(line) > LINE_MAX_BYTES)
		return ERR_LIMIT;
	if ((text = strdup(line)) == NULL)
		return ERR_NOMEM;
	r = knownhosts_head_cut(text, &h);
	if (r == 0)
		r = knownhosts_parse_rest(&h, out);
	free(text);
	return r;
}

void
knownhosts_line_clear(struct knownhosts_line *l)
{
	free(l->hosts);
	free(l->comment);
	key_free(l->key);
	*l = (struct knownhosts_line){ 0 };
}
