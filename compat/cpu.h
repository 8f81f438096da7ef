/* SPDX-License-Identifier: ISC */
/*
 * What the processor can do: CPU_X86_64 says it when compiling, the functions
 * at run time. And wiping of secrets from registers and stack.
 *
 * Threads: any.
 */
#ifndef HPN_COMPAT_CPU_H
#define HPN_COMPAT_CPU_H

#include <stdbool.h>

/* CPU_X86_64 1: the processor has SSE2, and there is <immintrin.h>. */
#if defined(__x86_64__)
#define CPU_X86_64 1
#else
#define CPU_X86_64 0
#endif

/* Are there instructions for AES rounds and for the carry-less product of
 * GCM? */
bool cpu_has_aes_gcm(void);
/* Is this x86 with 256 bit integer vectors? */
bool cpu_has_avx2(void);

/* Sets the vector registers to zero, on processors for which there is code.
 * Arithmetic with a secret leaves parts of it in them, and the kernel writes
 * all registers to the stack of a process that gets a signal. */
void cpu_clear_vectors(void);
/* Sets the stack below the caller's frame to zero. Functions that have
 * returned, also those of libraries, may have left parts of a secret there. */
void cpu_clear_stack(void);

#endif
