/* SPDX-License-Identifier: ISC */
/* What hpnsftp --help shows. */
#include "base/help.h"
#include "client/copy/copy-help.h"

static const struct help_row rows[] = {
	{ NULL, "Files" },
	{ "-a", "go on with files that are there in part" },
	{ "-f", "have them written to the disk" },
	{ "-p", "times and modes, too" },
	{ "-r", "directories with all that is in them" },
	{ NULL, "Commands" },
	{ "-b file", "read commands from a file; - is standard input" },
	{ "-N", "tell what a batch does" },
	{ "-q", "no progress" },
	{ "-v", "tell more" },
	{ NULL, "Data" },
	{ "-B bytes", "of one request" },
	{ "-R number", "of requests under way" },
	{ "-l kbit", "at most so many Kbit/s" },
	{ "-X option", "nrequests=number or buffer=bytes" },
	COPY_HELP_CONNECTION,
	{ "-s name", "subsystem, or the path of a program of the host" },
	{ "--sftp-server=command",
	    "what serves the host's files, as by sudo: hpnsftp(1)" },
	{ NULL, "About" },
	{ "--help", "this list; help tells of the commands" },
	{ "-V", "the version" },
	{ NULL, NULL },
};

const struct help sftp_help = {
	.manual = "hpnsftp",
	.usage = "hpnsftp [option ...] [user@]host[:path]",
	.rows = rows,
};
