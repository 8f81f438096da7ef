/* SPDX-License-Identifier: ISC */
/* df: space and inodes of a remote file system. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "xfer/shell/sftp-shell-internal.h"

void
shell_human(uint64_t bytes, char *out, size_t size)
{
	static const char units[] = "BKMGTPE";
	double value = (double)bytes;
	size_t unit = 0;

	/* 999.95 would be shown as 1000.0 */
	for (; value >= 999.95 && unit + 2 < sizeof units; unit++)
		value /= 1024;
	snprintf(out, size, "%.*f%c", unit > 0 && value < 99.95 ? 1 : 0,
	    value, units[unit]);
}

static void
human_row(FILE *out, const uint64_t kib[4])
{
	char text[16];

	for (int i = 0; i < 4; i++) {
		shell_human(kib[i] * 1024, text, sizeof text);
		fprintf(out, "%s%7sB", i > 0 ? " " : "", text);
	}
}

/* a * b / c, computed in floating point to avoid an overflow. */
static uint64_t
scale(uint64_t a, uint64_t b, uint64_t c)
{
	return (uint64_t)((long double)a * (long double)b / (long double)c);
}

static void
percent(FILE *out, uint64_t used, uint64_t all)
{
	if (all == 0)
		fprintf(out, "%12s\n", "ERR");
	else
		fprintf(out, " %11" PRIu64 "%%\n", scale(used, 100, all));
}

void
shell_df_table(FILE *out, const struct sftp_statvfs *v, bool human,
    bool inodes)
{
	uint64_t unit = v->frsize != 0 ? v->frsize : v->bsize;
	uint64_t used = v->blocks - MIN(v->bfree, v->blocks);
	uint64_t taken = v->files - MIN(v->ffree, v->files);
	uint64_t kib[4] = { scale(v->blocks, unit, 1024),
		scale(used, unit, 1024), scale(v->bavail, unit, 1024),
		scale(v->bfree, unit, 1024) };

	if (inodes) {
		fprintf(out, "%11s %11s %11s %11s %12s\n", "Inodes", "Used",
		    "Avail", "(root)", "%Capacity");
		fprintf(out, "%11" PRIu64 " %11" PRIu64 " %11" PRIu64
		    " %11" PRIu64, v->files, taken, v->favail, v->ffree);
		percent(out, taken, v->files);
		return;
	}
	if (human) {
		fprintf(out, "%8s %8s %8s %8s %12s\n", "Size", "Used",
		    "Avail", "(root)", "%Capacity");
		human_row(out, kib);
	} else {
		fprintf(out, "%12s %12s %12s %12s %12s\n", "Size", "Used",
		    "Avail", "(root)", "%Capacity");
		fprintf(out, "%12" PRIu64 " %12" PRIu64 " %12" PRIu64
		    " %12" PRIu64, kib[0], kib[1], kib[2], kib[3]);
	}
	percent(out, used, v->blocks);
}

int
shell_df(struct shell *sh, const struct shell_call *call)
{
	char *path = call->n > 0 ? shell_absolute(sh, call->words[0].text) :
				   shell_absolute(sh, ".");
	struct sftp_statvfs v;
	int r;

	if (path == NULL)
		return ERR_NOMEM;
	r = shell_status(sftp_call_statvfs(sh->s, path, &v),
	    "remote statvfs \"%s\"", path);
	free(path);
	if (r == SHELL_OK)
		shell_df_table(stdout, &v, call->flags['h'],
		    call->flags['i']);
	return r;
}
