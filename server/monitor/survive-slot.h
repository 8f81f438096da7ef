/* SPDX-License-Identifier: ISC */
/*
 * How many sessions of a user may be without a client at a time: each holds the
 * lock of a file with the user's number, beside the names of rendezvous.h. The
 * system gives the lock back when its monitor ends, however it ends.
 *
 * Threads: any.
 */
#ifndef HPN_SERVER_MONITOR_SURVIVE_SLOT_H
#define HPN_SERVER_MONITOR_SURVIVE_SLOT_H

#include <stdint.h>

#include "base/err.h"

/* Takes one of `most` places in the directory; closing *fd gives it back.
 * ERR_LIMIT: all are taken. */
int survive_slot_take(int dir, uint32_t uid, int most, int *fd) must_check;

#endif
