/* SPDX-License-Identifier: ISC */
/*
 * Grants (docs/PROTOCOL.md) in a job's directory, with the keys that they are
 * bound to: a process that has logged in leaves them for the shards, so that
 * each can log in once without a person and without the user's keys. Each is a
 * file of its own, which is taken by removing it.
 *
 *  grants/giver      is locked by the process that gives them
 *  grants/grant-...  those that nobody has taken yet
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_JOB_JOB_GRANT_H
#define HPN_CLIENT_JOB_JOB_GRANT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "client/job/job.h"

struct key;

enum { JOB_GRANT_NAME_LEN = 24 };

/* All is owned. Zeroed: none. Clear with job_grant_clear(). */
struct job_grant {
	uint8_t grant[JOB_GRANT_NAME_LEN]; /* its name at the server */
	uint32_t rights;    /* of it (xfer/sftp/sftp-rights.h) */
	bool verify; /* the giver's configuration has CopyVerify */
	char *host, *user;  /* as they are connected to */
	uint16_t port;
	struct buf hostkey; /* blob of the only key that the host may show */
	struct key *key;    /* private */
};

/* Opens the directory of grants in that of a job; make: makes it, if it is not
 * there. Errors are ERR_*, with errno if ERR_SYSTEM (ENOENT: there is none).
 * ERR_PERMISSION: others than its owner can use it. */
int job_grants_open(int dir, bool make, int *grants) must_check;
/* Locks the directory until *lock is closed. ERR_SYSTEM with EAGAIN or EACCES:
 * another process has it. Removes what an earlier one has left. */
int job_grants_lock(int grants, int *lock) must_check;
/* Writes a grant under that name, of fewer than JOB_NAME_MAX bytes, which
 * begins with "grant-". */
int job_grant_put(int grants, const char *name,
    const struct job_grant *g) must_check;
/* Takes any grant. ERR_AGAIN: there is none now. The caller clears *g also
 * after an error. */
int job_grant_take(int grants, struct job_grant *g) must_check;
void job_grant_clear(struct job_grant *g);

#endif
