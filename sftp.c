/* SPDX-License-Identifier: ISC */
/*
 * hpnsftp: interactive file transfer by SFTP. This file reads the command line,
 * makes the connection, and reads the lines of commands from a terminal, a pipe
 * or a batch file; xfer/shell/sftp-shell.c executes them.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#ifdef HAVE_LIBEDIT
#include <histedit.h>
#endif

#include "base/buf.h"
#include "base/called.h"
#include "base/fd.h"
#include "base/flags-getopt.h"
#include "base/help.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/open-named.h"
#include "base/str.h"
#include "cipher.h"
#include "client/copy/copy-flags.h"
#include "client/copy/remote.h"
#include "crypto/library.h"
#include "xfer/progress.h"
#include "xfer/shell/sftp-shell.h"
#include "xfer/target.h"

enum {
	EXIT_LOST = 255, /* exit status without a connection, as ssh's */
	LINE_MAX_BYTES = 1024 * 1024,
	HISTORY_LINES = 100,
};

static const char prompt_text[] = "sftp> ";

static struct {
	struct copy_flags flags;
	const char *subsystem;	/* -s */
	const char *batch_file; /* NULL: none */
	int read_errno;		/* why the batch file could not be read to its
				 * end; or 0 */
	bool batch_messages;	/* -N: messages are shown during a batch, too */
	struct xfer_opts xfer;
	struct loop *loop;
	struct remote *remote;
	struct shell *shell;
	int in; /* descriptor that commands are read from */
	struct buf lines;
	bool lines_end;
	char *line; /* the line that was read last; owned */
} g;

/* --sftp-server is named as in the other programs; -s is OpenSSH's. */
enum { OPT_SFTP_SERVER = 256 };

static const struct option long_options[] = {
	{ "sftp-server", required_argument, NULL, OPT_SFTP_SERVER },
	{ NULL, 0, NULL, 0 },
};

static bool interrupted;

_Noreturn static void
usage(void)
{
	fprintf(stderr,
	    "usage: %s [-46AaCfNpqrv] [-B buffer_size] [-b batchfile] "
	    "[-c cipher]\n"
	    "               [-D sftp_server_command] [-F ssh_config] "
	    "[-i identity_file]\n"
	    "               [-J destination] [-l limit] [-o ssh_option] "
	    "[-P port]\n"
	    "               [-R num_requests] [-S program] "
	    "[-s subsystem | sftp_server]\n"
	    "               [-X sftp_option] [--sftp-server=command] "
	    "destination\n"
	    "       %s --help\n",
	    called_name("hpnsftp"), called_name("hpnsftp"));
	exit(1);
}

_Noreturn static void
lost(int err)
{
	progress_clear_line(g.xfer.progress);
	fflush(stdout);
	if (remote_err_is_told(err))
		fprintf(stderr, "Connection closed\n");
	else
		fprintf(stderr, "Connection lost: %s\n", err_text(err));
	exit(EXIT_LOST);
}

/* ---- lines -------------------------------------------------------------- */

static void
readable(void *arg, int fd, int events)
{
	(void)fd;
	(void)events;
	*(bool *)arg = true;
}

/* Runs the event loop until there is input. False: ^C was typed. */
static bool
wait_for_input(void)
{
	bool ready = false;
	struct loop_fd *w = loop_watch(g.loop, g.in, LOOP_READ, readable,
	    &ready);

	if (w == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	while (!ready && !interrupted)
		if (loop_turn(g.loop, -1) < 0)
			fatal("%s", err_text(ERR_SYSTEM));
	loop_unwatch(g.loop, w);
	return ready;
}

static ssize_t
read_input(void *p, size_t max)
{
	ssize_t n;

	do {
		if (!wait_for_input()) {
			errno = EINTR;
			return -1;
		}
		n = read(g.in, p, max);
	} while (n < 0 && (errno == EAGAIN || errno == EINTR) &&
	    !interrupted);
	return n;
}

static void
set_line(const char *text, size_t len)
{
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	free(g.line);
	g.line = xstrndup(text, len);
}

/* Reads a line of a file or pipe, or of a terminal without the line editor.
 * NULL: the end. */
static const char *
plain_line(void *arg)
{
	char chunk[4096];
	const uint8_t *end;
	size_t len;
	ssize_t n;

	(void)arg;
	if (g.batch_file == NULL && isatty(g.in)) {
		fputs(prompt_text, stdout);
		fflush(stdout);
	}
	for (;;) {
		len = buf_len(&g.lines);
		end = len > 0 ? memchr(buf_data(&g.lines), '\n', len) : NULL;
		if (end != NULL)
			len = (size_t)(end - buf_data(&g.lines)) + 1;
		if (end != NULL || (g.lines_end && len > 0)) {
			set_line((const char *)buf_data(&g.lines), len);
			buf_consume(&g.lines, len);
			return g.line;
		}
		if (g.lines_end)
			return NULL;
		n = read_input(chunk, sizeof chunk);
		if (n < 0 && interrupted && g.batch_file == NULL) {
			buf_reset(&g.lines);
			set_line("", 0);
			putchar('\n');
			return g.line;
		}
		if (n < 0 && !interrupted)
			g.read_errno = errno;
		if (n <= 0 || len > LINE_MAX_BYTES)
			g.lines_end = true;
		else
			buf_put(&g.lines, chunk, (size_t)n);
	}
}

#ifdef HAVE_LIBEDIT
static struct {
	EditLine *el;
	History *history;
	mbstate_t state;
} edit;

static char *
edit_prompt(EditLine *el)
{
	(void)el;
	return (char *)prompt_text;
}

/* Reads one character that the user types: 1; 0 at the end; -1 on an error or
 * ^C. */
static int
edit_getc(EditLine *el, wchar_t *out)
{
	ssize_t n;
	size_t used;
	char c;

	(void)el;
	for (;;) {
		n = read_input(&c, 1);
		if (n <= 0)
			return (int)n;
		used = mbrtowc(out, &c, 1, &edit.state);
		if (used == (size_t)-2)
			continue;
		if (used == (size_t)-1) { /* an invalid character is ignored */
			memset(&edit.state, 0, sizeof edit.state);
			continue;
		}
		return 1;
	}
}

static unsigned char
edit_complete(EditLine *el, int ch)
{
	const LineInfo *info = el_line(el);
	struct shell_completion c;
	char *line = xstrndup(info->buffer,
	    (size_t)(info->cursor - info->buffer));
	unsigned char result = CC_ERROR;
	int r;

	(void)ch;
	r = shell_complete(g.shell, line, &c);
	free(line);
	if (r >= 0 && c.insert != NULL && *c.insert != '\0' &&
	    el_insertstr(el, c.insert) == 0)
		result = CC_REFRESH;
	if (r >= 0 && c.choices.n > 0) {
		shell_show_choices(&c);
		result = CC_REDISPLAY;
	}
	shell_completion_clear(&c);
	return result;
}

static bool
edit_begin(void)
{
	HistEvent event;

	edit.el = el_init("hpnsftp", stdin, stdout, stderr);
	edit.history = history_init();
	if (edit.el == NULL || edit.history == NULL)
		return false;
	history(edit.history, &event, H_SETSIZE, HISTORY_LINES);
	el_set(edit.el, EL_HIST, history, edit.history);
	el_set(edit.el, EL_PROMPT, edit_prompt);
	el_set(edit.el, EL_EDITOR, "emacs");
	el_set(edit.el, EL_TERMINAL, NULL);
	/* el_set(EL_ADDFN) would leak memory. */
	el_wset(edit.el, EL_ADDFN, L"complete", L"Complete", edit_complete);
	el_set(edit.el, EL_BIND, "\t", "complete", NULL);
	/* Control and Alt with an arrow move by words, as in other shells. */
	el_set(edit.el, EL_BIND, "\\e[1;5C", "em-next-word", NULL);
	el_set(edit.el, EL_BIND, "\\e[1;5D", "ed-prev-word", NULL);
	el_set(edit.el, EL_BIND, "\\e\\e[C", "em-next-word", NULL);
	el_set(edit.el, EL_BIND, "\\e\\e[D", "ed-prev-word", NULL);
	el_source(edit.el, NULL);
	el_set(edit.el, EL_GETCFN, edit_getc);
	return true;
}

static const char *
edited_line(void *arg)
{
	HistEvent event;
	const char *text;
	int n = 0;

	(void)arg;
	fflush(stdout);
	el_resize(edit.el);
	memset(&edit.state, 0, sizeof edit.state);
	text = el_gets(edit.el, &n);
	if (text == NULL || n <= 0) {
		putchar('\n');
		set_line("", 0);
		return interrupted ? g.line : NULL;
	}
	set_line(text, (size_t)n);
	if (g.line[strspn(g.line, " \t")] != '\0')
		history(edit.history, &event, H_ENTER, g.line);
	return g.line;
}

static void
edit_end(void)
{
	if (edit.el != NULL)
		el_end(edit.el);
	if (edit.history != NULL)
		history_end(edit.history);
}
#else
static bool
edit_begin(void)
{
	return false;
}

static const char *
edited_line(void *arg)
{
	return plain_line(arg);
}

static void
edit_end(void)
{
}
#endif

/* ---- the connection ----------------------------------------------------- */

static void
on_interrupt(void *arg, int signo)
{
	(void)signo;
	*(bool *)arg = true;
}

/*
 * A program that carries the connection (-S, -D) is in our process group. ^C
 * must not end it, so it starts with SIGINT ignored. Until the session is
 * established, ^C ends this process; then that program ends because its pipes
 * are closed.
 */
static void
connect_to(const struct xfer_target *t)
{
	struct remote_params params = {
		.loop = g.loop,
		.host = t->host,
		.user = t->user,
		.port = t->port != 0 ? t->port : g.flags.port,
		.options = &g.flags.ssh,
		.program = g.flags.ssh_program,
		.server = g.flags.sftp_server,
		.subsystem = g.subsystem,
	};
	int r;

	signal(SIGINT, SIG_IGN);
	r = remote_open(&g.remote, &params);
	signal(SIGINT, SIG_DFL);
	if (r != 0)
		exit(EXIT_LOST);
}

static int
converse(const struct xfer_target *t, const char *local)
{
	bool batch = g.batch_file != NULL;
	bool typed = !batch && isatty(STDIN_FILENO);
	bool edited = typed && isatty(STDOUT_FILENO) && edit_begin();
	struct xfer_streams streams = remote_streams(g.remote);
	struct shell_params params = {
		.streams = &streams,
		.sftp = remote_sftp(g.remote),
		.xfer = g.xfer,
		.batch = batch,
		.quiet = g.flags.quiet || (batch && !g.batch_messages),
		.echo = !typed,
		.progress = g.xfer.progress != NULL && !batch && !g.flags.quiet,
		.interrupted = &interrupted,
		.read_line = edited ? edited_line : plain_line,
	};
	int r = shell_new(&g.shell, &params);

	if (r == 0 && (r = shell_begin(g.shell)) == SHELL_FAILED)
		return EXIT_LOST;
	if (r < 0)
		lost(r);
	/* From now on ^C ends a command, not the program. */
	if (loop_on_signal(g.loop, SIGINT, on_interrupt, &interrupted) < 0)
		lost(ERR_SYSTEM);
	if (!params.quiet && g.flags.sftp_server != NULL)
		fprintf(stderr, "Attached to %s.\n", g.flags.sftp_server);
	else if (!params.quiet)
		fprintf(stderr, "Connected to %s.\n", t->host);
	if (t->path != NULL && strcmp(t->path, ".") != 0)
		r = shell_go(g.shell, t->path, local);
	if (r == SHELL_OK)
		r = shell_run(g.shell);
	if (r < 0)
		lost(r);
	edit_end();
	if (batch && g.read_errno != 0) {
		fprintf(stderr, "%s: %s: %s\n", called_name("hpnsftp"),
		    g.batch_file, strerror(g.read_errno));
		r = SHELL_FAILED;
	}
	return r == SHELL_FAILED ? 1 : 0;
}

/* ---- argv --------------------------------------------------------------- */

_Noreturn static void
die(const char *what, const char *text)
{
	fprintf(stderr, "%s: %s: %s\n", called_name("hpnsftp"), what, text);
	exit(EXIT_LOST);
}

static void
set_requests(const char *text)
{
	if (copy_flag_requests(&g.xfer, text) != 0)
		die(text, "bad number of requests");
}

static void
set_block(const char *text)
{
	if (copy_flag_block(&g.xfer, text) != 0)
		die(text, "bad buffer size");
}

static void
sftp_option(const char *text)
{
	if (str_has_prefix(text, "nrequests="))
		set_requests(text + 10);
	else if (str_has_prefix(text, "buffer="))
		set_block(text + 7);
	else
		die(text, "bad -X option");
}

static void
set_batch(const char *file)
{
	if (g.batch_file != NULL)
		die(file, "there is a batch file already");
	g.batch_file = file;
	if (strcmp(file, "-") != 0)
		g.in = open_named(file, O_RDONLY, 0);
	if (g.in < 0)
		die(file, strerror(errno));
	copy_flags_set_batch(&g.flags);
}

static void
one_option(int opt, const char *arg)
{
	const char *why;
	int r = copy_flag_take(&g.flags, opt, arg, &why);

	if (r < 0 && opt == 'l') {
		/* OpenSSH has another exit status for a wrong argument of this
		 * option only. */
		fprintf(stderr, "%s: %s: %s\n", called_name("hpnsftp"), arg,
		    why);
		usage();
	}
	if (r < 0)
		die(arg, why);
	if (r > 0)
		return;
	switch (opt) {
	case 'a':
		g.xfer.append = true;
		break;
	case 'B':
		set_block(arg);
		break;
	case 'b':
		set_batch(arg);
		break;
	case 'f':
		g.xfer.fsync = true;
		break;
	case 'N':
		g.batch_messages = true;
		break;
	case 'p':
		g.xfer.preserve = true;
		break;
	case 'R':
		set_requests(arg);
		break;
	case 'r':
		g.xfer.recursive = true;
		break;
	case 's':
	case OPT_SFTP_SERVER:
		g.subsystem = arg;
		break;
	case 'X':
		sftp_option(arg);
		break;
	default:
		usage();
	}
}

int
main(int argc, char **argv)
{
	struct xfer_target target = { .remote = true };
	const char *local = NULL;
	int opt, status;

	fd_sanitise_stdio();
	setlocale(LC_CTYPE, "");
	crypto_library_start();
	cipher_use_wide_gcm();
	signal(SIGPIPE, SIG_IGN);
	log_init(called_as(argc > 0 ? argv[0] : NULL, "hpnsftp"),
	    LOG_LVL_INFO);
	log_to_stderr();
	help_answer(&sftp_help, argc, argv, crypto_library_version());
	while ((opt = flags_getopt_long(argc, argv,
		    COPY_FLAGS "aB:b:fNpR:rs:X:", long_options)) != -1)
		one_option(opt, optarg);
	argc -= optind;
	argv += optind;
	g.xfer.rate_bytes = g.flags.rate_bytes;
	g.xfer.tell_extras = str_has_prefix(called_name("hpnsftp"), "hpn");
	if (g.flags.sftp_server == NULL ? argc < 1 || argc > 2 : argc > 0)
		usage();
	if (argc > 0 && (xfer_target_parse_host(&target, argv[0]) < 0))
		usage();
	local = argc > 1 ? argv[1] : NULL;
	if (g.flags.verbose)
		log_set_level(LOG_LVL_DEBUG1);
	if (isatty(STDOUT_FILENO))
		g.xfer.progress = progress_new(STDOUT_FILENO);
	g.loop = loop_new();
	if (g.loop == NULL)
		die("memory", err_text(ERR_NOMEM));
	buf_init(&g.lines);
	connect_to(&target);
	status = converse(&target, local);
	fflush(stdout);
	shell_free(g.shell);
	(void)remote_close(g.remote);
	loop_free(g.loop);
	progress_free(g.xfer.progress);
	buf_clear(&g.lines);
	free(g.line);
	xfer_target_clear(&target);
	copy_flags_clear(&g.flags);
	return status;
}
