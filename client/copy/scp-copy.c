/* SPDX-License-Identifier: ISC */
#include "client/copy/scp-copy.h"

#include "config.h"

#include <sys/stat.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/child.h"
#include "base/mem.h"
#include "base/screen.h"
#include "base/str.h"
#include "client/copy/scp-hosts.h"
#include "client/copy/scp-manifest.h"
#include "client/copy/scp-targets.h"
#include "client/copy/direct.h"
#include "xfer/progress.h"
#include "xfer/sftp/remote-glob.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/transfer/transfer.h"

/* ---- names -------------------------------------------------------------- */

static void
check_memory(struct scp *scp, const char *what, int err)
{
	if (err < 0)
		scp_die(scp, what, err_text(err));
}

static char *
target_name(struct scp *scp, const char *target, bool is_dir,
    const char *source)
{
	char *name = scp_target_name(target, is_dir, source);

	check_memory(scp, source, name == NULL ? ERR_NOMEM : 0);
	return name;
}

struct question {
	const char *path;
	/* A second path, asked for in the same flight; NULL: there is none. */
	const char *inside;
	bool follow;
	struct sftp_attrs attrs;
	bool inside_answered;
	bool inside_is_new; /* nothing has that name */
};

static void
on_inside(void *arg, const struct sftp_reply *reply)
{
	struct question *q = arg;

	q->inside_answered = true;
	q->inside_is_new = reply->err == 0 &&
	    reply->status == SFTP_NO_SUCH_FILE;
}

static int
call_stat(struct sftp *s, void *arg)
{
	struct question *q = arg;
	int r, ended = 0;

	q->inside_answered = q->inside_is_new = false;
	if (q->inside != NULL)
		sftp_path_request(s, SFTP_STAT, q->inside, on_inside, q);
	r = sftp_call_stat(s, q->path, q->follow, &q->attrs);
	if (q->inside != NULL)
		ended = sftp_run_until(s, &q->inside_answered);
	return ended != 0 ? ended : r;
}

static int
call_mkdir(struct sftp *s, void *arg)
{
	const struct question *q = arg;

	return sftp_call_mkdir(s, q->path, &q->attrs);
}

/* Makes the target directory if it does not exist, as OpenSSH's scp does. */
static void
make_remote_dir(struct scp *scp, struct scp_host *host, const char *path)
{
	struct question q = { .path = path,
		.attrs = { .flags = SFTP_A_MODE, .mode = 0777 } };
	int r = scp_host_call(scp, host, call_mkdir, &q);

	if (r != 0)
		scp_refuse(scp, path, sftp_call_words(r));
	scp->made = true;
}

/* As remote_is_dir(), and tells whether the target is new: *is_new is true if
 * nothing has its name. Its name is `inside` if path is a directory, else path.
 * inside NULL: a name in the directory is not looked for. */
static bool
remote_place(struct scp *scp, struct scp_host *host, const char *path,
    bool needed, const char *inside, bool *is_new)
{
	struct question q = { .path = path, .inside = inside, .follow = true };
	bool is_dir, is_home = strcmp(path, ".") == 0;
	int r;

	*is_new = false;
	if (is_home && inside == NULL)
		return true; /* known without a round trip */
	r = scp_host_call(scp, host, call_stat, &q);
	*is_new = q.inside_is_new;
	if (is_home)
		return true;
	if (r == SFTP_NO_SUCH_FILE && needed) {
		make_remote_dir(scp, host, path);
		return true;
	}
	is_dir = r == 0 && (q.attrs.flags & SFTP_A_MODE) &&
	    S_ISDIR(q.attrs.mode);
	/* An unknown state ends the program: if path is a directory after all,
	 * a tree that is meant to go into it would be merged with it. */
	if (r != 0 && r != SFTP_NO_SUCH_FILE)
		scp_die(scp, path, sftp_call_words(r));
	if (needed && !is_dir)
		scp_refuse(scp, path, strerror(ENOTDIR));
	if (!is_dir)
		*is_new = r == SFTP_NO_SUCH_FILE;
	return is_dir;
}

/* Whether path is a directory. needed: it has to be one, so a missing one is
 * made, and with a file in its place the program ends. */
static bool
remote_is_dir(struct scp *scp, struct scp_host *host, const char *path,
    bool needed)
{
	bool is_new;

	return remote_place(scp, host, path, needed, NULL, &is_new);
}

static bool
local_is_dir(struct scp *scp, const char *path, bool needed)
{
	struct stat st;
	bool exists = stat(path, &st) == 0;
	bool is_dir = exists && S_ISDIR(st.st_mode);

	if (!exists && errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
		scp_die(scp, path, strerror(errno));
	if (needed && !is_dir)
		scp_die(scp, path, strerror(exists ? ENOTDIR : ENOENT));
	return is_dir;
}

/* Whether the target of n sources that a pattern matched is a directory. For
 * two or more sources it has to be one, and is made. */
static bool
local_dir_for(struct scp *scp, const char *path, size_t n)
{
	struct stat st;
	bool is_dir = local_is_dir(scp, path, scp->need_dir);
	char *shown, *line;

	if (is_dir || n < 2)
		return is_dir;
	if (stat(path, &st) == 0) {
		shown = xstr_escape(path);
		xasprintf(&line, "Multiple files match pattern, but "
		    "destination \"%s\" is not a directory", shown);
		scp_die_line(scp, path, line);
	}
	if (mkdir(path, 0777) == -1)
		scp_die(scp, path, strerror(errno));
	scp->made = true;
	return true;
}

struct expansion {
	const char *pattern;
	struct strlist *names;
};

static int
call_glob(struct sftp *s, void *arg)
{
	struct expansion *e = arg;
	struct strlist found = { NULL, 0 };
	int r = remote_glob(s, e->pattern, &found);

	for (size_t i = 0; i < found.n && r == 0; i++)
		r = strlist_add(e->names, found.v[i]);
	strlist_clear(&found);
	return r;
}

/* Appends the names that a remote source stands for. */
static void
expand_source(struct scp *scp, struct scp_host *host,
    const struct xfer_target *source, struct strlist *names)
{
	char *pattern = scp_host_path(scp, host, source->path), *name;
	struct expansion e = { .pattern = pattern, .names = names };
	size_t before = names->n;

	if (pattern == NULL)
		return;
	if (remote_glob_has_magic(pattern))
		(void)scp_host_call(scp, host, call_glob, &e);
	/* A pattern that matches nothing may be a name: file[1].txt */
	if (names->n == before) {
		name = remote_glob_unescape(pattern);
		check_memory(scp, pattern, name == NULL ? ERR_NOMEM : 0);
		check_memory(scp, "memory", strlist_add(names, name));
		free(name);
	}
	free(pattern);
}

/* ---- transfers ---------------------------------------------------------- */

/* Transfers that run at the same time. No two of them may write to the same
 * file, which targets is for. */
struct batch {
	struct scp *scp;
	struct scp_host *host;
	/* The target's host in a copy from host to host; else NULL. */
	struct scp_host *to;
	struct xfer *x;
	bool up;
	struct scp_targets targets;
};

static void
batch_begin(struct batch *b, struct scp *scp, struct scp_host *host,
    struct scp_host *to)
{
	struct xfer_streams streams = remote_streams(host->remote);
	const struct xfer_opts opts = scp_host_opts(scp, host);
	const struct xfer_opts plain = { .recursive = scp->recursive,
		.preserve = opts.preserve, .in_place = true,
		.rate_bytes = scp->xfer.rate_bytes,
		.check_space = scp->xfer.check_space,
		.space_by = scp->xfer.space_by,
		.progress = scp->xfer.progress, .report = scp_report,
		.note = scp_note, .report_arg = scp };

	*b = (struct batch){ .scp = scp, .host = host, .to = to };
	check_memory(scp, "memory", to != NULL ?
		xfer_new_between(&b->x, host->sftp, to->sftp, &plain) :
		xfer_new(&b->x, &streams, host->sftp, &opts));
	scp->resumes = opts.resume;
}

/* With --fsync, has the name of a target directory that this copy made written
 * to the disk. A server without fsync@openssh.com is refused. */
static void
batch_settle(struct batch *b, const char *dir)
{
	struct scp *scp = b->scp;

	if (!scp->xfer.fsync)
		return;
	if (b->up && !scp_host_has(scp, b->host, SFTP_EXT_FSYNC))
		scp_die(scp, "--fsync", "the server cannot tell when a copy "
		    "is on its disk: it has no fsync@openssh.com");
	if (scp->made)
		check_memory(scp, "memory", xfer_made(b->x, b->up, dir));
	scp->made = false;
}

static void
batch_run(struct batch *b)
{
	struct buf why;
	int r;

	b->scp->between = b->to != NULL;
	r = scp_run(b->scp, b->x);
	if (xfer_failures(b->x) > 0)
		b->scp->failed = true;
	buf_init(&why);
	if (b->scp->flags.verbose && xfer_why(b->x, &why)) {
		screen_clear();
		fprintf(stderr, "%.*s\n", (int)buf_len(&why),
		    (const char *)buf_data(&why));
	}
	buf_clear(&why);
	(void)scp_host_result(b->scp, r);
	xfer_free(b->x);
	scp_targets_clear(&b->targets);
}

/* Adds a target to the batch. If the transfer to it cannot run together with
 * those in the batch, these are run first. */
static void
batch_add_target(struct batch *b, const char *to)
{
	if (scp_targets_collide(&b->targets, to)) {
		batch_run(b);
		batch_begin(b, b->scp, b->host, b->to);
	}
	check_memory(b->scp, "memory", scp_targets_add(&b->targets, to));
}

/* Sum of the sizes of the sources that are files; those in directories are not
 * known yet. */
static uint64_t
bytes_of(const struct xfer_target *sources, int n)
{
	uint64_t sum = 0;
	struct stat st;

	for (int i = 0; i < n; i++)
		if (stat(sources[i].path, &st) == 0 && S_ISREG(st.st_mode))
			sum += (uint64_t)st.st_size;
	return sum;
}

/* Notes for the exit status that a source is missing. The transfer reports it,
 * and goes on with the other sources. */
static void
note_missing(struct scp *scp, const char *path)
{
	struct stat st;
	int r = scp->xfer.links ? lstat(path, &st) : stat(path, &st);

	if (r == -1)
		scp->source_missing = true;
}

/* The target of a single small file, if dir is a directory. Whether something
 * has its name decides if its data can leave with its OPEN (xfer_put_new()),
 * and is asked for only where that costs no round trip: a small file waits for
 * the server's version anyway. NULL: it need not be known. */
static char *
small_inside(struct scp *scp, const struct scp_host *host,
    const struct xfer_target *sources, int n, const char *dir)
{
	struct stat st;

	if (n != 1 || stat(sources[0].path, &st) != 0 ||
	    !S_ISREG(st.st_mode) || st.st_size > SFTP_DATA_DEFAULT ||
	    (strcmp(dir, ".") == 0 && sftp_has_version(host->sftp)))
		return NULL;
	return target_name(scp, dir, true, sources[0].path);
}

static void
upload(struct scp *scp, const struct xfer_target *sources, int n,
    const struct xfer_target *target)
{
	struct scp_host *host = scp_host_of(scp, target, bytes_of(sources, n));
	char *dir = scp_host_path(scp, host, target->path), *to, *inside;
	struct batch batch;
	bool is_dir, is_new;

	if (dir == NULL)
		return;
	inside = small_inside(scp, host, sources, n, dir);
	is_dir = remote_place(scp, host, dir, scp->need_dir, inside, &is_new);
	free(inside);
	scp_manifest_top(scp, dir);
	batch_begin(&batch, scp, host, NULL);
	batch.up = true;
	batch_settle(&batch, dir);
	for (int i = 0; i < n; i++) {
		note_missing(scp, sources[i].path);
		to = target_name(scp, dir, is_dir, sources[i].path);
		batch_add_target(&batch, to);
		check_memory(scp, "memory", n == 1 && is_new ?
			xfer_put_new(batch.x, sources[i].path, to) :
			xfer_put(batch.x, sources[i].path, to));
		free(to);
	}
	batch_run(&batch);
	free(dir);
}

/* Copies one source from b->host. */
static void
fetch(struct batch *b, const char *name, const char *dir, bool is_dir)
{
	struct scp *scp = b->scp;
	struct question q = { .path = name, .follow = !scp->xfer.links };
	char *to;
	int r = scp_host_call(scp, b->host, call_stat, &q);

	if (r != 0) {
		scp_report(scp, NULL, name, sftp_call_words(r));
		return;
	}
	to = target_name(scp, dir, is_dir, name);
	batch_add_target(b, to);
	check_memory(scp, "memory", b->to != NULL ?
		xfer_copy(b->x, name, &q.attrs, to) :
		xfer_get(b->x, name, &q.attrs, to));
	free(to);
}

/* Downloads all sources, which are on one host. */
static void
download(struct scp *scp, const struct xfer_target *sources, int n,
    const struct xfer_target *target)
{
	struct scp_host *host = scp_host_of(scp, &sources[0], 0);
	struct strlist names = { NULL, 0 };
	struct batch batch;
	bool is_dir;

	for (int i = 0; i < n; i++)
		expand_source(scp, host, &sources[i], &names);
	is_dir = local_dir_for(scp, target->path, names.n);
	scp_manifest_top(scp, target->path);
	batch_begin(&batch, scp, host, NULL);
	batch_settle(&batch, target->path);
	for (size_t i = 0; i < names.n; i++)
		fetch(&batch, names.v[i], target->path, is_dir);
	batch_run(&batch);
	strlist_clear(&names);
}

/* Ends the program if an option was given that only copies between this host
 * and another one obey. */
static void
refuse_engine_options(struct scp *scp)
{
	if (scp->engine_only || scp->resume)
		scp_die(scp,
		    "-j, -Z, --fsync, --hard-links, --in-place, --links, "
		    "--manifest, --retry, --sparse, --verify",
		    "of use between this host and another only");
}

/* Copies a source from host to host, through this one. */
static void
copy_between(struct scp *scp, const struct xfer_target *source,
    const struct xfer_target *target)
{
	struct scp_host *from = scp_host_of(scp, source, 0);
	struct scp_host *to = scp_host_of(scp, target, 0);
	struct strlist names = { NULL, 0 };
	char *dir = scp_host_path(scp, to, target->path);
	struct batch batch;
	bool is_dir;

	refuse_engine_options(scp);
	if (dir == NULL)
		return;
	expand_source(scp, from, source, &names);
	is_dir = remote_is_dir(scp, to, dir, scp->need_dir || names.n > 1);
	batch_begin(&batch, scp, from, to);
	for (size_t i = 0; i < names.n; i++)
		fetch(&batch, names.v[i], dir, is_dir);
	batch_run(&batch);
	strlist_clear(&names);
	free(dir);
}

/* Copies sources that are all on one host by --direct, without this machine in
 * between. False: that cannot be done, and copy_between() is to do it. */
static bool
copy_directly(struct scp *scp, const struct xfer_target *sources, int n,
    const struct xfer_target *target)
{
	struct scp_host *to = scp_host_of(scp, target, 0);
	char *dir = scp_host_path(scp, to, target->path);
	bool done = true, is_dir;

	if (dir != NULL) {
		is_dir = remote_is_dir(scp, to, dir, scp->need_dir || n > 1);
		done = direct_copy(scp, sources, n, to, dir, is_dir);
	}
	free(dir);
	return done;
}

/* The same with --direct=pull. */
static bool
pull_directly(struct scp *scp, const struct xfer_target *sources, int n,
    const struct xfer_target *target)
{
	struct scp_host *from = scp_host_of(scp, &sources[0], 0);
	char *path;
	bool done = true;

	if (n > 1 && direct_is_summed(scp))
		scp_die(scp, "--direct with --verify or --receipt",
		    "with pull, only one source goes from host to host");
	if (n > 1) {
		scp_note(scp, NULL, "the copy goes through this machine: with "
		    "pull, only one source goes from host to host");
		return false;
	}
	path = scp_host_path(scp, from, sources[0].path);
	if (path != NULL)
		done = direct_pull(scp, from, path, target);
	free(path);
	return done;
}

/* ---- by other means ----------------------------------------------------- */

/* Notes that another program has failed, which has told the user why. A reader
 * of events (--json) gets an event, too, unless one was sent about it: before
 * is the number of error events before that program ran. */
static void
tell_failed(struct scp *scp, const char *source, unsigned long before)
{
	struct progress *p = scp->xfer.progress;

	scp->failed = true;
	if (progress_errors(p) == before)
		progress_error(p, "file", source, "not copied");
}

/* Copies on this machine are cp(1)'s work. */
static void
copy_here(struct scp *scp, const char *source, const char *target)
{
	const char *argv[7] = { "cp" };
	int n = 1;
	pid_t pid;

	refuse_engine_options(scp);
	if (scp->report != NULL)
		scp_die(scp, "--report", "of use with SFTP only");
	if (scp->recursive)
		argv[n++] = "-r";
	if (scp->preserve)
		argv[n++] = "-p";
	argv[n++] = "--";
	argv[n++] = source;
	argv[n++] = target;
	if (child_spawn(&pid, (char **)argv, -1, -1) != 0)
		scp_die(scp, "cp", strerror(errno));
	if (child_wait(pid) != 0)
		tell_failed(scp, source, progress_errors(scp->xfer.progress));
}

/* Copies sources, all on one host, by the legacy protocol if that is wanted.
 * Returns how many were handled; 0: SFTP is to copy them. */
static int
copy_legacy(struct scp *scp, const struct xfer_target *sources, int n,
    const struct xfer_target *target)
{
	unsigned long before = progress_errors(scp->xfer.progress);
	bool ok;

	if (sources[0].remote && target->remote && scp->direct)
		n = 1;
	else if (!scp->use_legacy || (!sources[0].remote && !target->remote))
		return 0;
	if (!sources[0].remote) {
		ok = legacy_upload(sources, n, target, &scp->legacy);
	} else if (!target->remote) {
		ok = legacy_download(sources, n, target, &scp->legacy);
	} else {
		n = 1;
		ok = scp->direct ?
		    legacy_direct(sources, target, &scp->legacy) :
		    legacy_between(sources, target, &scp->legacy);
	}
	if (!ok)
		tell_failed(scp, sources[0].path, before);
	return n;
}

/* ---- all of it ---------------------------------------------------------- */

/* How many sources, from the first on, are on the same host as the first, or
 * are local as it is. */
static int
count_same_host(const struct xfer_target *sources, int n)
{
	int i = 1;

	while (i < n && xfer_target_same_host(&sources[0], &sources[i]))
		i++;
	return i;
}

/* Copies one or more of the sources, from the first on; returns how many. */
static int
copy_some(struct scp *scp, const struct xfer_target *sources, int n,
    const struct xfer_target *target)
{
	int same = count_same_host(sources, n);
	int done = copy_legacy(scp, sources, same, target);

	if (done > 0)
		return done;
	if (!sources[0].remote && target->remote) {
		upload(scp, sources, same, target);
		return same;
	}
	if (sources[0].remote && !target->remote) {
		download(scp, sources, same, target);
		return same;
	}
	if (sources[0].remote && scp->hosts_copy && (scp->hosts_pull ?
		pull_directly(scp, sources, same, target) :
		copy_directly(scp, sources, same, target)))
		return same;
	if (sources[0].remote) {
		copy_between(scp, sources, target);
		return 1;
	}
	(void)local_is_dir(scp, target->path, scp->need_dir);
	copy_here(scp, sources[0].path, target->path);
	return 1;
}

void
scp_copy_all(struct scp *scp, const struct xfer_target *sources, int n,
    const struct xfer_target *target)
{
	for (int i = 0; i < n && !scp->full;)
		i += copy_some(scp, &sources[i], n - i, target);
}
