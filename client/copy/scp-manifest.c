/* SPDX-License-Identifier: ISC */
#include "client/copy/scp-manifest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/path.h"
#include "client/report/report.h"

/* A path without the target in front, if that is a directory; the last part
 * alone if it is one file. */
static const char *
below_top(const struct scp *scp, const char *path)
{
	const char *top = scp->manifest.top;
	size_t len = strlen(top);

	if (strcmp(path, top) == 0)
		return path_last(path);
	if (len > 0 && strcmp(top, ".") != 0 && strncmp(path, top, len) == 0)
		path += len;
	while (*path == '/' || strncmp(path, "./", 2) == 0)
		path++;
	return path;
}

static void
on_summed(void *arg, bool up, const char *path, const uint8_t *digest)
{
	const struct scp *scp = arg;

	(void)up;
	manifest_add(scp->manifest.out, digest, below_top(scp, path));
	report_digest(scp->report, below_top(scp, path), digest);
}

void
scp_manifest_begin(struct scp *scp)
{
	const char *path = scp->manifest.path;

	if (path == NULL)
		return;
	if (manifest_create(&scp->manifest.out, path) != 0)
		scp_refuse(scp, path, strerror(errno));
	scp->xfer.summed = on_summed;
}

void
scp_manifest_top(struct scp *scp, const char *top)
{
	free(scp->manifest.top);
	scp->manifest.top = strdup(top);
	if (scp->manifest.top == NULL)
		scp_die(scp, "memory", err_text(ERR_NOMEM));
}

void
scp_manifest_end(struct scp *scp, bool whole)
{
	struct manifest_out *out = scp->manifest.out;

	scp->manifest.out = NULL;
	if (manifest_end(out, whole) != 0 && whole)
		scp_report(scp, NULL, scp->manifest.path, strerror(errno));
	free(scp->manifest.top);
	scp->manifest.top = NULL;
}
