/* SPDX-License-Identifier: ISC */
/*
 * Limits how many sessions of a user may be without a client at a time. Each
 * such session locks a byte of a file with the user's number, in the directory
 * of rendezvous.h. The system releases the lock when the monitor ends, however
 * it ends. The file is opened while the client is there, because later the
 * machine may have no room for a file or a descriptor.
 *
 * Threads: any; but a process has one session, and opens the file once: who
 * closes it releases all locks of his process.
 */
#ifndef HPN_SERVER_MONITOR_SURVIVE_SLOT_H
#define HPN_SERVER_MONITOR_SURVIVE_SLOT_H

#include <stdint.h>

#include "base/err.h"

/* Opens the user's file in the directory. */
int survive_slots_open(int dir, uint32_t uid, int *fd) must_check;
/* Takes one of `most` slots. ERR_LIMIT: all are taken. */
int survive_slot_take(int fd, int most) must_check;
void survive_slot_give(int fd);

#endif
