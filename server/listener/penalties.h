/* SPDX-License-Identifier: ISC */
/*
 * PerSourcePenalties: which sources misbehaved before they were
 * authenticated, and are refused for a while. A penalty below the minimum is
 * deferred: it is remembered, and enforced once further ones have raised it
 * above the minimum. Pure: the clock is passed in.
 *
 * A table holds at most so many sources of each family as are configured;
 * every call takes logarithmic time, but for the removal of what has expired.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_LISTENER_PENALTIES_H
#define HPN_SERVER_LISTENER_PENALTIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/server-penalties.h"
#include "server/listener/startups.h"

struct penalties;

/* conf is borrowed. */
struct penalties *penalties_new(const struct server_penalties *conf);
void penalties_free(struct penalties *p); /* NULL is fine */

enum penalties_effect {
	PENALTIES_NOTHING,   /* none for this class, or no room */
	PENALTIES_DEFERRED,  /* first of the source, not enforced yet */
	PENALTIES_ENFORCED,  /* first of the source, enforced */
	PENALTIES_RAISED,    /* added to the one that there was */
	PENALTIES_ACTIVATED, /* by which it is enforced from now on */
};

/* Punishes a source; *rest_us is how long it is remembered from now on. */
enum penalties_effect penalties_add(struct penalties *p,
    const struct startups_source *source, enum penalty_class c,
    int64_t now_us, int64_t *rest_us);

/* Why a connection of the source is refused now; NULL: it is not. */
const char *penalties_refuse(struct penalties *p,
    const struct startups_source *source, int64_t now_us);

/* "failed authentication" and the like, as logged. */
const char *penalties_reason(enum penalty_class c);

/* Sources that are remembered, perhaps beyond their time. */
size_t penalties_count(const struct penalties *p, enum penalty_family f);

#endif
