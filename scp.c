/* SPDX-License-Identifier: ISC */
/*
 * hpnscp: copies files between hosts, by SFTP. This file reads the command
 * line; client/copy/scp-copy.c decides what is copied where and how, and xfer/
 * copies it.
 */
#include "config.h"

#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/called.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/flags-getopt.h"
#include "base/help.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "cipher.h"
#include "client/common/ssh-command.h"
#include "client/copy/direct-wire.h"
#include "client/copy/scp-copy.h"
#include "client/copy/scp-hosts.h"
#include "client/copy/scp-manifest.h"
#include "client/copy/scp-run.h"
#include "client/direct/direct-end.h"
#include "client/report/report-command.h"
#include "client/report/report.h"
#include "conf/client-conf.h"
#include "crypto/library.h"
#include "xfer/progress.h"
#include "xfer/target.h"

enum { EXIT_OLD_PROTOCOL = 255 };

static struct scp scp = { .xfer = { .check_space = true,
	.space_by = "--no-space-check",
	.resume_by = "-Z" } };

/* Options that are used in this file only. */
static struct {
	/* PROGRESS_TTY: only if standard output is a terminal */
	enum progress_style style;
	bool any_name;		   /* -T */
	bool is_direct_end;	   /* --direct-end */
	bool is_sink, is_source;   /* -t, -f: the other end of a legacy copy */
	const char *report;	   /* --report; NULL: none */
	struct strlist command;	   /* what the report says of the options */
} given = { .style = PROGRESS_TTY };

_Noreturn static void
usage(void)
{
	fprintf(stderr,
	    "usage: %s [-346ABCOpqRrsTvZz] [-c cipher] "
	    "[-D sftp_server_path]\n"
	    "              [-F ssh_config] [-i identity_file] "
	    "[-J destination]\n"
	    "              [-j connections] [-l limit] [-o ssh_option] "
	    "[-P port]\n"
	    "              [-S program] [-X sftp_option] [--direct[=pull]] "
	    "[--fsync]\n"
	    "              [--hard-links] [--in-place] [--json] [--links] "
	    "[--manifest=file]\n"
	    "              [--no-space-check] "
	    "[--progress=tty|plain|none] [--report=file]\n"
	    "              [--retry[=times]] "
	    "[--sftp-server=command] [--sparse] [--verify]\n"
	    "              source ... target\n"
	    "       %s --help\n", called_name("hpnscp"), called_name("hpnscp"));
	exit(1);
}

/* Tells the user, about an unknown option, if hpnsync has it. */
static void
tell_who_has(const char *option)
{
	static const char *const names[] = { "--delete", "--dry-run",
		"--exclude", "--files-from", "--include", "--update" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_has_prefix(option, names[i]))
			fprintf(stderr, "%s: hpnsync has that option: "
			    "hpnsync -a %s ...\n",
			    called_name("hpnscp"), names[i]);
}

_Noreturn static void
die(const char *what, const char *text)
{
	scp_die(&scp, what, text);
}

static int64_t
number(const char *text, int64_t min, int64_t max, const char *what)
{
	int64_t n;

	if (str_to_int(text, min, max, &n) < 0)
		die(text, what);
	return n;
}

static void
sftp_option(const char *text)
{
	const char *value = text;
	int r = ERR_SYNTAX;

	if (str_has_prefix(text, "nrequests="))
		r = copy_flag_requests(&scp.xfer, value = text + 10);
	else if (str_has_prefix(text, "buffer="))
		r = copy_flag_block(&scp.xfer, value = text + 7);
	if (r != 0)
		scp_refuse(&scp, value, "bad -X option");
}

/* Values of options that have no letter. */
enum {
	OPT_DIRECT = 256,
	OPT_DIRECT_END,
	OPT_FSYNC,
	OPT_HARD_LINKS,
	OPT_IN_PLACE,
	OPT_JSON,
	OPT_LINKS,
	OPT_NO_SPACE_CHECK,
	OPT_PROGRESS,
	OPT_RECEIPT,
	OPT_MANIFEST,
	OPT_REPORT,
	OPT_RETRY,
	OPT_SFTP_SERVER,
	OPT_SPARSE,
	OPT_VERIFY,
};

static const struct option long_options[] = {
	{ "direct", optional_argument, NULL, OPT_DIRECT },
	{ "direct-end", no_argument, NULL, OPT_DIRECT_END },
	{ "fsync", no_argument, NULL, OPT_FSYNC },
	{ "hard-links", no_argument, NULL, OPT_HARD_LINKS },
	{ "in-place", no_argument, NULL, OPT_IN_PLACE },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "links", no_argument, NULL, OPT_LINKS },
	{ "manifest", required_argument, NULL, OPT_MANIFEST },
	{ "no-space-check", no_argument, NULL, OPT_NO_SPACE_CHECK },
	{ "progress", required_argument, NULL, OPT_PROGRESS },
	{ "receipt", required_argument, NULL, OPT_RECEIPT },
	{ "report", required_argument, NULL, OPT_REPORT },
	{ "retry", optional_argument, NULL, OPT_RETRY },
	{ "sftp-server", required_argument, NULL, OPT_SFTP_SERVER },
	{ "sparse", no_argument, NULL, OPT_SPARSE },
	{ "verify", no_argument, NULL, OPT_VERIFY },
	{ NULL, 0, NULL, 0 },
};

static void
transfer_option(int opt, const char *arg)
{
	scp.engine_only = true;
	switch (opt) {
	case OPT_FSYNC:
		scp.xfer.fsync = true;
		break;
	case OPT_HARD_LINKS:
		scp.xfer.hard_links = true;
		break;
	case OPT_IN_PLACE:
		scp.xfer.in_place = true;
		break;
	case OPT_LINKS:
		scp.xfer.links = true;
		break;
	case OPT_MANIFEST:
		scp.manifest.path = arg;
		break;
	case OPT_NO_SPACE_CHECK:
		scp.xfer.check_space = false;
		break;
	case OPT_SFTP_SERVER:
		scp.server = arg;
		break;
	case OPT_SPARSE:
		scp.xfer.sparse = true;
		break;
	case OPT_RETRY:
		scp.given.retry = true;
		scp.xfer.retries = arg == NULL ? CLIENT_COPY_RETRIES :
		    (unsigned)number(arg, 0, 1000000, "bad number of times");
		break;
	case OPT_VERIFY:
		scp.xfer.verify = true;
		break;
	case 'j':
		scp.given.connections = true;
		scp.xfer.connections_max = strcmp(arg, "auto") == 0 ? 0 :
		    (unsigned)number(arg, 1, CLIENT_COPY_CONNECTIONS_MAX,
			"bad number of connections");
		break;
	}
}

static enum progress_style
progress_option(const char *arg)
{
	if (strcmp(arg, "plain") == 0)
		return PROGRESS_PLAIN;
	if (strcmp(arg, "none") == 0)
		return PROGRESS_NONE;
	if (strcmp(arg, "tty") != 0)
		die("--progress", "is tty, plain or none");
	if (!isatty(STDOUT_FILENO))
		die("--progress=tty", "standard output is not a terminal");
	return PROGRESS_TTY;
}

static void
one_option(int opt, const char *arg)
{
	const char *why;
	int r = copy_flag_take(&scp.flags, opt, arg, &why);

	if (r < 0 && opt == 'P')
		scp_refuse(&scp, arg, why);
	if (r < 0)
		die(arg, why);
	if (r > 0)
		return;
	switch (opt) {
	case '1':
		fprintf(stderr, "%s: SSH protocol v.1 is no longer "
				"supported\n", called_name("hpnscp"));
		exit(EXIT_OLD_PROTOCOL);
	case '2': /* SSH protocol 2 is the only one */
		break;
	case 'B':
		copy_flags_set_batch(&scp.flags);
		break;
	case 'p':
		scp.preserve = true;
		break;
	case 'r':
		scp.recursive = true;
		break;
	case 'X':
		sftp_option(arg);
		break;
	case 'z':
		scp.clear = true;
		break;
	case '3':
		scp.direct = false;
		break;
	case 'R':
		scp.direct = true;
		break;
	case 'O':
	case 's':
		scp.use_legacy = opt == 'O';
		break;
	case 'T': /* for legacy copies only */
		given.any_name = true;
		break;
	case 'Z':
		scp.resume = true;
		break;
	case 'd':
		scp.need_dir = true;
		break;
	case 't':
		given.is_sink = true;
		break;
	case 'f':
		given.is_source = true;
		break;
	case 'j':
	case OPT_FSYNC:
	case OPT_HARD_LINKS:
	case OPT_IN_PLACE:
	case OPT_LINKS:
	case OPT_MANIFEST:
	case OPT_NO_SPACE_CHECK:
	case OPT_RETRY:
	case OPT_SFTP_SERVER:
	case OPT_SPARSE:
	case OPT_VERIFY:
		transfer_option(opt, arg);
		break;
	case OPT_DIRECT:
		scp.hosts_pull = arg != NULL && strcmp(arg, "pull") == 0;
		if (arg != NULL && strcmp(arg, "push") != 0 && !scp.hosts_pull)
			die("--direct", "is push or pull");
		scp.hosts_copy = true;
		break;
	case OPT_DIRECT_END:
		given.is_direct_end = true;
		break;
	case OPT_RECEIPT:
		scp.receipt = arg;
		break;
	case OPT_REPORT:
		given.report = arg;
		break;
	case OPT_JSON:
		given.style = PROGRESS_JSON;
		break;
	case OPT_PROGRESS:
		given.style = progress_option(arg);
		break;
	default:
		usage();
	}
}

static struct legacy_opts
legacy_options(void)
{
	return (struct legacy_opts){
		.ssh = scp.flags.ssh_program != NULL ? scp.flags.ssh_program :
						       ssh_command_find(),
		.ssh_args = &scp.flags.ssh,
		.port = scp.flags.port,
		.recursive = scp.recursive,
		.preserve = scp.preserve,
		.verbose = scp.flags.verbose,
		.resume = scp.resume,
		.any_name = given.any_name,
		.need_dir = scp.need_dir,
		.rate_bytes = scp.flags.rate_bytes,
	};
}

/* Refuses options that contradict each other, and sets fields that follow from
 * several options. */
static void
complete_options(void)
{
	bool other_means = scp.use_legacy || scp.direct;

	if (scp.engine_only && other_means)
		die("-j, --fsync, --hard-links, --in-place, --links, "
		    "--manifest, --retry, --sftp-server, --sparse, --verify",
		    "of use with SFTP only");
	if (given.report != NULL && other_means)
		die("--report", "of use with SFTP only");
	if (scp.clear && other_means)
		die("-z", "of use with SFTP only");
	if (scp.hosts_copy && (scp.given.connections || scp.given.retry ||
				  scp.resume || scp.clear ||
				  scp.xfer.in_place || scp.server != NULL ||
				  scp.manifest.path != NULL ||
				  given.report != NULL))
		die("--direct", "not together with -j, -Z, -z, --in-place, "
		    "--manifest, --report, --retry, --sftp-server");
	if (scp.receipt != NULL && !scp.hosts_copy)
		die("--receipt", "is of copies with --direct");
	if (scp.hosts_copy && (other_means || scp.flags.sftp_server != NULL ||
				  scp.flags.ssh_program != NULL))
		die("--direct", "not together with -D, -O, -R or -S");
	/* Nobody sees a copy stand still that does not come by here: a host
	 * that is silent is given up. What the user has given comes before. */
	if (scp.hosts_copy)
		xstrlist_add(&scp.flags.ssh, "-oServerAliveInterval=15");
	if (scp.use_legacy && scp.flags.sftp_server != NULL)
		die("-D", "of use with SFTP only");
	if (scp.server != NULL && scp.flags.sftp_server != NULL)
		die("--sftp-server", "for a host, and with -D there is none");
	scp.xfer.rate_bytes = scp.flags.rate_bytes;
	scp.xfer.recursive = scp.recursive;
	scp.xfer.preserve = scp.preserve;
	/* A program that is called scp writes nothing that OpenSSH's scp does
	 * not. */
	scp.xfer.tell_extras = str_has_prefix(called_name("hpnscp"), "hpn");
	scp.xfer.explain = scp.flags.verbose;
	scp.xfer.resume = scp.resume;
	scp.xfer.report = scp_report;
	scp.xfer.note = scp_note;
	scp.xfer.report_arg = &scp;
}

/* The hook of fatal(): the exit status of scp is 1, whatever ends the
 * program. */
static void
on_fatal(void)
{
	progress_error(scp.xfer.progress, "program", "hpnscp", "fatal error");
	scp_exit(&scp, 1);
}

static void
on_progress_signal(void *arg, int signo)
{
	(void)arg;
	(void)signo;
	progress_request(scp.xfer.progress);
}

static void
start_progress(void)
{
	scp.xfer.progress = progress_new(STDOUT_FILENO);
	if (scp.xfer.progress == NULL)
		die("memory", err_text(ERR_NOMEM));
	/* For PROGRESS_TTY, progress_new() has chosen by standard output. */
	if (given.style != PROGRESS_TTY)
		progress_set_style(scp.xfer.progress, given.style);
	if (scp.flags.quiet)
		progress_set_style(scp.xfer.progress, PROGRESS_NONE);
	scp.legacy.progress = scp.xfer.progress;
	progress_begin_events(scp.xfer.progress, clock_ms());
	if (loop_on_signal(scp.loop, SIGUSR1, on_progress_signal, NULL) < 0)
		fatal("%s", err_text(ERR_SYSTEM));
#ifdef SIGINFO
	if (loop_on_signal(scp.loop, SIGINFO, on_progress_signal, NULL) < 0)
		fatal("%s", err_text(ERR_SYSTEM));
#endif
}

/* Notes an option for the report. */
static void
note_option(int opt, const char *arg)
{
	const struct option *o = long_options;
	char name[32];

	while (o->name != NULL && o->val != opt)
		o++;
	if (o->name != NULL)
		snprintf(name, sizeof name, "--%s", o->name);
	else
		snprintf(name, sizeof name, "-%c", opt);
	report_command_option(&given.command, name, arg);
}

static void
begin_report(char **names, int n)
{
	size_t left_out;

	if (given.report == NULL)
		return;
	left_out = report_command_names(&given.command, names, (size_t)n);
	if (report_new(&scp.report, "hpnscp", given.report, &given.command,
		left_out) != 0)
		scp_refuse(&scp, given.report, strerror(errno));
	report_watch(scp.report, scp.xfer.progress);
}

static void
copy(char **names, int n)
{
	struct xfer_target *targets = xcalloc((size_t)n, sizeof *targets);

	for (int i = 0; i < n; i++)
		if (xfer_target_parse(&targets[i], names[i]) < 0)
			die(names[i], "not a path, nor [user@]host:path");
	for (int i = 0; scp.hosts_copy && i < n; i++)
		if (!targets[i].remote)
			die(names[i],
			    "--direct is for copies from host to host");
	for (int i = 1; scp.receipt != NULL && i < n - 1; i++)
		if (!xfer_target_same_host(&targets[0], &targets[i]))
			die("--receipt", "is of copies from one host");
	scp_copy_all(&scp, targets, n - 1, &targets[n - 1]);
	scp_hosts_close(&scp);
	for (int i = 0; i < n; i++)
		xfer_target_clear(&targets[i]);
	free(targets);
}

/* --direct-end: copies as the client says, the hpnscp that the user has
 * started. */
static int
serve_direct(void)
{
	struct direct_end *e;
	const struct direct_job *job;
	struct xfer_target *targets;
	int n, status;

	given.style = PROGRESS_NONE;
	complete_options();
	if ((scp.loop = loop_new()) == NULL)
		fatal("%s", err_text(ERR_SYSTEM));
	start_progress();
	direct_end_begin(&e, &scp, &targets, &n);
	job = direct_end_job(e);
	if ((job->flags & DIRECT_LIST) != 0)
		direct_list_copy(&scp, job, &targets[0]);
	else
		scp_copy_all(&scp, targets, n, &targets[n]);
	scp_hosts_close(&scp);
	direct_end_tell(e);
	status = scp_end_events(&scp, scp.failed || scp.source_missing);
	direct_end_free(e);
	progress_free(scp.xfer.progress);
	loop_free(scp.loop);
	copy_flags_clear(&scp.flags);
	return status;
}

int
main(int argc, char **argv)
{
	int opt;

	fd_sanitise_stdio();
	setlocale(LC_CTYPE, "");
	crypto_library_start();
	cipher_use_wide_gcm();
	signal(SIGPIPE, SIG_IGN);
	log_init(called_as(argc > 0 ? argv[0] : NULL, "hpnscp"),
	    LOG_LVL_INFO);
	log_to_stderr();
	help_answer(&scp_help, argc, argv, crypto_library_version());
	fatal_set_hook(on_fatal);
	scp_catch_signals();
	while ((opt = flags_getopt_long(argc, argv,
		    COPY_FLAGS "123BORTX:Zdfj:prstz",
		    long_options)) != -1) {
		if (opt == '?')
			tell_who_has(argv[optind - 1]);
		else
			note_option(opt, optarg);
		one_option(opt, optarg);
	}
	argc -= optind;
	argv += optind;
	if (scp.flags.verbose)
		log_set_level(LOG_LVL_DEBUG1);
	scp.need_dir = scp.need_dir || argc > 2;
	scp.legacy = legacy_options();
	if (given.is_direct_end)
		return serve_direct();
	if (given.is_sink || given.is_source)
		return legacy_peer(given.is_sink, argv, argc, &scp.legacy) ?
		    0 : 1;
	if (argc < 2)
		usage();
	complete_options();
	if ((scp.loop = loop_new()) == NULL)
		fatal("%s", err_text(ERR_SYSTEM));
	start_progress();
	begin_report(argv, argc);
	scp_manifest_begin(&scp);
	copy(argv, argc);
	scp_manifest_end(&scp, true);
	scp_tell_sums(&scp);
	opt = scp_end_events(&scp, scp.source_missing ? SCP_EXIT_FATAL :
		scp.failed ? 1 : 0);
	report_free(scp.report);
	strlist_clear(&given.command);
	progress_free(scp.xfer.progress);
	loop_free(scp.loop);
	copy_flags_clear(&scp.flags);
	return opt;
}
