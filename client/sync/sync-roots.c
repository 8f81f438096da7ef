/* SPDX-License-Identifier: ISC */
/*
 * Finds the roots of a run: the sources of the command line, or the lists of
 * --files-from, each with its place at the target.
 */
#include "client/sync/sync-run.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/open-named.h"
#include "base/str.h"
#include "xfer/sftp/remote-glob.h"

static enum sync_kind
kind_here(const struct sync_run *run, const char *path)
{
	size_t len = strlen(path);
	struct stat st;
	int r = run->args.opts.copy_links || path[len - 1] == '/' ?
	    stat(path, &st) : lstat(path, &st);

	if (r == -1)
		return SYNC_KIND_MISSING;
	return S_ISDIR(st.st_mode) ? SYNC_KIND_DIR : SYNC_KIND_OTHER;
}

static bool
sources_are_remote(const struct sync_run *run)
{
	return run->sources[0].remote;
}

static enum sync_kind
source_kind(void *arg, const char *path)
{
	struct sync_run *run = arg;

	return sources_are_remote(run) ? sync_host_kind(run,
	    sync_end_of(run, true), path) :
					 kind_here(run, path);
}

static void
source_missing(void *arg, const char *path)
{
	sync_tell_fail(arg, path, strerror(ENOENT));
}

static void
source_skipped(void *arg, const char *path)
{
	sync_tell_note(arg, path, "is a directory, and is skipped: -r");
}

/* Adds what a source of the host stands for, which may be a pattern. */
static void
add_remote(struct sync_run *run, const struct sync_names *n, const char *path)
{
	struct strlist names = { NULL, 0 };
	char *full = sync_host_path(run, sync_end_of(run, true), path);
	int r = 0;

	if (remote_glob_has_magic(full))
		r = remote_glob(sync_end_of(run, true)->s, full, &names);
	if (r < 0)
		sync_lost(run, r);
	if (names.n == 0)
		xstrlist_add(&names, full);
	for (size_t i = 0; i < names.n; i++)
		if (sync_names_add(&run->roots, n, names.v[i]) != 0)
			sync_die(run, SYNC_EXIT_FILES, names.v[i],
			    "has a \"..\", which -R cannot keep");
	strlist_clear(&names);
	free(full);
}

/* Reads the list of --files-from; NULL: it is told why not. */
static void
read_list(struct sync_run *run, struct buf *out)
{
	enum { LIST_MAX = 1 << 30 };
	const char *path = run->args.files_from;
	int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) :
					  open_named(path, O_RDONLY, 0);
	uint8_t block[65536];
	ssize_t n;

	if (fd < 0)
		sync_die(run, SYNC_EXIT_USAGE, path, strerror(errno));
	while ((n = fd_read(fd, block, sizeof block)) > 0) {
		buf_put(out, block, (size_t)n);
		if (buf_len(out) > LIST_MAX)
			sync_die(run, SYNC_EXIT_FILES, path, "is too long");
	}
	if (n < 0)
		sync_die(run, SYNC_EXIT_FILES, path, strerror(errno));
	close(fd);
}

static void
add_list(struct sync_run *run, const struct sync_names *n)
{
	char *top = sources_are_remote(run) ?
	    sync_host_path(run, sync_end_of(run, true),
		run->sources[0].path) :
	    xstrdup(run->sources[0].path);
	struct buf text;

	if (run->n_sources != 1)
		sync_die(run, SYNC_EXIT_USAGE, "--files-from",
		    "takes one source, which its names are below");
	buf_init(&text);
	read_list(run, &text);
	if (sync_names_add_list(&run->roots, n, top,
		(const char *)buf_data(&text), buf_len(&text),
		run->args.from0) != 0)
		sync_die(run, SYNC_EXIT_FILES, run->args.files_from,
		    "has a name with \"..\"");
	buf_clear(&text);
	free(top);
}

/* Ends the program if too many sources have their contents in one directory:
 * they are read side by side, and our server allows a limited number of walks
 * at a time. */
static void
count_sources(struct sync_run *run)
{
	enum { SOURCES_MAX = 60 };
	const struct sync_root *r;
	const struct sftp *s = sync_end_of(run, true)->s;

	if (sources_are_remote(run) && sftp_has_version(s) &&
	    !sftp_has(s, SFTP_EXT_WALK))
		return;
	TAILQ_FOREACH(r, &run->roots, entry)
		if (r->sources.n > SOURCES_MAX)
			sync_die(run, SYNC_EXIT_REFUSED, r->sources.v[0],
			    "and others: more than 60 sources whose contents "
			    "go to one directory; use several runs");
}

/* Removes a root whose top directory is hidden by a rule: the run takes it for
 * missing. */
static void
hide_roots(struct sync_run *run)
{
	struct sync_root *r, *after;

	for (r = TAILQ_FIRST(&run->roots); r != NULL; r = after) {
		after = TAILQ_NEXT(r, entry);
		if (!r->names_only && *r->mount != '\0' &&
		    sync_rules_hides(run->args.rules, 0, r->mount, true))
			sync_names_remove(&run->roots, r);
	}
}

void
sync_find_roots(struct sync_run *run)
{
	const struct sync_names n = { .recursive = run->args.opts.recursive,
		.dirs = run->args.opts.dirs,
		.relative = run->args.relative,
		.implied_dirs = !run->args.no_implied_dirs,
		.kind = source_kind, .missing = source_missing,
		.skipped = source_skipped, .arg = run };

	TAILQ_INIT(&run->roots);
	if (run->args.files_from != NULL) {
		add_list(run, &n);
	} else {
		for (int i = 0; i < run->n_sources; i++) {
			const char *path = run->sources[i].path;

			if (sources_are_remote(run))
				add_remote(run, &n, path);
			else if (sync_names_add(&run->roots, &n, path) != 0)
				sync_die(run, SYNC_EXIT_FILES, path,
				    "has a \"..\", which -R cannot keep");
		}
	}
	sync_must(sync_names_finish(&run->roots));
	hide_roots(run);
	count_sources(run);
	/* Without -r, the directories that were named are not in the list by
	 * now. With --dirs the run then makes those above files. */
	if (run->args.relative && !run->args.no_implied_dirs &&
	    !run->args.opts.recursive)
		run->args.opts.dirs = true;
}
