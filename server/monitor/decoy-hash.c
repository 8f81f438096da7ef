/* SPDX-License-Identifier: ISC */
#include "server/monitor/decoy-hash.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "compat/libc.h"

enum {
	STRETCH_MAX = 800, /* percent */
	FLOOR_MAX_US = 10 * 1000 * 1000, /* the longest wait for a user who
					  * mistypes */
};

uint64_t
decoy_cpu_us(void)
{
	static const int whose[] = { RUSAGE_SELF, RUSAGE_CHILDREN };
	uint64_t us = 0;
	struct rusage r;

	for (size_t i = 0; i < ARRAY_LEN(whose); i++) {
		if (getrusage(whose[i], &r) == -1)
			continue;
		us += (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) *
		    1000000;
		us += (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec);
	}
	return us;
}

static void
hash(const char *password, const char *setting)
{
	char got[LIBC_HASH_MAX];

	(void)libc_hash_password(password, setting, got);
	explicit_bzero(got, sizeof got);
}

/* Index in d->settings of the method of the password field. It is 0 for a
 * method that is not among the settings, and settings.n if the field holds no
 * hash. */
static size_t
index_of(const struct decoys *d, const char *field)
{
	const struct strlist *settings = &d->settings;
	char *own = field != NULL ? decoy_setting(field) : NULL;
	size_t i;

	if (own == NULL)
		return settings->n;
	for (i = settings->n; i-- > 1;)
		if (strcmp(settings->v[i], own) == 0)
			break;
	free(own);
	return i;
}

/* The cost of setting i in microseconds. If it is unknown it is measured here,
 * for every user alike: otherwise the time would show who has a hash. */
static uint64_t
cost_of(const struct decoys *d, size_t i)
{
	uint64_t began_us = decoy_cpu_us();

	if (d->cost_us[i] != 0)
		return d->cost_us[i];
	hash("", d->settings.v[i]);
	return MAX(decoy_cpu_us() - began_us, (uint64_t)1);
}

/* The CPU time is that of the hashes and of what else the modules do, and other
 * load stretches it, while the cost of a hash is the least that was measured.
 * So a count is rounded up only when little is missing. */
unsigned
decoys_done(const struct decoys *d, const char *field, uint64_t spent_us,
    unsigned max)
{
	size_t i = index_of(d, field);
	bool has_none = i == d->settings.n;
	uint64_t cost_us = cost_of(d, has_none ? 0 : i), count;

	count = has_none ? 0 : (spent_us + cost_us / 4) / cost_us;
	return count < max ? (unsigned)count : max;
}

unsigned
decoys_spend(const struct decoys *d, const char *field, unsigned done,
    unsigned times, const char *password)
{
	size_t own = index_of(d, field);
	unsigned count = 0;

	for (size_t i = 0; i < d->settings.n; i++) {
		for (unsigned j = i == own ? done : 0; j < times; j++) {
			hash(password, d->settings.v[i]);
			count++;
		}
	}
	return count;
}

/* One process is added to the load: the try itself. */
unsigned
decoy_stretch(double load, long cpus)
{
	double percent = 100 * (MAX(load, 0.0) + 1) / (double)MAX(cpus, 1L);

	return percent < STRETCH_MAX ? (unsigned)MAX(percent, 100.0) :
				       STRETCH_MAX;
}

/* The result is one and a half times what the hashes take, because modules take
 * time, too, and the load changes. */
uint64_t
decoys_floor_us(const struct decoys *d, unsigned times, unsigned stretch)
{
	uint64_t us = d->dearest_us * times * 3 / 2 * stretch / 100;

	return MIN(us, (uint64_t)FLOOR_MAX_US);
}

char *
decoy_password(size_t len)
{
	char *password = xcalloc(1, len + 1);

	/* No password has these characters, because a terminal takes them as
	 * commands to delete. */
	for (size_t i = 0; i < len; i++)
		password[i] = i % 2 == 0 ? '\177' : '\b';
	return password;
}
