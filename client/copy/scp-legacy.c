/* SPDX-License-Identifier: ISC */
#include "client/copy/scp-legacy.h"

#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/called.h"
#include "base/child.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/screen.h"
#include "client/common/ssh-command.h"
#include "xfer/rcp/rcp-proto.h"
#include "xfer/rcp/rcp.h"

enum { EXIT_SSH_FAILED = 255 };

/* An ssh to one host, and the legacy protocol's session through it. */
struct link {
	struct strlist argv;
	pid_t pid;
	int fd_in, fd_out;
	struct rcp *rcp;
	/* Its program may have failed because this end told it to. */
	bool refused;
};

static void
print_message(void *arg, const char *line)
{
	(void)arg;
	screen_clear();
	fprintf(stderr, "%s\n", line);
}

static void
report(const struct legacy_opts *o, const char *what, const char *text)
{
	progress_error(o->progress, "file", what, text);
	screen_clear();
	fprintf(stderr, "%s: %s: %s\n", called_name("hpnscp"), what, text);
}

static void
check(int r)
{
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", called_name("hpnscp"), err_text(r));
		exit(1);
	}
}

/* ---- ssh ---------------------------------------------------------------- */

static void
add(struct strlist *argv, const char *arg)
{
	check(strlist_add(argv, arg));
}

/* The command line of an ssh to t's host; the caller sets purpose, command and
 * batch. */
static struct ssh_command
ssh_to(const struct xfer_target *t, const struct legacy_opts *o)
{
	return (struct ssh_command){ .program = o->ssh,
		.options = o->ssh_args,
		.port = t->port != 0 ? t->port : o->port, .user = t->user,
		.host = t->host };
}

/*
 * The command for the other end. The path is expanded by the shell there, as it
 * has always been. Only an hpnscp knows -Z.
 */
static char *
remote_scp(bool sink, const char *path, const struct legacy_opts *o)
{
	char *command;

	xasprintf(&command, "%s%s%s%s%s%s %s %s%s",
	    o->resume ? "hpnscp" : "scp", o->verbose ? " -v" : "",
	    o->recursive ? " -r" : "", o->preserve ? " -p" : "",
	    o->need_dir ? " -d" : "", o->resume ? " -Z" : "",
	    sink ? "-t" : "-f", *path == '-' ? "-- " : "", path);
	return command;
}

static int
spawn(pid_t *pid, char *const argv[], int in, int out)
{
	for (int i = 0; argv[i] != NULL; i++)
		log_debug("program argument %d: %s", i, argv[i]);
	return child_spawn(pid, argv, in, out);
}

static int
wait_for(pid_t pid)
{
	int status = child_wait(pid);

	return status < 0 ? EXIT_SSH_FAILED : status;
}

static struct rcp_opts
session_opts(const struct legacy_opts *o)
{
	return (struct rcp_opts){ .recursive = o->recursive,
		.preserve = o->preserve, .resume = o->resume,
		.need_dir = o->need_dir, .rate_bytes = o->rate_bytes,
		.progress = o->progress, .print = print_message };
}

/* Starts an ssh that runs scp on t's host, as sink or source. batch: ssh may
 * not ask the user. False: it was reported why not. */
static bool
link_open(struct link *l, const struct xfer_target *t, bool sink, bool batch,
    const struct legacy_opts *o)
{
	struct rcp_opts opts = session_opts(o);
	struct ssh_command ssh = ssh_to(t, o);
	int to[2] = { -1, -1 }, from[2] = { -1, -1 }, r;
	char *command = remote_scp(sink, t->path, o);

	*l = (struct link){ .fd_in = -1, .fd_out = -1 };
	ssh.purpose = SSH_COMMAND_CARRY;
	ssh.batch = batch;
	ssh.command = command;
	check(ssh_command_line(&l->argv, &ssh));
	free(command);
	if ((r = child_pipe(to)) == 0 && (r = child_pipe(from)) == 0)
		r = spawn(&l->pid, l->argv.v, to[0], from[1]);
	if (r < 0)
		report(o, o->ssh, err_text(r));
	l->fd_in = from[0];
	l->fd_out = to[1];
	fd_close(&to[0]);
	fd_close(&from[1]);
	if (r == 0)
		check(rcp_new(&l->rcp, l->fd_in, l->fd_out, &opts));
	return r == 0;
}

/* Reports the exit status of a program that has sent no message: it may have
 * been killed, or had no memory. 255 is an error of ssh, which has reported it
 * itself. */
static void
report_status(const struct legacy_opts *o, int status)
{
	char text[64];

	if (status == 0 || status == EXIT_SSH_FAILED)
		return;
	snprintf(text, sizeof text, "ended with exit status %d", status);
	report(o, "the other side", text);
}

/* Ends the session and waits for ssh; result is the session's error, or 0.
 * Reports what is not reported yet. True: all went well. */
static bool
link_close(struct link *l, int result, const struct legacy_opts *o)
{
	bool failed = result < 0, heard = false;
	int status = 0;

	if (l->rcp != NULL) {
		failed = failed || rcp_failures(l->rcp) > 0;
		heard = rcp_got_input(l->rcp);
		rcp_free(l->rcp);
	}
	fd_close(&l->fd_out);
	fd_close(&l->fd_in);
	if (l->pid > 0)
		status = wait_for(l->pid);
	strlist_clear(&l->argv);
	if (result == 0 && !failed && !l->refused)
		report_status(o, status);
	if (result == ERR_CLOSED && o->resume && !heard &&
	    status != EXIT_SSH_FAILED) {
		report(o, "-Z",
		    "the other side did not start an hpnscp that knows it");
	} else if (result == ERR_CLOSED) {
		progress_error(o->progress, "lost", "connection",
		    "lost connection");
		screen_clear();
		fprintf(stderr, "lost connection\n");
	} else if (result < 0 && result != ERR_PROTOCOL &&
	    result != ERR_CANCELLED) {
		report(o, "connection", err_text(result));
	}
	return !failed && status == 0;
}

/* ---- roles -------------------------------------------------------------- */

bool
legacy_upload(const struct xfer_target *sources, int n,
    const struct xfer_target *target, const struct legacy_opts *o)
{
	struct link l;
	char **paths = xcalloc((size_t)n, sizeof *paths);
	int r = ERR_CANCELLED;

	for (int i = 0; i < n; i++)
		paths[i] = sources[i].path;
	if (link_open(&l, target, true, false, o))
		r = rcp_send(l.rcp, paths, n);
	free(paths);
	return link_close(&l, r, o);
}

/* Lists in wanted the names that the source's host may send. False: it was
 * reported why not. */
static bool
list_wanted(struct strlist *wanted, const struct xfer_target *source,
    const struct legacy_opts *o)
{
	int r = rcp_wanted_add(wanted, source->path);

	if (r < 0)
		report(o, source->path, err_text(r));
	return r == 0;
}

bool
legacy_download(const struct xfer_target *sources, int n,
    const struct xfer_target *target, const struct legacy_opts *o)
{
	bool ok = true;

	for (int i = 0; i < n; i++) {
		struct strlist wanted = { NULL, 0 };
		struct link l;
		int r = ERR_CANCELLED;

		if (!list_wanted(&wanted, &sources[i], o))
			ok = false;
		else if (link_open(&l, &sources[i], false, false, o))
			r = rcp_receive(l.rcp, target->path,
			    o->any_name ? NULL : &wanted);
		if (wanted.n > 0)
			ok = link_close(&l, r, o) && ok;
		strlist_clear(&wanted);
	}
	return ok;
}

bool
legacy_between(const struct xfer_target *source,
    const struct xfer_target *target, const struct legacy_opts *o)
{
	struct strlist wanted = { NULL, 0 };
	struct link from, to = { .fd_in = -1, .fd_out = -1 };
	int r = ERR_CANCELLED;
	bool ok;

	if (o->resume) {
		report(o, "-Z", "not from one remote host to another");
		return false;
	}
	if (!list_wanted(&wanted, source, o))
		return false;
	/* The link to the target may not ask for passwords (batch), because two
	 * programs cannot ask at the same time. */
	if (link_open(&from, source, false, false, o) &&
	    link_open(&to, target, true, true, o))
		r = rcp_copy_between(from.rcp, to.rcp,
		    o->any_name ? NULL : &wanted);
	strlist_clear(&wanted);
	from.refused = to.refused = true;
	ok = link_close(&from, r, o);
	return link_close(&to, r == ERR_CLOSED ? ERR_CANCELLED : r, o) && ok;
}

bool
legacy_direct(const struct xfer_target *source,
    const struct xfer_target *target, const struct legacy_opts *o)
{
	struct strlist argv = { NULL, 0 };
	struct ssh_command ssh = ssh_to(source, o);
	bool v6 = strchr(target->host, ':') != NULL;
	char *command, *where;
	pid_t pid;
	int status = EXIT_SSH_FAILED;

	if (target->port != 0 || o->resume) {
		report(o, "-R", o->resume ? "not with -Z" :
		    "the target cannot have a port of its own");
		return false;
	}
	xasprintf(&command, "scp%s%s%s", o->verbose ? " -v" : "",
	    o->recursive ? " -r" : "", o->preserve ? " -p" : "");
	xasprintf(&where, "%s%s%s%s%s:%s",
	    target->user != NULL ? target->user : "",
	    target->user != NULL ? "@" : "", v6 ? "[" : "", target->host,
	    v6 ? "]" : "", target->path);
	ssh.purpose = SSH_COMMAND_REMOTE_COPY;
	ssh.command = command;
	check(ssh_command_line(&argv, &ssh));
	add(&argv, source->path);
	add(&argv, where);
	free(command);
	free(where);
	if (spawn(&pid, argv.v, -1, -1) == 0)
		status = wait_for(pid);
	else
		report(o, o->ssh, strerror(errno));
	strlist_clear(&argv);
	return status == 0;
}

bool
legacy_peer(bool sink, char *const paths[], int n,
    const struct legacy_opts *o)
{
	static const char ambiguous[] = "\001scp: ambiguous target\n";
	struct rcp_opts opts = session_opts(o);
	struct rcp *c;
	bool ok;
	int r;

	if (sink && n != 1) {
		check(fd_write_all(STDOUT_FILENO, ambiguous,
		    sizeof ambiguous - 1));
		return false;
	}
	opts.progress = NULL;
	opts.print = NULL; /* the other end prints the messages it gets */
	check(rcp_new(&c, STDIN_FILENO, STDOUT_FILENO, &opts));
	r = sink ? rcp_receive(c, paths[0], NULL) : rcp_send(c, paths, n);
	/* All other errors were sent to the other end by the protocol. */
	if (r == ERR_NOMEM || r == ERR_SYSTEM)
		fprintf(stderr, "%s: %s\n", called_name("hpnscp"), err_text(r));
	ok = r == 0 && rcp_failures(c) == 0;
	rcp_free(c);
	return ok;
}
