/* SPDX-License-Identifier: ISC */
/* How many handles a server gives at a time. It may give fewer than it has
 * told, or than the client expects while it has told nothing: then it answers
 * FAILURE, which has other causes as well. Threads: one at a time. */
#ifndef HPN_XFER_STREAMS_HANDLE_LIMIT_H
#define HPN_XFER_STREAMS_HANDLE_LIMIT_H

#include "xfer/state/handle-state.h"

/* A handle was granted. The limit grows, if there is one below most. */
void xfer_handle_limit_given(struct xfer_handle_limit *l, unsigned most);
/* The request with that number was refused, while so many handles of that kind
 * were open or asked for. The limit becomes half of them, once for all requests
 * that were in flight. */
void xfer_handle_limit_refused(struct xfer_handle_limit *l, unsigned number,
    unsigned open);
/* A file was refused a handle although its name is right: fewer files, and
 * fewer directories, are open at a time from now on. The numbers are those of
 * the requests that were sent before the refusal. */
void xfer_handles_crowded(struct xfer_stream *l, unsigned number,
    unsigned dirs_number);

#endif
