/* SPDX-License-Identifier: ISC */
/* What the receive windows of a connection may add up to. */
#ifndef HPN_REGRESS_UNIT_WINDOW_SUM_H
#define HPN_REGRESS_UNIT_WINDOW_SUM_H

#include "channels-recv-window.h"

/* The most bytes that the windows of so many channels can add up to: the
 * budget, and what each channel gets in any case. */
static inline uint64_t
window_sum_max(size_t channels)
{
	uint64_t first = channels < CHANNELS_MANY ? channels : CHANNELS_MANY;

	return CHANNELS_BUDGET + first * RECV_WINDOW_LEAST +
	    (channels - first) * RECV_WINDOW_LEAST_OF_MANY;
}

#endif
