/* SPDX-License-Identifier: ISC */
/*
 * The records of the legacy copy protocol (rcp's, as scp -O speaks it), and
 * which names a sink accepts. Nothing here does I/O.
 *
 * The source sends lines: "C<mode> <size> <name>" in front of a file's bytes,
 * "D<mode> 0 <name>" and "E" around a directory's content, "T<mtime> <usec>
 * <atime> <usec>" in front of C or D. The sink answers each line with a NUL, or
 * with 1 or 2 and a line of text. With -Z of HPN-SSH a C record has the hash of
 * the file before the name, and the sink answers with RCP_SINK_STATE_LEN bytes
 * that tell what it has of the file.
 *
 * Threads: any.
 */
#ifndef HPN_XFER_RCP_RCP_PROTO_H
#define HPN_XFER_RCP_RCP_PROTO_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"
#include "base/str.h"

enum {
	RCP_OK = 0,
	RCP_WARNING = 1, /* a line of text follows, and the session goes on */
	RCP_FATAL = 2,	 /* a line of text follows, and the session is over */

	RCP_LINE_MAX = 16384, /* most bytes of a record */
	RCP_HASH_LEN = 64,    /* BLAKE2b-512 */
	RCP_HASH_HEX = 2 * RCP_HASH_LEN,
	RCP_SINK_STATE_LEN = 191,
	RCP_WANTED_MAX = 4096, /* most patterns that braces of a request may
				* make */
};

struct rcp_record {
	char type;		      /* C, D, E or T */
	unsigned mode;		      /* C, D: permissions, at most 07777 */
	int64_t size;		      /* C: bytes */
	char hash[RCP_HASH_HEX + 1];  /* C with -Z */
	const char *name;	      /* C, D: borrowed from the line */
	struct timespec mtime, atime; /* T */
};

/* Parses a line without its newline. 0 or ERR_FORMAT. */
int rcp_record_parse(struct rcp_record *rec, const char *line,
    bool resume) must_check;
/* Can it be the name of an entry of a directory? Not empty, no slash, not "."
 * or "..". */
bool rcp_name_is_plain(const char *name);

/* Which names a source may send. rcp_wanted_add() takes the user's request, a
 * pattern for a remote shell: it expands braces, and appends the last part of
 * each path to wanted. ERR_LIMIT, ERR_NOMEM. rcp_wanted_has(): may the source
 * send this name? */
int rcp_wanted_add(struct strlist *wanted, const char *request) must_check;
bool rcp_wanted_has(const struct strlist *wanted, const char *name);

/* What a sink already has of a file, with -Z. */
struct rcp_sink_state {
	char kind; /* S: skip the file; R: the sink has a beginning of the file,
		    * or nothing; C: the sink has something that cannot be
		    * continued */
	unsigned mode;
	int64_t size;
	char hash[RCP_HASH_HEX + 1]; /* of these bytes; "": not told */
};

void rcp_sink_state_write(char out[RCP_SINK_STATE_LEN],
    const struct rcp_sink_state *s);
/* Reads what rcp_sink_state_write() wrote. ERR_FORMAT. */
int rcp_sink_state_parse(struct rcp_sink_state *s,
    const char in[RCP_SINK_STATE_LEN]) must_check;

#endif
