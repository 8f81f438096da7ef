/* SPDX-License-Identifier: ISC */
/*
 * AuthorizedKeysCommand and AuthorizedPrincipalsCommand of a login: which user
 * runs them, and their arguments.
 *
 * If the user may not log in, the command still runs, but its arguments name
 * the user that runs it. That takes as long as for others, so the time does not
 * show who exists, and no program gets a name that a stranger has made up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "conf/command-words.h"
#include "conf/tokens.h"
#include "keys/cert.h"
#include "server/monitor/authorized-command.h"
#include "server/monitor/login-internal.h"

enum { TOKENS_OF_ALL = 8, TOKENS_OF_CERTS = 5 };

/* A command of the configuration. */
struct command {
	const char *keyword;
	const char *line, *user;
	bool of_cert; /* it is run only for certificates */
};

/* The values of the tokens; owned. */
struct texts {
	char *endpoints, *uid;
	char *print, *base64;	 /* of the key or certificate that is shown */
	char *serial, *ca_print, *ca_base64; /* of the certificate and its
					      * authority */
	struct token tokens[TOKENS_OF_ALL + TOKENS_OF_CERTS];
	size_t n;
};

static void
texts_clear(struct texts *t)
{
	free(t->endpoints);
	free(t->uid);
	free(t->print);
	free(t->base64);
	free(t->serial);
	free(t->ca_print);
	free(t->ca_base64);
}

/* The key's blob in base64; caller frees. NULL: out of memory. */
static char *
key_base64(const struct key *k)
{
	struct buf b = { 0 };
	char *text = NULL;

	if (key_to_blob(k, &b) == 0)
		text = str_base64_encode(buf_data(&b), buf_len(&b));
	buf_clear(&b);
	return text;
}

static void
put(struct texts *t, char letter, const char *value)
{
	if (value == NULL)
		fatal("out of memory");
	t->tokens[t->n++] = (struct token){ letter, value };
}

static void
put_all(struct texts *t, const struct login *l, const struct user *subject,
    const struct key *k)
{
	const struct peer *p = l->peer;

	xasprintf(&t->endpoints, "%s %u %s %u", p->address, p->port,
	    p->local_address, p->local_port);
	xasprintf(&t->uid, "%u", (unsigned)subject->uid);
	t->print = key_fingerprint(k,
	    (enum digest_alg)l->conf.algs.fingerprint_hash);
	t->base64 = key_base64(k);
	put(t, 'C', t->endpoints);
	put(t, 'D', p->rdomain);
	put(t, 'f', t->print);
	put(t, 'h', subject->home);
	put(t, 'k', t->base64);
	put(t, 't', key_type(k));
	put(t, 'U', t->uid);
	put(t, 'u', subject->name);
}

static void
put_of_cert(struct texts *t, const struct login *l, const struct cert *c)
{
	xasprintf(&t->serial, "%llu", (unsigned long long)c->serial);
	t->ca_print = key_fingerprint(c->ca,
	    (enum digest_alg)l->conf.algs.fingerprint_hash);
	t->ca_base64 = key_base64(c->ca);
	put(t, 'F', t->ca_print);
	put(t, 'i', c->id);
	put(t, 'K', t->ca_base64);
	put(t, 's', t->serial);
	put(t, 'T', key_type(c->ca));
}

/* Makes the arguments from the words of a command by expanding tokens. The
 * first word, the program, is taken as it is. */
static int
expand_words(const char *keyword, const struct strlist *words,
    const struct texts *t, struct strlist *argv)
{
	int r = strlist_add(argv, words->v[0]);

	for (size_t i = 1; r == 0 && i < words->n; i++) {
		char *word = NULL, bad;

		r = tokens_expand(words->v[i], t->tokens, t->n, &word, &bad);
		if (r == 0)
			r = strlist_add(argv, word);
		else
			log_error("%s: \"%s\": bad token", keyword,
			    words->v[i]);
		free(word);
	}
	return r;
}

/* The account that runs the command. NULL: none is configured or found, which
 * was logged; or its name depends on the user, who may not log in. */
static struct user *
runner(const struct login *l, const struct command *c)
{
	const struct token tokens[] = { { 'u', l->user->name } };
	char *name = NULL, bad;
	struct user *u;

	if (c->user == NULL) {
		log_error("No user for %s specified, skipping", c->keyword);
		return NULL;
	}
	if (!l->allowed && strchr(c->user, '%') != NULL)
		return NULL;
	if (tokens_expand(c->user, tokens, ARRAY_LEN(tokens), &name, &bad) !=
	    0) {
		log_error("%sUser \"%s\": bad token", c->keyword, c->user);
		return NULL;
	}
	u = user_lookup(name);
	if (!u->valid) {
		log_error("%sUser \"%s\" not found", c->keyword, name);
		user_free(u);
		u = NULL;
	}
	free(name);
	return u;
}

/* Makes the arguments of a command. AuthorizedKeysCommand without arguments
 * gets the user's name. */
static int
make_argv(const struct login *l, const struct command *c, const struct key *k,
    const struct user *subject, struct strlist *argv)
{
	struct strlist words = { 0 };
	struct texts t = { 0 };
	int r = command_words(c->line, &words);

	if (r == 0 && words.n == 0)
		r = ERR_SYNTAX;
	if (r == 0) {
		put_all(&t, l, subject, k);
		if (c->of_cert)
			put_of_cert(&t, l, key_cert(k));
		r = expand_words(c->keyword, &words, &t, argv);
	}
	if (r == 0 && argv->n == 1 && !c->of_cert)
		r = strlist_add(argv, subject->name);
	texts_clear(&t);
	strlist_clear(&words);
	return r;
}

static int
run(const struct login *l, const struct command *c, const struct key *k,
    struct buf *out)
{
	struct strlist argv = { 0 };
	struct user *by = runner(l, c);
	int r = ERR_NOT_FOUND;

	if (by != NULL)
		r = make_argv(l, c, k, l->allowed ? l->user : by, &argv);
	if (r == 0) {
		const struct authcommand command = { .keyword = c->keyword,
			.argv = argv.v,
			.user = by,
			.deadline_ms = l->deadline_ms };

		r = authcommand_run(&command, out);
	}
	strlist_clear(&argv);
	user_free(by);
	return r;
}

int
login_run_keys_command(const struct login *l, const struct key *k,
    struct buf *out)
{
	const struct command c = { "AuthorizedKeysCommand",
		l->conf.login.authorized_keys_command,
		l->conf.login.authorized_keys_command_user, false };

	return run(l, &c, k, out);
}

int
login_run_principals_command(const struct login *l, const struct key *cert,
    struct buf *out)
{
	const struct command c = { "AuthorizedPrincipalsCommand",
		l->conf.login.authorized_principals_command,
		l->conf.login.authorized_principals_command_user, true };

	return run(l, &c, cert, out);
}
