/* SPDX-License-Identifier: ISC */
/*
 * Clocks that only go forward. Their beginning means nothing: take
 * differences.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_CLOCK_H
#define HPN_BASE_CLOCK_H

#include <stdint.h>

/* Time that passes, also while this process does not run. */
uint64_t clock_ns(void);
uint64_t clock_us(void);
uint64_t clock_ms(void);
/* Time that passes, also while the machine sleeps, on systems that can tell
 * that. */
uint64_t clock_boot_ms(void);
/* CPU time that the calling thread has used. */
uint64_t clock_thread_us(void);

/* The calling thread sleeps; a signal ends that early. */
void clock_sleep_us(uint64_t us);

#endif
