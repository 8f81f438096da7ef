/* SPDX-License-Identifier: ISC */
/*
 * The actions of hpnssh-add; a run performs one of them. An action returns the
 * exit status. Messages go to stderr, and the output that was asked for goes to
 * stdout.
 */
#ifndef HPN_KEYTOOLS_ADD_ADD_H
#define HPN_KEYTOOLS_ADD_ADD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "keys/agent-client.h"

/* Exit statuses of hpnssh-add. fatal() exits with 255. */
enum { OK = 0, FAILED = 1, NO_AGENT = 2 };

struct add_options {
	struct agent_constraints constraints; /* -c, -t, -h */
	const char *sk_provider;	      /* -S; NULL: there is none */
	enum digest_alg hash;		      /* -E */
	bool quiet;			      /* -q */
	bool plain_only;		      /* -k */
	bool certs_only;		      /* -C */
	/* -N: certificates are not removed when they expire */
	bool beyond_expiry;
};

/* Actions on files succeed if there is a file, and all files succeed. */
/* keytools/add/add-file.c: key files, with the certificates beside them. */
int add_files(struct agent *a, const struct add_options *o,
    const struct strlist *paths);
/* The constraints for key k: those of the options, but sk_provider only for a
 * key of a FIDO authenticator. */
struct agent_constraints add_constraints_for(const struct add_options *o,
    const struct key *k);
void add_tell_constraints(const struct add_options *o,
    const struct agent_constraints *c);
/* keytools/add/add-resident.c */
int add_resident(struct agent *a, const struct add_options *o);
/* keytools/add/add-remove.c */
int add_remove_files(struct agent *a, const struct add_options *o,
    const struct strlist *paths);
int add_remove_all(struct agent *a, const struct add_options *o);

/* keytools/add/add-show.c */
int add_list(struct agent *a, enum digest_alg hash);
int add_list_lines(struct agent *a);
int add_list_extensions(struct agent *a);
/* Tests whether the agent signs with the keys of these files. */
int add_test(struct agent *a, const struct strlist *paths);

/* keytools/add/add-agent.c: the lock, and PKCS#11 libraries. */
int add_lock(struct agent *a);
int add_unlock(struct agent *a);
int add_library(struct agent *a, const struct add_options *o,
    const char *library, const struct strlist *cert_paths);
int add_remove_library(struct agent *a, const struct add_options *o,
    const char *library);

/* keytools/add/add-names.c. The caller frees char * results. */
/* The path of a file in ~/.ssh. */
char *add_home_file(const char *name);
/* Appends those of the default key files (~/.ssh/id_*) that exist. */
void add_default_files(struct strlist *paths);
/* The path of the certificate that belongs to a key file. */
char *add_cert_path(const char *path);
/* The text for an error of an agent's request. */
const char *add_why(int err);

#endif
