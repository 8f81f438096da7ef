/* SPDX-License-Identifier: ISC */
/*
 * The flags of the ssh command line that configure a connection: for hpnssh,
 * and for hpnscp and hpnsftp, which take some of them for their own connection.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COMMON_SSH_FLAGS_H
#define HPN_CLIENT_COMMON_SSH_FLAGS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "conf/client-conf.h"

/* The flags that have no keyword, or that win over every keyword, even over one
 * that -o sets. */
struct ssh_flags {
	const char *config_path; /* -F; borrowed; NULL: none */
	int verbosity;		 /* how many -v */
	bool quiet;
	int agent, x11; /* 1: -A, and -X or -Y; -1: -a, and -x; 0: no such
			 * flag */
	bool x11_trusted;	     /* -Y */
	const char *control_command; /* the command of -O, static; NULL: no
				      * -O */
};

/* Puts one flag and its argument (NULL: none) into f or conf. Returns 1; 0 if
 * it is no flag of a connection; or an error, which was logged. */
int ssh_flag_take(struct ssh_flags *f, struct client_conf *conf, int flag,
    const char *argument) must_check;
/* Takes a list of flags with their arguments, each in the same or in the next
 * word: "-v", "-oX=y", "-i", "file". 0 or an error, which was logged. */
int ssh_flags_take_all(struct ssh_flags *f, struct client_conf *conf,
    const struct strlist *list) must_check;
/* Lets the flags in f win over the keywords of conf: to be called after the
 * configuration was loaded. */
void ssh_flags_apply(const struct ssh_flags *f, struct client_conf *conf);

#endif
