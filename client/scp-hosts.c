/* SPDX-License-Identifier: ISC */
#include "client/scp-hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "xfer/progress.h"
#include "xfer/sftp/sftp-engine.h"

enum { EXIT_UNREACHABLE = 255 /* as ssh */ };

/* Whether a server did not answer at all. */
static bool
any_never_answered(const struct scp *scp)
{
	for (const struct scp_host *h = scp->hosts; h != NULL; h = h->next)
		if (h->sftp == NULL || !sftp_has_version(h->sftp))
			return true;
	return false;
}

/* What carries the connection has reported why it was closed. */
_Noreturn static void
connection_lost(struct scp *scp, int err)
{
	progress_clear_line(scp->xfer.progress);
	if (err == ERR_CLOSED)
		fprintf(stderr, "hpnscp: Connection closed\n");
	else
		fprintf(stderr, "hpnscp: Connection lost: %s\n",
		    err_text(err));
	progress_error(scp->xfer.progress, "connection", err_text(err));
	scp_exit(scp, any_never_answered(scp) ? EXIT_UNREACHABLE : 1);
}

int
scp_host_result(struct scp *scp, int result)
{
	if (result < 0)
		connection_lost(scp, result);
	return result;
}

static struct scp_host *
add_host(struct scp *scp, const struct xfer_target *t)
{
	struct scp_host *host = xcalloc(1, sizeof *host);

	host->where = (struct xfer_target){ .remote = true, .port = t->port,
		.host = xstrdup(t->host),
		.user = t->user != NULL ? xstrdup(t->user) : NULL };
	host->next = scp->hosts;
	scp->hosts = host;
	return host;
}

struct scp_host *
scp_host_of(struct scp *scp, const struct xfer_target *t, uint64_t bulk)
{
	struct remote_params params = {
		.loop = scp->loop,
		.port = t->port != 0 ? t->port : scp->flags.port,
		.options = &scp->flags.ssh,
		.program = scp->flags.ssh_program,
		.server = scp->flags.sftp_server,
		.clear = scp->clear,
		.watched = scp->xfer.retries > 0,
		.bulk = scp->xfer.rate_bytes == 0 ? bulk : 0,
		.connections = scp->xfer.connections_max,
	};
	struct scp_host *host;

	for (host = scp->hosts; host != NULL; host = host->next)
		if (xfer_target_same_host(&host->where, t))
			return host;
	host = add_host(scp, t);
	params.host = host->where.host;
	params.user = host->where.user;
	if (remote_open(&host->remote, &params) != 0)
		connection_lost(scp, ERR_CLOSED);
	host->sftp = remote_sftp(host->remote);
	return host;
}

void
scp_hosts_close(struct scp *scp)
{
	struct scp_host *host;

	while ((host = scp->hosts) != NULL) {
		scp->hosts = host->next;
		/* What was not copied was reported. How a connection ended
		 * that has done its work does not matter. */
		(void)remote_close(host->remote);
		xfer_target_clear(&host->where);
		free(host);
	}
}

/* "~" or "~user" as the server expands it. Caller frees; NULL: reported for
 * path. */
static char *
expand_tilde(struct scp *scp, struct scp_host *host, const char *tilde,
    const char *path)
{
	char *home = NULL;
	int r;

	while (!sftp_is_ready(host->sftp))
		(void)scp_host_result(scp, sftp_step(host->sftp, false, -1));
	if (sftp_has(host->sftp, SFTP_EXT_EXPAND_PATH)) {
		r = scp_host_result(scp,
		    sftp_call_name(host->sftp, SFTP_EXTENDED, tilde, &home));
		if (r != 0)
			scp_report(scp, NULL, path,
			    sftp_status_text((uint32_t)r));
	} else if (tilde[1] == '\0') {
		home = xstrdup("."); /* where paths begin */
	} else {
		scp_report(scp, NULL, path, "the server cannot expand ~user");
	}
	return home;
}

/* Only the tilde is sent, so that the last part of a path, which names a
 * local file, is always the user's own. */
char *
scp_host_path(struct scp *scp, struct scp_host *host, const char *path)
{
	const char *rest = path + strcspn(path, "/");
	char *tilde, *home, *full = NULL;

	if (path[0] != '~')
		return xstrdup(path);
	tilde = xstrndup(path, (size_t)(rest - path));
	home = expand_tilde(scp, host, tilde, path);
	if (home != NULL)
		xasprintf(&full, "%s%s", home, *rest != '\0' ? rest : "/.");
	free(tilde);
	free(home);
	return full;
}
