/* SPDX-License-Identifier: ISC */
/*
 * The file of --receipt: what went from host to host, with the digests that
 * both hosts have of it, as one JSON object (hpnscp(1)). It is written as the
 * copy goes on, and has another name until it is whole.
 *
 * Threads: one at a time.
 */
#ifndef HPN_CLIENT_COPY_DIRECT_RECEIPT_H
#define HPN_CLIENT_COPY_DIRECT_RECEIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/wire.h"
#include "client/copy/direct-wire.h"
#include "xfer/target.h"

struct direct_receipt;
struct remote;

/* Who takes part; all is borrowed. */
struct direct_parties {
	const struct xfer_target *teller; /* where digests are told from: it
					   * is as the user has named it, for
					   * hpnssh connects to it */
	/* The other host, which gives grants. It is asked for the digests of
	 * its files, to compare them with those that were told. */
	const char *host, *user;
	int port;
	struct span hostkey;
};

/* A file that was moved, or was to be. */
struct direct_receipt_file {
	const char *path; /* at the host that gives grants: where it belongs,
			   * or, with pull, is */
	const uint8_t *told; /* the digest that the other host has told; NULL:
			      * none */
	const uint8_t *asked; /* that of the host that gives grants; NULL: it
			       * has none */
	bool has_size;
	uint64_t size;
};

/* The parties of a copy by grants of the host that remote is connected to. */
struct direct_parties direct_parties_of(const struct remote *remote,
    const struct xfer_target *teller);

/* Makes the file; pull: the target's host tells. ERR_SYSTEM with errno. All
 * other functions may have a receipt of NULL, of which there is none. */
int direct_receipt_new(struct direct_receipt **out, const char *path,
    bool pull) must_check;
/* Writes who takes part. */
void direct_receipt_begin(struct direct_receipt *r,
    const struct direct_parties *who);
/* Notes a grant: the key that it is bound to, and its directory. */
void direct_receipt_grant(struct direct_receipt *r, struct span key,
    const char *directory);
void direct_receipt_put(struct direct_receipt *r,
    const struct direct_receipt_file *f);
/* Gives the file its name if keep is true and it has begun, with how the copy
 * has ended, and frees r. whole: nothing has failed. 0: digest gets the SHA-256
 * of the file. ERR_NOT_FOUND: there is none; ERR_SYSTEM with errno: it could
 * not be written. */
int direct_receipt_end(struct direct_receipt *r, bool keep, bool whole,
    uint8_t digest[DIRECT_SUM_LEN]) must_check;

#endif
