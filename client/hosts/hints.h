/* SPDX-License-Identifier: ISC */
/*
 * Hints: what a host did at the last connection, so that the next one can send
 * several messages at once instead of waiting for answers.
 *
 * One file of the user has a line for each host. Its words are: the host's
 * name, hashed with a salt as in known_hosts; the key exchange method; the host
 * key algorithm; how the user logged in; and "asked" if the user had to answer
 * a prompt for that. How the user logged in is the fingerprint of the key (for
 * a certificate, with "@" and the fingerprint of its authority behind it), the
 * name of a method that needs no user, or "-" for none of these.
 *
 * A wrong or lost hint costs a round trip and nothing else. Hints are not
 * secret, and nothing is trusted because of them.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_HOSTS_HINTS_H
#define HPN_CLIENT_HOSTS_HINTS_H

#include <stdbool.h>

#include "base/err.h"

struct hints {
	char *kex;     /* the server's first key exchange method; "-": not
			* usable, because we prefer another one */
	char *hostkey; /* the server's first host key algorithm */
	char *fingerprint; /* how the user logged in: "SHA256:..." of the key,
			    * with "@SHA256:..." of the authority for a
			    * certificate; or the name of a method that needs no
			    * user; NULL: none of these */
	bool interactive; /* to log in, the user had to answer a prompt */
};

/* Where the hints of one host are: file, and name of the host in it. */
struct hints_file {
	char *path; /* hpnssh/hints in $XDG_STATE_HOME, else ~/.ssh/hpn/hints */
	char *name; /* name of the host in that file */
	/* Where an earlier version had the hints: in a file beside known_hosts.
	 * They are used if the present file has none for the host. */
	char *old_path, *old_name;
};

/* Fills in p. name: the host, as known_hosts spells it. known_hosts: the user's
 * first file of known hosts. If that is not ~/.ssh/known_hosts, its path
 * becomes part of the host's name in the hints, because the same name may be
 * another host there. */
void hints_file_init(struct hints_file *p, const char *known_hosts,
    const char *name);
void hints_file_clear(struct hints_file *p);
/* Reads, writes and removes the host's hints. Nothing is trusted in what
 * hints_find() gives, which hints_clear() frees. ERR_NOT_FOUND: the host has no
 * hints. hints_keep() and hints_forget() also remove the hints that an earlier
 * version left. */
int hints_find(const struct hints_file *p, struct hints *out) must_check;
int hints_keep(const struct hints_file *p,
    const struct hints *h) must_check;
int hints_forget(const struct hints_file *p) must_check;

/* Reads the hints of the host `name` from the file at path. ERR_NOT_FOUND: the
 * file has no line for the host. */
int hints_load(const char *path, const char *name,
    struct hints *out) must_check;
/* Replaces the host's line in the file at path by a new one at the end. Drops
 * the oldest lines of a file that has become long. */
int hints_save(const char *path, const char *name,
    const struct hints *h) must_check;
/* Removes the host's line from the file at path. */
int hints_drop(const char *path, const char *name) must_check;
void hints_clear(struct hints *h);

/* Returns a copy of the comma list with name at its front, if name is in the
 * list (else, or if name is NULL, in the old order). Caller frees. */
char *hints_put_first(const char *list, const char *name);
/* Is name the first of the comma list? False for a name of NULL. */
bool hints_is_first(const char *list, const char *name);

#endif
