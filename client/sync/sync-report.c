/* SPDX-License-Identifier: ISC */
/* --report: a page about the run. */
#include <errno.h>
#include <string.h>

#include "client/report/report-command.h"
#include "client/report/report.h"
#include "client/sync/sync-again.h"
#include "client/sync/sync-run.h"

void
sync_report_begin(struct sync_run *run, char *const *names, int n)
{
	struct sync_args *a = &run->args;
	size_t left_out;

	if (a->report.path == NULL)
		return;
	left_out = report_command_names(&a->report.command, names, (size_t)n);
	if (report_new(&run->report, "hpnsync", a->report.path,
		&a->report.command, left_out) != 0)
		sync_die(run, SYNC_EXIT_OUTPUT, a->report.path,
		    strerror(errno));
	report_set_tries(run->report, sync_again_tries());
	report_watch(run->report, a->xfer.progress);
}

enum sync_exit
sync_report_end(struct sync_run *run, enum sync_exit status)
{
	bool interrupted = run->stopped != SYNC_EXIT_OK;

	if (report_end(run->report, (int)status, interrupted) == 0)
		return status;
	sync_tell_fail(run, run->args.report.path, strerror(errno));
	return status == SYNC_EXIT_OK ? SYNC_EXIT_OUTPUT : status;
}
