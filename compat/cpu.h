/* SPDX-License-Identifier: ISC */
/*
 * What the processor can do, asked at run time.
 *
 * Threads: any.
 */
#ifndef HPN_COMPAT_CPU_H
#define HPN_COMPAT_CPU_H

#include <stdbool.h>

/* Instructions for AES rounds and for the carry-less product of GCM. */
bool cpu_has_aes_gcm(void);
/* x86 with 256 bit integer vectors. */
bool cpu_has_avx2(void);

#endif
