/* SPDX-License-Identifier: ISC */
/*
 * What a host did last time, so that the next connection can send several
 * messages at once instead of waiting for answers. In one file of the user's
 * each host has a line: its name, hashed with a salt as in known_hosts; key
 * exchange method; host key algorithm; fingerprint of the user key that worked
 * (or "-"; of a certificate, with that of its authority behind an @; or the
 * name of a method that works without the user); and the word "asked" if the
 * user had to answer a prompt. A wrong or lost hint costs a round trip and
 * nothing else; nothing in it is secret, and nothing of it is trusted.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_HOSTS_HINTS_H
#define HPN_CLIENT_HOSTS_HINTS_H

#include <stdbool.h>

#include "base/err.h"

struct hints {
	char *kex;     /* the server's first method; "-": we prefer another */
	char *hostkey; /* its first host key algorithm */
	char *fingerprint; /* "SHA256:..." of the user's key, and perhaps
			    * "@SHA256:..."; or a method that works without
			    * the user; NULL: none */
	bool interactive; /* to log in, the user had to answer a prompt */
};

/* The file that has the hints of a host, and the host's name there. */
struct hints_file {
	char *path; /* hpnssh/hints in XDG_STATE_HOME, else ~/.ssh/hpn/hints */
	char *name; /* of the host there */
	/* The file and the name under which an earlier version had the hints:
	 * beside known_hosts. They are read as long as there are no others. */
	char *old_path, *old_name;
};

/* known_hosts: the user's first file. A host is another one where that is
 * another file than ~/.ssh/known_hosts. */
void hints_file_init(struct hints_file *p, const char *known_hosts,
    const char *name);
void hints_file_clear(struct hints_file *p);
int hints_find(const struct hints_file *p, struct hints *out) must_check;
int hints_keep(const struct hints_file *p,
    const struct hints *h) must_check;
int hints_forget(const struct hints_file *p) must_check;

/* A file: name as it is there. ERR_NOT_FOUND if the host has no line. */
int hints_load(const char *path, const char *name,
    struct hints *out) must_check;
/* Puts the host's line at the end in place of its old one, and drops the
 * oldest lines of a file that has become long. */
int hints_save(const char *path, const char *name,
    const struct hints *h) must_check;
/* The host's line is taken out. */
int hints_drop(const char *path, const char *name) must_check;
void hints_clear(struct hints *h);

/* A list of names with this one (NULL: none) moved to its front, if it is
 * there; caller frees. Is it the first one? */
char *hints_put_first(const char *list, const char *name);
bool hints_is_first(const char *list, const char *name);

#endif
