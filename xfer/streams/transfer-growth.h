/* SPDX-License-Identifier: ISC */
/* How many streams there are, and how much each has: decisions of numbers only.
 * Threads: one at a time. */
#ifndef HPN_XFER_STREAMS_TRANSFER_GROWTH_H
#define HPN_XFER_STREAMS_TRANSFER_GROWTH_H

#include "xfer/state/transfer-state.h"
#include "xfer/streams/streams-early.h"

/* Does one more login take less time than TCP's slow start for so many bytes?
 */
bool xfer_login_pays(uint64_t rtt_ms, uint64_t bytes);
/* add connections are opened before anything is measured, to be there when they
 * are needed. Returns add. */
unsigned xfer_growth_begin(struct xfer_growth *g, unsigned add);
/* Merges the round trips of a connection that takes work into the view, which
 * keeps the smallest. Connections may take different paths to the host: only if
 * a queue stands on each of them, nothing is to be gained. has_moved: the
 * connection has moved data. Before that, the time to an answer includes the
 * server's work, so the round trip without queues is taken. */
void xfer_view_add_trip(struct xfer_streams_view *v,
    const struct xfer_stream_stats *path, bool has_moved, bool up);
/* Completes a view by what arrived in a round trip, and by whether the peer's
 * windows held the copy back. arrived, stalled_ms: what the last sample had of
 * both, and ms: how long ago that was. */
void xfer_view_complete(struct xfer_streams_view *v, uint64_t arrived,
    uint64_t stalled_ms, uint64_t ms);
/* Makes a sample, as far as the view tells. The caller adds the work that is
 * left, and its limits. */
struct xfer_sample xfer_sample_of(const struct xfer_streams_view *v);
/* How many connections to open now. g->use says how many take work. */
unsigned xfer_growth_next(struct xfer_growth *g, const struct xfer_sample *s);
/* How many channels to open now, if there are `have`. */
unsigned xfer_channels_next(unsigned have, const struct xfer_streams_view *s);
/* Is an upload limited by channel windows that do not follow the path, as those
 * of stock servers, and can there be no further channel? add: how many are due
 * now; refused: the server has refused one. */
bool xfer_window_bound(const struct xfer_streams_view *v, unsigned add,
    bool refused);
/* Would l finish len more bytes after the estimated end of the whole
 * transfer? Then it declines them. */
bool xfer_stream_lags(const struct xfer_stream *l, uint32_t len);
/* Of the stream l: bytes of a block; bytes that may be under way; and bytes
 * that may wait to be sent. */
uint32_t xfer_stream_block(const struct xfer_stream *l);
size_t xfer_stream_room(const struct xfer_stream *l, bool up);
size_t xfer_stream_queue(const struct xfer_stream *l);

#endif
