/* SPDX-License-Identifier: ISC */
/*
 * Messages between the two programs of a copy from host to host (hpnscp
 * --direct): the client, which the user has started, and `hpnscp --direct-end`,
 * which the client starts on the source's host and which connects to the
 * target's host; or the other way round, with --direct=pull. They go over the
 * standard input and output of the second one, each framed by fd_send_msg():
 *
 *  hello, to the client: u8 version, string public key
 *  job, from the client: struct direct_job
 *  what becomes of it, to the client: enum direct_message
 *
 * The end of the standard input means that nobody wants the copy any more; the
 * exit status tells how the copy went. docs/PROTOCOL.md has the grant in
 * between.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_COPY_DIRECT_WIRE_H
#define HPN_CLIENT_COPY_DIRECT_WIRE_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/wire.h"
#include "client/auth/login-tickets.h"

enum {
	DIRECT_VERSION = 1,
	DIRECT_MESSAGE_MAX = 1024 * 1024, /* bytes */
	DIRECT_SOURCES_MAX = 10000,
	DIRECT_SUM_LEN = 32, /* SHA-256 */
	DIRECT_TOLD_MAX = 8192, /* bytes of a message behind the hello */
	DIRECT_WHY_MAX = 512,   /* bytes of the text of DIRECT_NOT_SENT */
	/* The exit status when something has the name already that a directory
	 * would get. */
	DIRECT_EXIT_THERE = 17,
};

/* Bits of the job's flags: options of the copy. */
enum direct_flag {
	DIRECT_RECURSIVE = 1,
	DIRECT_PRESERVE = 2,
	DIRECT_VERBOSE = 4,
	DIRECT_FSYNC = 8,
	DIRECT_SPARSE = 16,
	DIRECT_LINKS = 32,
	DIRECT_HARD_LINKS = 64,
	DIRECT_NO_SPACE_CHECK = 128,
	DIRECT_SUMS = 256,     /* wants DIRECT_SUM, or DIRECT_LIST_SUM */
	DIRECT_FILES = 512,    /* wants messages DIRECT_DONE, DIRECT_FAILED */
	/* The program fetches a directory, the grant's "/", instead: the two
	 * strings that are the sources else are the path at its own host, and
	 * the name that the directory gets if that is one. */
	DIRECT_PULL = 1024,
	/* Single files of a tree, which hpnsync has chosen: the first source is
	 * the tree's top (with DIRECT_PULL, the path at the program's own host
	 * that files come to), and the others are paths below the top; sizes
	 * go with them. File number n of them, from 1 on, comes to the name
	 * "n" in the grant's "/", or in that path. */
	DIRECT_LIST = 2048,
	DIRECT_FLAGS = 4095,
};

/* Messages of the source's end behind its hello. */
enum direct_message {
	/* A file is done: string path, from the grant's "/" on; string SHA-256
	 * of what was read, or with DIRECT_PULL of what was made. Where the
	 * job wants it. */
	DIRECT_SUM = 1,
	/* How far it is: u64 files that were found, u64 that are done, u64
	 * bytes of all, u64 that are done, bool: it still lists. */
	DIRECT_AT,
	/* A file is done: string path of the source, u64 size, u64 milliseconds
	 * that it took. Where the job wants it. */
	DIRECT_DONE,
	/* Something failed: string path, string text. Where the job wants
	 * it. */
	DIRECT_FAILED,
	/* A file of a list is there as a whole: u32 number. */
	DIRECT_SENT,
	/* A file of a list cannot be copied: u32 number (0: all of which
	 * nothing else is told), string text. */
	DIRECT_NOT_SENT,
	/* The same as DIRECT_SUM, of a file of a list: u32 number, string
	 * SHA-256. */
	DIRECT_LIST_SUM,
};

/* The job that the client sends. Zeroed: empty. Clear with
 * direct_job_clear(). */
struct direct_job {
	uint8_t grant[LOGIN_TICKET_NAME_LEN]; /* name of the grant */
	char *host, *user; /* the other host, and the user to log in as there;
			    * owned */
	uint16_t port;
	struct buf hostkey; /* blob of the only host key that is accepted */
	uint32_t flags;
	uint64_t rate_bytes; /* a second; 0: no limit */
	struct strlist sources; /* paths or patterns */
	uint64_t *sizes; /* of all sources but the first, with DIRECT_LIST;
			  * owned */
};

void direct_job_put(struct buf *b, const struct direct_job *j);
/* Parses a job. ERR_FORMAT; ERR_LIMIT; ERR_UNSUPPORTED: it is of another
 * version. The caller clears j also after an error. */
int direct_job_get(struct rd *r, struct direct_job *j) must_check;
void direct_job_clear(struct direct_job *j);

#endif
