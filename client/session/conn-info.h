/* SPDX-License-Identifier: ISC */
/*
 * Describes a connection for its user (~I, -O conninfo), in the lines that
 * OpenSSH prints.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SESSION_CONN_INFO_H
#define HPN_CLIENT_SESSION_CONN_INFO_H

#include "base/buf.h"
#include "client/session/client-session.h"

/* Appends the description, with LF at the end of each line. It is made from
 * what the parameters of a session say of its connection. */
void conn_info_put(struct buf *b, const struct session_params *s);

#endif
