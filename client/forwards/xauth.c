/* SPDX-License-Identifier: ISC */
#include "client/forwards/xauth.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "compat/proc.h"
#include "compat/sock.h"

enum {
	/* How long xauth may run; it may have to ask a display. */
	WAIT_MS = 10 * 1000,
	OUTPUT_MAX = 16 * 1024, /* bytes of xauth's output */
	/* Added to the lifetime of a new cookie: the display's clock may be
	 * faster than ours, and the cookie has to live as long as we accept
	 * connections. */
	SLACK_S = 60,
	ARGUMENTS_MAX = 12,
	LOOK_MS = 10, /* how often it is checked whether xauth has ended */
};

/* ---- running it --------------------------------------------------------- */

static _Noreturn void
execute(char *const argv[], int out)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null == -1 || dup2(null, STDIN_FILENO) == -1 ||
	    dup2(out, STDOUT_FILENO) == -1 || dup2(null, STDERR_FILENO) == -1)
		_exit(127);
	signal(SIGPIPE, SIG_DFL);
	fd_restore_limit();
	proc_close_from(STDERR_FILENO + 1);
	execv(argv[0], argv);
	_exit(127);
}

/* Reads the output of xauth up to its end. ERR_TIMEOUT: there was no end before
 * end_ms. */
static int
read_output(int fd, struct buf *out, uint64_t end_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint8_t bytes[4096];
	uint64_t now;
	ssize_t n;

	while ((now = clock_ms()) < end_ms) {
		if (poll(&p, 1, (int)(end_ms - now)) <= 0)
			continue;
		if ((n = fd_read(fd, bytes, sizeof bytes)) == 0)
			return 0;
		if (n == -1)
			return ERR_SYSTEM;
		if (buf_len(out) + (size_t)n > OUTPUT_MAX)
			return ERR_LIMIT;
		buf_put(out, bytes, (size_t)n);
	}
	return ERR_TIMEOUT;
}

/* Waits for xauth to end, and kills it at end_ms. 0: it succeeded;
 * ERR_NOT_FOUND: it failed; ERR_TIMEOUT, ERR_SYSTEM. */
static int
wait_for_end(pid_t pid, uint64_t end_ms)
{
	int status = 0;
	pid_t got;

	while ((got = waitpid(pid, &status, WNOHANG)) == 0 &&
	    clock_ms() < end_ms)
		(void)poll(NULL, 0, LOOK_MS);
	if (got == 0) {
		kill(pid, SIGKILL);
		return child_reap(pid, &status) != 0 ? ERR_SYSTEM :
						       ERR_TIMEOUT;
	}
	if (got == -1)
		return ERR_SYSTEM;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 :
							       ERR_NOT_FOUND;
}

static int
run(char *const argv[], struct buf *out)
{
	uint64_t end_ms = clock_ms() + WAIT_MS;
	int ends[2], r, end;
	pid_t pid;

	if (sock_pipe(ends, SOCK_WAITS) == -1)
		return ERR_SYSTEM;
	if ((pid = fork()) == 0)
		execute(argv, ends[1]);
	fd_close(&ends[1]);
	r = pid == -1 ? ERR_SYSTEM : read_output(ends[0], out, end_ms);
	fd_close(&ends[0]);
	if (pid != -1) {
		end = wait_for_end(pid, r == 0 ? end_ms : 0);
		r = r != 0 ? r : end;
	}
	if (r != 0)
		log_debug("%s: %s", argv[0], err_text(r));
	return r == 0 ? buf_err(out) : r;
}

/* ---- its answers -------------------------------------------------------- */

static int
parse_hex(const char *hex, size_t len, struct x11_cookie *out)
{
	char digits[3] = "";

	if (len == 0 || len % 2 != 0 || len / 2 > sizeof out->data)
		return ERR_FORMAT;
	for (size_t i = 0; i < len; i++)
		if (!isxdigit((unsigned char)hex[i]))
			return ERR_FORMAT;
	out->len = len / 2;
	for (size_t i = 0; i < out->len; i++) {
		memcpy(digits, hex + 2 * i, 2);
		out->data[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return 0;
}

/* The word after the blanks at p, and its length. */
static const char *
next_word(const char *p, size_t *len)
{
	p += strspn(p, " \t");
	*len = strcspn(p, " \t\r\n");
	return p;
}

static bool
is_protocol(const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)p[i]) && p[i] != '-' &&
		    p[i] != '_' && p[i] != '.')
			return false;
	return len > 0 && len <= X11_PROTOCOL_MAX;
}

int
xauth_parse(const char *text, struct x11_cookie *out)
{
	size_t display_len, protocol_len, hex_len;
	const char *display = next_word(text, &display_len);
	const char *protocol = next_word(display + display_len, &protocol_len);
	const char *hex = next_word(protocol + protocol_len, &hex_len);

	memset(out, 0, sizeof *out);
	if (display_len == 0 || !is_protocol(protocol, protocol_len))
		return ERR_FORMAT;
	memcpy(out->protocol, protocol, protocol_len);
	return parse_hex(hex, hex_len, out);
}

/* ---- the two questions -------------------------------------------------- */

/* The display's name in xauth's file. "localhost:" becomes "unix:", because
 * xauth has displays of this host by their local socket only. Caller frees. */
static char *
entry_name(const char *display)
{
	char *name;

	if (!str_has_prefix(display, "localhost:"))
		return xstrdup(display);
	xasprintf(&name, "unix:%s", display + strlen("localhost:"));
	return name;
}

/* Looks up the display's cookie in a file; file NULL: the user's own. */
static int
list(const struct xauth_query *q, const char *file, struct x11_cookie *out)
{
	char *name = entry_name(q->display), *text = NULL;
	char *argv[ARGUMENTS_MAX];
	size_t n = 0;
	struct buf b;
	int r;

	argv[n++] = (char *)(uintptr_t)q->program;
	if (file != NULL) {
		argv[n++] = "-f";
		argv[n++] = (char *)(uintptr_t)file;
	}
	argv[n++] = "list";
	argv[n++] = name;
	argv[n] = NULL;
	buf_init_secret(&b);
	r = run(argv, &b);
	if (r == 0)
		r = (text = buf_dup_string(&b)) != NULL ?
		    xauth_parse(text, out) : ERR_FORMAT;
	if (text != NULL)
		mem_free_secret(text, strlen(text));
	buf_clear(&b);
	free(name);
	return r;
}

static int
generate(const struct xauth_query *q, const char *file,
    struct x11_cookie *out)
{
	struct buf b = { 0 };
	char seconds[24];
	char *argv[ARGUMENTS_MAX] = { (char *)(uintptr_t)q->program, "-f",
		(char *)(uintptr_t)file, "generate",
		(char *)(uintptr_t)q->display, XAUTH_PROTOCOL, "untrusted" };
	int r;

	if (q->timeout_s > 0) {
		snprintf(seconds, sizeof seconds, "%lld",
		    (long long)q->timeout_s + SLACK_S);
		argv[7] = "timeout";
		argv[8] = seconds;
	}
	r = run(argv, &b);
	buf_clear(&b);
	return r != 0 ? r : list(q, file, out);
}

/* Generates a cookie in a directory that nobody else can enter, because xauth
 * makes other files beside the one it is told to write. */
static int
generate_in_private(const struct xauth_query *q, struct x11_cookie *out)
{
	static const char *const rests[] = { "", "-c", "-l", "-n" };
	const char *tmp = getenv("TMPDIR");
	char *dir, *file, *rest;
	int r;

	xasprintf(&dir, "%s/hpnssh-XXXXXXXXXX",
	    tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
	if (mkdtemp(dir) == NULL) {
		log_error("%s: %s", dir, strerror(errno));
		free(dir);
		return ERR_SYSTEM;
	}
	xasprintf(&file, "%s/xauthfile", dir);
	r = generate(q, file, out);
	for (size_t i = 0; i < ARRAY_LEN(rests); i++) {
		xasprintf(&rest, "%s%s", file, rests[i]);
		(void)unlink(rest);
		free(rest);
	}
	if (rmdir(dir) == -1)
		log_debug("%s: %s", dir, strerror(errno));
	free(file);
	free(dir);
	return r;
}

int
xauth_ask(const struct xauth_query *q, struct x11_cookie *out)
{
	int r;

	if (q->program == NULL || access(q->program, X_OK) == -1) {
		log_debug("there is no xauth program");
		return ERR_NOT_FOUND;
	}
	r = q->trusted ? list(q, NULL, out) : generate_in_private(q, out);
	return r == 0 ? 0 : ERR_NOT_FOUND;
}
