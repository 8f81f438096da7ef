/* SPDX-License-Identifier: ISC */
/*
 * ChannelTimeout of client and server: after how long a channel that carries
 * nothing is closed, by the name of its kind.
 *
 * Threads: any.
 */
#ifndef HPN_CONF_CHANNEL_TIMEOUTS_H
#define HPN_CONF_CHANNEL_TIMEOUTS_H

#include <stddef.h>

#include "conf/conf.h"

struct conf_channel_timeout {
	char *pattern; /* owned; * and ?; or "global" */
	int seconds;   /* 0: none */
};

/* The first that fits a kind counts. Zeroed: none. */
struct conf_channel_timeouts {
	struct conf_channel_timeout *v;
	size_t n;
};

/* "kind=time ...", or "none" alone; the first line counts. */
extern const struct conf_type conf_channel_timeouts_type;

/* Seconds for a kind of channel ("session:shell"); 0: none. */
int conf_channel_timeout(const struct conf_channel_timeouts *t,
    const char *kind);
/* The same for all channels together: the entry "global". */
int conf_channel_timeout_global(const struct conf_channel_timeouts *t);

#endif
