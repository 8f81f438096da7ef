/* SPDX-License-Identifier: ISC */
/*
 * What the roles of the legacy copy protocol share: bytes in and out,
 * answers, and the messages when something goes wrong.
 */
#ifndef HPN_XFER_RCP_RCP_INTERNAL_H
#define HPN_XFER_RCP_RCP_INTERNAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "crypto/digest.h"
#include "xfer/local/local-tree.h"
#include "xfer/progress.h"
#include "xfer/rcp/rcp-proto.h"
#include "xfer/rcp/rcp.h"

enum {
	RCP_BLOCK = 256 * 1024, /* bytes moved at a time */
	RCP_INPUT = 64 * 1024,
	/* A directory is sent or received in a recursive call, which keeps its
	 * path. So depth and length of paths are limited, as a peer may send
	 * directories without end. No path that a Linux program can name is as
	 * deep, or as long. */
	RCP_DEPTH_MAX = 2048,
	RCP_PATH_MAX = 16384,
};

/* A list of the directories above the one that is being sent, with their device
 * and inode numbers. */
struct rcp_above {
	const struct rcp_above *above;
	dev_t dev;
	ino_t ino;
};

struct rcp {
	int fd_in, fd_out;
	struct rcp_opts opts;
	struct local_tree *local; /* owned */
	uint8_t *block; /* RCP_BLOCK bytes, for data of files */
	uint8_t *input; /* RCP_INPUT bytes, of which [at, end) is unread */
	size_t at, end;
	struct buf output; /* output that is kept until it is large, or input is
			    * read */
	char line[RCP_LINE_MAX];
	unsigned answers_due; /* answers of the sink that are not read yet */
	unsigned depth; /* how many directories deep the transfer is now */
	const struct rcp_above *above; /* source: the directory that is sent
					* now */
	unsigned long failures;
	bool got_input; /* the peer has sent a byte */
	uint64_t allowed_us; /* with a rate: the time when more may be moved */
	struct progress_item item;
};

/* Bytes. rcp_put() keeps output until there is much of it, or input is read;
 * rcp_flush() writes it. */
int rcp_flush(struct rcp *c) must_check;
int rcp_put(struct rcp *c, const void *p, size_t len) must_check;
int rcp_get(struct rcp *c, void *p, size_t len) must_check;
/* Reads what there is, at most max bytes; 0 at the end of input. */
ssize_t rcp_get_some(struct rcp *c, void *p, size_t max) must_check;

/* Answers. rcp_ok() sends a positive one. rcp_answer() reads one: 0; 1: the
 * peer refused, which was printed and counted; or ERR_*. */
int rcp_ok(struct rcp *c) must_check;
int rcp_answer(struct rcp *c) must_check;
/* Reads all answers that are due; returns the last one. */
int rcp_read_answers(struct rcp *c) must_check;
/* Reads the peer's error message; its code (1 or 2) was read before. */
int rcp_peer_message(struct rcp *c, uint8_t code) must_check;
/* Prints an error, and counts it as a failure. */
void rcp_tell(struct rcp *c, const char *path, const char *text);
/* Does the last line that the peer sent end with this text? */
bool rcp_peer_said(const struct rcp *c, const char *end);
/* Prints an error, sends it to the peer, and counts it as a failure. */
void rcp_fail(struct rcp *c, const char *path, const char *text);
/* Like rcp_fail(), when the peer breaks the protocol. The session must end:
 * always returns ERR_PROTOCOL. */
int rcp_protocol_error(struct rcp *c, const char *what);
/* Like rcp_protocol_error(), for other reasons, with the path concerned. */
int rcp_end_session(struct rcp *c, const char *path, const char *text);

/* The reason why a directory with that path is not entered; NULL: it may be. */
const char *rcp_too_deep(const struct rcp *c, const char *path);

/*
 * The sink reads the next record: 1; 0 at the end of input; or ERR_*. Messages
 * of the source in front of the record are printed. `first`: nothing was read
 * before, so a line that is no record may be output of a shell's profile.
 */
int rcp_next_record(struct rcp *c, struct rcp_record *rec,
    bool first) must_check;
/* Checks a record. Names must be plain, and at the top (depth 0) among the
 * requested ones; else the session ends with ERR_PROTOCOL. */
int rcp_check_record(struct rcp *c, const struct rcp_record *rec,
    const struct strlist *wanted, unsigned depth) must_check;

/* Progress and rate. */
void rcp_progress_start(struct rcp *c, const char *name, int64_t size,
    int64_t done);
void rcp_moved(struct rcp *c, size_t bytes);
void rcp_progress_finish(struct rcp *c, bool ok);
/* How many bytes to move at a time, if `left` are to be moved. */
size_t rcp_piece(const struct rcp *c, int64_t left);

/* For -Z: the hash of the first `size` bytes of a file, or of all if there are
 * fewer. *running (may be NULL) is its computation, to which more bytes can be
 * added; the caller frees it. */
int rcp_hash_file(struct rcp *c, int fd, int64_t size,
    char hex[RCP_HASH_HEX + 1], struct digest **running) must_check;
int rcp_hash_end(struct digest *d, char hex[RCP_HASH_HEX + 1]) must_check;
/* Source: reads the state of the sink's file, and decides what to send. 0: send
 * from *start on; 1: the sink needs no data. */
int rcp_resume_source(struct rcp *c, int fd, int64_t size,
    int64_t *start) must_check;
/* Sink: sends the state of its file, which existed or was made for this copy.
 * 0: data from *start on follows, and *hash (owned by the caller) is of the
 * bytes in front of it; 1: the file is complete. */
int rcp_resume_sink(struct rcp *c, int fd, const struct rcp_record *rec,
    bool existed, int64_t *start, struct digest **hash) must_check;
/* Sink: like rcp_resume_sink(), for a file that cannot be written, for the
 * reason in error (an errno). It is a failure only if the file is not complete.
 * fd may be -1, or open for reading. */
int rcp_resume_refuse(struct rcp *c, int fd, const struct rcp_record *rec,
    const char *path, int error) must_check;

#endif
