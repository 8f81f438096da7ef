/* SPDX-License-Identifier: ISC */
#include "server/monitor/authorized-certs.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "conf/addr-match.h"

enum { IGNORED_MAX = 16 }; /* unknown extensions that are logged */

static const char no_principal[] =
    "Certificate does not contain an authorized principal";
static const char bad_options[] = "Invalid certificate options";

/* ---- what the certificate itself allows -------------------------------- */

/* Makes permits of a certificate's grants: only what is granted is permitted. A
 * tunnel counts as forwarding of ports. */
static void
permits_of_grants(const struct cert_grants *g, struct permits *p)
{
	*p = (struct permits){ .pty = g->pty,
		.user_rc = g->user_rc,
		.agent_forwarding = g->agent_forwarding,
		.x11_forwarding = g->x11_forwarding,
		.forward = g->port_forwarding ? PERMITS_FORWARD_ALL : 0,
		.tunnel_modes = g->port_forwarding ? PERMITS_TUNNEL_ALL : 0,
		.no_touch = g->no_touch,
		.verify_required = g->verify_required,
		.tunnel_unit = PERMITS_TUNNEL_ANY };
	if (g->command != NULL)
		p->command = xstrdup(g->command);
}

static bool
comes_from_where_it_may(const struct authcert_shown *shown,
    const struct cert_grants *g)
{
	if (g->addresses == NULL ||
	    addr_match_networks(shown->address, g->addresses) == 1)
		return true;
	log_info("cert: Authentication tried for %s with valid certificate "
		 "but not from a permitted source address (%s).",
	    shown->login, shown->address);
	return false;
}

static void
log_ignored(const struct cert_grants *g)
{
	for (size_t i = 0; i < g->ignored.n && i < IGNORED_MAX; i++)
		log_info("Certificate extension \"%s\" is not supported",
		    g->ignored.v[i]);
}

/* Sets *permits to what the certificate allows this client. Returns NULL, or
 * the reason why the client may not log in. */
static const char *
read_grants(const struct authcert_shown *shown, struct permits *permits)
{
	struct cert_grants g;
	const char *detail, *why = NULL;

	*permits = (struct permits){ 0 };
	if (cert_grants_read(shown->cert, &g, &detail) != 0) {
		log_info("certificate ID \"%.*s\": %s", AUTHCERT_ID_SHOWN,
		    shown->cert->id, detail);
		return bad_options;
	}
	log_ignored(&g);
	if (g.addresses != NULL &&
	    addr_match_networks(NULL, g.addresses) < 0)
		why = bad_options;
	else if (!comes_from_where_it_may(shown, &g))
		why = "Refused by certificate options";
	else
		permits_of_grants(&g, permits);
	cert_grants_clear(&g);
	return why;
}

/* ---- the line ---------------------------------------------------------- */

bool
authcert_copy_permits(const struct permits *from, struct permits *to)
{
	const char *why;

	permits_init(to);
	/* Cannot fail: *to has neither a command nor a variable. */
	if (permits_merge(to, from, &why) != 0)
		fatal("permits: %s", why);
	return true;
}

/* Removes from permits what the line does not allow. Returns NULL, or the
 * reason for a refusal. */
static const char *
restrict_to_line(struct permits *permits, const struct authkeys_options *line)
{
	const char *detail;

	/* Only the commands can differ: a certificate has no variables. */
	if (permits_merge(permits, &line->permits, &detail) != 0)
		return "forced command options do not match";
	return NULL;
}

/* Whether a comma list names a principal of the certificate; blanks count. An
 * empty item ends the list. */
static bool
list_names_principal(const char *list, const struct cert *c)
{
	bool found = false;

	while (!found && *list != '\0' && *list != ',') {
		size_t len = strcspn(list, ",");
		char *item = xstrndup(list, len);

		found = strlist_has(&c->principals, item);
		free(item);
		list += len;
		if (*list == ',')
			list++;
	}
	return found;
}

static const char *
conclude(const char *why, struct permits *permits)
{
	if (why != NULL)
		permits_clear(permits);
	return why;
}

const char *
authcert_refusal_of_line(const struct authcert_shown *shown,
    const struct authkeys_options *line, struct permits *permits)
{
	const char *why = read_grants(shown, permits);

	if (why == NULL)
		why = restrict_to_line(permits, line);
	if (why == NULL && line->principals != NULL &&
	    !list_names_principal(line->principals, shown->cert))
		why = no_principal;
	if (why == NULL)
		why = cert_refusal(shown->cert, CERT_USER, shown->now,
		    line->principals == NULL ? shown->login : NULL);
	return conclude(why, permits);
}

/* Whether a line has options that have no meaning in a list of principals. Such
 * a line was misunderstood by its author, so it lets nobody in. */
static bool
is_about_keys(const struct authkeys_options *line)
{
	return line->cert_authority || line->principals != NULL;
}

const char *
authcert_refusal_by_ca(const struct authcert_shown *shown,
    const struct authkeys_options *line, enum authkeys_applies applies,
    struct permits *permits)
{
	const char *why = cert_refusal(shown->cert, CERT_USER, shown->now,
	    line == NULL ? shown->login : NULL);

	*permits = (struct permits){ 0 };
	if (why == NULL)
		why = read_grants(shown, permits);
	if (why == NULL && line != NULL &&
	    (applies != AUTHKEYS_APPLIES || is_about_keys(line)))
		why = "Refused by certificate principals options";
	if (why == NULL && line != NULL)
		why = restrict_to_line(permits, line);
	return conclude(why, permits);
}

/* ---- lists of principals ----------------------------------------------- */

static const char blanks[] = " \t";

/* Returns the line without its comment and the blanks around it. Caller
 * frees. */
static char *
trim(const char *line)
{
	size_t len;

	line += strspn(line, blanks);
	len = strcspn(line, "#\r\n");
	while (len > 0 && strchr(blanks, line[len - 1]) != NULL)
		len--;
	return xstrndup(line, len);
}

/* Cuts the text into options and a name. Returns the name, its last word;
 * *options is NULL if there are none. */
static const char *
split(char *text, const char **options)
{
	char *name = text + strlen(text);

	*options = NULL;
	while (name > text && strchr(blanks, name[-1]) == NULL)
		name--;
	if (name == text)
		return name;
	*options = text;
	for (char *end = name; end > text && strchr(blanks, end[-1]) != NULL;)
		*--end = '\0';
	return name;
}

int
authcert_match_principal(const char *line, const struct cert *c,
    struct authkeys_options *o, const char **why)
{
	char *text = trim(line);
	const char *options, *name = split(text, &options);
	int r = ERR_NOT_FOUND;

	*why = NULL;
	if (*name != '\0' && strlist_has(&c->principals, name)) {
		authkeys_options_init(o);
		r = options == NULL ? 0 :
				      authkeys_parse_options(options, o, why);
	}
	free(text);
	return r;
}

/* ---- the log ----------------------------------------------------------- */

void
authcert_log_refusal(const struct cert *c, enum digest_alg hash,
    const char *via, const char *why)
{
	char *print = key_fingerprint(c->ca, hash);

	log_error("Refusing certificate ID \"%.*s\" serial=%llu signed by "
		  "%s CA %s%s%s: %s",
	    AUTHCERT_ID_SHOWN, c->id, (unsigned long long)c->serial,
	    key_short_name(c->ca), print != NULL ? print : "?",
	    via != NULL ? " via " : "", via != NULL ? via : "", why);
	free(print);
}
