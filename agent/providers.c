/* SPDX-License-Identifier: ISC */
#include "agent/providers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "compat/bsd-mem.h"
#include "compat/bsd.h"
#include "keys/p11-client.h"

enum {
	PROVIDERS_MAX = 32,
	LIMIT_MS = 20 * 1000, /* slow cards take seconds for a signature */
	LIMIT_USER_MS = 120 * 1000, /* the user types a PIN, or is away */
};

/* What a provider's helper is doing. */
enum state { IDLE, OPENING, LISTING, LOGGING_IN, SIGNING };

struct opening {
	provider_opened_fn fn;
	void *arg;
	char pin[P11_PIN_MAX + 1];
	size_t next;   /* index of the next token to log in to */
	bool began, logged_in;
	int failure; /* the last login's error; 0: none */
};

/* A question for a PIN. Until the user answers it, the helper may work for
 * other jobs. */
struct question {
	struct provider_job *job; /* NULL: there is no question */
	struct dialog *dialog;	  /* NULL: the user has answered */
	struct loop_timer *limit;
	enum state after; /* what the PIN is for: SIGNING or LOGGING_IN */
	uint32_t token;
	char pin[P11_PIN_MAX + 1];
};

struct provider {
	struct agentd *a;
	char *path;
	struct p11 *helper; /* NULL: the next signature starts a helper */
	struct helper_call call; /* its notice: the PIN is for the reader */
	enum state state;
	struct p11_list list; /* the helper's last list */
	struct question question;
	struct opening *opening; /* NULL: the library has been opened */
	struct helper_line line;
	/* job that the helper works for; NULL: none (IDLE) */
	struct provider_job *job;
	size_t keys;
	TAILQ_ENTRY(provider) entry;
};

struct provider_key {
	struct provider *p;
	struct key *key;
};

/* A request to sign by a key of the provider. */
struct provider_job {
	struct helper_job job;
	struct provider *p;
	const struct provider_key *of; /* NULL: cancelled, nobody waits for the
				        * result */
	struct key *key;
	bool asked;	/* the user was asked for the PIN */
	bool wants_pin; /* needs a PIN, while another question is open */
};

static void on_helper(void *arg, int fd, int events);

/* ---- the helper ---------------------------------------------------------- */

static void
end_call(struct provider *p)
{
	helper_call_over(&p->call);
	p->state = IDLE;
	p->job = NULL;
}

static void
end_question(struct provider *p)
{
	struct question *q = &p->question;

	loop_cancel(p->a->loop, q->limit);
	dialog_drop(q->dialog);
	explicit_bzero(q->pin, sizeof q->pin);
	*q = (struct question){ 0 };
}

static void
end_helper(struct provider *p)
{
	end_call(p);
	end_question(p);
	helper_call_end(&p->call);
	if (p->helper == NULL)
		return;
	p11_end(p->helper);
	p->helper = NULL;
	agentd_reap_soon(p->a);
}

static int
start_helper(struct provider *p)
{
	int r = p11_start(&p->helper, p->path);

	if (r != 0)
		return r;
	return helper_call_watch(&p->call, p11_fd(p->helper), on_helper, p);
}

/* ---- jobs ---------------------------------------------------------------- */

static void on_limit(void *arg);

static struct provider_job *
provider_job_of(struct helper_job *j)
{
	return (struct provider_job *)j;
}

static struct provider_job *
first_job(const struct provider *p)
{
	return provider_job_of(TAILQ_FIRST(&p->line.jobs));
}

static struct provider_job *
job_behind(const struct provider_job *j)
{
	return provider_job_of(TAILQ_NEXT(&j->job, entry));
}

static bool
is_listed(const struct provider *p, const struct provider_job *j)
{
	for (size_t i = 0; i < p->list.n_keys; i++)
		if (key_equal_public(p->list.keys[i].key, j->key))
			return true;
	return false;
}

/* The job that the helper should do next. While the user is being asked for a
 * PIN, this is the first job that needs no PIN. Once the PIN is there, it is
 * the job that needs it. */
static struct provider_job *
next_job(const struct provider *p)
{
	const struct question *q = &p->question;
	struct provider_job *j = first_job(p);

	if (q->job == NULL)
		return j;
	if (q->dialog == NULL)
		return q->job;
	while (j != NULL && (j == q->job || j->wants_pin || !is_listed(p, j)))
		j = job_behind(j);
	return j;
}

static void
schedule(struct provider *p)
{
	if (p->state == IDLE && next_job(p) != NULL)
		helper_line_schedule(&p->line);
}

static void
job_ended(struct helper_job *job)
{
	struct provider_job *j = provider_job_of(job);
	struct provider *p = j->p;

	if (p->job == j)
		end_call(p);
	if (p->question.job == j)
		end_question(p);
	key_free(j->key);
	schedule(p);
}

static void
fail(struct provider_job *j, int r)
{
	helper_job_fail(&j->job, r);
}

/* Cancels a job. If the helper is working for it, the job stays until the
 * helper has answered, because a helper cannot be interrupted. */
static void
forget_job(struct provider_job *j)
{
	j->of = NULL;
	j->job.done = NULL;
	if (j->p->job != j)
		helper_job_end(&j->job);
}

/* Ends the helper; all its jobs fail with r. */
static void
fail_all(struct provider *p, int r)
{
	end_helper(p);
	while (!TAILQ_EMPTY(&p->line.jobs))
		helper_job_fail(TAILQ_FIRST(&p->line.jobs), r);
}

/* ---- life ---------------------------------------------------------------- */

static void
provider_end(struct provider *p)
{
	TAILQ_REMOVE(&p->a->providers, p, entry);
	end_helper(p);
	helper_line_clear(&p->line);
	if (p->opening != NULL)
		mem_free_secret(p->opening, sizeof *p->opening);
	p11_list_clear(&p->list);
	log_debug("provider %s: ended", p->path);
	free(p->path);
	free(p);
}

static void
opened(struct provider *p, int r)
{
	struct opening *o = p->opening;
	provider_opened_fn fn = o->fn;
	void *arg = o->arg;

	p->opening = NULL;
	mem_free_secret(o, sizeof *o);
	end_call(p);
	if (r == 0 && p->list.n_keys == 0)
		r = ERR_NOT_FOUND;
	p->keys++; /* keeps p while fn runs, even if fn takes no key */
	fn(arg, r, p, &p->list);
	if (--p->keys == 0)
		provider_end(p);
}

/* Makes what the helper is doing fail with r: the opening of its library, or
 * all jobs. p stays if it has keys. */
static void
stop(struct provider *p, int r)
{
	if (p->opening != NULL)
		opened(p, r);
	else
		fail_all(p, r);
}

void
providers_stop_opening(struct agentd *a)
{
	struct provider *p = TAILQ_FIRST(&a->providers), *next;

	for (; p != NULL; p = next) {
		next = TAILQ_NEXT(p, entry);
		if (p->opening != NULL)
			opened(p, ERR_CANCELLED);
	}
}

void
providers_stop_all(struct agentd *a)
{
	struct provider *p = TAILQ_FIRST(&a->providers), *next;

	for (; p != NULL; p = next) {
		next = TAILQ_NEXT(p, entry);
		stop(p, ERR_CANCELLED);
	}
}

void
provider_close(struct provider *p)
{
	provider_end(p);
}

/* ---- calls --------------------------------------------------------------- */

static int
begin_list(struct provider *p, enum state state, const struct p11_pin *pin)
{
	p->state = state;
	return p11_begin_list(p->helper, pin);
}

static int
begin_sign(struct provider *p, const struct p11_pin *pin)
{
	const struct provider_job *j = p->job;

	p->state = SIGNING;
	return p11_begin_sign(p->helper, j->key, j->job.alg,
	    buf_span(&j->job.data), pin);
}

/* Waits for the helper's answer. r is the result of beginning the call: if that
 * failed, the job or the provider fails. */
static void
wait_for(struct provider *p, int r, bool on_reader)
{
	if (r == 0)
		r = helper_call_limit(&p->call,
		    on_reader ? LIMIT_USER_MS : LIMIT_MS, on_limit, p);
	if (r == 0)
		helper_call_want(&p->call, true);
	else if (p->opening == NULL && p->helper != NULL &&
	    p11_fd(p->helper) != -1)
		fail(p->job, r);
	else
		stop(p, r);
}

static void
on_limit(void *arg)
{
	struct provider *p = arg;

	p->call.limit = NULL;
	log_info("provider %s does not answer", p->path);
	stop(p, ERR_TIMEOUT);
}

/* ---- PINs ---------------------------------------------------------------- */

static void
on_pin(void *arg, bool agreed, const char *answer)
{
	struct provider *p = arg;
	struct question *q = &p->question;

	q->dialog = NULL;
	loop_cancel(p->a->loop, q->limit);
	q->limit = NULL;
	if (!agreed || answer == NULL || *answer == '\0')
		fail(q->job, ERR_CANCELLED);
	else if (strlcpy(q->pin, answer, sizeof q->pin) >= sizeof q->pin)
		fail(q->job, ERR_LIMIT);
	else
		schedule(p);
}

static void
use_pin(struct provider *p)
{
	struct question *q = &p->question;
	const struct p11_pin pin = { P11_PIN_GIVEN, q->pin, q->token };
	int r = q->after == SIGNING ? begin_sign(p, &pin) :
				      begin_list(p, LOGGING_IN, &pin);

	end_question(p);
	wait_for(p, r, false);
}

/* Called when the user has not answered in time. The job that asked fails, and
 * those that wait to ask for a PIN, too. */
static void
on_no_answer(void *arg)
{
	struct provider *p = arg;
	struct provider_job *j;

	p->question.limit = NULL;
	log_info("provider %s: nobody has entered the PIN", p->path);
	fail(p->question.job, ERR_TIMEOUT);
	do {
		for (j = first_job(p); j != NULL && !j->wants_pin;
		     j = job_behind(j))
			;
		if (j != NULL)
			fail(j, ERR_TIMEOUT);
	} while (j != NULL);
}

static void
use_reader(struct provider *p, const char *text)
{
	static const struct p11_pin pin = { .kind = P11_PIN_ON_READER };

	helper_call_show(&p->call, text);
	wait_for(p, begin_sign(p, &pin), true);
}

static int
open_question(struct provider *p, const char *text, uint32_t token,
    enum state after)
{
	struct question *q = &p->question;

	q->dialog = dialog_ask(p->a, ASKPASS_SECRET, text, on_pin, p);
	q->limit = helper_timer(p->a, LIMIT_USER_MS, on_no_answer, p);
	if (q->dialog == NULL || q->limit == NULL) {
		end_question(p);
		return ERR_PIN_NEEDED;
	}
	q->job = p->job;
	q->token = token;
	q->after = after;
	return 0;
}

/* Asks the user for the PIN that p->job needs. A job asks only once, and only
 * one question is open at a time: other jobs wait for its end (wants_pin). */
static void
ask_pin(struct provider *p, const char *label, bool on_reader, uint32_t token,
    enum state after)
{
	struct provider_job *j = p->job;
	const char *why = j->asked ? "it was asked for" : dialog_refusal(p->a);
	char clean[4 * P11_LABEL_MAX + 1], *text = NULL;
	int r = ERR_PIN_NEEDED;

	if (!j->asked && !on_reader && p->question.job != NULL) {
		j->wants_pin = true;
		end_call(p);
		schedule(p);
		return;
	}
	str_escape(clean, sizeof clean, label);
	j->asked = true;
	if ((why == NULL || on_reader) &&
	    asprintf(&text, "Enter PIN for '%s': ", clean) == -1)
		text = NULL;
	if (text != NULL && on_reader) {
		use_reader(p, text);
	} else {
		if (text != NULL)
			r = open_question(p, text, token, after);
		if (why != NULL)
			log_info("token '%s' wants its PIN, and %s", clean,
			    why);
		if (r == 0) {
			end_call(p);
			schedule(p);
		} else {
			fail(j, r);
		}
	}
	free(text);
}

/* ---- answers ------------------------------------------------------------- */

/* Takes the next step of opening a library: logs in to each token that wants
 * it, with the PIN that came with the request. r: the result of the last step.
 * A wrong PIN for one token is no failure if another token takes it. */
static void
opening_goes_on(struct provider *p, int r)
{
	struct opening *o = p->opening;
	struct p11_pin pin = { P11_PIN_GIVEN, o->pin, 0 };

	if (r != 0 && (!o->began || r != ERR_PIN)) {
		opened(p, r);
		return;
	}
	if (r != 0)
		o->failure = r;
	else if (o->began)
		o->logged_in = true;
	o->began = true;
	while (o->next < p->list.n_tokens &&
	    (!p->list.tokens[o->next].wants_login ||
		p->list.tokens[o->next].on_reader))
		o->next++;
	if (o->next >= p->list.n_tokens) {
		opened(p, o->logged_in ? 0 : o->failure);
	} else if (*o->pin == '\0') {
		opened(p, ERR_PIN_NEEDED);
	} else {
		pin.token = (uint32_t)o->next++;
		wait_for(p, begin_list(p, OPENING, &pin), false);
	}
}

/* Goes on after LISTING or LOGGING_IN: signs, or asks for the PIN first, since
 * some tokens do not show their keys before a login. */
static void
listed_again(struct provider *p)
{
	static const struct p11_pin none = { .kind = P11_PIN_NONE };

	for (uint32_t i = 0; !is_listed(p, p->job) && i < p->list.n_tokens;
	     i++) {
		if (!p->list.tokens[i].wants_login || p->job->asked ||
		    p->list.tokens[i].on_reader)
			continue;
		ask_pin(p, p->list.tokens[i].label, false, i, LOGGING_IN);
		return;
	}
	wait_for(p, begin_sign(p, &none), false);
}

static int
take_list(struct provider *p)
{
	struct p11_list more = { 0 };
	int r = p11_list_step(p->helper, &more);

	if (r == 0) {
		p11_list_clear(&p->list);
		p->list = more;
	} else {
		p11_list_clear(&more);
	}
	return r;
}

/* A call of the helper has ended with the result r; signature is for SIGNING.
 * What comes next depends on what the call was for. */
static void
call_over(struct provider *p, enum state state, int r, struct span signature)
{
	const char *label;
	bool on_reader;

	helper_call_over(&p->call);
	if (state == OPENING) {
		opening_goes_on(p, r);
	} else if (p11_fd(p->helper) == -1) {
		fail_all(p, r);
	} else if (p->job->of == NULL) {
		fail(p->job, ERR_CANCELLED);
	} else if (state == SIGNING && r == ERR_PIN_NEEDED) {
		label = p11_wanted(p->helper, &on_reader);
		ask_pin(p, label, on_reader, 0, SIGNING);
	} else if (state == SIGNING || r != 0) {
		helper_job_finish(&p->job->job, r, signature);
	} else {
		listed_again(p);
	}
}

static void
on_helper(void *arg, int fd, int events)
{
	struct provider *p = arg;
	struct buf signature = { 0 };
	int r;

	(void)fd;
	(void)events;
	if (p->state == IDLE) {
		log_info("the helper of %s ended", p->path);
		if (p->question.job == NULL)
			end_helper(p);
		else
			fail_all(p, ERR_P11);
		return;
	}
	r = p->state == SIGNING ? p11_sign_step(p->helper, &signature) :
				  take_list(p);
	if (r == ERR_AGAIN) {
		helper_call_want(&p->call, p11_writes(p->helper));
		return;
	}
	helper_call_want(&p->call, false);
	call_over(p, p->state, r, buf_span(&signature));
	buf_clear(&signature);
}

static void
run(void *owner)
{
	static const struct p11_pin none = { .kind = P11_PIN_NONE };
	struct provider *p = owner;
	int r = 0;

	if (p->state != IDLE || (p->job = next_job(p)) == NULL)
		return;
	p->job->wants_pin = false;
	if (p->job == p->question.job) {
		use_pin(p);
		return;
	}
	if (p->helper != NULL) {
		wait_for(p, begin_sign(p, &none), false);
		return;
	}
	r = start_helper(p);
	if (r == 0)
		r = begin_list(p, LISTING, &none);
	wait_for(p, r, false);
}

/* ---- keys ---------------------------------------------------------------- */

/* The algorithm's name in a signature: that without certificates. */
static const char *
plain_name(const char *alg)
{
	const struct key_alg *row = key_alg_by_cert_name(alg);

	return row != NULL ? row->name : alg;
}

static int
provider_sign(void *key, const char *alg, struct span data, signer_done_fn done,
    void *arg, void **job)
{
	struct provider_key *k = key;
	struct provider_job *j = calloc(1, sizeof *j);
	int r;

	if (j == NULL)
		return ERR_NOMEM;
	j->p = k->p;
	j->of = k;
	r = key_public_of(k->key, &j->key);
	if (r == 0)
		r = helper_job_start(&j->job, &k->p->line, plain_name(alg),
		    data, done, arg);
	if (r != 0) {
		key_free(j->key);
		free(j);
		return r;
	}
	*job = j;
	schedule(k->p);
	return 0;
}

static void
provider_cancel(void *job)
{
	forget_job(job);
}

static void
provider_release(void *key)
{
	struct provider_key *k = key;
	struct provider *p = k->p;
	struct provider_job *j = first_job(p), *next;

	for (; j != NULL; j = next) {
		signer_done_fn done = j->job.done;
		void *arg = j->job.arg;

		next = job_behind(j);
		if (j->of != k)
			continue;
		forget_job(j);
		done(arg, ERR_CANCELLED, (struct span){ 0 });
	}
	key_free(k->key);
	free(k);
	if (--p->keys == 0)
		provider_end(p);
}

static const struct signer_ops provider_ops = { provider_sign,
	provider_cancel, provider_release };

int
provider_hold(struct provider *p, const struct key *k, struct identity *id)
{
	struct provider_key *held = calloc(1, sizeof *held);
	int r;

	if (held == NULL)
		return ERR_NOMEM;
	held->p = p;
	id->provider = strdup(p->path);
	r = id->provider == NULL ? ERR_NOMEM : key_public_of(k, &held->key);
	if (r != 0) {
		free(held);
		return r;
	}
	id->ops = &provider_ops;
	id->signer = held;
	p->keys++;
	return 0;
}

/* ---- opening ------------------------------------------------------------- */

/* Makes sure that a provider for path may be added. One that exists, but has no
 * helper and no jobs, loses its keys and so ends. ERR_ARGUMENT: it is in use.
 * ERR_LIMIT: there are too many providers. */
static int
make_room(struct agentd *a, const char *path)
{
	struct provider *p;
	size_t n = 0;

	TAILQ_FOREACH(p, &a->providers, entry) {
		if (strcmp(p->path, path) == 0)
			break;
		n++;
	}
	if (p == NULL)
		return n < PROVIDERS_MAX ? 0 : ERR_LIMIT;
	if (p->opening != NULL || p->helper != NULL ||
	    !TAILQ_EMPTY(&p->line.jobs)) {
		log_info("provider %s is there already", path);
		return ERR_ARGUMENT;
	}
	(void)identities_remove_provider(a->keys, path);
	return 0;
}

static struct provider *
provider_new(struct agentd *a, const char *path, const char *pin)
{
	static const struct helper_kind kind = { run, job_ended };
	struct provider *p = calloc(1, sizeof *p);
	struct opening *o = calloc(1, sizeof *o);

	if (p == NULL || o == NULL || (p->path = strdup(path)) == NULL) {
		free(p);
		free(o);
		return NULL;
	}
	strlcpy(o->pin, pin, sizeof o->pin);
	p->a = a;
	p->call.a = a;
	p->opening = o;
	helper_line_init(&p->line, a, &kind, p);
	TAILQ_INSERT_HEAD(&a->providers, p, entry);
	return p;
}

int
provider_open(struct agentd *a, const char *path, const char *pin,
    provider_opened_fn fn, void *arg, struct provider **out)
{
	static const struct p11_pin none = { .kind = P11_PIN_NONE };
	struct provider *p;
	int r = make_room(a, path);

	if (r != 0)
		return r;
	if (strlen(pin) > P11_PIN_MAX)
		return ERR_LIMIT;
	if ((p = provider_new(a, path, pin)) == NULL)
		return ERR_NOMEM;
	p->opening->fn = fn;
	p->opening->arg = arg;
	r = start_helper(p);
	if (r == 0)
		r = begin_list(p, OPENING, &none);
	if (r == 0)
		r = helper_call_limit(&p->call, LIMIT_MS, on_limit, p);
	if (r != 0) {
		provider_end(p);
		return r;
	}
	helper_call_want(&p->call, true);
	*out = p;
	return 0;
}
