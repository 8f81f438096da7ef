/* SPDX-License-Identifier: ISC */
/*
 * Serving a connection in the user's process: takes over the state of the
 * transport, which comes from hpnsshd-auth, becomes the user, and serves
 * channels.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_SERVE_H
#define HPN_SERVER_SESSION_SERVE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "conf/server-conf.h"
#include "server/grant.h"
#include "server/hostkeys.h"
#include "server/peer.h"
#include "server/permits.h"
#include "server/session-plan.h"
#include "server/user.h"

/* All pointers are borrowed. */
struct serve_params {
	const struct server_conf *conf; /* as Match blocks make it for this
					 * user */
	const struct user *user;
	const struct permits *permits; /* what this login may do */
	const struct peer *peer;
	const char *peer_text; /* "address port n" */
	const char *remote;    /* "address-n" */
	/* Our identification line, which each key exchange hashes. */
	const char *id_local;
	const struct hostkeys *keys; /* public halves */
	const char *gss_kex; /* key exchange methods of GSSAPI; or NULL */
	const struct strlist *login_env; /* variables that came with the
					  * login */
	const struct strlist *client_lines; /* as of struct login */
	const struct buf *auth_info; /* lines for the file of SSH_USER_AUTH */
	/* Scope of the grant by which this connection logged in; NULL: it
	 * logged in otherwise. */
	const struct grant_scope *grant;
	bool must_change;	/* sessions may only change the password */
	int socket_fd, monitor_fd;
	struct buf *packet_state, *kex_state; /* cleared after they were read */
	uint64_t began_ms;
};

/* Whether the login can run nothing but SFTP. The monitor then answers only
 * requests for key exchanges, so nothing else may be asked of it. */
static inline bool
serve_is_sftp_only(const struct serve_params *p)
{
	return !p->must_change &&
	    (p->grant != NULL ||
		session_is_sftp_only(p->conf->session.force_command,
		    p->permits->command));
}

/* Becomes the user and serves; returns the exit status. */
int serve_run(const struct serve_params *params);

#endif
