/* SPDX-License-Identifier: ISC */
/*
 * The part of hpnscp --direct-end that copies the files of a list, for hpnsync:
 * each to a name that is its number, as a plan for the transfer.
 */
#include "client/direct/direct-end.h"

#include <sys/stat.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* The number of the file that a report of the transfer names, by its path at
 * either host; 0: none. Paths at the other host begin with a slash, as those
 * below a top do not. */
static uint32_t
number_of(const struct direct_job *job, const char *path)
{
	bool pull = (job->flags & DIRECT_PULL) != 0;
	const char *name = path[0] == '/' ? path + 1 : path;
	unsigned long n;

	if (pull != (path[0] == '/')) {
		n = strtoul(name, NULL, 10);
		return n < job->sources.n ? (uint32_t)n : 0;
	}
	for (uint32_t i = 1; i < job->sources.n; i++)
		if (strcmp(job->sources.v[i], name) == 0)
			return i;
	return 0;
}

/* The client knows the files by their names, and tells people. */
static void
report(void *arg, const char *tried, const char *path, const char *text)
{
	struct scp *scp = arg;
	const struct direct_job *job = direct_end_job(scp->direct_end);
	uint32_t number = path != NULL ? number_of(job, path) : 0;

	if (number == 0) {
		scp_report(scp, tried, path, text);
		return;
	}
	direct_end_not_sent(number, text);
	scp->failed = true;
}

static void
on_summed(void *arg, bool up, const char *path, const uint8_t *digest)
{
	const struct scp *scp = arg;

	(void)up;
	direct_end_summed(number_of(direct_end_job(scp->direct_end), path),
	    digest);
}

void
direct_list_copy(struct scp *scp, const struct direct_job *job,
    const struct xfer_target *host)
{
	struct scp_host *h = scp_host_of(scp, host, 0);
	struct xfer_streams streams = remote_streams(h->remote);
	struct local_tree *tree = local_tree_new(0);
	struct xfer_opts opts = scp_host_opts(scp, h);
	struct list l = { .job = job, .next = 1 };
	const struct xfer_orders orders = { .next = next_order,
		.done = order_done, .arg = &l };
	struct xfer *x;
	int r;

	opts.report = report;
	opts.report_arg = scp;
	if ((job->flags & DIRECT_SUMS) != 0)
		opts.summed = on_summed;
	if (tree == NULL || (l.top = local_root(tree, job->sources.v[0],
	    LOCAL_LINKS_ALL)) == NULL ||
	    xfer_new(&x, &streams, h->sftp, &opts) != 0 ||
	    xfer_follow(x, (job->flags & DIRECT_PULL) == 0, &orders) != 0)
		fatal("%s", err_text(ERR_NOMEM));
	/* Not scp_run(): nobody goes on with what is kept. */
	r = xfer_run(x);
	if (r < 0)
		direct_end_not_sent(0, "the hosts have lost each other");
	else if (xfer_is_full(x))
		direct_end_not_sent(0, strerror(ENOSPC));
	if (xfer_failures(x) > 0)
		scp->failed = true;
	(void)scp_host_result(scp, r);
	xfer_free(x);
	local_dir_unref(l.top);
	local_tree_free(tree);
	free(l.far);
}
