/* SPDX-License-Identifier: ISC */
/*
 * --verify and --receipt of a copy from host to host: the source's host tells
 * the digest of each file that it has read for it, and the target's host is
 * asked for its own by the user's login there. What differs is not moved to its
 * place; the receipt has both. With --direct=pull it is the target's host that
 * tells what it has made, and the source's that is asked.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COPY_DIRECT_SUMS_H
#define HPN_CLIENT_COPY_DIRECT_SUMS_H

#include <stdbool.h>

#include "base/wire.h"
#include "client/copy/direct-places.h"
#include "client/copy/direct-wire.h"

struct direct_parties;
struct direct_sums;

/* Begins the sums of a copy. receipt: path of the file for them (NULL: none),
 * which has another name until it is whole. pull: the target's host tells. Ends
 * the program if that file cannot be made. */
struct direct_sums *direct_sums_new(struct scp *scp, const char *receipt,
    bool pull);
/* Takes a message of the host that tells (direct-wire.h). */
void direct_sums_take(struct direct_sums *s, struct span message);
/* Asks the other host (p->to) about all that was told, below p->inner there,
 * and notes in p what is not to be moved: what differs, and files that nothing
 * was told of. who and key, that of the grant, are for the receipt. p must not
 * outlive s. False: nothing is moved, which was reported. */
bool direct_sums_check(struct direct_sums *s, struct direct_places *p,
    const struct direct_parties *who, struct span key);
/* The number of files that a digest was told of. */
uint64_t direct_sums_files(const struct direct_sums *s);
/* Gives the receipt its name, with how the copy has ended; frees s. made: there
 * is something to have a receipt for. True: there is a receipt, and digest gets
 * its SHA-256. s may be NULL. */
bool direct_sums_end(struct direct_sums *s, bool made,
    uint8_t digest[DIRECT_SUM_LEN]);

#endif
