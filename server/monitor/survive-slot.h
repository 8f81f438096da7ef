/* SPDX-License-Identifier: ISC */
/*
 * Limits how many sessions of a user may be without a client at a time. Each
 * such session holds the lock of a file with the user's number, in the
 * directory of rendezvous.h. The system releases the lock when the monitor
 * ends, however it ends.
 *
 * Threads: any.
 */
#ifndef HPN_SERVER_MONITOR_SURVIVE_SLOT_H
#define HPN_SERVER_MONITOR_SURVIVE_SLOT_H

#include <stdint.h>

#include "base/err.h"

/* Takes one of `most` slots of the user in the directory; closing *fd frees it.
 * ERR_LIMIT: all are taken. */
int survive_slot_take(int dir, uint32_t uid, int most, int *fd) must_check;

#endif
