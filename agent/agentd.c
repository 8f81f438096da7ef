/* SPDX-License-Identifier: ISC */
#include "agent/agentd.h"

#include <stdlib.h>

#include "agent/agent-internal.h"

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
	while (a->clients != NULL)
		client_end(a->clients);
	loop_unwatch(a->loop, a->watch);
	loop_cancel(a->loop, a->pause);
	identities_free(a->keys);
	shield_free(a->shield);
	free(a);
}

void
agentd_remove_keys(struct agentd *a)
{
	identities_remove_all(a->keys);
}
