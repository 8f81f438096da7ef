/* SPDX-License-Identifier: ISC */
/*
 * Inside of the SFTP client engine: shared by sftp-engine.c (life, output,
 * state of the session), sftp-request.c and sftp-reply.c. Nobody else includes
 * it.
 *
 * Each request without an answer has a slot of one table. Its id is the slot
 * and a count that changes with each use, so that an answer that comes twice
 * or belongs to no request is noticed. The output is bytes, and WRITEs whose
 * data is still in its file (s->files).
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
	uint8_t type;
	uint16_t count;
	uint32_t want;	 /* bytes of a READ */
	uint64_t offset; /* of a READ, or where a WRITE's file is read next */
	struct {
		uint32_t len, left; /* bytes in all, and not yet taken */
		uint32_t got;	    /* that the file had */
		int fd, error;
		uint64_t us;	    /* that reading took */
		size_t before; /* bytes of s->out between it and the last */
		int next;      /* slot; -1 */
	} file; /* of a WRITE from a file */
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
	/* WRITEs whose data is read when it is taken, in the order of the
	 * output, which has only their heads. */
	struct {
		int first, last; /* slots; -1: none */
		size_t before;	 /* sum of theirs */
		size_t left;	 /* bytes, the same */
	} files;
	uint64_t received;
	char words[SFTP_WORDS_MAX]; /* of the last status */
	uint32_t version;
	bool limits_pending;
	bool handle_requested; /* once: OPEN or OPENDIR was sent */
	struct sftp_limits limits;
	bool has[SFTP_EXT_COUNT];
	enum sftp_renames renames;
	struct xfer_carrier carrier;
};

/* How a server offers it; version NULL: the data is a comma list of what it
 * can do. */
struct sftp_offer {
	const char *name, *version;
};
extern const struct sftp_offer sftp_extensions[SFTP_EXT_COUNT];

/* The session is over: all that is under way is answered with err. The first
 * err stays. */
void sftp_end(struct sftp *s, int err);
/* Frees the slot of a request, then calls its done. */
void sftp_complete(struct sftp *s, int slot, const struct sftp_reply *reply);
/* Tells the carrier, if there is one, of output that was just queued. */
void sftp_wake(const struct sftp *s);
void sftp_request_limits(struct sftp *s, sftp_done_fn done, void *arg);

#endif
