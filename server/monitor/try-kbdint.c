/* SPDX-License-Identifier: ISC */
/*
 * "keyboard-interactive" (RFC 4256) in the monitor: PAM's modules ask
 * questions, which the user at the client answers.
 */
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "server/monitor/decoy-hash.h"
#include "server/monitor/login-internal.h"
#include "server/monitor/login-rules.h"

enum { QUESTIONS_MAX = 64 };

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
		answers[got] = rd_cstring(&r, MONITOR_SECRET_MAX);
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

/* The callback `ask` of struct pam_dialogue. */
static int
ask_client(void *arg, const char *info, const struct pam_question *questions,
    size_t count, char **answers)
{
	const struct login_dialogue *d = arg;
	struct buf prompt = { 0 }, body;
	int r;

	if (count > QUESTIONS_MAX)
		return ERR_LIMIT;
	buf_init_secret(&body);
	put_questions(&prompt, info, questions, count);
	r = d->converse(d->arg, &prompt, &body);
	if (r == 0)
		r = take_answers(&body, count, answers);
	buf_clear(&prompt);
	buf_clear(&body);
	return r;
}

/* Lets PAM ask the client. 0: the answers are right; ERR_DENIED,
 * ERR_CANCELLED. */
static int
lead_dialogue(const struct login_request *q, const struct pam_dialogue *talk)
{
	struct login *l = q->login;
	int r;

	pam_use_decoys(l->pam, login_rules_hopeless(l, q->method));
	r = pam_check_dialogue(l->pam, talk,
	    l->conf.login.permit_empty_passwords);
	if (r == ERR_DENIED)
		log_error("PAM: %s for %s%s from %s", pam_error(l->pam),
		    l->name_ok ? "" : "illegal user ", l->shown_name,
		    l->peer->host);
	return r;
}

int
login_try_kbdint(const struct login_request *q, struct login_try *t)
{
	struct login *l = q->login;
	int r;

	(void)rd_string(q->in); /* devices: ignored, there is only PAM */
	if ((r = rd_end(q->in)) != 0)
		return r;
	t->is_recorded = true;
	if (l->pam == NULL || !auth_methods_may(&l->methods, q->method->name))
		return 0;
	t->talk = (struct pam_dialogue){ .ask = ask_client,
		.arg = (void *)(uintptr_t)q->dialogue };
	t->checked = t->has_secret = true;
	t->since_us = decoy_cpu_us();
	r = lead_dialogue(q, &t->talk);
	if (r == ERR_CANCELLED)
		return r;
	t->secret_len = pam_secret_len(l->pam);
	t->ok = r == 0;
	return 0;
}
