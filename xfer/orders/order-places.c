/* SPDX-License-Identifier: ISC */
/* Paths below a root, from one held directory to the next. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compat/bsd-mem.h"
#include "xfer/orders/ordered.h"

struct xfer_step {
	char *name; /* owned */
	struct local_dir *dir; /* holds a reference */
};

static void
cut(struct xfer_places *p, size_t n)
{
	while (p->n > n) {
		p->n--;
		free(p->steps[p->n].name);
		local_dir_unref(p->steps[p->n].dir);
	}
}

void
xfer_places_free(struct xfer_places *p)
{
	cut(p, 0);
	free(p->steps);
	local_dir_unref(p->root);
	*p = (struct xfer_places){ .root = NULL };
}

/* Has p hold the way from this root; another root's way is dropped. */
static void
begin(struct xfer_places *p, struct local_dir *root, enum local_links links)
{
	if (p->root == root && p->links == links)
		return;
	cut(p, 0);
	local_dir_ref(root);
	local_dir_unref(p->root);
	p->root = root;
	p->links = links;
}

/* Length of the first component of path, without a slash; 0: it is none. */
static size_t
component(const char *path)
{
	size_t len = strcspn(path, "/");

	if ((len == 1 && path[0] == '.') ||
	    (len == 2 && path[0] == '.' && path[1] == '.'))
		return 0;
	return len;
}

/* True if the way has more than n steps, and step n is called name. */
static bool
leads_to(const struct xfer_places *p, size_t n, const char *name, size_t len)
{
	return n < p->n && strlen(p->steps[n].name) == len &&
	    memcmp(p->steps[n].name, name, len) == 0;
}

static bool
make_room(struct xfer_places *p)
{
	size_t room = p->room != 0 ? 2 * p->room : 16;
	struct xfer_step *more;

	if (p->n < p->room)
		return true;
	more = reallocarray(p->steps, room, sizeof *more);
	if (more == NULL)
		return false;
	p->steps = more;
	p->room = room;
	return true;
}

/* Finds the directory s->name, or makes it: 0, or an errno. */
static int
open_step(const struct xfer_places *p, struct local_dir *above,
    struct xfer_step *s)
{
	struct stat st;
	bool made;

	if (local_stat(above, s->name, p->links, &st) != 0) {
		if (errno != ENOENT || !p->makes)
			return errno;
		return local_make(above, s->name, S_IRWXU, p->links, &s->dir,
		    &made) == 0 ? 0 : errno;
	}
	if (S_ISLNK(st.st_mode))
		return p->links == LOCAL_LINKS_NONE ? ELOOP : ENOLINK;
	if (!S_ISDIR(st.st_mode))
		return ENOTDIR;
	s->dir = local_child(above, s->name, &st, p->links);
	return s->dir != NULL ? 0 : ENOMEM;
}

/* Adds the directory of that name to the end of the way. 0, or -1 with
 * errno. */
static int
step(struct xfer_places *p, const char *path, size_t len)
{
	struct local_dir *above = p->n > 0 ? p->steps[p->n - 1].dir : p->root;
	struct xfer_step s = { .name = strndup(path, len) };
	int error = ENOMEM;

	if (s.name != NULL && make_room(p))
		error = open_step(p, above, &s);
	if (error == 0) {
		p->steps[p->n++] = s;
		return 0;
	}
	free(s.name);
	errno = error;
	return -1;
}

/* Follows path to the directory of its last part, or, if whole, to that part.
 * The rest of the path, or NULL with errno. */
static const char *
follow(struct xfer_places *p, const char *path, bool whole)
{
	size_t n = 0, len;

	while ((len = component(path)) > 0 && (whole || path[len] == '/')) {
		if (!leads_to(p, n, path, len)) {
			cut(p, n);
			if (step(p, path, len) != 0)
				return NULL;
		}
		n++;
		path += len;
		if (*path == '\0')
			break;
		path++;
	}
	if (whole ? *path != '\0' : len == 0) {
		errno = EINVAL;
		return NULL;
	}
	cut(p, n);
	return path;
}

static struct local_dir *
end_of(const struct xfer_places *p)
{
	return local_dir_ref(p->n > 0 ? p->steps[p->n - 1].dir : p->root);
}

static bool
is_root(const char *path)
{
	return *path == '\0' || strcmp(path, ".") == 0;
}

struct local_dir *
xfer_place_of(struct xfer_places *p, const struct xfer_below *b,
    const char **name)
{
	begin(p, b->root, b->links);
	*name = is_root(b->path) ? "." : follow(p, b->path, false);
	if (is_root(b->path))
		cut(p, 0);
	return *name != NULL ? end_of(p) : NULL;
}

struct local_dir *
xfer_place_dir(struct xfer_places *p, const struct xfer_below *b)
{
	begin(p, b->root, b->links);
	if (is_root(b->path))
		cut(p, 0);
	else if (follow(p, b->path, true) == NULL)
		return NULL;
	return end_of(p);
}

void
xfer_place_forget(struct xfer_places *p, const struct xfer_below *b)
{
	const char *path = b->path;
	size_t n = 0, len;

	if (p->root != b->root)
		return;
	while ((len = component(path)) > 0 && leads_to(p, n, path, len)) {
		n++;
		path += len;
		if (*path == '\0') {
			cut(p, n - 1);
			return;
		}
		path++;
	}
}
