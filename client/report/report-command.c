/* SPDX-License-Identifier: ISC */
#include "client/report/report-command.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define LEFT_OUT "..."

/* Keywords whose values are shown, because they are numbers, words, or names of
 * algorithms. */
static const char *const harmless[] = { "AddressFamily", "BatchMode",
	"CheckHostIP", "CipherForm", "CipherThreads", "Ciphers", "Compression",
	"CongestionControl", "ConnectTimeout", "ConnectionAttempts",
	"ControlMaster", "CopyConnections", "CopyPreserve", "CopyResume",
	"CopyRetry", "CopyVerify", "DisableMTAES", "HPNDisabled",
	"GlobalKnownHostsFile", "HostKeyAlgorithms", "IPQoS", "IdentitiesOnly",
	"IdentityFile", "KexAlgorithms", "LogLevel", "MACs",
	"Metrics", "MetricsInterval", "NoneEnabled", "NoneMacEnabled",
	"NoneSwitch", "Port", "PreferredAuthentications",
	"PubkeyAcceptedAlgorithms", "RekeyLimit", "ServerAliveCountMax",
	"ServerAliveInterval", "StrictHostKeyChecking", "TCPKeepAlive",
	"TcpRcvBuf", "TcpRcvBufPoll", "User", "UserKnownHostsFile" };

/* Options whose value is a command line, of which only the program is shown. */
static const char *const commands[] = { "-S", "-D", "-e", "--rsh",
	"--sftp-server", "RSYNC_RSH" };

static bool
is_harmless(const char *keyword, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
		if (str_is_span_nocase(harmless[i], keyword, len))
			return true;
	return false;
}

static bool
is_command(const char *option)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (strcmp(option, commands[i]) == 0)
			return true;
	return false;
}

/* "Keyword=value" or "Keyword value". */
static char *
shown_keyword(const char *value)
{
	char *shown;
	size_t len;

	value += strspn(value, " \t");
	len = strcspn(value, "= \t");
	if (is_harmless(value, len))
		return xstrdup(value);
	xasprintf(&shown, "%.*s=" LEFT_OUT, (int)len, value);
	return shown;
}

static char *
shown_command(const char *value)
{
	size_t len = strcspn(value, " \t\n");
	char *shown;

	if (value[len] == '\0')
		return xstrdup(value);
	xasprintf(&shown, "%.*s " LEFT_OUT, (int)len, value);
	return shown;
}

char *
report_without_password(const char *name)
{
	const char *host = strstr(name, "://"), *colon, *at;
	char *shown;

	if (host == NULL)
		return xstrdup(name);
	host += 3;
	colon = strchr(host, ':');
	at = strrchr(host, '@');
	if (colon == NULL || at == NULL || colon > at)
		return xstrdup(name);
	xasprintf(&shown, "%.*s:" LEFT_OUT "%s", (int)(colon - name), name,
	    at);
	return shown;
}

static void
add(struct strlist *command, char *text)
{
	xstrlist_add(command, text);
	free(text);
}

void
report_command_option(struct strlist *command, const char *option,
    const char *value)
{
	xstrlist_add(command, option);
	if (value == NULL)
		return;
	if (strcmp(option, "-o") == 0)
		add(command, shown_keyword(value));
	else if (is_command(option))
		add(command, shown_command(value));
	else
		add(command, report_without_password(value));
}

size_t
report_command_names(struct strlist *command, char *const *names, size_t n)
{
	size_t out = n > REPORT_NAMES ? n - REPORT_NAMES : 0;

	for (size_t i = 0; i < n; i++)
		if (out == 0 || i < REPORT_NAMES / 2 ||
		    i >= REPORT_NAMES / 2 + out)
			add(command, report_without_password(names[i]));
	return out;
}
