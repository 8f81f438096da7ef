/* SPDX-License-Identifier: ISC */
/*
 * hpnsync: makes a directory the same as another one, here or on another host.
 * The command line is read in client/sync/, trees are compared in xfer/sync/,
 * and xfer/transfer/ moves the data.
 */
#include "config.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/called.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/help.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "cipher.h"
#include "client/report/report.h"
#include "client/sync/sync-again.h"
#include "client/syncopts/sync-args.h"
#include "client/sync/sync-job.h"
#include "client/sync/sync-run.h"
#include "crypto/library.h"
#include "xfer/progress.h"
#include "xfer/target.h"

static struct sync_run run = { .out = { .log_fd = -1 } };

_Noreturn static void
usage(const char *text)
{
	fprintf(stderr, "%s: %s (%s --help)\n", called_name("hpnsync"), text,
	    called_name("hpnsync"));
	exit(SYNC_EXIT_USAGE);
}

_Noreturn static void
refuse(const char *option, const char *with)
{
	fprintf(stderr, "%s: %s is not here with %s: what a link leads to has "
	    "another name, too, and would be deleted by it\n",
	    called_name("hpnsync"), option, with);
	exit(SYNC_EXIT_REFUSED);
}

/* True if the name is that of an rsync daemon, rsync://host/ or host::module,
 * which hpnsync cannot talk to. */
static bool
is_daemon(const char *name)
{
	const char *colon = strchr(name, ':');

	return str_has_prefix(name, "rsync://") ||
	    (colon != NULL && colon[1] == ':' &&
		memchr(name, '/', (size_t)(colon - name)) == NULL);
}

static void
read_name(struct xfer_target *t, const char *name)
{
	if (is_daemon(name))
		usage("an rsync daemon is not spoken to: rsync does that");
	if (*name == '\0' || xfer_target_parse(t, name) < 0)
		usage("a name is not a path, nor [user@]host:path");
}

static void
read_names(char **names, int n)
{
	if (run.args.check != NULL && n != 1)
		usage("--check takes one tree");
	if (run.args.extra && run.args.check == NULL)
		usage("--extra goes with --check");
	if (run.args.check != NULL && run.args.json)
		usage("--check writes lines for people: not with --json");
	if (run.args.report.path != NULL && run.args.check != NULL)
		usage("--report is about a copy: not with --check");
	if (run.args.report.path != NULL && run.args.opts.dry_run)
		usage("--report is about a copy: not with --dry-run");
	if (run.args.receipt != NULL &&
	    run.args.given.direct == SYNC_DIRECT_NO)
		usage("--receipt is of copies with --direct");
	if (run.args.receipt != NULL && run.args.opts.dry_run)
		usage("--receipt is of a copy: not with --dry-run");
	if (run.args.check == NULL && n < 2)
		usage("a source and a target are needed; usage: [option ...] "
		    "source ... target");
	run.n_sources = n - 1;
	run.sources = xcalloc((size_t)n, sizeof *run.sources);
	for (int i = 0; i < n - 1; i++)
		read_name(&run.sources[i], names[i]);
	read_name(&run.target, names[n - 1]);
	for (int i = 1; i < n - 1; i++)
		if (!xfer_target_same_host(&run.sources[0], &run.sources[i]))
			usage("all sources have to be on one host");
	if (n == 1) {
		run.both_here = !run.target.remote;
		run.up = true;
		return;
	}
	if (run.sources[0].remote && run.target.remote &&
	    run.args.given.direct == SYNC_DIRECT_NO)
		usage("source and target cannot both be on other hosts "
		    "without --direct");
	if ((!run.sources[0].remote || !run.target.remote) &&
	    run.args.given.direct != SYNC_DIRECT_NO)
		usage("--direct is of copies from host to host");
	run.both_here = !run.sources[0].remote && !run.target.remote;
	run.up = !run.sources[0].remote || run.target.remote;
}

/* Refuses options that cannot be carried out between these ends. */
static void
check_ends(void)
{
	const struct sync_opts *o = &run.args.opts;

	if (o->keep_dirlinks && o->delete)
		refuse("-K", "--delete");
	sync_direct_check(&run);
	if (run.both_here && run.args.sftp_server != NULL)
		usage("--sftp-server is for a host, and all is on this one");
}

static void
start_progress(void)
{
	struct sync_args *a = &run.args;

	a->xfer.progress = progress_new(STDOUT_FILENO);
	if (a->xfer.progress == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	if (a->json)
		a->style = PROGRESS_JSON;
	if (!a->progress || a->json || a->given.style)
		progress_set_style(a->xfer.progress, a->style);
	if (a->quiet > 0)
		progress_set_style(a->xfer.progress, PROGRESS_NONE);
	if (!sync_again_is())
		progress_begin_events(a->xfer.progress, clock_ms());
}

int
main(int argc, char **argv)
{
	enum sync_exit status;
	char **names;
	int n;

	fd_sanitise_stdio();
	setlocale(LC_CTYPE, "");
	crypto_library_start();
	cipher_use_wide_gcm();
	signal(SIGPIPE, SIG_IGN);
	log_init(called_as(argc > 0 ? argv[0] : NULL, "hpnsync"),
	    LOG_LVL_INFO);
	log_to_stderr();
	help_answer(&sync_help, argc, argv, crypto_library_version());
	sync_again_begin(argc, argv);
	names = sync_args_read(&run.args, argc, argv, &n);
	sync_job_read(&run, argc, argv, &names, &n);
	read_names(names, n);
	check_ends();
	sync_job_begin(&run);
	if ((run.loop = loop_new()) == NULL)
		fatal("%s", err_text(ERR_SYSTEM));
	start_progress();
	sync_report_begin(&run, names, n);
	free(names);
	status = sync_run(&run);
	progress_end_events(run.args.xfer.progress, clock_ms());
	status = sync_report_end(&run, status);
	report_free(run.out.report);
	progress_free(run.args.xfer.progress);
	for (int i = 0; i < run.n_sources; i++)
		xfer_target_clear(&run.sources[i]);
	xfer_target_clear(&run.target);
	free(run.sources);
	free(run.target_path);
	loop_free(run.loop);
	sync_args_clear(&run.args);
	return status;
}
