/* SPDX-License-Identifier: ISC */
/*
 * The server side of SFTP version 3 as a state machine: request bytes go
 * in, replies come out. It does no input or output of its own but the file
 * operations, so that it runs over stdin/stdout, over a socket, or inside a
 * connection's process.
 *
 * The data of a READ is read from the file straight to where the reply goes;
 * the data of a WRITE is written straight from the caller's input, in pieces
 * as it arrives. No request is taken while more than SFTP_SERVE_OUTPUT_MAX
 * bytes wait to be sent, so a peer that does not read cannot make it grow.
 *
 * With opts.threads, worker threads do what would have to wait for a disk, and
 * what always takes long (digests, fsync, copies). Results are as if all
 * requests were done one after the other.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_SERVE_SFTP_SERVE_H
#define HPN_XFER_SERVE_SFTP_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

enum {
	SFTP_SERVE_OUTPUT_MAX = 256 * 1024, /* bytes, then one reply more */
	SFTP_SERVE_THREADS = 4,		    /* for opts.threads */
};

struct owners;
struct sftp_serve;

/* What a session has done. Paths are as the client gave them. */
struct sftp_serve_event {
	enum {
		SFTP_SERVE_TRANSFER, /* a file was read or written */
		SFTP_SERVE_DELETE,   /* a file or directory */
		SFTP_SERVE_RENAME,
	} what;
	const char *path, *path2; /* path2: the new name */
	bool writes; /* a transfer to a file, not from it */
	uint64_t bytes_read, bytes_written;
	uint64_t ms; /* how long the file was open */
	enum {
		SFTP_SERVE_DONE,
		SFTP_SERVE_PART,   /* written under a part's name, and not
				    * renamed by this session */
		SFTP_SERVE_FAILED, /* closed by the session's end, or with an
				    * error */
	} result;
};

/* Bounds of a session, as in confine@hpnssh.org. UINT64_MAX: any number. */
struct sftp_serve_bounds {
	const char *path;
	uint32_t rights; /* enum sftp_right */
	uint64_t bytes, files, deletes;
};

/* All strings are borrowed for the life of the engine; NULL = not given. */
struct sftp_serve_opts {
	bool read_only;	     /* refuse what changes anything */
	const char *allowed; /* allow only these requests; a comma list of
			      * names */
	const char *denied;  /* refuse these requests; a comma list */
	const char *home;    /* the user's home directory, for "~" */
	const char *user;    /* name of the user whose session it is */
	/* The process that looks up names of users and groups; NULL: they are
	 * looked up in this process. */
	struct owners *owners;
	bool quiet;	     /* log errors only */
	/* The caller takes replies with sftp_serve_take(), not from the buffer.
	 * READs then wait for that call, and put their data where it says. */
	bool direct;
	unsigned threads; /* most worker threads; they start when needed. 0: the
			   * loop does all */
	bool eager;	  /* workers get every request that a worker may run:
			   * for tests */
	/* Bounds that hold from the beginning of the session, as by
	 * confine@hpnssh.org; NULL: none. Read by sftp_serve_new() only. */
	const struct sftp_serve_bounds *bounds;
	bool left_early;  /* put-file removes an old part of a killed server at
			   * once, not only when it is an hour old: for tests */
	size_t walk_bytes; /* most bytes of names that a walk holds; 0: the
			    * default */
	bool no_openat2;  /* do as on a system without openat2(2): for tests */
	/* Called for what is done, with what is borrowed; or NULL. */
	void (*tell)(void *arg, const struct sftp_serve_event *e);
	void *tell_arg;
	/* Called with every path of every request; false: the request is
	 * refused. */
	bool (*path_ok)(void *arg, const char *path);
	void *path_ok_arg;
	/* Is called between slices of long work that the loop does. True:
	 * nobody waits for the answer any more, and the request fails. NULL:
	 * not called. */
	bool (*gone)(void *arg);
	void *gone_arg;
};

/* Life. Files that are still open at the end are closed. */
int sftp_serve_new(struct sftp_serve **out,
    const struct sftp_serve_opts *opts) must_check;
void sftp_serve_free(struct sftp_serve *s);

/* Ends the session: nothing is answered any more. True if it can be freed
 * without waiting for workers that wait for a disk; else call it again when
 * sftp_serve_fd() is readable. */
bool sftp_serve_end(struct sftp_serve *s);

/*
 * Takes bytes of requests, and answers what workers have finished. Returns
 * how many were used: fewer than len while sftp_serve_blocked(); offer the
 * rest again after output was sent, or when sftp_serve_fd() is readable.
 * Errors: ERR_PROTOCOL, ERR_LIMIT, ERR_NOMEM; then the session is over.
 */
ssize_t sftp_serve_input(struct sftp_serve *s, const uint8_t *p,
    size_t len) must_check;
/* Replies to send; the caller consumes the bytes that it has sent. */
struct buf *sftp_serve_output(struct sftp_serve *s);
/* With opts.direct: writes replies to p. Returns how many bytes; 0: there are
 * none now. Errors as of sftp_serve_input(). */
ssize_t sftp_serve_take(struct sftp_serve *s, uint8_t *p,
    size_t max) must_check;
/* True while the engine takes no input: output is full, or a request is
 * parked. */
bool sftp_serve_blocked(const struct sftp_serve *s);
/* True if all requests are answered, and nothing waits to be sent. */
bool sftp_serve_idle(const struct sftp_serve *s);
/* True if a request is parked, or workers have requests that are not yet
 * answered. */
bool sftp_serve_has_work(const struct sftp_serve *s);
/* A descriptor that is readable when workers have finished something: the
 * caller then calls sftp_serve_input(), if need be with len 0. -1 as long as
 * there are no workers. */
int sftp_serve_fd(const struct sftp_serve *s);

/* The name of request i of all that there are; NULL past the end. */
const char *sftp_serve_request_name(size_t i);
/* For tests: the counts_as of request i (sftp-serve.c); NULL past the end. */
const char *sftp_serve_request_counts_as(size_t i);
/* True if every name of a comma list is a request's. */
bool sftp_serve_names_valid(const char *list);

#endif
