/* SPDX-License-Identifier: ISC */
/*
 * Inside of the SFTP client engine: shared by sftp-engine.c (life, output,
 * state of the session), sftp-request.c and sftp-reply.c. No other file
 * includes it.
 *
 * Each request without an answer has a slot in one table. Its id is made of the
 * slot and a count that changes with each use of the slot. So an answer that
 * comes twice, or belongs to no request, is noticed. The output consists of
 * bytes in s->out, and of WRITEs whose data is still in a file (s->files).
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_SFTP_SFTP_INTERNAL_H
#define HPN_XFER_SFTP_SFTP_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "xfer/sftp/carrier.h"
#include "xfer/sftp/sftp-engine.h"

enum { SFTP_SLOTS_MAX = 0x10000 };
#define SFTP_CHECK_ALGORITHM "sha256"

struct sftp_request {
	bool used;
	bool confines; /* the answer says whether the session is confined */
	uint8_t type; /* of a walk OPENDIR, since its answer is a handle, too */
	uint16_t count;
	uint32_t want;	 /* bytes of a READ */
	uint64_t offset; /* of a READ; or where the file of a WRITE is read
			  * next */
	struct {
		uint32_t len, left; /* bytes of data in all; not yet taken as
				     * output */
		uint32_t got;	    /* bytes that the file had */
		int fd, error;
		uint64_t us;	    /* microseconds that reading took */
		size_t before; /* bytes of s->out behind the data of the WRITE
				* before it */
		int next;      /* slot of the next WRITE from a file, or -1 */
	} file; /* for a WRITE from a file */
	sftp_data_fn data;
	sftp_done_fn done;
	void *arg;
	int next_free;
};

struct sftp {
	struct buf in, out;
	int err; /* sticky: why the session is over */
	struct sftp_request *requests;
	int cap, free_slot;
	size_t pending;
	/* A DATA reply whose bytes are still arriving. */
	struct {
		uint32_t left, len;
		uint64_t offset;
		int slot; /* -1: none */
	} data;
	struct {
		size_t mark;
		uint32_t room;
		int slot;
		size_t head;
	} write;
	/* List of WRITEs from files, in the order of the output. s->out has
	 * only the heads of their messages; the data is read when it is
	 * taken. */
	struct {
		int first, last; /* slots; -1: none */
		size_t before;	 /* sum of their file.before */
		size_t left;	 /* sum of their file.left, bytes */
	} files;
	uint64_t received, sent;
	char words[SFTP_WORDS_MAX]; /* the text of the last status that was an
				     * error */
	uint32_t version;
	bool limits_pending;
	bool handle_requested; /* a request for one was sent at least once */
	struct sftp_limits limits;
	bool has[SFTP_EXT_COUNT];
	enum sftp_renames renames;
	unsigned confines; /* confine requests without an answer */
	bool is_confined;
	struct xfer_carrier carrier;
};

/* How a server offers an extension in VERSION. version NULL: the server sends a
 * comma list of algorithms instead of a version. */
struct sftp_offer {
	const char *name, *version;
};
extern const struct sftp_offer sftp_extensions[SFTP_EXT_COUNT];

/* Ends the session: all requests under way are answered with err. If the
 * session was over already, its first error stays. */
void sftp_end(struct sftp *s, int err);
/* Frees the slot of a request, then calls its done. */
void sftp_complete(struct sftp *s, int slot, const struct sftp_reply *reply);
/* Tells the carrier, if there is one, of output that was just queued. */
void sftp_wake(const struct sftp *s);
void sftp_request_limits(struct sftp *s, sftp_done_fn done, void *arg);

#endif
