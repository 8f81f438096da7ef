/* SPDX-License-Identifier: ISC */
/*
 * The parts of messages of gssapi-with-mic (RFC 4462 section 3): names of
 * mechanisms, and the data that a MIC is computed over. Uses no GSSAPI library.
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
	/* Mechanisms that a request of a client may name. */
	GSS_MECHS_MAX = 2048,
	/* Bytes of a token; those of a Windows domain have up to 64K. */
	GSS_TOKEN_MAX = 128 * 1024,
	/* Tokens of a client in one login attempt. */
	GSS_STEPS_MAX = 16,
	GSS_MIC_MAX = 4096,	    /* bytes of a MIC */
};

/* The only mechanism that we support: Kerberos 5, as an OID in DER. */
struct span gss_wire_kerberos(void);
bool gss_wire_is_kerberos(struct span oid);
/* Appends a request's list of mechanisms, with Kerberos 5 only. */
void gss_wire_put_request(struct buf *b);
/* Reads a request's list of mechanisms, which is its last field. *kerberos:
 * Kerberos 5 is in it. ERR_PROTOCOL: the list is empty, or has more than
 * GSS_MECHS_MAX. */
int gss_wire_get_request(struct rd *in, bool *kerberos) must_check;
/* Appends the data that the client's MIC is computed over; method is
 * "gssapi-with-mic". */
void gss_wire_put_signed(struct buf *b, struct span session_id,
    const char *user, const char *service, const char *method);

#endif
