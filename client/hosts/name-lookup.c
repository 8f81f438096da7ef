/* SPDX-License-Identifier: ISC */
#include "client/hosts/name-lookup.h"

#include <netdb.h>
#include <sys/socket.h>

#include "base/called.h"
#include "base/log.h"
#include "base/mem.h"

/* The log level for a failed lookup. That a name does not exist is an error
 * only if it was expected to exist; other failures always are, because then the
 * resolver did not answer. */
static enum log_level
level_of(int failure, bool expected)
{
	bool no_such = failure == EAI_NONAME;

#ifdef EAI_NODATA
	no_such = no_such || failure == EAI_NODATA;
#endif
	return no_such && !expected ? LOG_LVL_DEBUG1 : LOG_LVL_ERROR;
}

int
name_look_up(const char *name, int family, bool expected,
    struct addrinfo **list, char **alias)
{
	const struct addrinfo hints = { .ai_family = family,
		.ai_socktype = SOCK_STREAM, .ai_flags = AI_CANONNAME };
	int r = getaddrinfo(name, NULL, &hints, list);

	*alias = NULL;
	if (r != 0) {
		log_msg(level_of(r, expected),
		    "%s: Could not resolve hostname %.300s: %s", called_ssh(),
		    name, r == EAI_SYSTEM ? err_text(ERR_SYSTEM) :
					    gai_strerror(r));
		return ERR_NOT_FOUND;
	}
	if ((*list)->ai_canonname != NULL)
		*alias = xstrdup((*list)->ai_canonname);
	return 0;
}
