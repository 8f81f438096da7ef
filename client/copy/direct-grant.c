/* SPDX-License-Identifier: ISC */
#include "client/copy/direct-grant.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/copy/remote.h"
#include "client/sshclient.h"
#include "peer-version.h"

enum {
	GRANT_VERSION = 1,
	LIFE_S = 24 * 3600,
	END_TRIES = 20,	 /* each takes a second at most */
};

/* They keep the configuration of the host that connects from changing the
 * connection, and hpnssh from asking a person for anything. */
static const char *const options[] = { "-F", "none", "-oBatchMode=yes",
	"-oControlPath=none", "-oGlobalKnownHostsFile=none",
	"-oUserKnownHostsFile=none", "-oUpdateHostKeys=no",
	"-oStrictHostKeyChecking=yes", "-oPubkeyAuthentication=no",
	"-oPasswordAuthentication=no", "-oKbdInteractiveAuthentication=no",
	"-oGSSAPIAuthentication=no", "-oHostbasedAuthentication=no",
	"-oLoginTickets=no", "-oForwardAgent=no", "-oConnectTimeout=5",
	"-oServerAliveInterval=15" };

void
direct_grant_options(struct strlist *ssh)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		xstrlist_add(ssh, options[i]);
}

void
direct_grant_ticket(struct login_ticket *t,
    const uint8_t name[LOGIN_TICKET_NAME_LEN], const struct key *key,
    struct span hostkey, uint64_t ms)
{
	*t = (struct login_ticket){ .kind = LOGIN_TICKET_GRANT,
		.end_ms = clock_boot_ms() + ms,
		.signer = key,
		.hostkey = hostkey };
	memcpy(t->name, name, sizeof t->name);
}

/* What answers write to outlives them, so each is waited for. */
static void
wait_for_answer(struct direct_grant *g)
{
	while (!g->answered)
		g->turn(g->arg);
}

/* Sends the request, and waits for the answer. */
static int
ask(struct direct_grant *g, const char *name, struct buf *fields,
    void (*done)(void *arg, bool ok, struct rd data))
{
	const struct sshclient *c = remote_client(g->remote, 0);
	int r = c == NULL ? ERR_CLOSED : buf_err(fields);

	g->answered = false;
	if (r == 0)
		r = channels_global_request(sshclient_channels(c), name, fields,
		    done, g);
	buf_clear(fields);
	if (r == 0)
		wait_for_answer(g);
	return r;
}

static void
on_grant(void *arg, bool ok, struct rd data)
{
	struct direct_grant *g = arg;
	struct span name = ok ? rd_string(&data) : (struct span){ NULL, 0 };

	g->answered = true;
	g->is = ok && rd_end(&data) == 0 && name.len == sizeof g->name;
	if (g->is)
		memcpy(g->name, name.p, sizeof g->name);
}

int
direct_grant_get(struct direct_grant *g, struct span key, const char *scope,
    uint32_t rights, uint32_t connections)
{
	const struct sshclient *c = remote_client(g->remote, 0);
	struct buf b = { 0 };
	int r;

	if (c == NULL || sshclient_is_distrusted(c) ||
	    (sshclient_peer_traits(c) & PEER_FORGIVES) == 0)
		return ERR_UNSUPPORTED;
	buf_put_u8(&b, GRANT_VERSION);
	buf_put_string(&b, key.p, key.len);
	buf_put_cstring(&b, scope);
	buf_put_u32(&b, rights);
	buf_put_u64(&b, UINT64_MAX);
	buf_put_u64(&b, UINT64_MAX);
	buf_put_u64(&b, UINT64_MAX);
	buf_put_u32(&b, connections);
	buf_put_u32(&b, DIRECT_GRANT_BEGIN_S);
	buf_put_u32(&b, LIFE_S);
	buf_put_cstring(&b, ""); /* from any address */
	r = ask(g, "grant@hpnssh.org", &b, on_grant);
	return g->is ? 0 : r != 0 ? r : ERR_DENIED;
}

static void
on_ended(void *arg, bool ok, struct rd data)
{
	struct direct_grant *g = arg;

	(void)data;
	g->answered = true;
	g->ended = ok;
}

bool
direct_grant_end(struct direct_grant *g)
{
	struct buf b;
	int r = 0;

	for (int i = 0; i < END_TRIES && r == 0 && !g->ended; i++) {
		b = (struct buf){ 0 };
		buf_put_u8(&b, GRANT_VERSION);
		buf_put_string(&b, g->name, sizeof g->name);
		r = ask(g, "grant-end@hpnssh.org", &b, on_ended);
	}
	return g->ended;
}

static void
on_told(void *arg, bool ok, struct rd data)
{
	struct direct_grant *g = arg;

	(void)ok;
	(void)data;
	g->answered = true;
}

void
direct_grant_receipt(struct direct_grant *g,
    const uint8_t digest[DIRECT_SUM_LEN])
{
	struct buf b = { 0 };

	if (!g->is)
		return;
	buf_put_u8(&b, GRANT_VERSION);
	buf_put_string(&b, g->name, sizeof g->name);
	buf_put_string(&b, digest, DIRECT_SUM_LEN);
	(void)ask(g, "grant-receipt@hpnssh.org", &b, on_told);
}

void
direct_grant_address(const struct direct_grant *g, struct direct_job *job)
{
	const struct client_conf *conf = remote_conf(g->remote);
	struct span hostkey = sshclient_hostkey(remote_client(g->remote, 0));

	job->host = conf->host.hostname;
	job->user = conf->host.user;
	job->port = (uint16_t)conf->host.port;
	buf_put(&job->hostkey, hostkey.p, hostkey.len);
	memcpy(job->grant, g->name, sizeof job->grant);
}
