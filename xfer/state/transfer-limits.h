/* SPDX-License-Identifier: ISC */
/* Bounds of a transfer, and the lists that its structures are in. */
#ifndef HPN_XFER_STATE_TRANSFER_LIMITS_H
#define HPN_XFER_STATE_TRANSFER_LIMITS_H

#include "compat/queue.h"

enum {
	/* Bytes of the path of a directory. Servers allow less: 4096 on
	 * Linux. */
	XFER_PATH_MAX = 16384,
	/* Most links of the server on the way to a directory. A loop of links
	 * ends there, if not at the server before (Linux allows 40). */
	XFER_LINKS_MAX = 64,
	/* directories that are deeper count as the deepest */
	XFER_USUAL_DEPTHS = 64,
	XFER_QUEUE_MAX = 2048,	 /* files found but not started */
	XFER_DIRS_MAX = 1000000, /* directories found but not done */
	XFER_LISTINGS_MAX = 1024, /* handles of directories */
	/* names expected in a directory before anything is known */
	XFER_NAMES_FIRST = 8,
	/* names that are known: with more, answers that are larger than
	 * expected are dropped */
	XFER_NAMES_ROOM = 16384,
	XFER_OUTPUT_MAX = 512 * 1024, /* buffered bytes, then requests wait */
	XFER_STREAMS_MAX = 32,
	XFER_MODE_COPIED = 0777,
	XFER_MODE_PRESERVED = 01777, /* no setuid, setgid: the copy may have
				      * another owner than the source */
	XFER_MODE_KEPT = 07777, /* bits taken from a target that is replaced */
	/* mode of a part: its owner has to open it again */
	XFER_MODE_PART = 0600,
	/* Whole pages; with its header it fits in one of the large packets that
	 * our own client and server exchange. */
	XFER_BLOCK_MAX = 248 * 1024,
	XFER_CHUNK_MIN = 1024 * 1024,
	XFER_CHUNK_MAX = 32 * 1024 * 1024,
	/* names tried for a part or a link; the last ones are random, so that
	 * they are not taken by chance */
	XFER_NAMES_TRIED = 41,
	XFER_DIGEST_BYTES = 32, /* SHA-256 */
	XFER_DIGEST_BLOCK = 1024 * 1024, /* bytes that one digest covers */
	XFER_DIGESTS_MAX = 1024, /* blocks being compared */
};

struct xfer;
struct xfer_block;
struct xfer_delta;
struct xfer_deltas;
struct xfer_dir;
struct xfer_duty;
struct xfer_file;
struct xfer_handle;
struct xfer_meet;
struct xfer_pending;
struct xfer_stream;
struct xfer_digests;
struct xfer_names;
struct xfer_ordered;
struct xfer_there;
TAILQ_HEAD(xfer_pending_list, xfer_pending);
TAILQ_HEAD(xfer_files, xfer_file);
TAILQ_HEAD(xfer_dirs, xfer_dir);
TAILQ_HEAD(xfer_handles, xfer_handle);
TAILQ_HEAD(xfer_stream_list, xfer_stream);

#endif
