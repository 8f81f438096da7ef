/* SPDX-License-Identifier: ISC */
/*
 * Our identification line.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_CONNECT_LOGIN_IDENT_H
#define HPN_CLIENT_CONNECT_LOGIN_IDENT_H

#include "base/err.h"
#include "conf/client-conf.h"

/* Makes the line, with VersionAddendum, without CR LF; caller frees. Errors
 * were logged. */
int login_ident(const struct client_conf *conf, char **out) must_check;

#endif
