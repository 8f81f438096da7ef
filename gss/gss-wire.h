/* SPDX-License-Identifier: ISC */
/*
 * How gssapi-with-mic (RFC 4462 section 3) is written down: names of
 * mechanisms, and what a MIC is made of. Knows no GSSAPI library.
 *
 * Threads: any.
 */
#ifndef HPN_GSS_GSS_WIRE_H
#define HPN_GSS_GSS_WIRE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"

enum {
	GSS_MECHS_MAX = 2048,	    /* that a client may name in a request */
	GSS_TOKEN_MAX = 128 * 1024, /* bytes; a Windows domain's come to 64K */
	GSS_STEPS_MAX = 16,	    /* tokens of the client in one try */
	GSS_MIC_MAX = 4096,	    /* bytes */
};

/* The one mechanism that we have: Kerberos 5, as an OID in DER. */
struct span gss_wire_kerberos(void);
bool gss_wire_is_kerberos(struct span oid);
/* The list of a request, with that one mechanism. */
void gss_wire_put_request(struct buf *b);
/* Reads such a list, which ends the request: the mechanism that we have is
 * there, or not. ERR_PROTOCOL if there are none in it, or too many. */
int gss_wire_get_request(struct rd *in, bool *kerberos) must_check;
/* What the client's MIC is computed over, for a method ("gssapi-with-mic"). */
void gss_wire_put_signed(struct buf *b, struct span session_id,
    const char *user, const char *service, const char *method);

#endif
