/* SPDX-License-Identifier: ISC */
/*
 * What a program tells of itself: --help, and -V where that is no other flag.
 * Both count only as the single argument, so that no command line for OpenSSH's
 * programs changes its meaning.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_HELP_H
#define HPN_BASE_HELP_H

#include <stdbool.h>
#include <stddef.h>

/* An option and what it does; without an option the head of a group. Both NULL:
 * the end. */
struct help_row {
	const char *option, *text;
};

/* The help of a program. All pointers are to literals. */
struct help {
	const char *manual, *usage;
	const struct help_row *rows;
	const char *foot; /* whole lines; NULL: none */
};

extern const struct help add_help, agent_help, keygen_help, keyscan_help,
    scp_help, sftp_help, sftp_server_help, ssh_help, sshd_help,
    sync_help;

/* Will help_answer() answer? For a program that has to give up its privileges
 * before that. */
bool help_is_asked(int argc, char *const argv[]);
/* Answers and ends the program, if the one argument asks for help or version.
 * crypto: the version of the cryptographic library, or NULL. */
void help_answer(const struct help *h, int argc, char *const argv[],
    const char *crypto);

#endif
