/* SPDX-License-Identifier: ISC */
/*
 * Key exchange by GSSAPI, the client's part: a ticket for the first exchange
 * and for every other, the proof that the server is the one that was meant,
 * and the MIC of gssapi-keyex.
 *
 * Threads: loop thread only. A new one and the steps of an exchange block, but
 * a KDC is waited for only by a new one, for as long as ConnectTimeout says.
 */
#ifndef HPN_CLIENT_CONNECT_GSS_KEX_H
#define HPN_CLIENT_CONNECT_GSS_KEX_H

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "client/hosts/hostcheck.h"
#include "conf/client-conf.h"
#include "kex.h"

struct gss_kex;

/* All is borrowed. */
struct gss_kex_params {
	const struct client_conf *conf;
	const char *address; /* numeric, of the server; or NULL */
	struct hostcheck *hostcheck;
	struct loop *loop;
	void *arg;
	/* A new exchange has gone on, outside of the connection's own turns;
	 * or an error, which ends it. */
	void (*moved)(void *arg, int err);
};

/* Before k's first exchange: proposes it, if the configuration wants that and
 * there is a ticket; else *out is NULL, which the functions below take. k is
 * borrowed. */
int gss_kex_offer(struct gss_kex **out, const struct gss_kex_params *params,
    struct kex *k) must_check;
void gss_kex_free(struct gss_kex *g);
/* The methods that are offered, a comma list; or NULL. */
const char *gss_kex_methods(const struct gss_kex *g);
/* After the first exchange, which was by GSSAPI: a MIC over data. */
int gss_kex_sign(void *g, struct span data, struct buf *mic) must_check;
/* The user is logged in: no further MIC is needed. From here on, renewed
 * tickets are looked for, if the configuration says so. */
void gss_kex_settle(struct gss_kex *g);

#endif
