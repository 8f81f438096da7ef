/* SPDX-License-Identifier: ISC */
/*
 * Reads the text of a small file at the server, such as /etc/passwd.
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
	struct buf text; /* empty, or text with a NUL behind it */
};

/* sftp_text_read() begins to read the file. done() is called once, from the
 * loop, when text is complete; it is empty if the file could not be read. About
 * max bytes are read at most. at_once: the first READ gets the whole file, as
 * of files in /proc, which saves a round trip. The caller clears text. */
void sftp_text_read(struct sftp_text *t, const char *path);

#endif
