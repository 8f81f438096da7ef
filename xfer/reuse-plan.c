/* SPDX-License-Identifier: ISC */
#include "xfer/reuse-plan.h"

#include "xfer/plan-row.h"

enum {
	WHOLE_AGE = 2, /* seconds: an equal time without a fraction counts only
			* if it is older, because a younger file may have
			* changed again within the same second */
	SAME = REUSE_TARGET | REUSE_SAME_SIZE | REUSE_SAME_TIME,
	FULL = REUSE_TARGET | REUSE_CONTENT,
};

/* The first row that fits decides; docs/TRANSFERS.md has the same list. */
static const struct plan_row rows[] = {
	{ 0, REUSE_WANTED, REUSE_PLAN_NOTHING },
	{ REUSE_PART, 0, REUSE_PLAN_PART },
	{ SAME | REUSE_PRESERVES | REUSE_SAME_MODE, REUSE_VERIFIES,
	    REUSE_PLAN_KEEP },
	{ SAME | REUSE_PRESERVES, REUSE_VERIFIES, REUSE_PLAN_ATTRS },
	{ SAME, REUSE_VERIFIES | REUSE_DIGESTS, REUSE_PLAN_KEEP },
	{ FULL | REUSE_SAME_SIZE | REUSE_DIGESTS, 0, REUSE_PLAN_COMPARE },
	{ FULL | SAME, 0, REUSE_PLAN_COMPARE },
	{ FULL | REUSE_IN_PLACE | REUSE_DIGESTS, 0, REUSE_PLAN_TARGET },
	{ 0, 0, REUSE_PLAN_NOTHING },
};

enum reuse_plan
reuse_plan(unsigned facts)
{
	return (enum reuse_plan)plan_by(rows, facts);
}

bool
reuse_same_time(const struct reuse_time *source,
    const struct reuse_time *target, int64_t now)
{
	bool exact = source->exact && target->exact;

	if (!source->known || !target->known)
		return false;
	if (exact && source->nsec != 0 && target->nsec != 0)
		return source->sec == target->sec &&
		    source->nsec == target->nsec;
	if (exact ? source->sec != target->sec :
		    (uint32_t)source->sec != (uint32_t)target->sec)
		return false;
	return source->sec < now - WHOLE_AGE;
}
