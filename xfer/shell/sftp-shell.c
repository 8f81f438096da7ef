/* SPDX-License-Identifier: ISC */
/* The table of commands, lines and batches. */
#include "xfer/shell/sftp-shell.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/screen.h"
#include "xfer/shell/sftp-shell-internal.h"

/* In the order in which `help` shows them. A row without help text is another
 * name of a command. */
const struct shell_command shell_commands[] = {
	{ "bye", "", "end the session", "", 0, 0, 0, false,
	    { SHELL_NOTHING }, shell_quit },
	{ "cd", "[path]", "go to a directory; alone: to the first",
	    "", 0, 0, 0, true, { SHELL_REMOTE, SHELL_REMOTE }, shell_cd },
	{ "chdir", NULL, NULL, "", 0, 0, 0, true,
	    { SHELL_REMOTE, SHELL_REMOTE }, shell_cd },
	{ "chgrp", "[-h] gid path", "set the group (-h: of a link itself)",
	    "h", 1, 10, UINT32_MAX, true, { SHELL_REMOTE, SHELL_REMOTE },
	    shell_chgrp },
	{ "chmod", "[-h] mode path", "set the permissions", "h", 1, 8,
	    07777, true, { SHELL_REMOTE, SHELL_REMOTE }, shell_chmod },
	{ "chown", "[-h] uid path", "set the owner", "h", 1, 10,
	    UINT32_MAX, true, { SHELL_REMOTE, SHELL_REMOTE }, shell_chown },
	{ "copy", "from to", "copy a file on the server", "", 2, 0, 0, true,
	    { SHELL_REMOTE, SHELL_REMOTE }, shell_copy },
	{ "cp", NULL, NULL, "", 2, 0, 0, true,
	    { SHELL_REMOTE, SHELL_REMOTE }, shell_copy },
	{ "df", "[-hi] [path]",
	    "space there is (-h: rounded, -i: inodes)", "hi", 0, 0,
	    0, true, { SHELL_REMOTE, SHELL_REMOTE }, shell_df },
	{ "dir", NULL, NULL, "1afhlnrSt", 0, 0, 0, true,
	    { SHELL_REMOTE, SHELL_REMOTE }, shell_ls },
	{ "exit", "", "end the session", "", 0, 0, 0, false,
	    { SHELL_NOTHING }, shell_quit },
	{ "get", "[-afpR] remote [local]",
	    "download (-a: resume, -p: times, -R: tree)", "afpPrR",
	    1, 0, 0, true, { SHELL_REMOTE, SHELL_LOCAL }, shell_get },
	{ "mget", NULL, NULL, "afpPrR", 1, 0, 0, true,
	    { SHELL_REMOTE, SHELL_LOCAL }, shell_get },
	{ "help", "", "this list", "", 0, 0, 0, false, { SHELL_NOTHING },
	    shell_help },
	{ "lcd", "[path]", "go to a local directory; alone: to home",
	    "", 0, 0, 0, true, { SHELL_LOCAL, SHELL_LOCAL }, shell_lcd },
	{ "lchdir", NULL, NULL, "", 0, 0, 0, true,
	    { SHELL_LOCAL, SHELL_LOCAL }, shell_lcd },
	{ "lls", "[arguments]", "run ls here", NULL, 0, 0, 0, false,
	    { SHELL_LOCAL, SHELL_LOCAL }, shell_lls },
	{ "lmkdir", "path", "make a local directory", "", 1, 0, 0, true,
	    { SHELL_LOCAL, SHELL_LOCAL }, shell_lmkdir },
	{ "ln", "[-s] from to", "make a link (-s: a symbolic one)", "s", 2,
	    0, 0, true, { SHELL_REMOTE, SHELL_REMOTE }, shell_ln },
	{ "lpwd", "", "show the local directory", "", 0, 0, 0, true,
	    { SHELL_NOTHING }, shell_lpwd },
	{ "ls", "[-1afhlnrSt] [path ...]",
	    "list (-a: all, -S: by size, -t: by time)",
	    "1afhlnrSt", 0, 0, 0, true, { SHELL_REMOTE, SHELL_REMOTE },
	    shell_ls },
	{ "lumask", "mask", "set the mask for local files", "",
	    0, 8, 0777, false, { SHELL_NOTHING }, shell_lumask },
	{ "mkdir", "path", "make a directory", "", 1, 0, 0, true,
	    { SHELL_REMOTE, SHELL_REMOTE }, shell_mkdir },
	{ "progress", "", "show progress, or no longer", "", 0, 0, 0, false,
	    { SHELL_NOTHING }, shell_progress },
	{ "put", "[-afpR] local [remote]", "upload (flags as of get)",
	    "afpPrR", 1, 0, 0, true, { SHELL_LOCAL, SHELL_REMOTE },
	    shell_put },
	{ "mput", NULL, NULL, "afpPrR", 1, 0, 0, true,
	    { SHELL_LOCAL, SHELL_REMOTE }, shell_put },
	{ "pwd", "", "show the remote directory", "", 0, 0, 0, false,
	    { SHELL_NOTHING }, shell_pwd },
	{ "quit", "", "end the session", "", 0, 0, 0, false,
	    { SHELL_NOTHING }, shell_quit },
	{ "reget", "[-fpR] remote [local]",
	    "resume a download", "afpPrR", 1, 0, 0, true,
	    { SHELL_REMOTE, SHELL_LOCAL }, shell_reget },
	{ "rename", "[-l] from to",
	    "rename (-l: not over an existing file)", "l", 2, 0, 0, true,
	    { SHELL_REMOTE, SHELL_REMOTE }, shell_rename },
	{ "reput", "[-fpR] local [remote]", "resume an upload",
	    "afpPrR", 1, 0, 0, true, { SHELL_LOCAL, SHELL_REMOTE },
	    shell_reput },
	{ "rm", "[-r] path", "remove files (-r: trees)", "r", 1, 0, 0, true,
	    { SHELL_REMOTE, SHELL_REMOTE }, shell_rm },
	{ "rmdir", "path", "remove an empty directory", "", 1, 0, 0, true,
	    { SHELL_REMOTE, SHELL_REMOTE }, shell_rmdir },
	{ "symlink", "from to", "make a symbolic link", "", 2, 0, 0, true,
	    { SHELL_REMOTE, SHELL_REMOTE }, shell_symlink },
	{ "version", "", "version of the protocol", "", 0, 0, 0, false,
	    { SHELL_NOTHING }, shell_version },
	{ "!", "[command]", "run a command here; alone: a shell", NULL, 0, 0,
	    0, false, { SHELL_LOCAL, SHELL_LOCAL }, shell_escape },
	{ "?", "", "this list", "", 0, 0, 0, false, { SHELL_NOTHING },
	    shell_help },
	{ .name = NULL },
};

const struct shell_command *
shell_command_find(const char *name)
{
	for (const struct shell_command *c = shell_commands; c->name != NULL;
	    c++)
		if (str_equal_nocase(c->name, name))
			return c;
	return NULL;
}

/* ---- messages ----------------------------------------------------------- */

static void
show(FILE *out, const char *fmt, va_list ap)
{
	char *text = NULL, *shown = NULL;
	size_t size;

	if (vasprintf(&text, fmt, ap) < 0)
		return;
	size = strlen(text) * 4 + 1;
	shown = malloc(size);
	screen_clear();
	if (shown != NULL) {
		str_escape(shown, size, text);
		fprintf(out, "%s\n", shown);
	}
	/* stderr is not buffered: keep the order of both. */
	fflush(out);
	free(shown);
	free(text);
}

void
shell_print(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	show(stdout, fmt, ap);
	va_end(ap);
}

void
shell_error(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	va_start(ap, fmt);
	show(stderr, fmt, ap);
	va_end(ap);
}

int
shell_status(int result, const char *fmt, ...)
{
	char *text;
	va_list ap;
	int n;

	if (result <= 0)
		return result;
	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0)
		return ERR_NOMEM;
	shell_error("%s: %s", text, sftp_call_words(result));
	free(text);
	return SHELL_FAILED;
}

int
shell_worse(int a, int b)
{
	if (a < 0 || b < 0)
		return a < 0 ? a : b;
	return MAX(a, b);
}

bool
shell_interrupted(const struct shell *sh)
{
	return sh->p.interrupted != NULL && *sh->p.interrupted;
}

/* ---- commands about the session ----------------------------------------- */

int
shell_help(struct shell *sh, const struct shell_call *call)
{
	const struct shell_command *c;
	char left[64];

	(void)sh;
	(void)call;
	printf("Commands, of which * ? [] match names, and \" ' \\ quote:\n");
	for (c = shell_commands; c->name != NULL; c++) {
		if (c->help == NULL)
			continue;
		snprintf(left, sizeof left, "%s %s", c->name, c->synopsis);
		printf("%-30s %s\n", left, c->help);
	}
	return SHELL_OK;
}

int
shell_progress(struct shell *sh, const struct shell_call *call)
{
	(void)call;
	sh->progress = !sh->progress;
	shell_print("Progress meter %s", sh->progress ? "enabled" : "disabled");
	return SHELL_OK;
}

int
shell_quit(struct shell *sh, const struct shell_call *call)
{
	(void)sh;
	(void)call;
	return SHELL_QUIT;
}

int
shell_version(struct shell *sh, const struct shell_call *call)
{
	(void)sh;
	(void)call;
	shell_print("SFTP protocol version %d", SFTP_VERSION);
	return SHELL_OK;
}

/* ---- life --------------------------------------------------------------- */

int
shell_new(struct shell **out, const struct shell_params *params)
{
	struct shell *sh = calloc(1, sizeof *sh);

	if (sh == NULL)
		return ERR_NOMEM;
	sh->p = *params;
	sh->s = params->sftp;
	sh->progress = params->progress;
	*out = sh;
	return 0;
}

void
shell_free(struct shell *sh)
{
	if (sh == NULL)
		return;
	for (int i = 0; i < SHELL_OWNERS; i++) {
		free(sh->owners[i].user);
		free(sh->owners[i].group);
	}
	free(sh->start);
	free(sh->cwd);
	free(sh);
}

int
shell_begin(struct shell *sh)
{
	int r = sftp_call_name(sh->s, SFTP_REALPATH, ".", &sh->start);

	if (r != 0)
		return shell_status(r, "remote realpath \".\"");
	sh->cwd = strdup(sh->start);
	return sh->cwd != NULL ? SHELL_OK : ERR_NOMEM;
}

/* ---- lines -------------------------------------------------------------- */

/* Reads flags, then the number, then paths from the words of a line. */
static int
take_arguments(const struct shell_command *c, struct shell_words *words,
    struct shell_call *call)
{
	size_t i = 1;
	const char *text, *p;
	char *end;
	unsigned long value;

	for (; i < words->n && words->v[i].text[0] == '-' &&
	    words->v[i].text[1] != '\0'; i++) {
		text = words->v[i].text;
		if (strcmp(text, "--") == 0) {
			i++;
			break;
		}
		for (p = text + 1; *p != '\0'; p++) {
			if (strchr(c->flags, *p) == NULL) {
				shell_error("%s: Invalid flag -%c", c->name,
				    *p);
				return SHELL_FAILED;
			}
			call->flags[(unsigned char)*p] = true;
		}
	}
	if (c->number_base != 0) {
		text = i < words->n ? words->v[i++].text : "";
		value = strtoul(text, &end, c->number_base);
		if (!isdigit((unsigned char)*text) || *end != '\0' ||
		    value > c->number_max) {
			shell_error("%s: a%s number has to come first", c->name,
			    c->number_base == 8 ? "n octal" : "");
			return SHELL_FAILED;
		}
		call->number = (uint32_t)value;
	}
	call->words = &words->v[i];
	call->n = words->n - i;
	if (call->n >= (size_t)c->paths)
		return SHELL_OK;
	shell_error("%s: %s missing: %s %s", c->name,
	    c->paths - (int)call->n > 1 ? "paths are" : "a path is", c->name,
	    c->synopsis != NULL ? c->synopsis : "path ...");
	return SHELL_FAILED;
}

/* Parses a line: *c is its command, or NULL if it is empty; *call has the
 * arguments, and borrows from words. */
static int
parse(const char *line, struct shell_words *words,
    const struct shell_command **c, struct shell_call *call)
{
	int r;

	*call = (struct shell_call){ .n = 0 };
	if (*line == '!') {
		*c = shell_command_find("!");
		call->rest = line + 1;
		return SHELL_OK;
	}
	r = shell_split(line, words);
	if (r == ERR_SYNTAX || r == ERR_LIMIT) {
		shell_error(r == ERR_SYNTAX ? "Unterminated quoted argument" :
					     "Too many words");
		return SHELL_FAILED;
	}
	if (r < 0)
		return r;
	if (words->n == 0) {
		*c = NULL;
		return SHELL_OK;
	}
	*c = shell_command_find(words->v[0].text);
	if (*c == NULL || (*c)->name[0] == '!') {
		shell_error("Invalid command.");
		return SHELL_FAILED;
	}
	call->rest = line + strcspn(line, " \t\r\n");
	return (*c)->flags != NULL ? take_arguments(*c, words, call) :
				     SHELL_OK;
}

/* Runs a line. A command that fails gives SHELL_FAILED only if that ends a
 * batch, else SHELL_OK. */
static int
run_line(struct shell *sh, const char *line)
{
	const struct shell_command *c = NULL;
	struct shell_words words = { .n = 0 };
	struct shell_call call;
	bool matters = true, ends = true;
	int r;

	/* '@' is skipped here; is_silent() acts on it. */
	for (; *line == '-' || *line == '@' || *line == ' ' || *line == '\t';
	    line++)
		if (*line == '-')
			matters = false;
	r = parse(line, &words, &c, &call);
	if (r == SHELL_OK && c != NULL) {
		ends = c->ends_batch;
		r = c->run(sh, &call);
	}
	shell_words_clear(&words);
	if (shell_interrupted(sh) && r >= 0) {
		shell_error("Interrupted");
		return SHELL_FAILED;
	}
	return r == SHELL_FAILED && (!matters || !ends) ? SHELL_OK : r;
}

static bool
is_silent(const char *line)
{
	for (; *line == '-' || *line == ' ' || *line == '\t'; line++)
		;
	return *line == '@';
}

int
shell_run(struct shell *sh)
{
	const char *line;
	int r;

	for (;;) {
		if (sh->p.interrupted != NULL)
			*sh->p.interrupted = false;
		line = sh->p.read_line(sh->p.read_line_arg);
		if (line == NULL)
			return SHELL_OK;
		if (sh->p.echo && !is_silent(line))
			shell_print("sftp> %s", line);
		r = run_line(sh, line);
		if (r == SHELL_QUIT)
			return SHELL_OK;
		if (r < 0 || (r == SHELL_FAILED && sh->p.batch))
			return r;
	}
}
