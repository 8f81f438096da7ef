/* SPDX-License-Identifier: ISC */
/*
 * The monitor's part of a key exchange by GSSAPI: the keytab and the context.
 * hpnsshd-auth, and later the user's process, bring the client's tokens, and
 * an exchange hash to be signed: one for each context that a client has
 * completed, and nothing of another length than a hash has. A context for a
 * rekey is one of its own.
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

/* What tickets have to be for, by GSSAPIStrictAcceptorCheck. ERR_NOT_FOUND:
 * there is no key that one could be for, as on hosts without Kerberos. */
int gss_exchange_acceptor(const struct server_conf *conf,
    struct gss_acceptor **out) must_check;

/* The exchange's context; NULL: the configuration does not want it, or there is
 * no key. */
struct gss_exchange *gss_exchange_new(const struct server_conf *conf);
void gss_exchange_free(struct gss_exchange *x);
/* The methods to propose, a comma list; NULL for x: NULL. */
const char *gss_exchange_methods(const struct gss_exchange *x);

/* A token. The answer is put into out: whether the client's ticket was good,
 * whether the context stands, and a string for the client. An error: whoever
 * asks is not to be trusted. Other tokens than those of one exchange are
 * ERR_PROTOCOL; rekey: may begin another. */
int gss_exchange_step(struct gss_exchange *x, struct span token, bool rekey,
    struct buf *out) must_check;
/* A MIC over an exchange hash, as a string. */
int gss_exchange_sign(struct gss_exchange *x, struct span hash,
    struct buf *out) must_check;
/* The client of the last exchange, once that was signed; or NULL. */
struct gss_acceptor *gss_exchange_client(const struct gss_exchange *x);
/* The same; the context is the caller's from now on. */
struct gss_acceptor *gss_exchange_take(struct gss_exchange *x);

#endif
