/* SPDX-License-Identifier: ISC */
/*
 * One connection of a scan: exchanges identifications and keys, until the
 * server has shown its host key and signed with it. Each step has a time limit;
 * what the server can send before that is limited by the packet layer.
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
	const char *kex_algs, *mac_algs; /* likewise comma lists; borrowed */
	/* Time limit of each step: identification, and host key. */
	uint64_t step_ms;
	void *arg;
	/* The server's identification line, not escaped. */
	void (*banner)(void *arg, const char *line);
	/* The probe has ended: with the server's key and err 0, or with NULL
	 * and the error. ERR_NO_HOSTKEY_MATCH: the server has no key for
	 * hostkey_algs; ERR_CLOSED, ERR_TIMEOUT... text: the server's reason,
	 * or NULL. The receiver frees the probe, in this call or later. */
	void (*done)(void *arg, const struct key *k, int err,
	    const char *text);
};

/* Starts a probe over fd, a connected socket, which it owns from here on. */
int scan_probe_start(struct scan_probe **out, int fd,
    const struct scan_probe_params *params) must_check;
void scan_probe_free(struct scan_probe *p); /* NULL is fine */

#endif
