/* SPDX-License-Identifier: ISC */
#include "client/sync/sync-grants.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/called.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/copy/direct-grant.h"
#include "client/copy/remote.h"
#include "client/sync/sync-run.h"
#include "conf/client-conf.h"
#include "crypto/rand.h"
#include "keys/key.h"
#include "xfer/sftp/sftp-rights.h"

enum {
	/* Grants that are ready. The server knows eight of one login at a time,
	 * those among them that were taken and not used yet. */
	READY = 6,
	FRESH_MS = DIRECT_GRANT_BEGIN_S * 1000 / 2, /* a grant is given anew */
	TURN_MS = 100,
	MARKS_MS = 2000,  /* between two looks at the shards' marks */
	AGAIN_MS = 5000,  /* after the server has refused a grant */
	WAIT_MS = 20 * 1000, /* of a shard, for a grant */
	POLL_MS = 200,
};

struct given {
	char name[JOB_NAME_MAX]; /* empty: none */
	struct direct_grant grant;
	uint64_t since_ms;
};

static struct {
	struct sync_run *run;
	int grants, lock; /* descriptors; -1: closed */
	char *scope;	 /* owned; the target's real path */
	uint32_t rights;
	struct given v[READY];
	uint64_t again_ms; /* no grant is asked for before this */
	char *told;	   /* owned; why there was none the last time */
} giving = { .grants = -1, .lock = -1 };

static struct {
	struct job_grant grant;
	struct login_ticket ticket;
} taken;

/* ---- what goes with it --------------------------------------------------- */

void
sync_grants_check(const struct sync_run *run)
{
	const struct sync_args *a = &run->args;
	const struct {
		bool given;
		const char *option;
	} rows[] = {
		{ !run->target.remote, "a plan for a target on this machine" },
		{ a->ssh_program != NULL, "-e with another program" },
		{ a->sftp_server != NULL, "--sftp-server" },
		{ a->compress, "-z" },
		{ a->opts.keep_dirlinks, "-K" }, /* no grant follows links */
		{ a->temp_dir != NULL, "--temp-dir" },
		{ a->seconds.timeout != 0, "--timeout" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!rows[i].given)
			continue;
		fprintf(stderr, "%s: %s is not here with --grant: its shards "
		    "log in by themselves\n", called_name("hpnsync"),
		    rows[i].option);
		exit(SYNC_EXIT_REFUSED);
	}
}

/* ---- giving -------------------------------------------------------------- */

static void
turn(void *arg)
{
	sync_hosts_turn(arg, 1000);
}

/* Sets the target's real path; makes the directory if it is not there, as the
 * shards cannot. */
static void
find_scope(struct sync_run *run)
{
	int r;

	sync_need_target(run);
	r = sftp_call_name(run->host.s, SFTP_REALPATH, run->target_path,
	    &giving.scope);
	if (r < 0)
		sync_lost(run, r);
	if (r > 0 || giving.scope[0] != '/')
		sync_die(run, SYNC_EXIT_FILES, run->target_path,
		    r > 0 ? sftp_call_words(r) : "has no absolute path");
}

/* Asks for a grant for a new key, which it puts into *key. 0, or ERR_*. */
static int
new_grant(struct direct_grant *g, struct key **key)
{
	struct buf blob = { 0 };
	int r = key_generate("ed25519", 0, key);

	*g = (struct direct_grant){ .remote = giving.run->host.remote,
		.turn = turn, .arg = giving.run };
	if (r == 0 && (r = key_to_blob(*key, &blob)) == 0)
		r = direct_grant_get(g, buf_span(&blob), giving.scope,
		    giving.rights, 1);
	buf_clear(&blob);
	return r;
}

/* Writes a grant's file, with the host as it was reached: so a shard's machine
 * needs neither the user's configuration nor his host keys. */
static int
publish(struct given *g, struct key *key)
{
	struct direct_job at = { .host = NULL };
	struct job_grant grant = { .rights = giving.rights, .key = key,
		.verify = giving.run->host.copy.verify };
	uint64_t random;
	int r;

	direct_grant_address(&g->grant, &at);
	grant.host = at.host;
	grant.user = at.user;
	grant.port = at.port;
	grant.hostkey = at.hostkey;
	memcpy(grant.grant, g->grant.name, sizeof grant.grant);
	rand_bytes(&random, sizeof random);
	snprintf(g->name, sizeof g->name, "grant-%016llx",
	    (unsigned long long)random);
	r = job_grant_put(giving.grants, g->name, &grant);
	buf_clear(&at.hostkey); /* the rest is borrowed */
	if (r != 0)
		g->name[0] = '\0';
	return r;
}

/* Tells why there is no grant now, once of each kind in a row. */
static void
try_later(const char *why)
{
	giving.again_ms = clock_ms() + AGAIN_MS;
	if (giving.told == NULL || strcmp(giving.told, why) != 0)
		sync_tell_note(giving.run, "grants", why);
	free(giving.told);
	giving.told = xstrdup(why);
}

/* A file that cannot be written, on a disk that is full, is no reason to end
 * the connections of the shards that run; that the directory is gone is one. */
static void
make_grant(struct given *g)
{
	struct key *key = NULL;
	int r = new_grant(&g->grant, &key), error;

	if (r != 0) {
		try_later("the server gives none now; it is asked again");
	} else if ((r = publish(g, key)) != 0) {
		error = errno;
		(void)direct_grant_end(&g->grant);
		if (r != ERR_SYSTEM || job_is_gone(error))
			sync_die(giving.run, SYNC_EXIT_OUTPUT, "grants",
			    r != ERR_SYSTEM ? err_text(r) : strerror(error));
		try_later(strerror(error));
	} else {
		g->since_ms = clock_ms();
	}
	key_free(key);
}

/* Takes a grant back, if nobody has taken it. True: nobody had. */
static bool
take_back(struct given *g)
{
	bool mine = unlinkat(giving.grants, g->name, 0) == 0;

	g->name[0] = '\0';
	return mine;
}

/* Opened, and not only looked for: so a client of NFS asks the server, and does
 * not answer by what it has seen a while ago. */
static bool
is_gone(const struct given *g)
{
	int fd = job_file(giving.grants, g->name, O_RDONLY);
	bool gone = fd == -1 && job_is_gone(errno);

	fd_close(&fd);
	return gone;
}

/* Looks after one grant: one that was taken, or is old, gets a successor. */
static void
look_after(struct given *g)
{
	const uint64_t now_ms = clock_ms();

	if (g->name[0] != '\0' && is_gone(g))
		g->name[0] = '\0';
	if (g->name[0] != '\0' && now_ms - g->since_ms >= FRESH_MS &&
	    take_back(g))
		(void)direct_grant_end(&g->grant);
	if (g->name[0] == '\0' && now_ms >= giving.again_ms)
		make_grant(g);
}

/* The rights that shards need, and reading, where the server allows it: then
 * they can compare both ends, and send what has changed of a file only. */
static void
choose_rights(struct sync_run *run)
{
	const uint32_t least = SFTP_MAY_ALL & ~(uint32_t)(SFTP_MAY_OWNER |
	    SFTP_MAY_READ);
	struct direct_grant g;
	struct key *key = NULL;
	int r;

	giving.rights = least | SFTP_MAY_READ;
	if ((r = new_grant(&g, &key)) == ERR_DENIED) {
		key_free(key);
		key = NULL;
		giving.rights = least;
		r = new_grant(&g, &key);
	}
	key_free(key);
	if (r != 0)
		sync_die(run, SYNC_EXIT_REFUSED, "--grant",
		    r == ERR_UNSUPPORTED ?
			"the target's host runs no hpnsshd, or the login is "
			"another process's" :
			"the target's host gives no grant (TransferGrants)");
	(void)direct_grant_end(&g);
	if ((giving.rights & SFTP_MAY_READ) == 0 &&
	    (run->args.xfer.verify || run->host.copy.verify ||
		run->args.opts.checksum))
		sync_die(run, SYNC_EXIT_REFUSED, "--grant", "the run compares "
		    "data: that needs TransferGrants yes at the target's host");
}

static void
open_grants(struct sync_run *run, int dir)
{
	int r = job_grants_open(dir, true, &giving.grants);

	if (r == 0)
		r = job_grants_lock(giving.grants, &giving.lock);
	if (r != 0)
		sync_die(run, SYNC_EXIT_OUTPUT, "grants", r != ERR_SYSTEM ?
			"others than you can use them" :
			errno == EAGAIN || errno == EACCES ?
			"another hpnsync --grant is at it" : strerror(errno));
}

static bool
all_done(int dir, const struct job_plan *plan)
{
	for (uint32_t i = 1; i <= plan->n; i++)
		if (!job_is_marked(dir, plan, i))
			return false;
	return true;
}

static void
tell_ready(struct sync_run *run)
{
	const struct client_conf *conf = remote_conf(run->host.remote);
	char *shown = xstr_escape(run->target_path);

	if (conf->tcp.proxy_command != NULL || conf->tcp.proxy_jump != NULL)
		sync_tell_note(run, "grants", "the shards connect to the host "
		    "itself, without the proxy of this login");
	if (run->args.quiet == 0 && !run->args.json)
		printf("the shards may write to %s until all are done\n",
		    shown);
	(void)fflush(stdout);
	free(shown);
}

enum sync_exit
sync_grants_give(struct sync_run *run, int dir, const struct job_plan *plan)
{
	uint64_t looked_ms = 0;

	giving.run = run;
	while (!sftp_is_ready(run->host.s))
		turn(run);
	find_scope(run);
	choose_rights(run);
	open_grants(run, dir);
	tell_ready(run);
	for (;;) {
		if (clock_ms() - looked_ms >= MARKS_MS) {
			if (all_done(dir, plan))
				break;
			looked_ms = clock_ms();
		}
		for (size_t i = 0; i < ARRAY_LEN(giving.v); i++)
			look_after(&giving.v[i]);
		sync_hosts_turn(run, TURN_MS);
	}
	sync_grants_end();
	sync_hosts_close(run);
	return SYNC_EXIT_OK;
}

void
sync_grants_end(void)
{
	for (size_t i = 0; giving.grants != -1 && i < ARRAY_LEN(giving.v); i++)
		if (giving.v[i].name[0] != '\0')
			(void)take_back(&giving.v[i]);
	fd_close(&giving.grants);
	fd_close(&giving.lock);
	free(giving.scope);
	free(giving.told);
	giving.scope = giving.told = NULL;
}

/* ---- taking -------------------------------------------------------------- */

static void
set_target(struct xfer_target *t, const struct job_grant *g)
{
	xfer_target_clear(t);
	*t = (struct xfer_target){ .remote = true, .host = xstrdup(g->host),
		.user = xstrdup(g->user), .port = g->port,
		.path = xstrdup("/") };
}

/* Owners and groups no grant allows to change: --finish does. A second
 * connection, or one in the place of a lost one, would take another grant: the
 * shard ends, and is tried again. */
static void
set_options(struct sync_args *a, const struct job_grant *g)
{
	strlist_clear(&a->ssh);
	direct_grant_options(&a->ssh);
	a->opts.owner = a->opts.group = false;
	a->opts.chown_user = a->opts.chown_group = SYNC_ANY_ID;
	free(a->chown.user);
	free(a->chown.group);
	a->chown.user = a->chown.group = NULL;
	a->connections_given = a->retry_given = true;
	a->xfer.connections_max = 1;
	a->xfer.retries = 0;
	a->xfer.verify |= g->verify;
	if ((g->rights & SFTP_MAY_READ) == 0) {
		a->whole = 2;
		a->opts.also.listed = false; /* to go on with a part reads it */
	}
}

static int
wait_for_grant(int grants, struct job_grant *g)
{
	const uint64_t until_ms = clock_ms() + WAIT_MS;
	int r;

	while ((r = job_grant_take(grants, g)) == ERR_AGAIN &&
	    clock_ms() < until_ms)
		clock_sleep_us(POLL_MS * 1000);
	return r;
}

_Noreturn static void
refuse(enum sync_exit status, const char *why)
{
	fprintf(stderr, "%s: grants: %s\n", called_name("hpnsync"), why);
	exit(status);
}

void
sync_grant_take(struct sync_run *run, int dir)
{
	struct job_grant *g = &taken.grant;
	int grants, r = job_grants_open(dir, false, &grants);

	if (r == ERR_SYSTEM && errno == ENOENT)
		return;
	if (r == 0)
		r = wait_for_grant(grants, g);
	fd_close(&grants);
	if (r == ERR_AGAIN)
		refuse(SYNC_EXIT_AGAIN, "there was none for 20 s: is "
		    "hpnsync --grant running? Without that directory a shard "
		    "logs in by itself");
	if (r != 0)
		refuse(SYNC_EXIT_FILES, r == ERR_PERMISSION ?
			"others than you can use them" :
			r == ERR_SYSTEM ? strerror(errno) : err_text(r));
	set_target(&run->target, g);
	set_options(&run->args, g);
	direct_grant_ticket(&taken.ticket, g->grant, g->key,
	    buf_span(&g->hostkey), DIRECT_GRANT_BEGIN_S * 1000);
}

uint32_t
sync_grant_rights(void)
{
	return taken.ticket.kind != 0 ? taken.grant.rights : SFTP_MAY_ALL;
}

const struct login_ticket *
sync_grant_taken(void)
{
	return taken.ticket.kind != 0 ? &taken.ticket : NULL;
}

void
sync_grant_wipe(void)
{
	taken.ticket.kind = 0;
	job_grant_clear(&taken.grant);
}
