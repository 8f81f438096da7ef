/* SPDX-License-Identifier: ISC */
/*
 * The hosts of one run of hpnscp: each is connected to once, when it is first
 * needed. The functions end the program when a connection is lost.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COPY_SCP_HOSTS_H
#define HPN_CLIENT_COPY_SCP_HOSTS_H

#include <stdint.h>

#include "client/auth/login-tickets.h"
#include "client/copy/remote.h"
#include "client/copy/scp-run.h"
#include "compat/queue.h"
#include "xfer/target.h"

struct scp_host {
	struct xfer_target where; /* user, host and port; path is not used */
	struct remote *remote;
	struct sftp *sftp; /* first SFTP session, or the one that replaced it */
	struct remote_copy copy; /* what its configuration says of copies */
	/* Ticket by which the next first connection logs in without asking the
	 * user, if one was lost before its session began. kind 0: none. */
	struct login_ticket back;
	/* Failed tries in a row to get a session that answers. */
	unsigned tries;
	TAILQ_ENTRY(scp_host) entry;
};

/* The options of a transfer with that host: those of the command line, and the
 * host's configuration for what was not given there. */
struct xfer_opts scp_host_opts(const struct scp *scp,
    const struct scp_host *host);
/* The host of a target; connects to it if that is new. bulk is as in struct
 * remote_params. Requests may be sent at once. */
struct scp_host *scp_host_of(struct scp *scp, const struct xfer_target *t,
    uint64_t bulk);
/* Calls fn for the host's session, and returns its result, which is 0 or more.
 * If the session ends, another one is opened (--retry) and fn is called again:
 * so fn must be repeatable. */
typedef int (*scp_call_fn)(struct sftp *s, void *arg);
int scp_host_call(struct scp *scp, struct scp_host *host, scp_call_fn fn,
    void *arg);
/* Waits for the server's VERSION. True if the server has that extension. */
bool scp_host_has(struct scp *scp, struct scp_host *host,
    enum sftp_extension ext);
/* Returns result. If it is an error (negative), the connection is lost, and the
 * program ends. */
int scp_host_result(struct scp *scp, int result);
/* The path with "~" or "~user" replaced by what the host's SFTP server expands
 * it to. Caller frees; NULL: it was reported why not. */
char *scp_host_path(struct scp *scp, struct scp_host *host, const char *path);
void scp_hosts_close(struct scp *scp);

#endif
