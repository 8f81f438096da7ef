/* SPDX-License-Identifier: ISC */
/*
 * Inside of the SFTP shell: what sftp-shell.c (table, lines),
 * sftp-shell-parse.c, sftp-shell-paths.c and the files with the commands
 * share. Nobody else includes it, but its tests.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_SHELL_SFTP_SHELL_INTERNAL_H
#define HPN_XFER_SHELL_SFTP_SHELL_INTERNAL_H

#include <stdint.h>
#include <stdio.h>

#include "xfer/shell/sftp-shell.h"

/* ---- words of a line (sftp-shell-parse.c) ------------------------------- */

enum { SHELL_WORDS_MAX = 128 };

struct shell_word {
	char *text;    /* the word without quotes and escapes */
	char *pattern; /* the word as a pattern: quoted characters are escaped
			* by '\' */
};

struct shell_words {
	struct shell_word v[SHELL_WORDS_MAX];
	size_t n;
	char quote; /* the quote that is still open at the end of the line; 0:
		     * none */
	bool open;  /* the last word touches the end of the line */
};

/* Splits a line into words. ERR_SYNTAX: a quote is open at the end; the words
 * are set even then. ERR_LIMIT, ERR_NOMEM. The caller clears the words in any
 * case. */
int shell_split(const char *line, struct shell_words *words) must_check;
void shell_words_clear(struct shell_words *words);
/* shell_escape_glob() makes a pattern that matches only this text.
 * shell_escape_word() makes a word for a command line that stands for this
 * text, within that quote (0: outside of quotes, escaped by '\'). The caller
 * frees the result; NULL when out of memory. */
char *shell_escape_glob(const char *text);
char *shell_escape_word(const char *text, char quote);

/* ---- commands (sftp-shell.c) -------------------------------------------- */

struct shell_call {
	bool flags[128];	  /* flags['x']: the command was given -x */
	uint32_t number;	  /* the number in front of the paths, if the
				   * command takes one */
	struct shell_word *words; /* the paths */
	size_t n;
	const char *rest; /* the line behind the command's name */
};

enum shell_complete_kind { SHELL_NOTHING, SHELL_LOCAL, SHELL_REMOTE };

/* Runs a command. Returns SHELL_* or ERR_*. */
typedef int (*shell_fn)(struct shell *sh, const struct shell_call *call);

struct shell_command {
	const char *name;
	const char *synopsis; /* text for the arguments, in help and messages */
	const char *help;     /* NULL: the row is another name of a command */
	const char *flags;    /* letters of its flags; NULL: the rest of the
			       * line is its argument */
	int paths;	      /* it needs at least so many paths */
	int number_base;      /* 8, 10: base of the number in front of the
			       * paths; 0: it takes none */
	uint32_t number_max;
	bool ends_batch; /* its failure ends a batch */
	enum shell_complete_kind complete[2]; /* of the first path, of the
					       * others */
	shell_fn run;
};

/* Finds a command by its name, ignoring case; NULL: there is none. */
const struct shell_command *shell_command_find(const char *name);
/* The table of commands; a row with a NULL name ends it. */
extern const struct shell_command shell_commands[];

#define SHELL_COMMAND(name)                                                   \
	int shell_##name(struct shell *sh, const struct shell_call *call)
/* sftp-shell.c */
SHELL_COMMAND(help);
SHELL_COMMAND(progress);
SHELL_COMMAND(quit);
SHELL_COMMAND(version);
/* sftp-shell-local.c */
SHELL_COMMAND(escape);
SHELL_COMMAND(lcd);
SHELL_COMMAND(lls);
SHELL_COMMAND(lmkdir);
SHELL_COMMAND(lpwd);
SHELL_COMMAND(lumask);
/* sftp-shell-remote.c */
SHELL_COMMAND(cd);
SHELL_COMMAND(chgrp);
SHELL_COMMAND(chmod);
SHELL_COMMAND(chown);
SHELL_COMMAND(copy);
SHELL_COMMAND(ln);
SHELL_COMMAND(mkdir);
SHELL_COMMAND(pwd);
SHELL_COMMAND(rename);
SHELL_COMMAND(rmdir);
SHELL_COMMAND(symlink);
/* sftp-shell-remove.c, sftp-shell-ls.c, sftp-shell-df.c */
SHELL_COMMAND(rm);
SHELL_COMMAND(ls);
SHELL_COMMAND(df);
/* sftp-shell-move.c */
SHELL_COMMAND(get);
SHELL_COMMAND(put);
SHELL_COMMAND(reget);
SHELL_COMMAND(reput);

/* ---- the session -------------------------------------------------------- */

enum { SHELL_OWNERS = 16 };

struct shell {
	struct shell_params p;
	struct sftp *s;
	char *start, *cwd; /* remote directories; owned; absolute */
	bool progress;
	/* Cache of names of users and groups from the server; when it is full
	 * the oldest entry is replaced. */
	struct shell_owner {
		bool known;
		uint32_t uid, gid;
		char *user, *group; /* owned */
	} owners[SHELL_OWNERS];
	unsigned next_owner;
};

bool shell_interrupted(const struct shell *sh);
/* Prints a line to stdout or stderr, escaped. */
void shell_print(const char *fmt, ...) printf_like(1, 2);
void shell_error(const char *fmt, ...) printf_like(1, 2);
/* Turns the result of an sftp_call_*() into that of a command: 0 into SHELL_OK;
 * a status into SHELL_FAILED, after printing "text: status"; ERR_* stays. */
int shell_status(int result, const char *fmt, ...) printf_like(2, 3);
/* The worse of two results; errors win. */
int shell_worse(int a, int b);

/* ---- remote names (sftp-shell-paths.c); caller frees -------------------- */

char *shell_absolute(const struct shell *sh, const char *path);
char *shell_absolute_pattern(const struct shell *sh, const char *pattern);
/* The absolute names that a word stands for: the matches of a pattern; the
 * word itself if it is no pattern or has no matches. */
int shell_match(struct shell *sh, const char *pattern,
    struct strlist *names) must_check;
/* How to show an absolute name to a user who typed `word`: relative to the
 * working directory if word is not absolute. Borrowed from name. */
const char *shell_display_name(const struct shell *sh, const char *name,
    const char *word);
/* STAT of a name without patterns that the user typed. Like with OpenSSH's
 * client, if the server does not allow LSTAT of it, *status is that error. Both
 * requests are sent together. */
int shell_stat_named(struct shell *sh, const char *name,
    struct sftp_attrs *attrs, int *status) must_check;
/* STAT of all names, many at a time: 0 or ERR_*; *statuses has the status of
 * each (0 or > 0). */
int shell_stat_all(struct shell *sh, const struct strlist *names,
    struct sftp_attrs *attrs, int *statuses) must_check;

/* The number of links of each name; 0 where the server does not tell it. */
int shell_links_all(struct shell *sh, const struct strlist *names,
    uint32_t *links) must_check;

/* ---- parts of ls and df, for tests -------------------------------------- */

/* Writes a number of bytes like "6B", "97.7K", "252G". */
void shell_human(uint64_t bytes, char *out, size_t size);
/* shell_long_line() makes a line like that of ls -l, which the caller frees;
 * NULL when out of memory. */
struct shell_long {
	const char *name, *user, *group;
	const struct sftp_attrs *attrs;
	uint32_t links; /* 0: not known */
	bool human;
	int size_width;
};
char *shell_long_line(const struct shell_long *e);
void shell_columns(FILE *out, char *const *names, size_t n, size_t width);
/* Prints names in columns, escaped, to stdout; the width is that of the
 * screen. */
int shell_print_names(const struct strlist *names) must_check;
void shell_df_table(FILE *out, const struct sftp_statvfs *v, bool human,
    bool inodes);

#endif
