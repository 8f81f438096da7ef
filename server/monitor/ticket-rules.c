/* SPDX-License-Identifier: ISC */
#include "server/monitor/ticket-rules.h"

#include <stddef.h>

#include "base/mem.h"

static const struct row {
	unsigned trait;
	bool beside; /* tickets for connections beside this one */
} rows[] = {
	/* Who is let in without anything needs no ticket. */
	{ TICKET_BY_NONE, false },
	/* The key is looked up anew when the ticket is used: its line, its
	 * certificate, RevokedKeys. */
	{ TICKET_BY_PUBLICKEY, true },
	{ TICKET_BY_PASSWORD, true },
	{ TICKET_BY_KBDINT, true },
	/* What these have shown (another host's word, a ticket of Kerberos that
	 * ends) could not be asked for again. */
	{ TICKET_BY_HOSTBASED, false },
	{ TICKET_BY_KEYEX, false },
	{ TICKET_BY_GSSAPI, false },
	/* The limits of time and number are those of the login itself. */
	{ TICKET_BY_TICKET, false },
	/* The password that was shown is not good any more. */
	{ TICKET_MUST_CHANGE, false },
	/* These follow from the key's line and from the configuration, which
	 * the new login is given by the same rules. */
	{ TICKET_FORCED, true },
	{ TICKET_CHROOTED, true },
	{ TICKET_SFTP_ONLY, true },
};

bool
ticket_rules_may(unsigned traits, char kind)
{
	unsigned known = 0;

	if (kind != TICKET_BESIDE)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if ((traits & rows[i].trait) != 0 && !rows[i].beside)
			return false;
		known |= rows[i].trait;
	}
	/* A login that shows nothing known may not mint anything. */
	return (traits & (TICKET_BY_PUBLICKEY | TICKET_BY_PASSWORD |
			     TICKET_BY_KBDINT)) != 0 && (traits & ~known) == 0;
}
