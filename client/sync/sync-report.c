/* SPDX-License-Identifier: ISC */
/* The two files that a run writes about itself: --manifest, a line for each of
 * its files that is at the target; --report, a page about the run. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/report/report-command.h"
#include "client/report/report.h"
#include "client/sync/sync-again.h"
#include "client/sync/sync-job.h"
#include "client/sync/sync-run.h"

/* ---- --manifest --------------------------------------------------------- */

static void
on_summed(void *arg, bool up, const char *path, const uint8_t *digest)
{
	struct sync_run *run = arg;
	const char *top = run->out.manifest_top;
	size_t len = strlen(top);

	/* Of a path on this host the target's part is cut off; a path at a
	 * server is below the target already. */
	if (up && strcmp(top, ".") != 0 && strncmp(path, top, len) == 0)
		path += len;
	while (*path == '/' || strncmp(path, "./", 2) == 0)
		path++;
	manifest_add(run->out.manifest, digest, path);
	report_digest(run->out.report, path, digest);
}

void
sync_manifest_begin(struct sync_run *run)
{
	const char *path = run->args.manifest;

	if (path == NULL || run->args.opts.dry_run)
		return;
	if (manifest_create(&run->out.manifest, path) != 0)
		sync_die(run, SYNC_EXIT_OUTPUT, path, strerror(errno));
	run->args.xfer.summed = on_summed;
}

void
sync_manifest_top(struct sync_run *run)
{
	if (run->out.manifest != NULL)
		run->out.manifest_top = sync_end_path(sync_end_of(run, false),
		    run->target_path);
}

void
sync_manifest_end(struct sync_run *run, bool whole)
{
	if (manifest_end(run->out.manifest, whole) != 0) {
		sync_tell_fail(run, run->args.manifest, strerror(errno));
		run->partial = true;
	}
	run->out.manifest = NULL;
	free(run->out.manifest_top);
	run->out.manifest_top = NULL;
}

/* ---- --report ----------------------------------------------------------- */

void
sync_report_begin(struct sync_run *run, char *const *names, int n)
{
	struct sync_args *a = &run->args;
	size_t left_out;

	if (a->report.path == NULL)
		return;
	left_out = report_command_names(&a->report.command, names, (size_t)n);
	if (report_new(&run->out.report, "hpnsync", a->report.path,
		&a->report.command, left_out) != 0)
		sync_die(run, SYNC_EXIT_OUTPUT, a->report.path,
		    strerror(errno));
	report_set_tries(run->out.report, sync_again_tries());
	report_watch(run->out.report, a->xfer.progress);
}

enum sync_exit
sync_report_end(struct sync_run *run, enum sync_exit status)
{
	bool interrupted = run->stopped != SYNC_EXIT_OK;

	sync_receipt_cut(run);
	if (report_end(run->out.report, (int)status, interrupted) != 0) {
		sync_tell_fail(run, run->args.report.path, strerror(errno));
		if (status == SYNC_EXIT_OK)
			status = SYNC_EXIT_OUTPUT;
	}
	return sync_job_end(run, status);
}
