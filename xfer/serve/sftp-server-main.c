/* SPDX-License-Identifier: ISC */
#include "xfer/serve/sftp-server-main.h"

#include <sys/stat.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/flags-getopt.h"
#include "base/log.h"
#include "compat/proc.h"
#include "xfer/serve/sftp-serve.h"

/* As much as a busy pipe or socket can hold. */
enum { READ_BYTES = 1024 * 1024 };

struct server_args {
	struct sftp_serve_opts serve;
	const char *start_dir;
	int level, facility;
	bool to_stderr, done;
	int status; /* exit status, if done is set */
};

static void
usage(void)
{
	fprintf(stderr,
	    "usage: hpnsftp-server [-ehR] [-d start_directory] "
	    "[-f log_facility] [-l log_level]\n"
	    "                      [-P denied_requests] "
	    "[-p allowed_requests] [-u umask]\n"
	    "       hpnsftp-server -Q requests\n");
}

static int
query(const char *what)
{
	const char *name;

	if (strcmp(what, "requests") != 0) {
		fprintf(stderr, "hpnsftp-server: unknown query \"%s\"\n", what);
		return 1;
	}
	for (size_t i = 0; (name = sftp_serve_request_name(i)) != NULL; i++)
		puts(name);
	return 0;
}

static int
set_umask(const char *text)
{
	char *end;
	unsigned long mask = strtoul(text, &end, 8);

	if (*text == '\0' || *end != '\0' || mask > 0777) {
		fprintf(stderr, "hpnsftp-server: bad umask \"%s\"\n", text);
		return ERR_ARGUMENT;
	}
	umask((mode_t)mask);
	return 0;
}

/* A second list is an error; if it replaced the first one, it would allow what
 * the first one does not. */
static int
set_list(const char **to, const char *list)
{
	if (*to != NULL) {
		fprintf(stderr, "hpnsftp-server: requests are listed twice\n");
		return ERR_ARGUMENT;
	}
	if (!sftp_serve_names_valid(list)) {
		fprintf(stderr, "hpnsftp-server: unknown request in \"%s\"\n",
		    list);
		return ERR_ARGUMENT;
	}
	*to = list;
	return 0;
}

static int
one_option(struct server_args *a, int opt, const char *arg)
{
	switch (opt) {
	case 'c':
		return 0; /* was a flag once; old configurations have it */
	case 'd':
		a->start_dir = arg;
		return 0;
	case 'e':
		a->to_stderr = true;
		return 0;
	case 'f':
		a->facility = log_facility_parse(arg);
		if (a->facility < 0)
			fprintf(stderr,
			    "hpnsftp-server: unknown facility \"%s\"\n", arg);
		return a->facility < 0 ? ERR_ARGUMENT : 0;
	case 'l':
		a->level = log_level_parse(arg);
		if (a->level < 0)
			fprintf(stderr,
			    "hpnsftp-server: unknown log level \"%s\"\n", arg);
		return a->level < 0 ? ERR_ARGUMENT : 0;
	case 'P':
		return set_list(&a->serve.denied, arg);
	case 'p':
		return set_list(&a->serve.allowed, arg);
	case 'Q':
		a->done = true;
		a->status = query(arg);
		return 0;
	case 'R':
		a->serve.read_only = true;
		return 0;
	case 'u':
		return set_umask(arg);
	default:
		usage();
		return ERR_ARGUMENT;
	}
}

static int
parse_args(struct server_args *a, int argc, char **argv)
{
	int opt, r;

	*a = (struct server_args){ .level = LOG_LVL_ERROR,
		.facility = LOG_AUTH };
	optind = 0; /* the caller may have parsed its own argv before */
	while (!a->done &&
	    (opt = flags_getopt(argc, argv, "cd:ef:hl:P:p:Q:Ru:")) != -1)
		if ((r = one_option(a, opt, optarg)) < 0)
			return r;
	return 0;
}

/* Changes to the start directory; in text %d is the home, %u the user, and %% a
 * percent sign. False: the text is wrong. */
static bool
enter_start_dir(const char *text, const char *user, const char *home)
{
	struct buf path = { 0 };
	char *dir;
	bool ok = true;

	for (; *text != '\0' && ok; text++) {
		if (*text != '%') {
			buf_put_u8(&path, (uint8_t)*text);
			continue;
		}
		text++;
		if (*text == 'd')
			buf_put(&path, home, strlen(home));
		else if (*text == 'u')
			buf_put(&path, user, strlen(user));
		else if (*text == '%')
			buf_put_u8(&path, '%');
		else
			ok = false;
		if (*text == '\0')
			break;
	}
	dir = ok && buf_err(&path) == 0 ? buf_dup_string(&path) : NULL;
	buf_clear(&path);
	if (dir == NULL) {
		log_error("bad start directory");
		return false;
	}
	/* No error, like a missing home: the session begins where it is. */
	if (chdir(dir) != 0)
		log_error("chdir to \"%s\": %s", dir, strerror(errno));
	free(dir);
	return true;
}

/* Sends as much as the other side takes now. */
static int
flush_output(int fd, struct buf *out)
{
	ssize_t n;

	if (buf_len(out) == 0)
		return 0;
	n = write(fd, buf_data(out), buf_len(out));
	if (n > 0)
		buf_consume(out, (size_t)n);
	return n < 0 && errno != EAGAIN && errno != EINTR ? ERR_SYSTEM : 0;
}

/* True if nobody reads the other end of this descriptor any more. The end of
 * the input does not mean that: a client may still wait for answers behind
 * it. */
static bool
nobody_reads(const struct pollfd *out)
{
	return (out->revents & (POLLERR | POLLHUP)) != 0;
}

/* Waits. ERR_CLOSED: nobody reads the answers, and there are no more
 * requests. */
static int
wait_ready(struct sftp_serve *s, int fd_in, int fd_out, bool want_in)
{
	bool want_out = buf_len(sftp_serve_output(s)) > 0;
	struct pollfd pfd[3] = {
		{ .fd = want_in ? fd_in : -1, .events = POLLIN },
		{ .fd = fd_out, .events = want_out ? POLLOUT : 0 },
		{ .fd = sftp_serve_fd(s), .events = POLLIN },
	};

	if (poll(pfd, 3, -1) < 0)
		return errno != EINTR ? ERR_SYSTEM : 0;
	return nobody_reads(&pfd[1]) && pfd[0].revents == 0 ? ERR_CLOSED : 0;
}

/* True if the client has gone; is asked during work that the loop itself
 * does. */
static bool
has_gone(void *arg)
{
	struct pollfd out = { .fd = *(const int *)arg };

	return poll(&out, 1, 0) > 0 && nobody_reads(&out);
}

/* Completes the requests that have begun, but of digests and walks only the
 * present slice. */
static void
finish(struct sftp_serve *s)
{
	struct pollfd workers;

	while (!sftp_serve_end(s)) {
		workers = (struct pollfd){ .fd = sftp_serve_fd(s),
			.events = POLLIN };
		if (poll(&workers, 1, -1) < 0 && errno != EINTR)
			return;
	}
}

struct input {
	uint8_t *bytes; /* READ_BYTES */
	size_t off, end;
	bool ended;
};

/* Reads more input if all that was read before is used. */
static int
fill_input(int fd, struct input *in)
{
	ssize_t n;

	if (in->off < in->end || in->ended)
		return 0;
	in->off = in->end = 0;
	n = read(fd, in->bytes, READ_BYTES);
	if (n > 0)
		in->end = (size_t)n;
	else if (n == 0)
		in->ended = true;
	else if (errno != EAGAIN && errno != EINTR)
		return ERR_SYSTEM;
	return 0;
}

/*
 * Runs the session. Requests are handled as long as output does not pile up,
 * and output is sent before each wait. Reading is tried before poll() is
 * called, since a busy session rarely has to wait.
 */
static int
serve(struct sftp_serve *s, int fd_in, int fd_out, struct input *in)
{
	struct buf *out = sftp_serve_output(s);
	bool was_blocked, was_full;
	ssize_t used;
	int r;

	for (;;) {
		if ((r = fill_input(fd_in, in)) < 0)
			return r;
		used = sftp_serve_input(s, in->bytes + in->off,
		    in->end - in->off);
		if (used < 0)
			return (int)used;
		in->off += (size_t)used;
		was_blocked = sftp_serve_blocked(s);
		was_full = buf_len(out) >= SFTP_SERVE_OUTPUT_MAX;
		if ((r = flush_output(fd_out, out)) < 0)
			return r;
		if (in->ended && in->off == in->end && sftp_serve_idle(s))
			return 0;
		/* Requests may still be in s or in the input, and workers may
		 * still have replies. */
		if ((used > 0 || was_blocked) && !sftp_serve_blocked(s))
			continue;
		if (was_full && buf_len(out) < SFTP_SERVE_OUTPUT_MAX)
			continue;
		r = wait_ready(s, fd_in, fd_out,
		    in->off == in->end && !in->ended);
		if (r < 0)
			return r;
	}
}

static int
run(const struct server_args *a, int fd_in, int fd_out, const char *user,
    const char *client)
{
	struct sftp_serve_opts opts = a->serve;
	struct input in = { .bytes = malloc(READ_BYTES) };
	struct sftp_serve *s = NULL;
	int r;

	log_info("session opened for local user %s from [%s]", user, client);
	opts.gone = has_gone;
	opts.gone_arg = &fd_out;
	r = in.bytes == NULL ? ERR_NOMEM : sftp_serve_new(&s, &opts);
	if (r == 0)
		r = fd_set_nonblock(fd_in, true);
	if (r == 0)
		r = fd_set_nonblock(fd_out, true);
	if (r == 0)
		r = serve(s, fd_in, fd_out, &in);
	/* A client may leave before it has all replies, which is no error. */
	if (r == ERR_CLOSED)
		finish(s);
	if (r == ERR_CLOSED ||
	    (r == ERR_SYSTEM && (errno == EPIPE || errno == ECONNRESET)))
		r = 0;
	if (r < 0)
		log_error("session ends: %s", err_text(r));
	sftp_serve_free(s);
	free(in.bytes);
	log_info("session closed for local user %s from [%s]", user, client);
	return r < 0 ? 1 : 0;
}

int
sftp_server_main(int argc, char **argv, int fd_in, int fd_out,
    const char *user, const char *home, const char *client,
    struct owners *owners)
{
	struct server_args a;
	const char *slash;

	if (parse_args(&a, argc, argv) < 0)
		return 1;
	if (a.done)
		return a.status;
	slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
	log_init(slash != NULL ? slash + 1 : argc > 0 ? argv[0] : "sftp-server",
	    (enum log_level)a.level);
	if (a.to_stderr)
		log_to_stderr();
	else
		log_to_syslog(a.facility);
	/* Else a client could write to this process through /proc. */
	if (proc_hide() != 0)
		log_error("other programs of the user's may trace this one: %s",
		    strerror(errno));
	if (a.start_dir != NULL && !enter_start_dir(a.start_dir, user, home))
		return 1;
	a.serve.home = home;
	a.serve.user = user;
	a.serve.owners = owners;
	a.serve.threads = SFTP_SERVE_THREADS;
	return run(&a, fd_in, fd_out, user, client);
}
