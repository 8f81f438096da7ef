/* SPDX-License-Identifier: ISC */
/*
 * Inside of client/: what checks a host's key, what tells the user of it, and
 * what proposes algorithms.
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
	char *name; /* as known_hosts spells it */
	/* The host's name under the other default port; NULL if the user
	 * has given a port or an alias. */
	char *other_name;
	char *address;
	uint16_t port, other_port; /* other_port: that of other_name */
	struct strlist user_files, all_files, revoked_files;
	struct knownhosts_seen *seen; /* of all_files: all names of the host */
	struct buf accepted; /* blob of the host's identity, which the first
			      * key exchange of this connection has shown */
	const struct hostcheck *first; /* NULL: this is no further one */
	bool first_undecided; /* it may not have accepted a key yet */
	const char *noted_in; /* of user_files, or NULL */
	bool distrusted;
	enum sshfp_verdict in_dns; /* of the key that is checked */
	/* What KnownHostsCommand printed for the proposal, and for the key
	 * that was shown. */
	struct buf order_lines, lines;
	bool order_asked, command_failed;
};

/* The verdict of the files on a key, and the name of this host that it belongs
 * to: name or other_name of the hostcheck. */
struct verdict {
	struct knownhosts_found found;
	const char *name;
};

/* The same under the host's address. */
struct address_verdict {
	struct knownhosts_found found;
	char *name; /* as known_hosts spells it; NULL: it is not looked at */
};

/* All files, and lines of KnownHostsCommand (NULL: none). */
struct knownhosts_sources hostcheck_sources(const struct hostcheck *h,
    const struct buf *lines);
/* Looks for an authority (NULL: any) under the host's name with its port and
 * without; not under that with the other default port, which a pattern may
 * match that leaves this host out. */
int hostcheck_find_ca(const struct hostcheck *h, const struct buf *lines,
    const struct key *ca, struct knownhosts_found *found) must_check;

/* VerifyHostKeyDNS (hostcheck-dns.c): sets h->in_dns. True: the key is right,
 * and nothing else need be asked. k is no certificate. */
bool hostcheck_by_dns(struct hostcheck *h, const struct key *k);

/*
 * CheckHostIP (hostcheck-address.c). find: what the files, and
 * KnownHostsCommand, say of the key under the address and that port (and the
 * other default port, where the name counts under that as well). judge:
 * whether that is reason to refuse the key, whose verdict under the name is v.
 * note: adds the address if nothing is known of it and it may be, else tells
 * that it is not known. k is no certificate, which vouches for names.
 */
int hostcheck_find_address(const struct hostcheck *h, const struct key *k,
    uint16_t port, struct address_verdict *a) must_check;
int hostcheck_judge_address(const struct hostcheck *h, const struct key *k,
    const struct verdict *v, const struct address_verdict *a) must_check;
void hostcheck_note_address(const struct hostcheck *h, const struct key *k,
    const struct address_verdict *a, bool may_be_noted);
void hostcheck_clear_address(struct address_verdict *a);
/* All names that the address may be looked up under are added. */
int hostcheck_add_address_names(const struct hostcheck *h,
    struct strlist *names) must_check;
bool hostcheck_is_loopback(const char *address); /* NULL: no */

/* Messages and questions (hostcheck-tell.c). k is never a certificate, but for
 * that of warn_revoked(). */
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
