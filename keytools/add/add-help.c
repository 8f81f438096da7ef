/* SPDX-License-Identifier: ISC */
/* What hpnssh-add --help shows. */
#include "base/help.h"

static const struct help_row rows[] = {
	{ NULL, "What the agent has" },
	{ "-l", "fingerprints" },
	{ "-L", "public keys" },
	{ "-E hash", "of fingerprints" },
	{ "-T", "can these keys be used?" },
	{ NULL, "Add" },
	{ "-t life", "for so long" },
	{ "-c", "each use is confirmed" },
	{ "-h hosts", "for these destinations only" },
	{ "-H file", "where their keys are" },
	{ "-k", "without certificates" },
	{ "-C", "certificates only" },
	{ "-N", "certificates without an end" },
	{ "-K", "resident keys of a security key" },
	{ "-S library", "of a security key" },
	{ "-s library", "keys of a token" },
	{ NULL, "Remove" },
	{ "-d", "these" },
	{ "-D", "all" },
	{ "-e library", "those of a token" },
	{ NULL, "Lock" },
	{ "-x", "lock the agent" },
	{ "-X", "unlock it" },
	{ NULL, "About" },
	{ "-Q", "the agent's extensions" },
	{ "-q", "tell less" },
	{ "-v", "tell more" },
	{ "-V", "the version" },
	{ "--help", "this list" },
	{ NULL, NULL },
};

const struct help add_help = {
	.manual = "hpnssh-add",
	.usage = "hpnssh-add [option ...] [file ...]",
	.rows = rows,
};
