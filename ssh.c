/* SPDX-License-Identifier: ISC */
/*
 * hpnssh: reads the command line and the configuration. client/ssh-run.h does
 * what they ask for.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "base/called.h"
#include "base/fd.h"
#include "base/flags-getopt.h"
#include "base/help.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/version.h"
#include "cipher.h"
#include "client/check/check.h"
#include "client/auth/userauth.h"
#include "client/common/ssh-flags.h"
#include "client/hosts/name-lookup.h"
#include "client/mux/sharing-roles.h"
#include "client/query.h"
#include "client/ssh-run.h"
#include "compat/proc.h"
#include "conf/client-conf.h"
#include "conf/destination.h"
#include "crypto/library.h"

enum { EXIT_ERROR = 255 };

/* The release as in the identification: "OpenSSH_10.5...". Scripts parse it. */
#define RELEASE (&HPN_IDENT[sizeof "SSH-2.0-" - 1])

static const char optstring[] =
    "+1246AB:CD:E:F:GI:J:KL:MNO:P:Q:R:S:TVW:XYZab:c:e:fgi:kl:m:no:p:qstvw:xy";

enum { OPT_CHECK = 256, OPT_JSON };

/* Options longer than a letter. They have to be written in full. */
static const struct option long_options[] = {
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "json", no_argument, NULL, OPT_JSON },
};

/* What the command line and the configuration ask for. */
struct program {
	struct client_conf conf;
	struct destination dest;
	struct forward_endpoint through; /* -W */
	bool is_through;
	char *command; /* NULL: none on the command line */
	struct ssh_flags flags;
	struct strlist given; /* flags for the connection, as given */
	bool check, json;     /* --check, --json */
	const char *target;   /* destination of --check, with a path */
	const char *log_path;
	int tty_flag; /* RequestTTY by -t, -tt or -T; -1: no such flag */
	bool to_syslog;
	/* -G, -Z: appends what is shown instead of connecting. NULL:
	 * connect. */
	int (*show)(const struct client_conf *conf, struct buf *out);

	char *remote; /* what the server shall run; NULL: a shell */
	bool tty;
};

static _Noreturn void
usage(void)
{
	fprintf(stderr, "usage: %s [-46AaCfGgkMNnqsTtVvXxYyZ] [-B interface] "
	      "[-b address]\n"
	      "              [-c ciphers] [-D [address:]port] [-E log_file] "
	      "[-e escape]\n"
	      "              [-F config] [-i identity] [-J destination] "
	      "[-L forward]\n"
	      "              [-l user] [-m macs] [-O command] [-o option] "
	      "[-P tag]\n"
	      "              [-p port] [-R forward] [-S path] [-W host:port] "
	      "[-w unit[:unit]]\n"
	      "              destination\n"
	      "              [command [argument ...]]\n"
	      "       %s [-Q list]\n"
	      "       %s --check [--json] [option ...] destination[:path]\n",
	    called_ssh(), called_ssh(), called_ssh());
	exit(EXIT_ERROR);
}

/* ---- the command line --------------------------------------------------- */

static void
write_out(const struct buf *b)
{
	if (fwrite(buf_data(b), 1, buf_len(b), stdout) != buf_len(b) ||
	    fflush(stdout) != 0)
		fatal("%s: writing standard output: %s", called_ssh(),
		    err_text(ERR_SYSTEM));
}

static _Noreturn void
answer_query(const char *what)
{
	struct buf out = { 0 };

	if (query_list(what, &out) != 0)
		fatal("%s: -Q %s: there is no such list (see -Q help)",
		    called_ssh(), what);
	write_out(&out);
	buf_clear(&out);
	exit(0);
}

static void
take_through(struct program *p, const char *text)
{
	if (p->is_through)
		fatal("%s: stdio forward already specified", called_ssh());
	p->is_through = true;
	if (forward_target_parse(&p->through, text) != 0)
		fatal("%s: Bad stdio forwarding specification '%s'",
		    called_ssh(), text);
}

/* Ends the program if flags do not fit together. */
static void
check_flags(const struct program *p)
{
	if (p->is_through && p->flags.control_command != NULL)
		fatal("%s: Cannot specify stdio forward with -O", called_ssh());
	if (p->check && p->target == NULL)
		fatal("%s: --check stands in front of the destination",
		    called_ssh());
	if (p->json && !p->check)
		fatal("%s: --json is of use with --check only", called_ssh());
	if (p->check && (p->is_through || p->show != NULL ||
		p->flags.control_command != NULL))
		fatal("%s: --check goes with none of -G, -O, -W, -Z",
		    called_ssh());
}

/* Keeps a flag for the connection that --check makes, which takes the flags as
 * hpnscp does. */
static void
keep_flag(struct program *p, int flag)
{
	const char text[] = { '-', (char)flag, '\0' };

	xstrlist_add(&p->given, text);
	if (optarg != NULL)
		xstrlist_add(&p->given, optarg);
}

static void
take_flag(struct program *p, int flag)
{
	int r = ssh_flag_take(&p->flags, &p->conf, flag, optarg);

	if (r < 0)
		exit(EXIT_ERROR);
	if (r > 0) {
		keep_flag(p, flag);
		return;
	}
	switch (flag) {
	case OPT_CHECK:
		p->check = true;
		break;
	case OPT_JSON:
		p->json = true;
		break;
	case '1':
		fatal("%s: SSH protocol version 1 is gone", called_ssh());
	case '2': /* protocol version 2 is the only one */
	case 'K': /* without GSSAPI: ignored, as by OpenSSH without GSSAPI */
	case 'k':
		break;
	case 'E':
		p->log_path = optarg;
		break;
	case 'G':
		p->show = client_conf_dump;
		break;
	case 'I': /* without PKCS#11: as OpenSSH without PKCS#11 */
		fprintf(stderr, "no support for PKCS#11.\n");
		break;
	case 'Q':
		answer_query(optarg);
	case 'T':
		p->tty_flag = CLIENT_TTY_NO;
		break;
	case 't':
		p->tty_flag = p->tty_flag == CLIENT_TTY_YES ? CLIENT_TTY_FORCE :
							      CLIENT_TTY_YES;
		break;
	case 'V':
		fprintf(stderr, "%s, %s\n", RELEASE,
		    crypto_library_version());
		exit(0);
	case 'W':
		take_through(p, optarg);
		break;
	case 'y':
		p->to_syslog = true;
		break;
	case 'Z':
		p->show = userauth_list_keys;
		break;
	default:
		usage();
	}
}

static void
take_destination(struct program *p, const char *text)
{
	if (destination_parse(&p->dest, text) != 0)
		usage();
	if (p->dest.user != NULL && !destination_user_ok(p->dest.user))
		fatal("remote username contains invalid characters");
	if (!destination_host_ok(p->dest.host))
		fatal("%s: the host name has characters that are not "
		      "allowed", called_ssh());
	if (p->dest.user != NULL &&
	    client_conf_set(&p->conf, "User", p->dest.user) != 0)
		exit(EXIT_ERROR);
	if (p->dest.port != NULL &&
	    client_conf_set(&p->conf, "Port", p->dest.port) != 0)
		exit(EXIT_ERROR);
}

/* Returns the next flag. A word that begins with "--" and is none of the long
 * options is left to getopt(3), which cuts it into letters, as OpenSSH's ssh
 * does, and prints the same message. */
static int
next_flag(int argc, char **argv)
{
	const char *word = optind < argc ? argv[optind] : "";

	for (size_t i = 0; i < ARRAY_LEN(long_options); i++)
		if (strncmp(word, "--", 2) == 0 &&
		    strcmp(word + 2, long_options[i].name) == 0) {
			optind++;
			return long_options[i].val;
		}
	return flags_getopt(argc, argv, optstring);
}

/* Parses the command line: flags, which may stand in front of the destination
 * and behind it, and then the command. */
static void
parse_arguments(struct program *p, int argc, char **argv)
{
	struct buf command = { 0 };
	bool flags_end = false;
	int flag;

	for (;;) {
		while (!flags_end && (flag = next_flag(argc, argv)) != -1)
			take_flag(p, flag);
		if (optind > 1 && strcmp(argv[optind - 1], "--") == 0)
			flags_end = true;
		if (p->dest.host != NULL || p->target != NULL ||
		    optind >= argc)
			break;
		if (p->check)
			p->target = argv[optind++];
		else
			take_destination(p, argv[optind++]);
	}
	if (p->dest.host == NULL && p->target == NULL)
		usage();
	check_flags(p);
	if (p->target != NULL && optind < argc)
		fatal("%s: --check runs no command", called_ssh());
	if (optind >= argc)
		return;
	for (int i = optind; i < argc; i++)
		buf_printf(&command, "%s%s", i > optind ? " " : "", argv[i]);
	p->command = buf_dup_string(&command);
	buf_clear(&command);
	if (p->command == NULL)
		fatal("%s", err_text(ERR_NOMEM));
}

/* ---- the configuration -------------------------------------------------- */

static _Noreturn void
cannot_log(const char *path)
{
	log_error("Couldn't open logfile %s: %s", path, strerror(errno));
	exit(1); /* OpenSSH's status here, instead of 255 */
}

/* Opens the log of -E or -y. This is done before the configuration is read,
 * because reading it logs lines too. */
static void
open_log(const struct program *p)
{
	if (p->log_path != NULL) {
		if (log_to_file(p->log_path) != 0)
			cannot_log(p->log_path);
	} else if (p->to_syslog) {
		log_to_syslog(LOG_USER);
	}
}

static void
start_log(struct program *p)
{
	log_set_level((enum log_level)p->conf.log.log_level);
	if (log_set_locations(&p->conf.log.log_verbose) != 0)
		fatal("%s", err_text(ERR_NOMEM));
	if (p->log_path == NULL && p->to_syslog)
		log_to_syslog(p->conf.log.syslog_facility);
	if (p->flags.verbosity > 0)
		log_debug("%s, %s", RELEASE, crypto_library_version());
}

static void
load_configuration(struct program *p)
{
	struct client_conf_context context = {
		.host = p->dest.host,
		.command = p->command,
		.config_path = p->flags.config_path,
		.stdio_forward = p->is_through,
		.resolve = name_look_up,
	};

	if (client_conf_load(&p->conf, &context) != 0)
		exit(EXIT_ERROR);
	ssh_flags_apply(&p->flags, &p->conf);
	if (p->tty_flag != -1) /* the flag wins over RequestTTY */
		p->conf.session.request_tty = p->tty_flag;
	if (p->is_through) {
		p->conf.session.request_tty = CLIENT_TTY_NO;
		p->conf.session.session_type = CLIENT_SESSION_NONE;
	}
	if (!destination_host_ok(p->conf.host.hostname))
		fatal("%s: the host name has characters that are not "
		      "allowed", called_ssh());
}

static void
show(const struct program *p)
{
	struct buf out = { 0 };
	int r = p->show(&p->conf, &out);

	if (r != 0)
		fatal("%s", err_text(r));
	write_out(&out);
	buf_clear(&out);
}

/* Sets p->remote, the command of the command line or RemoteCommand. */
static void
choose_remote(struct program *p)
{
	const struct client_conf *conf = &p->conf;

	if (conf->session.remote_command != NULL) {
		if (p->command != NULL)
			fatal("%s: there is a command on the command line "
			      "and a RemoteCommand", called_ssh());
		if (client_conf_expand(conf, CLIENT_TOKENS_COMMAND,
			"RemoteCommand", conf->session.remote_command,
			&p->remote) != 0)
			exit(EXIT_ERROR);
	} else if (p->command != NULL) {
		p->remote = xstrdup(p->command);
	}
	if (conf->session.session_type == CLIENT_SESSION_SUBSYSTEM &&
	    p->remote == NULL)
		fatal("%s: which subsystem?", called_ssh());
	if (conf->session.fork_after_authentication && p->remote == NULL &&
	    conf->session.session_type != CLIENT_SESSION_NONE)
		fatal("Cannot fork into background without a command to "
		      "execute.");
}

static void
choose_tty(struct program *p)
{
	const struct client_conf *conf = &p->conf;
	bool no_stdin =
	    conf->session.stdin_null || conf->session.fork_after_authentication;

	switch (conf->session.request_tty) {
	case CLIENT_TTY_NO:
		return;
	case CLIENT_TTY_FORCE:
		p->tty = true;
		break;
	case CLIENT_TTY_YES:
		p->tty = true;
		break;
	default:
		p->tty = p->remote == NULL;
	}
	if (conf->session.session_type == CLIENT_SESSION_NONE)
		p->tty = false;
	if (!p->tty || conf->session.request_tty == CLIENT_TTY_FORCE)
		return;
	if (no_stdin || !isatty(STDIN_FILENO)) {
		if (!no_stdin)
			log_info("Pseudo-terminal will not be allocated "
				 "because stdin is not a terminal.");
		p->tty = false;
	}
}

/* ---- from beginning to end ---------------------------------------------- */

extern char **environ;

static int
check(struct program *p)
{
	const struct check_params params = { .target = p->target,
		.options = &p->given, .json = p->json };

	if (p->flags.quiet)
		log_set_level(LOG_LVL_QUIET);
	else if (p->flags.verbosity > 0)
		log_set_level((enum log_level)MIN(LOG_LVL_VERBOSE +
			p->flags.verbosity, LOG_LVL_DEBUG3));
	return check_run(&params);
}

static int
run(struct program *p)
{
	struct ssh_run_params params = {
		.conf = &p->conf,
		.through = p->is_through ? &p->through : NULL,
		.proxied = p->flags.control_command != NULL,
	};

	start_log(p);
	choose_remote(p);
	choose_tty(p);
	params.remote = p->remote;
	params.tty = p->tty;
	return ssh_run(&params);
}

int
main(int argc, char **argv)
{
	static struct program p = { .tty_flag = -1 };
	int status = 0;

	fd_sanitise_stdio();
	proc_title_begin(argc, argv, NULL);
	crypto_library_start();
	help_answer(&ssh_help, argc, argv, crypto_library_version());
	cipher_use_wide_gcm();
	signal(SIGPIPE, SIG_IGN);
	log_init(called_as(argc > 0 ? argv[0] : NULL, "hpnssh"),
	    LOG_LVL_INFO);
	client_conf_init(&p.conf);
	parse_arguments(&p, argc, argv);
	open_log(&p);
	if (p.check)
		return check(&p);
	load_configuration(&p);
	if (p.show != NULL) {
		show(&p);
	} else if (p.flags.control_command != NULL &&
	    !sharing_word_is_proxy(p.flags.control_command)) {
		start_log(&p);
		status = sharing_command(&p.conf, p.flags.control_command);
	} else {
		status = run(&p);
	}
	free(p.command);
	free(p.remote);
	destination_clear(&p.dest);
	forward_endpoint_clear(&p.through);
	client_conf_clear(&p.conf);
	return status;
}
