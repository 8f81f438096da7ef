/* SPDX-License-Identifier: ISC */
/*
 * PerSourcePenalties: sources that misbehaved before they were authenticated
 * are refused for a while. A penalty below the configured minimum is deferred:
 * it is only remembered, and is enforced once further penalties have raised it
 * above the minimum. Pure: the clock is passed in.
 *
 * A table holds at most the configured number of sources of each family. Every
 * call takes logarithmic time, except for removing penalties that have expired.
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
	PENALTIES_NOTHING,   /* the class has no penalty, or the table is
			      * full */
	PENALTIES_DEFERRED,  /* first penalty of the source, not enforced yet */
	PENALTIES_ENFORCED,  /* first penalty of the source, enforced */
	PENALTIES_RAISED,    /* added to the source's penalty, which is enforced
			      * or not as before */
	PENALTIES_ACTIVATED, /* added to a deferred penalty, which is enforced
			      * from now on */
};

/* Punishes a source. *rest_us is how long its penalty lasts from now on, in
 * microseconds. */
enum penalties_effect penalties_add(struct penalties *p,
    const struct startups_source *source, enum penalty_class c,
    int64_t now_us, int64_t *rest_us);

/* The reason why a connection of the source is refused now; NULL: it is not
 * refused. */
const char *penalties_refuse(struct penalties *p,
    const struct startups_source *source, int64_t now_us);

/* The name of the class for log lines, such as "failed authentication". */
const char *penalties_reason(enum penalty_class c);

/* For tests and measurements: the number of sources that are remembered;
 * expired ones may be counted, too. */
size_t penalties_count(const struct penalties *p, enum penalty_family f);

#endif
