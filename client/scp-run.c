/* SPDX-License-Identifier: ISC */
#include "client/scp-run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/screen.h"
#include "base/str.h"
#include "xfer/progress.h"

static void
print_line(const char *tried, const char *path, const char *text)
{
	char *part = xstr_shorten_path(path), *shown = xstr_escape(part);

	screen_clear();
	if (tried != NULL)
		fprintf(stderr, "hpnscp: %s \"%s\": %s\n", tried, shown, text);
	else
		fprintf(stderr, "hpnscp: %s: %s\n", shown, text);
	free(shown);
	free(part);
}

void
scp_report(void *arg, const char *tried, const char *path, const char *text)
{
	struct scp *scp = arg;

	progress_error(scp->xfer.progress, path, text);
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
	else {
		screen_clear();
		fprintf(stderr, "hpnscp: %s\n", text);
	}
}

int
scp_end_events(struct scp *scp, int status)
{
	int error;

	progress_end_events(scp->xfer.progress, clock_ms());
	error = progress_lost(scp->xfer.progress);
	if (error == 0)
		return status;
	print_line(NULL, "standard output", strerror(error));
	return status != 0 ? status : 1;
}

_Noreturn void
scp_exit(struct scp *scp, int status)
{
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
	progress_clear_line(scp->xfer.progress);
	progress_error(scp->xfer.progress, path, line);
	fprintf(stderr, "hpnscp: %s\n", line);
	scp_exit(scp, 1);
}

_Noreturn void
scp_refuse(struct scp *scp, const char *path, const char *text)
{
	die_with(scp, SCP_EXIT_FATAL, path, text);
}
