/* SPDX-License-Identifier: ISC */
#include "client/copy/direct.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/mem.h"
#include "client/copy/direct-grant.h"
#include "client/copy/direct-places.h"
#include "client/copy/direct-program.h"
#include "client/copy/direct-progress.h"
#include "client/copy/direct-receipt.h"
#include "client/copy/direct-sums.h"
#include "client/copy/direct-wire.h"
#include "client/copy/scp-asks.h"
#include "client/sshclient.h"
#include "xfer/progress.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/sftp/sftp-rights.h"

enum {
	STEP_MS = 1000,
	EXIT_UNREACHABLE = 255, /* exit status of ssh and of hpnscp */
};

struct direct {
	struct scp *scp;
	struct scp_host *giver; /* gives the grant: the target's host, or with
				 * `pull` the source's */
	bool pull;
	const char *scope; /* the grant's directory */
	struct direct_places places;
	struct direct_program program;
	struct direct_grant grant;
	struct direct_sums *sums; /* --verify, --receipt; or NULL */
	struct direct_progress progress;
};

/* ---- the program and the grant ------------------------------------------ */

static void
take_told(void *arg, struct span message)
{
	struct direct *d = arg;

	if (d->sums != NULL && message.len > 0 && message.p[0] == DIRECT_SUM)
		direct_sums_take(d->sums, message);
	else
		direct_progress_take(&d->progress, message);
}

static void
turn(void *arg)
{
	struct direct *d = arg;

	(void)scp_host_result(d->scp,
	    sftp_step(d->giver->sftp, false, STEP_MS));
	if (d->grant.is)
		direct_progress_tick(&d->progress);
}

/* Starts the program, and waits for its hello. */
static void
start_program(struct direct *d, const struct xfer_target *at)
{
	d->program.loop = d->scp->loop;
	d->program.take = take_told;
	d->program.arg = d->grant.arg = d;
	d->grant.turn = turn;
	direct_program_start(&d->program, &d->scp->flags.ssh, at,
	    d->scp->flags.port);
	while (!direct_program_hello(&d->program) && !d->program.ended)
		turn(d);
}

static void
wait_for_end(struct direct *d)
{
	while (!d->program.ended)
		turn(d);
}

/* Asks for the grant. Returns NULL, or the reason (static) why there is none.
 * The new directory belongs to this copy alone, so the owner of the key gets
 * every right there that a copy can need, but none that TransferGrants put
 * would not allow. Another one is only read. */
static const char *
get_grant(struct direct *d)
{
	const uint32_t rights = d->pull ? SFTP_MAY_LIST | SFTP_MAY_READ :
	    SFTP_MAY_LIST | SFTP_MAY_MAKE | SFTP_MAY_CHANGE | SFTP_MAY_LINK |
	    SFTP_MAY_DELETE | SFTP_MAY_MODE | SFTP_MAY_TIMES;
	int r;

	d->grant.remote = d->giver->remote;
	r = direct_grant_get(&d->grant, d->program.key, d->scope, rights,
	    DIRECT_GRANT_CONNECTIONS);
	if (r == 0)
		return NULL;
	if (r == ERR_UNSUPPORTED)
		return d->pull ? "the source's host is not an hpnsshd that "
				 "this process has logged in to" :
				 "the target's host is not an hpnsshd that "
				 "this process has logged in to";
	return d->pull ? "the source's host gives no grant (TransferGrants)" :
			 "the target's host gives no grant (TransferGrants)";
}

static bool
take_back(struct direct *d)
{
	bool ended = direct_grant_end(&d->grant);

	if (!ended)
		scp_report(d->scp, NULL, d->scope, d->pull ?
			"the target's host may still read there" :
			"the source's host may still write there");
	return ended;
}

static uint32_t
flags_of(const struct direct *d)
{
	const struct scp *scp = d->scp;
	const struct xfer_opts *x = &scp->xfer;

	return (d->sums != NULL ? DIRECT_SUMS : 0U) |
	    (d->pull ? DIRECT_PULL : 0U) |
	    (progress_style_of(x->progress) == PROGRESS_JSON ?
		DIRECT_FILES : 0U) |
	    (scp->recursive ? DIRECT_RECURSIVE : 0U) |
	    (x->preserve ? DIRECT_PRESERVE : 0U) |
	    (scp->flags.verbose ? DIRECT_VERBOSE : 0U) |
	    (x->fsync ? DIRECT_FSYNC : 0U) | (x->sparse ? DIRECT_SPARSE : 0U) |
	    (x->links ? DIRECT_LINKS : 0U) |
	    (x->hard_links ? DIRECT_HARD_LINKS : 0U) |
	    (x->check_space ? 0U : DIRECT_NO_SPACE_CHECK);
}

/* sources: as in struct direct_job; is taken over. */
static int
send_job(struct direct *d, struct strlist *sources)
{
	struct direct_job job = { .flags = flags_of(d),
		.rate_bytes = d->scp->xfer.rate_bytes };
	int r;

	direct_grant_address(&d->grant, &job);
	job.sources = *sources;
	*sources = (struct strlist){ NULL, 0 };
	r = direct_program_send(&d->program, &job);
	job.host = job.user = NULL; /* borrowed */
	direct_job_clear(&job);
	return r;
}

/* ---- all of it ---------------------------------------------------------- */

/* True if a source has no name of its own in its path, such as "." or "~user":
 * only its host knows the name. */
static bool
is_unnamed(const struct xfer_target *sources, int n)
{
	bool unnamed = false;

	for (int i = 0; i < n && !unnamed; i++) {
		char *name = direct_name_of(sources[i].path);

		unnamed = strcmp(name, ".") == 0 || name[0] == '~';
		free(name);
	}
	return unnamed;
}

/* True if the sources' paths do not fit into one job. */
static bool
is_too_much(const struct xfer_target *sources, int n)
{
	size_t bytes = 0;

	for (int i = 0; i < n; i++)
		bytes += strlen(sources[i].path) + sizeof(uint32_t);
	return n > DIRECT_SOURCES_MAX || bytes > DIRECT_MESSAGE_MAX / 2;
}

/* Ends the program on ^C. The new directory stays on the target's host, as any
 * copy keeps the files that it has got. */
static void
on_interrupt(void *arg, int signo)
{
	struct direct *d = arg;
	uint8_t digest[DIRECT_SUM_LEN];

	(void)signo;
	(void)direct_sums_end(d->sums, false, digest);
	if (d->program.child != 0)
		(void)kill(d->program.child, SIGTERM);
	if (d->pull)
		scp_report(d->scp, NULL, d->scope, "interrupted");
	else
		scp_report(d->scp, NULL, d->places.outer,
		    "interrupted: is left on the target's host");
	scp_exit(d->scp, 1);
}

static void
catch_interrupts(struct direct *d)
{
	static const int signals[] = { SIGHUP, SIGINT, SIGTERM };

	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		loop_on_signal_if_wanted(d->scp->loop, signals[i],
		    on_interrupt, d);
}

/* teller: the end where the program has run. */
static bool
check_sums(struct direct *d, const struct xfer_target *teller)
{
	const struct direct_parties who = direct_parties_of(d->giver->remote,
	    teller);

	return direct_sums_check(d->sums, &d->places, &who, d->program.key);
}

/* --verify and --receipt ask the host that gives the grant for digests of its
 * files, and for all names. */
static bool
has_digests(const struct direct *d)
{
	return scp_host_has(d->scp, d->giver, SFTP_EXT_CHECK_FILE) &&
	    scp_host_has(d->scp, d->giver, SFTP_EXT_WALK);
}

/* Copies. Returns NULL if it was done, also if some files failed, which was
 * reported; or the reason (static) why --direct cannot be used here. */
static const char *
copy(struct direct *d, const struct xfer_target *sources, int n)
{
	struct strlist paths = { NULL, 0 };
	const char *why;
	int status;

	if (d->sums != NULL && !has_digests(d))
		return "the target's server has no digests";
	if (is_unnamed(sources, n))
		return "a source has no name of its own";
	if (is_too_much(sources, n))
		return "there are too many sources";
	if ((why = direct_places_look(&d->places, sources, n)) != NULL)
		return why;
	start_program(d, &sources[0]);
	if (d->program.key.len == 0)
		return "hpnscp does not run on the source's host";
	if (!direct_places_make(&d->places))
		return NULL;
	d->scope = d->places.inner;
	catch_interrupts(d);
	if ((why = get_grant(d)) != NULL)
		return why;
	for (int i = 0; i < n; i++)
		xstrlist_add(&paths, sources[i].path);
	if (send_job(d, &paths) == 0)
		wait_for_end(d);
	status = direct_program_end(&d->program);
	direct_progress_end(&d->progress);
	if (!take_back(d))
		return NULL;
	if (status == EXIT_UNREACHABLE &&
	    direct_places_remove_empty(&d->places))
		return "the source's host has no connection to the target's";
	if (status != 0)
		d->scp->failed = true;
	if (d->sums != NULL && !check_sums(d, &sources[0]))
		return NULL;
	direct_places_move(&d->places, sources, n);
	return NULL;
}

/* Tells which way the copy went; why: the reason why it was not from host to
 * host. NULL: it was. */
static void
tell_way(struct scp *scp, const char *why, const char *more)
{
	char *text;

	if (why == NULL && scp->failed)
		return;
	if (why == NULL)
		xasprintf(&text, "the copy went from host to host%s", more);
	else
		xasprintf(&text, "the copy goes through this machine: %s",
		    why);
	scp_note(scp, NULL, text);
	free(text);
}

bool
direct_is_summed(const struct scp *scp)
{
	return scp->xfer.verify || scp->receipt != NULL;
}

/* Ends what direct_copy() and direct_pull() have begun. Returns their
 * result. */
static bool
finish(struct direct *d, const char *why)
{
	const bool summed = d->sums != NULL;
	uint64_t files = summed ? direct_sums_files(d->sums) : 0;
	uint8_t digest[DIRECT_SUM_LEN];

	direct_program_clear(&d->program);
	direct_places_end(&d->places);
	scp_catch_signals();
	if (direct_sums_end(d->sums, why == NULL, digest))
		direct_grant_receipt(&d->grant, digest);
	/* What goes through this machine has neither. */
	if (why != NULL && summed)
		scp_die(d->scp, "--direct with --verify or --receipt", why);
	tell_way(d->scp, why, !summed ? "" : files > 0 ?
		", and is the same there" : "; there was no file in it");
	return why == NULL;
}

bool
direct_copy(struct scp *scp, const struct xfer_target *sources, int n,
    struct scp_host *to, const char *dir, bool is_dir)
{
	struct direct d = { .scp = scp, .giver = to,
		.program = { .in = -1, .out = -1 },
		.progress = { .p = scp->xfer.progress },
		.places = { .scp = scp, .to = to, .dir = dir,
		    .is_dir = is_dir } };

	if (direct_is_summed(scp))
		d.sums = direct_sums_new(scp, scp->receipt, false);
	return finish(&d, copy(&d, sources, n));
}

/* ---- the other way round ------------------------------------------------- */

/* The directory that is to be fetched, without links. The caller frees it;
 * NULL: it is none, or cannot be looked at. */
static char *
real_directory(struct direct *d, const char *path)
{
	struct scp_asks asks = { .n = 0 };
	char *real = NULL;

	(void)scp_asks_add(&asks, SCP_ASK_STAT, path, NULL);
	(void)scp_asks_add(&asks, SCP_ASK_REALPATH, path, NULL);
	scp_asks_run(&asks, d->scp, d->giver);
	if (scp_ask_found(&asks.v[0], S_IFDIR) && asks.v[1].status == 0)
		real = xstrdup(asks.v[1].name);
	scp_asks_clear(&asks);
	return real;
}

static const char *
pull(struct direct *d, const char *name, const struct xfer_target *target)
{
	struct strlist paths = { NULL, 0 };
	const char *why;
	int status;

	if (d->sums != NULL && !has_digests(d))
		return "the source's server has no digests";
	start_program(d, target);
	if (d->program.key.len == 0)
		return "hpnscp does not run on the target's host";
	catch_interrupts(d);
	if ((why = get_grant(d)) != NULL)
		return why;
	xstrlist_add(&paths, target->path[0] != '\0' ? target->path : ".");
	xstrlist_add(&paths, name);
	if (send_job(d, &paths) == 0)
		wait_for_end(d);
	status = direct_program_end(&d->program);
	direct_progress_end(&d->progress);
	(void)take_back(d);
	if (status == DIRECT_EXIT_THERE)
		return "the target has something of that name";
	if (status == EXIT_UNREACHABLE && !d->progress.begun)
		return "the target's host has no connection to the source's";
	d->scp->failed |= status != 0;
	/* The files that the target's host has made stay where they are. Those
	 * that differ from the source's are reported. */
	if (d->sums != NULL)
		(void)check_sums(d, target);
	return NULL;
}

bool
direct_pull(struct scp *scp, struct scp_host *from, const char *path,
    const struct xfer_target *target)
{
	struct direct d = { .scp = scp, .giver = from, .pull = true,
		.program = { .in = -1, .out = -1 },
		.progress = { .p = scp->xfer.progress },
		.places = { .scp = scp, .to = from, .is_dir = true } };
	char *name = direct_name_of(path), *real = NULL;
	const char *why = NULL;
	bool done;

	if (direct_is_summed(scp))
		d.sums = direct_sums_new(scp, scp->receipt, true);
	if (!scp->recursive || (real = real_directory(&d, path)) == NULL)
		why = "with pull, only a directory goes from host to host";
	else if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		why = "the source has no name of its own";
	else if (target->path[0] == '~')
		why = "only this machine knows what ~ is there";
	d.scope = d.places.dir = real;
	if (why == NULL) {
		d.places.inner = xstrdup(real); /* what digests are asked of */
		why = pull(&d, name, target);
	}
	done = finish(&d, why);
	free(real);
	free(name);
	return done;
}
