/* SPDX-License-Identifier: ISC */
/*
 * The commands of an interactive SFTP client. A shell is a session with a
 * working directory on each side; it runs lines. The program reads the lines,
 * from the user or a batch file, and owns the connection. Commands print to
 * stdout and stderr, escaped.
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
	struct sftp *sftp; /* borrowed, like all pointers below */
	const struct xfer_streams *streams; /* for transfers; may be NULL */
	/* Options of every transfer; flags of a command add to them. The shell
	 * sets `report`, `note` and `stop` itself. */
	struct xfer_opts xfer;
	bool batch; /* end at the first command that fails */
	bool quiet; /* print no line for each file */
	bool echo;  /* print each line before running it */
	bool progress; /* show progress at the start; the command `progress`
			* changes this */
	/* The program sets this to true in a turn of the loop when SIGINT
	 * arrives; the running command then ends early. */
	bool *interrupted;
	/* Returns a line without its newline, valid until the next call; NULL:
	 * there are no more lines. */
	const char *(*read_line)(void *arg);
	void *read_line_arg;
};

/* How a command, or all of them, ended. Functions return ERR_* instead when the
 * session is over. */
enum shell_result {
	SHELL_OK,
	SHELL_FAILED, /* the user was told why */
	SHELL_QUIT,
};

/* Life. */
int shell_new(struct shell **out,
    const struct shell_params *params) must_check;
void shell_free(struct shell *sh);

/* Waits for the server; the working directory is the one in which the server
 * starts. */
int shell_begin(struct shell *sh) must_check;
/* Goes to the path of the program's command line. A directory (with local NULL)
 * becomes the working directory. Else files that match path are downloaded, to
 * local if not NULL; the result is then SHELL_QUIT or SHELL_FAILED. path is a
 * pattern. */
int shell_go(struct shell *sh, const char *path, const char *local) must_check;
/* Runs lines until there are no more: SHELL_OK, or SHELL_FAILED of a batch. */
int shell_run(struct shell *sh) must_check;

/* How the last word of a line that is being typed could be completed. */
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
