/* SPDX-License-Identifier: ISC */
#include "agent/identities.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"

enum {
	LIST_HEAD = 5,	/* bytes of a list's type and number of keys */
	ENTRY_HEAD = 8, /* bytes of a key's two lengths (blob, comment) */
	LOOK_MS = 60 * 1000,
};

struct identities {
	struct loop *loop;
	struct loop_timer *timer; /* for the key that expires first */
	struct identity *first;
	size_t n, listed, cost; /* number; bytes of an answer that lists all;
				 * sum of their costs */
	uint64_t serial;
};

static void arm(struct identities *t);

int
identities_new(struct identities **out, struct loop *loop)
{
	struct identities *t = calloc(1, sizeof *t);

	if (t == NULL)
		return ERR_NOMEM;
	t->loop = loop;
	t->listed = LIST_HEAD;
	*out = t;
	return 0;
}

void
identities_free(struct identities *t)
{
	if (t == NULL)
		return;
	identities_remove_all(t);
	free(t);
}

int
identity_new(const struct key *k, struct identity **out)
{
	struct identity *id = calloc(1, sizeof *id);
	int r;

	if (id == NULL)
		return ERR_NOMEM;
	r = key_public_of(k, &id->key);
	if (r == 0)
		r = key_to_blob(id->key, &id->blob);
	if (r == 0)
		*out = id;
	else
		identity_free(id);
	return r;
}

void
identity_free(struct identity *id)
{
	if (id == NULL)
		return;
	if (id->ops != NULL)
		id->ops->release(id->signer);
	key_free(id->key);
	buf_clear(&id->blob);
	buf_clear(&id->secret);
	free(id->comment);
	free(id->application);
	free(id->provider);
	destinations_clear(&id->destinations);
	free(id);
}

/* ---- the table ----------------------------------------------------------- */

static size_t
listed(const struct identity *id)
{
	return ENTRY_HEAD + buf_len(&id->blob) +
	    (id->comment != NULL ? strlen(id->comment) : 0);
}

static bool
same_blob(const struct identity *id, struct span blob)
{
	return buf_len(&id->blob) == blob.len &&
	    memcmp(buf_data(&id->blob), blob.p, blob.len) == 0;
}

/* Returns the address of the pointer to the identity with this blob. If there
 * is no such identity, that is the pointer at the end of the list, which is
 * NULL. */
static struct identity **
place_of(struct identities *t, struct span blob)
{
	struct identity **at = &t->first;

	while (*at != NULL && !same_blob(*at, blob))
		at = &(*at)->next;
	return at;
}

static void
take_out(struct identities *t, struct identity **at)
{
	struct identity *id = *at;

	*at = id->next;
	t->n--;
	t->listed -= listed(id);
	t->cost -= id->cost;
	identity_free(id);
}

int
identities_add(struct identities *t, struct identity *id)
{
	struct span blob = buf_span(&id->blob);
	struct identity **at = place_of(t, blob), *old = *at;
	size_t n = t->n + 1, all = t->listed + listed(id);
	size_t cost = t->cost + id->cost;

	if (old != NULL) {
		n--;
		all -= listed(old);
		cost -= old->cost;
	}
	if (n > IDENTITIES_MAX || all > AGENT_MESSAGE_MAX ||
	    cost > IDENTITIES_COST_MAX) {
		identity_free(id);
		return ERR_LIMIT;
	}
	id->serial = ++t->serial;
	id->next = old != NULL ? old->next : NULL;
	*at = id;
	t->n = n;
	t->listed = all;
	t->cost = cost;
	identity_free(old);
	arm(t);
	return 0;
}

void
identities_remove(struct identities *t, struct identity *id)
{
	struct identity **at = &t->first;

	while (*at != id)
		at = &(*at)->next;
	take_out(t, at);
}

size_t
identities_remove_provider(struct identities *t, const char *provider)
{
	struct identity **at = &t->first;
	size_t n = 0;

	while (*at != NULL) {
		if ((*at)->provider == NULL ||
		    strcmp((*at)->provider, provider) != 0) {
			at = &(*at)->next;
			continue;
		}
		take_out(t, at);
		n++;
	}
	return n;
}

void
identities_remove_all(struct identities *t)
{
	while (t->first != NULL)
		take_out(t, &t->first);
	loop_cancel(t->loop, t->timer);
	t->timer = NULL;
	mem_give_back();
}

/* ---- expiry -------------------------------------------------------------- */

static void
remove_expired(struct identities *t)
{
	struct identity **at = &t->first;
	uint64_t now = clock_boot_ms();

	while (*at != NULL) {
		if ((*at)->expires_ms == 0 || (*at)->expires_ms > now) {
			at = &(*at)->next;
			continue;
		}
		log_debug("the time of %s is over", (*at)->comment);
		take_out(t, at);
	}
}

static void
on_time(void *arg)
{
	struct identities *t = arg;

	t->timer = NULL;
	remove_expired(t);
	arm(t);
}

/* Sets the timer that removes the key that expires first, so that it does not
 * stay in memory. Timers stand still while the machine sleeps, so the time is
 * checked at least each minute. identities_first() and identities_find() do not
 * rely on the timer: they remove expired keys themselves. */
static void
arm(struct identities *t)
{
	uint64_t now = clock_boot_ms(), due = 0;

	loop_cancel(t->loop, t->timer);
	t->timer = NULL;
	for (const struct identity *id = t->first; id != NULL; id = id->next)
		if (id->expires_ms != 0 && (due == 0 || id->expires_ms < due))
			due = id->expires_ms;
	if (due == 0)
		return;
	t->timer = loop_after(t->loop,
	    due > now ? MIN(due - now, (uint64_t)LOOK_MS) : 0, on_time, t);
	if (t->timer == NULL)
		log_error("no timer for keys that expire");
}

struct identity *
identities_first(struct identities *t)
{
	remove_expired(t);
	return t->first;
}

struct identity *
identities_find(struct identities *t, struct span blob)
{
	remove_expired(t);
	return *place_of(t, blob);
}
