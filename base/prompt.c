/* SPDX-License-Identifier: ISC */
#include "base/prompt.h"

#include <errno.h>
#include <fcntl.h>
#include <readpassphrase.h>
#include <stdbool.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "base/askpass.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"

static bool
have_tty(void)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	bool have = fd != -1;

	fd_close(&fd);
	return have;
}

/* Is the program to be asked, though perhaps there is a terminal? */
static bool
is_preferred(void)
{
	const char *require = getenv("SSH_ASKPASS_REQUIRE");

	return require != NULL && (strcasecmp(require, "force") == 0 ||
	    strcasecmp(require, "prefer") == 0);
}

static char *
ask_terminal(const char *text, int flags)
{
	char *answer = xcalloc(1, ASKPASS_ANSWER_MAX);

	if (readpassphrase(text, answer, ASKPASS_ANSWER_MAX, flags) != NULL)
		return answer;
	if (errno == ENOTTY || errno == ENXIO)
		log_debug("no terminal to ask on");
	prompt_free(answer);
	return NULL;
}

char *
prompt_ask(const char *text, enum prompt_echo echo)
{
	if (askpass_possible() && (is_preferred() || !have_tty()))
		return askpass_wait(ASKPASS_SECRET, text);
	return ask_terminal(text, RPP_REQUIRE_TTY |
	    (echo == PROMPT_VISIBLE ? RPP_ECHO_ON : RPP_ECHO_OFF));
}

char *
prompt_ask_or_read(const char *text)
{
	if (askpass_possible() && (is_preferred() || !isatty(STDIN_FILENO)))
		return askpass_wait(ASKPASS_SECRET, text);
	return ask_terminal(text, RPP_ECHO_OFF);
}

void
prompt_free(char *answer)
{
	askpass_free(answer);
}
