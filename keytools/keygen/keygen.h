/* SPDX-License-Identifier: ISC */
/*
 * The modes of hpnssh-keygen. A run has one of them: a function that returns
 * the exit status. An error that a mode cannot handle ends the program.
 */
#ifndef HPN_KEYTOOLS_KEYGEN_KEYGEN_H
#define HPN_KEYTOOLS_KEYGEN_KEYGEN_H

#include <stdbool.h>

#include "base/str.h"
#include "keys/keyfile.h"

/* Exit statuses; fatal() gives 255. */
enum { OK = 0, FAILED = 1 };

/* The command line: ssh-keygen.c reads it and hands it down. Texts are
 * borrowed. */
struct keygen_options {
	const char *type, *file, *comment, *format, *cipher;
	const char *pass;     /* -P; NULL: ask */
	const char *new_pass; /* -N; NULL: ask */
	const char *host;
	const char *ca;	      /* -s: the key that signs; with -Y a signature */
	const char *identity; /* -I: of a certificate, or of a signer */
	const char *names;    /* -n: principals; with -Y the namespace */
	const char *validity; /* -V */
	const char *library;  /* -D: for tokens */
	const char *number;   /* -z: a serial number or a version */
	const char *operation; /* -Y, -M */
	const char *revoked;   /* -r: with -Y a list, else a host's name */
	const char *provider;  /* -w: of security keys */
	struct strlist options; /* each -O */
	char **args;		/* what stands behind the options */
	size_t n_args;
	enum digest_alg hash; /* of fingerprints */
	unsigned bits, rounds; /* 0: default */
	bool quiet, verbose, fingerprint, hash_hosts;
	bool for_host;	/* -h */
	bool use_agent; /* -U */
	bool update;	/* -u */
	bool generic;	/* -g */
};

/* keytools/keygen/keygen-make.c */
int keygen_generate(const struct keygen_options *given);
int keygen_passphrase(const struct keygen_options *o);
int keygen_comment(const struct keygen_options *o);
/* Writes both files of a pair, or neither. */
bool keygen_save_pair(const struct keygen_options *o, const char *path,
    const struct key *k, enum keyfile_format format, const char *pass,
    const char *comment);
/* keytools/keygen/keygen-host-keys.c */
int keygen_host_keys(const struct keygen_options *o);
/* keytools/keygen/keygen-resident.c */
int keygen_resident(const struct keygen_options *o);
/* keytools/keygen/keygen-sk.c: -w, the environment's, or what is built in. */
const char *keygen_sk_provider(const struct keygen_options *o);
/* keytools/keygen/keygen-show.c */
int keygen_public(const struct keygen_options *o);
int keygen_fingerprint(const struct keygen_options *o);
int keygen_bubblebabble(const struct keygen_options *o);
int keygen_import(const struct keygen_options *o);
int keygen_export(const struct keygen_options *o);
void keygen_print_art(const struct keygen_options *o, const struct key *k);
/* A file, or standard input for "-"; caller frees. NUL bytes become blanks.
 * Ends the program if it cannot be read. */
char *keygen_read_text(const char *path);
/* keytools/keygen/keygen-hosts.c */
int keygen_find_host(const struct keygen_options *o);
int keygen_remove_host(const struct keygen_options *o);
int keygen_hash_hosts(const struct keygen_options *o);

/* keytools/keygen/keygen-certify.c */
int keygen_certify(const struct keygen_options *o);
/* keytools/keygen/keygen-token.c */
int keygen_list_token(const struct keygen_options *o);
/* keytools/keygen/keygen-cert-show.c */
int keygen_show_certs(const struct keygen_options *o);
/* keytools/keygen/keygen-krl.c */
int keygen_make_krl(const struct keygen_options *o);
int keygen_query_krl(const struct keygen_options *o);
/* keytools/keygen/keygen-sshfp.c */
int keygen_dns_records(const struct keygen_options *o);
/* keytools/keygen/keygen-moduli.c */
int keygen_moduli(const struct keygen_options *o);
/* keytools/keygen/keygen-sig.c */
int keygen_signature(const struct keygen_options *o);

/* keytools/keygen/keygen-ask.c. The caller frees the texts. */
char *keygen_home_file(const char *name); /* in ~/.ssh */
char *keygen_default_comment(void);
/* A line of a file, for another file: as it is, but escaped for a terminal. */
void keygen_print_text(const char *line);
/* Reads a line from the terminal or a pipe. Ends the program at end of file. */
char *keygen_ask_line(const char *prompt);
/* The path that -f gives, or else that the user answers. */
char *keygen_key_path(const struct keygen_options *o, const char *question);
bool keygen_confirm_overwrite(const char *path);
/* The passphrase for a file that is to be written: that of -N, or else the
 * user's answer. */
char *keygen_new_pass_for(const struct keygen_options *o, const char *prompt,
    enum keyfile_format format);
/* Ends the program if there is no answer. */
char *keygen_ask_pass(const char *prompt);
void keygen_pass_free(char *pass);
/* *comment is NULL if the format has none. */
struct key *keygen_load_private(const struct keygen_options *o,
    const char *path, char **pass, char **comment);
void keygen_require_file(const char *path);
enum keyfile_format keygen_private_format(const struct keygen_options *o);
/* Decimal digits and nothing else. */
bool keygen_number(const char *text, uint64_t *out);
/* The comment of a PEM file, which has none itself, is that of the .pub
 * file. */
void keygen_find_comment(const char *path, char **comment);

#endif
