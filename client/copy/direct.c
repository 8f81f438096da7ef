/* SPDX-License-Identifier: ISC */
#include "client/copy/direct.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/common/ssh-command.h"
#include "client/copy/direct-wire.h"
#include "client/sshclient.h"
#include "crypto/rand.h"
#include "peer-version.h"
#include "xfer/sftp/remote-glob.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/sftp/sftp-rights.h"

enum {
	GRANT_VERSION = 1,
	STEP_MS = 1000,
	BEGIN_S = 60,
	LIFE_S = 24 * 3600,
	CONNECTIONS = 4, /* one, and further ones after it is lost */
	EXIT_UNREACHABLE = 255, /* exit status of ssh and of hpnscp */
	HELLO_MAX = 1024, /* bytes */
};

struct direct {
	struct scp *scp;
	struct scp_host *to;
	const char *dir; /* the target */
	bool is_dir;
	char *staging;	 /* absolute path of the new directory; NULL: not
			  * made */
	pid_t child;	 /* hpnssh to the source's host; 0: none */
	int in, out;	 /* pipes from and to the child; -1: closed */
	struct loop_fd *watch;
	struct buf got;	 /* bytes of the program's hello that have come */
	struct span key; /* the program's public key, in got, which is not
			  * changed once key is set */
	bool ended;	 /* no more bytes come from the program */
	bool answered, granted; /* by the target's server */
	uint8_t grant[LOGIN_TICKET_NAME_LEN];
};

/* ---- the program at the source's host ----------------------------------- */

/* True once the whole hello has come. d->key is then set, and is empty if the
 * bytes are no hello, for instance a text that the shell there printed. */
static bool
read_hello(struct direct *d)
{
	struct rd size = rd_from_buf(&d->got), r = size, body;
	uint32_t len = rd_u32(&size);

	if (rd_err(&size) != 0)
		return false;
	body = rd_from_span(rd_string(&r));
	if (len <= HELLO_MAX && rd_err(&r) != 0)
		return false;
	if (len <= HELLO_MAX && rd_u8(&body) == DIRECT_VERSION)
		d->key = rd_string(&body);
	if (rd_err(&body) != 0)
		d->key = (struct span){ NULL, 0 };
	return true;
}

static void
close_input(struct direct *d)
{
	if (d->watch != NULL)
		loop_unwatch(d->scp->loop, d->watch);
	d->watch = NULL;
	fd_close(&d->in);
}

static void
on_input(void *arg, int fd, int events)
{
	struct direct *d = arg;
	uint8_t bytes[4096];
	ssize_t n = read(fd, bytes, sizeof bytes);

	(void)events;
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && d->key.len == 0)
		buf_put(&d->got, bytes, (size_t)n);
	if (n <= 0 || buf_err(&d->got) != 0) {
		d->ended = true;
		close_input(d);
	}
}

static void
start_program(struct direct *d, const struct xfer_target *source)
{
	char *program = ssh_command_find();
	const struct ssh_command c = { .program = program,
		.purpose = SSH_COMMAND_CARRY,
		.options = &d->scp->flags.ssh,
		.port = source->port != 0 ? source->port : d->scp->flags.port,
		.user = source->user,
		.host = source->host,
		.command = "hpnscp --direct-end" };
	struct strlist argv = { 0 };
	int to[2] = { -1, -1 }, from[2] = { -1, -1 };

	if (ssh_command_line(&argv, &c) != 0 || child_pipe(to) != 0 ||
	    child_pipe(from) != 0 || fd_set_nonblock(from[0], true) != 0 ||
	    child_spawn(&d->child, argv.v, to[0], from[1]) != 0)
		scp_die(d->scp, program, strerror(errno));
	fd_close(&to[0]);
	fd_close(&from[1]);
	d->out = to[1];
	d->in = from[0];
	d->watch = loop_watch(d->scp->loop, d->in, LOOP_READ, on_input, d);
	if (d->watch == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	strlist_clear(&argv);
	free(program);
}

/* Serves the connection to the target's host until done() returns true or the
 * program at the source's host has ended. */
static void
wait_until(struct direct *d, bool (*done)(struct direct *d))
{
	while (!done(d) && !d->ended)
		(void)scp_host_result(d->scp,
		    sftp_step(d->to->sftp, false, STEP_MS));
}

static bool
never(struct direct *d)
{
	(void)d;
	return false;
}

/* Closes the pipes to the program, waits for it, and returns its exit
 * status. */
static int
end_program(struct direct *d)
{
	int status = 0;

	fd_close(&d->out);
	close_input(d);
	if (d->child != 0)
		status = child_wait(d->child);
	d->child = 0;
	return status;
}

/* ---- the grant ---------------------------------------------------------- */

static void
on_grant(void *arg, bool ok, struct rd data)
{
	struct direct *d = arg;
	struct span name = ok ? rd_string(&data) : (struct span){ NULL, 0 };

	d->answered = true;
	d->granted = ok && rd_end(&data) == 0 && name.len == sizeof d->grant;
	if (d->granted)
		memcpy(d->grant, name.p, sizeof d->grant);
}

/* Puts the fields of grant@hpnssh.org. The new directory belongs to this copy
 * alone, so the owner of the key gets every right there that a copy can need,
 * but none that TransferGrants put would not allow. */
static void
put_fields(const struct direct *d, struct buf *b)
{
	const uint32_t rights = SFTP_MAY_LIST | SFTP_MAY_MAKE |
	    SFTP_MAY_CHANGE | SFTP_MAY_LINK | SFTP_MAY_DELETE | SFTP_MAY_MODE |
	    SFTP_MAY_TIMES;

	buf_put_u8(b, GRANT_VERSION);
	buf_put_string(b, d->key.p, d->key.len);
	buf_put_cstring(b, d->staging);
	buf_put_u32(b, rights);
	buf_put_u64(b, UINT64_MAX);
	buf_put_u64(b, UINT64_MAX);
	buf_put_u64(b, UINT64_MAX);
	buf_put_u32(b, CONNECTIONS);
	buf_put_u32(b, BEGIN_S);
	buf_put_u32(b, LIFE_S);
	buf_put_cstring(b, ""); /* from any address */
}

/* Asks for the grant. Returns NULL, or the reason (static) why there is
 * none. */
static const char *
get_grant(struct direct *d)
{
	const struct sshclient *c = remote_client(d->to->remote, 0);
	struct buf fields = { 0 };
	int r = ERR_UNSUPPORTED;

	put_fields(d, &fields);
	if (c != NULL && !sshclient_is_distrusted(c) &&
	    (peer_version_traits(sshclient_peer(c)) & PEER_FORGIVES) != 0 &&
	    (r = buf_err(&fields)) == 0)
		r = channels_global_request(sshclient_channels(c),
		    "grant@hpnssh.org", &fields, on_grant, d);
	buf_clear(&fields);
	/* on_grant() writes to d, so the answer is waited for even if the
	 * program at the source's host has ended meanwhile. A lost connection
	 * ends this process. */
	while (r == 0 && !d->answered)
		(void)scp_host_result(d->scp,
		    sftp_step(d->to->sftp, false, STEP_MS));
	return d->granted ? NULL : r == ERR_UNSUPPORTED ?
	    "the target's host is not an hpnsshd that this process has "
	    "logged in to" :
	    "the target's host gives no grant (TransferGrants)";
}

static uint32_t
flags_of(const struct scp *scp)
{
	const struct xfer_opts *x = &scp->xfer;

	return (scp->recursive ? DIRECT_RECURSIVE : 0U) |
	    (x->preserve ? DIRECT_PRESERVE : 0U) |
	    (scp->flags.verbose ? DIRECT_VERBOSE : 0U) |
	    (x->fsync ? DIRECT_FSYNC : 0U) | (x->sparse ? DIRECT_SPARSE : 0U) |
	    (x->links ? DIRECT_LINKS : 0U) |
	    (x->hard_links ? DIRECT_HARD_LINKS : 0U) |
	    (x->check_space ? 0U : DIRECT_NO_SPACE_CHECK);
}

static int
send_job(struct direct *d, const struct xfer_target *sources, int n)
{
	const struct client_conf *conf = remote_conf(d->to->remote);
	struct span hostkey =
	    sshclient_hostkey(remote_client(d->to->remote, 0));
	struct direct_job job = { .host = conf->host.hostname,
		.user = conf->host.user,
		.port = (uint16_t)conf->host.port,
		.flags = flags_of(d->scp),
		.rate_bytes = d->scp->xfer.rate_bytes };
	struct buf b = { 0 };
	int r;

	memcpy(job.grant, d->grant, sizeof job.grant);
	buf_put(&job.hostkey, hostkey.p, hostkey.len);
	for (int i = 0; i < n; i++)
		xstrlist_add(&job.sources, sources[i].path);
	direct_job_put(&b, &job);
	if ((r = buf_err(&b)) == 0)
		r = fd_send_msg(d->out, &b);
	buf_clear(&b);
	job.host = job.user = NULL; /* borrowed */
	direct_job_clear(&job);
	return r;
}

/* ---- the new directory -------------------------------------------------- */

/* The directory part of a path, "." if there is none. The caller frees it. */
static char *
directory_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (slash == NULL)
		return xstrdup(".");
	return xstrndup(path, slash == path ? 1 : (size_t)(slash - path));
}

struct making {
	const char *parent, *name;
	char *path; /* from "/" on */
};

/* REALPATH is asked for the parent, before the new directory is made in it.
 * Asked for the new directory, it could follow a link that another user has put
 * in its place, where others may write to the parent. */
static int
call_make(struct sftp *s, void *arg)
{
	const struct sftp_attrs attrs = { .flags = SFTP_A_MODE, .mode = 0700 };
	struct making *m = arg;
	char *real = NULL;
	int r = sftp_call_name(s, SFTP_REALPATH, m->parent, &real);

	if (r != 0)
		return r;
	free(m->path);
	m->path = str_join_path(real, m->name);
	free(real);
	return m->path != NULL ? sftp_call_mkdir(s, m->path, &attrs) :
				 ERR_NOMEM;
}

static bool
make_staging(struct direct *d)
{
	char *parent = d->is_dir ? xstrdup(d->dir) : directory_of(d->dir);
	char *name;
	struct making m = { .parent = parent };
	uint64_t random;
	int r;

	rand_bytes(&random, sizeof random);
	xasprintf(&name, ".hpnscp-direct-%016llx", (unsigned long long)random);
	m.name = name;
	r = scp_host_call(d->scp, d->to, call_make, &m);
	if (r != 0)
		scp_report(d->scp, NULL, m.path != NULL ? m.path : parent,
		    sftp_call_words(r));
	else
		d->staging = xstrdup(m.path);
	free(m.path);
	free(name);
	free(parent);
	return r == 0;
}

/* The last part of a source's path. The caller frees it. */
static char *
name_of(const char *path)
{
	char *name = xfer_base_name(path);

	if (name == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	return name;
}

/* The target's path for `path`, of which only the last part counts. The caller
 * frees it. */
static char *
place_of(const struct direct *d, const char *path)
{
	char *name, *place;

	if (!d->is_dir)
		return xstrdup(d->dir);
	name = name_of(path);
	xasprintf(&place, "%s/%s", d->dir, name);
	free(name);
	return place;
}

struct move {
	const char *from, *to;
};

static int
call_move(struct sftp *s, void *arg)
{
	const struct move *m = arg;

	return sftp_has(s, SFTP_EXT_POSIX_RENAME) ?
	    sftp_call_ext(s, SFTP_EXT_POSIX_RENAME, m->from, m->to) :
	    sftp_call_paths(s, SFTP_RENAME, m->from, m->to);
}

static void
move_one(struct direct *d, const char *from)
{
	char *to = place_of(d, from);
	struct move m = { .from = from, .to = to };
	int r = scp_host_call(d->scp, d->to, call_move, &m);

	if (r != 0)
		scp_report(d->scp, NULL, to, sftp_call_words(r));
	free(to);
}

struct found {
	const char *pattern;
	struct strlist names;
};

static int
call_find(struct sftp *s, void *arg)
{
	struct found *f = arg;

	strlist_clear(&f->names);
	return remote_glob(s, f->pattern, &f->names);
}

/* A pattern that matches `name`, itself a pattern, in the new directory;
 * special characters of the directory's path are escaped. The caller frees
 * it. */
static char *
pattern_of(const struct direct *d, const char *name)
{
	struct buf b = { 0 };
	char *pattern;

	for (const char *p = d->staging; *p != '\0'; p++)
		buf_printf(&b, strchr("\\*?[", *p) != NULL ? "\\%c" : "%c", *p);
	buf_printf(&b, "/%s", name);
	pattern = buf_dup_string(&b);
	buf_clear(&b);
	if (pattern == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	return pattern;
}

/* Adds to `all` the paths in the new directory that match the last part of the
 * source's path. */
static void
find_source(struct direct *d, const struct xfer_target *source,
    struct strlist *all)
{
	struct found f = { .pattern = NULL };
	char *name = name_of(source->path), *pattern = pattern_of(d, name);

	f.pattern = pattern;
	(void)scp_host_call(d->scp, d->to, call_find, &f);
	if (f.names.n == 0 && !d->scp->failed)
		scp_report(d->scp, NULL, source->path,
		    "the source's host has not brought it");
	for (size_t i = 0; i < f.names.n; i++)
		if (!strlist_has(all, f.names.v[i]))
			xstrlist_add(all, f.names.v[i]);
	strlist_clear(&f.names);
	free(pattern);
	free(name);
}

/* Moves all that has come for the sources from the new directory to the
 * target. */
static void
move_all(struct direct *d, const struct xfer_target *sources, int n)
{
	struct strlist all = { NULL, 0 };

	for (int i = 0; i < n; i++)
		find_source(d, &sources[i], &all);
	if (!d->is_dir && all.n > 1)
		scp_report(d->scp, NULL, d->dir, strerror(ENOTDIR));
	for (size_t i = 0; i < all.n && (d->is_dir || all.n == 1); i++)
		move_one(d, all.v[i]);
	strlist_clear(&all);
}

static int
call_rmdir(struct sftp *s, void *arg)
{
	return sftp_call_path(s, SFTP_RMDIR, arg);
}

/* Removes the new directory if it is empty. False: it is still there. */
static bool
remove_empty(struct direct *d)
{
	if (scp_host_call(d->scp, d->to, call_rmdir, d->staging) != 0)
		return false;
	free(d->staging);
	d->staging = NULL;
	return true;
}

static void
remove_staging(struct direct *d)
{
	if (d->staging != NULL && !remove_empty(d))
		scp_report(d->scp, NULL, d->staging,
		    "is left, with what has no place");
}

struct look {
	const char *path;
	struct sftp_attrs attrs;
};

static int
call_look(struct sftp *s, void *arg)
{
	struct look *l = arg;

	return sftp_call_stat(s, l->path, false, &l->attrs);
}

/* True if the target has a directory of the source's name already. RENAME
 * cannot move a directory over that one, so --direct cannot be used. */
static bool
is_merged(struct direct *d, const struct xfer_target *source)
{
	char *path = place_of(d, source->path);
	struct look l = { .path = path };
	int r = scp_host_call(d->scp, d->to, call_look, &l);

	free(path);
	return r == 0 && (l.attrs.flags & SFTP_A_MODE) != 0 &&
	    S_ISDIR(l.attrs.mode);
}

/* ---- all of it ---------------------------------------------------------- */

/* True if a source has no name of its own in its path, such as "." or "~user":
 * only its host knows the name. */
static bool
is_unnamed(const struct xfer_target *sources, int n)
{
	bool unnamed = false;

	for (int i = 0; i < n && !unnamed; i++) {
		char *name = name_of(sources[i].path);

		unnamed = strcmp(name, ".") == 0 || name[0] == '~';
		free(name);
	}
	return unnamed;
}

/* True if the sources' paths do not fit into one job. */
static bool
is_too_much(const struct xfer_target *sources, int n)
{
	size_t bytes = 0;

	for (int i = 0; i < n; i++)
		bytes += strlen(sources[i].path) + sizeof(uint32_t);
	return n > DIRECT_SOURCES_MAX || bytes > DIRECT_MESSAGE_MAX / 2;
}

/* Ends the program on ^C. The new directory stays on the target's host, as any
 * copy keeps the files that it has got. */
static void
on_interrupt(void *arg, int signo)
{
	struct direct *d = arg;

	(void)signo;
	if (d->child != 0)
		(void)kill(d->child, SIGTERM);
	scp_report(d->scp, NULL, d->staging,
	    "interrupted: is left on the target's host");
	scp_exit(d->scp, 1);
}

static void
catch_interrupts(struct direct *d)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGTERM };

	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		loop_on_signal_if_wanted(d->scp->loop, signals[i],
		    on_interrupt, d);
}

/* Copies. Returns NULL if it was done, also if some files failed, which was
 * reported; or the reason (static) why --direct cannot be used here. */
static const char *
copy(struct direct *d, const struct xfer_target *sources, int n)
{
	const char *why;
	int status;

	if (is_unnamed(sources, n))
		return "a source has no name of its own";
	if (is_too_much(sources, n))
		return "there are too many sources";
	for (int i = 0; i < n; i++)
		if (is_merged(d, &sources[i]))
			return "the target has a directory of that name";
	start_program(d, &sources[0]);
	wait_until(d, read_hello);
	if (d->key.len == 0)
		return "hpnscp does not run on the source's host";
	if (!make_staging(d))
		return NULL;
	catch_interrupts(d);
	if ((why = get_grant(d)) != NULL)
		return why;
	if (send_job(d, sources, n) == 0)
		wait_until(d, never);
	status = end_program(d);
	if (status == EXIT_UNREACHABLE && remove_empty(d))
		return "the source's host has no connection to the target's";
	if (status != 0)
		d->scp->failed = true;
	move_all(d, sources, n);
	return NULL;
}

bool
direct_copy(struct scp *scp, const struct xfer_target *sources, int n,
    struct scp_host *to, const char *dir, bool is_dir)
{
	struct direct d = { .scp = scp, .to = to, .dir = dir, .is_dir = is_dir,
		.in = -1, .out = -1 };
	const char *why = copy(&d, sources, n);
	char *text;

	/* A child that still runs has nothing left to do, and may not notice
	 * the end of its standard input. */
	if (d.child != 0)
		(void)kill(d.child, SIGTERM);
	(void)end_program(&d);
	remove_staging(&d);
	scp_catch_signals();
	if (why == NULL && !scp->failed) {
		scp_note(scp, NULL, "the copy went from host to host");
	} else if (why != NULL) {
		xasprintf(&text, "the copy goes through this machine: %s", why);
		scp_note(scp, NULL, text);
		free(text);
	}
	buf_clear(&d.got);
	free(d.staging);
	return why == NULL;
}
