/* SPDX-License-Identifier: ISC */
/*
 * Random bytes. rand_bytes() is for keys, cookies and nonces. rand_pad() is for
 * packet padding and other bytes that are no secret: it draws from a buffer
 * that the system fills, so that most packets cost no system call. Both end the
 * process if there are no random numbers, because nothing can be done safely
 * without them.
 *
 * Threads: rand_bytes() any; rand_pad() in the loop's thread only. After fork()
 * the child fills the buffer anew.
 */
#ifndef HPN_CRYPTO_RAND_H
#define HPN_CRYPTO_RAND_H

#include <stddef.h>
#include <stdint.h>

void rand_bytes(void *p, size_t len);
void rand_pad(void *p, size_t len);
/* A random number in [0, bound), each with the same chance. 0 if bound is 0 or
 * 1. */
uint32_t rand_uniform(uint32_t bound);

#endif
