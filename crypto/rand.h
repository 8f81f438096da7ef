/* SPDX-License-Identifier: ISC */
/*
 * Random bytes. rand_bytes() is for keys, cookies and nonces; rand_pad() is
 * for packet padding: it draws from a buffer that is filled in bulk, so that
 * a packet costs no system call. Both end the process if there is no
 * randomness, because nothing can be done safely without.
 *
 * Threads: rand_bytes any; rand_pad loop thread only. After fork() the child
 * refills its buffer (pthread_atfork or a pid check).
 */
#ifndef HPN_CRYPTO_RAND_H
#define HPN_CRYPTO_RAND_H

#include <stddef.h>
#include <stdint.h>

void rand_bytes(void *p, size_t len);
void rand_pad(void *p, size_t len);
/* Uniform in [0, bound). */
uint32_t rand_uniform(uint32_t bound);

#endif
