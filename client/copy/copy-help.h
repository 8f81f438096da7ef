/* SPDX-License-Identifier: ISC */
/* Rows of --help (base/help.h) for the options that hpnscp and hpnsftp share
 * and that concern the connection to the host (see
 * client/copy/copy-flags.h). */
#ifndef HPN_CLIENT_COPY_COPY_HELP_H
#define HPN_CLIENT_COPY_COPY_HELP_H

#define COPY_HELP_CONNECTION                                                  \
	{ NULL, "The connection" },                                           \
	{ "-4, -6", "IPv4 only, IPv6 only" },                                 \
	{ "-A", "forward the agent" },                                        \
	{ "-C", "compress" },                                                 \
	{ "-c cipher", "cipher" },                                            \
	{ "-F file", "configuration file in place of ~/.ssh/config" },        \
	{ "-i file", "private key" },                                         \
	{ "-J host", "go through that host" },                                \
	{ "-o keyword=value", "a line of hpnssh_config(5)" },                 \
	{ "-P port", "port of the host" },                                    \
	{ "-S program", "a program in place of the connection" },             \
	{ "-D program", "a local SFTP server in place of a host" }

#endif
