/* SPDX-License-Identifier: ISC */
/* The host's address in known_hosts, beside its name (CheckHostIP). */
#include "client/hosts/hostcheck-internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/prompt.h"
#include "client/hosts/known-hosts-command.h"
#include "conf/defaults.h"

/* Is the address looked up in known_hosts too? Not behind a proxy, where it is
 * not known; not if it is a loopback address, which every host has; and not if
 * the user gave an address as the name, because then the lookup of the name is
 * the same. */
static bool
is_looked_at(const struct hostcheck *h)
{
	return h->conf->known.check_host_ip && h->address != NULL &&
	    !hostcheck_is_loopback(h->address) &&
	    strcmp(h->address, h->conf->host.hostname) != 0;
}

char *
hostcheck_address_name(const struct hostcheck *h)
{
	char *name;

	if (!is_looked_at(h))
		return NULL;
	name = knownhosts_name(h->address, h->port);
	if (name == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	return name;
}

int
hostcheck_add_address_names(const struct hostcheck *h, struct strlist *names)
{
	const uint16_t ports[] = { h->port, h->other_port,
		HPN_KNOWN_HOSTS_PORT };
	int r = 0;

	if (!is_looked_at(h))
		return 0;
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(ports); i++) {
		char *name = knownhosts_name(h->address, ports[i]);

		r = name != NULL ? strlist_add(names, name) : ERR_NOMEM;
		free(name);
	}
	return r;
}

/* If the host has two names, one for each default port, so has the address:
 * combines what is known of both (see hostcheck_combine()). */
static int
find_under_other_port(const struct hostcheck *h,
    const struct knownhosts_sources *sources, const struct key *k,
    struct address_verdict *a)
{
	struct address_verdict other = { .found = { 0 } };
	int r;

	other.name = knownhosts_name(h->address, h->other_port);
	if (other.name == NULL)
		return ERR_NOMEM;
	r = knownhosts_check(sources, other.name, k, &other.found);
	if (r == 0 && hostcheck_combine(a->found.verdict,
	    other.found.verdict) != a->found.verdict) {
		struct address_verdict reached = *a;

		*a = other;
		other = reached;
	}
	hostcheck_clear_address(&other);
	return r;
}

int
hostcheck_find_address(const struct hostcheck *h, const struct key *k,
    uint16_t port, struct address_verdict *a)
{
	struct knownhosts_sources sources;
	struct buf lines = { 0 };
	int r;

	*a = (struct address_verdict){ 0 };
	if (!is_looked_at(h))
		return 0;
	if ((a->name = knownhosts_name(h->address, port)) == NULL)
		return ERR_NOMEM;
	r = known_hosts_command(h->conf, KNOWN_HOSTS_FOR_ADDRESS, a->name, k,
	    &lines);
	if (r == 0) {
		sources = hostcheck_sources(h, &lines);
		sources.lines_name = "KnownHostsCommand-"
				    KNOWN_HOSTS_FOR_ADDRESS;
		r = knownhosts_check(&sources, a->name, k, &a->found);
	}
	if (r == 0 && port == h->port && h->other_name != NULL)
		r = find_under_other_port(h, &sources, k, a);
	buf_clear(&lines);
	return r;
}

void
hostcheck_clear_address(struct address_verdict *a)
{
	knownhosts_found_clear(&a->found);
	free(a->name);
	a->name = NULL;
}

/* ---- judging ------------------------------------------------------------ */

static bool
user_agrees(void)
{
	char *answer = prompt_ask("Are you sure you want to continue "
				  "connecting (yes/no)? ", PROMPT_VISIBLE);
	bool agreed;

	if (answer != NULL)
		answer[strcspn(answer, "\r\n")] = '\0';
	agreed = answer != NULL && strcasecmp(answer, "yes") == 0;
	prompt_free(answer);
	return agreed;
}

/* known_hosts has another key for the address than the one shown, which is
 * right or new for the name: name and address belong, or belonged, to different
 * hosts. Warns, and asks the user if the name is known. For a new name the user
 * is asked later anyway, having seen this warning. */
static int
judge_difference(const struct hostcheck *h, const struct key *k,
    const struct verdict *v, const struct address_verdict *a)
{
	bool is_known = v->found.verdict == KNOWNHOSTS_OK;

	log_error("Warning: the %s host key for '%s' differs from the key for "
		  "the IP address '%s'", key_short_name(k), v->name, a->name);
	log_error("Offending key for IP in %s:%u",
	    a->found.path != NULL ? a->found.path : "?", a->found.line);
	if (is_known && v->found.path != NULL)
		log_error("Matching host key in %s:%u", v->found.path,
		    v->found.line);
	switch (h->conf->known.strict_host_key_checking) {
	case CLIENT_ASK_NO:
		return 0;
	case CLIENT_ASK_ASK:
		if (!is_known)
			return 0;
		return !h->conf->auth.batch_mode && user_agrees() ?
		    0 : ERR_HOSTKEY;
	default:
		log_error("Exiting, you have requested strict checking.");
		return ERR_HOSTKEY;
	}
}

int
hostcheck_judge_address(const struct hostcheck *h, const struct key *k,
    const struct verdict *v, const struct address_verdict *a)
{
	if (a->name == NULL)
		return 0;
	if (a->found.verdict == KNOWNHOSTS_IS_REVOKED) {
		hostcheck_warn_revoked(h, k, &a->found);
		return ERR_HOSTKEY;
	}
	/* If the key is wrong for the name itself, the verdict on the name
	 * decides; the address only changes what the user is told. */
	if (v->found.verdict == KNOWNHOSTS_IS_REVOKED)
		return 0;
	if (v->found.verdict == KNOWNHOSTS_CHANGED) {
		hostcheck_warn_spoofing(h, k, a);
		return 0;
	}
	return a->found.verdict == KNOWNHOSTS_CHANGED ?
	    judge_difference(h, k, v, a) : 0;
}

/* ---- noting ------------------------------------------------------------- */

void
hostcheck_note_address(const struct hostcheck *h, const struct key *k,
    const struct address_verdict *a, bool may_be_noted)
{
	const char *path = h->user_files.n > 0 ? h->user_files.v[0] : NULL;
	int r = ERR_NOT_FOUND;

	if (a->name == NULL || a->found.verdict != KNOWNHOSTS_NEW)
		return;
	if (may_be_noted && path != NULL)
		r = knownhosts_add(path, a->name, k,
		    h->conf->known.hash_known_hosts);
	if (r == 0)
		log_info("Warning: Permanently added the %s host key for IP "
			 "address '%s' to the list of known hosts.",
		    key_short_name(k), a->name);
	else
		log_info("%s host key for IP address '%s' not in list of known "
			 "hosts.", key_short_name(k), a->name);
}
