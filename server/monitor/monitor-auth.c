/* SPDX-License-Identifier: ISC */
/*
 * Handlers of the requests of hpnsshd-auth: signatures by host keys, a user
 * name, tries to log in. Every field of a request is checked as if a stranger
 * had written it.
 */
#include "server/monitor/monitor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "compat/proc.h"
#include "keys/key.h"
#include "server/monitor/sign-rules.h"

enum { ALG_MAX = 256 }; /* bytes of an algorithm's name */

/* The limit in milliseconds for an agent or a security key to sign. */
enum { SIGNER_MS = 10 * 1000 };

unsigned
monitor_signer_ms(const struct monitor *m)
{
	uint64_t now = clock_ms();

	if (m->deadline_ms == 0)
		return SIGNER_MS;
	return now < m->deadline_ms ?
	    (unsigned)MIN(m->deadline_ms - now, SIGNER_MS) : 1;
}

/* Signs a hash, but only if it has the length of an exchange hash of this
 * configuration, and only by an algorithm that a client could have agreed on.
 * *hash is borrowed from in, *hostkey from m. */
static int
sign_hash(struct monitor *m, struct rd *in, struct buf *out,
    struct span *hash, struct span *hostkey)
{
	char *alg = rd_cstring(in, ALG_MAX);
	struct buf signature = { 0 };
	int r;

	*hash = rd_string(in);
	r = rd_end(in);
	if (r == 0 &&
	    (!sign_rules_hash_len(m->state.conf.algs.kex_algorithms,
		 hash->len) ||
		!sign_rules_alg(&m->state.conf, &m->state.keys, alg)))
		r = ERR_PROTOCOL;
	if (r == 0)
		r = hostkeys_sign(&m->state.keys, alg, *hash,
		    monitor_signer_ms(m), &signature);
	if (r == 0)
		r = hostkeys_blob(&m->state.keys, alg, hostkey);
	buf_put_string_buf(out, &signature);
	buf_clear(&signature);
	free(alg);
	return r;
}

/* Signs the hash of the first key exchange, which becomes the session
 * identifier. */
int
monitor_on_sign(struct monitor *m, struct rd *in, struct buf *out)
{
	struct span hash;
	int r;

	if (m->session_id_len != 0)
		return ERR_PROTOCOL; /* the key exchange was by GSSAPI */
	r = sign_hash(m, in, out, &hash, &m->hostkey);
	if (r == 0) {
		memcpy(m->session_id, hash.p, hash.len);
		m->session_id_len = hash.len;
	}
	return r;
}

int
monitor_on_sign_rekey(struct monitor *m, struct rd *in, struct buf *out)
{
	struct span hash, hostkey;

	return sign_hash(m, in, out, &hash, &hostkey);
}

int
monitor_on_user(struct monitor *m, struct rd *in, struct buf *out)
{
	char *name = rd_cstring(in, USER_NAME_MAX);
	char *service = rd_cstring(in, ALG_MAX), *text;
	int r = rd_end(in);

	if (r == 0 && m->session_id_len == 0)
		r = ERR_PROTOCOL;
	if (r != 0)
		goto out;
	m->login = login_new(&m->state, &m->peer,
	    (struct span){ m->session_id, m->session_id_len },
	    gss_exchange_client(m->gss) != NULL ? m->gss : NULL, name,
	    service);
	m->login->deadline_ms = m->deadline_ms;
	m->login->events = m->events;
	m->login->hostkey = m->hostkey;
	if (m->login->conf.login.refuse_connection) {
		log_info("Connection from %s refused by RefuseConnection",
		    m->peer_text);
		monitor_report_penalty(m, PENALTY_REFUSED);
		r = ERR_DENIED;
		goto out;
	}
	if (!m->login->name_ok)
		monitor_report_penalty(m, PENALTY_INVALID_USER);
	m->phase = MONITOR_PHASE_AUTH;
	/* Other users, who can read the title, see only the names of accounts
	 * that may log in: an existing account that may not is "unknown"
	 * too. */
	proc_title("%s [priv]", m->login->name_ok ? m->login->user->name :
						      "unknown");
	text = auth_methods_next(&m->login->methods);
	buf_put_cstring(out, text);
	free(text);
	text = login_banner(m->login);
	buf_put_bool(out, text != NULL);
	buf_put_cstring(out, text);
	free(text);
	text = key_algs_of_signatures(
	    m->login->conf.algs.pubkey_accepted_algorithms);
	buf_put_cstring(out, text != NULL ? text : "");
	free(text);
	buf_put_u32(out, (uint32_t)m->login->conf.login.max_auth_tries);
	buf_put_bool(out, !m->login->name_ok);
	buf_put_bool(out, m->login->conf.login.login_tickets.enabled != 0);
	buf_put_bool(out, m->login->conf.login.survive.enabled != 0);
out:
	free(name);
	free(service);
	return r;
}

static void
answer(struct monitor *m, struct monitor_verdict *v, struct buf *out)
{
	if (m->login->complete)
		m->phase = MONITOR_PHASE_ACCEPTED;
	if (m->login->checked)
		monitor_report_penalty(m, PENALTY_AUTHFAIL);
	v->final = m->login->failures > m->login->conf.login.max_auth_tries;
	monitor_verdict_put(out, v);
}

/* The callback `converse` of struct login_dialogue. */
static int
converse(void *arg, const struct buf *prompt, struct buf *body)
{
	struct monitor *m = arg;
	struct monitor_verdict v = { .result = MONITOR_PROMPTS };
	int r;

	/* Also a client that then ends the dialogue has tried to log in. */
	monitor_report_penalty(m, PENALTY_AUTHFAIL);
	buf_put_buf(&v.info, prompt);
	r = monitor_converse(m, &v, body);
	monitor_verdict_clear(&v);
	return r;
}

/* Answers a request after the dialogue was ended because the client's last
 * message was malformed. That message was a MONITOR_TRY_ANSWER, which needs a
 * verdict. */
static void
answer_dropped(struct monitor *m, struct monitor_verdict *v, struct buf *out)
{
	if (!m->owes_answer)
		return;
	v->result = MONITOR_FAILURE;
	v->counts = true;
	v->methods = auth_methods_next(&m->login->methods);
	m->login->failures++;
	answer(m, v, out);
}

int
monitor_on_try(struct monitor *m, struct rd *in, struct buf *out)
{
	const struct login_dialogue dialogue = { .arg = m,
		.converse = converse };
	struct monitor_verdict v = { 0 };
	uint8_t method = rd_u8(in);
	int r;

	if ((r = rd_err(in)) != 0)
		return r;
	if (method >= AUTH_METHOD_COUNT)
		return ERR_PROTOCOL;
	r = login_try(m->login, (enum auth_method_id)method, in, &dialogue,
	    &v);
	if (r == 0)
		answer(m, &v, out);
	else if (r == ERR_CANCELLED)
		answer_dropped(m, &v, out);
	monitor_verdict_clear(&v);
	return r == ERR_CANCELLED ? 0 : r;
}

int
monitor_on_hand_over(struct monitor *m, struct rd *in, struct buf *out)
{
	struct span packet = rd_string(in), kex = rd_string(in);
	int r = rd_end(in);

	(void)out;
	if (r != 0)
		return r;
	buf_init_secret(&m->packet_state);
	buf_init_secret(&m->kex_state);
	buf_put(&m->packet_state, packet.p, packet.len);
	buf_put(&m->kex_state, kex.p, kex.len);
	m->phase = MONITOR_PHASE_OVER;
	return buf_err(&m->packet_state) != 0 ? ERR_NOMEM :
						buf_err(&m->kex_state);
}
