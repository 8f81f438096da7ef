/* SPDX-License-Identifier: ISC */
/*
 * The parts of the check of a host's key (hostcheck-*.c): checking it, telling
 * the user of it, and ordering the host key algorithms for the proposal. For
 * these files only.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_HOSTS_HOSTCHECK_INTERNAL_H
#define HPN_CLIENT_HOSTS_HOSTCHECK_INTERNAL_H

#include "base/buf.h"
#include "client/hosts/hostcheck.h"
#include "keys/sshfp.h"

struct hostcheck {
	const struct client_conf *conf;
	char *name; /* the host's name (or alias) with the port that was
		     * reached, as known_hosts spells it */
	/* The host's name with the other default port. NULL if the user has
	 * given a port or an alias: then no other port can have been meant. */
	char *other_name;
	char *address;
	uint16_t port, other_port; /* port: that was reached; other_port: that
				    * of other_name */
	struct strlist user_files, all_files, revoked_files;
	struct knownhosts_seen *seen; /* the lines of all_files that name the
				       * host, under any of its names */
	struct buf accepted; /* blob of the plain host key that the first key
			      * exchange of this connection has shown and that
			      * was accepted; empty: none yet */
	const struct hostcheck *first; /* for a further connection: the check of
					* the first connection, borrowed; NULL:
					* this is a first connection */
	bool first_undecided; /* `first` may not have accepted a key yet */
	const char *noted_in; /* the one of user_files that has the key of this
			       * connection; NULL: none has */
	bool distrusted;
	enum sshfp_verdict in_dns; /* what the DNS says of the key that is
				    * checked */
	/* What KnownHostsCommand printed: when it was asked for the types of
	 * keys for the proposal (order_lines), and for the key that was shown
	 * (lines). */
	struct buf order_lines, lines;
	bool order_asked, command_failed;
};

/* What known_hosts (files and KnownHostsCommand) says of a key, and under which
 * of the host's names: name or other_name of struct hostcheck. */
struct verdict {
	struct knownhosts_found found;
	const char *name;
};

/* What known_hosts says of a key under the host's address. */
struct address_verdict {
	struct knownhosts_found found;
	char *name; /* the address as known_hosts spells it; NULL: the address
		     * is not looked up */
};

/* What keys are looked up in: all files, and lines, which KnownHostsCommand
 * printed (borrowed; NULL: none). */
struct knownhosts_sources hostcheck_sources(const struct hostcheck *h,
    const struct buf *lines);
/* Looks whether the authority ca (NULL: any) is trusted for the host's name,
 * with its port and without. The name with the other default port is not tried:
 * a pattern that matches it may be meant to leave out this host. */
int hostcheck_find_ca(const struct hostcheck *h, const struct buf *lines,
    const struct key *ca, struct knownhosts_found *found) must_check;

/* VerifyHostKeyDNS (hostcheck-dns.c): sets h->in_dns. True: the DNS proves that
 * the key is right, and known_hosts need not be asked. k must not be a
 * certificate. */
bool hostcheck_by_dns(struct hostcheck *h, const struct key *k);

/*
 * CheckHostIP (hostcheck-address.c). In all of these, k must not be a
 * certificate, because certificates vouch for names only.
 *
 * hostcheck_find_address(): what the files and KnownHostsCommand say of the key
 * under the address with this port (and with the other default port, if the
 * host has a name with that).
 *
 * hostcheck_judge_address(): is the address a reason to refuse the key? v is
 * the verdict on the key under the name. Returns 0, or ERR_HOSTKEY, whose
 * reason was logged.
 *
 * hostcheck_note_address(): if nothing is known of the address, adds it with
 * the key to known_hosts (may_be_noted), or else logs that it is not known.
 */
int hostcheck_find_address(const struct hostcheck *h, const struct key *k,
    uint16_t port, struct address_verdict *a) must_check;
int hostcheck_judge_address(const struct hostcheck *h, const struct key *k,
    const struct verdict *v, const struct address_verdict *a) must_check;
void hostcheck_note_address(const struct hostcheck *h, const struct key *k,
    const struct address_verdict *a, bool may_be_noted);
void hostcheck_clear_address(struct address_verdict *a);
/* Adds to names all names under which the address may be looked up. */
int hostcheck_add_address_names(const struct hostcheck *h,
    struct strlist *names) must_check;
bool hostcheck_is_loopback(const char *address); /* NULL: no */

/* Messages and questions to the user (hostcheck-tell.c). k must not be a
 * certificate, except for hostcheck_warn_revoked(). */
char *hostcheck_fingerprint(const struct hostcheck *h, const struct key *k);
void hostcheck_show_picture(const struct hostcheck *h, const struct key *k);
void hostcheck_warn_changed(const struct hostcheck *h, const struct key *k,
    const struct verdict *v);
void hostcheck_warn_revoked(const struct hostcheck *h, const struct key *k,
    const struct knownhosts_found *found);
void hostcheck_warn_spoofing(const struct hostcheck *h, const struct key *k,
    const struct address_verdict *a);
void hostcheck_warn_dns(const struct hostcheck *h, const struct key *k);
void hostcheck_explain_refusal(const struct hostcheck *h,
    const struct key *k, const struct verdict *v);
bool hostcheck_ask_user(const struct hostcheck *h,
    const struct key *k) must_check;

#endif
