/* SPDX-License-Identifier: ISC */
/*
 * The modes of hpnssh-keygen; a run has one of them. Each mode is a function
 * that returns the exit status. An error that a mode cannot handle ends the
 * program.
 */
#ifndef HPN_KEYTOOLS_KEYGEN_KEYGEN_H
#define HPN_KEYTOOLS_KEYGEN_KEYGEN_H

#include <stdbool.h>

#include "base/str.h"
#include "keys/keyfile.h"

/* Exit statuses of hpnssh-keygen. fatal() exits with 255. */
enum { OK = 0, FAILED = 1 };

/* The options of the command line, which ssh-keygen.c reads. Texts are borrowed
 * from argv. */
struct keygen_options {
	const char *type, *file, *comment, *format, *cipher;
	const char *pass;     /* -P; NULL: ask */
	const char *new_pass; /* -N; NULL: ask */
	const char *host;
	/* -s: authority's key; with -Y the signature file */
	const char *ca;
	/* -I: key id of a certificate; with -Y a signer */
	const char *identity;
	const char *names;    /* -n: principals; with -Y the namespace */
	const char *validity; /* -V */
	const char *library;  /* -D: PKCS#11 library for tokens */
	/* -z: serial number of a certificate, or version of a KRL */
	const char *number;
	const char *operation; /* -Y, -M */
	/* -r: with -Y a list of revoked keys, else a host's name */
	const char *revoked;
	const char *provider;  /* -w: library for security keys */
	struct strlist options; /* each -O */
	char **args;		/* arguments after the options */
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
/* keytools/keygen/keygen-sk.c. The library for security keys: that of -w, of
 * SSH_SK_PROVIDER, or "internal" for the built-in one. */
const char *keygen_sk_provider(const struct keygen_options *o);
/* keytools/keygen/keygen-show.c */
int keygen_public(const struct keygen_options *o);
int keygen_fingerprint(const struct keygen_options *o);
int keygen_bubblebabble(const struct keygen_options *o);
int keygen_import(const struct keygen_options *o);
int keygen_export(const struct keygen_options *o);
void keygen_print_art(const struct keygen_options *o, const struct key *k);
/* The text of a file, or of standard input for "-"; caller frees. NUL bytes
 * become blanks. Ends the program if it cannot be read. */
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

/* keytools/keygen/keygen-ask.c. The caller frees char * results. */
char *keygen_home_file(const char *name); /* path in ~/.ssh */
char *keygen_default_comment(void);
/* Prints a line of a file, unchanged so that it can be used in another file;
 * but escaped on a terminal. */
void keygen_print_text(const char *line);
/* Reads a line from the terminal or a pipe. Ends the program at end of file. */
char *keygen_ask_line(const char *prompt);
/* The path of -f, or else the user's answer to the question. */
char *keygen_key_path(const struct keygen_options *o, const char *question);
bool keygen_confirm_overwrite(const char *path);
/* The passphrase for a file that will be written: that of -N, or else the
 * user's answer. Free with keygen_pass_free(). */
char *keygen_new_pass_for(const struct keygen_options *o, const char *prompt,
    enum keyfile_format format);
/* Asks the user for a passphrase or PIN. Ends the program if there is no
 * answer. Free with keygen_pass_free(). */
char *keygen_ask_pass(const char *prompt);
void keygen_pass_free(char *pass);
/* Loads a private key; asks for its passphrase if -P does not give it. *pass:
 * the passphrase; *comment: NULL if the format has none. Ends the program on an
 * error. */
struct key *keygen_load_private(const struct keygen_options *o,
    const char *path, char **pass, char **comment);
void keygen_require_file(const char *path);
enum keyfile_format keygen_private_format(const struct keygen_options *o);
/* Parses a number of decimal digits only. False: text is no such number. */
bool keygen_number(const char *text, uint64_t *out);
/* If *comment is NULL, as for PEM files, sets it to the comment of the .pub
 * file, or to "". */
void keygen_find_comment(const char *path, char **comment);

#endif
