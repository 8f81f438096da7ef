/* SPDX-License-Identifier: ISC */
#include "server/monitor/ticket-rules.h"

#include <stddef.h>

#include "base/mem.h"

static const struct row {
	unsigned trait;
	/* The kinds of tickets (ticket-rules.h) that a login with the trait
	 * may get. */
	bool beside, instead, survive, grant;
} rows[] = {
	/* A user who is let in without any proof needs no ticket. */
	{ TICKET_BY_NONE, false, false, false, false },
	/* The key is looked up again when the ticket is used: its line, its
	 * certificate, RevokedKeys. */
	{ TICKET_BY_PUBLICKEY, true, true, true, true },
	{ TICKET_BY_PASSWORD, true, true, true, true },
	{ TICKET_BY_KBDINT, true, true, true, true },
	/* What these methods have shown (the word of another host, a Kerberos
	 * ticket that expires) cannot be checked again later. */
	{ TICKET_BY_HOSTBASED, false, false, false, false },
	{ TICKET_BY_KEYEX, false, false, false, false },
	{ TICKET_BY_GSSAPI, false, false, false, false },
	/* A login by a ticket gets none: limits of time and number are counted
	 * in the login that gave it. */
	{ TICKET_BY_TICKET, false, false, false, false },
	/* The login that this one replaces has ended, and its limits hold
	 * here. */
	{ TICKET_BY_INSTEAD, true, true, true, true },
	/* The password that was shown has expired. */
	{ TICKET_MUST_CHANGE, false, false, false, false },
	/* A login by a grant has the grant's rights, and cannot hand them
	 * on. */
	{ TICKET_BY_GRANT, false, false, false, false },
	/* These restrictions come from the key's line and the configuration,
	 * and hold for the new login by the same rules. But a user who may run
	 * one command only, which is not SFTP, cannot let others move files. */
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
	/* The login must have shown a method that can be checked again, and
	 * have no trait without a row. */
	return (traits & (TICKET_BY_PUBLICKEY | TICKET_BY_PASSWORD |
			     TICKET_BY_KBDINT)) != 0 && (traits & ~known) == 0;
}
