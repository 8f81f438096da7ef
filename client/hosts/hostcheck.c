/* SPDX-License-Identifier: ISC */
#include "client/hosts/hostcheck-internal.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/prompt.h"
#include "client/hosts/hostcert.h"
#include "client/hosts/known-hosts-command.h"
#include "conf/defaults.h"
#include "keys/revoked-keys.h"

enum { REVOKED_FILE_MAX = 1 << 24 /* bytes */ };

/* Sets the name with the other default port, which is looked up only if the
 * user gave no port: then a key under that name may be this server's. */
static int
set_other_name(struct hostcheck *h)
{
	const struct client_conf *c = h->conf;
	int other = h->port == HPN_DEFAULT_PORT ? c->host.fallback_port :
						  HPN_DEFAULT_PORT;

	if (c->load.port_given || c->host.host_key_alias != NULL ||
	    other == h->port)
		return 0;
	h->other_port = (uint16_t)other;
	h->other_name = knownhosts_name(c->host.hostname, h->other_port);
	return h->other_name != NULL ? 0 : ERR_NOMEM;
}

/* The host's name as if it were on port 22, which known_hosts has without a
 * port: the host may be known under it. NULL: the host has no such other name.
 * Caller frees. */
static char *
name_alone(const struct hostcheck *h)
{
	char *name;

	if (h->conf->host.host_key_alias != NULL ||
	    h->port == HPN_KNOWN_HOSTS_PORT)
		return NULL;
	name = knownhosts_name(h->conf->host.hostname, HPN_KNOWN_HOSTS_PORT);
	if (name == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	return name;
}

/* Reads the known_hosts files, once for all names of the host. */
static int
set_seen(struct hostcheck *h)
{
	struct strlist names = { 0 };
	char *alone = name_alone(h);
	int r = strlist_add(&names, h->name);

	if (r == 0 && h->other_name != NULL)
		r = strlist_add(&names, h->other_name);
	if (r == 0 && alone != NULL)
		r = strlist_add(&names, alone);
	if (r == 0)
		r = hostcheck_add_address_names(h, &names);
	if (r == 0)
		r = knownhosts_seen_new(&h->seen, &h->all_files, &names);
	strlist_clear(&names);
	free(alone);
	return r;
}

int
hostcheck_new(struct hostcheck **out, const struct client_conf *conf,
    const char *address, uint16_t port)
{
	struct hostcheck *h = xcalloc(1, sizeof *h);
	int r;

	h->conf = conf;
	h->port = port;
	if (address != NULL)
		h->address = xstrdup(address);
	if (conf->host.host_key_alias != NULL)
		h->name = xstrdup(conf->host.host_key_alias);
	else
		h->name = knownhosts_name(conf->host.hostname, port);
	r = h->name != NULL ? set_other_name(h) : ERR_NOMEM;
	if (r != 0)
		goto out;
	r = client_conf_expand_list(conf, "UserKnownHostsFile",
	    &conf->known.user_known_hosts_file, &h->user_files);
	if (r == 0)
		r = client_conf_expand_list(conf, "RevokedHostKeys",
		    &conf->known.revoked_host_keys, &h->revoked_files);
	if (r == 0)
		r = client_conf_expand_list(conf, "GlobalKnownHostsFile",
		    &conf->known.global_known_hosts_file, &h->all_files);
	for (size_t i = 0; r == 0 && i < h->user_files.n; i++)
		r = strlist_add(&h->all_files, h->user_files.v[i]);
	if (r == 0)
		r = set_seen(h);
out:
	if (r != 0) {
		hostcheck_free(h);
		return r;
	}
	*out = h;
	return 0;
}

void
hostcheck_free(struct hostcheck *h)
{
	if (h == NULL)
		return;
	knownhosts_seen_free(h->seen);
	free(h->name);
	free(h->other_name);
	free(h->address);
	strlist_clear(&h->user_files);
	strlist_clear(&h->all_files);
	strlist_clear(&h->revoked_files);
	buf_clear(&h->accepted);
	buf_clear(&h->order_lines);
	buf_clear(&h->lines);
	free(h);
}

const char *
hostcheck_noted_in(const struct hostcheck *h)
{
	return h->noted_in;
}

bool
hostcheck_distrusted(const struct hostcheck *h)
{
	return h->first != NULL ? h->first->distrusted : h->distrusted;
}

struct span
hostcheck_accepted(const struct hostcheck *h)
{
	return buf_span(&h->accepted);
}

void
hostcheck_set_first(struct hostcheck *h, const struct hostcheck *first,
    bool undecided)
{
	h->first = first;
	h->first_undecided = undecided;
}

const char *
hostcheck_name(const struct hostcheck *h)
{
	return h->name;
}

const char *
hostcheck_other_name(const struct hostcheck *h)
{
	return h->other_name;
}

/* The user's first file of known hosts, by which hints are kept. NULL: no
 * hints, because a user who keeps no known_hosts (/dev/null, or no file) wants
 * no other file that names hosts. */
const char *
hostcheck_hints_file(const struct hostcheck *h)
{
	struct stat st;

	if (h->user_files.n == 0 ||
	    stat(h->user_files.v[0], &st) == -1 || !S_ISREG(st.st_mode))
		return NULL;
	return h->user_files.v[0];
}

/* ---- the check ---------------------------------------------------------- */

enum hostcheck_action
hostcheck_decide(enum knownhosts_verdict verdict, int strict, bool batch)
{
	switch (verdict) {
	case KNOWNHOSTS_OK:
		return HOSTCHECK_ACCEPT;
	case KNOWNHOSTS_IS_REVOKED:
		return HOSTCHECK_REFUSE;
	case KNOWNHOSTS_CHANGED:
		return strict == CLIENT_ASK_NO ? HOSTCHECK_DISTRUST :
						 HOSTCHECK_REFUSE;
	default:
		break;
	}
	switch (strict) {
	case CLIENT_ASK_NO:
	case CLIENT_ASK_ACCEPT_NEW:
		return HOSTCHECK_ADD;
	case CLIENT_ASK_ASK:
		return batch ? HOSTCHECK_REFUSE : HOSTCHECK_ASK;
	default:
		return HOSTCHECK_REFUSE;
	}
}

bool
hostcheck_is_loopback(const char *address)
{
	struct in6_addr six;
	struct in_addr four;

	if (address == NULL)
		return false;
	if (inet_pton(AF_INET, address, &four) == 1)
		return (ntohl(four.s_addr) >> 24) == 127;
	return inet_pton(AF_INET6, address, &six) == 1 &&
	    IN6_IS_ADDR_LOOPBACK(&six);
}

/* Does the RevokedHostKeys file at path revoke the key? A file that cannot be
 * read revokes all keys. */
static bool
in_revoked_file(const char *path, const struct key *k)
{
	struct buf list = { 0 };
	bool revoked = true;

	if (file_read(path, &list, REVOKED_FILE_MAX) != 0) {
		log_error("RevokedHostKeys: cannot read %s: %s", path,
		    err_text(ERR_SYSTEM));
	} else if (revoked_keys_find(&list, k, &revoked) != 0) {
		log_error("RevokedHostKeys: %s is no list of revoked keys, so "
			  "that all are refused",
		    path);
		revoked = true;
	}
	buf_clear(&list);
	return revoked;
}

/* Adds the key to the user's first file of known hosts. False: that failed
 * (which was logged), or there is no such file. */
static bool
add_key(struct hostcheck *h, const struct key *k)
{
	int r;

	if (h->user_files.n == 0)
		return false;
	r = knownhosts_add(h->user_files.v[0], h->name, k,
	    h->conf->known.hash_known_hosts);
	if (r != 0)
		log_info("Could not note the host key in %s: %s",
		    h->user_files.v[0], err_text(r));
	else
		log_info("Warning: Permanently added '%s' (%s) to the list of "
			 "known hosts.",
		    h->name, key_short_name(k));
	return r == 0;
}

static const char *
find_user_file(const struct hostcheck *h, const char *path)
{
	for (size_t i = 0; i < h->user_files.n && path != NULL; i++)
		if (strcmp(h->user_files.v[i], path) == 0)
			return h->user_files.v[i];
	return NULL;
}

struct knownhosts_sources
hostcheck_sources(const struct hostcheck *h, const struct buf *lines)
{
	struct knownhosts_sources sources = { .files = &h->all_files,
		.seen = h->seen,
		.lines_name = "KnownHostsCommand-" KNOWN_HOSTS_FOR_HOSTNAME };

	if (lines != NULL)
		sources.lines = buf_span(lines);
	return sources;
}

/* A host on a port other than 22 may be known, or its key revoked, by its name
 * without the port. Looks there, in the files only, because KnownHostsCommand
 * was asked for the name with the port. If the name without the port is known
 * or revoked, v becomes the verdict on it. Returns whether it is known. */
static bool
known_without_port(const struct hostcheck *h, const struct key *k,
    struct verdict *v)
{
	const struct knownhosts_sources sources = hostcheck_sources(h, NULL);
	struct knownhosts_found found = { 0 }, other;
	char *name = name_alone(h);
	bool known = false;

	if (name != NULL && knownhosts_check(&sources, name, k, &found) == 0 &&
	    (found.verdict == KNOWNHOSTS_OK ||
		found.verdict == KNOWNHOSTS_IS_REVOKED)) {
		known = found.verdict == KNOWNHOSTS_OK;
		log_debug("host key is %s for %s without the port",
		    known ? "known" : "revoked", name);
		other = v->found;
		v->found = found;
		found = other;
	}
	knownhosts_found_clear(&found);
	free(name);
	return known;
}

int
hostcheck_find_ca(const struct hostcheck *h, const struct buf *lines,
    const struct key *ca, struct knownhosts_found *found)
{
	const struct knownhosts_sources all = hostcheck_sources(h, lines);
	const struct knownhosts_sources files = hostcheck_sources(h, NULL);
	char *alone = name_alone(h);
	int r = knownhosts_find_ca(&all, h->name, ca, found);

	if (r == 0 && found->verdict != KNOWNHOSTS_OK && alone != NULL)
		r = knownhosts_find_ca(&files, alone, ca, found);
	free(alone);
	return r;
}

enum knownhosts_verdict
hostcheck_combine(enum knownhosts_verdict reached,
    enum knownhosts_verdict other)
{
	return other == KNOWNHOSTS_IS_REVOKED || reached == KNOWNHOSTS_NEW ?
	    other : reached;
}

/* Looks the key up under the names with both default ports. */
static int
look_up(const struct hostcheck *h, const struct key *k, struct verdict *v)
{
	const struct knownhosts_sources sources =
	    hostcheck_sources(h, &h->lines);
	struct knownhosts_found other;
	enum knownhosts_verdict both;
	int r;

	v->name = h->name;
	r = knownhosts_check(&sources, h->name, k, &v->found);
	if (r != 0 || h->other_name == NULL)
		return r;
	r = knownhosts_check(&sources, h->other_name, k, &other);
	if (r != 0)
		return r;
	both = hostcheck_combine(v->found.verdict, other.verdict);
	if (both == v->found.verdict) {
		knownhosts_found_clear(&other);
		return 0;
	}
	knownhosts_found_clear(&v->found);
	v->found = other;
	v->name = h->other_name;
	return 0;
}

static int
apply_verdict(struct hostcheck *h, const struct key *k,
    const struct verdict *v)
{
	const char *path = v->found.path;

	switch (hostcheck_decide(v->found.verdict,
	    h->conf->known.strict_host_key_checking,
	    h->conf->auth.batch_mode)) {
	case HOSTCHECK_ACCEPT:
		log_debug("Host '%s' is known and matches the %s host key.",
		    v->name, key_short_name(k));
		log_debug("Found key in %s:%u", path != NULL ? path : "?",
		    v->found.line);
		if (v->name == h->name)
			h->noted_in = find_user_file(h, path);
		return 0;
	case HOSTCHECK_ASK:
		if (!hostcheck_ask_user(h, k))
			return ERR_HOSTKEY;
		/* A key that the user has checked may introduce the host's
		 * other keys (UpdateHostKeys). */
		if (add_key(h, k))
			h->noted_in = h->user_files.v[0];
		return 0;
	case HOSTCHECK_ADD:
		(void)add_key(h, k);
		return 0;
	case HOSTCHECK_DISTRUST:
		log_error("Password and keyboard-interactive authentication "
			  "are off, so that nobody gets your password.");
		h->distrusted = true;
		return 0;
	case HOSTCHECK_REFUSE:
		break;
	}
	hostcheck_explain_refusal(h, k, v);
	return ERR_HOSTKEY;
}

/* May the address be added to known_hosts? Only beside a name that was added
 * just now, or that a file has with the port that was reached. */
static bool
may_note_address(const struct hostcheck *h, const struct verdict *v)
{
	return v->found.verdict != KNOWNHOSTS_OK ||
	    (v->name == h->name && v->found.path != NULL &&
		strlist_has(&h->all_files, v->found.path));
}

/* Accepts a host whose key is known under its name without the port, unless the
 * address without the port is known with another key. */
static int
accept_without_port(const struct hostcheck *h, const struct key *k,
    const struct verdict *v)
{
	struct address_verdict a;
	int r = hostcheck_find_address(h, k, HPN_KNOWN_HOSTS_PORT, &a);

	if (r == 0)
		r = hostcheck_judge_address(h, k, v, &a);
	if (r == 0)
		hostcheck_note_address(h, k, &a, false);
	hostcheck_clear_address(&a);
	return r;
}

static void
warn_of(const struct hostcheck *h, const struct key *k,
    const struct verdict *v)
{
	if (v->found.verdict == KNOWNHOSTS_CHANGED)
		hostcheck_warn_changed(h, k, v);
	if (v->found.verdict == KNOWNHOSTS_IS_REVOKED)
		hostcheck_warn_revoked(h, k, &v->found);
}

/* Decides on a plain key by what is known of it under the name (v) and the
 * address (a). */
static int
judge_plain(struct hostcheck *h, const struct key *k, struct verdict *v,
    const struct address_verdict *a)
{
	bool alone = v->found.verdict == KNOWNHOSTS_NEW &&
	    known_without_port(h, k, v);
	int r = hostcheck_judge_address(h, k, v, a);

	warn_of(h, k, v);
	if (r != 0)
		return r;
	if (alone)
		return accept_without_port(h, k, v);
	if ((r = apply_verdict(h, k, v)) == 0 &&
	    v->found.verdict != KNOWNHOSTS_CHANGED)
		hostcheck_note_address(h, k, a, may_note_address(h, v));
	return r;
}

/* Checks a plain key against known_hosts: what is not known there is decided by
 * StrictHostKeyChecking. */
static int
check_plain(struct hostcheck *h, const struct key *k)
{
	struct verdict v = { 0 };
	struct address_verdict a = { 0 };
	int r = look_up(h, k, &v);

	if (r == 0)
		r = hostcheck_find_address(h, k, h->port, &a);
	if (r != 0)
		log_error("known_hosts: %s", err_text(r));
	else
		r = judge_plain(h, k, &v, &a);
	knownhosts_found_clear(&v.found);
	hostcheck_clear_address(&a);
	return r;
}

/* Decides on a certificate. Principals of certificates are names without a
 * port. */
static enum hostcert_verdict
judge_certificate(const struct hostcheck *h, const struct cert *c,
    bool revoked, bool ca_known)
{
	const char *alias = h->conf->host.host_key_alias, *why;
	struct hostcert_facts facts = {
		.revoked = revoked,
		.ca_known = ca_known,
		.host = alias != NULL ? alias : h->conf->host.hostname,
		.now = (uint64_t)time(NULL),
		.ca_algorithms = h->conf->algs.ca_signature_algorithms,
	};
	enum hostcert_verdict verdict = hostcert_decide(c, &facts, &why);

	if (why != NULL)
		log_error("%s", why);
	return verdict;
}

/* Checks a certificate against the authorities in known_hosts. *verdict is set
 * unless an error is returned. */
static int
check_certificate(const struct hostcheck *h, const struct key *k,
    enum hostcert_verdict *verdict)
{
	struct knownhosts_found ca = { 0 };
	struct verdict v = { 0 };
	bool revoked;
	int r = look_up(h, k, &v);

	if (r == 0)
		r = hostcheck_find_ca(h, &h->lines, key_cert(k)->ca, &ca);
	if (r != 0) {
		log_error("known_hosts: %s", err_text(r));
		goto out;
	}
	revoked = v.found.verdict == KNOWNHOSTS_IS_REVOKED;
	*verdict = judge_certificate(h, key_cert(k), revoked,
	    ca.verdict == KNOWNHOSTS_OK);
	if (revoked)
		hostcheck_warn_revoked(h, k, &v.found);
	if (*verdict == HOSTCERT_ACCEPT) {
		log_debug("Host '%s' is known and matches the %s host "
			  "certificate.",
		    h->name, key_short_name(k));
		log_debug("Found CA key in %s:%u", ca.path, ca.line);
	}
out:
	knownhosts_found_clear(&v.found);
	knownhosts_found_clear(&ca);
	return r;
}

/* Runs KnownHostsCommand for the key k. What it prints replaces the lines for
 * the key before. */
static int
ask_command(struct hostcheck *h, const struct key *k)
{
	buf_reset(&h->lines);
	return known_hosts_command(h->conf, KNOWN_HOSTS_FOR_HOSTNAME, h->name,
	    k, &h->lines);
}

/* Checks the key against known_hosts. If a certificate decides nothing, its
 * plain key is checked as that of any other host. */
static int
check_known_hosts(struct hostcheck *h, const struct key *k)
{
	enum hostcert_verdict verdict = HOSTCERT_UNKNOWN;
	int r = ask_command(h, k);

	if (r != 0)
		return r;
	if (!key_is_cert(k))
		return check_plain(h, k);
	if ((r = check_certificate(h, k, &verdict)) != 0)
		return r;
	if (verdict == HOSTCERT_ACCEPT)
		return 0;
	if (verdict == HOSTCERT_REFUSE)
		return ERR_HOSTKEY;
	log_debug("the plain key of the %s certificate is looked for",
	    key_short_name(k));
	k = key_identity(k);
	if ((r = ask_command(h, k)) != 0)
		return r;
	return check_plain(h, k);
}

static bool
is_revoked(const struct hostcheck *h, const struct key *k)
{
	for (size_t i = 0; i < h->revoked_files.n; i++) {
		if (!in_revoked_file(h->revoked_files.v[i], k))
			continue;
		log_error("The %s host key of %s is revoked by %s.",
		    key_short_name(k), h->name, h->revoked_files.v[i]);
		return true;
	}
	return false;
}

bool
hostcheck_is_revoked(const struct hostcheck *h, const struct key *k)
{
	struct verdict v = { 0 };
	bool revoked = is_revoked(h, k) || look_up(h, k, &v) != 0 ||
	    v.found.verdict == KNOWNHOSTS_IS_REVOKED;

	knownhosts_found_clear(&v.found);
	return revoked;
}

/* Checks that the key may be used at all, whichever host it belongs to
 * (RequiredRSASize). */
static int
check_policy(const struct hostcheck *h, const struct key *k)
{
	int r = key_check_length(k, (unsigned)h->conf->algs.required_rsa_size);

	if (r != 0)
		log_error("Bad server host key: %s of %u bits: %s",
		    key_short_name(k), key_bits(k), err_text(r));
	return r;
}

/* Checks that the key belongs to the host that was meant, by the DNS or by
 * known_hosts; not on a loopback address with
 * NoHostAuthenticationForLocalhost. */
static int
check_known(struct hostcheck *h, const struct key *k)
{
	if (h->conf->known.no_host_authentication_for_localhost &&
	    hostcheck_is_loopback(h->address)) {
		log_debug("loopback address: host key is not checked");
		return 0;
	}
	if (hostcheck_by_dns(h, key_is_cert(k) ? key_identity(k) : k))
		return 0;
	return check_known_hosts(h, k);
}

static int
check_first(struct hostcheck *h, struct span blob)
{
	struct key *k = NULL;
	char *fp;
	int r = key_from_blob(blob, &k);

	if (r != 0) {
		log_error("The server's host key cannot be used: %s",
		    err_text(r));
		return r;
	}
	fp = hostcheck_fingerprint(h, k);
	log_debug("Server host key: %s %s", key_type(k), fp);
	free(fp);
	r = h->command_failed ? ERR_HOSTKEY : check_policy(h, k);
	if (r == 0 && is_revoked(h, k))
		r = ERR_HOSTKEY;
	if (r == 0)
		r = check_known(h, k);
	if (r == 0)
		hostcheck_show_picture(h, k);
	key_free(k);
	return r;
}

/* Checks the key in the first exchange of a further connection: it has to be
 * the key that the first connection accepted. */
static int
check_further(const struct hostcheck *h, struct span blob)
{
	const struct buf *right = &h->first->accepted;

	if (blob.len > 0 && buf_len(right) == 0 && h->first_undecided)
		return 0;
	if (blob.len > 0 && key_blobs_same_identity(buf_span(right), blob))
		return 0;
	log_error("this connection came to another host key");
	return ERR_HOSTKEY;
}

int
hostcheck_confirm(struct hostcheck *h)
{
	h->first_undecided = false;
	return buf_len(&h->accepted) == 0 ? 0 :
	    check_further(h, buf_span(&h->accepted));
}

int
hostcheck_key(struct hostcheck *h, struct span blob)
{
	int r;

	/* In a rekey, the host has to show the key of the first exchange. */
	if (buf_len(&h->accepted) > 0) {
		if (key_blobs_same_identity(buf_span(&h->accepted), blob))
			return 0;
		log_error("The host key is another one than at the beginning "
			  "of this connection.");
		log_error("Host key verification failed.");
		return ERR_HOSTKEY;
	}
	r = h->first != NULL ? check_further(h, blob) : check_first(h, blob);
	if (r != 0) {
		log_error("Host key verification failed.");
		return ERR_HOSTKEY;
	}
	return key_identity_of_blob(blob, &h->accepted);
}

int
hostcheck_vouched(struct hostcheck *h, struct span blob)
{
	struct key *k = NULL;
	int r;

	if (buf_len(&h->accepted) > 0)
		return hostcheck_key(h, blob);
	if ((r = key_from_blob(blob, &k)) != 0)
		log_error("The server's host key cannot be used: %s",
		    err_text(r));
	else if (hostcheck_is_revoked(h, k))
		r = ERR_HOSTKEY;
	key_free(k);
	if (r == 0 && h->first != NULL && buf_len(&h->first->accepted) > 0)
		r = check_further(h, blob);
	if (r == 0)
		r = key_identity_of_blob(blob, &h->accepted);
	if (r != 0)
		log_error("Host key verification failed.");
	return r != 0 ? ERR_HOSTKEY : 0;
}

int
hostcheck_new_vouched(struct hostcheck **out, const struct client_conf *conf,
    const char *address, uint16_t port, struct span blob)
{
	bool was_demoted;
	int r = hostcheck_new(out, conf, address, port);

	if (r != 0)
		return r;
	was_demoted = log_demote(true);
	r = hostcheck_vouched(*out, blob);
	(void)log_demote(was_demoted);
	return r;
}
