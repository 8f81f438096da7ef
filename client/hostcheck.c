/* SPDX-License-Identifier: ISC */
#include "client/hostcheck.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/prompt.h"
#include "conf/defaults.h"
#include "keys/revoked-keys.h"

enum { REVOKED_FILE_MAX = 1 << 24 /* bytes */ };

struct hostcheck {
	const struct client_conf *conf;
	char *name; /* as known_hosts spells it */
	/* The host's name under the other default port; NULL if the user
	 * has given a port or an alias. */
	char *other_name;
	char *address;
	uint16_t port;
	struct strlist user_files, all_files, revoked_files;
	struct buf accepted; /* blob of the host's identity, which the first
			      * key exchange of this connection has shown */
	const struct hostcheck *first; /* NULL: this is no further one */
	bool first_undecided; /* it may not have accepted a key yet */
	const char *noted_in; /* of user_files, or NULL */
	bool distrusted;
};

/* Only if the user gave no port, a key under the other default port may be this
 * server's. */
static int
set_other_name(struct hostcheck *h)
{
	const struct client_conf *c = h->conf;
	int other = h->port == HPN_DEFAULT_PORT ? c->host.fallback_port :
						  HPN_DEFAULT_PORT;

	if (c->load.port_given || c->host.host_key_alias != NULL ||
	    other == h->port)
		return 0;
	h->other_name = knownhosts_name(c->host.hostname, (uint16_t)other);
	return h->other_name != NULL ? 0 : ERR_NOMEM;
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
	free(h->name);
	free(h->other_name);
	free(h->address);
	strlist_clear(&h->user_files);
	strlist_clear(&h->all_files);
	strlist_clear(&h->revoked_files);
	buf_clear(&h->accepted);
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

void
hostcheck_set_first(struct hostcheck *h, const struct hostcheck *first,
    bool undecided)
{
	h->first = first;
	h->first_undecided = undecided;
}

/* ---- which algorithms to ask for ---------------------------------------- */

static void
append_name(struct buf *list, const char *name, size_t len)
{
	if (buf_len(list) > 0)
		buf_put_u8(list, ',');
	buf_put(list, name, len);
}

char *
hostcheck_order(const char *algorithms, const struct strlist *types)
{
	struct buf known = { 0 }, others = { 0 };
	const char *pos = algorithms, *name;
	char *list;
	size_t len;

	while (csv_next(&pos, &name, &len)) {
		char *copy = xstrndup(name, len);
		/* By plain names only: known keys say nothing of
		 * certificates. */
		const struct key_alg *alg = key_alg_by_name(copy);

		if (alg != NULL && strlist_has(types, alg->key_type))
			append_name(&known, name, len);
		else
			append_name(&others, name, len);
		free(copy);
	}
	if (buf_len(&others) > 0)
		append_name(&known, (const char *)buf_data(&others),
		    buf_len(&others));
	list = buf_dup_string(&known);
	buf_clear(&known);
	buf_clear(&others);
	if (list == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	return list;
}

/* The types of the host's keys, as far as they are known. */
static int
known_types(const struct hostcheck *h, struct strlist *types)
{
	const struct buf *blob;
	struct key *k;
	int r;

	if (h->first == NULL || buf_len(&h->first->accepted) == 0) {
		r = knownhosts_types(&h->all_files, h->name, types);
		if (r == 0 && types->n == 0 && h->other_name != NULL)
			r = knownhosts_types(&h->all_files, h->other_name,
			    types);
		return r;
	}
	blob = &h->first->accepted;
	r = key_from_blob((struct span){ buf_data(blob), buf_len(blob) }, &k);
	if (r != 0)
		return r;
	r = strlist_add(types, key_type(k));
	key_free(k);
	return r;
}

char *
hostcheck_algorithms(const struct hostcheck *h)
{
	struct strlist types = { 0 };
	char *list;

	if (h->conf->algs.host_key_algorithms_given)
		return xstrdup(h->conf->algs.host_key_algorithms);
	if (known_types(h, &types) != 0)
		strlist_clear(&types);
	list = hostcheck_order(h->conf->algs.host_key_algorithms, &types);
	strlist_clear(&types);
	return list;
}

bool
hostcheck_knows(const struct hostcheck *h, const char *alg)
{
	const struct key_alg *row = key_alg_by_name(alg);
	struct strlist types = { 0 };
	bool known;

	known = row != NULL && known_types(h, &types) == 0 &&
	    strlist_has(&types, row->key_type);
	strlist_clear(&types);
	return known;
}

const char *
hostcheck_name(const struct hostcheck *h)
{
	return h->name;
}

/* A user who hashes host names, or keeps no known_hosts, wants no other file
 * with names of hosts either. */
char *
hostcheck_hints_path(const struct hostcheck *h)
{
	struct stat st;
	char *path;

	if (h->conf->known.hash_known_hosts || h->user_files.n == 0 ||
	    stat(h->user_files.v[0], &st) == -1 || !S_ISREG(st.st_mode))
		return NULL;
	xasprintf(&path, "%s.hints", h->user_files.v[0]);
	return path;
}

/* ---- the check ---------------------------------------------------------- */

/* The verdict of the files on a key, and the name of this host that it belongs
 * to: name or other_name of the hostcheck. */
struct verdict {
	struct knownhosts_found found;
	const char *name;
};

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

static bool
is_loopback(const char *address)
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

static char *
fingerprint(const struct hostcheck *h, const struct key *k)
{
	char *fp = key_fingerprint(
	    k, (enum digest_alg)h->conf->known.fingerprint_hash);

	if (fp == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	return fp;
}

static void
log_lines(enum log_level level, const char *text)
{
	while (*text != '\0') {
		size_t len = strcspn(text, "\n");

		log_msg(level, "%.*s", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

static void
show_picture(const struct hostcheck *h, const struct key *k)
{
	char *fp, *art;

	if (!h->conf->known.visual_host_key)
		return;
	fp = fingerprint(h, k);
	art =
	    key_randomart(k, (enum digest_alg)h->conf->known.fingerprint_hash);
	log_info("Host key fingerprint is %s", fp);
	if (art != NULL)
		log_lines(LOG_LVL_INFO, art);
	free(art);
	free(fp);
}

/* Is the key in a RevokedHostKeys file? One that cannot be read revokes
 * everything. */
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

static void
banner(const char *text)
{
	static const char line[] = "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@"
				   "@@@@@@@@@@@@@@@@@@@";

	log_error("%s", line);
	log_error("@ %-*s@", (int)sizeof line - 4, text);
	log_error("%s", line);
}

static void
warn_changed(const struct hostcheck *h, const struct key *k,
    const struct verdict *v)
{
	const struct knownhosts_found *found = &v->found;
	char *fp = fingerprint(h, k);

	banner("WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!");
	log_error("This host is known under another key. Either its key was "
		  "replaced, or");
	log_error("SOMEBODY IS BETWEEN YOU AND THE HOST and reads along "
		  "(man-in-the-middle attack).");
	log_error("It now shows the %s key %s.", key_short_name(k), fp);
	log_error("If you can make sure, by another way than this connection, "
		  "that this is right,");
	log_error("remove the old key:  hpnssh-keygen -f '%s' -R '%s'",
	    found->path != NULL ? found->path : "known_hosts", v->name);
	if (v->name == h->other_name)
		log_error("(No port was given, so this key counts for %s as "
			  "well. If another server is meant to be there, give "
			  "its port with -p.)",
		    h->name);
	if (found->path != NULL)
		log_error("Offending %s key in %s:%u", key_short_name(k),
		    found->path, found->line);
	free(fp);
}

static void
warn_revoked(const struct hostcheck *h, const struct key *k,
    const char *where, unsigned line)
{
	banner("WARNING: REVOKED HOST KEY DETECTED!");
	log_error("The %s key of %s is marked as revoked in %s:%u.",
	    key_short_name(k), h->name, where, line);
	log_error("Somebody may be using a stolen key to pass as this host.");
}

/* True if it is noted now. */
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

/* Names that the files have for this same key: a hint for the user. */
static void
list_other_names(const struct hostcheck *h, const struct key *k,
    struct buf *out)
{
	struct knownhosts_line line;
	unsigned found = 0;

	for (size_t i = 0; i < h->all_files.n; i++) {
		FILE *f = fopen(h->all_files.v[i], "re");
		char *text = NULL;
		size_t cap = 0;

		for (unsigned n = 1; f != NULL && getline(&text, &cap, f) > 0;
		     n++) {
			text[strcspn(text, "\r\n")] = '\0';
			if (knownhosts_parse_line(text, &line) != 0)
				continue;
			if (line.marker == KNOWNHOSTS_NONE &&
			    line.key != NULL && key_same_identity(line.key, k))
				buf_printf(out, "%s    %s:%u: %.200s\n",
				    found++ == 0 ?
					"The same key is known for:\n" :
					"",
				    h->all_files.v[i], n,
				    line.hosts[0] == '|' ? "(hashed name)" :
							   line.hosts);
			knownhosts_line_clear(&line);
		}
		free(text);
		if (f != NULL)
			fclose(f);
	}
	if (found == 0)
		buf_printf(out,
		    "This key is not known by any other names.\n");
}

static bool
is_yes(const char *answer, const char *fp, bool *decided)
{
	*decided = true;
	if (strcasecmp(answer, "yes") == 0 || strcmp(answer, fp) == 0)
		return true;
	*decided = strcasecmp(answer, "no") == 0;
	return false;
}

static bool
ask_user(const struct hostcheck *h, const struct key *k,
    enum knownhosts_verdict verdict)
{
	struct buf text = { 0 };
	char *fp = fingerprint(h, k), *question, *answer;
	bool accepted = false, decided = false;

	buf_printf(&text, "The authenticity of host '%s", h->name);
	if (h->address != NULL)
		buf_printf(&text, " (%s)", h->address);
	buf_printf(&text, "' can't be established.\n");
	if (verdict == KNOWNHOSTS_OTHER_TYPE)
		buf_printf(&text, "Keys of other types are known for it.\n");
	buf_printf(&text, "%s key fingerprint is %s.\n", key_short_name(k), fp);
	list_other_names(h, k, &text);
	buf_printf(&text, "Are you sure you want to continue connecting "
			  "(yes/no/[fingerprint])? ");
	question = buf_dup_string(&text);
	while (!decided && question != NULL) {
		answer = prompt_ask(question, PROMPT_VISIBLE);
		if (answer == NULL)
			break;
		answer[strcspn(answer, "\r\n")] = '\0';
		accepted = is_yes(answer, fp, &decided);
		prompt_free(answer);
		free(question);
		question = xstrdup(
		    "Please type 'yes', 'no' or the fingerprint: ");
	}
	free(question);
	free(fp);
	buf_clear(&text);
	return accepted;
}

/* Under a port of its own a host may still be known by its name alone. */
static bool
known_without_port(const struct hostcheck *h, const struct key *k)
{
	struct knownhosts_found found = { 0 };
	char *name;
	bool known;

	if (h->conf->host.host_key_alias != NULL ||
	    h->port == HPN_KNOWN_HOSTS_PORT)
		return false;
	name = knownhosts_name(h->conf->host.hostname, HPN_KNOWN_HOSTS_PORT);
	known = name != NULL &&
	    knownhosts_check(&h->all_files, name, k, &found) == 0 &&
	    found.verdict == KNOWNHOSTS_OK;
	if (known)
		log_debug("host key is known for %s without the port", name);
	knownhosts_found_clear(&found);
	free(name);
	return known;
}

static void
explain_refusal(const struct hostcheck *h, const struct key *k,
    const struct verdict *v)
{
	switch (v->found.verdict) {
	case KNOWNHOSTS_CHANGED:
		log_error("Host key for %s has changed and you have requested "
			  "strict checking.",
		    v->name);
		break;
	case KNOWNHOSTS_IS_REVOKED:
		break;
	default:
		log_error("No %s host key is known for %s and you have "
			  "requested strict checking.",
		    key_short_name(k), h->name);
	}
}

enum knownhosts_verdict
hostcheck_combine(enum knownhosts_verdict reached,
    enum knownhosts_verdict other)
{
	bool is_unknown = reached == KNOWNHOSTS_NEW ||
	    reached == KNOWNHOSTS_OTHER_TYPE;

	if (other == KNOWNHOSTS_IS_REVOKED ||
	    (is_unknown && other != KNOWNHOSTS_NEW))
		return other;
	return reached;
}

/* Looks the key up under both names. */
static int
look_up(const struct hostcheck *h, const struct key *k, struct verdict *v)
{
	struct knownhosts_found other;
	enum knownhosts_verdict both;
	int r;

	v->name = h->name;
	r = knownhosts_check(&h->all_files, h->name, k, &v->found);
	if (r != 0 || h->other_name == NULL)
		return r;
	r = knownhosts_check(&h->all_files, h->other_name, k, &other);
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
	switch (hostcheck_decide(v->found.verdict,
	    h->conf->known.strict_host_key_checking,
	    h->conf->auth.batch_mode)) {
	case HOSTCHECK_ACCEPT:
		log_debug("host key is known for %s: %s:%u", v->name,
		    v->found.path != NULL ? v->found.path : "?",
		    v->found.line);
		if (v->name == h->name)
			h->noted_in = find_user_file(h, v->found.path);
		return 0;
	case HOSTCHECK_ASK:
		if (!ask_user(h, k, v->found.verdict))
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
	explain_refusal(h, k, v);
	return ERR_HOSTKEY;
}

static int
check_known_hosts(struct hostcheck *h, const struct key *k)
{
	struct verdict v = { 0 };
	int r = look_up(h, k, &v);

	if (r != 0) {
		log_error("known_hosts: %s", err_text(r));
		goto out;
	}
	if ((v.found.verdict == KNOWNHOSTS_NEW ||
		v.found.verdict == KNOWNHOSTS_OTHER_TYPE) &&
	    known_without_port(h, k))
		goto out;
	if (v.found.verdict == KNOWNHOSTS_CHANGED)
		warn_changed(h, k, &v);
	if (v.found.verdict == KNOWNHOSTS_IS_REVOKED)
		warn_revoked(h, k, v.found.path != NULL ? v.found.path : "?",
		    v.found.line);
	r = apply_verdict(h, k, &v);
out:
	knownhosts_found_clear(&v.found);
	return r;
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

/* May a key of this kind be a host key, whosever it is? */
static int
check_policy(const struct hostcheck *h, const struct key *k)
{
	int r = key_check_length(k, (unsigned)h->conf->algs.required_rsa_size);

	if (r != 0)
		log_error("Bad server host key: %s of %u bits: %s",
		    key_short_name(k), key_bits(k), err_text(r));
	return r;
}

/* Is it the key of the host that was meant? */
static int
check_known(struct hostcheck *h, const struct key *k)
{
	if (!h->conf->known.no_host_authentication_for_localhost ||
	    !is_loopback(h->address))
		return check_known_hosts(h, k);
	log_debug("loopback address: host key is not checked");
	return 0;
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
	if (key_is_cert(k)) {
		log_error("certificates of hosts are not built yet");
		key_free(k);
		return ERR_HOSTKEY;
	}
	fp = fingerprint(h, k);
	log_debug("server host key: %s %s", key_type(k), fp);
	free(fp);
	r = check_policy(h, k);
	if (r == 0 && is_revoked(h, k))
		r = ERR_HOSTKEY;
	if (r == 0)
		r = check_known(h, k);
	if (r == 0)
		show_picture(h, k);
	key_free(k);
	return r;
}

/* Is it the blob of this identity? */
static bool
is_identity(const struct buf *accepted, struct span blob)
{
	struct buf shown = { 0 };
	bool same = key_identity_of_blob(blob, &shown) == 0 &&
	    buf_len(&shown) == buf_len(accepted) &&
	    memcmp(buf_data(&shown), buf_data(accepted), buf_len(&shown)) == 0;

	buf_clear(&shown);
	return same;
}

/* The key of a further connection's first exchange. */
static int
check_further(const struct hostcheck *h, struct span blob)
{
	const struct buf *right = &h->first->accepted;

	if (blob.len > 0 && buf_len(right) == 0 && h->first_undecided)
		return 0;
	if (blob.len > 0 && is_identity(right, blob))
		return 0;
	log_error("this connection came to another host key");
	return ERR_HOSTKEY;
}

int
hostcheck_confirm(struct hostcheck *h)
{
	h->first_undecided = false;
	return buf_len(&h->accepted) == 0 ? 0 :
	    check_further(h, (struct span){ buf_data(&h->accepted),
				  buf_len(&h->accepted) });
}

int
hostcheck_key(struct hostcheck *h, struct span blob)
{
	int r;

	/* In a rekey, only the key of the first exchange is right. */
	if (buf_len(&h->accepted) > 0) {
		if (is_identity(&h->accepted, blob))
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
