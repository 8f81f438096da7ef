/* SPDX-License-Identifier: ISC */
/*
 * Kerberos 5 by MIT's library, through its GSSAPI: what each side of a login
 * needs. The library is loaded by the first call that needs it. In a build
 * without it (gss-none.c) everything is refused.
 *
 * Threads: loop thread only. Calls may block, because they may ask a KDC, a
 * name server or a file system.
 */
#ifndef HPN_GSS_GSS_H
#define HPN_GSS_GSS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"

/* ---- the client's side -------------------------------------------------- */

/* What the client wants of the library. */
struct gss_request {
	const char *host; /* whose service "host" is to be convinced */
	/* The host's numeric address, where the name that DNS has for that
	 * counts and not the one above; or NULL. Is for
	 * client/auth/gss-login.h. */
	const char *address;
	/* The principal to be, of those that there are tickets of; NULL: as
	 * the library chooses. */
	const char *identity;
	bool delegate;	  /* let it act for the user further on */
	/* It has to prove itself too, which takes another token of it. RFC
	 * 4462 section 3.4 has no use for that, as its host key has settled
	 * who it is, but OpenSSH's server insists on it. */
	bool mutual;
	struct span signed_data; /* to compute the MIC over; borrowed. NULL:
				  * none is wanted */
};
/* The proof is what goes to the server; both may be empty. */
struct gss_proof {
	struct buf token;
	bool complete;	/* then there is the MIC that was asked for */
	bool delegated; /* as asked; the KDC may not allow it */
	uint64_t expires_s; /* of the ticket, since 1970 */
	struct buf mic;
};

static inline void
gss_proof_clear(struct gss_proof *p)
{
	buf_clear(&p->token);
	buf_clear(&p->mic);
	p->complete = p->delegated = false;
}

struct gss_initiator;

/* *why, when a call fails: the library's words, or NULL; the caller frees. */
int gss_initiator_new(struct gss_initiator **out,
    const struct gss_request *request, char **why) must_check;
void gss_initiator_free(struct gss_initiator *i);
/* token: of the server; empty at first. Fills *out, which is to be cleared,
 * with an error also: there may be a token that tells the server. */
int gss_initiator_step(struct gss_initiator *i, struct span token,
    struct gss_proof *out, char **why) must_check;

/* Of a complete context: a MIC over data for the server, and is this the
 * server's over data? */
int gss_initiator_sign(struct gss_initiator *i, struct span data,
    struct buf *mic, char **why) must_check;
int gss_initiator_verify(struct gss_initiator *i, struct span data,
    struct span mic, char **why) must_check;

/* ---- the server's side -------------------------------------------------- */

struct gss_acceptor;

/* host: tickets must be for this host's service "host"; NULL: for anything
 * that the keytab has a key of. An error means that there is no such key, or
 * no keytab. *why as above. */
int gss_acceptor_new(struct gss_acceptor **out, const char *host,
    char **why) must_check;
void gss_acceptor_free(struct gss_acceptor *a);
/* A token of the client. What is put into out, also with an error, is for the
 * client; it may be nothing. *complete: the client is known, and can sign. */
int gss_acceptor_step(struct gss_acceptor *a, struct span token,
    struct buf *out, bool *complete) must_check;
/* The client's MIC over the data is checked, in a complete context. */
int gss_acceptor_verify(struct gss_acceptor *a, struct span data,
    struct span mic) must_check;
/* A MIC over the data for the client is made, in a complete context. */
int gss_acceptor_sign(struct gss_acceptor *a, struct span data,
    struct buf *mic) must_check;
/* Why the last call failed; never NULL. */
const char *gss_acceptor_error(const struct gss_acceptor *a);
/* The client's principal in Kerberos' notation; NULL before the context is
 * complete. */
const char *gss_acceptor_principal(const struct gss_acceptor *a);
/* May the principal log in to this account, by the rules of Kerberos? Reads
 * the user's ~/.k5login, so it is to be called as the user. */
bool gss_acceptor_may_be(const struct gss_acceptor *a, const char *user);
/* The client has handed over credentials that we may act with. */
bool gss_acceptor_has_credentials(const struct gss_acceptor *a);
/* Writes these to a file, which is made anew. To be called as the user. */
int gss_acceptor_store(struct gss_acceptor *a, const char *path) must_check;

#endif
