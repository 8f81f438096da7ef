/* SPDX-License-Identifier: ISC */
#include "server/monitor/ticket-rules.h"

#include <stddef.h>

#include "base/mem.h"

static const struct row {
	unsigned trait;
	bool beside, instead, survive, grant; /* which kinds */
} rows[] = {
	/* Who is let in without anything needs no ticket. */
	{ TICKET_BY_NONE, false, false, false, false },
	/* The key is looked up anew when the ticket is used: its line, its
	 * certificate, RevokedKeys. */
	{ TICKET_BY_PUBLICKEY, true, true, true, true },
	{ TICKET_BY_PASSWORD, true, true, true, true },
	{ TICKET_BY_KBDINT, true, true, true, true },
	/* What these have shown (another host's word, a ticket of Kerberos that
	 * ends) could not be asked for again. */
	{ TICKET_BY_HOSTBASED, false, false, false, false },
	{ TICKET_BY_KEYEX, false, false, false, false },
	{ TICKET_BY_GSSAPI, false, false, false, false },
	/* The limits of time and number are those of the login itself. */
	{ TICKET_BY_TICKET, false, false, false, false },
	/* That login has ended, and this one goes on with its limits. */
	{ TICKET_BY_INSTEAD, true, true, true, true },
	/* The password that was shown is not good any more. */
	{ TICKET_MUST_CHANGE, false, false, false, false },
	/* Who comes by a grant has its rights, and can give none on. */
	{ TICKET_BY_GRANT, false, false, false, false },
	/* These follow from the key's line and from the configuration, which
	 * the new login is given by the same rules. Who may run one command
	 * only, which is not SFTP, cannot let anybody move files. */
	{ TICKET_FORCED, true, true, true, false },
	{ TICKET_CHROOTED, true, true, true, true },
	{ TICKET_SFTP_ONLY, true, true, true, true },
};

static bool
may(const struct row *row, char kind)
{
	switch (kind) {
	case TICKET_BESIDE:
		return row->beside;
	case TICKET_INSTEAD:
		return row->instead;
	case TICKET_SURVIVE:
		return row->survive;
	case TICKET_GRANT:
		return row->grant;
	default:
		return false;
	}
}

bool
ticket_rules_may(unsigned traits, char kind)
{
	unsigned known = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if ((traits & rows[i].trait) != 0 && !may(&rows[i], kind))
			return false;
		known |= rows[i].trait;
	}
	/* A login that shows nothing known may not mint anything. */
	return (traits & (TICKET_BY_PUBLICKEY | TICKET_BY_PASSWORD |
			     TICKET_BY_KBDINT)) != 0 && (traits & ~known) == 0;
}
