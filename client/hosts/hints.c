/* SPDX-License-Identifier: ISC */
#include "client/hosts/hints.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "conf/client-conf.h"
#include "keys/knownhosts.h"

enum {
	FILE_MAX = 256 * 1024, /* bytes; a larger file was not written by us and
				* is not read */
	LINES_MAX = 1000,
	FIELDS = 4, /* words of a line, without the word "asked" at its end */
};

void
hints_clear(struct hints *h)
{
	free(h->kex);
	free(h->hostkey);
	free(h->fingerprint);
	*h = (struct hints){ 0 };
}

/* Reads the file of hints. A link or a device in its place was not made by us,
 * and is an error. */
static int
read_file(const char *path, struct buf *content)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), r;
	struct stat st;

	if (fd == -1)
		return ERR_SYSTEM;
	r = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ?
	    fd_read_file(fd, content, FILE_MAX) : ERR_FORMAT;
	fd_close(&fd);
	return r;
}

/* Reads the lines of the file. A missing file counts as an empty one. */
static int
read_lines(const char *path, struct strlist *lines)
{
	struct buf content = { 0 };
	char *text;
	int r = read_file(path, &content);

	if (r == ERR_SYSTEM && errno == ENOENT)
		r = 0;
	if (r == 0) {
		text = buf_dup_string(&content);
		r = text != NULL ? strlist_split(lines, text, "\n") :
				   ERR_NOMEM;
		free(text);
	}
	buf_clear(&content);
	return r;
}

/* Is the host's name in this line hashed, as in known_hosts? All names are: a
 * user who hides the names in known_hosts does not want them in clear here, and
 * nobody has to read this file. */
static bool
is_hashed(const char *line)
{
	return str_has_prefix(line, "|1|");
}

static bool
is_of(const char *line, const char *name)
{
	char *first = xstrndup(line, strcspn(line, " "));
	bool is = is_hashed(first) && knownhosts_hosts_match(first, name);

	free(first);
	return is;
}

/* Does the word consist of characters that names of algorithms and fingerprints
 * have? Words of the file go into our proposal, so no others may pass. */
static bool
is_word(const char *s)
{
	return *s != '\0' &&
	    s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			"0123456789-_.@:+/=")] == '\0';
}

static int
parse(const char *line, struct hints *out)
{
	struct strlist f = { 0 };
	int r = strlist_split(&f, line, " ");
	bool interactive = r == 0 && f.n == FIELDS + 1 &&
	    strcmp(f.v[FIELDS], "asked") == 0;

	if (r == 0 &&
	    (f.n != FIELDS + (size_t)interactive || !is_word(f.v[1]) ||
		!is_word(f.v[2]) || !is_word(f.v[3])))
		r = ERR_FORMAT;
	if (r == 0) {
		*out = (struct hints){ .kex = strdup(f.v[1]),
			.hostkey = strdup(f.v[2]),
			.fingerprint =
			    strcmp(f.v[3], "-") != 0 ? strdup(f.v[3]) : NULL,
			.interactive = interactive };
		if (out->kex == NULL || out->hostkey == NULL) {
			hints_clear(out);
			r = ERR_NOMEM;
		}
	}
	strlist_clear(&f);
	return r;
}

int
hints_load(const char *path, const char *name, struct hints *out)
{
	struct strlist lines = { 0 };
	int r = read_lines(path, &lines);

	*out = (struct hints){ 0 };
	if (r == 0)
		r = ERR_NOT_FOUND;
	for (size_t i = 0; i < lines.n && r == ERR_NOT_FOUND; i++)
		if (is_of(lines.v[i], name))
			r = parse(lines.v[i], out);
	strlist_clear(&lines);
	return r;
}

/* Writes the file again, with the line h in place of the host's old line, or
 * without a line for the host if h is NULL. Lines of an earlier version, which
 * have the names in clear, are dropped. */
static int
rewrite(const char *path, const char *name, const struct hints *h)
{
	struct strlist lines = { 0 };
	struct buf out = { 0 };
	char *hash = NULL; /* the host's hashed name: that of the old line, or a
			    * new one */
	size_t first = 0;
	int r = read_lines(path, &lines);

	if (r != 0)
		goto out;
	if (lines.n >= LINES_MAX)
		first = lines.n - LINES_MAX + 1;
	for (size_t i = first; i < lines.n; i++) {
		const char *line = lines.v[i];

		if (!is_hashed(line))
			continue;
		if (!is_of(line, name))
			buf_printf(&out, "%s\n", line);
		else if (hash == NULL)
			hash = xstrndup(line, strcspn(line, " "));
	}
	if (hash == NULL && (hash = knownhosts_hash(name)) == NULL)
		r = ERR_NOMEM;
	if (h != NULL && hash != NULL)
		buf_printf(&out, "%s %s %s %s%s\n", hash, h->kex, h->hostkey,
		    h->fingerprint != NULL ? h->fingerprint : "-",
		    h->interactive ? " asked" : "");
	if (r == 0)
		r = buf_err(&out);
	if (r == 0)
		r = file_replace(path, buf_data(&out), buf_len(&out), 0600);
out:
	free(hash);
	strlist_clear(&lines);
	buf_clear(&out);
	return r;
}

int
hints_save(const char *path, const char *name, const struct hints *h)
{
	return rewrite(path, name, h);
}

int
hints_drop(const char *path, const char *name)
{
	return rewrite(path, name, NULL);
}

/* ---- the place ---------------------------------------------------------- */

static char *
state_file(const char *home)
{
	const char *dir = getenv("XDG_STATE_HOME");
	char *path;

	if (dir != NULL && dir[0] == '/')
		xasprintf(&path, "%s/hpnssh/hints", dir);
	else
		xasprintf(&path, "%s/.ssh/hpn/hints", home);
	return path;
}

void
hints_file_init(struct hints_file *p, const char *known_hosts,
    const char *name)
{
	const char *home = client_conf_home();
	char *usual;

	xasprintf(&usual, "%s/.ssh/known_hosts", home);
	p->path = state_file(home);
	if (strcmp(known_hosts, usual) == 0)
		p->name = xstrdup(name);
	else
		xasprintf(&p->name, "%s %s", name, known_hosts);
	xasprintf(&p->old_path, "%s.hints", known_hosts);
	p->old_name = xstrdup(name);
	free(usual);
}

void
hints_file_clear(struct hints_file *p)
{
	free(p->path);
	free(p->name);
	free(p->old_path);
	free(p->old_name);
	*p = (struct hints_file){ 0 };
}

int
hints_find(const struct hints_file *p, struct hints *out)
{
	int r = hints_load(p->path, p->name, out);

	return r == ERR_NOT_FOUND ?
	    hints_load(p->old_path, p->old_name, out) : r;
}

/* Makes the directory of the file and the directory above it. A failure is not
 * reported here, because then writing the file fails. */
static void
make_directories(const char *path)
{
	char *dir = xstrdup(path), *end;

	for (int i = 0; i < 2 && (end = strrchr(dir, '/')) != NULL; i++)
		*end = '\0';
	(void)mkdir(dir, 0700);
	dir[strlen(dir)] = '/';
	(void)mkdir(dir, 0700);
	free(dir);
}

/* Removes the host's line from the file of an earlier version, and that file
 * when its last line has gone. */
static int
forget_old(const struct hints_file *p)
{
	struct hints h;
	struct stat st;
	int r = hints_load(p->old_path, p->old_name, &h);

	hints_clear(&h);
	if (r != 0)
		return r == ERR_NOT_FOUND ? 0 : r;
	if ((r = hints_drop(p->old_path, p->old_name)) == 0 &&
	    lstat(p->old_path, &st) == 0 && st.st_size == 0)
		(void)unlink(p->old_path);
	return r;
}

int
hints_keep(const struct hints_file *p, const struct hints *h)
{
	int r;

	make_directories(p->path);
	r = hints_save(p->path, p->name, h);
	return r == 0 ? forget_old(p) : r;
}

int
hints_forget(const struct hints_file *p)
{
	int r, old = forget_old(p);

	if (access(p->path, F_OK) == -1)
		return old;
	r = hints_drop(p->path, p->name);
	return r != 0 ? r : old;
}

/* ---- lists -------------------------------------------------------------- */

char *
hints_put_first(const char *list, const char *name)
{
	char *rest, *out;

	if (name == NULL || !csv_has(list, name))
		return xstrdup(list);
	if ((rest = csv_filter(list, name, false)) == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	xasprintf(&out, "%s%s%s", name, *rest != '\0' ? "," : "", rest);
	free(rest);
	return out;
}

bool
hints_is_first(const char *list, const char *name)
{
	size_t len = strcspn(list, ",");

	return name != NULL && strlen(name) == len &&
	    strncmp(list, name, len) == 0;
}
