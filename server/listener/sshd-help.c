/* SPDX-License-Identifier: ISC */
/* What hpnsshd --help shows. */
#include "base/help.h"

static const struct help_row rows[] = {
	{ NULL, "How it runs" },
	{ "-D", "in the foreground" },
	{ "-d", "one connection, told in full" },
	{ "-i", "serve the standard streams (inetd)" },
	{ NULL, "Settings" },
	{ "-f file", "configuration file" },
	{ "-o keyword=value", "a line of hpnsshd_config(5)" },
	{ "-p port", "the port" },
	{ "-4, -6", "IPv4 only, IPv6 only" },
	{ "-h file", "a host key" },
	{ "-c file", "a certificate of it" },
	{ "-g time", "until the login" },
	{ "-u length", "of names in login records" },
	{ "-b, -k, -Q, -r", "nothing any more" },
	{ "-R", "refused: of inner use" },
	{ NULL, "Checks" },
	{ "-t", "are settings and keys good?" },
	{ "-T", "the same, and show the settings" },
	{ "-G", "show the settings only" },
	{ "-C spec", "for that connection: user=,host=,addr=,..." },
	{ NULL, "Messages" },
	{ "-e", "to standard error" },
	{ "-E file", "to a file" },
	{ "-q", "none" },
	{ "-V", "the version" },
	{ "--help", "this list" },
	{ NULL, NULL },
};

const struct help sshd_help = {
	.manual = "hpnsshd",
	.usage = "hpnsshd [option ...]",
	.rows = rows,
};
