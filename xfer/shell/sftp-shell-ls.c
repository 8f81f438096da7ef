/* SPDX-License-Identifier: ISC */
/* ls: which names are listed, their order and their format. */
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "compat/bsd.h"
#include "xfer/sftp/remote-glob.h"
#include "xfer/shell/sftp-shell-internal.h"

enum { ENTRIES_MAX = 10 * 1000 * 1000, WIDTH_DEFAULT = 80, GAP = 2 };

struct entry {
	char *name;	 /* the name to show; owned */
	char *long_name; /* the server's line; owned; may be NULL */
	struct sftp_attrs attrs;
	uint32_t links; /* 0: the server did not tell */
};

struct listing {
	struct shell *sh;
	const struct shell_call *call;
	const char *prefix; /* put in front of names: "" or "dir/" */
	struct entry *v;
	size_t n, cap;
	int size_width; /* columns of the largest size */
	int err;
};

static void
listing_clear(struct listing *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].name);
		free(l->v[i].long_name);
	}
	free(l->v);
}

/* Adds an entry. Takes over both names, also if it fails. */
static int
add(struct listing *l, char *name, char *long_name,
    const struct sftp_attrs *attrs, uint32_t links)
{
	size_t cap = l->cap > 0 ? 2 * l->cap : 64;
	struct entry *grown = l->v;

	if (l->n == l->cap && l->n < ENTRIES_MAX)
		grown = recallocarray(l->v, l->cap, cap, sizeof *grown);
	if (name == NULL || grown == NULL || l->n >= ENTRIES_MAX) {
		free(name);
		free(long_name);
		return l->n >= ENTRIES_MAX ? ERR_LIMIT : ERR_NOMEM;
	}
	if (l->n == l->cap)
		l->cap = cap;
	l->v = grown;
	l->v[l->n++] = (struct entry){ name, long_name, *attrs, links };
	return 0;
}

/* ---- lines -------------------------------------------------------------- */

static void
shell_size(uint64_t bytes, bool human, char *out, size_t size)
{
	if (human)
		shell_human(bytes, out, size);
	else
		snprintf(out, size, "%" PRIu64, bytes);
}

char *
shell_long_line(const struct shell_long *e)
{
	enum { HALF_YEAR_S = 365 * 24 * 3600 / 2 };
	const struct sftp_attrs *a = e->attrs;
	char mode[12] = "?---------", size[24], date[32] = "", *line;
	char links[16] = "?";
	time_t now = time(NULL), at = (time_t)a->mtime;
	struct tm tm;

	if (a->flags & SFTP_A_MODE)
		strmode(a->mode, mode);
	mode[10] = '\0';
	shell_size(a->size, e->human, size, sizeof size);
	if (e->links > 0)
		snprintf(links, sizeof links, "%u", e->links);
	if ((a->flags & SFTP_A_TIMES) && localtime_r(&at, &tm) != NULL)
		strftime(date, sizeof date,
		    at <= now && now - at < HALF_YEAR_S ? "%b %e %H:%M" :
							  "%b %e  %Y", &tm);
	if (asprintf(&line, "%s %4s %-8s %-8s %*s %s %s", mode, links,
	    e->user, e->group, e->size_width, size, date, e->name) < 0)
		return NULL;
	return line;
}

/* Finds the names of an entry's user and group in the cache, or asks the server
 * for them. */
static int
find_owner(struct shell *sh, const struct sftp_attrs *a,
    const struct shell_owner **out)
{
	struct shell_owner *o;
	int r;

	for (o = sh->owners; o < sh->owners + SHELL_OWNERS; o++)
		if (o->known && o->uid == a->uid && o->gid == a->gid) {
			*out = o;
			return 0;
		}
	o = &sh->owners[sh->next_owner];
	sh->next_owner = (sh->next_owner + 1) % SHELL_OWNERS;
	free(o->user);
	free(o->group);
	*o = (struct shell_owner){ .known = true, .uid = a->uid,
		.gid = a->gid };
	r = sftp_call_owner(sh->s, a->uid, a->gid, &o->user, &o->group);
	*out = o;
	return r < 0 ? r : 0;
}

static int
print_long(struct listing *l, const struct entry *e)
{
	const struct sftp_attrs *a = &e->attrs;
	bool numeric = l->call->flags['n'];
	const struct shell_owner *o = NULL;
	char uid[16], gid[16], *line;
	struct shell_long is = { .name = e->name, .attrs = a,
		.links = e->links, .user = uid, .group = gid,
		.human = l->call->flags['h'], .size_width = l->size_width };
	int r;

	/* A server without users-groups-by-id has names of owners only in its
	 * own long line. */
	if (!numeric && !l->call->flags['h'] && e->long_name != NULL &&
	    !sftp_has(l->sh->s, SFTP_EXT_USERS_GROUPS)) {
		shell_print("%s", e->long_name);
		return 0;
	}
	if (!numeric && (r = find_owner(l->sh, a, &o)) < 0)
		return r;
	snprintf(uid, sizeof uid, "%u", a->uid);
	snprintf(gid, sizeof gid, "%u", a->gid);
	if (o != NULL && o->user != NULL && *o->user != '\0')
		is.user = o->user;
	if (o != NULL && o->group != NULL && *o->group != '\0')
		is.group = o->group;
	line = shell_long_line(&is);
	if (line == NULL)
		return ERR_NOMEM;
	shell_print("%s", line);
	free(line);
	return 0;
}

/* ---- columns ------------------------------------------------------------ */

/* How many columns of the screen a text takes. */
static size_t
columns_of(const char *s)
{
	size_t n = 0, len;
	uint32_t c;

	for (; *s != '\0'; s += MAX(len, (size_t)1)) {
		len = str_utf8_len(s, &c);
		n += len > 0 ? (size_t)str_columns(c) : 1;
	}
	return n;
}

void
shell_columns(FILE *out, char *const *names, size_t n, size_t width)
{
	size_t longest = 0, columns, space, column = 0;

	for (size_t i = 0; i < n; i++)
		longest = MAX(longest, columns_of(names[i]));
	columns = MAX(width / (longest + GAP), (size_t)1);
	space = width / columns;
	for (size_t i = 0; i < n; i++) {
		fputs(names[i], out);
		if (++column == columns || i + 1 == n) {
			fputc('\n', out);
			column = 0;
		} else {
			fprintf(out, "%*s",
			    (int)(space - columns_of(names[i])), "");
		}
	}
}

static size_t
screen_width(void)
{
	struct winsize ws;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0)
		return ws.ws_col;
	return WIDTH_DEFAULT;
}

int
shell_print_names(const struct strlist *names)
{
	struct strlist escaped = { NULL, 0 };
	char *shown;
	size_t size;
	int r = 0;

	for (size_t i = 0; i < names->n && r == 0; i++) {
		size = strlen(names->v[i]) * 4 + 1;
		shown = malloc(size);
		if (shown == NULL) {
			r = ERR_NOMEM;
			break;
		}
		str_escape(shown, size, names->v[i]);
		r = strlist_add(&escaped, shown);
		free(shown);
	}
	if (r == 0)
		shell_columns(stdout, escaped.v, escaped.n, screen_width());
	fflush(stdout);
	strlist_clear(&escaped);
	return r;
}

static int
print_columns(const struct listing *l)
{
	struct strlist names = { NULL, 0 };
	int r = 0;

	for (size_t i = 0; i < l->n && r == 0; i++)
		r = strlist_add(&names, l->v[i].name);
	if (r == 0)
		r = shell_print_names(&names);
	strlist_clear(&names);
	return r;
}

/* ---- order -------------------------------------------------------------- */

static int
by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name,
	    ((const struct entry *)b)->name);
}

static int
by_time(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->attrs.mtime != y->attrs.mtime)
		return x->attrs.mtime > y->attrs.mtime ? -1 : 1;
	return by_name(a, b);
}

static int
by_size(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->attrs.size != y->attrs.size)
		return x->attrs.size > y->attrs.size ? -1 : 1;
	return by_name(a, b);
}

/* Sets the width of the column of sizes, so that the largest one fits. */
static void
measure_sizes(struct listing *l)
{
	enum { USUAL = 8 };
	char size[24];

	l->size_width = USUAL;
	for (size_t i = 0; i < l->n; i++) {
		shell_size(l->v[i].attrs.size, l->call->flags['h'], size,
		    sizeof size);
		l->size_width = MAX(l->size_width, (int)strlen(size));
	}
}

static int
print(struct listing *l)
{
	const bool *flags = l->call->flags;
	struct entry *first = l->v, *last = l->v + l->n, swap;
	int r = 0;

	if (!flags['f'] && l->n > 1)
		qsort(l->v, l->n, sizeof *l->v,
		    flags['t'] ? by_time : flags['S'] ? by_size : by_name);
	if (flags['r'])
		for (; first < --last; first++) {
			swap = *first;
			*first = *last;
			*last = swap;
		}
	if (!flags['1'] && !flags['l'] && !flags['n'])
		return print_columns(l);
	measure_sizes(l);
	for (size_t i = 0; i < l->n && r == 0 && !shell_interrupted(l->sh);
	    i++) {
		if (flags['l'] || flags['n'])
			r = print_long(l, &l->v[i]);
		else
			shell_print("%s", l->v[i].name);
	}
	return r;
}

/* ---- what is listed ----------------------------------------------------- */

/* Reads the number of links from a server's long line: version 3 has no field
 * for it, but most servers send lines like those of ls -l, with the number
 * behind the mode. 0: the line is not such a line. */
static uint32_t
links_of(struct span line)
{
	enum { MODE = 10, DIGITS_MAX = 9 };
	size_t i = MODE, digits = 0;
	uint32_t n = 0;

	/* A character behind the mode ('+' or '@') tells of an access list. */
	if (line.len > MODE && line.p[MODE] != ' ')
		i++;
	while (i < line.len && line.p[i] == ' ')
		i++;
	for (; i < line.len && digits < DIGITS_MAX && line.p[i] >= '0' &&
	     line.p[i] <= '9'; i++, digits++)
		n = n * 10 + (uint32_t)(line.p[i] - '0');
	return i < line.len && line.p[i] == ' ' ? n : 0;
}

static bool
take_entry(void *arg, const char *name, const struct sftp_entry *entry)
{
	struct listing *l = arg;
	char *shown;

	if (name[0] == '.' && !l->call->flags['a'])
		return !shell_interrupted(l->sh);
	if (asprintf(&shown, "%s%s", l->prefix, name) < 0)
		shown = NULL;
	l->err = add(l, shown, span_dup(entry->long_name), &entry->attrs,
	    links_of(entry->long_name));
	return l->err == 0 && !shell_interrupted(l->sh);
}

/* Lists the directory path; shown is its name in the output, "" for none. */
static int
list_directory(struct listing *l, const char *path, const char *shown)
{
	size_t len = strlen(shown);
	char *prefix;
	int r;

	if (asprintf(&prefix, "%s%s", shown,
	    len > 0 && shown[len - 1] != '/' ? "/" : "") < 0)
		return ERR_NOMEM;
	l->prefix = prefix;
	r = sftp_call_list_all(l->sh->s, path, take_entry, l);
	free(prefix);
	if (l->err < 0)
		return l->err;
	if (r != 0)
		return shell_status(r, "remote readdir(\"%s\")", path);
	return print(l);
}

/* Arrays with the attributes, status and number of links of each name. */
struct shell_stats {
	struct sftp_attrs *attrs;
	int *statuses;
	uint32_t *links; /* 0: the server did not tell */
};

/* Shows names that match a word. If there are several, a directory is not
 * listed, but shown with a slash. */
static int
list_matches(struct listing *l, const struct strlist *names,
    const struct shell_stats *st, const char *word)
{
	const char *shown;
	bool is_dir;
	char *name;
	int r = 0;

	for (size_t i = 0; i < names->n && r == 0; i++) {
		if (st->statuses[i] > SFTP_NO_SUCH_FILE)
			continue;
		shown = shell_display_name(l->sh, names->v[i], word);
		is_dir = st->statuses[i] == 0 &&
		    (st->attrs[i].flags & SFTP_A_MODE) &&
		    S_ISDIR(st->attrs[i].mode);
		if (asprintf(&name, "%s%s", shown,
		    is_dir && names->n > 1 ? "/" : "") < 0)
			return ERR_NOMEM;
		r = add(l, name, NULL, &st->attrs[i], st->links[i]);
	}
	return r == 0 ? print(l) : r;
}

/* Finds the names that match a pattern, in which ls, like OpenSSH's, also knows
 * {a,b}. If braces make several patterns, only names that exist are taken,
 * unless there are none. */
static int
match_braces(struct shell *sh, const char *pattern, struct strlist *names)
{
	struct strlist all = { NULL, 0 };
	char *whole;
	int r = remote_glob_braces(pattern, &all);

	for (size_t i = 0; all.n > 1 && r >= 0 && i < all.n; i++) {
		whole = shell_absolute_pattern(sh, all.v[i]);
		r = whole != NULL ? remote_glob(sh->s, whole, names) :
				    ERR_NOMEM;
		free(whole);
	}
	if (r >= 0 && names->n == 0)
		r = shell_match(sh, all.n == 1 ? all.v[0] : pattern, names);
	strlist_clear(&all);
	return r < 0 ? r : 0;
}

static int
list_word(struct listing *l, const struct shell_word *word)
{
	struct strlist names = { NULL, 0 };
	struct shell_stats st = { NULL, NULL, NULL };
	bool is_long = l->call->flags['l'] || l->call->flags['n'];
	int r = match_braces(l->sh, word->pattern, &names);

	st.attrs = calloc(names.n + 1, sizeof *st.attrs);
	st.statuses = calloc(names.n + 1, sizeof *st.statuses);
	st.links = calloc(names.n + 1, sizeof *st.links);
	if (st.attrs == NULL || st.statuses == NULL || st.links == NULL)
		r = ERR_NOMEM;
	if (r == 0)
		r = shell_stat_all(l->sh, &names, st.attrs, st.statuses);
	if (r == 0 && is_long)
		r = shell_links_all(l->sh, &names, st.links);
	if (r == 0 && names.n == 1 && st.statuses[0] != 0) {
		shell_error(st.statuses[0] == SFTP_NO_SUCH_FILE ?
		    "Can't ls: \"%s\" not found" : "Can't ls: \"%s\"",
		    names.v[0]);
		r = SHELL_FAILED;
	} else if (r == 0 && names.n == 1 &&
	    (st.attrs[0].flags & SFTP_A_MODE) && S_ISDIR(st.attrs[0].mode)) {
		r = list_directory(l, names.v[0],
		    shell_display_name(l->sh, names.v[0], word->text));
	} else if (r == 0) {
		r = list_matches(l, &names, &st, word->text);
	}
	free(st.attrs);
	free(st.statuses);
	free(st.links);
	strlist_clear(&names);
	return r;
}

int
shell_ls(struct shell *sh, const struct shell_call *call)
{
	struct listing l = { .sh = sh, .call = call };
	int r = SHELL_OK;

	if (call->n == 0 || call->words[0].text[0] == '\0') {
		r = list_directory(&l, sh->cwd, "");
		listing_clear(&l);
		return r;
	}
	/* Lists one word after the other; a missing one does not stop the
	 * command. */
	for (size_t i = 0; i < call->n && r >= 0 && !shell_interrupted(sh);
	     i++) {
		l = (struct listing){ .sh = sh, .call = call };
		r = shell_worse(r, list_word(&l, &call->words[i]));
		listing_clear(&l);
	}
	return r;
}
