/* SPDX-License-Identifier: ISC */
/*
 * hpnscp: copies files between hosts, through SFTP. This file is argv, the
 * connections, and what goes where; xfer/ moves it.
 */
#include "config.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "xfer/carrier.h"
#include "xfer/progress.h"
#include "xfer/relay.h"
#include "xfer/remote-glob.h"
#include "xfer/sftp-engine.h"
#include "xfer/target.h"
#include "xfer/transfer.h"

extern char **environ;

/* One server, and the transfers with it. */
struct conn {
	struct xfer_target where;
	struct xfer_pipe pipe;
	struct sftp *sftp;
	struct conn *next;
};

static struct {
	struct strlist ssh_args; /* handed on to the ssh program */
	const char *ssh_program, *sftp_server;
	int port; /* 0: none given */
	bool recursive, preserve, quiet, verbose;
	struct xfer_opts xfer;
	struct conn *conns;
	bool failed;
} g;

_Noreturn static void
usage(void)
{
	fprintf(stderr,
	    "usage: hpnscp [-346BCpqrsTv] [-c cipher] [-D sftp_server_path] "
	    "[-F ssh_config]\n"
	    "              [-i identity_file] [-l limit] [-o ssh_option] "
	    "[-P port]\n"
	    "              [-S program] [-X sftp_option] source ... "
	    "target\n");
	exit(1);
}

/* One line about one thing that went wrong; the rest goes on. */
static void
report(void *arg, const char *path, const char *text)
{
	size_t size = strlen(path) * 4 + 1;
	char *shown = xmalloc(size);

	(void)arg;
	str_escape(shown, size, path);
	fprintf(stderr, "hpnscp: %s: %s\n", shown, text);
	free(shown);
	g.failed = true;
}

_Noreturn static void
die(const char *path, const char *text)
{
	progress_clear_line(g.xfer.progress);
	report(NULL, path, text);
	exit(1);
}

/* --- connections --- */

/* hpnssh: beside this program (a build tree, or the place of installation),
 * else where it was to be installed, else anywhere in PATH. */
static char *
find_ssh(void)
{
	char self[PATH_MAX], *path, *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n > 0) {
		self[n] = '\0';
		slash = strrchr(self, '/');
		if (slash != NULL)
			*slash = '\0';
		xasprintf(&path, "%s/hpnssh", self);
		if (access(path, X_OK) == 0)
			return path;
		free(path);
	}
	if (access(BINDIR "/hpnssh", X_OK) == 0)
		return xstrdup(BINDIR "/hpnssh");
	return xstrdup("hpnssh");
}

static void
add_arg(struct strlist *l, const char *arg)
{
	if (strlist_add(l, arg) < 0)
		die("memory", err_text(ERR_NOMEM));
}

static void
ssh_command(struct strlist *argv, const struct xfer_target *t)
{
	static const char *const fixed[] = { "-x", "-oPermitLocalCommand=no",
		"-oClearAllForwardings=yes", "-oRemoteCommand=none",
		"-oRequestTTY=no", "-oForwardAgent=no" };
	int port = t->port != 0 ? t->port : g.port;
	char *program = g.ssh_program != NULL ? xstrdup(g.ssh_program) :
						find_ssh();
	char number[16];

	add_arg(argv, program);
	free(program);
	for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
		add_arg(argv, fixed[i]);
	for (size_t i = 0; i < g.ssh_args.n; i++)
		add_arg(argv, g.ssh_args.v[i]);
	if (port != 0) {
		snprintf(number, sizeof number, "%d", port);
		add_arg(argv, "-p");
		add_arg(argv, number);
	}
	if (t->user != NULL) {
		add_arg(argv, "-l");
		add_arg(argv, t->user);
	}
	add_arg(argv, "-s");
	add_arg(argv, "--");
	add_arg(argv, t->host);
	add_arg(argv, "sftp");
}

static void
copy_place(struct xfer_target *to, const struct xfer_target *from)
{
	*to = (struct xfer_target){ .remote = true, .port = from->port,
		.host = xstrdup(from->host),
		.user = from->user != NULL ? xstrdup(from->user) : NULL };
}

/* The session with a target's host; made once. INIT is sent, and what is
 * asked next goes right behind it. */
static struct conn *
connect_to(const struct xfer_target *t)
{
	struct strlist argv = { NULL, 0 };
	struct conn *c;
	int r;

	for (c = g.conns; c != NULL; c = c->next)
		if (xfer_target_same_host(&c->where, t))
			return c;
	c = xcalloc(1, sizeof *c);
	copy_place(&c->where, t);
	if (g.sftp_server == NULL)
		ssh_command(&argv, t);
	else if (strlist_split(&argv, g.sftp_server, " ") < 0 || argv.n == 0)
		die(g.sftp_server, "not a command");
	for (size_t i = 0; i < argv.n; i++)
		log_debug("program argument %zu: %s", i, argv.v[i]);
	r = xfer_pipe_spawn(&c->pipe, argv.v);
	if (r < 0)
		die(argv.v[0], err_text(r));
	r = sftp_new(&c->sftp);
	if (r < 0)
		die(t->host, err_text(r));
	sftp_attach(c->sftp, xfer_pipe_carrier(&c->pipe));
	strlist_clear(&argv);
	c->next = g.conns;
	g.conns = c;
	return c;
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
	exit(1);
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
		sftp_free(c->sftp);
		if (xfer_pipe_close(&c->pipe) != 0)
			g.failed = true;
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
	size_t len = strlen(dir);
	char *path;

	xasprintf(&path, "%s%s%s", dir,
	    len > 0 && dir[len - 1] == '/' ? "" : "/", name);
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

	if (xfer_failures(x) > 0)
		g.failed = true;
	if (r < 0)
		connection_lost(r);
	xfer_free(x);
}

static struct xfer *
new_transfers(struct conn *c)
{
	struct xfer *x;

	if (xfer_new(&x, c->sftp, &g.xfer) < 0)
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
	int r = lived(sftp_call_stat(c->sftp, path, true, &attrs));
	bool is_dir = r == 0 && (attrs.flags & SFTP_A_MODE) &&
	    S_ISDIR(attrs.mode);

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

static void
upload(const struct xfer_target *sources, int n,
    const struct xfer_target *target, bool need_dir)
{
	struct conn *c = connect_to(target);
	char *dir = remote_path(c, target->path), *to;
	bool is_dir;
	struct xfer *x;

	if (dir == NULL)
		return;
	is_dir = remote_is_dir(c, dir, need_dir);
	x = new_transfers(c);
	for (int i = 0; i < n; i++) {
		to = place_in(dir, is_dir, sources[i].path);
		queued(xfer_put(x, sources[i].path, to));
		free(to);
	}
	run(x);
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
	struct conn *c = connect_to(&sources[0]);
	struct strlist names = { NULL, 0 };
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
		r = lived(sftp_call_stat(c->sftp, names.v[i], true, &attrs));
		if (r != 0) {
			report(NULL, names.v[i],
			    sftp_status_text((uint32_t)r));
			continue;
		}
		to = place_in(target->path, is_dir, names.v[i]);
		queued(xfer_get(x, names.v[i], &attrs, to));
		free(to);
	}
	run(x);
	strlist_clear(&names);
}

static void
between(const struct xfer_target *source, const struct xfer_target *target,
    bool need_dir)
{
	struct conn *from = connect_to(source), *to = connect_to(target);
	struct relay_opts opts = { .recursive = g.recursive,
		.preserve = g.preserve, .rate_bytes = g.xfer.rate_bytes,
		.progress = g.xfer.progress,
		.report = report };
	struct strlist names = { NULL, 0 };
	char *dir = remote_path(to, target->path), *place;
	bool is_dir;

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
	int group;

	for (int i = 0; i < n; i += group) {
		group = same_place(&sources[i], n - i);
		if (!sources[i].remote && target->remote) {
			upload(&sources[i], group, target, n > 1);
		} else if (sources[i].remote && !target->remote) {
			download(&sources[i], group, target, n > 1);
		} else if (sources[i].remote) {
			group = 1;
			between(&sources[i], target, n > 1);
		} else {
			group = 1;
			(void)local_is_dir(target->path, n > 1);
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

static void
sftp_option(const char *text)
{
	uint64_t bytes;

	if (str_has_prefix(text, "nrequests=")) {
		g.xfer.requests_max =
		    (unsigned)number(text + 10, 1, 65535, "bad -X option");
	} else if (str_has_prefix(text, "buffer=")) {
		if (str_to_bytes(text + 7, &bytes) < 0 || bytes < 1 ||
		    bytes > SFTP_DATA_MAX)
			die(text, "bad -X option");
		g.xfer.block_bytes = (uint32_t)bytes;
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

_Noreturn static void
refuse(int flag)
{
	fprintf(stderr,
	    "hpnscp: option -%c is not supported in this version\n", flag);
	exit(1);
}

static void
one_option(int opt, const char *arg)
{
	switch (opt) {
	case '4':
	case '6':
	case 'C':
		ssh_option((char)opt, NULL);
		break;
	case 'B':
		add_arg(&g.ssh_args, "-oBatchMode=yes");
		break;
	case 'c':
	case 'F':
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
	case '3': /* these three are how it works anyway: through here, */
	case 's': /* by SFTP, */
	case 'T': /* where the client lists names itself */
		break;
	case 'A':
	case 'J':
	case 'O':
	case 'R':
	case 'Z':
	case 'd':
	case 'f':
	case 't':
	case 'z':
		refuse(opt);
	default:
		usage();
	}
}

int
main(int argc, char **argv)
{
	struct xfer_target *targets;
	int opt, n;

	fd_sanitise_stdio();
	signal(SIGPIPE, SIG_IGN);
	log_init("hpnscp", LOG_LVL_INFO);
	log_to_stderr();
	while ((opt = getopt(argc, argv,
		    "346ABCD:F:J:OP:RS:TX:Zc:dfi:l:o:pqrstvz")) != -1)
		one_option(opt, optarg);
	argc -= optind;
	argv += optind;
	if (argc < 2)
		usage();
	if (g.verbose)
		log_set_level(LOG_LVL_DEBUG1);
	g.xfer.recursive = g.recursive;
	g.xfer.preserve = g.preserve;
	g.xfer.report = report;
	if (!g.quiet && isatty(STDOUT_FILENO))
		g.xfer.progress = progress_new(STDOUT_FILENO);
	targets = xcalloc((size_t)argc, sizeof *targets);
	for (n = 0; n < argc; n++)
		if (xfer_target_parse(&targets[n], argv[n]) < 0)
			die(argv[n], "not a path, nor [user@]host:path");
	copy_all(targets, argc - 1, &targets[argc - 1]);
	progress_free(g.xfer.progress);
	close_all();
	for (n = 0; n < argc; n++)
		xfer_target_clear(&targets[n]);
	free(targets);
	strlist_clear(&g.ssh_args);
	return g.failed ? 1 : 0;
}
