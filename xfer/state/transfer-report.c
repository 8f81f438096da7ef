/* SPDX-License-Identifier: ISC */
/* What a transfer tells: failures, and what is no failure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compat/bsd.h"
#include "compat/file.h"
#include "xfer/state/transfer-state.h"

enum { PATH_LONG = 1024 }; /* bytes; the limit of BSD and macOS; Linux has
			    * 4096 */

void
xfer_report_tried(struct xfer *x, const char *tried, const char *path,
    const char *text)
{
	x->failures++;
	x->full |= sftp_words_are_full(text);
	if (x->opts.report != NULL)
		x->opts.report(x->opts.report_arg, tried, path, text);
}

void
xfer_report(struct xfer *x, const char *path, const char *text)
{
	xfer_report_tried(x, NULL, path, text);
}

void
xfer_report_errno(struct xfer *x, const char *path, int error)
{
	xfer_report(x, path, local_error_text(error));
}

void
xfer_report_reply_tried(struct xfer *x, const char *tried, const char *path,
    const struct sftp_reply *reply)
{
	char text[SFTP_WORDS_MAX];

	if (reply->err == ERR_NOMEM) {
		xfer_report_tried(x, tried, path, err_text(ERR_NOMEM));
		return;
	}
	if (reply->err != 0) {
		x->failures++;
		x->unsaid.count++;
		x->unsaid.err = reply->err;
		return;
	}
	strlcpy(text, reply->words, sizeof text);
	/* SFTP 3 has no status for a path that is too long. Servers answer
	 * FAILURE; OpenSSH's answers BAD_MESSAGE. */
	if ((reply->status == SFTP_FAILURE ||
	    reply->status == SFTP_BAD_MESSAGE) && strlen(path) >= PATH_LONG &&
	    strcmp(reply->words, sftp_status_text(reply->status)) == 0)
		snprintf(text, sizeof text, "%s (too long a path? It has %zu "
		    "bytes)", sftp_status_text(reply->status), strlen(path));
	xfer_report_tried(x, tried, path, text);
}

void
xfer_report_reply(struct xfer *x, const char *path,
    const struct sftp_reply *reply)
{
	xfer_report_reply_tried(x, NULL, path, reply);
}

void
xfer_keep_words(char **kept, const struct sftp_reply *reply)
{
	free(*kept);
	*kept = reply->err == 0 && reply->status != SFTP_OK ?
	    strdup(reply->words) : NULL;
}

void
xfer_note(struct xfer *x, const char *path, const char *text)
{
	if (x->opts.note != NULL)
		x->opts.note(x->opts.report_arg, path, text);
}

void
xfer_look_for_extras(struct xfer *x, int fd, const char *path)
{
	if (!x->opts.tell_extras || !x->opts.preserve || x->extras.more ||
	    !file_has_extras(fd))
		return;
	if (x->extras.first == NULL)
		x->extras.first = strdup(path);
	else if (strcmp(x->extras.first, path) != 0) /* begun anew */
		x->extras.more = true;
}
