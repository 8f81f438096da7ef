/* SPDX-License-Identifier: ISC */
/*
 * hpnssh: reads the command line, reaches the host, logs in, and ties a
 * session to the terminal or to standard input and output.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/version.h"
#include "channels.h"
#include "client/destination.h"
#include "client/metrics.h"
#include "client/none.h"
#include "client/query.h"
#include "client/session.h"
#include "client/stdio.h"
#include "client/tty.h"
#include "client/why-slow.h"
#include "conf/client-conf.h"
#include "crypto/library.h"
#include "sshconnect.h"
#include "sshconnect2.h"

enum { EXIT_ERROR = 255 };

/* "OpenSSH_10.5..." as in the identification: programs look at it. */
#define RELEASE (&HPN_IDENT[sizeof "SSH-2.0-" - 1])

static const char optstring[] =
    "+1246AB:CD:E:F:GI:J:KL:MNO:P:Q:R:S:TVW:XYZab:c:e:fgi:kl:m:no:p:qstvw:xy";

/* Known from OpenSSH, and not built here yet: better refused than ignored. */
static const struct {
	char flag;
	const char *what;
} refused[] = {
	{ 'A', "agent forwarding" },
	{ 'D', "port forwarding" },
	{ 'g', "port forwarding" },
	{ 'I', "PKCS#11" },
	{ 'J', "the jump host" },
	{ 'K', "GSSAPI" },
	{ 'L', "port forwarding" },
	{ 'M', "connection sharing" },
	{ 'O', "connection sharing" },
	{ 'R', "port forwarding" },
	{ 'S', "connection sharing" },
	{ 'W', "port forwarding" },
	{ 'w', "tunnel forwarding" },
	{ 'X', "X11 forwarding" },
	{ 'Y', "X11 forwarding" },
	{ 'Z', "the list of keys to try" },
};

/* Flags that are another way to write a keyword. value NULL: the argument. */
static const struct {
	char flag;
	const char *keyword, *value;
} keyword_flags[] = {
	{ '4', "AddressFamily", "inet" },
	{ '6', "AddressFamily", "inet6" },
	{ 'B', "BindInterface", NULL },
	{ 'b', "BindAddress", NULL },
	{ 'C', "Compression", "yes" },
	{ 'c', "Ciphers", NULL },
	{ 'e', "EscapeChar", NULL },
	{ 'f', "ForkAfterAuthentication", "yes" },
	{ 'i', "IdentityFile", NULL },
	{ 'l', "User", NULL },
	{ 'm', "MACs", NULL },
	{ 'N', "SessionType", "none" },
	{ 'n', "StdinNull", "yes" },
	{ 'P', "Tag", NULL },
	{ 'p', "Port", NULL },
	{ 's', "SessionType", "subsystem" },
};

/* Everything of this process; the loop's callbacks get it as their arg. */
struct program {
	struct client_conf conf;
	struct destination dest;
	char *command; /* NULL: none on the command line */
	const char *config_path, *log_path;
	int tty_wish; /* RequestTTY of -t, -tt, -T; -1: none of them */
	int verbosity;
	bool quiet, to_syslog, only_dump;

	struct sshlink link;
	struct loop *loop;
	struct sshlogin *login;
	struct channels *channels;
	struct session *session;
	struct none_switch none;
	struct why_slow_start began;
	struct metrics *metrics;
	char *remote; /* what the server shall run; NULL: a shell */
	bool tty, in_session;
	bool session_ended; /* by its own end, not the connection's */
	int status;
};

static _Noreturn void
usage(void)
{
	fputs("usage: hpnssh [-46CfGkNnqsTtVvxy] [-B interface] "
	      "[-b address]\n"
	      "              [-c ciphers] [-E log_file] [-e escape] "
	      "[-F config]\n"
	      "              [-i identity] [-l user] [-m macs] "
	      "[-o option] [-P tag]\n"
	      "              [-p port] destination [command [argument ...]]\n"
	      "       hpnssh [-Q list]\n",
	    stderr);
	exit(EXIT_ERROR);
}

/* ---- the command line --------------------------------------------------- */

static void
write_out(const struct buf *b)
{
	if (fwrite(buf_data(b), 1, buf_len(b), stdout) != buf_len(b) ||
	    fflush(stdout) != 0)
		fatal("hpnssh: writing standard output: %s",
		    err_text(ERR_SYSTEM));
}

static _Noreturn void
answer_query(const char *what)
{
	struct buf out = { 0 };

	if (query_list(what, &out) != 0)
		fatal("hpnssh: -Q %s: there is no such list (see -Q help)",
		    what);
	write_out(&out);
	buf_clear(&out);
	exit(0);
}

static bool
set_by_keyword(struct program *p, int flag, const char *argument)
{
	for (size_t i = 0; i < ARRAY_LEN(keyword_flags); i++) {
		if (keyword_flags[i].flag != flag)
			continue;
		if (client_conf_set(&p->conf, keyword_flags[i].keyword,
			keyword_flags[i].value != NULL ?
			    keyword_flags[i].value :
			    argument) != 0)
			exit(EXIT_ERROR);
		return true;
	}
	return false;
}

static void
refuse(int flag)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		if (refused[i].flag == flag)
			fatal("hpnssh: -%c: %s is not available in this "
			      "version",
			    flag, refused[i].what);
}

static void
take_flag(struct program *p, int flag)
{
	if (set_by_keyword(p, flag, optarg))
		return;
	refuse(flag);
	switch (flag) {
	case '1':
		fatal("hpnssh: SSH protocol version 1 is gone");
	case '2': /* the only one there is */
	case 'a': /* nothing is forwarded anyway */
	case 'k':
	case 'x':
		break;
	case 'E':
		p->log_path = optarg;
		break;
	case 'F':
		p->config_path = optarg;
		break;
	case 'G':
		p->only_dump = true;
		break;
	case 'o':
		if (client_conf_set_option(&p->conf, optarg) != 0)
			exit(EXIT_ERROR);
		break;
	case 'Q':
		answer_query(optarg);
	case 'q':
		p->quiet = true;
		break;
	case 'T':
		p->tty_wish = CLIENT_TTY_NO;
		break;
	case 't':
		p->tty_wish = p->tty_wish == CLIENT_TTY_YES ? CLIENT_TTY_FORCE :
							      CLIENT_TTY_YES;
		break;
	case 'V':
		fprintf(stderr, "%s, %s\n", RELEASE,
		    crypto_library_version());
		exit(0);
	case 'v':
		p->verbosity++;
		/* What is told while options are read counts too. */
		log_set_level((enum log_level)MIN(
		    (int)LOG_LVL_VERBOSE + p->verbosity,
		    (int)LOG_LVL_DEBUG3));
		break;
	case 'y':
		p->to_syslog = true;
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
		fatal("hpnssh: the user name has characters that are not "
		      "allowed");
	if (!destination_host_ok(p->dest.host))
		fatal("hpnssh: the host name has characters that are not "
		      "allowed");
	if (p->dest.user != NULL &&
	    client_conf_set(&p->conf, "User", p->dest.user) != 0)
		exit(EXIT_ERROR);
	if (p->dest.port != NULL &&
	    client_conf_set(&p->conf, "Port", p->dest.port) != 0)
		exit(EXIT_ERROR);
}

/* Flags may stand before and behind the destination; what comes then is the
 * command. */
static void
parse_arguments(struct program *p, int argc, char **argv)
{
	struct buf command = { 0 };
	bool flags_end = false;
	int flag;

	for (;;) {
		while (!flags_end &&
		    (flag = getopt(argc, argv, optstring)) != -1)
			take_flag(p, flag);
		if (optind > 1 && strcmp(argv[optind - 1], "--") == 0)
			flags_end = true;
		if (p->dest.host != NULL || optind >= argc)
			break;
		take_destination(p, argv[optind++]);
	}
	if (p->dest.host == NULL)
		usage();
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

/* The flags -v, -q, -t and -T win over every keyword, also one of -o. */
static void
apply_winning_flags(struct program *p)
{
	static const enum log_level levels[] = { LOG_LVL_DEBUG1,
		LOG_LVL_DEBUG2, LOG_LVL_DEBUG3 };

	if (p->verbosity > 0)
		p->conf.log_level = (int)levels[MIN(p->verbosity, 3) - 1];
	else if (p->quiet)
		p->conf.log_level = LOG_LVL_QUIET;
	if (p->tty_wish != -1)
		p->conf.request_tty = p->tty_wish;
}

static void
start_log(struct program *p)
{
	log_set_level((enum log_level)p->conf.log_level);
	if (p->log_path != NULL) {
		if (log_to_file(p->log_path) != 0)
			fatal("hpnssh: %s: %s", p->log_path,
			    err_text(ERR_SYSTEM));
	} else if (p->to_syslog) {
		log_to_syslog(p->conf.syslog_facility);
	}
	log_debug("%s, %s", RELEASE, crypto_library_version());
}

static void
load_configuration(struct program *p)
{
	struct client_conf_context context = {
		.host = p->dest.host,
		.command = p->command,
		.config_path = p->config_path,
	};

	if (client_conf_load(&p->conf, &context) != 0)
		exit(EXIT_ERROR);
	apply_winning_flags(p);
	if (!destination_host_ok(p->conf.hostname))
		fatal("hpnssh: the host name has characters that are not "
		      "allowed");
}

static void
dump_configuration(const struct program *p)
{
	struct buf out = { 0 };

	if (client_conf_dump(&p->conf, &out) != 0)
		fatal("%s", err_text(ERR_NOMEM));
	write_out(&out);
	buf_clear(&out);
}

/* What shall run, and whether with a terminal. */
static void
choose_remote(struct program *p)
{
	const struct client_conf *conf = &p->conf;

	if (conf->remote_command != NULL) {
		if (p->command != NULL)
			fatal("hpnssh: there is a command on the command line "
			      "and a RemoteCommand");
		if (client_conf_expand(conf, CLIENT_TOKENS_COMMAND,
			"RemoteCommand", conf->remote_command,
			&p->remote) != 0)
			exit(EXIT_ERROR);
	} else if (p->command != NULL) {
		p->remote = xstrdup(p->command);
	}
	if (conf->session_type == CLIENT_SESSION_SUBSYSTEM &&
	    p->remote == NULL)
		fatal("hpnssh: which subsystem?");
	if (conf->fork_after_authentication && p->remote == NULL &&
	    conf->session_type != CLIENT_SESSION_NONE)
		fatal("hpnssh: nothing to run in the background: a command, "
		      "or -N, is needed with -f");
}

static void
choose_tty(struct program *p)
{
	const struct client_conf *conf = &p->conf;
	bool no_stdin = conf->stdin_null || conf->fork_after_authentication;

	switch (conf->request_tty) {
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
	if (conf->session_type == CLIENT_SESSION_NONE)
		p->tty = false;
	if (!p->tty || conf->request_tty == CLIENT_TTY_FORCE)
		return;
	if (no_stdin || !isatty(STDIN_FILENO)) {
		if (!no_stdin)
			log_info("Pseudo-terminal will not be allocated "
				 "because stdin is not a terminal.");
		p->tty = false;
	}
}

/* ---- in the loop -------------------------------------------------------- */

static void
stop(struct program *p, int status)
{
	p->status = status;
	loop_stop(p->loop);
}

static void
on_connection_ended(void *arg, int err)
{
	(void)err;
	stop(arg, EXIT_ERROR);
}

static void
on_session_ended(void *arg)
{
	struct program *p = arg;

	p->session_ended = true;
	/* A refused session ends before session_new() has returned it. */
	stop(p, p->session != NULL ? session_status(p->session) : EXIT_ERROR);
}

static void
on_stop_signal(void *arg, int signo)
{
	log_verbose("Ended by signal %d.", signo);
	stop(arg, EXIT_ERROR);
}

static void
on_resize(void *arg, int signo)
{
	struct program *p = arg;

	(void)signo;
	if (p->session != NULL)
		session_resized(p->session);
}

/* Signals that were ignored (nohup) stay so. */
static void
catch_signal(struct program *p, int signo, loop_signal_fn fn)
{
	struct sigaction old;

	if (sigaction(signo, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
		return;
	if (loop_on_signal(p->loop, signo, fn, p) != 0)
		log_debug("signal %d: %s", signo, err_text(ERR_SYSTEM));
}

static void
catch_signals(struct program *p)
{
	catch_signal(p, SIGHUP, on_stop_signal);
	catch_signal(p, SIGINT, on_stop_signal);
	catch_signal(p, SIGQUIT, on_stop_signal);
	catch_signal(p, SIGTERM, on_stop_signal);
	if (p->tty)
		catch_signal(p, SIGWINCH, on_resize);
}

static void
go_to_background(void)
{
	pid_t pid = fork();

	if (pid == -1)
		fatal("fork: %s", err_text(ERR_SYSTEM));
	if (pid > 0)
		_exit(0);
	if (setsid() == -1)
		log_debug("setsid: %s", err_text(ERR_SYSTEM));
}

static void
run_local_command(const struct program *p)
{
	const struct client_conf *conf = &p->conf;
	const char *shell = getenv("SHELL");
	char *command;
	pid_t pid;
	int status;

	if (!conf->permit_local_command || conf->local_command == NULL)
		return;
	if (client_conf_expand(conf, CLIENT_TOKENS_COMMAND, "LocalCommand",
		conf->local_command, &command) != 0)
		return;
	log_debug("running the local command: %s", command);
	if (shell == NULL || *shell == '\0')
		shell = "/bin/sh";
	if ((pid = fork()) == 0) {
		signal(SIGPIPE, SIG_DFL);
		execl(shell, shell, "-c", command, (char *)NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	if (pid == -1 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
		log_error("LocalCommand did not succeed");
	free(command);
}

static int
make_channels(struct program *p)
{
	int r = channels_new(&p->channels, sshlogin_packet(p->login), p->loop);

	if (r == 0) {
		channels_set_frugal(p->channels,
		    !sshlogin_peer_is_hpnssh(p->login));
		channels_set_dynamic(p->channels,
		    p->conf.tcp_rcv_buf_poll && !p->conf.hpn_disabled);
	}
	packet_set_threads(sshlogin_packet(p->login), p->conf.cipher_threads);
	return r;
}

/* With -v also without Metrics: why it was slow is what the sender knows. */
static int
start_metrics(struct program *p)
{
	bool quiet = log_get_level() >= LOG_LVL_VERBOSE &&
	    sshlogin_peer_is_hpn(p->login);

	return metrics_new(&p->metrics, &p->conf, p->loop, p->channels,
	    sshlogin_packet(p->login), quiet);
}

static void
tell_why_slow(const struct program *p)
{
	uint64_t at_ms = 0;
	const struct tcp_numbers *remote = metrics_remote(p->metrics, &at_ms);

	why_slow_tell(&p->began, sshlogin_packet(p->login), p->channels,
	    remote, at_ms, p->conf.hpn_disabled || !p->conf.tcp_rcv_buf_poll);
}

static int
on_rekeyed(void *arg)
{
	struct program *p = arg;

	return none_switch_rekeyed(&p->none);
}

static int
open_session(struct program *p, bool ahead)
{
	struct session_params params = {
		.conf = &p->conf,
		.loop = p->loop,
		.packet = sshlogin_packet(p->login),
		.kex = sshlogin_kex(p->login),
		.channels = p->channels,
		.command = p->remote,
		.subsystem = p->conf.session_type == CLIENT_SESSION_SUBSYSTEM,
		.tty = p->tty,
		.peer_is_openssh = sshlogin_peer_is_openssh(p->login),
		.ahead = ahead,
		.ended = on_session_ended,
		.arg = p,
	};
	int r = 0;

	if (p->conf.session_type != CLIENT_SESSION_NONE)
		r = session_new(&p->session, &params);
	if (r == 0 && ahead)
		session_ask_ahead(p->session);
	/* Nobody who takes over this connection shall open another one. */
	if (r == 0 && params.peer_is_openssh)
		r = channels_global_request(p->channels,
		    "no-more-sessions@openssh.com", NULL, NULL, NULL);
	return r;
}

/* The first request of the user is likely to be granted: what the session
 * needs goes out behind it. */
static int
on_likely(void *arg)
{
	struct program *p = arg;
	int r;

	if (p->conf.session_type == CLIENT_SESSION_NONE)
		return 0;
	r = make_channels(p);
	return r != 0 ? r : open_session(p, true);
}

static void
on_authenticated(void *arg)
{
	struct program *p = arg;
	struct connection *connection = sshlogin_connection(p->login);
	int r = 0;

	run_local_command(p);
	if (p->conf.stdin_null || p->conf.fork_after_authentication)
		stdio_to_null(STDIN_FILENO);
	if (p->conf.fork_after_authentication)
		go_to_background();
	catch_signals(p);
	sshlink_set_qos(&p->link, &p->conf, p->tty);
	why_slow_begin(&p->began, sshlogin_packet(p->login));
	if (p->channels == NULL)
		r = make_channels(p);
	if (r == 0) {
		connection_set_channels(connection, p->channels);
		connection_set_alive(connection,
		    (uint32_t)p->conf.server_alive_interval,
		    (uint32_t)p->conf.server_alive_count_max);
		if (p->session != NULL)
			session_attach(p->session);
		else
			r = open_session(p, false);
	}
	if (r == 0)
		r = none_switch_start(&p->none, &p->conf,
		    sshlogin_packet(p->login), sshlogin_kex(p->login), p->tty);
	if (r == 0)
		r = start_metrics(p);
	if (r != 0) {
		log_error("session: %s", err_text(r));
		stop(p, EXIT_ERROR);
	}
	p->in_session = true;
}

/* ---- the course of things ----------------------------------------------- */

static int
run(struct program *p)
{
	struct sshlogin_params params = {
		.conf = &p->conf,
		.link = &p->link,
		.arg = p,
		.likely = on_likely,
		.authenticated = on_authenticated,
		.rekeyed = on_rekeyed,
		.ended = on_connection_ended,
	};
	int r;

	p->status = EXIT_ERROR;
	if (p->conf.refuse_connection != NULL) {
		log_error("hpnssh: %s", p->conf.refuse_connection);
		return EXIT_ERROR;
	}
	if (sshlink_open(&p->link, &p->conf) != 0)
		goto out;
	if ((p->loop = loop_new()) == NULL) {
		log_error("%s", err_text(ERR_SYSTEM));
		goto out;
	}
	params.loop = p->loop;
	if (sshlogin_new(&p->login, &params) != 0)
		goto out;
	if ((r = loop_run(p->loop)) != 0) {
		log_error("%s", err_text(r));
		p->status = EXIT_ERROR;
	}
	tty_leave_raw();
	tell_why_slow(p);
	sshlogin_disconnect(p->login);
	if (p->tty && p->session_ended)
		log_info("Connection to %s closed.", p->conf.original_host);
out:
	metrics_free(p->metrics);
	session_free(p->session);
	channels_free(p->channels);
	sshlogin_free(p->login);
	loop_free(p->loop);
	sshlink_close(&p->link);
	return p->status;
}

/* Output to a descriptor that the caller closed is lost: then writing fails,
 * as it would have on the closed one, and the number is taken. */
static void
guard_closed_output(void)
{
	if (fcntl(STDOUT_FILENO, F_GETFD) != -1 ||
	    fcntl(STDIN_FILENO, F_GETFD) == -1)
		return;
	(void)!open("/dev/null", O_RDONLY);
}

int
main(int argc, char **argv)
{
	static struct program p = { .tty_wish = -1 };
	int status = 0;

	guard_closed_output();
	fd_sanitise_stdio();
	signal(SIGPIPE, SIG_IGN);
	log_init("hpnssh", LOG_LVL_INFO);
	client_conf_init(&p.conf);
	parse_arguments(&p, argc, argv);
	load_configuration(&p);
	if (p.only_dump) {
		dump_configuration(&p);
	} else {
		start_log(&p);
		choose_remote(&p);
		choose_tty(&p);
		status = run(&p);
	}
	free(p.command);
	free(p.remote);
	destination_clear(&p.dest);
	client_conf_clear(&p.conf);
	return status;
}
