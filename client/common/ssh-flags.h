/* SPDX-License-Identifier: ISC */
/*
 * The flags of the ssh command line that configure a connection: for hpnssh,
 * and for the programs that pass them on.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COMMON_SSH_FLAGS_H
#define HPN_CLIENT_COMMON_SSH_FLAGS_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "conf/client-conf.h"

/* Flags that are no keyword, or win over every keyword, also over one of -o. */
struct ssh_flags {
	const char *config_path; /* -F; borrowed; NULL: none */
	int verbosity;		 /* how many -v */
	bool quiet;
	int agent, x11; /* 1: -A, -X or -Y; -1: -a, -x; 0: none of them */
	bool x11_trusted;	     /* -Y */
	const char *control_command; /* -O: a word of it; static; NULL: none */
};

/* The flag is taken: 1; 0: it is none of these; or an error, which was
 * logged. */
int ssh_flag_take(struct ssh_flags *f, struct client_conf *conf, int flag,
    const char *argument) must_check;
/* A list of them: "-v", "-oX=y", "-i", file... */
int ssh_flags_take_all(struct ssh_flags *f, struct client_conf *conf,
    const struct strlist *list) must_check;
/* After the configuration was loaded. */
void ssh_flags_apply(const struct ssh_flags *f, struct client_conf *conf);

#endif
