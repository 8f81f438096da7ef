/* SPDX-License-Identifier: ISC */
#include "base/signal-names.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"

static const struct {
	const char *name;
	int signo;
} signals[] = {
	{ "ABRT", SIGABRT }, { "ALRM", SIGALRM }, { "FPE", SIGFPE },
	{ "HUP", SIGHUP }, { "ILL", SIGILL }, { "INT", SIGINT },
	{ "KILL", SIGKILL }, { "PIPE", SIGPIPE }, { "QUIT", SIGQUIT },
	{ "SEGV", SIGSEGV }, { "TERM", SIGTERM }, { "USR1", SIGUSR1 },
	{ "USR2", SIGUSR2 },
};

const char *
signal_ssh_name(int signo)
{
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		if (signals[i].signo == signo)
			return signals[i].name;
	/* A name that is not in the RFC needs a domain. */
	return "SIG@hpnssh";
}

int
signal_ssh_number(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		if (strcmp(signals[i].name, name) == 0)
			return signals[i].signo;
	return 0;
}
