/* SPDX-License-Identifier: ISC */
/*
 * The common part of the sources of --check: a check that is under way, and
 * what it has measured. Rates are bytes a second.
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
	CHECK_WHOLE_MS = 18500,	 /* from the login on, without removing the
				  * file */
	CHECK_SESSION_MS = 5000, /* time limit for the SFTP server's first
				  * answer */
	CHECK_ANSWER_MS = 3000,	 /* a single request */
	/* Time for data in one direction. A rate that does not settle takes
	 * longer, and leaves less time for the disk. */
	CHECK_MOVE_MS = 6500,
	CHECK_MOVE_SHORT_MS = 5000,
	CHECK_DISK_MS = 5000,
	CHECK_DISK_BYTES = 256 * 1024 * 1024,
	CHECK_CIPHER_MS = 80, /* time for one cipher and direction */
	CHECK_FAILURES_MAX = 8,
	CHECK_CONNECTIONS_MAX = 32,
	CHECK_WORDS_MAX = 160,
};
#define CHECK_MOVE_BYTES (UINT64_C(2) << 30)

/* Something that could not be measured, and why. what is a literal; words may
 * be the server's. */
struct check_failure {
	const char *what;
	char words[CHECK_WORDS_MAX];
};

/* A run of --check. */
struct check {
	const char *target;   /* as the user has typed it */
	char *user, *host;    /* owned; user NULL: the configuration decides */
	char *path;	      /* owned; NULL: the disk is not measured */
	int port;
	bool json;
	struct loop *loop;
	struct remote *remote;
	struct sftp *sftp;
	struct remote_copy copy;
	bool stop;  /* a signal has come: every phase ends */
	int signo;
	uint64_t until_ms; /* the time at which phases end, measured or not */

	uint64_t login_ms; /* from the begin of connecting to the SFTP server's
			    * answer */
	struct check_path network;
	struct check_ciphers ciphers;
	struct check_moved up, down;
	struct check_disk disk;
	void *disk_kept; /* the disk's state, if late answers still use it;
			  * freed at the end */
	struct check_failure failures[CHECK_FAILURES_MAX];
	unsigned failed;
};

/* check.c */
/* Notes that something could not be measured, and why. */
void check_fail(struct check *c, const char *what, const char *words);
/* limit_ms, or what is left of the check's time if that is less. */
uint64_t check_left(const struct check *c, uint64_t limit_ms);

/* check-call.c: the answer to a request, which has a time limit and ends with
 * the check. */
struct check_answer {
	int err; /* ERR_TIMEOUT: no answer came in time */
	uint32_t status;
	char words[CHECK_WORDS_MAX];
	struct sftp_handle handle;
	struct sftp_attrs attrs;
	uint64_t room; /* free bytes by statvfs; or UINT64_MAX */
};
struct check_call;
/* Makes the argument for a request's function check_call_done(). NULL: out of
 * memory. */
struct check_call *check_call_new(void);
void check_call_done(void *arg, const struct sftp_reply *reply);
/* Waits for the answer, and gives the call up. True: it has come, and the
 * session has no error; out->status has its status. */
bool check_call_wait(struct check *c, struct check_call *call,
    uint64_t limit_ms, struct check_answer *out);
/* Does nothing with data that was read: its bytes are counted when the answer
 * comes. */
void check_no_data(void *arg, uint64_t offset, const uint8_t *p, size_t len);

/* check-path.c */
/* Segments with data that all connections have sent, and sent again. */
struct check_sums {
	uint64_t sent, again;
};
struct check_sums check_sums_here(const struct check *c);
/* Questions to the server about all connections. check_ask() sends them;
 * answers come while other things happen. check_answered() waits for those that
 * are missing, and frees all. */
struct question;
struct check_asked {
	struct question *q[CHECK_CONNECTIONS_MAX];
	unsigned n;
};
void check_ask(const struct check *c, struct check_asked *a);
struct check_sums check_answered(const struct check *c, struct check_asked *a);
/* Reads the kernels' figures of the connection. after: data has moved by
 * now. */
void check_path_measure(struct check *c, bool after);

/* check-cipher.c: measures how fast this processor is with the connection's
 * cipher. */
void check_ciphers_measure(struct check *c);

/* check-move.c */
/* Moves data in one direction for a while; the streams stay open for the other
 * one. */
struct check_lanes;
int check_lanes_new(struct check_lanes **out, struct check *c) must_check;
/* Frees the lanes, after the remote was closed: until then answers may come. */
void check_lanes_free(struct check_lanes *m);
void check_move(struct check_lanes *m, bool up);

/* check-disk.c */
void check_disk_measure(struct check *c);

/* check-tell.c */
void check_tell_text(const struct check *c, struct buf *out);
void check_tell_json(const struct check *c, int status, struct buf *out);

#endif
