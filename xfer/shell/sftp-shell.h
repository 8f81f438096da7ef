/* SPDX-License-Identifier: ISC */
/*
 * The commands of an interactive SFTP client: a session with a working
 * directory on each side, to which lines are given. The program reads the
 * lines, from a person or a batch file, and owns the connection; what the
 * commands tell goes to stdout and stderr, escaped.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_SHELL_SFTP_SHELL_H
#define HPN_XFER_SHELL_SFTP_SHELL_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "xfer/transfer/transfer.h"

struct shell;

struct shell_params {
	struct sftp *sftp; /* borrowed, as is all below */
	const struct xfer_streams *streams; /* for transfers; may be NULL */
	/* Options of every transfer, besides the command's flags; `report`,
	 * `note` and `stop` are the shell's. */
	struct xfer_opts xfer;
	bool batch; /* ends at the first command that fails */
	bool quiet; /* prints no line for each file */
	bool echo;  /* prints each line before it runs it */
	bool progress; /* at the start; `progress` changes it */
	/* The program sets it in a turn of the loop, when SIGINT arrives: the
	 * command ends early. */
	bool *interrupted;
	/* A line without its end, valid until the next call; NULL: no more. */
	const char *(*read_line)(void *arg);
	void *read_line_arg;
};

/* How a line, or all of them, ended; or ERR_* when the session is over. */
enum shell_result {
	SHELL_OK,
	SHELL_FAILED, /* the user was told why */
	SHELL_QUIT,
};

/* Life. */
int shell_new(struct shell **out,
    const struct shell_params *params) must_check;
void shell_free(struct shell *sh);

/* Waits for the server, and begins in its directory. */
int shell_begin(struct shell *sh) must_check;
/* Where the command line leads: a directory (with no `local`) is changed to;
 * else files are fetched, and it is SHELL_QUIT or SHELL_FAILED. Escaped as a
 * pattern. */
int shell_go(struct shell *sh, const char *path, const char *local) must_check;
/* Lines until they end: SHELL_OK, or SHELL_FAILED of a batch. */
int shell_run(struct shell *sh) must_check;

/* What could stand at the end of a line that is being typed. */
struct shell_completion {
	char *insert; /* owned: what to add at the end; may be empty */
	struct strlist choices; /* names to show if there are several */
};
int shell_complete(struct shell *sh, const char *line,
    struct shell_completion *out) must_check;
/* The choices in columns, to stdout. */
void shell_show_choices(const struct shell_completion *c);
void shell_completion_clear(struct shell_completion *c);

#endif
