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

/* The command line. */
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
extern struct keygen_options opt;

/* keytools/keygen/keygen-make.c */
int keygen_generate(void);
int keygen_passphrase(void);
int keygen_comment(void);
/* Writes both files of a pair, or neither. */
bool keygen_save_pair(const char *path, const struct key *k,
    enum keyfile_format format, const char *pass, const char *comment);
/* keytools/keygen/keygen-host-keys.c */
int keygen_host_keys(void);
/* keytools/keygen/keygen-resident.c */
int keygen_resident(void);
/* keytools/keygen/keygen-sk.c: -w, the environment's, or what is built in. */
const char *keygen_sk_provider(void);
/* keytools/keygen/keygen-show.c */
int keygen_public(void);
int keygen_fingerprint(void);
int keygen_bubblebabble(void);
int keygen_import(void);
int keygen_export(void);
void keygen_print_art(const struct key *k);
/* A file, or standard input for "-"; caller frees. NUL bytes become blanks.
 * Ends the program if it cannot be read. */
char *keygen_read_text(const char *path);
/* keytools/keygen/keygen-hosts.c */
int keygen_find_host(void);
int keygen_remove_host(void);
int keygen_hash_hosts(void);

/* keytools/keygen/keygen-certify.c */
int keygen_certify(void);
/* keytools/keygen/keygen-token.c */
int keygen_list_token(void);
/* keytools/keygen/keygen-cert-show.c */
int keygen_show_certs(void);
/* keytools/keygen/keygen-krl.c */
int keygen_make_krl(void);
int keygen_query_krl(void);
/* keytools/keygen/keygen-sshfp.c */
int keygen_dns_records(void);
/* keytools/keygen/keygen-moduli.c */
int keygen_moduli(void);
/* keytools/keygen/keygen-sig.c */
int keygen_signature(void);

/* keytools/keygen/keygen-ask.c. The caller frees the texts. */
char *keygen_home_file(const char *name); /* in ~/.ssh */
char *keygen_default_comment(void);
/* A line of a file, for another file: as it is, but escaped for a terminal. */
void keygen_print_text(const char *line);
/* Reads a line from the terminal or a pipe. Ends the program at end of file. */
char *keygen_ask_line(const char *prompt);
/* The path that -f gives, or else that the user answers. */
char *keygen_key_path(const char *question);
bool keygen_confirm_overwrite(const char *path);
/* The passphrase for a file that is to be written: that of -N, or else the
 * user's answer. */
char *keygen_new_pass_for(const char *prompt, enum keyfile_format format);
/* Ends the program if there is no answer. */
char *keygen_ask_pass(const char *prompt);
void keygen_pass_free(char *pass);
/* *comment is NULL if the format has none. */
struct key *keygen_load_private(const char *path, char **pass,
    char **comment);
void keygen_require_file(const char *path);
enum keyfile_format keygen_private_format(void);
/* Decimal digits and nothing else. */
bool keygen_number(const char *text, uint64_t *out);
/* For a PEM file, which has no comment: sets that of the .pub file. */
void keygen_find_comment(const char *path, char **comment);

#endif
