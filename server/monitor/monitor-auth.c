/* SPDX-License-Identifier: ISC */
/*
 * What hpnsshd-auth may ask: host key signatures, an account, tries. Every
 * field of a request is checked as if a stranger had written it.
 */
#include "server/monitor/monitor.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

enum {
	ALG_MAX = 256,	     /* bytes of an algorithm's name */
	PASSWORD_MAX = 8192, /* bytes */
	QUESTIONS_MAX = 64,
};

/* Only exchange hashes are signed; their lengths are those of the hash
 * functions. */
static int
sign_hash(struct monitor *m, struct rd *in, struct buf *out,
    struct span *hash)
{
	char *alg = rd_cstring(in, ALG_MAX);
	struct buf signature = { 0 };
	int r;

	*hash = rd_string(in);
	r = rd_end(in);
	if (r == 0 && hash->len != 20 && hash->len != 32 && hash->len != 48 &&
	    hash->len != 64)
		r = ERR_PROTOCOL;
	if (r == 0)
		r = hostkeys_sign(&m->state.keys, alg, *hash, &signature);
	buf_put_string_buf(out, &signature);
	buf_clear(&signature);
	free(alg);
	return r;
}

/* The hash of the first exchange is the session's identifier. */
int
monitor_on_sign(struct monitor *m, struct rd *in, struct buf *out)
{
	struct span hash;
	int r = sign_hash(m, in, out, &hash);

	if (r == 0) {
		memcpy(m->session_id, hash.p, hash.len);
		m->session_id_len = hash.len;
	}
	return r;
}

int
monitor_on_sign_rekey(struct monitor *m, struct rd *in, struct buf *out)
{
	struct span hash;

	monitor_wait_to_sign(m);
	return sign_hash(m, in, out, &hash);
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
	    (struct span){ m->session_id, m->session_id_len }, name, service);
	if (m->login->conf.login.refuse_connection) {
		log_info("Connection from %s refused by RefuseConnection",
		    m->peer_text);
		monitor_tell(m, PENALTY_REFUSED);
		r = ERR_DENIED;
		goto out;
	}
	if (!m->login->name_ok)
		monitor_tell(m, PENALTY_INVALID_USER);
	m->phase = MONITOR_PHASE_AUTH;
	text = auth_methods_next(&m->login->methods);
	buf_put_cstring(out, text);
	free(text);
	text = login_banner(m->login);
	buf_put_bool(out, text != NULL);
	buf_put_cstring(out, text);
	free(text);
	buf_put_u32(out, (uint32_t)m->login->conf.login.max_auth_tries);
	buf_put_bool(out, !m->login->name_ok);
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
		monitor_tell(m, PENALTY_AUTHFAIL);
	v->final = m->login->failures > m->login->conf.login.max_auth_tries;
	monitor_verdict_put(out, v);
	monitor_verdict_clear(v);
}

int
monitor_on_none(struct monitor *m, struct rd *in, struct buf *out)
{
	struct monitor_verdict v = { 0 };
	int r = rd_end(in);

	if (r != 0)
		return r;
	login_try_none(m->login, &v);
	answer(m, &v, out);
	return 0;
}

int
monitor_on_key_query(struct monitor *m, struct rd *in, struct buf *out)
{
	char *alg = rd_cstring(in, ALG_MAX);
	struct span blob = rd_string(in);
	struct monitor_verdict v = { 0 };
	int r = rd_end(in);

	if (r == 0) {
		login_query_key(m->login, alg, blob, &v);
		answer(m, &v, out);
	}
	free(alg);
	return r;
}

int
monitor_on_key_verify(struct monitor *m, struct rd *in, struct buf *out)
{
	char *alg = rd_cstring(in, ALG_MAX);
	struct login_signature s = { .alg = alg };
	struct monitor_verdict v = { 0 };
	int r;

	s.blob = rd_string(in);
	s.hostbound = rd_bool(in);
	s.hostkey = rd_string(in);
	s.signature = rd_string(in);
	if ((r = rd_end(in)) == 0) {
		login_verify_key(m->login, &s, &v);
		answer(m, &v, out);
	}
	free(alg);
	return r;
}

int
monitor_on_password(struct monitor *m, struct rd *in, struct buf *out)
{
	struct span password = rd_string(in);
	bool usable = rd_bool(in);
	struct monitor_verdict v = { 0 };
	char *text;
	int r = rd_end(in);

	if (r == 0 && password.len > PASSWORD_MAX)
		r = ERR_LIMIT;
	if (r != 0)
		return r;
	/* A password with a NUL in it is nobody's. */
	text = usable ? span_dup(password) : NULL;
	if (text == NULL)
		text = xstrdup("\n");
	login_try_password(m->login, text, &v);
	mem_free_secret(text, strlen(text));
	answer(m, &v, out);
	return 0;
}

/* ---- dialogue ----------------------------------------------------------- */

static void
put_questions(struct buf *b, const char *info,
    const struct pam_question *questions, size_t count)
{
	buf_put_cstring(b, ""); /* name */
	buf_put_cstring(b, info);
	buf_put_cstring(b, ""); /* language tag */
	buf_put_u32(b, (uint32_t)count);
	for (size_t i = 0; i < count; i++) {
		buf_put_cstring(b, questions[i].text);
		buf_put_bool(b, questions[i].echo);
	}
}

static int
take_answers(const struct buf *body, size_t count, char **answers)
{
	struct rd r = rd_from_buf(body);
	size_t got = 0;
	int err = 0;

	if (rd_u32(&r) != count)
		err = ERR_FORMAT;
	while (err == 0 && got < count) {
		answers[got] = rd_cstring(&r, PASSWORD_MAX);
		if ((err = rd_err(&r)) == 0)
			got++;
	}
	if (err == 0)
		err = rd_end(&r);
	if (err != 0) {
		for (size_t i = 0; i < got; i++)
			mem_free_secret(answers[i], strlen(answers[i]));
		memset(answers, 0, count * sizeof *answers);
	}
	return err;
}

/* pam_talk's ask */
static int
ask_client(void *arg, const char *info, const struct pam_question *questions,
    size_t count, char **answers)
{
	struct monitor *m = arg;
	struct monitor_verdict v = { .result = MONITOR_PROMPTS };
	struct buf body;
	int r;

	if (count > QUESTIONS_MAX)
		return ERR_LIMIT;
	/* Whoever drops the dialogue has tried as well. */
	monitor_tell(m, PENALTY_AUTHFAIL);
	buf_init_secret(&body);
	put_questions(&v.info, info, questions, count);
	r = monitor_converse(m, &v, &body);
	if (r == 0)
		r = take_answers(&body, count, answers);
	monitor_verdict_clear(&v);
	buf_clear(&body);
	return r;
}

int
monitor_on_kbdint(struct monitor *m, struct rd *in, struct buf *out)
{
	const struct pam_talk talk = { .arg = m, .ask = ask_client };
	struct monitor_verdict v = { 0 };
	int r;

	(void)rd_string(in); /* devices: there is only one */
	if ((r = rd_end(in)) != 0)
		return r;
	if (login_try_kbdint(m->login, &talk, &v)) {
		answer(m, &v, out);
		return 0;
	}
	/* Dropped. If the last question was answered with nonsense, that
	 * message still waits for its verdict. */
	if (m->owed) {
		v.result = MONITOR_FAILURE;
		v.counts = true;
		v.methods = auth_methods_next(&m->login->methods);
		m->login->failures++;
		answer(m, &v, out);
	}
	return 0;
}

int
monitor_on_hand_over(struct monitor *m, struct rd *in, struct buf *out)
{
	char *id_remote = rd_cstring(in, ALG_MAX);
	struct span packet = rd_string(in), kex = rd_string(in);
	int r = rd_end(in);

	(void)out;
	if (r != 0) {
		free(id_remote);
		return r;
	}
	m->id_remote = id_remote;
	buf_init_secret(&m->packet_state);
	buf_init_secret(&m->kex_state);
	buf_put(&m->packet_state, packet.p, packet.len);
	buf_put(&m->kex_state, kex.p, kex.len);
	m->phase = MONITOR_PHASE_OVER;
	return buf_err(&m->packet_state) != 0 ? ERR_NOMEM :
						buf_err(&m->kex_state);
}
