/* SPDX-License-Identifier: ISC */
/*
 * The hosts of one run of hpnscp: each is connected to once, when it is
 * needed first. All end the program when a connection is lost.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COPY_SCP_HOSTS_H
#define HPN_CLIENT_COPY_SCP_HOSTS_H

#include <stdint.h>

#include "client/copy/remote.h"
#include "client/copy/scp-run.h"
#include "compat/queue.h"
#include "xfer/target.h"

struct scp_host {
	struct xfer_target where; /* its path is not used */
	struct remote *remote;
	struct sftp *sftp; /* its first session, or what replaced that */
	struct remote_copy copy; /* its defaults */
	unsigned tries;	   /* in a row, to get a session that answers */
	TAILQ_ENTRY(scp_host) entry;
};

/* What a transfer with that host is to do: the command line's word, then the
 * host's configuration. */
struct xfer_opts scp_host_opts(const struct scp *scp,
    const struct scp_host *host);
/* The one of a target; bulk as of struct remote_params. Requests may be sent
 * at once. */
struct scp_host *scp_host_of(struct scp *scp, const struct xfer_target *t,
    uint64_t bulk);
/* The result of a call that may be made twice; if the session ends, another one
 * is opened, with --retry. */
typedef int (*scp_call_fn)(struct sftp *s, void *arg);
int scp_host_call(struct scp *scp, struct scp_host *host, scp_call_fn fn,
    void *arg);
/* result, if it is no error; else the connection is lost. */
int scp_host_result(struct scp *scp, int result);
/* A path as the host's SFTP server takes it: "~" and "~user" are the server's
 * to expand. Caller frees; NULL: it was reported why not. */
char *scp_host_path(struct scp *scp, struct scp_host *host, const char *path);
void scp_hosts_close(struct scp *scp);

#endif
