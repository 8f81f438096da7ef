/* SPDX-License-Identifier: ISC */
/*
 * hpnssh-sk-helper: does one operation with a security key (FIDO) in a process
 * of its own, on behalf of another program. Reads one request from standard
 * input, which is a socket, and writes one answer to it.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/help.h"
#include "base/hide.h"
#include "base/log.h"
#include "keys/sk-wire.h"
#include "tokens/sk/sk-fido2.h"
#include "tokens/sk/sk-provider.h"
#include "tokens/sk/sk-serve.h"

static const struct help_row no_options[] = { { NULL, NULL } };
static const struct help help = {
	.manual = "hpnssh-sk-helper",
	.usage = "hpnssh-sk-helper --help | -V",
	.rows = no_options,
	.foot = "hpnssh, hpnssh-add, hpnssh-agent and hpnssh-keygen start it,\n"
		"to use a security key.\nBy hand it is of no use.\n",
};

/* Moves the socket from standard input to another descriptor, which is
 * returned. Standard input becomes /dev/null and standard output becomes
 * standard error, because the library may use them. */
static int
take_socket(void)
{
	int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd == -1 || null == -1 || dup2(null, STDIN_FILENO) == -1 ||
	    dup2(STDERR_FILENO, STDOUT_FILENO) == -1)
		fatal("cannot arrange descriptors: %s", err_text(ERR_SYSTEM));
	fd_close(&null);
	return fd;
}

/* From here on this process ends when the caller closes its end of the socket:
 * the kernel then sends SIGIO, which is not caught. */
static void
end_with_caller(int fd)
{
	if (fcntl(fd, F_SETOWN, getpid()) == -1 ||
	    fcntl(fd, F_SETFL, O_ASYNC) == -1)
		fatal("cannot watch the caller: %s", err_text(ERR_SYSTEM));
}

static int
find_api(const char *provider, struct sk_api *api)
{
	const char *why = NULL;

	if (strcmp(provider, "internal") == 0) {
		if (sk_fido2_api(api))
			return 0;
		log_error("internal security key support not enabled: built "
			  "without libfido2");
		return ERR_UNSUPPORTED;
	}
	if (sk_provider_load(provider, api, &why) == 0)
		return 0;
	log_error("provider \"%s\": %s", provider, why);
	return ERR_FORMAT;
}

int
main(int argc, char **argv)
{
	struct buf message, answer;
	struct sk_request q;
	struct sk_api api;
	int fd, r;

	hide_process(); /* this process holds PINs */
	fd_sanitise_stdio();
	help_answer(&help, argc, argv, NULL);
	log_init("hpnssh-sk-helper", LOG_LVL_INFO);
	log_to_stderr();
	if (argc != 1)
		fatal("this program is run by others, without arguments");
	signal(SIGIO, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	fd = take_socket();
	buf_init_secret(&message);
	buf_init_secret(&answer);
	r = fd_receive_msg(fd, &message, SK_REQUEST_MAX);
	if (r == 0)
		r = sk_read_request(buf_span(&message),
		    &q);
	if (r != 0)
		fatal("a request that cannot be read: %s", err_text(r));
	end_with_caller(fd);
	r = find_api(q.provider, &api);
	if (r == 0)
		r = sk_serve(&q, &api, &answer);
	else
		sk_put_head(&answer, q.op,
		    r == ERR_UNSUPPORTED ? SK_UNSUPPORTED : SK_FAILED);
	if (buf_err(&answer) == 0)
		r = fd_send_msg(fd, &answer);
	buf_clear(&message);
	buf_clear(&answer);
	return r == 0 ? 0 : 1;
}
