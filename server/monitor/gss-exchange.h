/* SPDX-License-Identifier: ISC */
/*
 * The monitor's part of key exchanges by GSSAPI: it has the keytab and the
 * context. hpnsshd-auth, and later the user's process, pass on the client's
 * tokens and ask for a MIC of the exchange hash. There is one MIC for each
 * context that was completed, and only over data of the length of a hash. Each
 * rekey has a new context.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_MONITOR_GSS_EXCHANGE_H
#define HPN_SERVER_MONITOR_GSS_EXCHANGE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "conf/server-conf.h"

struct gss_acceptor;
struct gss_exchange;

/* Makes a new context, which accepts tickets for this host's name or, without
 * GSSAPIStrictAcceptorCheck, for any service in the keytab. ERR_NOT_FOUND:
 * there is no key for that, as on hosts without Kerberos. */
int gss_exchange_acceptor(const struct server_conf *conf,
    struct gss_acceptor **out) must_check;

/* Makes the context of the first exchange. NULL: GSSAPIKeyExchange is off, or
 * there is no key for a service of this host. conf is borrowed. */
struct gss_exchange *gss_exchange_new(const struct server_conf *conf);
void gss_exchange_free(struct gss_exchange *x);
/* Comma list of the key exchange methods to propose; borrowed. NULL if x is
 * NULL. */
const char *gss_exchange_methods(const struct gss_exchange *x);

/* Handles a token of the client. Puts into out: a bool, whether the client's
 * ticket is good so far; a bool, whether the context is complete; and a string
 * with the token for the client. rekey: the token may begin another exchange.
 * ERR_PROTOCOL: it does not belong to the one exchange. After any error the
 * process that asked is not to be trusted. */
int gss_exchange_step(struct gss_exchange *x, struct span token, bool rekey,
    struct buf *out) must_check;
/* Puts the MIC of an exchange hash into out, as a string. ERR_PROTOCOL: the
 * context is not complete or was used, or hash has the wrong length. */
int gss_exchange_sign(struct gss_exchange *x, struct span hash,
    struct buf *out) must_check;
/* The context of the last exchange, once its hash was signed, which tells who
 * the client is; borrowed. Else NULL. */
struct gss_acceptor *gss_exchange_client(const struct gss_exchange *x);
/* Returns the same context, which the caller owns from now on. */
struct gss_acceptor *gss_exchange_take(struct gss_exchange *x);

#endif
