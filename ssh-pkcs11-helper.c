/* SPDX-License-Identifier: ISC */
/*
 * hpnssh-pkcs11-helper: uses a library for tokens (PKCS#11) in a process of its
 * own, on behalf of another program. Reads requests from standard input, which
 * is a socket, and writes the answers to it, until the other end is closed.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/fd.h"
#include "base/help.h"
#include "base/hide.h"
#include "base/log.h"
#include "tokens/p11/p11-provider.h"
#include "tokens/p11/p11-serve.h"

static const struct help_row rows[] = {
	{ NULL, "Messages" },
	{ "-v", "tell more; two or three of them, still more" },
	{ NULL, "About" },
	{ "-V", "the version" },
	{ "--help", "this list" },
	{ NULL, NULL },
};

static const struct help help = {
	.manual = "hpnssh-pkcs11-helper",
	.usage = "hpnssh-pkcs11-helper [-v]",
	.rows = rows,
	.foot = "hpnssh, hpnssh-agent and hpnssh-keygen start it, to use the\n"
		"library of a token.\nBy hand it is of no use.\n",
};

/* Moves the socket from standard input to another descriptor, which is
 * returned. Standard input and output become /dev/null, because the library may
 * use them. */
static int
take_socket(void)
{
	int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd == -1 || null == -1 || dup2(null, STDIN_FILENO) == -1 ||
	    dup2(null, STDOUT_FILENO) == -1)
		fatal("cannot arrange descriptors: %s", err_text(ERR_SYSTEM));
	fd_close(&null);
	return fd;
}

/*
 * With on, the kernel sends SIGIO when the caller closes its end. SIGIO is not
 * caught and ends this process, even while the library works. It does not mean
 * a new request, because the caller sends none before it has its answer.
 */
static void
watch_caller(int fd, bool on)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	int flags = fcntl(fd, F_GETFL);

	if (flags == -1 || fcntl(fd, F_SETOWN, getpid()) == -1 ||
	    fcntl(fd, F_SETFL, on ? flags | O_ASYNC : flags & ~O_ASYNC) == -1)
		fatal("cannot watch the caller: %s", err_text(ERR_SYSTEM));
	if (on && poll(&pfd, 1, 0) == 1)
		exit(1); /* the caller had closed its end before */
}

/* Answers one request. Returns 0, ERR_EOF if the caller has gone, or another
 * error if the request is malformed. */
static int
serve_one(int fd, struct provider **provider)
{
	struct p11_request q = { .op = P11_LIST };
	struct buf message, answer = { 0 };
	int r;

	buf_init_secret(&message);
	r = fd_receive_msg(fd, &message, P11_REQUEST_MAX);
	if (r == 0)
		r = p11_read_request(buf_span(&message),
		    &q);
	if (r == 0) {
		watch_caller(fd, true);
		r = p11_serve(provider, &q, &answer);
		watch_caller(fd, false);
	}
	p11_request_clear(&q);
	buf_clear(&message); /* the message may hold a PIN */
	if (r == 0)
		r = fd_send_msg(fd, &answer);
	buf_clear(&answer);
	return r;
}

int
main(int argc, char **argv)
{
	struct provider *provider = NULL;
	enum log_level level = LOG_LVL_ERROR;
	int fd, letter, r;

	hide_process();
	fd_sanitise_stdio();
	help_answer(&help, argc, argv, NULL);
	log_init("hpnssh-pkcs11-helper", LOG_LVL_ERROR);
	log_to_stderr();
	while ((letter = getopt(argc, argv, "v")) != -1) {
		if (letter != 'v')
			return 1;
		level = level < LOG_LVL_DEBUG1 ? LOG_LVL_DEBUG1 :
		    level < LOG_LVL_DEBUG3     ? level + 1 :
						 level;
		log_set_level(level);
	}
	if (argc != optind)
		fatal("this program is run by others");
	signal(SIGIO, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	fd = take_socket();
	confine_process();
	while ((r = serve_one(fd, &provider)) == 0)
		;
	if (r != ERR_EOF)
		log_error("the caller's request: %s", err_text(r));
	provider_free(provider);
	return r == ERR_EOF ? 0 : 1;
}
