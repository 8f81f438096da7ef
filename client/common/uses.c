/* SPDX-License-Identifier: ISC */
#include "client/common/uses.h"

#include "base/log.h"
#include "base/mem.h"

static const char *const names[USE_COUNT] = {
	[USE_SESSION] = "session",
	[USE_STDIO_FORWARD] = "forward of standard input and output",
	[USE_NO_SESSION] = "connection without a session",
	[USE_PRIVATE_FORWARD] = "connection to the agent or the display",
	[USE_FORWARDED] = "forwarded connection",
	[USE_TUNNEL] = "tunnel",
	[USE_MUX_CLIENT] = "passenger",
	[USE_SHARING] = "shared connection",
	[USE_LEARNING] = "proof of host keys",
};

bool
uses_any(const struct uses *u)
{
	for (int i = 0; i < USE_COUNT; i++)
		if (u->count[i] > 0)
			return true;
	return false;
}

void
uses_begin(struct uses *u, enum use use)
{
	u->count[use]++;
	log_debug3("in use: %s, %u of them", names[use], u->count[use]);
}

void
uses_end(struct uses *u, enum use use)
{
	ENSURE(u->count[use] > 0);
	u->count[use]--;
	log_debug3("no longer in use: %s, %u left", names[use],
	    u->count[use]);
	if (!uses_any(u))
		u->unused(u->arg);
}
