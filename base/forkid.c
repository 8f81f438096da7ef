/* SPDX-License-Identifier: ISC */
#include "base/forkid.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/mem.h"

static atomic_uint generation = 1;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
count_child(void)
{
	atomic_fetch_add_explicit(&generation, 1, memory_order_relaxed);
}

static void
register_child(void)
{
	ENSURE(pthread_atfork(NULL, NULL, count_child) == 0);
}

unsigned int
fork_id(void)
{
	pthread_once(&once, register_child);
	return atomic_load_explicit(&generation, memory_order_relaxed);
}
