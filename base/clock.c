/* SPDX-License-Identifier: ISC */
#include "base/clock.h"

#include <time.h>

static uint64_t
read_clock(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts) == -1)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t
clock_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t
clock_us(void)
{
	return clock_ns() / 1000;
}

uint64_t
clock_ms(void)
{
	return clock_ns() / 1000000;
}

uint64_t
clock_boot_ms(void)
{
#ifdef CLOCK_BOOTTIME
	return read_clock(CLOCK_BOOTTIME) / 1000000;
#else
	return clock_ms();
#endif
}

uint64_t
clock_thread_us(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID) / 1000;
}

void
clock_sleep_us(uint64_t us)
{
	const struct timespec ts = { .tv_sec = (time_t)(us / 1000000),
		.tv_nsec = (long)(us % 1000000) * 1000 };

	(void)nanosleep(&ts, NULL);
}
