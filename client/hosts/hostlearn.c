/* SPDX-License-Identifier: ISC */
#include "client/hosts/hostlearn.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/prompt.h"
#include "base/str.h"
#include "client/common/tty.h"
#include "client/common/uses.h"
#include "keys/knownhosts.h"

#define PROVE "hostkeys-prove-00@openssh.com"

enum {
	ALG_MAX = 256,
	QUESTIONS_MAX = 3,
	PROOFS_MS = 2000, /* longest time that a connection is kept for the
			   * proofs */
};

struct hostlearn {
	const struct client_conf *conf;
	const struct hostcheck *check;
	const struct kex *kex;
	struct channels *channels;
	struct key *shown; /* the plain host key of this connection */
	char *address; /* the host's address as known_hosts spells it; NULL: it
			* gets no keys */
	/* The keys that the server announced: first all that are understood,
	 * and after sort_keys() only those that are in the file or have to be
	 * proved (unproved). */
	struct key *keys[KNOWNHOSTS_RENEW_MAX];
	bool unproved[KNOWNHOSTS_RENEW_MAX];
	size_t n;
	bool heard;
	struct loop *loop;
	struct uses *uses; /* NULL: the connection is not kept for the proofs */
	struct loop_timer *held; /* limit for keeping the connection; NULL: it
				  * is not kept now */
};

/* ---- the file ----------------------------------------------------------- */

static struct knownhosts_renewal
renewal_of(struct hostlearn *h)
{
	return (struct knownhosts_renewal){
		.name = hostcheck_name(h->check),
		.also = { hostcheck_other_name(h->check), h->address },
		.shown = h->shown,
		.keys = h->keys,
		.n = h->n,
		.hash = h->conf->known.hash_known_hosts != 0,
	};
}

static const char *
why_not(const struct knownhosts_renewal *rn, int r)
{
	return r == ERR_NOT_FOUND && rn->why != NULL ? rn->why : err_text(r);
}

static char *
fingerprint(const struct hostlearn *h, const struct key *k)
{
	char *fp = key_fingerprint(k,
	    (enum digest_alg)h->conf->known.fingerprint_hash);

	if (fp == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	return fp;
}

/* The option because of which the user cannot be asked on this connection;
 * NULL: the user can be asked. A remote command is such a reason, because its
 * input and output must not be mixed with questions. */
static const char *
why_not_ask(const struct client_conf *conf)
{
	if (conf->mux.control_master != CLIENT_MASTER_NO &&
	    conf->mux.control_path != NULL &&
	    conf->mux.control_persist != CLIENT_PERSIST_NO)
		return "ControlPersist";
	if (conf->load.command != NULL || conf->session.remote_command != NULL)
		return "a remote command";
	if (conf->session.request_tty == CLIENT_TTY_NO)
		return "RequestTTY=no";
	if (conf->session.fork_after_authentication)
		return "ForkAfterAuthentication";
	if (conf->auth.batch_mode)
		return "BatchMode";
	return conf->log.log_level < LOG_LVL_INFO ? "a low LogLevel" : NULL;
}

static bool
says_yes(const char *question)
{
	int answer = -1;

	for (int i = 0; i < QUESTIONS_MAX && answer == -1; i++) {
		char *text = prompt_ask(question, PROMPT_VISIBLE);

		if (text == NULL || strcasecmp(text, "no") == 0)
			answer = 0;
		else if (strcasecmp(text, "yes") == 0)
			answer = 1;
		prompt_free(text);
	}
	return answer == 1;
}

/* Asks the user to agree to the change. The question comes in the middle of a
 * session, so the terminal leaves raw mode for it. */
static bool
user_agrees(const struct hostlearn *h, unsigned dropped)
{
	bool raw = tty_is_raw(), agreed;
	struct buf text = { 0 };
	char *question;

	buf_printf(&text, "The host %s has changed what keys it has, and "
			  "proved it:\n",
	    hostcheck_name(h->check));
	for (size_t i = 0; i < h->n; i++) {
		char *fp;

		if (!h->unproved[i])
			continue;
		fp = fingerprint(h, h->keys[i]);
		buf_printf(&text, "  new: %s %s\n",
		    key_short_name(h->keys[i]), fp);
		free(fp);
	}
	if (dropped > 0)
		buf_printf(&text, "  no longer in use: %u\n", dropped);
	buf_printf(&text, "Accept updated hostkeys? (yes/no): ");
	question = buf_dup_string(&text);
	buf_clear(&text);
	tty_leave_raw();
	agreed = question != NULL && says_yes(question);
	if (raw)
		tty_enter_raw(STDIN_FILENO);
	free(question);
	return agreed;
}

/* Adds the host's other keys under its address too, if the file has the key
 * that was shown under it (CheckHostIP). */
static void
update_address(struct hostlearn *h)
{
	struct knownhosts_renewal rn = renewal_of(h);
	int r;

	if (h->address == NULL)
		return;
	rn.also[1] = rn.name;
	rn.name = h->address;
	r = knownhosts_renew(hostcheck_noted_in(h->check), &rn, false);
	if (r != 0)
		log_debug("keys of %s: %s", rn.name, why_not(&rn, r));
}

/* Brings the file up to date with h->keys, which were all known before or have
 * been proved. With UpdateHostKeys=ask the user has to agree. */
static void
update_file(struct hostlearn *h)
{
	struct knownhosts_renewal rn = renewal_of(h);
	const char *path = hostcheck_noted_in(h->check);
	int r = knownhosts_renew(path, &rn, true);

	if (r == 0 && rn.added + rn.dropped == 0) {
		update_address(h);
		return;
	}
	if (r == 0 && h->conf->known.update_host_keys == CLIENT_ASK_ASK &&
	    !user_agrees(h, rn.dropped))
		return;
	if (r == 0)
		r = knownhosts_renew(path, &rn, false);
	if (r != 0) {
		log_debug("%s: %s", path, why_not(&rn, r));
		return;
	}
	log_verbose("%s: %u keys of %s added, %u removed", path, rn.added,
	    rn.name, rn.dropped);
	update_address(h);
}

/* ---- the proof ---------------------------------------------------------- */

/* Could the key be used with one of HostKeyAlgorithms? */
static bool
is_acceptable(const struct hostlearn *h, const struct key *k)
{
	const char *pos = h->conf->algs.host_key_algorithms, *name;
	bool acceptable = false;
	size_t len;

	while (!acceptable && csv_next(&pos, &name, &len)) {
		char *alg = xstrndup(name, len);

		acceptable = key_serves(k, alg);
		free(alg);
	}
	return acceptable;
}

/* Is the algorithm of a proof's signature allowed? It is if it is one of
 * HostKeyAlgorithms. As the server does not know these, any RSA algorithm with
 * SHA-2 is allowed as well. */
static bool
is_right_alg(const struct hostlearn *h, const char *alg)
{
	return csv_has(h->conf->algs.host_key_algorithms, alg) ||
	    str_has_prefix(alg, "rsa-sha2-");
}

static bool
is_proved(const struct hostlearn *h, const struct key *k,
    struct span signature)
{
	struct span session_id = kex_session_id(h->kex), data;
	struct rd r = rd_from_span(signature);
	char *alg = rd_cstring(&r, ALG_MAX);
	struct buf b = { 0 }, blob = { 0 };
	bool good = false;

	if (rd_err(&r) != 0 || key_to_blob(k, &blob) != 0)
		goto out;
	buf_put_cstring(&b, PROVE);
	buf_put_string(&b, session_id.p, session_id.len);
	buf_put_string_buf(&b, &blob);
	data = buf_span(&b);
	good = buf_err(&b) == 0 && key_serves(k, alg) && is_right_alg(h, alg) &&
	    key_verify(k, alg, data, signature) == 0;
out:
	buf_clear(&blob);
	buf_clear(&b);
	free(alg);
	return good;
}

static void
let_go(struct hostlearn *h)
{
	loop_cancel(h->loop, h->held);
	h->held = NULL;
	uses_end(h->uses, USE_LEARNING);
}

static void
on_held_too_long(void *arg)
{
	struct hostlearn *h = arg;

	log_debug("the server does not prove its other host keys in time");
	let_go(h);
}

static void
hold(struct hostlearn *h)
{
	if (h->uses == NULL)
		return;
	h->held = loop_after(h->loop, PROOFS_MS, on_held_too_long, h);
	if (h->held != NULL)
		uses_begin(h->uses, USE_LEARNING);
}

static void
take_proofs(struct hostlearn *h, bool ok, struct rd data)
{
	if (!ok) {
		log_debug("the server does not prove its other host keys");
		return;
	}
	for (size_t i = 0; i < h->n; i++) {
		if (!h->unproved[i] ||
		    is_proved(h, h->keys[i], rd_string(&data)))
			continue;
		log_error("The server could not prove that it has the %s host "
			  "key it announced; known_hosts stays as it is.",
		    key_short_name(h->keys[i]));
		return;
	}
	if (rd_end(&data) == 0)
		update_file(h);
}

static void
on_proofs(void *arg, bool ok, struct rd data)
{
	struct hostlearn *h = arg;

	take_proofs(h, ok, data);
	if (h->held != NULL)
		let_go(h);
}

static int
ask_for_proofs(struct hostlearn *h)
{
	struct buf b = { 0 }, blob = { 0 };
	int r = 0;

	for (size_t i = 0; i < h->n && r == 0; i++) {
		if (!h->unproved[i])
			continue;
		buf_reset(&blob);
		r = key_to_blob(h->keys[i], &blob);
		buf_put_string_buf(&b, &blob);
	}
	if (r == 0)
		r = buf_err(&b);
	if (r == 0)
		r = channels_global_request(h->channels, PROVE, &b, on_proofs,
		    h);
	if (r == 0)
		hold(h);
	buf_clear(&blob);
	buf_clear(&b);
	return r;
}

/* ---- the announcement --------------------------------------------------- */

static bool
is_listed(const struct hostlearn *h, const struct key *k)
{
	for (size_t i = 0; i < h->n; i++)
		if (key_equal_public(h->keys[i], k))
			return true;
	return false;
}

/* Reads the announced keys into h->keys. Left out are those of unknown types,
 * those that HostKeyAlgorithms does not allow, and certificates, which
 * known_hosts never has. */
static int
read_keys(struct hostlearn *h, struct rd *data)
{
	while (data->len > 0) {
		struct span blob = rd_string(data);
		struct key *k;
		int r = rd_err(data);

		if (r != 0)
			return r;
		if (key_from_blob(blob, &k) != 0)
			continue;
		if (key_is_cert(k) || !is_acceptable(h, k) ||
		    is_listed(h, k)) {
			key_free(k);
			continue;
		}
		if (h->n == ARRAY_LEN(h->keys)) {
			key_free(k);
			return ERR_LIMIT;
		}
		h->keys[h->n++] = k;
	}
	return 0;
}

static bool
is_fit(const struct hostlearn *h, const struct key *k)
{
	return key_check_length(k, (unsigned)h->conf->algs.required_rsa_size) ==
		0 &&
	    !hostcheck_is_revoked(h->check, k);
}

/* Drops new keys that are too short or revoked. Returns the number of new keys
 * that are left, which the server has to prove. */
static size_t
sort_keys(struct hostlearn *h, const struct knownhosts_renewal *rn)
{
	size_t kept = 0, unproved = 0;

	for (size_t i = 0; i < h->n; i++) {
		struct key *k = h->keys[i];

		if (!rn->had[i] && !is_fit(h, k)) {
			key_free(k);
			continue;
		}
		h->unproved[kept] = !rn->had[i];
		unproved += h->unproved[kept];
		h->keys[kept++] = k;
	}
	h->n = kept;
	return unproved;
}

int
hostlearn_announced(struct hostlearn *h, struct rd *data)
{
	struct knownhosts_renewal rn;
	int r;

	if (h->heard) /* only the first announcement of a connection counts */
		return CHANNEL_FAILURE;
	h->heard = true;
	if ((r = read_keys(h, data)) != 0) {
		log_debug("announcement of host keys: %s", err_text(r));
		return CHANNEL_FAILURE;
	}
	if (!is_listed(h, h->shown)) {
		log_debug("the server does not announce the key it showed");
		return CHANNEL_FAILURE;
	}
	rn = renewal_of(h);
	r = knownhosts_renew(hostcheck_noted_in(h->check), &rn, true);
	if (r != 0) {
		log_debug("known_hosts is not updated: %s", why_not(&rn, r));
		return CHANNEL_FAILURE;
	}
	if (sort_keys(h, &rn) > 0)
		return ask_for_proofs(h);
	update_file(h);
	return CHANNEL_FAILURE;
}

/* ---- life --------------------------------------------------------------- */

/* Makes a key from the blob of the host key: from a certificate, the key that
 * it is for, because that is what known_hosts has. */
static int
plain_key(struct span blob, struct key **out)
{
	struct buf identity = { 0 };
	int r = key_identity_of_blob(blob, &identity);

	if (r == 0)
		r = key_from_blob(buf_span(&identity), out);
	buf_clear(&identity);
	return r;
}

int
hostlearn_new(struct hostlearn **out, const struct client_conf *conf,
    const struct hostcheck *check, const struct kex *k, struct channels *chs)
{
	struct hostlearn *h;
	const char *why;
	int r;

	*out = NULL;
	if (conf->known.update_host_keys == CLIENT_ASK_NO ||
	    hostcheck_noted_in(check) == NULL)
		return 0;
	if (conf->known.update_host_keys == CLIENT_ASK_ASK &&
	    (why = why_not_ask(conf)) != NULL) {
		log_debug("UpdateHostKeys=ask is off with %s", why);
		return 0;
	}
	h = xcalloc(1, sizeof *h);
	h->conf = conf;
	h->check = check;
	h->kex = k;
	h->channels = chs;
	h->address = hostcheck_address_name(check);
	if ((r = plain_key(kex_hostkey(k), &h->shown)) != 0) {
		hostlearn_free(h);
		return r;
	}
	*out = h;
	return 0;
}

void
hostlearn_hold(struct hostlearn *h, struct loop *loop, struct uses *uses)
{
	h->loop = loop;
	h->uses = uses;
}

void
hostlearn_free(struct hostlearn *h)
{
	if (h == NULL)
		return;
	if (h->held != NULL)
		loop_cancel(h->loop, h->held);
	for (size_t i = 0; i < h->n; i++)
		key_free(h->keys[i]);
	key_free(h->shown);
	free(h->address);
	free(h);
}
