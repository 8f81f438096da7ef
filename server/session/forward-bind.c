/* SPDX-License-Identifier: ISC */
#include "server/session/forward-bind.h"

#include <string.h>

#include "base/resolve.h"

#define LOOPBACK_4 "127.0.0.1"
#define LOOPBACK_6 "::1"

static bool
is_wildcard(const char *asked)
{
	return asked[0] == '\0' || strcmp(asked, "*") == 0;
}

static struct forward_bind
one_place(const char *host)
{
	return (struct forward_bind){ .hosts = { host }, .n = 1 };
}

/* The loopback address that was asked for, or those of both families. They are
 * not looked up, because below a ChrootDirectory there are no files for
 * that. */
static struct forward_bind
loopback(const char *asked)
{
	if (strcmp(asked, LOOPBACK_4) == 0)
		return one_place(LOOPBACK_4);
	if (strcmp(asked, LOOPBACK_6) == 0)
		return one_place(LOOPBACK_6);
	return (struct forward_bind){ .hosts = { LOOPBACK_4, LOOPBACK_6 },
		.n = 2 };
}

static struct forward_bind
as_asked(int family, const char *asked)
{
	struct dial_address a;

	if (is_wildcard(asked))
		return one_place(NULL);
	if (strcmp(asked, "localhost") == 0)
		return loopback(asked);
	if (resolve_address(asked, 1, family, &a))
		return one_place(asked);
	return (struct forward_bind){ .name = asked };
}

struct forward_bind
forward_bind(int gateway, int family, const char *asked)
{
	struct forward_bind b;

	if (gateway == SERVER_GATEWAY_CLIENT)
		return as_asked(family, asked);
	if (gateway != SERVER_GATEWAY_YES)
		return loopback(asked);
	b = one_place(NULL);
	b.overridden = !is_wildcard(asked) && strcmp(asked, "0.0.0.0") != 0;
	return b;
}
