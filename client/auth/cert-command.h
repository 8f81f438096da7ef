/* SPDX-License-Identifier: ISC */
/*
 * CertificateCommand: a program of the user's choice that gets the user a new
 * certificate when none of those that would be tried is good for long enough.
 * It prints certificates, which are kept in memory until this process ends, so
 * that all its connections to the host use them; or it puts them where they
 * are looked for anyway: into the agent, or beside the key. It never prints a
 * private key: what it prints of one is dropped, and told.
 *
 * Threads: loop thread only; cert_command_run() blocks.
 */
#ifndef HPN_CLIENT_AUTH_CERT_COMMAND_H
#define HPN_CLIENT_AUTH_CERT_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/wire.h"
#include "conf/client-conf.h"
#include "keys/cert.h"
#include "keys/key.h"

/* The reason for which the program is run (token %I): there is no certificate;
 * the one that there is has ended, or is about to; the server has refused those
 * that there are. */
#define CERT_COMMAND_MISSING "MISSING"
#define CERT_COMMAND_ENDS "ENDS"
#define CERT_COMMAND_REFUSED "REFUSED"

/* Is the certificate of a user valid at the time now (seconds since 1970), and
 * a tenth of its life later, or five minutes if that is less? Pure. */
bool cert_command_is_good(const struct cert *c, uint64_t now);

/* For tests: reads what the program has printed: a certificate of a user in
 * each line, which is appended to *v (of *n). Other lines were logged at
 * VERBOSE; nothing is read behind a private key, which was told. */
void cert_command_read(struct span text, struct key ***v, size_t *n);

/* Runs the program for the host of conf, for the plain key k (NULL: none is
 * known). waits: somebody may be there to do what the program asks for. False:
 * it failed, which was logged, or was run for this host in vain less than a
 * minute ago, perhaps for another connection. */
bool cert_command_run(const struct client_conf *conf, const char *reason,
    const struct key *k, bool waits);
/* What the program got is a good certificate: when that ends, the program may
 * be run again at once. */
void cert_command_was_good(const struct client_conf *conf);
/* The i-th certificate that the program has printed for the host of conf.
 * Borrowed. NULL: there are no more. */
const struct key *cert_command_issued(const struct client_conf *conf,
    size_t i);

#endif
