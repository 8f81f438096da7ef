/* SPDX-License-Identifier: ISC */
/*
 * Finds the further directories of the target's host: those of --link-dest and
 * its kin, and that of --temp-dir. A server that is confined has to be confined
 * to a directory that has them and the target below it. So all are named by
 * their real paths: the deepest such directory then follows from the names, and
 * no link is on the way to any of them.
 */
#include "client/sync/sync-run.h"

#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "xfer/sync/sync-path.h"

/* The real path, from the target's server. The caller frees it; NULL: there is
 * no such path. */
static char *
real_path(struct sync_run *run, const char *path)
{
	struct sftp *s = sync_end_of(run, false)->s;
	char *real = NULL;
	int r = sftp_call_name(s, SFTP_REALPATH, path, &real);

	if (r < 0)
		sync_lost(run, r);
	if (r == 0 && real != NULL && real[0] == '/')
		return real;
	free(real);
	return NULL;
}

static bool
is_dir(struct sync_run *run, const char *path)
{
	struct sftp_attrs attrs;
	int r = sftp_call_stat(sync_end_of(run, false)->s, path, true,
	    &attrs);

	if (r < 0)
		sync_lost(run, r);
	return r == 0 && (attrs.flags & SFTP_A_MODE) && S_ISDIR(attrs.mode);
}

/* Sets the target's path to its real path. If the target is not there yet, the
 * directory that it is in has the real path. */
static void
find_real_target(struct sync_run *run)
{
	char *path = xstrdup(run->target_path), *real, *slash;
	char *last = NULL;
	const char *above = path;
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
	if (!is_dir(run, path)) {
		/* A server that is confined could not make the parents any
		 * more. */
		if (run->args.make_path && !run->args.opts.dry_run)
			sync_make_parents(run, path);
		slash = strrchr(path, '/');
		last = xstrdup(slash != NULL ? slash + 1 : path);
		above = slash == NULL ? "." : slash == path ? "/" : path;
		if (slash != NULL)
			*slash = '\0';
	}
	real = real_path(run, above);
	if (real == NULL || (last != NULL && !is_dir(run, above)))
		sync_die(run, SYNC_EXIT_FILES, above, "is no directory, in "
		    "which the target could be made");
	free(run->target_path);
	run->target_path = sync_path_below(real, last != NULL ? last : "");
	free(last);
	free(real);
	free(path);
}

/* Removes ".." and "." from a path, without a look at the file system. */
static void
take_dots_out(char *path)
{
	char *to = path, *from = path;

	while (*from != '\0') {
		size_t len = strcspn(++from, "/");

		if (len == 2 && memcmp(from, "..", 2) == 0) {
			while (to > path && *--to != '/')
				;
		} else if (len > 0 && !(len == 1 && *from == '.')) {
			*to++ = '/';
			memmove(to, from, len);
			to += len;
		}
		from += len;
	}
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

/* The part of a real path that is below the target; NULL if it is not below. */
static const char *
inside(const struct sync_run *run, const char *real)
{
	size_t len = strlen(run->target_path);

	len -= run->target_path[len - 1] == '/';
	return strncmp(real, run->target_path, len) == 0 && real[len] == '/' ?
	    real + len + 1 : NULL;
}

static void
note(struct sync_run *run, const char *real)
{
	const char *below = inside(run, real);

	xstrlist_add(&run->dests, real);
	if (below != NULL)
		xstrlist_add(&run->dests_inside, below);
}

/* The path of a further directory that is named absolutely, or relative to the
 * target. The target is a real path, and need not exist yet. */
static char *
named_path(const struct sync_run *run, const char *named)
{
	char *path = *named == '/' ? xstrdup(named) :
	    sync_path_below(run->target_path, named);

	if (*named != '/')
		take_dots_out(path);
	return path;
}

static void
add(struct sync_run *run, const char *named)
{
	char *path = named_path(run, named), *real;

	real = is_dir(run, path) ? real_path(run, path) : NULL;
	if (real == NULL)
		sync_tell_note(run, path, "is not there: nothing is compared "
		    "with it");
	else if (strcmp(real, run->target_path) != 0)
		note(run, real);
	free(real);
	free(path);
}

/* Adds a --temp-dir below the target under its path there; no link on the way
 * to it is followed. */
static void
add_near_temp(struct sync_run *run)
{
	char *path;

	xasprintf(&path, "/%s", run->args.temp_dir);
	take_dots_out(path);
	if (path[1] == '\0')
		sync_die(run, SYNC_EXIT_REFUSED, "--temp-dir", "is the target, "
		    "where parts are made without it");
	sync_temp_named(run, sync_path_below(run->target_path, path + 1),
	    path + 1);
	free(path);
}

static void
add_far_temp(struct sync_run *run)
{
	char *path = named_path(run, run->args.temp_dir), *real;

	real = is_dir(run, path) ? real_path(run, path) : NULL;
	if (real == NULL)
		sync_die(run, SYNC_EXIT_USAGE, path, "is no directory, in "
		    "which --temp-dir could make parts");
	free(path);
	if (strcmp(real, run->target_path) == 0)
		sync_die(run, SYNC_EXIT_REFUSED, "--temp-dir", "is the target, "
		    "where parts are made without it");
	if (run->up)
		sync_cut_to_common(run->target_top, real);
	sync_temp_named(run, real, inside(run, real));
}

void
sync_dests_find(struct sync_run *run)
{
	const struct strlist *named = &run->args.dests;
	bool far = sync_temp_is_far(run);

	run->target_top = NULL;
	if (named->n == 0 && !far && run->args.temp_dir != NULL)
		add_near_temp(run);
	if (named->n == 0 && !far && run->args.given.direct == SYNC_DIRECT_NO)
		return;
	while (!sftp_is_ready(sync_end_of(run, false)->s))
		sync_hosts_turn(run, 100);
	sync_own_ask(run);
	sync_way_ask(run);
	sync_way_check(run);
	find_real_target(run);
	if (named->n == 0 && !far)
		return; /* --direct only needs the real path */
	run->target_top = xstrdup(run->target_path);
	for (size_t i = 0; i < named->n; i++)
		add(run, named->v[i]);
	for (size_t i = 0; i < run->dests.n; i++)
		sync_cut_to_common(run->target_top, run->dests.v[i]);
	if (far)
		add_far_temp(run);
	else if (run->args.temp_dir != NULL)
		add_near_temp(run);
}
