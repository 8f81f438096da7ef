/* SPDX-License-Identifier: ISC */
/*
 * A cache for looking up names in known_hosts files. A connection asks for
 * several names, several times each. Each file is read once for all names, and
 * only the lines that match one of them are kept. As long as the files have not
 * changed, answers come from these lines.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "compat/file.h"
#include "keys/knownhosts-internal.h"

enum {
	FIRST_LINES = 8,
	/* A file that was changed less than this time ago may be changed again
	 * with the same time stamp. SETTLED_NS is for file systems whose time
	 * stamps have fractions of seconds, SETTLED_S for those whose have
	 * none. */
	SETTLED_NS = 100 * 1000 * 1000,
	SETTLED_S = 3,
};

/* ---- going through lines ------------------------------------------------ */

int
knownhosts_each_match(struct knownhosts_lines *l, struct knownhosts_matcher *m,
    knownhosts_match_fn fn, void *arg)
{
	struct knownhosts_head h;
	uint32_t which;
	int r = 0, parsed;

	while (r == 0 && (r = knownhosts_lines_next(l)) == 1) {
		r = 0;
		which = 0;
		parsed = knownhosts_head_cut(l->text, &h);
		if (parsed == 0 && m != NULL &&
		    ((r = knownhosts_match(m, h.hosts, &which)) != 0 ||
			which == 0))
			continue;
		if (parsed != ERR_NOT_FOUND)
			r = fn(arg, l, parsed == 0 ? &h : NULL, which);
	}
	return r;
}

/* ---- what was seen ------------------------------------------------------ */

/* The state of a file when it was read, to see whether it has changed since. */
struct stamp {
	bool is_there;
	bool is_settled; /* a later change will have another time stamp */
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed, modified;
};

struct seen_line {
	char *text; /* owned; head points into it */
	struct knownhosts_head head;
	unsigned number;
	uint32_t which;
};

struct seen_file {
	const char *path; /* borrowed */
	struct stamp stamp;
	bool is_read;
	struct seen_line *lines;
	size_t n, cap, bytes;
};

struct knownhosts_seen {
	const struct strlist *of; /* borrowed: the files' paths */
	struct seen_file *files;
	size_t n;
	struct strlist names;
};

int
knownhosts_seen_new(struct knownhosts_seen **out, const struct strlist *files,
    const struct strlist *names)
{
	struct knownhosts_seen *s;
	int r = 0;

	*out = NULL;
	if ((s = calloc(1, sizeof *s)) == NULL)
		return ERR_NOMEM;
	s->of = files;
	s->files = calloc(files->n + 1, sizeof *s->files);
	if (s->files == NULL)
		r = ERR_NOMEM;
	for (; r == 0 && s->n < files->n; s->n++)
		s->files[s->n].path = files->v[s->n];
	for (size_t i = 0; r == 0 && i < names->n; i++)
		if (!strlist_has(&s->names, names->v[i]))
			r = strlist_add(&s->names, names->v[i]);
	if (r == 0 && s->names.n > KNOWNHOSTS_NAMES_MAX)
		r = ERR_LIMIT;
	if (r != 0) {
		knownhosts_seen_free(s);
		return r;
	}
	*out = s;
	return 0;
}

static void
forget(struct seen_file *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->lines[i].text);
	free(f->lines);
	*f = (struct seen_file){ .path = f->path };
}

void
knownhosts_seen_free(struct knownhosts_seen *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->n; i++)
		forget(&s->files[i]);
	free(s->files);
	strlist_clear(&s->names);
	free(s);
}

bool
knownhosts_seen_has(const struct knownhosts_seen *s,
    const struct strlist *files, const char *name)
{
	return s != NULL && s->of == files && strlist_has(&s->names, name);
}

/* ---- is it still so? ---------------------------------------------------- */

static bool
is_missing(int error)
{
	return error == ENOENT || error == ENOTDIR;
}

static bool
is_older_than(const struct timespec *t, const struct timespec *now)
{
	int64_t s = (int64_t)now->tv_sec - t->tv_sec;
	int64_t ns = s * 1000000000 + now->tv_nsec - t->tv_nsec;

	if (s > SETTLED_S)
		return true;
	return t->tv_nsec != 0 && s >= 0 && ns > SETTLED_NS;
}

/* Takes the state of the open file; fd -1: the file does not exist. */
static void
take_stamp(int fd, struct stamp *p)
{
	struct timespec now;
	struct stat st;

	*p = (struct stamp){ .is_settled = fd == -1 };
	if (fd == -1 || fstat(fd, &st) == -1 ||
	    clock_gettime(CLOCK_REALTIME, &now) == -1)
		return;
	*p = (struct stamp){
		.is_there = true,
		.is_settled = S_ISREG(st.st_mode) &&
		    is_older_than(&st.FILE_CTIME, &now) &&
		    is_older_than(&st.FILE_MTIME, &now),
		.dev = st.st_dev,
		.ino = st.st_ino,
		.size = st.st_size,
		.changed = st.FILE_CTIME,
		.modified = st.FILE_MTIME,
	};
}

static bool
same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool
same_stamp(const struct stamp *a, const struct stamp *b)
{
	if (!a->is_there || !b->is_there)
		return a->is_there == b->is_there;
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size &&
	    same_time(&a->changed, &b->changed) &&
	    same_time(&a->modified, &b->modified);
}

/* Is the file as it was when it was read? It is opened for this check because
 * NFS asks its server only then. */
static bool
is_fresh(const struct seen_file *f)
{
	struct stamp now;
	int fd;

	if (!f->is_read || !f->stamp.is_settled)
		return false;
	fd = open(f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd == -1 && !is_missing(errno))
		return false;
	take_stamp(fd, &now);
	fd_close(&fd);
	return same_stamp(&f->stamp, &now);
}

/* ---- reading ------------------------------------------------------------ */

static struct seen_line *
new_line(struct seen_file *f)
{
	struct seen_line *v;
	size_t cap = f->cap == 0 ? FIRST_LINES : 2 * f->cap;

	if (f->n == f->cap) {
		v = reallocarray(f->lines, cap, sizeof *v);
		if (v == NULL)
			return NULL;
		f->lines = v;
		f->cap = cap;
	}
	return &f->lines[f->n];
}

static int
keep_line(void *arg, const struct knownhosts_lines *l,
    const struct knownhosts_head *h, uint32_t which)
{
	struct seen_file *f = arg;
	struct seen_line *line;

	if (h == NULL) {
		log_debug("%s:%u: line is not understood", f->path, l->number);
		return 0;
	}
	knownhosts_head_mend(h);
	f->bytes += strlen(l->text);
	if (f->bytes > KNOWNHOSTS_FILE_MAX)
		return ERR_LIMIT;
	if ((line = new_line(f)) == NULL)
		return ERR_NOMEM;
	*line = (struct seen_line){ .text = strdup(l->text),
		.number = l->number, .which = which };
	if (line->text == NULL)
		return ERR_NOMEM;
	f->n++;
	return knownhosts_head_cut(line->text, &line->head);
}

/* A missing file counts as empty. A file that cannot be read is an error,
 * because a line in it might revoke a key. */
static int
read_file(struct seen_file *f, const struct strlist *names)
{
	struct knownhosts_lines l = { .fd = -1 };
	struct knownhosts_matcher m;
	int r = knownhosts_matcher_init(&m,
	    (const char *const *)(void *)names->v, names->n);

	forget(f);
	if (r == 0)
		r = knownhosts_lines_open(&l, f->path);
	if (r == 0 || (r == ERR_SYSTEM && is_missing(errno))) {
		take_stamp(l.fd, &f->stamp);
		r = r == 0 ? knownhosts_each_match(&l, &m, keep_line, f) : 0;
	}
	knownhosts_lines_close(&l);
	knownhosts_matcher_clear(&m);
	f->is_read = r == 0;
	return r;
}

/* ---- answers ------------------------------------------------------------ */

static uint32_t
bit_of(const struct knownhosts_seen *s, const char *name)
{
	for (size_t i = 0; i < s->names.n; i++)
		if (strcmp(s->names.v[i], name) == 0)
			return UINT32_C(1) << i;
	return 0;
}

int
knownhosts_found_line(const struct knownhosts_head *h, const char *path,
    unsigned number, knownhosts_line_fn fn, void *arg)
{
	struct knownhosts_line line = { 0 };
	int r = h != NULL ? knownhosts_parse_rest(h, &line) : ERR_FORMAT;

	if (r == 0) {
		r = fn(arg, path, number, &line);
	} else if (r != ERR_NOMEM) {
		log_debug("%s:%u: line is not understood", path, number);
		r = 0;
	}
	knownhosts_line_clear(&line);
	return r;
}

int
knownhosts_seen_each(struct knownhosts_seen *s, const char *name,
    knownhosts_line_fn fn, void *arg)
{
	uint32_t bit = bit_of(s, name);
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->n; i++) {
		struct seen_file *f = &s->files[i];

		if (!is_fresh(f))
			r = read_file(f, &s->names);
		for (size_t k = 0; r == 0 && k < f->n; k++)
			if ((f->lines[k].which & bit) != 0)
				r = knownhosts_found_line(&f->lines[k].head,
				    f->path, f->lines[k].number, fn, arg);
	}
	return r;
}
