/* SPDX-License-Identifier: ISC */
/* Whether what is copied fits at the target: the free space there, and what the
 * copy needs. */
#ifndef HPN_XFER_STATE_SPACE_STATE_H
#define HPN_XFER_STATE_SPACE_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct local_dir;


struct xfer_space {
	enum {
		XFER_SPACE_NEW,
		XFER_SPACE_ASKED,
		XFER_SPACE_KNOWN,
		XFER_SPACE_UNKNOWN, /* the free space is not known */
		XFER_SPACE_OFF,	    /* the check is over, or is not wanted */
	} state;
	bool up;
	/* there are directories, so the check waits until all is listed */
	bool tree;
	char *path;	 /* owned; the first target; NULL: none yet */
	struct local_dir *at; /* owned; a directory that a download fills */
	uint64_t free;	 /* bytes free at the target */
	uint64_t needed; /* bytes of all files that were found */
	uint64_t begun;	 /* bytes of files that have begun, less what they
			  * replace */
};

#endif
