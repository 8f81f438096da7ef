/* SPDX-License-Identifier: ISC */
#include "server/auth/auth.h"

#include <stdlib.h>
#include <unistd.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "compat/proc.h"
#include "crypto/digest.h"
#include "server/auth/auth-calls.h"
#include "server/auth/auth-internal.h"
#include "server/kexlog.h"
#include "server/user.h"

enum {
	MESSAGES_MAX = 1024,	/* of any kind in a connection: many, since some
				 * clients request the service before each
				 * request */
	METHOD_MAX = 256,	/* bytes of a method's name */
	SERVICE_MAX = 256,
	/* Microseconds from a request to its refusal, at least. It is longer
	 * with a password or the like: hashing is slow, and a person who
	 * mistyped does not notice. */
	REFUSAL_US = 8 * 1000,
	REFUSAL_OF_SECRET_US = 128 * 1000,
	MARK_STEP = 16, /* each time of a refusal is a 16th later than the one
			 * before */
};

/* A state can only change to the next one. */
enum auth_state {
	AUTH_NEW,	/* the service was not requested yet */
	AUTH_TRYING,	/* requests and dialogues are accepted */
	AUTH_SUCCEEDED, /* nothing more is accepted */
};

struct auth {
	int monitor_fd;
	struct packet *packet;
	const struct kex *kex;
	const struct monitor_params *params;
	enum auth_state state;
	char *gave_up;	/* reason of the disconnect that we sent, or NULL */
	bool turned_away; /* the monitor refused the account */
	bool optimistic; /* auth_put_optimistic() has sent both replies */
	char *user, *service; /* NULL before the first request */
	char *shown_user;     /* user, cut to USER_SHOWN_MAX for log lines; or
			       * NULL */
	const struct auth_method *dialogue; /* method whose dialogue waits for
					     * the client's message; or NULL */
	/* The method of the last try, if it was refused; or NULL. Messages of
	 * its dialogue that the client sent before it got the refusal are
	 * ignored. */
	const struct auth_method *refused;
	struct monitor_user info;
	int messages, tries, failures;
	uint64_t began_us; /* when the current request or answer came */
	bool secret;	   /* the current request has a password or the like */
};

/* The functions that read the fields of a request, by method. */
static int (*const readers[AUTH_METHOD_COUNT])(struct auth_try *t,
    struct rd *in) = {
#define ROW(id, word, ...) [AUTH_METHOD_##id] = auth_read_##word,
	AUTH_METHODS(ROW)
#undef ROW
};

struct auth *
auth_new(int monitor_fd, struct packet *p, const struct kex *k,
    const struct monitor_params *params)
{
	struct auth *a = xcalloc(1, sizeof *a);

	a->monitor_fd = monitor_fd;
	a->packet = p;
	a->kex = k;
	a->params = params;
	return a;
}

void
auth_free(struct auth *a)
{
	if (a == NULL)
		return;
	monitor_user_clear(&a->info);
	free(a->gave_up);
	free(a->user);
	free(a->shown_user);
	free(a->service);
	free(a);
}

bool
auth_succeeded(const struct auth *a)
{
	return a->state == AUTH_SUCCEEDED;
}

const char *
auth_gave_up(const struct auth *a)
{
	return a->gave_up;
}

bool
auth_turned_away(const struct auth *a)
{
	return a->turned_away;
}

const char *
auth_user(const struct auth *a)
{
	return a->shown_user;
}

bool
auth_user_invalid(const struct auth *a)
{
	return a->info.invalid;
}

/* ---- replies ---------------------------------------------------------- */

static int
put_and_clear(struct auth *a, struct buf *msg)
{
	int r = packet_put(a->packet, msg);

	buf_clear(msg);
	return r;
}

static int
put_failure(struct auth *a, const char *methods, bool partial)
{
	struct buf msg = { 0 };

	buf_put_u8(&msg, SSH_MSG_USERAUTH_FAILURE);
	buf_put_cstring(&msg, methods);
	buf_put_bool(&msg, partial);
	return put_and_clear(a, &msg);
}

static int
put_banner(struct auth *a, const void *text, size_t len)
{
	struct buf msg = { 0 };

	buf_put_u8(&msg, SSH_MSG_USERAUTH_BANNER);
	buf_put_string(&msg, text, len);
	buf_put_cstring(&msg, ""); /* language tag */
	return put_and_clear(a, &msg);
}

static int
put_service_accept(struct auth *a)
{
	struct buf msg = { 0 };

	buf_put_u8(&msg, SSH_MSG_SERVICE_ACCEPT);
	buf_put_cstring(&msg, "ssh-userauth");
	return put_and_clear(a, &msg);
}

int
auth_put_optimistic(struct auth *a)
{
	const char *methods = a->params->methods;
	int r;

	if (methods == NULL)
		return 0;
	a->optimistic = true;
	r = put_service_accept(a);
	return r != 0 ? r : put_failure(a, methods, false);
}

static int
give_up(struct auth *a, enum ssh_disconnect reason, const char *text)
{
	packet_disconnect(a->packet, reason, text);
	free(a->gave_up);
	a->gave_up = xstrdup(text);
	return ERR_CLOSED;
}

/* ---- time ------------------------------------------------------------- */

/* A refusal is sent at one of a row of marks, each a 16th later than the one
 * before. The first mark depends on the user name and on the server's secret.
 * So a small difference in the time that two users' tries take does not show,
 * because both wait for a mark. A difference that crosses a mark cannot be told
 * from the difference between the users' first marks. */
uint64_t
auth_delay_us(const uint8_t salt[32], const char *user, bool secret,
    uint64_t floor_us, uint64_t spent_us)
{
	uint64_t mark = secret ? MAX(floor_us, (uint64_t)REFUSAL_OF_SECRET_US) :
				 REFUSAL_US;
	uint8_t sum[DIGEST_MAX_LEN];

	if (digest_hmac(DIGEST_SHA256, salt, 32, user, strlen(user), sum) == 0)
		mark += wire_get_u32(sum) % (mark / MARK_STEP);
	while (mark < spent_us)
		mark += mark / MARK_STEP;
	return mark - spent_us;
}

static void
fill_time(const struct auth *a)
{
	uint64_t wait_us = auth_delay_us(a->params->salt, a->user, a->secret,
	    a->params->floor_us, clock_us() - a->began_us);

	clock_sleep_us(wait_us);
}

/* ---- the state machine ------------------------------------------------ */

static int
end_tries(struct auth *a)
{
	log_error("maximum authentication attempts exceeded for %s%s from %s "
		  "ssh2",
	    a->info.invalid ? "invalid user " : "", a->shown_user,
	    a->params->peer);
	return give_up(a, SSH_DISCONNECT_PROTOCOL_ERROR,
	    "Too many authentication failures");
}

static int
conclude_failure(struct auth *a, const struct monitor_verdict *v, bool delay)
{
	if (v->counts)
		a->failures++;
	if (delay)
		fill_time(a);
	if (v->final || a->failures >= a->info.max_auth_tries)
		return end_tries(a);
	return put_failure(a, v->methods, false);
}

/* Sends PAM's text as a banner, if there is one. */
static int
put_text(struct auth *a, const struct buf *text)
{
	return buf_len(text) == 0 ? 0 :
	    put_banner(a, buf_data(text), buf_len(text));
}

/* Sends the message that precedes the method's success; the monitor has made
 * its body. */
static int
put_welcome(struct auth *a, const struct auth_method *m,
    const struct buf *body)
{
	struct buf msg = { 0 };

	buf_put_u8(&msg, m->welcome);
	buf_put_buf(&msg, body);
	return put_and_clear(a, &msg);
}

/* The account may not log in, whatever the client tries next: sends PAM's text
 * about the reason, and ends the connection. */
static int
conclude_refusal(struct auth *a, const struct monitor_verdict *v)
{
	int r;

	a->turned_away = true;
	if ((r = put_text(a, &v->info)) == 0)
		(void)!packet_flush(a->packet);
	return r != 0 ? r : ERR_CLOSED;
}

/* Ends the connection because the user has too many, with the monitor's
 * text. */
static int
conclude_too_many(struct auth *a, const struct monitor_verdict *v)
{
	char *text = buf_dup_string(&v->info);
	int r = text != NULL ?
	    give_up(a, SSH_DISCONNECT_TOO_MANY_CONNECTIONS, text) : ERR_NOMEM;

	free(text);
	a->turned_away = true;
	return r;
}

/* Whether a message of this type belongs to the dialogue of a method with
 * several kinds of messages. */
static bool
is_in_dialogue(const struct auth_method *m, uint8_t type)
{
	return m->dialogue_max != 0 && type >= m->dialogue_min &&
	    type <= m->dialogue_max;
}

/* Sends a message that the monitor has made, type included. An empty one is not
 * sent. ERR_PROTOCOL: its type is not of the method's dialogue. */
static int
put_made(struct auth *a, const struct auth_method *m, const struct buf *made)
{
	if (buf_len(made) == 0)
		return 0;
	return is_in_dialogue(m, buf_data(made)[0]) ?
	    packet_put(a->packet, made) :
	    ERR_PROTOCOL;
}

/* Begins or continues the method's dialogue with a message of which the monitor
 * has made the body. */
static int
put_prompt(struct auth *a, const struct auth_method *m, const struct buf *body)
{
	struct buf msg = { 0 };

	if (m->prompt == 0 && m->dialogue_max == 0)
		return ERR_PROTOCOL;
	a->dialogue = m;
	if (m->prompt == 0)
		return put_made(a, m, body);
	buf_put_u8(&msg, m->prompt);
	buf_put_buf(&msg, body);
	return put_and_clear(a, &msg);
}

static int
conclude(struct auth *a, const struct auth_method *m,
    const struct monitor_verdict *v)
{
	struct buf msg = { 0 };
	int r;

	a->dialogue = NULL;
	switch (v->result) {
	case MONITOR_SUCCESS:
		a->state = AUTH_SUCCEEDED;
		r = m->welcome != 0 ? put_welcome(a, m, &v->info) :
				      put_text(a, &v->info);
		if (r != 0)
			return r;
		buf_put_u8(&msg, SSH_MSG_USERAUTH_SUCCESS);
		return put_and_clear(a, &msg);
	case MONITOR_PARTIAL:
		return put_failure(a, v->methods, true);
	case MONITOR_KEY_OK:
		return 0;
	case MONITOR_PROMPTS:
		return put_prompt(a, m, &v->info);
	case MONITOR_REFUSED:
		return conclude_refusal(a, v);
	case MONITOR_TOO_MANY:
		return conclude_too_many(a, v);
	case MONITOR_FAILURE:
		break;
	}
	a->refused = m;
	if (m != NULL && m->prompt == 0 && (r = put_made(a, m, &v->info)) != 0)
		return r;
	return conclude_failure(a, v, true);
}

static int
refuse_change(struct auth *a, const char *user, const char *service)
{
	char *text;
	int r;

	xasprintf(&text, "Change of username or service not allowed: "
			 "(%s,%s) -> (%.*s,%s)",
	    a->shown_user, a->service, USER_SHOWN_MAX, user, service);
	r = give_up(a, SSH_DISCONNECT_PROTOCOL_ERROR, text);
	free(text);
	return r;
}

/* The first request sets the user and service; *user and *service are taken
 * over. Later requests must have the same, or the connection ends. */
static int
settle_user(struct auth *a, char **user, char **service)
{
	int r;

	if (a->user != NULL)
		return strcmp(a->user, *user) == 0 &&
			strcmp(a->service, *service) == 0 ?
		    0 :
		    refuse_change(a, *user, *service);
	a->user = *user;
	a->service = *service;
	*user = *service = NULL;
	a->shown_user = xstrndup(a->user, USER_SHOWN_MAX);
	kexlog_name(a->shown_user, a->params->remote);
	r = monitor_user(a->monitor_fd, a->user, a->service, &a->info);
	proc_title("%s [net]",
	    r == 0 && !a->info.invalid ? a->user : "unknown");
	if (r == 0)
		r = kex_put_user_ext(a->kex,
		    &(struct kex_user_ext){ .sig_algs = a->info.sig_algs,
			.tickets = a->info.tickets,
			.survive = a->info.survive });
	if (r == 0 && a->info.banner != NULL)
		r = put_banner(a, a->info.banner, strlen(a->info.banner));
	return r;
}

/* Whether the client takes our optimistic FAILURE for the reply to the request
 * that is being handled, the first one. */
static bool
is_answered(const struct auth *a)
{
	return a->optimistic && a->tries == 1;
}

/* Lets the monitor try what the client sent. If the monitor would accept a
 * signature with the client's key, tells the client so. */
static int
try_method(struct auth *a, const struct auth_method *m, bool alias,
    struct rd *r, struct monitor_verdict *v)
{
	struct auth_try t = { .method = m, .alias = alias, .kex = a->kex };
	size_t id = (size_t)(m - auth_method_table);
	int err;

	buf_init_secret(&t.fields);
	if ((err = readers[id](&t, r)) == 0)
		err = monitor_try(a->monitor_fd, (enum auth_method_id)id,
		    &t.fields, v);
	if (err == 0 && v->result == MONITOR_KEY_OK && buf_len(&t.key_ok) > 0)
		err = packet_put(a->packet, &t.key_ok);
	buf_clear(&t.fields);
	buf_clear(&t.key_ok);
	return err;
}

static int
conclude_try(struct auth *a, const struct auth_method *m,
    struct monitor_verdict *v)
{
	/* Kept for the reply to an unknown method, which does not reach the
	 * monitor. */
	if (v->methods != NULL) {
		free(a->info.methods);
		a->info.methods = xstrdup(v->methods);
	}
	/* A first request "none" only asks which methods there are, so it does
	 * not count as a try. */
	if (a->tries == 1 && m != NULL && m->asks_only)
		v->counts = false;
	if (!is_answered(a) || v->result == MONITOR_SUCCESS ||
	    v->result == MONITOR_REFUSED || v->result == MONITOR_TOO_MANY)
		return conclude(a, m, v);
	fill_time(a);
	return 0;
}

static int
run_method(struct auth *a, const char *name, struct rd *r)
{
	const struct auth_method *m = auth_method_requested(name);
	struct monitor_verdict v = { 0 };
	int err = 0;

	/* We sent FAILURE for a "none" that we expected. The client takes that
	 * as the reply to this request, so no other reply is sent. */
	if (is_answered(a) && (m == NULL || !m->asks_only)) {
		log_debug("%s, and not none, was asked for first", name);
		return 0;
	}
	a->secret = m != NULL && m->has_secret;
	if (m == NULL) {
		log_debug("unknown authentication method %s", name);
		v.methods = xstrdup(a->info.methods);
		v.counts = true;
	} else {
		err = try_method(a, m, strcmp(name, m->name) != 0, r, &v);
	}
	if (err == 0)
		err = conclude_try(a, m, &v);
	monitor_verdict_clear(&v);
	return err;
}

/* A new request instead of an answer ends the dialogue (RFC 4256 section 3.1).
 * It counts as a failed try, because a dialogue may have had a cost when it
 * began, such as a message to a telephone. */
static int
drop_dialogue(struct auth *a)
{
	if (a->dialogue == NULL)
		return 0;
	a->dialogue = NULL;
	return ++a->failures >= a->info.max_auth_tries ? end_tries(a) : 0;
}

/* Reads the user name and cuts it to USER_NAME_MAX. No account has a longer
 * name, so the cut name gets the same replies as an unknown one. Caller
 * frees. */
static char *
read_user(struct rd *r)
{
	struct span name = rd_string(r);
	char *user;

	name.len = MIN(name.len, (size_t)USER_NAME_MAX);
	user = span_dup(name);

	if (user == NULL)
		rd_fail(r, ERR_FORMAT);
	return user;
}

static int
on_request(struct auth *a, struct rd *r)
{
	char *user, *service, *method;
	int err;

	a->began_us = clock_us();
	user = read_user(r);
	service = rd_cstring(r, SERVICE_MAX);
	method = rd_cstring(r, METHOD_MAX);
	if ((err = rd_err(r)) != 0)
		goto out;
	if (a->state == AUTH_NEW) {
		err = ERR_PROTOCOL;
		goto out;
	}
	log_debug("userauth-request for user %.*s service %s method %s",
	    USER_SHOWN_MAX, user, service, method);
	log_debug("attempt %d failures %d", a->tries, a->failures);
	a->tries++;
	a->refused = NULL;
	if ((err = drop_dialogue(a)) == 0 &&
	    (err = settle_user(a, &user, &service)) == 0)
		err = run_method(a, method, r);
out:
	free(user);
	free(service);
	free(method);
	return err;
}

/* Handles a message of a method's dialogue. all is the message with its type.
 * Without a dialogue it is an error, unless the method has several kinds of
 * messages and was just refused: then the message came too late, and is
 * ignored. */
static int
on_dialogue(struct auth *a, uint8_t type, struct span all)
{
	const struct auth_method *m = a->dialogue;
	struct monitor_verdict v = { 0 };
	int err;

	if (m == NULL && a->refused != NULL && is_in_dialogue(a->refused, type))
		return 0;
	if (m == NULL || (type != m->answer && !is_in_dialogue(m, type)))
		return ERR_PROTOCOL;
	a->began_us = clock_us();
	if (m->dialogue_max == 0)
		all = (struct span){ all.p + 1, all.len - 1 };
	err = monitor_try_answer(a->monitor_fd, all, &v);
	if (err == 0)
		err = conclude(a, m, &v);
	monitor_verdict_clear(&v);
	return err;
}

static int
on_service_request(struct auth *a, struct rd *r)
{
	char *name = rd_cstring(r, SERVICE_MAX);
	int err = rd_end(r);

	if (err == 0 && strcmp(name, "ssh-userauth") != 0) {
		log_info("client asks for the service \"%s\"", name);
		err = give_up(a, SSH_DISCONNECT_SERVICE_NOT_AVAILABLE,
		    "bad service request");
	}
	if (err == 0 && (!a->optimistic || a->state != AUTH_NEW))
		err = put_service_accept(a);
	if (err == 0)
		a->state = AUTH_TRYING;
	free(name);
	return err;
}

int
auth_input(struct auth *a, struct rd payload)
{
	struct span all = { payload.p, payload.len };
	uint8_t type = rd_u8(&payload);

	if (a->state == AUTH_SUCCEEDED || rd_err(&payload) != 0)
		return ERR_PROTOCOL;
	if (++a->messages > MESSAGES_MAX)
		return give_up(a, SSH_DISCONNECT_PROTOCOL_ERROR,
		    "Too many authentication failures");
	switch (type) {
	case SSH_MSG_SERVICE_REQUEST:
		return on_service_request(a, &payload);
	case SSH_MSG_USERAUTH_REQUEST:
		return on_request(a, &payload);
	default:
		return on_dialogue(a, type, all);
	}
}
