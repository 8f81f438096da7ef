/* SPDX-License-Identifier: ISC */
/* What login.c, the files of the methods (try-*.c) and what these two are made
 * of (login-*.c) share. */
#ifndef HPN_SERVER_MONITOR_LOGIN_INTERNAL_H
#define HPN_SERVER_MONITOR_LOGIN_INTERNAL_H

#include "conf/auth-method-table.h"
#include "keys/key.h"
#include "server/monitor/login.h"

/* What the auth process wants to have tried. */
struct login_request {
	struct login *login;
	const struct auth_method *method;
	struct rd *in; /* the fields that auth_read_WORD() has written */
	const struct login_dialogue *dialogue;
};

/* What a try has come to, before any rule. */
enum login_outcome {
	LOGIN_TRIED,  /* it proved something, or did not: ok */
	LOGIN_KEY_OK, /* a signature with this key would do */
	LOGIN_ASKED,  /* only for the methods that there are */
};

/* What a method has found out. All is owned. */
struct login_try {
	const struct auth_method *method;
	const char *shown; /* in the log line, if not the method; or NULL */
	enum login_outcome outcome;
	bool ok;
	bool checked; /* there was something to be right or wrong */
	char *what; /* key type and fingerprint, or the like; or NULL */
	bool must_change; /* the password was right, but is too old */
	/* The dialogue for the account's own questions; ask NULL: it has to do
	 * without. */
	struct pam_dialogue talk;

	/* The proof, which the login keeps. */
	struct key *key; /* or NULL */
	char *line; /* the same as a public key line, or NULL */
	bool has_permits; /* that came with it */
	struct permits permits;
	struct gss_acceptor *ticket; /* or NULL */
	bool ticket_of_exchange; /* it is that of the key exchange */

	/* A failure. It costs what a wrong secret costs: of so many bytes, and
	 * since_us when it was begun to be checked (decoy_cpu_us()). */
	bool has_secret;
	size_t secret_len;
	uint64_t since_us;
	bool is_recorded; /* for the system's records */
	struct buf info; /* the last message to the client */
};

/* One function for each method: it fills t, of which method is set, and returns
 * to login_try(), which draws the conclusions. ERR_CANCELLED: the client has
 * dropped the dialogue, so there is no verdict. Another error: the fields are
 * wrong, which ends the connection. */
#define ROW(id, word, ...)                                                    \
	int login_try_##word(const struct login_request *q,                   \
	    struct login_try *t) must_check;
AUTH_METHODS(ROW)
#undef ROW

/* Which algorithms a method takes, and what the log calls list and method. */
struct login_key_list {
	const char *algorithms, *keyword, *shown;
};

/* In login-keys.c: is it a key for alg that the list and the policy for all
 * keys allow, whosever it is? *k is the key, or certificate, if it could be
 * read. And is it in no file of RevokedKeys? */
bool login_key_is_allowed(const struct login *l,
    const struct login_key_list *list, const char *alg, struct span blob,
    struct key **k) must_check;
bool login_key_is_revoked(const struct login *l, const struct key *k);
/* "ssh-ed25519 AAAA..."; NULL if memory is out. Caller frees. */
char *login_key_line(const struct key *k);

/* In login-keys.c: all that can be said about a key without a signature. *k is
 * the key, or certificate, if it could be read; *permits what it allows, which
 * caller clears. The same again for the text of a key in the log, which caller
 * frees: "ED25519 SHA256:..."; of a certificate with its id, number and CA. */
bool login_key_is_welcome(struct login *l, const char *alg, struct span blob,
    struct key **k, struct permits *permits) must_check;
char *login_key_text(const struct login *l, const struct key *k);
/* A key is noted as used: where two keys are asked for, it can not be the same
 * one twice, nor a key and its certificate. */
void login_key_was_used(struct login *l, const struct key *k);
/* In login-sk.c: verifies, also that a security key was touched and knew its
 * user as far as that is asked for; what is missing is logged. */
bool login_signature_is_good(const struct login *l, const struct key *k,
    const char *alg, struct span data, struct span signature,
    const struct permits *p) must_check;

/* The principal may log in as this user. (In try-gssapi.c.) */
bool login_gss_may_be_user(const struct login *l,
    const struct gss_acceptor *client);
/* The principal, for the log; NULL: not known. Caller frees. */
char *login_gss_text(const struct gss_acceptor *client);

/* TrustedUserCAKeys lets the certificate in. (In login-certs.c.) */
bool login_cert_by_ca(struct login *l, const struct key *cert,
    struct permits *permits) must_check;

/* The output of the command for this user and key is appended. Errors were
 * logged; then there is no output. (In login-commands.c.) */
int login_run_keys_command(const struct login *l, const struct key *k,
    struct buf *out) must_check;
int login_run_principals_command(const struct login *l,
    const struct key *cert, struct buf *out) must_check;

/* The password is right. *must_change: but too old. (In login-password.c.) */
bool login_password_is_right(struct login *l, const char *password,
    bool *must_change);
/* Adds the hashing that the secret would have cost for another user, so that
 * each wrong secret takes as long; and waits as long as PAM's modules want. */
void login_pay_for_failure(struct login *l, const struct login_try *t);

#endif
