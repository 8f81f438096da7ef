/* SPDX-License-Identifier: ISC */
/* The text of hpnssh-agent --help. */
#include "base/help.h"

static const struct help_row rows[] = {
	{ NULL, "How it runs" },
	{ "-D", "in the foreground" },
	{ "-d", "the same, and tell more" },
	{ "-a path", "socket" },
	{ "-T", "socket in the directory for temporary files" },
	{ "-u", "remove sockets that nobody serves" },
	{ "-U", "leave them" },
	{ "-k", "end the agent of SSH_AGENT_PID" },
	{ "-c, -s", "lines for csh, for sh" },
	{ NULL, "Keys" },
	{ "-t life", "how long keys stay" },
	{ "-E hash", "of fingerprints" },
	{ "-O option", "allow-remote-pkcs11, no-restrict-websafe" },
	{ "-P patterns", "libraries that may be used" },
	{ NULL, "About" },
	{ "-V", "the version" },
	{ "--help", "this list" },
	{ NULL, NULL },
};

const struct help agent_help = {
	.manual = "hpnssh-agent",
	.usage = "hpnssh-agent [option ...] [command ...]",
	.rows = rows,
};
