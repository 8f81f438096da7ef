/* SPDX-License-Identifier: ISC */
/* What hpnscp --help shows. */
#include "base/help.h"
#include "client/copy/copy-help.h"

static const struct help_row rows[] = {
	{ NULL, "What is copied" },
	{ "-r", "directories with all that is in them" },
	{ "-p", "times and modes, too" },
	{ "--links", "symbolic links as such, not what they lead to" },
	{ "--hard-links", "names of one file stay names of one file" },
	{ "--sparse", "holes stay holes" },
	{ "-Z", "resume: only what is missing" },
	{ "--verify", "compare both ends" },
	{ "--fsync", "done is what is on the disk" },
	{ "--manifest=file", "digests of all files, as sha256sum writes them" },
	{ "--in-place", "write the target itself, without a part" },
	{ "--no-space-check", "copy also what does not fit" },
	{ NULL, "How it goes on" },
	{ "--retry[=times]",
	    "make a lost connection again, and go on (40 times)" },
	{ "-j number|auto", "so many connections to a host" },
	{ "-l kbit", "at most so many Kbit/s" },
	{ "-X option", "nrequests=number or buffer=bytes" },
	{ "--sftp-server=command",
	    "what serves the host's files, as by sudo: hpnscp(1)" },
	{ "-z", "no encryption after the login" },
	{ NULL, "What is told" },
	{ "-q", "no progress" },
	{ "-v", "tell more, and what held the copy back" },
	{ "--progress=style", "tty, plain or none" },
	{ "--json", "events for programs" },
	{ "--receipt=file", "what --direct has moved, with digests" },
	{ "--report=file", "a page about the copy, for a browser" },
	{ "-B", "never ask for anything" },
	COPY_HELP_CONNECTION,
	{ NULL, "By other means" },
	{ "-3", "between two hosts through this one (the default)" },
	{ "--direct[=pull]", "between two hosts, not through this one" },
	{ "-R", "between two hosts by scp on that of the source" },
	{ "-O", "the legacy protocol of scp and rcp" },
	{ "-s", "SFTP (the default)" },
	{ "-T", "-O: take names as the server gives them" },
	{ "-1, -2", "nothing any more" },
	{ "-d, -f, -t", "the other end of a legacy copy" },
	{ "--direct-end", "the other end of --direct" },
	{ NULL, "About" },
	{ "--help", "this list" },
	{ "-V", "the version" },
	{ NULL, NULL },
};

const struct help scp_help = {
	.manual = "hpnscp",
	.usage = "hpnscp [option ...] source ... target\n"
	    "  a source or target is a path, or [user@]host:path",
	.rows = rows,
	.foot = "hpnscp does not keep trees in step: for --delete, --exclude "
		"or --dry-run use\nhpnsync. Defaults by host are "
		"CopyResume and others in hpnssh_config(5).\n",
};
