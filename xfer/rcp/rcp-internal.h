/* SPDX-License-Identifier: ISC */
/*
 * What the roles of the legacy copy protocol share: bytes in and out,
 * answers, and what is said when something goes wrong.
 */
#ifndef HPN_XFER_RCP_RCP_INTERNAL_H
#define HPN_XFER_RCP_RCP_INTERNAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "crypto/digest.h"
#include "xfer/progress.h"
#include "xfer/rcp/rcp-proto.h"
#include "xfer/rcp/rcp.h"

enum {
	RCP_BLOCK = 256 * 1024, /* bytes moved at a time */
	RCP_INPUT = 64 * 1024,
};

struct rcp {
	int fd_in, fd_out;
	struct rcp_opts opts;
	uint8_t *block; /* RCP_BLOCK bytes of a file */
	uint8_t *input; /* RCP_INPUT bytes, of which [at, end) is unread */
	size_t at, end;
	struct buf output; /* small things, until something is read */
	char line[RCP_LINE_MAX];
	unsigned owed; /* answers of the sink that were not read yet */
	unsigned long failures;
	bool heard;
	uint64_t allowed_us; /* with a rate: when more may be moved */
	struct progress_item item;
};

/* Bytes. Output waits until there is much, or input is wanted. */
int rcp_flush(struct rcp *c) must_check;
int rcp_put(struct rcp *c, const void *p, size_t len) must_check;
int rcp_get(struct rcp *c, void *p, size_t len) must_check;
/* What there is, at most max bytes; 0 at the end. */
ssize_t rcp_get_some(struct rcp *c, void *p, size_t max) must_check;
/* Up to the newline, which is left out, into c->line behind `have` bytes
 * that are there already. */
int rcp_get_line(struct rcp *c, size_t have) must_check;

/* Answers. rcp_answer(): 0; 1 refused, which was said and counted. */
int rcp_ok(struct rcp *c) must_check;
int rcp_answer(struct rcp *c) must_check;
/* All answers that are owed; gives the last one. */
int rcp_settle(struct rcp *c) must_check;
/* A line from the peer with 1 or 2 in front, which was read. */
int rcp_heard_message(struct rcp *c, uint8_t code) must_check;
/* Says something that went wrong, here and to the peer, and counts it. */
void rcp_fail(struct rcp *c, const char *path, const char *text);
/* Ends the session over what the peer did; ERR_PROTOCOL. */
int rcp_violated(struct rcp *c, const char *what);
/* The same for a name, and other things than the protocol. */
int rcp_ended(struct rcp *c, const char *path, const char *text);

/*
 * The sink's next record: 1, or 0 at the end of input. Messages of the
 * source are said on the way. `first`: nothing was read before, and so a
 * line may be a shell's.
 */
int rcp_next_record(struct rcp *c, struct rcp_record *rec,
    bool first) must_check;
/* Refuses names that are no plain ones, and at the top (depth 0) those that
 * nobody asked for. */
int rcp_check_record(struct rcp *c, const struct rcp_record *rec,
    const struct strlist *wanted, unsigned depth) must_check;

/* Progress and rate. */
void rcp_progress_start(struct rcp *c, const char *name, int64_t size,
    int64_t done);
void rcp_moved(struct rcp *c, size_t bytes);
void rcp_progress_finish(struct rcp *c, bool ok);
/* Bytes to move at a time. */
size_t rcp_piece(const struct rcp *c, int64_t left);

/* -Z. Hash of the first `size` bytes, or of all if there are fewer;
 * running (NULL: not wanted) is the computation, which can go on. */
int rcp_hash_file(struct rcp *c, int fd, int64_t size,
    char hex[RCP_HASH_HEX + 1], struct digest **running) must_check;
int rcp_hash_end(struct digest *d, char hex[RCP_HASH_HEX + 1]) must_check;
/* Source: reads what the sink has and decides. 0: send from *start on; 1:
 * the sink wants nothing. */
int rcp_resume_source(struct rcp *c, int fd, int64_t size,
    int64_t *start) must_check;
/* Sink: tells what it has, of a file that was there (existed) or was made
 * for this. 0: take from *start on, hash is that of what is in front, owned
 * by the caller; 1: it is whole. */
int rcp_resume_sink(struct rcp *c, int fd, const struct rcp_record *rec,
    bool existed, int64_t *start, struct digest **hash) must_check;
/* The same for a file that cannot be written, for what error says; fd may
 * be -1, or for reading. */
int rcp_resume_refuse(struct rcp *c, int fd, const struct rcp_record *rec,
    const char *path, int error) must_check;

#endif
