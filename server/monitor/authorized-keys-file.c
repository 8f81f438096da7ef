/* SPDX-License-Identifier: ISC */
/*
 * Looks for a key, or the authority of a certificate, in a user's
 * authorized_keys file. The file is read with the user's own rights, and with
 * StrictModes only if nobody else could have written it.
 */
#include "server/monitor/authorized-keys.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "server/monitor/authorized-certs.h"
#include "server/monitor/authorized-files.h"
#include "server/privs.h"

void
authkeys_log_refusal(const struct authkeys_query *q,
    const struct authkeys_options *o, enum authkeys_applies what,
    const char *where)
{
	switch (what) {
	case AUTHKEYS_APPLIES:
		break;
	case AUTHKEYS_EXPIRED:
		log_info("%s: key has expired", where);
		break;
	case AUTHKEYS_BAD_NETWORK:
		log_error("%s: bad network in from=\"%s\"", where, o->from);
		break;
	case AUTHKEYS_OTHER_CLIENT:
		log_info("%s: Authentication tried for %s with correct key but "
			 "not from a permitted host (host=%s, ip=%s, "
			 "required=%s).",
		    where, q->user->name, q->host, q->address, o->from);
		break;
	}
}

/* Whether a line for this key or authority lets the client in: its options
 * apply now, and it accepts the certificate. */
static bool
lets_in(const struct authkeys_query *q, const struct authkeys_options *o,
    const char *where, struct permits *permits)
{
	const struct authcert_shown shown = { .cert = q->cert,
		.login = q->user->name,
		.address = q->address,
		.now = (uint64_t)q->now };
	enum authkeys_applies what =
	    authkeys_options_apply(o, q->host, q->address, q->now);
	const char *why;

	authkeys_log_refusal(q, o, what, where);
	if (q->cert == NULL)
		return what == AUTHKEYS_APPLIES &&
		    authcert_copy_permits(&o->permits, permits);
	why = what == AUTHKEYS_APPLIES ?
	    authcert_refusal_of_line(&shown, o, permits) :
	    "Refused by key options";
	if (why == NULL)
		return true;
	authcert_log_refusal(q->cert, q->hash, where, why);
	return false;
}

int
authkeys_search_lines(const struct authkeys_query *q, FILE *f,
    const char *name, struct permits *permits, unsigned *line_no)
{
	struct authkeys_options o;
	struct authlines lines;
	bool found = false;
	const char *why;
	char *where;
	int r;

	*permits = (struct permits){ 0 };
	/* The query must have a certificate exactly if an authority is looked
	 * for. */
	if (q->wanted.is_ca != (q->cert != NULL))
		return ERR_ARGUMENT;
	authlines_init(&lines, f);
	while (!found && authlines_next(&lines)) {
		r = authkeys_match_line(lines.text, &q->wanted, &o, &why);
		if (r == ERR_NOT_FOUND)
			continue;
		xasprintf(&where, "%s:%u", name, lines.number);
		if (r == 0) {
			found = lets_in(q, &o, where, permits);
			authkeys_options_clear(&o);
		} else {
			log_debug("%s: %s", where,
			    why != NULL ? why : err_text(r));
		}
		free(where);
	}
	*line_no = lines.number;
	authlines_clear(&lines);
	if (found && !q->user_environment)
		strlist_clear(&permits->env);
	return found ? 0 : ERR_NOT_FOUND;
}

int
authkeys_search(const struct authkeys_query *q, const char *path,
    struct permits *permits, unsigned *line_no)
{
	FILE *f;
	int r;

	*permits = (struct permits){ 0 };
	if ((r = privs_enter(q->user)) != 0)
		return r == ERR_DENIED ? ERR_NOT_FOUND : r;
	f = authfiles_open(q->user, path, q->strict_modes);
	r = f == NULL ?
	    ERR_DENIED :
	    authkeys_search_lines(q, f, path, permits, line_no);
	privs_leave();
	if (f != NULL)
		fclose(f);
	return r;
}
