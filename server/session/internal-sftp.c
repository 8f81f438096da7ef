/* SPDX-License-Identifier: ISC */
#include "server/session/internal-sftp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "server/session/serve.h"
#include "server/session/session-events.h"
#include "xfer/serve/sftp-serve.h"
#include "xfer/serve/sftp-server-main.h"

enum { ARGS_MAX = 32 };

struct internal_sftp {
	struct sftp_serve *serve;
	struct loop *loop;
	struct channel *channel;
	struct session_events *events; /* borrowed; or NULL */
	uint32_t id; /* of the channel, for events */
	struct loop_fd *watch; /* of sftp_serve_fd(), readable when workers have
				* finished something; or NULL */
	char *text;	       /* the command, cut into words by split() */
	bool ended;	       /* the client sent EOF */
	bool over;	       /* the server has ended: no more replies
				* follow */
	bool read_waits, write_waits;
	int status;
};

/* ---- the command -------------------------------------------------------- */

/* Cuts text into words; argv ends with NULL. Returns how many, or -1 if there
 * are too many. Words are never left out, because one may be a restriction. */
static int
split(char *text, char *argv[ARGS_MAX + 1])
{
	char *word;
	int argc = 0;

	while ((word = strsep(&text, " \t")) != NULL) {
		if (*word == '\0')
			continue;
		if (argc == ARGS_MAX)
			return -1;
		argv[argc++] = word;
	}
	argv[argc] = NULL;
	return argc;
}

int
internal_sftp_run(const char *command, const struct user *user,
    const char *client, struct owners *owners)
{
	char *text = xstrdup(command);
	char *argv[ARGS_MAX + 1];
	int argc = split(text, argv), status = 1;

	if (argc < 0)
		log_error("internal-sftp: more than %d arguments", ARGS_MAX);
	else
		status = sftp_server_main(argc, argv, STDIN_FILENO,
		    STDOUT_FILENO, user->name, user->home, client,
		    owners);
	free(text);
	return status;
}

/* Sets opts from the words of the command. False: the command has flags that
 * need a process of its own, or an error, which sftp_server_main() in a child
 * process reports. */
static bool
parse(char *text, struct sftp_serve_opts *opts)
{
	char *argv[ARGS_MAX + 1];
	int argc = split(text, argv);

	if (argc < 0)
		return false;
	for (int i = 1; i < argc; i++) {
		const char **list = NULL;

		if (strcmp(argv[i], "-R") == 0)
			opts->read_only = true;
		else if (strcmp(argv[i], "-P") == 0)
			list = &opts->denied;
		else if (strcmp(argv[i], "-p") == 0)
			list = &opts->allowed;
		else
			return false;
		if (list == NULL)
			continue;
		if (*list != NULL)
			return false;
		*list = argv[++i];
		if (*list == NULL || !sftp_serve_names_valid(*list))
			return false;
	}
	return true;
}

/* ---- the channel's ends -------------------------------------------------- */

/* Tells the channel that there may be replies to read, or room for requests. It
 * may call on_write() at once, which sets write_waits anew. */
static void
wake(struct internal_sftp *is)
{
	is->read_waits = is->write_waits = false;
	channel_wake(is->channel);
}

static void
fail(struct internal_sftp *is, int err)
{
	log_error("internal-sftp: session ends: %s", err_text(err));
	is->over = true;
	is->status = 1;
}

static void
on_workers(void *arg, int fd, int events)
{
	struct internal_sftp *is = arg;
	ssize_t n;

	(void)fd;
	(void)events;
	if (is->channel == NULL) {
		internal_sftp_free(is);
		return;
	}
	if (!is->over &&
	    (n = sftp_serve_input(is->serve, (const uint8_t *)"", 0)) < 0)
		fail(is, (int)n);
	wake(is);
}

static void
watch_workers(struct internal_sftp *is)
{
	int fd = sftp_serve_fd(is->serve);

	if (is->watch == NULL && fd >= 0)
		is->watch = loop_watch(is->loop, fd, LOOP_READ, on_workers,
		    is);
}

static ssize_t
on_read(void *arg, uint8_t *p, size_t max)
{
	struct internal_sftp *is = arg;
	ssize_t n = is->over ? 0 : sftp_serve_take(is->serve, p, max);

	if (n < 0) {
		fail(is, (int)n);
		n = 0;
	}
	if (!is->over)
		watch_workers(is);
	/* Replies that were taken out make room for requests. */
	if (is->write_waits && !sftp_serve_blocked(is->serve))
		wake(is);
	if (n > 0 || is->over)
		return n;
	if (is->ended && !is->write_waits && sftp_serve_idle(is->serve)) {
		is->over = true;
		return 0;
	}
	is->read_waits = true;
	return ERR_AGAIN;
}

static ssize_t
on_write(void *arg, uint32_t ext, const uint8_t *p, size_t len)
{
	struct internal_sftp *is = arg;
	ssize_t n;

	(void)ext;
	if (is->over)
		return ERR_CLOSED;
	n = sftp_serve_input(is->serve, p, len);
	if (n < 0)
		fail(is, (int)n);
	else
		watch_workers(is);
	is->write_waits = n >= 0 && (size_t)n < len;
	if (is->read_waits && (n < 0 || !sftp_serve_idle(is->serve)))
		wake(is);
	return n;
}

static void
on_end(void *arg)
{
	struct internal_sftp *is = arg;

	is->ended = true;
	wake(is);
}

static const struct channel_io io = {
	.read = on_read,
	.write = on_write,
	.end = on_end,
};

static void
on_done(void *arg, const struct sftp_serve_event *e)
{
	const struct internal_sftp *is = arg;

	session_events_sftp(is->events, is->id, e);
}

/* ---- life ---------------------------------------------------------------- */

static void
set_bounds(struct sftp_serve_bounds *b, const struct grant_scope *g)
{
	*b = (struct sftp_serve_bounds){ .path = g->path,
		.rights = g->rights,
		.bytes = g->bytes,
		.files = g->files,
		.deletes = g->deletes };
}

/* Starts the SFTP server. False: the reason was logged. The likely one for a
 * grant is its directory, which is opened here, as the user. */
static bool
start_serving(struct internal_sftp *is, const struct sftp_serve_opts *opts)
{
	int r = sftp_serve_new(&is->serve, opts);

	if (r != 0 && opts->bounds != NULL)
		log_error("The directory of a grant, \"%s\": %s",
		    opts->bounds->path,
		    r == ERR_SYSTEM ? strerror(errno) : err_text(r));
	else if (r != 0)
		log_error("internal-sftp: %s", err_text(r));
	return r == 0;
}

struct internal_sftp *
internal_sftp_start(const char *command, const struct serve_params *params,
    struct owners *owners, struct loop *l, struct channel *c,
    struct session_events *events)
{
	const struct user *user = params->user;
	struct sftp_serve_bounds bounds;
	struct sftp_serve_opts opts = { .home = user->home,
		.user = user->name,
		.owners = owners,
		.quiet = true,
		.direct = true,
		.threads = SFTP_SERVE_THREADS };
	struct internal_sftp *is = xcalloc(1, sizeof *is);

	is->text = xstrdup(command);
	is->loop = l;
	is->channel = c;
	is->events = events;
	is->id = channel_id(c);
	opts.tell = events != NULL ? on_done : NULL;
	opts.tell_arg = is;
	if (params->grant != NULL) {
		set_bounds(&bounds, params->grant);
		opts.bounds = &bounds;
	}
	if (!parse(is->text, &opts) || !start_serving(is, &opts)) {
		internal_sftp_free(is);
		return NULL;
	}
	/* Begins in the home directory, as a child process would. Below a
	 * ChrootDirectory few users have one. */
	if (chdir(user->home) == -1 && chdir("/") == -1)
		log_error("chdir: no directory to start in");
	channel_set_io(c, &io, is);
	return is;
}

int
internal_sftp_status(const struct internal_sftp *is)
{
	return is->status;
}

void
internal_sftp_stop(struct internal_sftp *is)
{
	if (is->over)
		return;
	is->over = true;
	wake(is);
}

void
internal_sftp_free(struct internal_sftp *is)
{
	if (is == NULL)
		return;
	/* A worker may be waiting for a disk. The loop does not wait for it:
	 * on_workers() frees the struct when the worker has finished. */
	if (is->serve != NULL && !sftp_serve_end(is->serve) &&
	    is->watch != NULL) {
		is->channel = NULL;
		return;
	}
	loop_unwatch(is->loop, is->watch);
	sftp_serve_free(is->serve);
	free(is->text);
	free(is);
}
