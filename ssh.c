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
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/version.h"
#include "channels.h"
#include "client/client-session.h"
#include "client/forwards.h"
#include "client/local-command.h"
#include "client/query.h"
#include "client/sharing.h"
#include "client/ssh-flags.h"
#include "client/sshclient.h"
#include "client/standard-streams.h"
#include "client/tty.h"
#include "client/tunnel.h"
#include "client/uses.h"
#include "conf/client-conf.h"
#include "conf/destination.h"
#include "connection.h"
#include "crypto/library.h"
#include "forward/stdio-forward.h"

enum { EXIT_ERROR = 255 };

/* "OpenSSH_10.5..." as in the identification: scripts parse it. */
#define RELEASE (&HPN_IDENT[sizeof "SSH-2.0-" - 1])

static const char optstring[] =
    "+1246AB:CD:E:F:GI:J:KL:MNO:P:Q:R:S:TVW:XYZab:c:e:fgi:kl:m:no:p:qstvw:xy";

/* Known from OpenSSH, and not built here yet: better refused than ignored. */
static const struct {
	char flag;
	const char *what;
} refused[] = {
	{ 'I', "PKCS#11" },
	{ 'Z', "the list of keys to try" },
};

/* Everything of this process; the loop's callbacks get it as their arg. */
struct program {
	struct client_conf conf;
	struct destination dest;
	struct forward_endpoint through; /* -W */
	bool is_through;
	char *command; /* NULL: none on the command line */
	struct ssh_flags flags;
	const char *log_path;
	int tty_wish; /* RequestTTY of -t, -tt, -T; -1: none of them */
	bool to_syslog, only_dump;

	struct loop *loop;
	struct sshclient *client;
	struct session *session;
	struct stdio_forward *forward; /* -W */
	struct tunnel *tunnel; /* -w */
	struct uses uses; /* the program ends with the last of them */
	struct sharing sharing;
	char *remote; /* what the server shall run; NULL: a shell */
	bool tty;
	/* All of them: on with go_on(). */
	bool logged_in, forwards_begun, tunnel_begun;
	bool gone_on, gave_up;
	bool session_ended; /* by its own end, not the connection's */
	bool lost;	    /* the connection */
	int status;
};

static _Noreturn void
usage(void)
{
	fputs("usage: hpnssh [-46AaCfGgkMNnqsTtVvXxYy] [-B interface] "
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
take_through(struct program *p, const char *text)
{
	if (p->is_through)
		fatal("hpnssh: stdio forward already specified");
	p->is_through = true;
	if (forward_target_parse(&p->through, text) != 0)
		fatal("hpnssh: Bad stdio forwarding specification '%s'", text);
}

/* What cannot be together on one command line. */
static void
check_flags(const struct program *p)
{
	if (p->is_through && p->flags.control_command != NULL)
		fatal("hpnssh: Cannot specify stdio forward with -O");
}

static void
take_flag(struct program *p, int flag)
{
	int r = ssh_flag_take(&p->flags, &p->conf, flag, optarg);

	if (r < 0)
		exit(EXIT_ERROR);
	if (r > 0)
		return;
	refuse(flag);
	switch (flag) {
	case '1':
		fatal("hpnssh: SSH protocol version 1 is gone");
	case '2': /* the only one there is */
	case 'K': /* built without GSSAPI: as stock without it */
	case 'k':
		break;
	case 'E':
		p->log_path = optarg;
		break;
	case 'G':
		p->only_dump = true;
		break;
	case 'Q':
		answer_query(optarg);
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
	case 'W':
		take_through(p, optarg);
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

/* Flags may stand in front of the destination and behind it; the command
 * follows. */
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
	check_flags(p);
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

static void
start_log(struct program *p)
{
	log_set_level((enum log_level)p->conf.log.log_level);
	if (p->log_path != NULL) {
		if (log_to_file(p->log_path) != 0)
			fatal("hpnssh: %s: %s", p->log_path,
			    err_text(ERR_SYSTEM));
	} else if (p->to_syslog) {
		log_to_syslog(p->conf.log.syslog_facility);
	}
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
	};

	if (client_conf_load(&p->conf, &context) != 0)
		exit(EXIT_ERROR);
	ssh_flags_apply(&p->flags, &p->conf);
	if (p->tty_wish != -1) /* wins over every keyword too */
		p->conf.session.request_tty = p->tty_wish;
	if (p->is_through) {
		p->conf.session.request_tty = CLIENT_TTY_NO;
		p->conf.session.session_type = CLIENT_SESSION_NONE;
	}
	if (!destination_host_ok(p->conf.host.hostname))
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

	if (conf->session.remote_command != NULL) {
		if (p->command != NULL)
			fatal("hpnssh: there is a command on the command line "
			      "and a RemoteCommand");
		if (client_conf_expand(conf, CLIENT_TOKENS_COMMAND,
			"RemoteCommand", conf->session.remote_command,
			&p->remote) != 0)
			exit(EXIT_ERROR);
	} else if (p->command != NULL) {
		p->remote = xstrdup(p->command);
	}
	if (conf->session.session_type == CLIENT_SESSION_SUBSYSTEM &&
	    p->remote == NULL)
		fatal("hpnssh: which subsystem?");
	if (conf->session.fork_after_authentication && p->remote == NULL &&
	    conf->session.session_type != CLIENT_SESSION_NONE)
		fatal("hpnssh: nothing to run in the background: a command, "
		      "or -N, is needed with -f");
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

/* ---- in the loop -------------------------------------------------------- */

static void
stop(struct program *p, int status)
{
	p->status = status;
	loop_stop(p->loop);
}

/* A lost connection does not end a session that is there: it ends by itself,
 * when its output is written, with the exit status that the server may have
 * sent before. */
static void
on_connection_ended(void *arg, int err)
{
	struct program *p = arg;

	p->lost = true;
	if (p->sharing.master != NULL)
		mux_master_lost(p->sharing.master);
	if (connection_is_lost(err) &&
	    ((p->session != NULL && session_channel(p->session) != NULL) ||
		(p->sharing.master != NULL &&
		    mux_master_is_used(p->sharing.master)))) {
		forwards_stop_listening(sshclient_forwards(p->client));
		return;
	}
	stop(p, p->session_ended ? p->status : EXIT_ERROR);
}

static void
on_unused(void *arg)
{
	const struct program *p = arg;

	loop_stop(p->loop);
}

static void
on_session_ended(void *arg)
{
	struct program *p = arg;

	p->session_ended = true;
	/* Passengers and forwarded connections may go on for long. */
	tty_leave_raw();
	/* A refused session ends before session_new() has returned it. */
	p->status = p->session != NULL ? session_status(p->session) :
					 EXIT_ERROR;
	if (p->lost && (p->sharing.master == NULL ||
	    !mux_master_is_used(p->sharing.master)))
		loop_stop(p->loop); /* nothing else goes on, either */
	uses_end(&p->uses, USE_SESSION);
}

/* -W: the reader of our output sees its end at once, also if it is the same
 * socket as our input. */
static void
on_forward_eof(void *arg)
{
	(void)arg;
	(void)shutdown(STDOUT_FILENO, SHUT_WR);
	stdio_to_null(STDOUT_FILENO);
}

static void
on_forward_ended(void *arg, bool failed)
{
	struct program *p = arg;

	p->status = failed ? EXIT_ERROR : 0;
	uses_end(&p->uses, USE_STDIO_FORWARD);
}

/* Whoever ends a connection without a session has got what was wanted. */
static void
on_stop_signal(void *arg, int signo)
{
	struct program *p = arg;

	log_verbose("Ended by signal %d.", signo);
	stop(p, signo == SIGTERM && p->uses.count[USE_NO_SESSION] > 0 ?
		0 : EXIT_ERROR);
}

static void
on_resize(void *arg, int signo)
{
	struct program *p = arg;

	(void)signo;
	if (p->session != NULL)
		session_resized(p->session);
	if (p->sharing.master != NULL)
		mux_master_resized(p->sharing.master);
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
	if (p->tty || p->sharing.master != NULL)
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

static int
open_forward(struct program *p)
{
	struct stdio_forward_params params = {
		.channels = sshclient_channels(p->client),
		.target = { p->through.host, p->through.port,
		    p->through.path },
		.eof = on_forward_eof,
		.ended = on_forward_ended,
		.arg = p,
	};

	uses_begin(&p->uses, USE_STDIO_FORWARD);
	return stdio_forward_new(&p->forward, &params);
}

/* With ExitOnForwardFailure nothing is run before the forwards stand. */
static bool
waits_for_forwards(const struct program *p)
{
	return p->conf.forward.exit_on_failure &&
	    (p->conf.forward.local.n > 0 || p->conf.forward.remote.n > 0 ||
		tunnel_is_wanted(&p->conf));
}

/*
 * An optimistic session is the first channel of the connection, because its
 * number at the server has to be known. What the server shall listen on is
 * asked for right behind, and in front of the requests that start the command,
 * which may use it. A session that waits for forwards is not: it is opened
 * behind the requests, so that the answers to them come first.
 */
static int
open_session(struct program *p, bool optimistic)
{
	struct session_params params = {
	    .command = p->remote,
	    .subsystem =
		p->conf.session.session_type == CLIENT_SESSION_SUBSYSTEM,
	    .tty = p->tty,
	    .attach_later = true,
	    .stdio = session_stdio_own(),
	    .ended = on_session_ended,
	    .arg = p,
	};
	int r = 0;

	sshclient_fill(p->client, &params);
	if (optimistic && waits_for_forwards(p))
		forwards_ask_early(sshclient_forwards(p->client));
	if (p->is_through) {
		r = open_forward(p);
	} else if (p->conf.session.session_type != CLIENT_SESSION_NONE) {
		uses_begin(&p->uses, USE_SESSION);
		r = session_new(&p->session, &params);
	} else {
		uses_begin(&p->uses, USE_NO_SESSION);
	}
	if (r == 0 && optimistic && !waits_for_forwards(p)) {
		forwards_ask_early(sshclient_forwards(p->client));
		if (p->session != NULL)
			session_open_optimistically(p->session);
	}
	/* Nobody who takes over this connection shall open another one. */
	if (r == 0 && params.peer_is_openssh && sharing_is_off(&p->sharing))
		r = channels_global_request(params.channels,
		    "no-more-sessions@openssh.com", NULL, NULL, NULL);
	return r;
}

/* The user will probably be authenticated by the first request: the requests
 * of the session are sent behind it at once. */
static int
on_optimistic(void *arg)
{
	struct program *p = arg;

	/* The channel of a tunnel goes first, for SSH_TUNNEL. */
	if (tunnel_is_wanted(&p->conf))
		return 0;
	if (!p->sharing.keeps && (p->is_through ||
	    p->conf.session.session_type != CLIENT_SESSION_NONE))
		return open_session(p, true);
	forwards_ask_early(sshclient_forwards(p->client));
	return 0;
}

/* Now the standard descriptors may be taken over. */
static void
attach(struct program *p)
{
	if (p->session != NULL)
		session_attach(p->session);
	if (p->forward == NULL)
		return;
	stdio_set_nonblock();
	stdio_forward_attach(p->forward, STDIN_FILENO, STDOUT_FILENO);
}

/* ---- connection sharing ------------------------------------------------- */

static struct mux_passenger
as_passenger(const struct program *p)
{
	int type = p->conf.session.session_type;

	return (struct mux_passenger){
		.target = p->is_through ? &p->through : NULL,
		.none = type == CLIENT_SESSION_NONE && !p->is_through,
		.command = p->remote,
		.subsystem = type == CLIENT_SESSION_SUBSYSTEM,
		.tty = p->tty,
	};
}

static bool
on_passenger_tty(void *arg)
{
	const struct program *p = arg;

	return sshclient_leave_none(p->client);
}

static void
on_master_exit(void *arg)
{
	stop(arg, EXIT_ERROR);
}

/* What has no session, and was there for its passengers, ends with them. */
static void
on_master_stop(void *arg)
{
	struct program *p = arg;

	if (p->uses.count[USE_NO_SESSION] == 0)
		return;
	p->status = EXIT_ERROR;
	uses_end(&p->uses, USE_NO_SESSION);
}

static void
on_no_passenger(void *arg)
{
	struct program *p = arg;

	if (p->lost && (p->session == NULL || p->session_ended))
		stop(p, p->session_ended ? p->status : EXIT_ERROR);
}

/* The process that stays in the foreground has no part in the connection any
 * more. */
static void
on_left_behind(void *arg)
{
	const struct program *p = arg;
	int fd = sshclient_fd(p->client);

	forwards_stop_listening(sshclient_forwards(p->client));
	tunnel_free(p->tunnel);
	fd_close(&fd);
}

/* A master that is kept has no session of its own: that is made by the process
 * which stays in the foreground. */
static int
share(struct program *p)
{
	struct mux_master_params params = {
		.forwards = sshclient_forwards(p->client),
		.uses = &p->uses,
		.arg = p,
		.leave_none = on_passenger_tty,
		.exit = on_master_exit,
		.stop = on_master_stop,
		.empty = on_no_passenger,
	};
	struct mux_passenger ride = as_passenger(p);
	int r;

	sshclient_fill(p->client, &params.session);
	r = sharing_serve(&p->sharing, &params);
	if (r != 0 || !p->sharing.keeps)
		return r;
	ride.has_forwards = true;
	r = sharing_go_to_background(&p->sharing, p->loop, &ride,
	    on_left_behind, p);
	p->tty = false;
	p->status = 0;
	return r;
}

/* Everything is there: now it may be used. */
static int
go_on(struct program *p)
{
	bool kept = p->sharing.keeps;
	int r;

	if (p->gone_on || !p->logged_in ||
	    (!(p->forwards_begun && p->tunnel_begun) &&
		waits_for_forwards(p)))
		return 0;
	p->gone_on = true;
	if ((r = local_command_run(&p->conf)) < 0 || (r = share(p)) != 0)
		return r;
	if (p->sharing.keeps) {
		catch_signals(p);
		return 0;
	}
	if (kept && (r = open_session(p, false)) != 0)
		return r;
	if (p->conf.session.stdin_null ||
	    p->conf.session.fork_after_authentication)
		stdio_to_null(STDIN_FILENO);
	if (p->conf.session.fork_after_authentication)
		go_to_background();
	catch_signals(p);
	attach(p);
	return 0;
}

/* The server has not been asked to run anything: it hears no more of the
 * session. */
static void
give_up(struct program *p)
{
	session_free(p->session);
	p->session = NULL;
	p->gave_up = true;
	stop(p, EXIT_ERROR);
}

static void
on_forwards_begun(void *arg, bool failed)
{
	struct program *p = arg;

	p->forwards_begun = true;
	if (failed || go_on(p) != 0)
		give_up(p);
}

static void
on_tunnel_begun(void *arg, bool failed)
{
	struct program *p = arg;

	p->tunnel_begun = true;
	if (failed || go_on(p) != 0)
		give_up(p);
}

static void
begin_tunnel(struct program *p)
{
	const struct tunnel_params params = {
		.conf = &p->conf,
		.loop = p->loop,
		.channels = sshclient_channels(p->client),
		.uses = &p->uses,
		.distrusted = sshclient_is_distrusted(p->client),
		.arg = p,
		.done = on_tunnel_begun,
	};

	if (tunnel_is_wanted(&p->conf))
		tunnel_new(&p->tunnel, &params);
	else
		p->tunnel_begun = true;
}

static int
on_ready(void *arg)
{
	struct program *p = arg;
	int r = 0;

	forwards_add_configured(sshclient_forwards(p->client),
	    on_forwards_begun, p);
	if (!p->gave_up)
		begin_tunnel(p);
	if (p->gave_up)
		return 0;
	if (p->session == NULL && p->forward == NULL && !p->sharing.keeps)
		r = open_session(p, false);
	p->logged_in = true;
	return r != 0 ? r : go_on(p);
}

/* ---- from beginning to end ---------------------------------------------- */

static int
run(struct program *p)
{
	struct sshclient_params params = {
		.conf = &p->conf,
		.tty = p->tty,
		.uses = &p->uses,
		.arg = p,
		/* For passengers it may have sessions all the same. */
		.lends = !sharing_is_off(&p->sharing) || (!p->is_through &&
		    p->conf.session.session_type != CLIENT_SESSION_NONE),
		.send_optimistic = on_optimistic,
		.ready = on_ready,
		.ended = on_connection_ended,
	};
	int r;

	p->status = EXIT_ERROR;
	p->uses = (struct uses){ .unused = on_unused, .arg = p };
	if (p->conf.host.refuse_connection != NULL) {
		log_error("hpnssh: %s", p->conf.host.refuse_connection);
		return EXIT_ERROR;
	}
	fd_raise_limit(); /* forwards take two descriptors and more each */
	if ((p->loop = loop_new()) == NULL) {
		log_error("%s", err_text(ERR_SYSTEM));
		return EXIT_ERROR;
	}
	params.loop = p->loop;
	if (sshclient_new(&p->client, &params) != 0)
		goto out;
	if ((r = loop_run(p->loop)) != 0) {
		log_error("%s", err_text(r));
		p->status = EXIT_ERROR;
	}
	tty_leave_raw();
out:
	sharing_clear(&p->sharing);
	session_free(p->session);
	stdio_forward_free(p->forward);
	tunnel_free(p->tunnel);
	sshclient_free(p->client);
	loop_free(p->loop);
	if (p->tty && p->session_ended)
		log_info(
		    "Connection to %s closed.", p->conf.load.original_host);
	return p->status;
}

/* With a master that is there already, or alone. */
static int
begin(struct program *p)
{
	struct mux_passenger ride;
	int status;

	if (sharing_init(&p->sharing, &p->conf) != 0)
		return EXIT_ERROR;
	ride = as_passenger(p);
	if (!sharing_ride(&p->sharing, &ride, &status))
		return run(p);
	sharing_clear(&p->sharing);
	return status;
}

/* Was hpnssh started with standard output closed? Then 1 becomes a descriptor
 * to which writing fails, as it does on a closed one, so that no other file
 * gets the number. */
static void
guard_closed_output(void)
{
	if (fcntl(STDOUT_FILENO, F_GETFD) != -1 ||
	    fcntl(STDIN_FILENO, F_GETFD) == -1)
		return;
	(void)!open("/dev/null", O_RDONLY);
}

extern char **environ;

int
main(int argc, char **argv)
{
	static struct program p = { .tty_wish = -1 };
	int status = 0;

	setproctitle_init(argc, argv, environ);
	guard_closed_output();
	fd_sanitise_stdio();
	crypto_library_start();
	signal(SIGPIPE, SIG_IGN);
	log_init("hpnssh", LOG_LVL_INFO);
	client_conf_init(&p.conf);
	parse_arguments(&p, argc, argv);
	load_configuration(&p);
	if (p.only_dump) {
		dump_configuration(&p);
	} else if (p.flags.control_command != NULL) {
		start_log(&p);
		status = sharing_command(&p.conf, p.flags.control_command);
	} else {
		start_log(&p);
		choose_remote(&p);
		choose_tty(&p);
		status = begin(&p);
	}
	free(p.command);
	free(p.remote);
	destination_clear(&p.dest);
	forward_endpoint_clear(&p.through);
	client_conf_clear(&p.conf);
	return status;
}
