/* SPDX-License-Identifier: ISC */
/*
 * Kerberos 5 by MIT's library, through its GSSAPI: what client and server each
 * need for a login. The library is loaded by the first call that needs it. In a
 * build without GSSAPI (gss-none.c) all calls fail.
 *
 * Threads: loop thread only. Calls may block, because the library may ask a
 * KDC, a name server or a file system.
 */
#ifndef HPN_GSS_GSS_H
#define HPN_GSS_GSS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"

/* ---- the client's side -------------------------------------------------- */

/* What the client asks the library for. All is borrowed. */
struct gss_request {
	/* Name of the server: the client proves itself to the service "host"
	 * there. */
	const char *host;
	/* The server's numeric address, if the name that DNS has for the
	 * address is to be used in place of host; else NULL. Only
	 * client/auth/gss-login.h uses it. */
	const char *address;
	/* The principal to log in as, of those that the user has tickets of;
	 * NULL: the library chooses. */
	const char *identity;
	/* Delegate credentials, so that the server can act for the user. */
	bool delegate;
	/* The server has to prove itself, too, which takes another token of the
	 * server. RFC 4462 section 3.4 does not need that, because the server's
	 * host key has shown who it is, but OpenSSH's server insists on it. */
	bool mutual;
	/* Data to compute the MIC over; borrowed. p NULL: no MIC is wanted. */
	struct span signed_data;
};
/* What the client has to send to the server: a token and a MIC, each of which
 * may be empty. */
struct gss_proof {
	struct buf token;
	/* The context is complete, and mic is filled in if wanted. */
	bool complete;
	bool delegated; /* credentials were delegated; the KDC may forbid it */
	uint64_t expires_s; /* end of the ticket, seconds since 1970 */
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

/* If a call of the client's side fails, *why is the reason in the library's
 * words, or NULL; the caller frees it. */
int gss_initiator_new(struct gss_initiator **out,
    const struct gss_request *request, char **why) must_check;
void gss_initiator_free(struct gss_initiator *i);
/* Takes the server's token, which is empty in the first step, and fills *out.
 * The caller clears *out, and sends what it has also after an error: there may
 * be a token that tells the server. */
int gss_initiator_step(struct gss_initiator *i, struct span token,
    struct gss_proof *out, char **why) must_check;

/* With a complete context: makes a MIC over data for the server; verifies the
 * server's MIC over data. */
int gss_initiator_sign(struct gss_initiator *i, struct span data,
    struct buf *mic, char **why) must_check;
int gss_initiator_verify(struct gss_initiator *i, struct span data,
    struct span mic, char **why) must_check;

/* ---- the server's side -------------------------------------------------- */

struct gss_acceptor;

/* host: the client's ticket must be for the service "host" of this host; NULL:
 * for any service that the keytab has a key of. Fails if there is no such key,
 * or no keytab. *why is as above. */
int gss_acceptor_new(struct gss_acceptor **out, const char *host,
    char **why) must_check;
void gss_acceptor_free(struct gss_acceptor *a);
/* Takes a token of the client. What is put into out, also after an error, has
 * to be sent to the client; it may be nothing. *complete: the context is
 * complete, and the client is known. */
int gss_acceptor_step(struct gss_acceptor *a, struct span token,
    struct buf *out, bool *complete) must_check;
/* Verifies the client's MIC over data, with a complete context. */
int gss_acceptor_verify(struct gss_acceptor *a, struct span data,
    struct span mic) must_check;
/* Makes a MIC over data for the client, with a complete context. */
int gss_acceptor_sign(struct gss_acceptor *a, struct span data,
    struct buf *mic) must_check;
/* The reason why the last call failed; never NULL. */
const char *gss_acceptor_error(const struct gss_acceptor *a);
/* The client's principal in Kerberos' notation; NULL before the context is
 * complete. */
const char *gss_acceptor_principal(const struct gss_acceptor *a);
/* Whether the client's principal may log in to this account, by the rules of
 * Kerberos. It reads the user's ~/.k5login, so it must run as the user. */
bool gss_acceptor_may_be(const struct gss_acceptor *a, const char *user);
/* The client has delegated credentials to us. */
bool gss_acceptor_has_credentials(const struct gss_acceptor *a);
/* Writes the delegated credentials to a new file at path. It must run as the
 * user. ERR_NOT_FOUND: there are none. */
int gss_acceptor_store(struct gss_acceptor *a, const char *path) must_check;

#endif
