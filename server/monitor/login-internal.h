/* SPDX-License-Identifier: ISC */
/* What login.c, the files of the methods (try-*.c) and its parts (login-*.c)
 * share. */
#ifndef HPN_SERVER_MONITOR_LOGIN_INTERNAL_H
#define HPN_SERVER_MONITOR_LOGIN_INTERNAL_H

#include "conf/auth-method-table.h"
#include "keys/key.h"
#include "server/monitor/login.h"

/* A try that hpnsshd-auth has asked for. */
struct login_request {
	struct login *login;
	const struct auth_method *method;
	struct rd *in; /* the fields that auth_read_WORD() has written */
	const struct login_dialogue *dialogue;
};

/* The outcome of a try, before the rules for user and account are applied. */
enum login_outcome {
	LOGIN_TRIED,  /* a proof was checked: see `ok` of struct login_try */
	LOGIN_KEY_OK, /* no proof yet: a signature with this key would be
		       * accepted */
	LOGIN_ASKED,  /* the client only asked which methods there are */
	LOGIN_PASSED_OVER, /* the ticket is no longer good; whoever shows such a
			    * one is not guessing */
};

/* What a method has found out about a try. All is owned. */
struct login_try {
	const struct auth_method *method;
	const char *shown; /* name in the log line instead of the method's; or
			    * NULL */
	enum login_outcome outcome;
	bool ok;
	bool checked; /* a password, answer or signature was checked */
	/* For the log: key type and fingerprint, or the like; or NULL. */
	char *what;
	bool must_change; /* the password is right, but has expired */
	/* How the check of the account can ask the user something, such as a
	 * new password. ask NULL: it cannot. */
	struct pam_dialogue talk;

	/* The proof, which becomes the login's if the try succeeds. */
	struct key *key; /* or NULL */
	char *line; /* key as a line of text; or NULL */
	bool has_permits; /* permits below is set */
	struct permits permits;
	struct gss_acceptor *ticket; /* or NULL */
	int ticket_fd; /* as of struct login */
	bool resumes; /* another connection's session goes on over this
		       * connection */
	struct buf welcome; /* body of the message that precedes the method's
			     * success */
	/* For a login by a ticket: what was shown in the login that got the
	 * ticket; instead: this login takes that one's place. */
	struct login_shown before;
	bool instead;
	struct grant_scope grant; /* as of struct login */
	uint64_t grant_end_ms;
	bool ticket_of_exchange; /* the client's context of the key exchange was
				  * used; see gss_exchange_take() */

	/* For a failure: whether to hash as for a wrong secret, the secret's
	 * length in bytes, and decoy_cpu_us() when its check began. */
	bool has_secret;
	size_t secret_len;
	uint64_t since_us;
	bool is_recorded; /* a failure goes into the system's records */
	struct buf info; /* last message of the dialogue, sent with a failure */
};

/* One function for each method. It fills t, in which only method is set, and
 * login_try() then decides. ERR_CANCELLED: the client has ended the dialogue,
 * so there is no verdict. Another error: the fields are malformed, which ends
 * the connection. */
#define ROW(id, word, ...)                                                    \
	int login_try_##word(const struct login_request *q,                   \
	    struct login_try *t) must_check;
AUTH_METHODS(ROW)
#undef ROW

/* login.c: comma list of the enabled methods. by_gss: the key exchange was by
 * GSSAPI. Caller frees. */
char *login_enabled_methods(const struct server_conf *c, bool by_gss);

/* The algorithms that a method accepts: a comma list, and for log lines the
 * name of its keyword and of the method. */
struct login_key_list {
	const char *algorithms, *keyword, *shown;
};

/* In login-keys.c. login_key_is_allowed(): whether blob is a key for alg that
 * the list and the policy for all keys allow, whoever's it is. *k is the key or
 * certificate, which the caller frees; NULL: it could not be read.
 * login_key_is_revoked(): whether a file of RevokedKeys names it. */
bool login_key_is_allowed(const struct login *l,
    const struct login_key_list *list, const char *alg, struct span blob,
    struct key **k) must_check;
bool login_key_is_revoked(const struct login *l, const struct key *k);
/* The key as a line "ssh-ed25519 AAAA..."; caller frees. NULL: out of
 * memory. */
char *login_key_line(const struct key *k);

/* In login-keys.c. login_key_is_welcome(): whether a signature with the key
 * would let the user in. *k as above; *permits is what the key allows, which
 * the caller clears. login_key_text(): the key for the log, "ED25519
 * SHA256:...", and for a certificate also its id, number and CA; caller
 * frees. */
bool login_key_is_welcome(struct login *l, const char *alg, struct span blob,
    struct key **k, struct permits *permits) must_check;
char *login_key_text(const struct login *l, const struct key *k);
/* As login_key_is_welcome(), but for a key that was shown in another login, and
 * may have been used in this one as well. */
bool login_key_is_still_welcome(struct login *l, const char *alg,
    struct span blob, struct key **k, struct permits *permits) must_check;
/* Remembers that the key was used. Where two keys are asked for, the same key,
 * or a key and its certificate, do not count twice. */
void login_key_was_used(struct login *l, const struct key *k);
/* In login-sk.c. Whether the signature is right and, with a security key,
 * whether the key was touched and has verified its user as far as that is
 * required. Logs which of the two is missing. */
bool login_signature_is_good(const struct login *l, const struct key *k,
    const char *alg, struct span data, struct span signature,
    const struct permits *p) must_check;

/* In try-gssapi.c. Whether the client's principal may log in as this user. */
bool login_gss_may_be_user(const struct login *l,
    const struct gss_acceptor *client);
/* The client's principal for the log; caller frees. NULL: not known. */
char *login_gss_text(const struct gss_acceptor *client);

/* In login-certs.c. Whether TrustedUserCAKeys and the user's principals let the
 * certificate in; *permits is what it allows. */
bool login_cert_by_ca(struct login *l, const struct key *cert,
    struct permits *permits) must_check;

/* In login-commands.c. Runs the configured command for this user and key, and
 * puts its output into out. After an error, which was logged, there is no
 * output. */
int login_run_keys_command(const struct login *l, const struct key *k,
    struct buf *out) must_check;
int login_run_principals_command(const struct login *l,
    const struct key *cert, struct buf *out) must_check;

/* In login-password.c. Whether the password is right. *must_change: it is
 * right, but has expired. */
bool login_password_is_right(struct login *l, const char *password,
    bool *must_change);
/* Makes the hashes that the wrong secret would have cost for another user, so
 * that each one takes as long. Then waits as long as PAM's modules ask for. */
void login_pay_for_failure(struct login *l, const struct login_try *t);

#endif
