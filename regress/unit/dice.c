/* SPDX-License-Identifier: ISC */
#include "regress/unit/dice.h"

uint32_t
dice_below(struct dice *d, uint32_t bound)
{
	/* A linear congruential generator; its upper bits are the good ones. */
	d->state = d->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((d->state >> 32) * bound >> 32);
}
