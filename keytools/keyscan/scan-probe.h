/* SPDX-License-Identifier: ISC */
/*
 * One connection of a scan: identifications and a key exchange, until the
 * server has shown its host key and signed with it. Each step has a limit of
 * time, and what the server can send before the key has those of the packet
 * layer.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_KEYTOOLS_KEYSCAN_SCAN_PROBE_H
#define HPN_KEYTOOLS_KEYSCAN_SCAN_PROBE_H

#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "keys/key.h"

struct scan_probe;

struct scan_probe_params {
	struct loop *loop;	    /* borrowed */
	const char *hostkey_algs;   /* comma list; borrowed */
	const char *kex_algs, *mac_algs; /* so too */
	uint64_t step_ms; /* for the identification, and for the key */
	void *arg;
	/* The server's identification line, not escaped. */
	void (*banner)(void *arg, const char *line);
	/* The probe ends with the server's key; or with NULL and why not:
	 * ERR_NO_HOSTKEY_MATCH has no key of these, ERR_CLOSED, ERR_TIMEOUT...
	 * text may be NULL. The caller frees the probe, then or later. */
	void (*done)(void *arg, const struct key *k, int err,
	    const char *text);
};

/* Owns fd, a socket that is connected. */
int scan_probe_start(struct scan_probe **out, int fd,
    const struct scan_probe_params *params) must_check;
void scan_probe_free(struct scan_probe *p); /* NULL is fine */

#endif
