/* SPDX-License-Identifier: ISC */
/* What hpnssh-keyscan --help shows. */
#include "base/help.h"

static const struct help_row rows[] = {
	{ NULL, "Whom" },
	{ "-f file", "hosts of a file" },
	{ "-p port", "the port" },
	{ "-4, -6", "IPv4 only, IPv6 only" },
	{ "-T time", "how long a host may be silent" },
	{ NULL, "What" },
	{ "-t types", "rsa, ecdsa, ed25519 ..." },
	{ "-c", "certificates" },
	{ "-H", "names are hashed" },
	{ "-D", "SSHFP records" },
	{ "-O option", "hashalg= of records" },
	{ NULL, "About" },
	{ "-q", "no headings" },
	{ "-v", "tell more" },
	{ "-V", "the version" },
	{ "--help", "this list" },
	{ NULL, NULL },
};

const struct help keyscan_help = {
	.manual = "hpnssh-keyscan",
	.usage = "hpnssh-keyscan [option ...] host ...",
	.rows = rows,
};
