/* SPDX-License-Identifier: ISC */
#include "agent/agentd.h"

#include <stdlib.h>

#include "agent/fido-keys.h"
#include "agent/providers.h"
#include "base/child.h"

enum { REAP_MS = 200 };

int
agentd_new(struct agentd **out, struct loop *loop,
    const struct agent_params *params)
{
	struct agentd *a = calloc(1, sizeof *a);
	int r;

	if (a == NULL)
		return ERR_NOMEM;
	a->loop = loop;
	a->p = *params;
	a->listener = -1;
	TAILQ_INIT(&a->providers);
	TAILQ_INIT(&a->clients);
	fido_start(a);
	r = shield_new(&a->shield);
	if (r == 0)
		r = identities_new(&a->keys, loop);
	if (r == 0)
		*out = a;
	else
		agentd_free(a);
	return r;
}

void
agentd_free(struct agentd *a)
{
	if (a == NULL)
		return;
	while (!TAILQ_EMPTY(&a->clients))
		client_end(TAILQ_FIRST(&a->clients));
	loop_unwatch(a->loop, a->watch);
	loop_cancel(a->loop, a->pause);
	identities_free(a->keys);
	helper_line_clear(&a->fido);
	loop_cancel(a->loop, a->reaper);
	shield_free(a->shield);
	free(a);
}

void
agentd_remove_keys(struct agentd *a)
{
	providers_stop_opening(a);
	identities_remove_all(a->keys);
}

void
agentd_stop_tokens(struct agentd *a)
{
	providers_stop_all(a);
	fido_stop_all(a);
}

static void
on_reap(void *arg)
{
	struct agentd *a = arg;

	a->reaper = NULL;
	child_reap_abandoned();
}

void
agentd_reap_soon(struct agentd *a)
{
	if (a->reaper == NULL)
		a->reaper = loop_after(a->loop, REAP_MS, on_reap, a);
}
