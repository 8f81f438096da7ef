/* SPDX-License-Identifier: ISC */
/*
 * --receipt of a run from host to host: the files that it has moved, with the
 * digests of both hosts. A file whose two digests are there and equal is at its
 * place. Each has its line when it has got there, or was given up, so that the
 * receipt also holds of a run that is cut.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/copy/direct-grant.h"
#include "client/copy/direct-receipt.h"
#include "client/sync/sync-run.h"
#include "compat/bsd-mem.h"
#include "xfer/sync/sync-path.h"
#include "xfer/transfer/transfer-orders.h"

enum { TURN_MS = 1000 };

struct sync_receipt {
	struct direct_receipt *file;
	bool pull;
	bool some; /* it has a file */
	uint8_t (*grants)[LOGIN_TICKET_NAME_LEN]; /* owned; their names */
	size_t n, room;
};

void
sync_receipt_begin(struct sync_run *run)
{
	const char *path = run->args.receipt;
	struct sync_receipt *r;

	if (path == NULL)
		return;
	r = xcalloc(1, sizeof *r);
	r->pull = run->args.given.direct == SYNC_DIRECT_PULL;
	if (direct_receipt_new(&r->file, path, r->pull) != 0)
		sync_die(run, SYNC_EXIT_OUTPUT, path, strerror(errno));
	run->out.receipt = r;
}

void
sync_receipt_who(struct sync_run *run)
{
	const struct sync_receipt *r = run->out.receipt;
	struct direct_parties who;

	if (r == NULL)
		return;
	who = direct_parties_of(sync_end_of(run, r->pull)->remote,
	    r->pull ? &run->target : &run->sources[0]);
	direct_receipt_begin(r->file, &who);
}

void
sync_receipt_grant(struct sync_run *run, const struct direct_grant *g,
    struct span key, const char *directory)
{
	struct sync_receipt *r = run->out.receipt;

	if (r == NULL)
		return;
	if (r->n == r->room) {
		r->room = r->room == 0 ? 8 : r->room * 2;
		r->grants = reallocarray(r->grants, r->room,
		    sizeof *r->grants);
		sync_must(r->grants == NULL ? ERR_NOMEM : 0);
	}
	memcpy(r->grants[r->n++], g->name, sizeof g->name);
	direct_receipt_grant(r->file, key, directory);
}

/* The path of the file at the host that gives grants. The caller frees it. */
static char *
path_of(struct sync_run *run, bool pull, const struct xfer_order *o)
{
	char *named = pull ? sync_path_below(o->top, o->local) :
			     xstrdup(o->remote);
	char *path = sync_end_real(sync_end_of(run, pull), named);

	free(named);
	return path;
}

void
sync_receipt_file(struct sync_run *run, const struct xfer_order *o,
    const uint8_t *told, const uint8_t *asked, bool placed)
{
	const bool agree = told != NULL && asked != NULL &&
	    memcmp(told, asked, DIRECT_SUM_LEN) == 0;
	struct sync_receipt *r = run->out.receipt;
	struct direct_receipt_file f = { .told = told, .asked = asked };
	char *path;

	if (r == NULL)
		return;
	/* What has come and has not got its place is nothing that the target
	 * has. */
	if (agree && !placed)
		*(r->pull ? &f.told : &f.asked) = NULL;
	f.has_size = asked != NULL;
	f.size = o->attrs->size;
	f.path = path = path_of(run, r->pull, o);
	direct_receipt_put(r->file, &f);
	r->some = true;
	free(path);
}

/* ---- its end ------------------------------------------------------------- */

static void
free_receipt(struct sync_receipt *r)
{
	free(r->grants);
	free(r);
}

static void
turn(void *arg)
{
	sync_hosts_turn(arg, TURN_MS);
}

/* Has the host that gave the grants write down which receipt they have. */
static void
tell_giver(struct sync_run *run, const struct sync_receipt *r,
    const uint8_t digest[DIRECT_SUM_LEN])
{
	for (size_t i = 0; i < r->n && !run->stop; i++) {
		struct direct_grant g = { .turn = turn, .arg = run,
			.remote = sync_end_of(run, r->pull)->remote,
			.is = true };

		memcpy(g.name, r->grants[i], sizeof g.name);
		direct_grant_receipt(&g, digest);
	}
}

/* Takes the receipt from the run, which has none any more. True: the file has
 * its name. */
static bool
end(struct sync_run *run, bool keep, bool whole,
    uint8_t digest[DIRECT_SUM_LEN])
{
	struct sync_receipt *r = run->out.receipt;
	int err;

	run->out.receipt = NULL;
	err = direct_receipt_end(r->file, keep || r->some, whole, digest);
	if (err == ERR_SYSTEM)
		sync_tell_fail(run, run->args.receipt, strerror(errno));
	return err == 0;
}

void
sync_receipt_end(struct sync_run *run, bool whole)
{
	struct sync_receipt *r = run->out.receipt;
	uint8_t digest[DIRECT_SUM_LEN];

	if (r == NULL)
		return;
	if (end(run, run->stopped == SYNC_EXIT_OK, whole, digest))
		tell_giver(run, r, digest);
	free_receipt(r);
}

void
sync_receipt_cut(struct sync_run *run)
{
	struct sync_receipt *r = run->out.receipt;
	uint8_t digest[DIRECT_SUM_LEN];

	if (r == NULL)
		return;
	(void)end(run, false, false, digest);
	free_receipt(r);
}
