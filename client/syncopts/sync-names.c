/* SPDX-License-Identifier: ISC */
#include "client/syncopts/sync-names.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "xfer/sftp/walk-reader.h"
#include "xfer/sync/sync-path.h"

/* ---- paths -------------------------------------------------------------- */

static bool
names_content(const char *path)
{
	size_t len = strlen(path);
	const char *last = path_last(path);

	return len == 0 || path[len - 1] == '/' || strcmp(last, ".") == 0 ||
	    strcmp(last, "..") == 0;
}

/* The path without doubled slashes, "." and slashes around it. NULL: it has a
 * "..", so what it means depends on links. */
static char *
clean(const char *path)
{
	char *out = xcalloc(1, strlen(path) + 1);
	size_t len = 0;

	while (*path != '\0') {
		size_t n = strcspn(path, "/");

		if (n == 2 && path[0] == '.' && path[1] == '.') {
			free(out);
			return NULL;
		}
		if (n > 0 && !(n == 1 && path[0] == '.')) {
			if (len > 0)
				out[len++] = '/';
			memcpy(out + len, path, n);
			len += n;
		}
		path += n + (path[n] == '/');
	}
	return out;
}

/* ---- roots -------------------------------------------------------------- */

static struct sync_root *
add_root(struct sync_roots *roots, const char *mount)
{
	struct sync_root *r = xcalloc(1, sizeof *r);

	r->mount = xstrdup(mount);
	TAILQ_INSERT_TAIL(roots, r, entry);
	return r;
}

/* Adds a tree. Trees with one mount are one root: of a name that several have,
 * that of the first counts. */
static int
add_tree(struct sync_roots *roots, const char *path, const char *mount)
{
	struct sync_root *r;

	TAILQ_FOREACH(r, roots, entry)
		if (!r->names_only && strcmp(r->mount, mount) == 0)
			return strlist_add(&r->sources, path);
	return strlist_add(&add_root(roots, mount)->sources, path);
}

/* Adds a name of the directory `top`, which goes to mount. */
static int
add_name(struct sync_roots *roots, const char *top, const char *mount,
    const char *name)
{
	struct sync_root *r;
	int err;

	TAILQ_FOREACH(r, roots, entry)
		if (r->names_only && strcmp(r->mount, mount) == 0 &&
		    strcmp(r->sources.v[0], top) == 0)
			return strlist_add(&r->names, name);
	r = add_root(roots, mount);
	r->names_only = true;
	if ((err = strlist_add(&r->sources, top)) != 0)
		return err;
	return strlist_add(&r->names, name);
}

/* Adds the directories that a path of -R leads through. */
static int
add_implied(struct sync_roots *roots, const char *top, const char *path)
{
	int err = 0;

	for (const char *p = path; err == 0 && (p = strchr(p, '/')) != NULL;
	    p++) {
		char *dir = xstrndup(path, (size_t)(p - path));

		err = add_name(roots, top, "", dir);
		free(dir);
	}
	return err;
}

/* A path below top that keeps its directories. */
static int
add_relative(struct sync_roots *roots, const struct sync_names *n,
    const char *top, const char *path)
{
	char *full = sync_path_below(top, path);
	enum sync_kind kind = n->kind(n->arg, full);
	int err = 0;

	if (kind == SYNC_KIND_MISSING) {
		n->missing(n->arg, full);
		free(full);
		return 0;
	}
	if (kind == SYNC_KIND_DIR && !n->recursive && !n->dirs) {
		n->skipped(n->arg, full);
		free(full);
		return 0;
	}
	if (n->implied_dirs)
		err = add_implied(roots, top, path);
	if (err == 0 && kind == SYNC_KIND_DIR && n->recursive)
		err = add_tree(roots, full, path);
	else if (err == 0 && *path != '\0')
		err = add_name(roots, top, "", path);
	free(full);
	return err;
}

/* -R: what is behind "/./", or else all of the path, is kept. */
static int
add_kept(struct sync_roots *roots, const struct sync_names *n,
    const char *path)
{
	const char *mark = strstr(path, "/./");
	char *top, *kept;
	int err;

	if (mark != NULL)
		top = mark == path ? xstrdup("/") :
				     xstrndup(path, (size_t)(mark - path));
	else
		top = xstrdup(path[0] == '/' ? "/" : ".");
	kept = clean(mark != NULL ? mark + 3 : path);
	err = kept == NULL ? ERR_SYNTAX : add_relative(roots, n, top, kept);
	free(kept);
	free(top);
	return err;
}

int
sync_names_add(struct sync_roots *roots, const struct sync_names *n,
    const char *path)
{
	enum sync_kind kind;
	char *top;
	int err;

	if (n->relative)
		return add_kept(roots, n, path);
	kind = n->kind(n->arg, path);
	if (kind == SYNC_KIND_MISSING) {
		n->missing(n->arg, path);
		return 0;
	}
	if (kind == SYNC_KIND_DIR && !n->recursive && !n->dirs) {
		n->skipped(n->arg, path);
		return 0;
	}
	/* -d: the directory itself is a name, and what is in it a tree of one
	 * level. */
	if (kind == SYNC_KIND_DIR && (n->recursive || names_content(path)))
		return add_tree(roots, path,
		    names_content(path) ? "" : path_last(path));
	if ((top = path_parent(path)) == NULL)
		return ERR_NOMEM;
	err = add_name(roots, top, "", path_last(path));
	free(top);
	return err;
}

int
sync_names_add_list(struct sync_roots *roots, const struct sync_names *n,
    const char *top, const char *text, size_t len, bool from0)
{
	const char *end = text + len;
	int err = 0;

	while (err == 0 && text < end) {
		size_t line = 0;
		char *path, *kept;

		while (text + line < end && (from0 ? text[line] != '\0' :
			text[line] != '\n' && text[line] != '\r'))
			line++;
		path = xstrndup(text, line);
		text += MIN(line + 1, (size_t)(end - text));
		if (*path == '\0' || (!from0 && strchr("#;", *path) != NULL)) {
			free(path);
			continue;
		}
		kept = clean(path);
		err = kept == NULL ? ERR_SYNTAX :
				     add_relative(roots, n, top, kept);
		free(kept);
		free(path);
	}
	return err;
}

/* ---- order -------------------------------------------------------------- */

static int
cmp_names(const void *a, const void *b)
{
	return walk_name_cmp(*(char *const *)a, *(char *const *)b);
}

int
sync_names_finish(struct sync_roots *roots)
{
	struct sync_root *r;

	TAILQ_FOREACH(r, roots, entry) {
		struct strlist once = { NULL, 0 };
		int err = 0;

		if (r->names.n == 0)
			continue;
		qsort(r->names.v, r->names.n, sizeof *r->names.v, cmp_names);
		for (size_t i = 0; i < r->names.n && err == 0; i++)
			if (i == 0 ||
			    strcmp(r->names.v[i], r->names.v[i - 1]) != 0)
				err = strlist_add(&once, r->names.v[i]);
		strlist_clear(&r->names);
		r->names = once;
		if (err != 0)
			return err;
	}
	return 0;
}

void
sync_names_remove(struct sync_roots *roots, struct sync_root *r)
{
	TAILQ_REMOVE(roots, r, entry);
	strlist_clear(&r->sources);
	strlist_clear(&r->names);
	free(r->mount);
	free(r->as);
	free(r);
}

void
sync_names_clear(struct sync_roots *roots)
{
	struct sync_root *r;

	while ((r = TAILQ_FIRST(roots)) != NULL)
		sync_names_remove(roots, r);
}
