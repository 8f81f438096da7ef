/* SPDX-License-Identifier: ISC */
/*
 * ChannelTimeout of client and server: for each kind of channel the time after
 * which an idle channel is closed.
 *
 * Threads: any.
 */
#ifndef HPN_CONF_CHANNEL_TIMEOUTS_H
#define HPN_CONF_CHANNEL_TIMEOUTS_H

#include <stddef.h>

#include "conf/conf.h"

struct conf_channel_timeout {
	char *pattern; /* owned; a pattern for kinds, with * and ?; or
			* "global" */
	int seconds;   /* 0: no timeout */
};

/* The first entry whose pattern matches a kind counts. Zeroed: empty. */
struct conf_channel_timeouts {
	struct conf_channel_timeout *v;
	size_t n;
};

/* "kind=time ...", or "none" alone; the first line counts. */
extern const struct conf_type conf_channel_timeouts_type;

/* Seconds for a kind of channel ("session:shell"); 0: none. */
int conf_channel_timeout(const struct conf_channel_timeouts *t,
    const char *kind);
/* Seconds after which all channels are closed if all are idle: the entry
 * "global"; 0: none. */
int conf_channel_timeout_global(const struct conf_channel_timeouts *t);

#endif
