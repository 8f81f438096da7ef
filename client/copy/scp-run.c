/* SPDX-License-Identifier: ISC */
#include "client/copy/scp-run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/called.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/screen.h"
#include "base/str.h"
#include "client/copy/scp-manifest.h"
#include "client/report/report.h"
#include "xfer/progress.h"
#include "xfer/sftp/sftp-proto.h"

static void
print_line(const char *tried, const char *path, const char *text)
{
	char *part = xstr_shorten_path(path), *shown = xstr_escape(part);

	screen_clear();
	if (tried != NULL)
		fprintf(stderr, "%s: %s \"%s\": %s\n",
		    called_name("hpnscp"), tried, shown, text);
	else
		fprintf(stderr, "%s: %s: %s\n",
		    called_name("hpnscp"), shown, text);
	free(shown);
	free(part);
}

/* Prints a message that is about no path. */
static void
print_text(const char *text)
{
	screen_clear();
	fprintf(stderr, "%s: %s\n", called_name("hpnscp"), text);
}

/* The class of an error, as a word for programs that read events: is the disk
 * full, or is it the file? */
static const char *
class_of(const char *text)
{
	return sftp_words_are_full(text) ||
		str_has_prefix(text, XFER_NO_ROOM) ? "space" : "file";
}

void
scp_report(void *arg, const char *tried, const char *path, const char *text)
{
	struct scp *scp = arg;

	progress_error(scp->xfer.progress, class_of(text), path, text);
	print_line(tried, path, text);
	scp->failed = true;
}

void
scp_note(void *arg, const char *path, const char *text)
{
	const struct scp *scp = arg;

	if (scp->flags.quiet)
		return;
	if (path != NULL)
		print_line(NULL, path, text);
	else
		print_text(text);
}

static const int signals[] = { SIGHUP, SIGINT, SIGTERM };

void
scp_catch_signals(void)
{
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		if (loop_exit_on_signal(signals[i], 1) != 0)
			fatal("%s", err_text(ERR_SYSTEM));
}

/* Tells the user which parts of files are kept, and how to go on with them. */
static void
tell_kept(struct scp *scp, const char *why)
{
	/* A copy between two hosts can be resumed neither by -Z nor by running
	 * it again. */
	const char *flag = scp->between || scp->grant != NULL ? NULL :
	    scp->resumes ? "" : "-Z";
	char kept[200];

	xfer_kept_text(scp->running, flag, kept, sizeof kept);
	screen_clear();
	fprintf(stderr, "%s: %s: %s\n", called_name("hpnscp"), why, kept);
}

static void
on_interrupt(void *arg, int signo)
{
	struct scp *scp = arg;

	(void)signo;
	tell_kept(scp, "interrupted");
	scp->interrupted = true;
	progress_error(scp->xfer.progress, "interrupted", "hpnscp",
	    "interrupted");
	scp_exit(scp, 1);
}

int
scp_run(struct scp *scp, struct xfer *x)
{
	int r;

	scp->running = x;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		loop_on_signal_if_wanted(scp->loop, signals[i], on_interrupt,
		    scp);
	r = xfer_run(x);
	/* Handles a pending signal first: ^C also ends a program in place of
	 * the connection, so r may be its error. */
	loop_take_signals(scp->loop);
	scp_catch_signals();
	if (xfer_is_full(x) && xfer_keeps_any(x))
		tell_kept(scp, "the copy ends here");
	else if (r < 0 && xfer_keeps_any(x))
		tell_kept(scp, "the copy was broken off");
	scp->full = xfer_is_full(x);
	scp->running = NULL;
	return r;
}

/* Without progress only --verify prints its sums, because programs that run scp
 * expect it to say nothing. */
void
scp_tell_sums(const struct scp *scp)
{
	char text[160];

	if (scp->flags.quiet || !progress_summary(scp->xfer.progress, text,
		sizeof text))
		return;
	switch (progress_style_of(scp->xfer.progress)) {
	case PROGRESS_TTY:
	case PROGRESS_PLAIN:
		screen_clear();
		puts(text);
		break;
	case PROGRESS_NONE:
		if (scp->xfer.verify)
			fprintf(stderr, "%s: %s\n",
			    called_name("hpnscp"), text);
		break;
	case PROGRESS_JSON:
		break;
	}
}

int
scp_end_events(struct scp *scp, int status)
{
	int error;

	progress_end_events(scp->xfer.progress, clock_ms());
	error = progress_lost(scp->xfer.progress);
	if (error != 0) {
		print_line(NULL, "standard output", strerror(error));
		status = status != 0 ? status : 1;
	}
	if (report_end(scp->report, status, scp->interrupted) != 0) {
		error = errno;
		print_line(NULL, report_path(scp->report), strerror(error));
		status = status != 0 ? status : 1;
	}
	return status;
}

_Noreturn void
scp_exit(struct scp *scp, int status)
{
	scp_manifest_end(scp, false);
	exit(scp_end_events(scp, status));
}

_Noreturn static void
die_with(struct scp *scp, int status, const char *path, const char *text)
{
	scp_report(scp, NULL, path, text);
	scp_exit(scp, status);
}

_Noreturn void
scp_die(struct scp *scp, const char *path, const char *text)
{
	die_with(scp, 1, path, text);
}

_Noreturn void
scp_die_line(struct scp *scp, const char *path, const char *line)
{
	progress_error(scp->xfer.progress, class_of(line), path, line);
	print_text(line);
	scp_exit(scp, 1);
}

_Noreturn void
scp_refuse(struct scp *scp, const char *path, const char *text)
{
	die_with(scp, SCP_EXIT_FATAL, path, text);
}
