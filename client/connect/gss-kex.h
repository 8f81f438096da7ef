/* SPDX-License-Identifier: ISC */
/*
 * Key exchange by GSSAPI, the client's part: it gets a ticket for the first
 * exchange and one for every later exchange, checks the proof that the server
 * is the one that was meant, and makes the MIC for gssapi-keyex.
 *
 * Threads: loop thread only. gss_kex_offer() and the steps of an exchange
 * block, but only gss_kex_offer() waits for a KDC, and no longer than
 * ConnectTimeout.
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

/* The pointers are borrowed until gss_kex_free(). */
struct gss_kex_params {
	const struct client_conf *conf;
	const char *address; /* numeric, of the server; or NULL */
	struct hostcheck *hostcheck;
	struct loop *loop;
	void *arg;
	/* Called from the loop when an exchange has gone on because its ticket
	 * arrived, or when a renewed ticket has started one. The messages are
	 * to be sent. An error ends the connection. */
	void (*moved)(void *arg, int err);
};

/* Proposes key exchange by GSSAPI, if the configuration wants that and there is
 * a ticket; to be called before k's first exchange. Else *out is NULL, which
 * the functions below accept, except gss_kex_sign(). k is borrowed. */
int gss_kex_offer(struct gss_kex **out, const struct gss_kex_params *params,
    struct kex *k) must_check;
void gss_kex_free(struct gss_kex *g);
/* The key exchange methods that are proposed, a comma list. NULL: none.
 * Borrowed from g. */
const char *gss_kex_methods(const struct gss_kex *g);
/* Appends a MIC over data, by the ticket of the first exchange. Only after a
 * first exchange by GSSAPI, and before gss_kex_settle(). g is a struct
 * gss_kex. */
int gss_kex_sign(void *g, struct span data, struct buf *mic) must_check;
/* The user is logged in, so that gss_kex_sign() is no longer needed: drops the
 * first ticket. From here on, with GSSAPIRenewalForcesRekey, a renewed ticket
 * of the user starts a rekey. */
void gss_kex_settle(struct gss_kex *g);

#endif
