/* SPDX-License-Identifier: ISC */
#include "client/copy/scp-hosts.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/called.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/screen.h"
#include "xfer/progress.h"
#include "xfer/sftp/sftp-engine.h"

enum {
	EXIT_UNREACHABLE = 255, /* exit status of ssh */
	STEP_MS = 1000,
	SESSION_MS = 60000,
};

/* True if some host's SFTP server has never answered. */
static bool
any_never_answered(const struct scp *scp)
{
	const struct scp_host *h;

	TAILQ_FOREACH(h, &scp->hosts, entry)
		if (h->sftp == NULL || !sftp_has_version(h->sftp))
			return true;
	return false;
}

/* Why the connection ended, as a word for programs that read events. */
static const char *
class_of_end(const struct scp *scp)
{
	static const struct {
		int err;
		const char *kind;
	} ends[] = {
		{ ERR_NOT_FOUND, "resolve" },
		{ ERR_HOSTKEY, "hostkey" },
		{ ERR_REVOKED, "hostkey" },
		{ ERR_DENIED, "auth" },
		{ ERR_NO_KEX_MATCH, "algorithms" },
		{ ERR_NO_HOSTKEY_MATCH, "algorithms" },
		{ ERR_NO_CIPHER_MATCH, "algorithms" },
		{ ERR_NO_MAC_MATCH, "algorithms" },
		{ ERR_NO_COMP_MATCH, "algorithms" },
	};

	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		if (remote_last_end() == ends[i].err)
			return ends[i].kind;
	return any_never_answered(scp) ? "connect" : "lost";
}

/* Ends the program because the connection is lost. What carries it has reported
 * why. */
_Noreturn static void
connection_lost(struct scp *scp, int err)
{
	const char *why = log_demoted_error();

	screen_clear();
	/* If the connection was tried several times (--retry), its error was
	 * not shown yet. */
	if (*why != '\0')
		fprintf(stderr, "%s: the last try: %s\n",
		    called_name("hpnscp"), why);
	if (remote_err_is_told(err))
		fprintf(stderr, "%s: Connection closed\n",
		    called_name("hpnscp"));
	else
		fprintf(stderr, "%s: Connection lost: %s\n",
		    called_name("hpnscp"),
		    err_text(err));
	if (scp->left != NULL)
		scp_report(scp, NULL, scp->left, "is left on the host");
	progress_error(scp->xfer.progress, class_of_end(scp), "connection",
	    *log_last_error() != '\0' ? log_last_error() : err_text(err));
	scp_exit(scp, any_never_answered(scp) ? EXIT_UNREACHABLE : 1);
}

int
scp_host_result(struct scp *scp, int result)
{
	if (result < 0)
		connection_lost(scp, result);
	return result;
}

struct xfer_opts
scp_host_opts(const struct scp *scp, const struct scp_host *host)
{
	struct xfer_opts o = scp->xfer;

	if (!scp->given.connections)
		o.connections_max = host->copy.connections;
	if (!scp->given.retry)
		o.retries = host->copy.retries;
	o.verify |= host->copy.verify;
	o.resume |= host->copy.resume;
	o.preserve |= host->copy.preserve;
	return o;
}

/* ---- tries -------------------------------------------------------------- */

/* Waits before the next try to connect to the host. Ends the program if err
 * allows no other try, or all retries are used up. */
static void
try_again(struct scp *scp, struct scp_host *host, int err)
{
	unsigned wait_ms = xfer_retry_wait_ms(host->tries, 0);
	unsigned retries = scp_host_opts(scp, host).retries;
	char text[96];

	if ((err != ERR_CLOSED && err != ERR_TIMEOUT) ||
	    host->tries >= retries)
		connection_lost(scp, err);
	host->tries++;
	xfer_retry_text(wait_ms, host->tries, retries, text, sizeof text);
	scp_note(scp, NULL, text);
	(void)poll(NULL, 0, (int)wait_ms);
}

/* Waits until the session can be used. The server's program has SESSION_MS from
 * the time when the user is logged in. */
static int
wait_for_session(const struct scp_host *host, struct sftp *s)
{
	uint64_t up_ms = 0;
	int r;

	while (!sftp_is_ready(s)) {
		if ((r = sftp_step(s, false, STEP_MS)) < 0)
			return r;
		if (up_ms == 0 && remote_is_up(host->remote))
			up_ms = clock_ms();
		if (up_ms != 0 && clock_ms() - up_ms >= SESSION_MS)
			return ERR_TIMEOUT;
	}
	return 0;
}

static int
open_remote(struct scp_host *host, const struct remote_params *params)
{
	int err = remote_open(&host->remote, params);

	/* An error that another try cannot change was reported: ERR_DENIED
	 * stops the retries. */
	if (err != 0)
		return err == ERR_TIMEOUT || err == ERR_CLOSED ? err :
								 ERR_DENIED;
	host->sftp = remote_sftp(host->remote);
	/* Without --retry the first requests are sent before the host has
	 * answered. */
	if (!params->watched &&
	    (params->retry_given || host->copy.retries == 0))
		return 0;
	if ((err = wait_for_session(host, host->sftp)) != 0) {
		host->sftp = NULL;
		(void)remote_back(host->remote, &host->back);
		(void)remote_close(host->remote);
		host->remote = NULL;
	}
	return err;
}

/* Opens another session, because the old one ended between two transfers, or
 * before the first. */
static int
renew_session(struct scp_host *host)
{
	struct xfer_streams streams = remote_streams(host->remote);
	struct sftp *s;
	int r = streams.ops->open(streams.arg, XFER_STREAM_CONNECTION, 0, &s);

	if (r == 0 && (r = wait_for_session(host, s)) == 0)
		host->sftp = s;
	return r;
}

int
scp_host_call(struct scp *scp, struct scp_host *host, scp_call_fn fn,
    void *arg)
{
	int r = fn(host->sftp, arg);

	while (r < 0) {
		try_again(scp, host, r);
		if ((r = renew_session(host)) == 0)
			r = fn(host->sftp, arg);
	}
	host->tries = 0;
	return r;
}

/* ---- hosts -------------------------------------------------------------- */

static struct scp_host *
add_host(struct scp *scp, const struct xfer_target *t)
{
	struct scp_host *host = xcalloc(1, sizeof *host);

	host->where = (struct xfer_target){ .remote = true, .port = t->port,
		.host = xstrdup(t->host),
		.user = t->user != NULL ? xstrdup(t->user) : NULL };
	if (scp->grant != NULL)
		host->back = *scp->grant;
	TAILQ_INSERT_HEAD(&scp->hosts, host, entry);
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
		.subsystem = scp->server,
		.clear = scp->clear,
		.watched = scp->xfer.retries > 0,
		.bulk = scp->xfer.rate_bytes == 0 ? bulk : 0,
		.connections = scp->xfer.connections_max,
		.connections_given = scp->given.connections,
		.retry_given = scp->given.retry,
		.report = scp->report,
	};
	struct scp_host *host;
	int err;

	TAILQ_FOREACH(host, &scp->hosts, entry)
		if (xfer_target_same_host(&host->where, t))
			return host;
	host = add_host(scp, t);
	params.host = host->where.host;
	params.user = host->where.user;
	params.copy = &host->copy;
	params.back = &host->back;
	while ((err = open_remote(host, &params)) != 0)
		try_again(scp, host, err);
	return host;
}

void
scp_hosts_close(struct scp *scp)
{
	struct scp_host *host;

	while ((host = TAILQ_FIRST(&scp->hosts)) != NULL) {
		TAILQ_REMOVE(&scp->hosts, host, entry);
		/* All that was not copied was reported, so how the connection
		 * ends does not matter. */
		(void)remote_close(host->remote);
		xfer_target_clear(&host->where);
		mem_free_secret(host, sizeof *host);
	}
}

struct expansion {
	const char *tilde;
	char *home;
};

static int
call_expand(struct sftp *s, void *arg)
{
	struct expansion *e = arg;

	return sftp_call_name(s, SFTP_EXTENDED, e->tilde, &e->home);
}

bool
scp_host_has(struct scp *scp, struct scp_host *host, enum sftp_extension ext)
{
	while (!sftp_is_ready(host->sftp))
		(void)scp_host_result(scp, sftp_step(host->sftp, false, -1));
	return sftp_has(host->sftp, ext);
}

/* "~" or "~user" as the server expands it. Caller frees; NULL: it was reported,
 * with path, why not. */
static char *
expand_tilde(struct scp *scp, struct scp_host *host, const char *tilde,
    const char *path)
{
	struct expansion e = { .tilde = tilde };
	char *home = NULL;
	int r;

	if (scp_host_has(scp, host, SFTP_EXT_EXPAND_PATH)) {
		r = scp_host_call(scp, host, call_expand, &e);
		home = e.home;
		if (r != 0)
			scp_report(scp, NULL, path,
			    sftp_call_words(r));
	} else if (tilde[1] == '\0') {
		/* The directory in which SFTP paths begin. */
		home = xstrdup(".");
	} else {
		scp_report(scp, NULL, path, "the server cannot expand ~user");
	}
	return home;
}

/* Only the tilde is sent to the server, so that the last part of the path,
 * which names a local file, is always as the user wrote it. */
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
