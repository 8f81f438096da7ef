/* SPDX-License-Identifier: ISC */
/*
 * hpnssh-add: adds keys to an agent, removes keys from it, and lists its keys.
 */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/flags-getopt.h"
#include "base/help.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/version.h"
#include "keys/sk-client.h"
#include "keytools/add/add-destination.h"
#include "keytools/add/add.h"

#ifndef SYSCONFDIR
#define SYSCONFDIR "/etc/hpnssh"
#endif

/* The command line. */
struct command {
	struct add_options o;
	int action;	     /* letter of the action; 0: add files */
	const char *library; /* argument of -s or -e */
	struct strlist destinations, known_hosts, paths;
	int verbose;
};

static _Noreturn void
usage(void)
{
	fprintf(stderr,
	    "usage: hpnssh-add [-CcDdKkLlNQqvXx] [-E fingerprint_hash] "
	    "[-H hostkey_file]\n"
	    "                  [-h destination_constraint] [-S provider] "
	    "[-t life] [file ...]\n"
	    "       hpnssh-add -s pkcs11 [-Ccqv] [-h destination_constraint] "
	    "[-t life]\n"
	    "                  [certificate ...]\n"
	    "       hpnssh-add -e pkcs11\n"
	    "       hpnssh-add -T pubkey ...\n");
	exit(FAILED);
}

/* ---- actions ------------------------------------------------------------ */

static int
run_list(struct agent *a, struct command *c)
{
	return add_list(a, c->o.hash);
}

static int
run_list_lines(struct agent *a, struct command *c)
{
	(void)c;
	return add_list_lines(a);
}

static int
run_lock(struct agent *a, struct command *c)
{
	(void)c;
	return add_lock(a);
}

static int
run_unlock(struct agent *a, struct command *c)
{
	(void)c;
	return add_unlock(a);
}

static int
run_remove_all(struct agent *a, struct command *c)
{
	return add_remove_all(a, &c->o);
}

static int
run_query(struct agent *a, struct command *c)
{
	(void)c;
	return add_list_extensions(a);
}

static int
run_test(struct agent *a, struct command *c)
{
	return add_test(a, &c->paths);
}

static int
run_library(struct agent *a, struct command *c)
{
	return add_library(a, &c->o, c->library, &c->paths);
}

static int
run_remove_library(struct agent *a, struct command *c)
{
	return add_remove_library(a, &c->o, c->library);
}

static int
run_resident(struct agent *a, struct command *c)
{
	return add_resident(a, &c->o);
}

static int
run_remove(struct agent *a, struct command *c)
{
	if (c->paths.n == 0)
		add_default_files(&c->paths);
	return add_remove_files(a, &c->o, &c->paths);
}

static int
run_add(struct agent *a, struct command *c)
{
	if (c->paths.n == 0)
		add_default_files(&c->paths);
	return add_files(a, &c->o, &c->paths);
}

/* Of several actions on the command line, the one that comes first in this
 * table is done. Two different exclusive actions are an error. */
static const struct action {
	int letter;
	bool exclusive;
	int (*run)(struct agent *a, struct command *c);
} actions[] = {
	{ 'l', true, run_list },
	{ 'L', true, run_list_lines },
	{ 'x', true, run_lock },
	{ 'X', true, run_unlock },
	{ 'D', true, run_remove_all },
	{ 'Q', true, run_query },
	{ 'T', false, run_test },
	{ 's', false, run_library },
	{ 'e', false, run_remove_library },
	{ 'K', false, run_resident },
	{ 'd', false, run_remove },
	{ 0, false, run_add },
};

static const struct action *
action_of(int letter)
{
	const struct action *row = actions;

	while (row->letter != letter && row->letter != 0)
		row++;
	return row;
}

static void
set_action(struct command *c, int letter)
{
	const struct action *now = action_of(c->action),
			   *new = action_of(letter);

	if (now->exclusive && new->exclusive && now != new) {
		if (tolower(now->letter) == tolower(letter))
			fatal("-%c flag already specified", now->letter);
		fatal("Invalid combination of actions");
	}
	if (now == new && strchr("lLxX", letter) != NULL)
		fatal("-%c flag already specified", letter);
	if (new < now)
		c->action = letter;
}

/* ---- the command line --------------------------------------------------- */

static void
set_lifetime(struct command *c, const char *text)
{
	int64_t seconds;

	if (str_to_seconds(text, &seconds) != 0 || seconds < 0 ||
	    seconds > UINT32_MAX) {
		fprintf(stderr, "Invalid lifetime\n");
		exit(FAILED);
	}
	c->o.constraints.lifetime = (uint32_t)seconds;
}

static void
set_hash(struct command *c, const char *name)
{
	int hash = digest_parse(name);

	if (hash < 0 || !key_fingerprint_hash_ok((enum digest_alg)hash))
		fatal("Invalid hash algorithm \"%s\"", name);
	c->o.hash = (enum digest_alg)hash;
}

/* Handles an option with a value. False: the letter is none of these. */
static bool
value_option(struct command *c, int letter, const char *value)
{
	switch (letter) {
	case 'E':
		set_hash(c, value);
		return true;
	case 'e':
	case 's':
		c->library = value;
		if (c->action == 's' || c->action == 'e')
			c->action = letter;
		set_action(c, letter);
		return true;
	case 'H':
		xstrlist_add(&c->known_hosts, value);
		return true;
	case 'h':
		xstrlist_add(&c->destinations, value);
		return true;
	case 'S':
		c->o.sk_provider = sk_provider(value);
		return true;
	case 't':
		set_lifetime(c, value);
		return true;
	}
	return false;
}

static void
flag_option(struct command *c, int letter)
{
	switch (letter) {
	case 'C':
		c->o.certs_only = true;
		break;
	case 'c':
		c->o.constraints.confirm = true;
		break;
	case 'k':
		c->o.plain_only = true;
		break;
	case 'N':
		c->o.beyond_expiry = true;
		break;
	case 'q':
		c->o.quiet = true;
		break;
	case 'v':
		c->verbose++;
		break;
	case '?':
		usage();
	default:
		set_action(c, letter);
	}
}

static void
parse(struct command *c, int argc, char **argv)
{
	int letter;

	while ((letter = flags_getopt(argc, argv,
		    "CDKLNQTXcdklqvxE:H:S:e:h:s:t:")) != -1)
		if (!value_option(c, letter, optarg))
			flag_option(c, letter);
	if (c->o.certs_only && c->o.plain_only)
		fatal("Invalid combination: -C and -k");
	for (int i = optind; i < argc; i++)
		xstrlist_add(&c->paths, argv[i]);
	if (c->verbose > 0)
		log_set_level(MIN(LOG_LVL_INFO + 1 + (enum log_level)
		    c->verbose, LOG_LVL_DEBUG3));
}

/* ---- constraints -------------------------------------------------------- */

static void
use_default_known_hosts(struct command *c)
{
	static const char *const names[] = { "known_hosts", "known_hosts2" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char *path = add_home_file(names[i]);

		xstrlist_add(&c->known_hosts, path);
		free(path);
	}
	xstrlist_add(&c->known_hosts, SYSCONFDIR "/ssh_known_hosts");
	xstrlist_add(&c->known_hosts, SYSCONFDIR "/ssh_known_hosts2");
	xstrlist_add(&c->known_hosts, "/etc/ssh/ssh_known_hosts");
	xstrlist_add(&c->known_hosts, "/etc/ssh/ssh_known_hosts2");
}

static void
find_destinations(struct command *c, struct add_destinations *d)
{
	char *why;

	if (c->destinations.n > 0 && c->known_hosts.n == 0)
		use_default_known_hosts(c);
	for (size_t i = 0; i < c->destinations.n; i++) {
		why = add_destination(d, c->destinations.v[i],
		    &c->known_hosts);
		if (why != NULL)
			fatal("%s", why);
	}
	c->o.constraints.destinations = d->v;
	c->o.constraints.n_destinations = d->n;
}

/* ---- the program -------------------------------------------------------- */

static struct agent *
open_agent(void)
{
	struct agent *a = NULL;
	int r = agent_open(&a, NULL);

	if (r == 0)
		return a;
	if (r == ERR_NOT_FOUND)
		fprintf(stderr, "Could not open a connection to your "
				"authentication agent.\n");
	else
		fprintf(stderr, "Error connecting to agent: %s\n",
		    err_text(r));
	exit(NO_AGENT);
}

int
main(int argc, char **argv)
{
	struct command c = { .o = { .hash = DIGEST_SHA256,
				 .sk_provider = "internal" } };
	struct add_destinations destinations = { 0 };
	struct agent *a;
	int status;

	fd_sanitise_stdio();
	/* Passphrases are read from stdin without stdio. If stdin is a pipe,
	 * stdio must not read more of it than a line, so it has no buffer. */
	setvbuf(stdin, NULL, _IONBF, 0);
	signal(SIGPIPE, SIG_IGN);
	log_init("hpnssh-add", LOG_LVL_INFO);
	log_to_stderr();
	help_answer(&add_help, argc, argv, NULL);
	if (sk_provider("$SSH_SK_PROVIDER") != NULL)
		c.o.sk_provider = sk_provider("$SSH_SK_PROVIDER");
	parse(&c, argc, argv);
	a = open_agent();
	log_debug("The agent is at %s", getenv("SSH_AUTH_SOCK"));
	find_destinations(&c, &destinations);
	status = action_of(c.action)->run(a, &c);
	agent_close(a);
	add_destinations_clear(&destinations);
	strlist_clear(&c.destinations);
	strlist_clear(&c.known_hosts);
	strlist_clear(&c.paths);
	/* An error while writing to stdout, such as a full disk, must not be
	 * missed. */
	if (fflush(stdout) != 0 || ferror(stdout))
		fatal("Cannot write the output: %s", strerror(errno));
	return status;
}
