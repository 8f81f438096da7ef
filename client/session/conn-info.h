/* SPDX-License-Identifier: ISC */
/*
 * Facts about a connection for its user (~I, -O conninfo), in the lines that
 * OpenSSH has for them.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SESSION_CONN_INFO_H
#define HPN_CLIENT_SESSION_CONN_INFO_H

#include "base/buf.h"
#include "client/session/client-session.h"

/* What a session knows of its connection is enough. Lines end with LF. */
void conn_info_put(struct buf *b, const struct session_params *s);

#endif
