/* SPDX-License-Identifier: ISC */
/*
 * What the sources of --check share: a check under way, and what it has
 * measured. Rates are bytes a second.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_CHECK_CHECK_INTERNAL_H
#define HPN_CLIENT_CHECK_CHECK_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/loop.h"
#include "base/tcp.h"
#include "client/check/check-limits.h"
#include "client/copy/remote.h"
#include "xfer/sftp/sftp-engine.h"

/* Bounds of a check. */
enum {
	CHECK_WHOLE_MS = 18500,	 /* from the login on, but for removing */
	CHECK_SESSION_MS = 5000, /* until the SFTP server has answered */
	CHECK_ANSWER_MS = 3000,	 /* a single request */
	/* Data in one direction; a rate that does not settle takes longer, but
	 * then time is left for the disk. */
	CHECK_MOVE_MS = 6500,
	CHECK_MOVE_SHORT_MS = 5000,
	CHECK_DISK_MS = 5000,
	CHECK_DISK_BYTES = 256 * 1024 * 1024,
	CHECK_CIPHER_MS = 80, /* a cipher, in one direction */
	CHECK_FAILURES_MAX = 8,
	CHECK_CONNECTIONS_MAX = 32,
	CHECK_WORDS_MAX = 160,
};
#define CHECK_MOVE_BYTES (UINT64_C(2) << 30)

/* What could not be measured, and why. what is a literal; words may be the
 * server's. */
struct check_failure {
	const char *what;
	char words[CHECK_WORDS_MAX];
};

/* A run of --check. */
struct check {
	const char *target;   /* as the user has typed it */
	char *user, *host;    /* owned; user NULL: by configuration */
	char *path;	      /* owned; NULL: no disk is asked for */
	int port;
	bool json;
	struct loop *loop;
	struct remote *remote;
	struct sftp *sftp;
	struct remote_copy copy;
	bool stop;  /* a signal has come: all phases end */
	int signo;
	uint64_t until_ms; /* what is not measured by then is left */

	uint64_t login_ms; /* from connecting until the SFTP server answered */
	struct check_path network;
	struct check_ciphers ciphers;
	struct check_moved up, down;
	struct check_disk disk;
	void *disk_kept; /* what late answers use, freed at the end */
	struct check_failure failures[CHECK_FAILURES_MAX];
	unsigned failed;
};

/* check.c */
/* Notes that something could not be measured. */
void check_fail(struct check *c, const char *what, const char *words);
/* Of so many milliseconds those that are left. */
uint64_t check_left(const struct check *c, uint64_t limit_ms);

/* check-call.c: requests that have a time limit, and end with the check. */
struct check_answer {
	int err; /* ERR_TIMEOUT: none came in time */
	uint32_t status;
	char words[CHECK_WORDS_MAX];
	struct sftp_handle handle;
	struct sftp_attrs attrs;
	uint64_t room; /* bytes that statvfs says are free; or UINT64_MAX */
};
struct check_call;
/* A request's done function gets this as its argument: check_call_done(). NULL:
 * out of memory. */
struct check_call *check_call_new(void);
void check_call_done(void *arg, const struct sftp_reply *reply);
/* Waits for the answer, and forgets the call. True if it came and is no error
 * of the session; out->status says the rest. */
bool check_call_wait(struct check *c, struct check_call *call,
    uint64_t limit_ms, struct check_answer *out);
/* What reads of a check do with their data: nothing, as it is counted by the
 * answer. */
void check_no_data(void *arg, uint64_t offset, const uint8_t *p, size_t len);

/* check-path.c */
/* Segments with data that were sent, and sent again, over all connections. */
struct check_sums {
	uint64_t sent, again;
};
struct check_sums check_sums_here(const struct check *c);
/* Asks the server about all connections; the answers come while other things
 * happen. check_answered() waits for those that are left, and forgets all. */
struct question;
struct check_asked {
	struct question *q[CHECK_CONNECTIONS_MAX];
	unsigned n;
};
void check_ask(const struct check *c, struct check_asked *a);
struct check_sums check_answered(const struct check *c, struct check_asked *a);
/* Reads what the kernels know of the connection. after: data has moved. */
void check_path_measure(struct check *c, bool after);

/* check-cipher.c: how fast this processor is, for the connection's cipher. */
void check_ciphers_measure(struct check *c);

/* check-move.c */
/* Moves data for a while; the streams stay open for the next direction. */
struct check_lanes;
int check_lanes_new(struct check_lanes **out, struct check *c) must_check;
/* After the remote was closed: answers may come until then. */
void check_lanes_free(struct check_lanes *m);
void check_move(struct check_lanes *m, bool up);

/* check-disk.c */
void check_disk_measure(struct check *c);

/* check-tell.c */
void check_tell_text(const struct check *c, struct buf *out);
void check_tell_json(const struct check *c, int status, struct buf *out);

#endif
