/* SPDX-License-Identifier: ISC */
#include "base/prompt.h"

#include <errno.h>
#include <fcntl.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/askpass.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/screen.h"
#include "compat/bsd.h"

/* The kernel drops all bytes of a terminal's line after the 4095th. So a line
 * that is longer than this may have been cut. */
enum { TERMINAL_LINE_MAX = 4094 };

static bool
have_tty(void)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	bool have = fd != -1;

	fd_close(&fd);
	return have;
}

/* The askpass program is to ask, even if there is a terminal. */
static bool
is_preferred(void)
{
	const char *require = getenv("SSH_ASKPASS_REQUIRE");

	return require != NULL && (strcasecmp(require, "force") == 0 ||
	    strcasecmp(require, "prefer") == 0);
}

/* The answer was not cut: a user who types more than fits must not send the
 * first part of it. */
static bool
is_whole(const char *answer)
{
	bool terminal = have_tty() || isatty(STDIN_FILENO);
	size_t max = terminal ? TERMINAL_LINE_MAX : ASKPASS_ANSWER_MAX;

	if (strlen(answer) <= max)
		return true;
	log_error("an answer of more than %zu bytes is not taken%s", max,
	    terminal ? " from a terminal; SSH_ASKPASS may give longer ones" :
		       "");
	return false;
}

static char *
ask_terminal(const char *text, int flags)
{
	char *answer = xcalloc(1, ASKPASS_BUFFER_BYTES);

	screen_clear();
	errno = 0;
	if (readpassphrase(text, answer, ASKPASS_BUFFER_BYTES, flags) !=
		NULL &&
	    is_whole(answer))
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
