/* SPDX-License-Identifier: ISC */
/*
 * hpnssh-agent: holds private keys and signs with them for its clients. A key
 * is decrypted once only, and stays on one host.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "agent/agent-process.h"
#include "base/fd.h"
#include "base/flags-getopt.h"
#include "base/help.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/version.h"
#include "crypto/library.h"
#include "keys/agent-socket.h"
#include "keys/key.h"

enum { FAILED = 1 };

/* PROVIDERS: patterns for the libraries for tokens that may be loaded, which
 * are the places where systems keep them. -P replaces these. */
#define PROVIDERS "/usr/lib*/*,/usr/local/lib*/*"

static struct agent_run run = {
	.params = { .fingerprint = DIGEST_SHA256, .providers = PROVIDERS,
	    .websafe = "" },
};

static bool kills, cleans, cleans_all;

static _Noreturn void
usage(void)
{
	fprintf(stderr,
	    "usage: hpnssh-agent [-c | -s] [-DdTU] [-a bind_address] "
	    "[-E fingerprint_hash]\n"
	    "                    [-O option] [-P allowed_providers] "
	    "[-t life]\n"
	    "       hpnssh-agent [-TU] [-a bind_address] "
	    "[-E fingerprint_hash] [-O option]\n"
	    "                    [-P allowed_providers] [-t life] "
	    "command [arg ...]\n"
	    "       hpnssh-agent [-c | -s] -k\n"
	    "       hpnssh-agent -u | -uu\n"
	    "       hpnssh-agent -V\n");
	exit(FAILED);
}

static void
set_hash(const char *name)
{
	int hash = digest_parse(name);

	if (hash < 0 || !key_fingerprint_hash_ok((enum digest_alg)hash))
		fatal("Invalid hash algorithm \"%s\"", name);
	run.params.fingerprint = (enum digest_alg)hash;
}

static void
set_option(const char *word)
{
	if (strcmp(word, "no-restrict-websafe") == 0)
		run.params.websafe = NULL;
	else if (str_has_prefix(word, "websafe-allow="))
		run.params.websafe = strchr(word, '=') + 1;
	else if (strcmp(word, "allow-remote-pkcs11") == 0)
		run.params.remote_providers = true;
	else
		fatal("Unknown -O option");
}

static void
set_lifetime(const char *text)
{
	int64_t seconds;

	if (str_to_seconds(text, &seconds) != 0 || seconds < 0 ||
	    seconds > UINT32_MAX) {
		fprintf(stderr, "Invalid lifetime\n");
		usage();
	}
	run.params.lifetime_s = (uint32_t)seconds;
}

static bool
value_option(int letter, char *value)
{
	switch (letter) {
	case 'a':
		run.path = value;
		return true;
	case 'E':
		set_hash(value);
		return true;
	case 'O':
		set_option(value);
		return true;
	case 'P':
		run.params.providers = value;
		return true;
	case 't':
		set_lifetime(value);
		return true;
	}
	return false;
}

static void
flag_option(int letter)
{
	switch (letter) {
	case 'c':
	case 's':
		if (run.shell != AGENT_SHELL_GUESS)
			usage();
		run.shell = letter == 'c' ? AGENT_SHELL_C : AGENT_SHELL_BOURNE;
		break;
	case 'D':
	case 'd':
		if (run.stays)
			usage();
		run.stays = true;
		run.debug = letter == 'd';
		break;
	case 'k':
		kills = true;
		break;
	case 'T':
		run.temporary = true;
		break;
	case 'U':
		run.keeps_stale = true;
		break;
	case 'u':
		cleans_all = cleans;
		cleans = true;
		break;
	case 'V':
		fprintf(stderr, "%s HPNSSH_%s, %s\n", HPN_SOFTWARE, VERSION,
		    crypto_library_version());
		exit(0);
	default:
		usage();
	}
}

static void
parse_options(int argc, char **argv)
{
	int letter;

	/* The + stops at the first word that is no option: options behind it
	 * are the command's own. */
	while ((letter = flags_getopt(argc, argv,
		    "+cDdkTUuVsa:E:O:P:t:")) != -1)
		if (!value_option(letter, optarg))
			flag_option(letter);
	argv += optind;
	if (*argv != NULL)
		run.command = argv;
	if (run.command != NULL &&
	    (run.shell != AGENT_SHELL_GUESS || run.stays || kills || cleans))
		usage();
}

static int
clean(void)
{
	const char *home = getenv("HOME");

	if (home == NULL || *home == '\0')
		fatal("HOME is not set");
	if (agent_socket_clean(home, cleans_all) != 0) {
		fprintf(stderr, "Cannot look for stale agent sockets: %s\n",
		    strerror(errno));
		return FAILED;
	}
	printf("Deleted stale agent sockets in ~/.ssh/agent\n");
	return 0;
}

int
main(int argc, char **argv)
{
	int status;

	fd_sanitise_stdio();
	crypto_library_start();
	log_init("hpnssh-agent", LOG_LVL_INFO);
	log_to_stderr();
	help_answer(&agent_help, argc, argv, crypto_library_version());
	parse_options(argc, argv);
	if (run.debug)
		log_set_level(LOG_LVL_DEBUG3);
	if (kills)
		status = agent_process_kill(run.shell);
	else if (cleans)
		status = clean();
	else
		status = agent_process_run(&run);
	if (fflush(stdout) != 0)
		return FAILED;
	return status;
}
