/* SPDX-License-Identifier: ISC */
/*
 * What a copy that is resumed (-Z) uses of an old target or part: one decision,
 * made of facts. docs/TRANSFERS.md has the same list.
 *
 * Equal size and equal time together say that a file is complete, as they do
 * for rsync: with -p, where a complete copy has both, or where nothing better
 * can be asked. A change that leaves both what they were, by a program that
 * sets the time back, is not seen; --verify compares the content in any case.
 *
 * Threads: any.
 */
#ifndef HPN_XFER_REUSE_PLAN_H
#define HPN_XFER_REUSE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

/* Facts, or'ed. A fact that is not known is not set. */
enum reuse_fact {
	REUSE_WANTED = 1,	  /* -Z */
	REUSE_PRESERVES = 2,	  /* -p */
	REUSE_VERIFIES = 4,	  /* --verify */
	REUSE_DIGESTS = 8,	  /* the server makes digests */
	REUSE_TARGET = 16,	  /* a regular file bears the target's name */
	REUSE_CONTENT = 32,	  /* neither target nor source is empty */
	REUSE_SAME_SIZE = 64,
	REUSE_SAME_TIME = 128,	  /* both have the same time, by
				   * reuse_same_time() */
	REUSE_SAME_MODE = 256,	  /* the target has the mode that -p gives */
	REUSE_PART = 512,	  /* there is an old part that we made */
	REUSE_IN_PLACE = 1024,	  /* no part can be made, or none is wanted */
	REUSE_FACTS = 2048,	  /* all facts are below that */
};

enum reuse_plan {
	REUSE_PLAN_NOTHING, /* all data is copied */
	REUSE_PLAN_KEEP,    /* the target is complete: nothing is opened */
	REUSE_PLAN_ATTRS,   /* complete, but it gets the source's mode */
	REUSE_PLAN_COMPARE, /* perhaps complete: both ends are compared */
	REUSE_PLAN_PART,    /* what is equal in the part is used */
	REUSE_PLAN_TARGET,  /* what is equal in the target is used */
};

enum reuse_plan reuse_plan(unsigned facts);

/* The time when a file was changed last. */
struct reuse_time {
	bool known;
	bool exact; /* nsec is known, and sec is not cut to 32 bits */
	int64_t sec;
	uint32_t nsec;
};

/*
 * Are both times the same? They are compared to the nanosecond, if both have
 * nanoseconds. Whole seconds count only when they are more than two seconds
 * old, by the clock of this host (now, seconds): the file may be changed again
 * in that second, and keep its time. A time in the future is not old.
 */
bool reuse_same_time(const struct reuse_time *source,
    const struct reuse_time *target, int64_t now);

#endif
