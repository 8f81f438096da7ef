/* SPDX-License-Identifier: ISC */
/* What whoever opens the first stream of a transfer asks before it does. */
#ifndef HPN_XFER_STREAMS_STREAMS_EARLY_H
#define HPN_XFER_STREAMS_STREAMS_EARLY_H

#include <stdint.h>

/* How many connections may begin together with the first, which is not logged
 * in yet. bulk: bytes of large files that it is for; wanted: 0: as it pays. */
unsigned xfer_streams_early(uint64_t rtt_us, uint64_t bulk, unsigned wanted);

#endif
