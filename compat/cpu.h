/* SPDX-License-Identifier: ISC */
/*
 * What the processor can do: CPU_X86_64 when compiling, the functions at run
 * time; and what it is to forget.
 *
 * Threads: any.
 */
#ifndef HPN_COMPAT_CPU_H
#define HPN_COMPAT_CPU_H

#include <stdbool.h>

/* SSE2 is there then, and <immintrin.h>. */
#if defined(__x86_64__)
#define CPU_X86_64 1
#else
#define CPU_X86_64 0
#endif

/* Instructions for AES rounds and for the carry-less product of GCM. */
bool cpu_has_aes_gcm(void);
/* x86 with 256 bit integer vectors. */
bool cpu_has_avx2(void);

/* Sets the vector registers to zero, where it is known how. Arithmetic with a
 * secret leaves parts of it there, and the kernel writes all registers on the
 * stack of a process that gets a signal. */
void cpu_clear_vectors(void);
/* Sets to zero what lies below the caller's frame on the stack: what returned
 * functions, also those of a library, left there of a secret. */
void cpu_clear_stack(void);

#endif
