/* SPDX-License-Identifier: ISC */
/* Which libraries for tokens a client may have the agent load. */
#include <stdlib.h>
#include <string.h>

#include "agent/providers.h"
#include "base/log.h"
#include "base/str.h"

char *
provider_path(const char *name)
{
	char *path = realpath(name, NULL);

	return path != NULL ? path : strdup(name);
}

int
provider_admit(const struct request *q, const char *name, char **path)
{
	const struct agent_params *p = &q->a->p;

	if (q->c->binds.tried && !p->remote_providers) {
		log_info("a program of another host may not name a provider");
		return ERR_DENIED;
	}
	*path = realpath(name, NULL);
	if (*path == NULL) {
		log_info("provider %s: %s", name, err_text(ERR_SYSTEM));
		return ERR_NOT_FOUND;
	}
	if (str_match_list(*path, p->providers, false) == 1)
		return 0;
	log_info("provider %s is not an allowed one", *path);
	free(*path);
	*path = NULL;
	return ERR_DENIED;
}
