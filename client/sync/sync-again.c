/* SPDX-License-Identifier: ISC */
#include "client/sync/sync-again.h"

#include "config.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/screen.h"
#include "base/str.h"
#include "client/auth/login-tickets.h"
#include "client/sync/sync-job.h"
#include "client/sync/sync-run.h"
#include "compat/bsd-mem.h"
#include "compat/proc.h"
#include "crypto/rand.h"

/* The variable of the environment in which a try leaves its state to the next
 * one. The text begins with the process's number, so that other processes that
 * inherit it do not take it for theirs. */
#define VARIABLE "HPNSYNC_AGAIN"

enum {
	TOKEN_BYTES = 16,
	ALL_MAX = 1000, /* limit for all tries, also if each of them made
			 * progress */
	STEP_MS = 1000,
};

extern char **environ;

static struct {
	char **argv; /* owned; its strings are borrowed */
	struct login_ticket back; /* ticket of the last try; kind 0: none */
	unsigned used; /* tries in a row without progress */
	unsigned all;
	uint64_t deleted, started_ms;
	bool half; /* the last try ended while it made a lock */
	char token[2 * TOKEN_BYTES + 1];
	/* These are about the try that runs now. */
	uint64_t worked;
	bool locks;
} again;

/* ---- from one try to the next ------------------------------------------- */

static void
make_token(void)
{
	uint8_t bytes[TOKEN_BYTES];
	char *hex;

	rand_bytes(bytes, sizeof bytes);
	if ((hex = str_hex(bytes, sizeof bytes)) == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	memcpy(again.token, hex, sizeof again.token);
	free(hex);
}

/* Reads the ticket from the pipe that the last try has left, and closes it. */
static void
take_ticket(int fd)
{
	if (fd < 0)
		return;
	if (fd_read_all(fd, &again.back, sizeof again.back) != 0)
		explicit_bzero(&again.back, sizeof again.back);
	fd_close(&fd);
}

/* Puts the ticket for the next try into a pipe, and returns the end to read
 * from, which stays open over exec(). -1: there is no ticket, or no pipe. */
static int
leave_ticket(const struct sync_run *run)
{
	struct login_ticket back;
	int ends[2] = { -1, -1 };

	if (run->host.remote == NULL || !remote_back(run->host.remote, &back))
		back = again.back;
	if (back.kind != 0 && child_pipe(ends) == 0 &&
	    (fd_write_all(ends[1], &back, sizeof back) != 0 ||
		fd_set_cloexec(ends[0], false) != 0))
		fd_close(&ends[0]);
	fd_close(&ends[1]);
	explicit_bzero(&back, sizeof back);
	return ends[0];
}

static void
take(const char *text)
{
	unsigned used, all, half;
	uint64_t deleted, started_ms;
	char token[sizeof again.token];
	long pid;
	int ticket;

	if (sscanf(text, "%ld %u %u %" SCNu64 " %" SCNu64 " %u %32[0-9a-f] %d",
	    &pid, &used, &all, &deleted, &started_ms, &half, token,
	    &ticket) != 8 ||
	    pid != (long)getpid() || strlen(token) != 2 * TOKEN_BYTES)
		return;
	take_ticket(ticket);
	again.used = used;
	again.all = all;
	again.deleted = deleted;
	again.started_ms = started_ms;
	again.half = half != 0;
	memcpy(again.token, token, sizeof token);
}

static void
leave(int ticket)
{
	char text[160];

	snprintf(text, sizeof text,
	    "%ld %u %u %" PRIu64 " %" PRIu64 " %u %s %d", (long)getpid(),
	    again.used, again.all, again.deleted, again.started_ms,
	    again.locks, again.token, ticket);
	if (setenv(VARIABLE, text, 1) == -1)
		fatal("%s", err_text(ERR_NOMEM));
}

void
sync_again_begin(int argc, char **argv)
{
	const char *text = getenv(VARIABLE);

	again.argv = xcalloc((size_t)argc + 1, sizeof *again.argv);
	memcpy(again.argv, argv, (size_t)argc * sizeof *argv);
	again.started_ms = clock_ms();
	make_token();
	if (text != NULL)
		take(text);
	(void)unsetenv(VARIABLE);
}

bool
sync_again_is(void)
{
	return again.all > 0;
}

unsigned
sync_again_tries(void)
{
	return again.all + 1;
}

void
sync_again_apply(struct sync_run *run)
{
	struct sync_opts *o = &run->args.opts;

	run->started_ms = again.started_ms;
	o->max_delete -= MIN(o->max_delete, again.deleted);
}

const char *
sync_again_token(void)
{
	return again.token;
}

const struct login_ticket *
sync_again_ticket(void)
{
	return &again.back;
}

void
sync_again_locks(bool now)
{
	again.locks = now;
}

bool
sync_again_locked_half(void)
{
	return again.half;
}

/* ---- progress ----------------------------------------------------------- */

/* True if files are copied though they are equal. A try that copied some has
 * then made no progress: the next one copies them again. */
static bool
copies_equal(const struct sync_opts *o)
{
	return o->ignore_times || o->checksum || (!o->times && !o->size_only);
}

void
sync_again_item(const struct sync_run *run, const char *letters)
{
	const struct sync_opts *o = &run->args.opts;

	if (o->dry_run)
		return;
	if (letters[0] == '*') {
		again.deleted++;
		again.worked++;
	} else if (strlen(letters) > 2 && letters[2] == '+') {
		again.worked++;
	} else if (strchr("<>", letters[0]) != NULL && !copies_equal(o)) {
		again.worked++;
	}
}

/* ---- again -------------------------------------------------------------- */

static unsigned
retries(const struct sync_run *run)
{
	return run->args.retry_given ? run->args.xfer.retries :
				       run->host.copy.retries;
}

bool
sync_again_reads_input(void)
{
	for (char **arg = again.argv + 1; *arg != NULL; arg++) {
		size_t len = strlen(*arg);

		if (len > 0 && (*arg)[len - 1] == '-' &&
		    (len == 1 || strchr("= ", (*arg)[len - 2]) != NULL))
			return true;
	}
	return false;
}

/* True if a second try could destroy data. With --delete it would delete the
 * files that the first one has moved, because their sources are gone. With
 * backups it would copy equal files again, and replace the backups by new
 * files. */
static bool
would_lose(const struct sync_opts *o)
{
	return (o->remove_source && o->delete) ||
	    (o->backup && copies_equal(o));
}

bool
sync_again_may(const struct sync_run *run, int err)
{
	/* A program in place of the connection (-e) that has failed at the
	 * first try will always fail, so a second try needs a server that has
	 * answered. */
	bool was_up = again.all > 0 || run->args.ssh_program == NULL ||
	    (run->host.s != NULL && sftp_has_version(run->host.s));

	return (err == ERR_CLOSED || err == ERR_TIMEOUT) && was_up &&
	    !run->both_here && run->args.check == NULL && !run->stop &&
	    /* What the first try has moved would have no line. */
	    run->args.receipt == NULL &&
	    !run->tries_over && !would_lose(&run->args.opts) &&
	    (again.used < retries(run) || again.worked > 0) &&
	    retries(run) > 0 && again.all < ALL_MAX &&
	    !sync_again_reads_input();
}

/* Waits. False: a signal or --stop-after has ended the run meanwhile. */
static bool
wait_ms(struct sync_run *run, unsigned ms)
{
	uint64_t until = clock_ms() + ms, now, end = UINT64_MAX;

	if (run->args.seconds.stop_after > 0)
		end = run->started_ms + run->args.seconds.stop_after * 1000;
	while (!run->stop && (now = clock_ms()) < until) {
		if (now >= end) {
			run->stop = true;
			run->stopped = SYNC_EXIT_AGAIN;
			break;
		}
		(void)poll(NULL, 0, (int)MIN(until - now, (uint64_t)STEP_MS));
		loop_take_signals(run->loop);
	}
	return !run->stop;
}

void
sync_again(struct sync_run *run, int err)
{
	char text[160];
	unsigned wait;
	size_t len;
	int ticket;

	if (!sync_again_may(run, err))
		return;
	if (again.worked > 0)
		again.used = 0;
	wait = xfer_retry_wait_ms(again.used, 0);
	again.used++;
	again.all++;
	xfer_retry_text(wait, again.used, retries(run), text, sizeof text);
	len = strlen(text);
	snprintf(text + len, sizeof text - len, ": all is compared again");
	sync_tell_note(run, NULL, text);
	if (!wait_ms(run, wait))
		return;
	(void)!manifest_end(run->out.manifest, false);
	run->out.manifest = NULL;
	(void)fflush(stdout);
	screen_clear();
	ticket = leave_ticket(run);
	leave(ticket);
	sync_job_leave();
	proc_execute_self(again.argv, environ);
	fd_close(&ticket);
	(void)unsetenv(VARIABLE);
	sync_tell_note(run, NULL, "this program cannot be run again");
}
