/* SPDX-License-Identifier: ISC */
/*
 * CertificateCommand: a program of the user's choice. It is run when none of
 * the certificates that would be tried is valid for long enough, and gets the
 * user a new one. It may print certificates, which this process keeps in memory
 * for all its connections to the host; or put them where they are looked for
 * anyway: into the agent, or beside the key. It must not print a private key:
 * that is dropped, and reported.
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

/* The reason why the program is run (token %I): there is no certificate; the
 * one there is has ended, or ends soon; or the server has refused those there
 * are. */
#define CERT_COMMAND_MISSING "MISSING"
#define CERT_COMMAND_ENDS "ENDS"
#define CERT_COMMAND_REFUSED "REFUSED"

/* True if a user's certificate is valid at the time now (seconds since 1970),
 * and will be a tenth of its life later, or five minutes later if that is less.
 * Pure. */
bool cert_command_is_good(const struct cert *c, uint64_t now);

/* For tests: reads what the program has printed. Each line with a certificate
 * of a user is appended to *v (of *n); other lines are logged at VERBOSE.
 * Nothing behind a private key is read; that is reported. */
void cert_command_read(struct span text, struct key ***v, size_t *n);

/* Runs the program for the host of conf; k: the plain key, NULL: none is known.
 * waits: a user may be there to do what the program asks for. False: it failed,
 * which was logged; or it was run for this host in vain less than a minute ago,
 * perhaps for another connection. */
bool cert_command_run(const struct client_conf *conf, const char *reason,
    const struct key *k, bool waits);
/* Notes that what the program got was good: when that certificate ends, the
 * program may run again at once. */
void cert_command_was_good(const struct client_conf *conf);
/* The i-th certificate that the program has printed for the host of conf.
 * Borrowed. NULL: there are no more. */
const struct key *cert_command_issued(const struct client_conf *conf,
    size_t i);

#endif
