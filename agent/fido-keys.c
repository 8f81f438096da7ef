/* SPDX-License-Identifier: ISC */
#include "agent/fido-keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "keys/sk-client.h"

enum {
	RUNNING_MAX = 8, /* helpers at a time, each for a provider of its own */
	LIMIT_MS = 120 * 1000, /* users have to find their security key */
};

struct fido_key {
	struct agentd *a;
	struct buf secret; /* the key with its handle, sealed by the shield */
	char *provider;
};

/* A request to sign by a security key. It waits in the agent's list until a
 * helper may run for it. */
struct fido_job {
	struct helper_job job;
	struct fido_key *key;
	bool running; /* a helper is running, or the user is being asked */
	bool asked;   /* the user was asked for the PIN */
	struct sk_call *sk;
	struct helper_call call;
	struct dialog *question;
	const char *type; /* type of the key for messages; static */
	char *fingerprint;
	bool touch;
};

static int begin(struct fido_job *j, const char *pin);

/* ---- jobs ---------------------------------------------------------------- */

static struct fido_job *
fido_job_of(struct helper_job *j)
{
	return (struct fido_job *)j;
}

static void
end_call(struct fido_job *j)
{
	helper_call_end(&j->call);
	dialog_drop(j->question);
	j->question = NULL;
	if (j->sk != NULL)
		agentd_reap_soon(j->key->a);
	sk_call_end(j->sk);
	j->sk = NULL;
}

static void
job_ended(struct helper_job *job)
{
	struct fido_job *j = fido_job_of(job);

	end_call(j);
	free(j->fingerprint);
	helper_line_schedule(job->line);
}

static void
fail(struct fido_job *j, int r)
{
	helper_job_fail(&j->job, r);
}

void
fido_stop_all(struct agentd *a)
{
	while (!TAILQ_EMPTY(&a->fido.jobs))
		helper_job_fail(TAILQ_FIRST(&a->fido.jobs), ERR_CANCELLED);
}

/* ---- the user ------------------------------------------------------------ */

/* Shows a notice to touch the security key. Without a display there is none;
 * the security key blinks anyway. */
static void
show_notice(struct fido_job *j)
{
	char *text;

	if (!j->touch || j->asked ||
	    asprintf(&text, "Confirm user presence for key %s %s", j->type,
		j->fingerprint) == -1)
		return;
	helper_call_show(&j->call, text);
	free(text);
}

static void
on_pin(void *arg, bool agreed, const char *answer)
{
	struct fido_job *j = arg;
	int r = ERR_CANCELLED;

	j->question = NULL;
	if (agreed && answer != NULL && *answer != '\0')
		r = begin(j, answer);
	if (r != 0)
		fail(j, r);
}

static int
ask_pin(struct fido_job *j)
{
	struct agentd *a = j->key->a;
	const char *why = dialog_refusal(a);
	char *text;

	if (why != NULL) {
		log_info("a FIDO key wants its PIN, and %s", why);
		return ERR_SK_PIN;
	}
	if (asprintf(&text, "Enter PIN%s for %s key %s: ",
		j->touch ? " and confirm user presence" : "", j->type,
		j->fingerprint) == -1)
		return ERR_NOMEM;
	j->asked = true;
	j->question = dialog_ask(a, ASKPASS_SECRET, text, on_pin, j);
	free(text);
	return j->question != NULL ? 0 : ERR_SK_PIN;
}

/* ---- calls --------------------------------------------------------------- */

static void
on_call(void *arg, int fd, int events)
{
	struct fido_job *j = arg;
	struct buf signature = { 0 };
	int r = sk_sign_step(j->sk, &signature);

	(void)fd;
	(void)events;
	if (r == ERR_AGAIN) {
		helper_call_want(&j->call, sk_call_writes(j->sk));
		return;
	}
	end_call(j);
	if (r == ERR_SK_PIN && !j->asked && (r = ask_pin(j)) == 0)
		return;
	helper_job_finish(&j->job, r, buf_span(&signature));
	buf_clear(&signature);
}

static void
on_limit(void *arg)
{
	struct fido_job *j = arg;

	j->call.limit = NULL;
	fail(j, ERR_TIMEOUT);
}

static int
take_texts(struct fido_job *j, const struct key *k)
{
	free(j->fingerprint);
	j->fingerprint = key_fingerprint(k, j->key->a->p.fingerprint);
	j->type = key_short_name(k);
	j->touch = (key_sk(k)->flags & KEY_SK_TOUCH) != 0;
	return j->fingerprint != NULL ? 0 : ERR_NOMEM;
}

static int
begin(struct fido_job *j, const char *pin)
{
	struct sk_params p = { .provider = j->key->provider, .pin = pin };
	struct key *k = NULL;
	int r = sealed_key_open(j->key->a->shield, &j->key->secret, &k);

	if (r == 0)
		r = take_texts(j, k);
	if (r == 0)
		r = sk_sign_begin(&j->sk, &p, k, j->job.alg,
		    buf_span(&j->job.data));
	key_free(k);
	if (r == 0)
		r = helper_call_watch(&j->call, sk_call_fd(j->sk), on_call, j);
	if (r == 0)
		r = helper_call_limit(&j->call, LIMIT_MS, on_limit, j);
	if (r != 0)
		return r;
	helper_call_want(&j->call, true);
	show_notice(j);
	return 0;
}

/* ---- the line ------------------------------------------------------------ */

static bool
has_turn(const struct fido_job *j)
{
	struct helper_job *o;
	unsigned running = 0;

	TAILQ_FOREACH(o, &j->job.line->jobs, entry) {
		const struct fido_job *other = fido_job_of(o);

		running += other->running;
		if (other->running &&
		    strcmp(other->key->provider, j->key->provider) == 0)
			return false;
	}
	return !j->running && running < RUNNING_MAX;
}

static void
run_next(void *owner)
{
	struct agentd *a = owner;
	struct helper_job *job = TAILQ_FIRST(&a->fido.jobs);
	struct fido_job *j;
	int r;

	while (job != NULL && !has_turn(fido_job_of(job)))
		job = TAILQ_NEXT(job, entry);
	if (job == NULL)
		return;
	/* perhaps another job may run as well */
	helper_line_schedule(&a->fido);
	j = fido_job_of(job);
	j->running = true;
	r = begin(j, NULL);
	if (r != 0)
		fail(j, r);
}

void
fido_start(struct agentd *a)
{
	static const struct helper_kind kind = { run_next, job_ended };

	helper_line_init(&a->fido, a, &kind, a);
}

/* ---- keys ---------------------------------------------------------------- */

static int
fido_sign(void *key, const char *alg, struct span data, signer_done_fn done,
    void *arg, void **job)
{
	struct fido_key *f = key;
	struct fido_job *j = calloc(1, sizeof *j);
	int r;

	if (j == NULL)
		return ERR_NOMEM;
	j->key = f;
	j->call.a = f->a;
	r = helper_job_start(&j->job, &f->a->fido, alg, data, done, arg);
	if (r != 0) {
		free(j);
		return r;
	}
	*job = &j->job;
	helper_line_schedule(&f->a->fido);
	return 0;
}

static void
fido_cancel(void *job)
{
	helper_job_end(job);
}

static void
key_end(struct fido_key *f)
{
	buf_clear(&f->secret);
	free(f->provider);
	free(f);
}

static void
fido_release(void *key)
{
	struct fido_key *f = key;
	struct helper_job *j = TAILQ_FIRST(&f->a->fido.jobs), *next;

	for (; j != NULL; j = next) {
		next = TAILQ_NEXT(j, entry);
		if (fido_job_of(j)->key == f)
			helper_job_fail(j, ERR_CANCELLED);
	}
	key_end(f);
}

static const struct signer_ops fido_ops = { fido_sign, fido_cancel,
	fido_release };

int
fido_hold(struct agentd *a, const struct key *k, const char *provider,
    struct identity *id)
{
	struct fido_key *f = calloc(1, sizeof *f);
	int r;

	if (f == NULL)
		return ERR_NOMEM;
	f->a = a;
	f->provider = strdup(provider);
	id->application = strdup(key_sk(k)->application);
	r = f->provider == NULL || id->application == NULL ?
	    ERR_NOMEM :
	    sealed_key_make(a->shield, k, &f->secret);
	if (r != 0) {
		key_end(f);
		return r;
	}
	id->ops = &fido_ops;
	id->signer = f;
	return 0;
}
