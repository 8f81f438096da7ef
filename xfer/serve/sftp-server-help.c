/* SPDX-License-Identifier: ISC */
/* What hpnsftp-server --help shows. */
#include "base/help.h"

static const struct help_row rows[] = {
	{ NULL, "What is allowed" },
	{ "-R", "nothing is changed" },
	{ "-p requests", "these only" },
	{ "-P requests", "all but these" },
	{ "-Q requests", "list what there is" },
	{ NULL, "Files" },
	{ "-d path", "directory to begin in" },
	{ "-u mask", "umask" },
	{ NULL, "Messages" },
	{ "-e", "to standard error" },
	{ "-f facility", "of syslog" },
	{ "-l level", "how much" },
	{ "-c", "nothing" },
	{ NULL, "About" },
	{ "-h", "the usage" },
	{ "-V", "the version" },
	{ "--help", "this list" },
	{ NULL, NULL },
};

const struct help sftp_server_help = {
	.manual = "hpnsftp-server",
	.usage = "hpnsftp-server [option ...]",
	.rows = rows,
};
