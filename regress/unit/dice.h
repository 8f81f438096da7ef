/* SPDX-License-Identifier: ISC */
/*
 * Numbers that follow from a seed, for tests of properties: the same story for
 * the same seed, on every machine.
 */
#ifndef HPN_REGRESS_UNIT_DICE_H
#define HPN_REGRESS_UNIT_DICE_H

#include <stdint.h>

struct dice {
	uint64_t state; /* begins as the seed */
};

/* From 0 to bound - 1. */
uint32_t dice_below(struct dice *d, uint32_t bound);

#endif
