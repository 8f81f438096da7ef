/* SPDX-License-Identifier: ISC */
/* --manifest: a line for each file of the run that is at the target. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/report/report.h"
#include "client/sync/sync-run.h"

static void
on_summed(void *arg, bool up, const char *path, const uint8_t *digest)
{
	struct sync_run *run = arg;
	const char *top = run->manifest_top;
	size_t len = strlen(top);

	/* A path of this host is below the target already. */
	if (up && strcmp(top, ".") != 0 && strncmp(path, top, len) == 0)
		path += len;
	while (*path == '/' || strncmp(path, "./", 2) == 0)
		path++;
	manifest_add(run->manifest, digest, path);
	report_digest(run->report, path, digest);
}

void
sync_manifest_begin(struct sync_run *run)
{
	const char *path = run->args.manifest;

	if (path == NULL || run->args.opts.dry_run)
		return;
	if (manifest_create(&run->manifest, path) != 0)
		sync_die(run, SYNC_EXIT_OUTPUT, path, strerror(errno));
	run->args.xfer.summed = on_summed;
}

void
sync_manifest_top(struct sync_run *run)
{
	if (run->manifest != NULL)
		run->manifest_top = sync_end_path(sync_end_of(run, false),
		    run->target_path);
}

void
sync_manifest_end(struct sync_run *run, bool whole)
{
	if (manifest_end(run->manifest, whole) != 0) {
		sync_tell_fail(run, run->args.manifest, strerror(errno));
		run->partial = true;
	}
	run->manifest = NULL;
	free(run->manifest_top);
	run->manifest_top = NULL;
}
