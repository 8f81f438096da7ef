/* SPDX-License-Identifier: ISC */
/*
 * The user's process of a connection: takes the transport's state over from
 * hpnsshd-auth and runs channels as the user.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_SESSION_SERVE_H
#define HPN_SERVER_SESSION_SERVE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "conf/server-conf.h"
#include "server/hostkeys.h"
#include "server/peer.h"
#include "server/permits.h"
#include "server/session-plan.h"
#include "server/user.h"

/* Everything is borrowed. */
struct serve_params {
	const struct server_conf *conf; /* for this user */
	const struct user *user;
	const struct permits *permits; /* what this login may do */
	const struct peer *peer;
	const char *peer_text; /* "address port n" */
	const char *remote;    /* "address-n" */
	/* Identification lines: each key exchange hashes them. */
	const char *id_local;
	const struct hostkeys *keys; /* public halves */
	const char *gss_kex; /* methods of GSSAPI; or NULL */
	const struct strlist *login_env; /* that came with the login */
	const struct buf *auth_info; /* lines for SSH_USER_AUTH */
	bool must_change;	/* sessions change the password, no more */
	int socket_fd, monitor_fd;
	struct buf *packet_state, *kex_state; /* cleared once used */
	uint64_t began_ms;
};

/* Then nothing is asked of the monitor but what new keys need: it answers
 * nothing else. */
static inline bool
serve_is_sftp_only(const struct serve_params *p)
{
	return !p->must_change &&
	    session_is_sftp_only(p->conf->session.force_command,
		p->permits->command);
}

/* Becomes the user and serves; returns the exit status. */
int serve_run(const struct serve_params *params);

#endif
