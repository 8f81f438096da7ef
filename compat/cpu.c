/* SPDX-License-Identifier: ISC */
#include "compat/cpu.h"

#include <string.h>

#include "config.h"

#include "compat/bsd-mem.h"

#if defined(__x86_64__) || defined(__i386__)

#ifdef HAVE_SYS_PLATFORM_X86_H
#include <sys/platform/x86.h>
#endif

/* What the C library has found at its start. The compiler's own functions ask
 * the processor once more, at the start of every program that has them, and in
 * a virtual machine each of those questions goes to the host. */
#ifdef CPU_FEATURE_ACTIVE
#define HAS_AES CPU_FEATURE_ACTIVE(AES)
#define HAS_PCLMUL CPU_FEATURE_ACTIVE(PCLMULQDQ)
#define HAS_AVX CPU_FEATURE_ACTIVE(AVX)
#define HAS_AVX2 CPU_FEATURE_ACTIVE(AVX2)
#define HAS_AVX512F CPU_FEATURE_ACTIVE(AVX512F)
#else
#define HAS_AES __builtin_cpu_supports("aes")
#define HAS_PCLMUL __builtin_cpu_supports("pclmul")
#define HAS_AVX __builtin_cpu_supports("avx")
#define HAS_AVX2 __builtin_cpu_supports("avx2")
#define HAS_AVX512F __builtin_cpu_supports("avx512f")
#endif

bool
cpu_has_aes_gcm(void)
{
	return HAS_AES && HAS_PCLMUL;
}

bool
cpu_has_avx2(void)
{
	return HAS_AVX2;
}

#else

#if defined(__linux__)
#include <sys/auxv.h>
#endif

bool
cpu_has_aes_gcm(void)
{
#if defined(__linux__) && defined(__aarch64__)
	enum { AES = 1 << 3, PMULL = 1 << 4 }; /* bits of AT_HWCAP */
	unsigned long caps = getauxval(AT_HWCAP);

	return (caps & AES) != 0 && (caps & PMULL) != 0;
#elif defined(__linux__) && defined(__powerpc64__)
	enum { VECTOR_CRYPTO = 1 << 25 }; /* bit of AT_HWCAP2: POWER8 */

	return (getauxval(AT_HWCAP2) & VECTOR_CRYPTO) != 0;
#elif defined(__s390x__) || (defined(__APPLE__) && defined(__aarch64__))
	return true;
#else
	return false;
#endif
}

bool
cpu_has_avx2(void)
{
	return false;
}

#endif

#if defined(__x86_64__)

#define LOWER_VECTORS                                                      \
	"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",    \
	    "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",   \
	    "xmm15"

/* Never inlined: code for older processors cannot name the upper vectors among
 * what it changes, but by convention no vector outlives a call. */
__attribute__((noinline)) void
cpu_clear_vectors(void)
{
	/* VZEROALL clears only the first 16 registers, in full width. */
	if (HAS_AVX512F)
		__asm__ volatile(
		    ".irp n,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
		    "vpxorq %%zmm\\n, %%zmm\\n, %%zmm\\n\n"
		    ".endr" ::: "memory");
	if (HAS_AVX)
		__asm__ volatile("vzeroall" ::: "memory", LOWER_VECTORS);
	else
		__asm__ volatile(
		    ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
		    "pxor %%xmm\\n, %%xmm\\n\n"
		    ".endr" ::: "memory", LOWER_VECTORS);
}

#elif defined(__aarch64__)

void
cpu_clear_vectors(void)
{
	__asm__ volatile(
	    ".irp n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
	    "movi v\\n\\().2d, #0\n"
	    ".endr\n"
	    ".irp n,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
	    "movi v\\n\\().2d, #0\n"
	    ".endr" ::: "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15",
	    "memory");
}

#else

void
cpu_clear_vectors(void)
{
}

#endif

/* STACK_BYTES: more than any signature uses, and less than a thread's stack. */
enum { STACK_BYTES = 64 * 1024 };

/* Never inlined: so its array lies where the functions that the caller called
 * before had their variables. */
__attribute__((noinline)) void
cpu_clear_stack(void)
{
	char below[STACK_BYTES];

	explicit_bzero(below, sizeof below);
}
