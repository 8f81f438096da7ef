/* SPDX-License-Identifier: ISC */
/*
 * The part of hpnscp --direct-end that copies the files of a list, for hpnsync:
 * each to a name that is its number, as a plan for the transfer.
 */
#include "client/direct/direct-end.h"

#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "client/copy/direct-wire.h"
#include "client/copy/scp-hosts.h"
#include "xfer/transfer/transfer-orders.h"

struct list {
	const struct direct_job *job;
	struct local_dir *top; /* of the sources, or that files come to */
	uint32_t next;
	char number[16];
	char *far; /* owned; path at the other host */
	struct sftp_attrs attrs;
};

/* Links below the top of the sources are not followed: so whoever may write
 * there cannot have another file read. */
static int
next_order(void *arg, struct xfer_order *out)
{
	struct list *l = arg;
	const struct strlist *paths = &l->job->sources;
	bool pull = (l->job->flags & DIRECT_PULL) != 0;
	const char *path;

	if (l->next == paths->n)
		return 0;
	path = paths->v[l->next];
	l->attrs = (struct sftp_attrs){ .flags = SFTP_A_SIZE,
		.mode = S_IFREG | S_IRUSR | S_IWUSR,
		.size = l->job->sizes[l->next - 1] };
	snprintf(l->number, sizeof l->number, "%u", (unsigned)l->next);
	free(l->far);
	xasprintf(&l->far, "/%s", pull ? path : l->number);
	*out = (struct xfer_order){ .kind = XFER_ORDER_COPY,
		.local = pull ? l->number : path,
		.remote = l->far,
		.at = l->top,
		.links = LOCAL_LINKS_NONE,
		.attrs = &l->attrs,
		.id = l->next++ };
	return 1;
}

static void
order_done(void *arg, uint64_t id, bool ok, uint64_t bytes)
{
	(void)arg;
	(void)bytes;
	if (ok)
		direct_end_sent((uint32_t)id);
}

void
direct_list_copy(struct scp *scp, const struct direct_job *job,
    const struct xfer_target *host)
{
	struct scp_host *h = scp_host_of(scp, host, 0);
	struct xfer_streams streams = remote_streams(h->remote);
	struct local_tree *tree = local_tree_new(0);
	const struct xfer_opts opts = scp_host_opts(scp, h);
	struct list l = { .job = job, .next = 1 };
	const struct xfer_orders orders = { .next = next_order,
		.done = order_done, .arg = &l };
	struct xfer *x;
	int r;

	if (tree == NULL || (l.top = local_root(tree, job->sources.v[0],
	    LOCAL_LINKS_ALL)) == NULL ||
	    xfer_new(&x, &streams, h->sftp, &opts) != 0 ||
	    xfer_follow(x, (job->flags & DIRECT_PULL) == 0, &orders) != 0)
		fatal("%s", err_text(ERR_NOMEM));
	r = scp_run(scp, x);
	if (xfer_failures(x) > 0)
		scp->failed = true;
	(void)scp_host_result(scp, r);
	xfer_free(x);
	local_dir_unref(l.top);
	local_tree_free(tree);
	free(l.far);
}
