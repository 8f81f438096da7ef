/* SPDX-License-Identifier: ISC */
#include "agent/fido-keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "keys/sk-client.h"

enum {
	RUNNING_MAX = 8, /* helpers, of different providers */
	LIMIT_MS = 120 * 1000, /* users look for their key */
};

struct fido_key {
	struct agentd *a;
	struct buf secret; /* sealed: the key, with its handle */
	char *provider;
};

/* A signature that is wanted. */
struct fido_job {
	struct agentd *a;
	struct fido_key *key;
	char *alg;
	struct buf data;
	signer_done_fn done;
	void *arg;
	bool running; /* its turn has come */
	bool asked;   /* for the PIN */
	struct sk_call *call;
	struct loop_fd *watch;
	struct loop_timer *limit;
	struct dialog *dialog; /* a question, or a notice during the call */
	const char *type; /* of the key, for texts; static */
	char *fingerprint;
	bool touch;
	struct fido_job *next;
};

static void run_next(void *arg);
static int begin(struct fido_job *j, const char *pin);

/* ---- jobs ---------------------------------------------------------------- */

static void
schedule(struct agentd *a)
{
	if (a->fido_jobs == NULL || a->fido_turn != NULL)
		return;
	a->fido_turn = loop_after(a->loop, 0, run_next, a);
	if (a->fido_turn == NULL)
		log_error("no timer for a FIDO key");
}

static void
end_call(struct fido_job *j)
{
	loop_unwatch(j->a->loop, j->watch);
	loop_cancel(j->a->loop, j->limit);
	dialog_drop(j->dialog);
	if (j->call != NULL)
		agentd_reap_soon(j->a);
	sk_call_end(j->call);
	j->watch = NULL;
	j->limit = NULL;
	j->dialog = NULL;
	j->call = NULL;
}

static void
job_end(struct fido_job *j)
{
	struct fido_job **at = &j->a->fido_jobs;

	while (*at != j)
		at = &(*at)->next;
	*at = j->next;
	end_call(j);
	schedule(j->a);
	free(j->alg);
	free(j->fingerprint);
	buf_clear(&j->data);
	free(j);
}

static void
finish(struct fido_job *j, int r, struct span signature)
{
	signer_done_fn done = j->done;
	void *arg = j->arg;

	job_end(j);
	done(arg, r, signature);
}

static void
fail(struct fido_job *j, int r)
{
	finish(j, r, (struct span){ 0 });
}

void
fido_stop_all(struct agentd *a)
{
	while (a->fido_jobs != NULL)
		fail(a->fido_jobs, ERR_CANCELLED);
}

/* ---- the user ------------------------------------------------------------ */

static void
on_notice_gone(void *arg, bool agreed, const char *answer)
{
	struct fido_job *j = arg;

	(void)agreed;
	(void)answer;
	j->dialog = NULL;
}

/* Whether it can be shown or not, the key blinks. */
static void
show_notice(struct fido_job *j)
{
	char *text;

	if (!j->touch || j->asked || dialog_refusal(j->a) != NULL ||
	    asprintf(&text, "Confirm user presence for key %s %s", j->type,
		j->fingerprint) == -1)
		return;
	j->dialog = dialog_ask(j->a, ASKPASS_NOTICE, text, on_notice_gone, j);
	free(text);
}

static void
on_pin(void *arg, bool agreed, const char *answer)
{
	struct fido_job *j = arg;
	int r = ERR_CANCELLED;

	j->dialog = NULL;
	if (agreed && answer != NULL && *answer != '\0')
		r = begin(j, answer);
	if (r != 0)
		fail(j, r);
}

static int
ask_pin(struct fido_job *j)
{
	const char *why = dialog_refusal(j->a);
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
	j->dialog = dialog_ask(j->a, ASKPASS_SECRET, text, on_pin, j);
	free(text);
	return j->dialog != NULL ? 0 : ERR_SK_PIN;
}

/* ---- calls --------------------------------------------------------------- */

static void
on_call(void *arg, int fd, int events)
{
	struct fido_job *j = arg;
	struct buf signature = { 0 };
	int r = sk_sign_step(j->call, &signature);

	(void)fd;
	(void)events;
	if (r == ERR_AGAIN) {
		loop_fd_want(j->watch,
		    sk_call_writes(j->call) ? LOOP_WRITE : LOOP_READ);
		return;
	}
	end_call(j);
	if (r == ERR_SK_PIN && !j->asked && (r = ask_pin(j)) == 0)
		return;
	finish(j, r, buf_span(&signature));
	buf_clear(&signature);
}

static void
on_limit(void *arg)
{
	struct fido_job *j = arg;

	j->limit = NULL;
	fail(j, ERR_TIMEOUT);
}

static int
take_texts(struct fido_job *j, const struct key *k)
{
	free(j->fingerprint);
	j->fingerprint = key_fingerprint(k, j->a->p.fingerprint);
	j->type = key_short_name(k);
	j->touch = (key_sk(k)->flags & KEY_SK_TOUCH) != 0;
	return j->fingerprint != NULL ? 0 : ERR_NOMEM;
}

static int
begin(struct fido_job *j, const char *pin)
{
	struct loop *loop = j->a->loop;
	unsigned ms = j->a->p.token_limit_ms;
	struct sk_params p = { .provider = j->key->provider, .pin = pin };
	struct key *k = NULL;
	int r = sealed_key_open(j->a->shield, &j->key->secret, &k);

	if (r == 0)
		r = take_texts(j, k);
	if (r == 0)
		r = sk_sign_begin(&j->call, &p, k, j->alg,
		    buf_span(&j->data));
	key_free(k);
	if (r != 0)
		return r;
	j->watch = loop_watch(loop, sk_call_fd(j->call), LOOP_WRITE, on_call,
	    j);
	j->limit = loop_after(loop, ms != 0 ? ms : LIMIT_MS, on_limit, j);
	if (j->watch == NULL || j->limit == NULL)
		return ERR_NOMEM;
	show_notice(j);
	return 0;
}

/* ---- the line ------------------------------------------------------------ */

static bool
has_turn(const struct fido_job *j)
{
	unsigned running = 0;

	for (const struct fido_job *o = j->a->fido_jobs; o != NULL;
	     o = o->next) {
		running += o->running;
		if (o->running &&
		    strcmp(o->key->provider, j->key->provider) == 0)
			return false;
	}
	return !j->running && running < RUNNING_MAX;
}

static void
run_next(void *arg)
{
	struct agentd *a = arg;
	struct fido_job *j = a->fido_jobs;
	int r;

	a->fido_turn = NULL;
	while (j != NULL && !has_turn(j))
		j = j->next;
	if (j == NULL)
		return;
	schedule(a); /* there may be another */
	j->running = true;
	r = begin(j, NULL);
	if (r != 0)
		fail(j, r);
}

/* ---- keys ---------------------------------------------------------------- */

static int
fido_sign(void *key, const char *alg, struct span data, signer_done_fn done,
    void *arg, void **job)
{
	struct fido_key *f = key;
	struct fido_job *j = calloc(1, sizeof *j), **at = &f->a->fido_jobs;
	int r;

	if (j == NULL)
		return ERR_NOMEM;
	*j = (struct fido_job){ .a = f->a, .key = f, .done = done,
		.arg = arg };
	j->alg = strdup(alg);
	buf_put(&j->data, data.p, data.len);
	r = j->alg == NULL ? ERR_NOMEM : buf_err(&j->data);
	if (r != 0) {
		free(j->alg);
		buf_clear(&j->data);
		free(j);
		return r;
	}
	while (*at != NULL)
		at = &(*at)->next;
	*at = j;
	*job = j;
	schedule(f->a);
	return 0;
}

static void
fido_cancel(void *job)
{
	job_end(job);
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
	struct fido_job *j = f->a->fido_jobs, *next;

	for (; j != NULL; j = next) {
		next = j->next;
		if (j->key == f)
			fail(j, ERR_CANCELLED);
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
