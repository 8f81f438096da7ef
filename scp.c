/* SPDX-License-Identifier: ISC */
/*
 * hpnscp: copies files between hosts, through SFTP. This file is argv, the
 * connections, and what goes where; xfer/ moves it.
 */
#include "config.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <search.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/remote-child.h"
#include "client/remote.h"
#include "client/scp-legacy.h"
#include "crypto/library.h"
#include "xfer/progress.h"
#include "xfer/sftp/remote-glob.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/target.h"
#include "xfer/transfer/copy-between.h"
#include "xfer/transfer/transfer.h"

enum {
	EXIT_UNREACHABLE = 255, /* no connection, as ssh */
};

extern char **environ;

/* One server, and the transfers with it. */
struct conn {
	struct xfer_target where;
	struct remote *remote;
	struct sftp *sftp; /* its first session */
	struct conn *next;
};

static struct {
	struct strlist ssh_args; /* handed on to the ssh program */
	const char *ssh_program, *sftp_server;
	int port; /* 0: none given */
	bool recursive, preserve, quiet, verbose, clear;
	bool legacy, direct;	 /* -O; -R */
	bool engine_only;	 /* what only transfers by SFTP can do */
	enum progress_style style; /* TTY: if there is one */
	bool is_sink, is_source; /* -t, -f: the other end of a legacy copy */
	struct legacy_opts copy;
	struct xfer_opts xfer;
	struct loop *loop;
	struct conn *conns;
	bool failed;
} g = { .style = PROGRESS_TTY };

_Noreturn static void
usage(void)
{
	fprintf(stderr,
	    "usage: hpnscp [-346ABCOpqRrsTvZz] [-c cipher] "
	    "[-D sftp_server_path]\n"
	    "              [-F ssh_config] [-i identity_file] "
	    "[-J destination]\n"
	    "              [-j connections] [-l limit] [-o ssh_option] "
	    "[-P port]\n"
	    "              [-S program] [-X sftp_option] [--hard-links] "
	    "[--in-place]\n"
	    "              [--json] [--links] [--progress=tty|plain|none] "
	    "[--retry[=times]]\n"
	    "              [--sparse] [--verify] source ... target\n");
	exit(1);
}

static void
tell(const char *path, const char *text)
{
	size_t size = strlen(path) * 4 + 1;
	char *shown = xmalloc(size);

	str_escape(shown, size, path);
	fprintf(stderr, "hpnscp: %s: %s\n", shown, text);
	free(shown);
}

/* One line about one thing that went wrong; the rest goes on. */
static void
report(void *arg, const char *path, const char *text)
{
	(void)arg;
	progress_error(g.xfer.progress, path, text);
	tell(path, text);
	g.failed = true;
}

/* The same of what is no failure. */
static void
note(void *arg, const char *path, const char *text)
{
	(void)arg;
	if (g.quiet)
		return;
	if (path != NULL)
		tell(path, text);
	else
		fprintf(stderr, "hpnscp: %s\n", text);
}

_Noreturn static void
die(const char *path, const char *text)
{
	progress_clear_line(g.xfer.progress);
	report(NULL, path, text);
	progress_end_events(g.xfer.progress, loop_now_ms());
	exit(1);
}

/* --- connections --- */

static void
add_arg(struct strlist *l, const char *arg)
{
	if (strlist_add(l, arg) < 0)
		die("memory", err_text(ERR_NOMEM));
}

static void
copy_place(struct xfer_target *to, const struct xfer_target *from)
{
	*to = (struct xfer_target){ .remote = true, .port = from->port,
		.host = xstrdup(from->host),
		.user = from->user != NULL ? xstrdup(from->user) : NULL };
}

/* Whether a server that was asked never answered. */
static bool
never_connected(void)
{
	for (const struct conn *c = g.conns; c != NULL; c = c->next)
		if (c->sftp == NULL || !sftp_has_version(c->sftp))
			return true;
	return false;
}

/* ssh has said why, if it was that; so this is short. */
_Noreturn static void
connection_lost(int err)
{
	progress_clear_line(g.xfer.progress);
	if (err == ERR_CLOSED)
		fprintf(stderr, "hpnscp: Connection closed\n");
	else
		fprintf(stderr, "hpnscp: Connection lost: %s\n",
		    err_text(err));
	progress_error(g.xfer.progress, "connection", err_text(err));
	progress_end_events(g.xfer.progress, loop_now_ms());
	exit(never_connected() ? EXIT_UNREACHABLE : 1);
}

/* The session with a target's host; made once. INIT is sent, and what is
 * asked next goes right behind it. */
static struct conn *
connect_to(const struct xfer_target *t, uint64_t bulk)
{
	struct remote_params params = {
		.loop = g.loop,
		.port = t->port != 0 ? t->port : g.port,
		.options = &g.ssh_args,
		.program = g.ssh_program,
		.server = g.sftp_server,
		.clear = g.clear,
		.watched = g.xfer.retries > 0,
		.bulk = g.xfer.rate_bytes == 0 ? bulk : 0,
		.connections = g.xfer.connections_max,
	};
	struct conn *c;

	for (c = g.conns; c != NULL; c = c->next)
		if (xfer_target_same_host(&c->where, t))
			return c;
	c = xcalloc(1, sizeof *c);
	copy_place(&c->where, t);
	params.host = c->where.host;
	params.user = c->where.user;
	c->next = g.conns;
	g.conns = c;
	if (remote_open(&c->remote, &params) != 0)
		connection_lost(ERR_CLOSED);
	c->sftp = remote_sftp(c->remote);
	return c;
}

static int
lived(int result)
{
	if (result < 0)
		connection_lost(result);
	return result;
}

static void
close_all(void)
{
	struct conn *c;

	while ((c = g.conns) != NULL) {
		g.conns = c->next;
		/* What was not moved was told; how a connection ended whose
		 * work is done, by others perhaps, is of no interest. */
		(void)remote_close(c->remote);
		xfer_target_clear(&c->where);
		free(c);
	}
}

/*
 * "~" and "~user" are the server's to know; only they are sent, so that the
 * last part of a path, by which a local file is named, is always the
 * person's own. Caller frees; NULL: reported.
 */
static char *
remote_path(struct conn *c, const char *path)
{
	const char *rest = path + strcspn(path, "/");
	char *tilde, *home = NULL, *full = NULL;
	int r;

	if (path[0] != '~')
		return xstrdup(path);
	while (!sftp_is_ready(c->sftp))
		(void)lived(sftp_step(c->sftp, false, -1));
	tilde = xstrndup(path, (size_t)(rest - path));
	if (sftp_has(c->sftp, SFTP_EXT_EXPAND_PATH)) {
		r = lived(sftp_call_name(c->sftp, SFTP_EXTENDED, tilde,
		    &home));
		if (r != 0)
			report(NULL, path, sftp_status_text((uint32_t)r));
	} else if (tilde[1] == '\0') {
		home = xstrdup("."); /* where paths begin */
	} else {
		report(NULL, path, "the server cannot expand ~user");
	}
	if (home != NULL)
		xasprintf(&full, "%s%s", home, *rest != '\0' ? rest : "/.");
	free(tilde);
	free(home);
	return full;
}

/* --- what goes where --- */

static char *
join(const char *dir, const char *name)
{
	char *path = str_join_path(dir, name);

	if (path == NULL)
		die(name, err_text(ERR_NOMEM));
	return path;
}

/* Name of source inside of a target directory, or the target itself. */
static char *
place_in(const char *target, bool is_dir, const char *source)
{
	char *base, *path;

	if (!is_dir)
		return xstrdup(target);
	base = xfer_base_name(source);
	if (base == NULL)
		die(source, err_text(ERR_NOMEM));
	path = join(target, base);
	free(base);
	return path;
}

static void
run(struct xfer *x)
{
	int r = xfer_run(x);
	struct buf why;

	if (xfer_failures(x) > 0)
		g.failed = true;
	buf_init(&why);
	if (g.verbose && xfer_why(x, &why)) {
		progress_clear_line(g.xfer.progress);
		fprintf(stderr, "%.*s\n", (int)buf_len(&why),
		    (const char *)buf_data(&why));
	}
	buf_clear(&why);
	if (r < 0)
		connection_lost(r);
	xfer_free(x);
}

/* Where the transfers of a run go to. Two that go to the same place do not
 * run together: the second replaces what the first has made. */
struct places {
	void *tree; /* of tsearch() */
	struct strlist names;
};

static int
compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void
places_clear(struct places *p)
{
	for (size_t i = 0; i < p->names.n; i++)
		(void)tdelete(p->names.v[i], &p->tree, compare_names);
	strlist_clear(&p->names);
}

/* True if `to` may be the place of one before it. */
static bool
place_is_taken(struct places *p, const char *to)
{
	size_t len = strlen(to);
	bool dot = len > 0 && to[len - 1] == '.' &&
	    (len == 1 || to[len - 2] == '/');
	bool taken = p->names.n > 0 && (dot || p->tree == NULL ||
	    tfind(to, &p->tree, compare_names) != NULL);

	if (taken)
		places_clear(p);
	add_arg(&p->names, to);
	/* With the content of a directory anything may collide. */
	if (!dot && tsearch(p->names.v[p->names.n - 1], &p->tree,
		compare_names) == NULL)
		die("memory", err_text(ERR_NOMEM));
	return taken;
}

static struct xfer *
new_transfers(struct conn *c)
{
	struct xfer_streams streams = remote_streams(c->remote);
	struct xfer *x;

	if (xfer_new(&x, &streams, c->sftp, &g.xfer) < 0)
		die("memory", err_text(ERR_NOMEM));
	return x;
}

static void
queued(int r)
{
	if (r < 0)
		die("memory", err_text(r));
}

/* True if path is a directory; ends the program if it has to be one. */
static bool
remote_is_dir(struct conn *c, const char *path, bool needed)
{
	struct sftp_attrs attrs;
	bool is_dir;
	int r;

	if (strcmp(path, ".") == 0)
		return true; /* that is not worth a round trip */
	r = lived(sftp_call_stat(c->sftp, path, true, &attrs));
	is_dir = r == 0 && (attrs.flags & SFTP_A_MODE) && S_ISDIR(attrs.mode);

	if (needed && r != 0)
		die(path, sftp_status_text((uint32_t)r));
	if (needed && !is_dir)
		die(path, strerror(ENOTDIR));
	return is_dir;
}

static bool
local_is_dir(const char *path, bool needed)
{
	struct stat st;
	bool there = stat(path, &st) == 0;
	bool is_dir = there && S_ISDIR(st.st_mode);

	if (needed && !is_dir)
		die(path, strerror(there ? ENOTDIR : ENOENT));
	return is_dir;
}

/* Bytes of the files named; those of directories are not known yet. */
static uint64_t
bulk_of(const struct xfer_target *sources, int n)
{
	uint64_t sum = 0;
	struct stat st;

	for (int i = 0; i < n; i++)
		if (stat(sources[i].path, &st) == 0 && S_ISREG(st.st_mode))
			sum += (uint64_t)st.st_size;
	return sum;
}

static void
upload(const struct xfer_target *sources, int n,
    const struct xfer_target *target, bool need_dir)
{
	struct conn *c = connect_to(target, bulk_of(sources, n));
	char *dir = remote_path(c, target->path), *to;
	struct places places = { .tree = NULL };
	bool is_dir;
	struct xfer *x;

	if (dir == NULL)
		return;
	is_dir = remote_is_dir(c, dir, need_dir);
	x = new_transfers(c);
	for (int i = 0; i < n; i++) {
		to = place_in(dir, is_dir, sources[i].path);
		if (place_is_taken(&places, to)) {
			run(x);
			x = new_transfers(c);
		}
		queued(xfer_put(x, sources[i].path, to));
		free(to);
	}
	run(x);
	places_clear(&places);
	free(dir);
}

/* Names that a remote source stands for. */
static void
expand_source(struct conn *c, const struct xfer_target *source,
    struct strlist *names)
{
	char *pattern = remote_path(c, source->path), *name;
	size_t before = names->n;

	if (pattern == NULL)
		return;
	if (remote_glob_has_magic(pattern)) {
		(void)lived(remote_glob(c->sftp, pattern, names));
	} else {
		name = remote_glob_unescape(pattern);
		if (name == NULL)
			die(pattern, err_text(ERR_NOMEM));
		add_arg(names, name);
		free(name);
	}
	if (names->n == before)
		report(NULL, source->path, strerror(ENOENT));
	free(pattern);
}

/* Downloads of all sources that are on the host of the first one. */
static void
download(const struct xfer_target *sources, int n,
    const struct xfer_target *target, bool need_dir)
{
	struct conn *c = connect_to(&sources[0], 0);
	struct strlist names = { NULL, 0 };
	struct places places = { .tree = NULL };
	struct sftp_attrs attrs;
	struct xfer *x;
	bool is_dir;
	char *to;
	int r;

	for (int i = 0; i < n; i++)
		expand_source(c, &sources[i], &names);
	is_dir = local_is_dir(target->path, need_dir || names.n > 1);
	x = new_transfers(c);
	for (size_t i = 0; i < names.n; i++) {
		r = lived(sftp_call_stat(c->sftp, names.v[i], !g.xfer.links,
			&attrs));
		if (r != 0) {
			report(NULL, names.v[i],
			    sftp_status_text((uint32_t)r));
			continue;
		}
		to = place_in(target->path, is_dir, names.v[i]);
		if (place_is_taken(&places, to)) {
			run(x);
			x = new_transfers(c);
		}
		queued(xfer_get(x, names.v[i], &attrs, to));
		free(to);
	}
	run(x);
	places_clear(&places);
	strlist_clear(&names);
}

/* What the transfer engine is not asked to do it cannot do better. */
static void
refuse_engine_options(void)
{
	if (g.engine_only || g.copy.resume)
		die("-j, -Z, --hard-links, --in-place, --links, --retry, "
		    "--sparse, --verify",
		    "of use between this host and another only");
}

static void
between(const struct xfer_target *source, const struct xfer_target *target,
    bool need_dir)
{
	struct conn *from = connect_to(source, 0), *to = connect_to(target, 0);
	struct relay_opts opts = { .recursive = g.recursive,
		.preserve = g.preserve, .rate_bytes = g.xfer.rate_bytes,
		.progress = g.xfer.progress,
		.report = report };
	struct strlist names = { NULL, 0 };
	char *dir = remote_path(to, target->path), *place;
	bool is_dir;

	refuse_engine_options();
	if (dir == NULL)
		return;
	expand_source(from, source, &names);
	is_dir = remote_is_dir(to, dir, need_dir || names.n > 1);
	for (size_t i = 0; i < names.n; i++) {
		place = place_in(dir, is_dir, names.v[i]);
		(void)lived(relay_copy(from->sftp, names.v[i], to->sftp,
		    place, &opts));
		free(place);
	}
	strlist_clear(&names);
	free(dir);
}

/* Copies on this machine are cp(1)'s work. */
static void
local_copy(const char *source, const char *target)
{
	const char *argv[7] = { "cp" };
	int n = 1, status = 0;
	pid_t pid;

	refuse_engine_options();
	if (g.recursive)
		argv[n++] = "-r";
	if (g.preserve)
		argv[n++] = "-p";
	argv[n++] = "--";
	argv[n++] = source;
	argv[n++] = target;
	errno = posix_spawnp(&pid, "cp", NULL, NULL, (char **)argv, environ);
	if (errno != 0)
		die("cp", strerror(errno));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status != 0)
		g.failed = true;
}

/* --- by other means than SFTP --- */

static void
legacy_options(int sources)
{
	g.copy.ssh = g.ssh_program != NULL ? g.ssh_program : remote_find_ssh();
	g.copy.ssh_args = &g.ssh_args;
	g.copy.port = g.port;
	g.copy.recursive = g.recursive;
	g.copy.preserve = g.preserve;
	g.copy.verbose = g.verbose;
	g.copy.need_dir = g.copy.need_dir || sources > 1;
	g.copy.rate_bytes = g.xfer.rate_bytes;
}

/* Some sources of one place; how many were copied, 0: it is SFTP's. */
static int
legacy_copy(const struct xfer_target *sources, int n,
    const struct xfer_target *target)
{
	bool ok;

	if (sources[0].remote && target->remote && g.direct)
		n = 1;
	else if (!g.legacy || (!sources[0].remote && !target->remote))
		return 0;
	if (!sources[0].remote) {
		ok = legacy_upload(sources, n, target, &g.copy);
	} else if (!target->remote) {
		ok = legacy_download(sources, n, target, &g.copy);
	} else {
		n = 1;
		ok = g.direct ? legacy_direct(sources, target, &g.copy) :
				legacy_between(sources, target, &g.copy);
	}
	g.failed = g.failed || !ok;
	return n;
}

/* How many from first are remote on one host, or local. */
static int
same_place(const struct xfer_target *t, int n)
{
	int i = 1;

	while (i < n && xfer_target_same_host(&t[0], &t[i]))
		i++;
	return i;
}

static void
copy_all(const struct xfer_target *sources, int n,
    const struct xfer_target *target)
{
	int group, done;

	for (int i = 0; i < n; i += group) {
		group = same_place(&sources[i], n - i);
		done = legacy_copy(&sources[i], group, target);
		if (done > 0)
			group = done;
		else if (!sources[i].remote && target->remote) {
			upload(&sources[i], group, target, g.copy.need_dir);
		} else if (sources[i].remote && !target->remote) {
			download(&sources[i], group, target, g.copy.need_dir);
		} else if (sources[i].remote) {
			group = 1;
			between(&sources[i], target, g.copy.need_dir);
		} else {
			group = 1;
			(void)local_is_dir(target->path, g.copy.need_dir);
			local_copy(sources[i].path, target->path);
		}
	}
}

/* --- argv --- */

static int64_t
number(const char *text, int64_t min, int64_t max, const char *what)
{
	int64_t n;

	if (str_to_int(text, min, max, &n) < 0)
		die(text, what);
	return n;
}

/* Numbers that stock takes; what is more than we can use comes to the most
 * that we use. */
enum {
	X_REQUESTS_MAX = 100 * 1024 * 1024,
	X_REQUESTS_USED = 65535,
	X_BUFFER_MAX = 256 * 1024, /* bytes */
};

static void
sftp_option(const char *text)
{
	uint64_t bytes;
	int64_t n;

	if (str_has_prefix(text, "nrequests=")) {
		n = number(text + 10, 1, X_REQUESTS_MAX, "bad -X option");
		g.xfer.requests_max = (unsigned)MIN(n, X_REQUESTS_USED);
	} else if (str_has_prefix(text, "buffer=")) {
		if (str_to_bytes(text + 7, &bytes) < 0 || bytes < 1 ||
		    bytes > X_BUFFER_MAX)
			die(text, "bad -X option");
		g.xfer.block_bytes = (uint32_t)MIN(bytes, SFTP_DATA_MAX);
	} else {
		die(text, "bad -X option");
	}
}

static void
ssh_option(char flag, const char *value)
{
	char text[3] = { '-', flag, '\0' };

	add_arg(&g.ssh_args, text);
	if (value != NULL)
		add_arg(&g.ssh_args, value);
}

/* Those without a letter. */
enum {
	OPT_HARD_LINKS = 256,
	OPT_IN_PLACE,
	OPT_JSON,
	OPT_LINKS,
	OPT_PROGRESS,
	OPT_RETRY,
	OPT_SPARSE,
	OPT_VERIFY,
};
enum { RETRIES_DEFAULT = 10, CONNECTIONS_MAX = 32 };

static const struct option long_options[] = {
	{ "hard-links", no_argument, NULL, OPT_HARD_LINKS },
	{ "in-place", no_argument, NULL, OPT_IN_PLACE },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "links", no_argument, NULL, OPT_LINKS },
	{ "progress", required_argument, NULL, OPT_PROGRESS },
	{ "retry", optional_argument, NULL, OPT_RETRY },
	{ "sparse", no_argument, NULL, OPT_SPARSE },
	{ "verify", no_argument, NULL, OPT_VERIFY },
	{ NULL, 0, NULL, 0 },
};

static void
transfer_option(int opt, const char *arg)
{
	g.engine_only = true;
	switch (opt) {
	case OPT_HARD_LINKS:
		g.xfer.hard_links = true;
		break;
	case OPT_IN_PLACE:
		g.xfer.in_place = true;
		break;
	case OPT_LINKS:
		g.xfer.links = true;
		break;
	case OPT_SPARSE:
		g.xfer.sparse = true;
		break;
	case OPT_RETRY:
		g.xfer.retries = arg == NULL ? RETRIES_DEFAULT :
		    (unsigned)number(arg, 0, 1000000, "bad number of times");
		break;
	case OPT_VERIFY:
		g.xfer.verify = true;
		break;
	case 'j':
		g.xfer.connections_max = strcmp(arg, "auto") == 0 ? 0 :
		    (unsigned)number(arg, 1, CONNECTIONS_MAX,
			"bad number of connections");
		break;
	}
}

static enum progress_style
progress_option(const char *arg)
{
	if (strcmp(arg, "plain") == 0)
		return PROGRESS_PLAIN;
	if (strcmp(arg, "none") == 0)
		return PROGRESS_NONE;
	if (strcmp(arg, "tty") != 0)
		die("--progress", "is tty, plain or none");
	if (!isatty(STDOUT_FILENO))
		die("--progress=tty", "standard output is not a terminal");
	return PROGRESS_TTY;
}

static void
one_option(int opt, const char *arg)
{
	switch (opt) {
	case '1':
		fprintf(stderr, "hpnscp: SSH protocol v.1 is no longer "
				"supported\n");
		exit(EXIT_UNREACHABLE);
	case '2': /* the only one there is */
		break;
	case '4':
	case '6':
	case 'A':
	case 'C':
		ssh_option((char)opt, NULL);
		break;
	case 'B':
		add_arg(&g.ssh_args, "-oBatchMode=yes");
		break;
	case 'c':
	case 'F':
	case 'J':
	case 'i':
	case 'o':
		ssh_option((char)opt, arg);
		break;
	case 'D':
		g.sftp_server = arg;
		break;
	case 'l':
		/* Kbit/s */
		g.xfer.rate_bytes = (uint64_t)number(arg, 1,
		    INT64_C(100) * 1024 * 1024, "bad limit") * 1024 / 8;
		break;
	case 'P':
		g.port = (int)number(arg, 1, 65535, "bad port");
		break;
	case 'p':
		g.preserve = true;
		break;
	case 'q':
		g.quiet = true;
		ssh_option('q', NULL);
		break;
	case 'r':
		g.recursive = true;
		break;
	case 'S':
		g.ssh_program = arg;
		break;
	case 'v':
		g.verbose = true;
		ssh_option('v', NULL);
		break;
	case 'X':
		sftp_option(arg);
		break;
	case 'z':
		g.clear = true;
		break;
	case '3':
		g.direct = false;
		break;
	case 'R':
		g.direct = true;
		break;
	case 'O':
	case 's':
		g.legacy = opt == 'O';
		break;
	case 'T': /* with SFTP the client lists names itself */
		g.copy.any_name = true;
		break;
	case 'Z':
		g.copy.resume = true;
		break;
	case 'd':
		g.copy.need_dir = true;
		break;
	case 't':
		g.is_sink = true;
		break;
	case 'f':
		g.is_source = true;
		break;
	case 'j':
	case OPT_HARD_LINKS:
	case OPT_IN_PLACE:
	case OPT_LINKS:
	case OPT_RETRY:
	case OPT_SPARSE:
	case OPT_VERIFY:
		transfer_option(opt, arg);
		break;
	case OPT_JSON:
		g.style = PROGRESS_JSON;
		break;
	case OPT_PROGRESS:
		g.style = progress_option(arg);
		break;
	default:
		usage();
	}
}

/* Whatever ends the program, scp's status for it is 1. */
static void
on_fatal(void)
{
	progress_clear_line(g.xfer.progress);
	progress_error(g.xfer.progress, "hpnscp", "fatal error");
	progress_end_events(g.xfer.progress, loop_now_ms());
	exit(1);
}

static void
asked(void *arg, int signo)
{
	(void)arg;
	(void)signo;
	progress_request(g.xfer.progress);
}

static void
start_progress(void)
{
	g.xfer.progress = progress_new(STDOUT_FILENO);
	if (g.xfer.progress == NULL)
		die("memory", err_text(ERR_NOMEM));
	if (g.style != PROGRESS_TTY) /* else as standard output is */
		progress_set_style(g.xfer.progress, g.style);
	if (g.quiet)
		progress_set_style(g.xfer.progress, PROGRESS_NONE);
	g.copy.progress = g.xfer.progress;
	progress_begin_events(g.xfer.progress, loop_now_ms());
	if (loop_on_signal(g.loop, SIGUSR1, asked, NULL) < 0)
		fatal("%s", err_text(ERR_SYSTEM));
#ifdef SIGINFO
	if (loop_on_signal(g.loop, SIGINFO, asked, NULL) < 0)
		fatal("%s", err_text(ERR_SYSTEM));
#endif
}

static void
catch_signals(void)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGTERM };

	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		if (loop_exit_on_signal(signals[i], 1) != 0)
			fatal("%s", err_text(ERR_SYSTEM));
}

int
main(int argc, char **argv)
{
	struct xfer_target *targets;
	int opt, n;

	fd_sanitise_stdio();
	crypto_library_start();
	signal(SIGPIPE, SIG_IGN);
	log_init("hpnscp", LOG_LVL_INFO);
	log_to_stderr();
	fatal_set_hook(on_fatal);
	catch_signals();
	while ((opt = getopt_long(argc, argv,
		    "12346ABCD:F:J:OP:RS:TX:Zc:dfi:j:l:o:pqrstvz",
		    long_options, NULL)) != -1)
		one_option(opt, optarg);
	argc -= optind;
	argv += optind;
	if (g.verbose)
		log_set_level(LOG_LVL_DEBUG1);
	legacy_options(argc - 1);
	if (g.is_sink || g.is_source)
		return legacy_peer(g.is_sink, argv, argc, &g.copy) ? 0 : 1;
	if (argc < 2)
		usage();
	if (g.engine_only && (g.legacy || g.direct))
		die("-j, --hard-links, --in-place, --links, --retry, "
		    "--sparse, --verify", "of use with SFTP only");
	if (g.clear && (g.legacy || g.direct))
		die("-z", "of use with SFTP only");
	if (g.legacy && g.sftp_server != NULL)
		die("-D", "of use with SFTP only");
	g.xfer.recursive = g.recursive;
	g.xfer.preserve = g.preserve;
	g.xfer.explain = g.verbose;
	g.xfer.resume = g.copy.resume;
	g.xfer.report = report;
	g.xfer.note = note;
	if ((g.loop = loop_new()) == NULL)
		fatal("%s", err_text(ERR_SYSTEM));
	start_progress();
	targets = xcalloc((size_t)argc, sizeof *targets);
	for (n = 0; n < argc; n++)
		if (xfer_target_parse(&targets[n], argv[n]) < 0)
			die(argv[n], "not a path, nor [user@]host:path");
	copy_all(targets, argc - 1, &targets[argc - 1]);
	close_all();
	progress_end_events(g.xfer.progress, loop_now_ms());
	progress_free(g.xfer.progress);
	loop_free(g.loop);
	for (n = 0; n < argc; n++)
		xfer_target_clear(&targets[n]);
	free(targets);
	strlist_clear(&g.ssh_args);
	return g.failed ? 1 : 0;
}
