/* SPDX-License-Identifier: ISC */
/*
 * The text of a small file of the server, such as /etc/passwd.
 *
 * Threads: the session's.
 */
#ifndef HPN_XFER_SFTP_SFTP_TEXT_H
#define HPN_XFER_SFTP_SFTP_TEXT_H

#include "base/buf.h"
#include "xfer/sftp/sftp-engine.h"

struct sftp_text {
	struct sftp *s;
	struct sftp_handle handle;
	size_t max;
	bool at_once;
	void (*done)(void *arg);
	void *arg;
	struct buf text; /* empty, or with a NUL behind it */
};

/* Begins to read the file, and calls done() once, from the loop, when text has
 * it; what could not be read is empty. About max bytes are read. at_once: all
 * of it comes with the first READ, as of files in /proc, which saves a round
 * trip. The caller clears text. */
void sftp_text_read(struct sftp_text *t, const char *path);

#endif
