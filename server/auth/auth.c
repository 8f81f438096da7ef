/* SPDX-License-Identifier: ISC */
#include "server/auth/auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/version.h"
#include "crypto/digest.h"
#include "server/user.h"

enum {
	MESSAGES_MAX = 1024,	/* of any kind in a connection; some clients
				 * ask for the service before each request */
	METHOD_MAX = 256,	/* bytes of a method's name */
	SERVICE_MAX = 256,
	PASSWORD_MAX = 8 * 1024,
	/* A refusal takes at least this long, and longer if it was about a
	 * secret: hashing is slow, and a person who mistyped does not mind. */
	REFUSAL_US = 8 * 1000,
	REFUSAL_OF_SECRET_US = 128 * 1000,
	MARK_STEP = 16, /* each mark is a 16th above the last */
	US_PER_S = 1000 * 1000,
};

struct auth {
	int monitor_fd;
	struct packet *packet;
	const struct kex *kex;
	const struct monitor_params *params;
	bool service_accepted, succeeded;
	char *gave_up;	/* why we ended it, or NULL */
	bool prompting; /* an INFO_REQUEST waits for its answer */
	bool ahead;	/* service and first request are answered already */
	char *user, *service; /* NULL before the first request */
	struct monitor_user info;
	int messages, tries, failures;
	uint64_t began_us; /* when the current request came */
	bool secret;	   /* it has one: a password, an answer */
};

struct method {
	const char *name;
	bool secret; /* a password or the like is tried */
	/* Reads the method's fields and asks the monitor. */
	int (*run)(struct auth *a, const struct method *m, struct rd *r,
	    struct monitor_verdict *v);
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
	free(a->service);
	free(a);
}

bool
auth_succeeded(const struct auth *a)
{
	return a->succeeded;
}

const char *
auth_gave_up(const struct auth *a)
{
	return a->gave_up;
}

const char *
auth_user(const struct auth *a)
{
	return a->user;
}

bool
auth_user_invalid(const struct auth *a)
{
	return a->info.invalid;
}

/* ---- answers ---------------------------------------------------------- */

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
put_banner(struct auth *a)
{
	struct buf msg = { 0 };

	if (a->info.banner == NULL)
		return 0;
	buf_put_u8(&msg, SSH_MSG_USERAUTH_BANNER);
	buf_put_cstring(&msg, a->info.banner);
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

/* OpenSSH from 8.0 to 10.5, whose questions are known; a later one may ask
 * otherwise. This project's client, which has the name as well, sends
 * everything at once anyway. */
bool
auth_asks_in_turn(const char *id_remote)
{
	static const char name[] = "SSH-2.0-OpenSSH_";
	unsigned major, minor;

	if (!str_has_prefix(id_remote, name) ||
	    strstr(id_remote, HPN_TRUE_NAME) != NULL ||
	    sscanf(id_remote + sizeof name - 1, "%2u.%2u", &major, &minor) !=
		2)
		return false;
	return major == 8 || major == 9 || (major == 10 && minor <= 5);
}

int
auth_answer_ahead(struct auth *a)
{
	const char *methods = a->params->methods;
	int r;

	if (methods == NULL)
		return 0;
	a->ahead = true;
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

/* Marks rise by a 16th each, beginning at one of the user's own, which only
 * this server knows: a small difference between two users is hidden by that
 * step, and where it is not, nobody can tell it from the step. */
uint64_t
auth_delay_us(const uint8_t salt[32], const char *user, bool secret,
    uint64_t spent_us)
{
	uint64_t mark = secret ? REFUSAL_OF_SECRET_US : REFUSAL_US;
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
	    clock_us() - a->began_us);
	struct timespec ts;

	ts.tv_sec = (time_t)(wait_us / US_PER_S);
	ts.tv_nsec = (long)(wait_us % US_PER_S) * 1000;
	(void)nanosleep(&ts, NULL);
}

/* ---- methods ---------------------------------------------------------- */

static int
ask(struct auth *a, enum monitor_request what, struct buf *args,
    struct monitor_verdict *v)
{
	int r = monitor_try(a->monitor_fd, what, args, v);

	buf_clear(args);
	return r;
}

static int
run_none(struct auth *a, const struct method *m, struct rd *r,
    struct monitor_verdict *v)
{
	struct buf args = { 0 };
	int err = rd_end(r);

	(void)m;
	return err != 0 ? err : ask(a, MONITOR_NONE, &args, v);
}

/* The key is good: the client may sign with it. */
static int
put_pk_ok(struct auth *a, struct span alg, struct span blob)
{
	struct buf msg = { 0 };

	buf_put_u8(&msg, SSH_MSG_USERAUTH_PK_OK);
	buf_put_string(&msg, alg.p, alg.len);
	buf_put_string(&msg, blob.p, blob.len);
	return put_and_clear(a, &msg);
}

/* RFC 4252 section 7; -hostbound has the server's host key in addition. */
static int
run_publickey(struct auth *a, const struct method *m, struct rd *r,
    struct monitor_verdict *v)
{
	bool signs = rd_bool(r), bound = strcmp(m->name, "publickey") != 0;
	struct span alg = rd_string(r), blob = rd_string(r);
	struct span host = { 0 }, signature = { 0 }, mine;
	struct buf args = { 0 };
	int err;

	if (bound)
		host = rd_string(r);
	if (signs)
		signature = rd_string(r);
	if ((err = rd_end(r)) != 0)
		return err;
	mine = kex_hostkey(a->kex);
	if (bound && (host.len != mine.len ||
		memcmp(host.p, mine.p, mine.len) != 0)) {
		log_info("client signs for another host key than ours");
		return ERR_PROTOCOL;
	}
	buf_put_string(&args, alg.p, alg.len);
	buf_put_string(&args, blob.p, blob.len);
	if (!signs) {
		err = ask(a, MONITOR_KEY_QUERY, &args, v);
		if (err == 0 && v->result == MONITOR_KEY_OK)
			err = put_pk_ok(a, alg, blob);
		return err;
	}
	buf_put_bool(&args, bound);
	buf_put_string(&args, host.p, host.len);
	buf_put_string(&args, signature.p, signature.len);
	return ask(a, MONITOR_KEY_VERIFY, &args, v);
}

static int
run_password(struct auth *a, const struct method *m, struct rd *r,
    struct monitor_verdict *v)
{
	bool change = rd_bool(r);
	struct span password = rd_string(r);
	struct buf args;
	int err;

	(void)m;
	if (change)
		(void)rd_string(r);
	if ((err = rd_end(r)) != 0)
		return err;
	buf_init_secret(&args);
	/* We never ask for a change, so one is nothing but a wrong try. */
	if (change || password.len > PASSWORD_MAX)
		buf_put_string(&args, "", 0);
	else
		buf_put_string(&args, password.p, password.len);
	buf_put_bool(&args, !change && password.len <= PASSWORD_MAX);
	return ask(a, MONITOR_PASSWORD, &args, v);
}

static int
run_kbdint(struct auth *a, const struct method *m, struct rd *r,
    struct monitor_verdict *v)
{
	struct span devices;
	struct buf args = { 0 };
	int err;

	(void)m;
	(void)rd_string(r); /* language tag */
	devices = rd_string(r);
	if ((err = rd_end(r)) != 0)
		return err;
	buf_put_string(&args, devices.p, devices.len);
	return ask(a, MONITOR_KBDINT_START, &args, v);
}

static const struct method methods[] = {
	{ "none", false, run_none },
	{ "publickey", false, run_publickey },
	{ "publickey-hostbound-v00@openssh.com", false, run_publickey },
	{ "password", true, run_password },
	{ "keyboard-interactive", true, run_kbdint },
};

/* ---- the state machine ------------------------------------------------ */

static int
end_tries(struct auth *a)
{
	log_error("maximum authentication attempts exceeded for %s%s from %s "
		  "ssh2",
	    a->info.invalid ? "invalid user " : "", a->user, a->params->peer);
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

static int
conclude(struct auth *a, const struct monitor_verdict *v)
{
	struct buf msg = { 0 };

	a->prompting = v->result == MONITOR_PROMPTS;
	switch (v->result) {
	case MONITOR_SUCCESS:
		a->succeeded = true;
		buf_put_u8(&msg, SSH_MSG_USERAUTH_SUCCESS);
		return put_and_clear(a, &msg);
	case MONITOR_PARTIAL:
		return put_failure(a, v->methods, true);
	case MONITOR_KEY_OK:
		return 0;
	case MONITOR_PROMPTS:
		buf_put_u8(&msg, SSH_MSG_USERAUTH_INFO_REQUEST);
		buf_put_buf(&msg, &v->info);
		return put_and_clear(a, &msg);
	case MONITOR_FAILURE:
		break;
	}
	return conclude_failure(a, v, true);
}

static int
refuse_change(struct auth *a, const char *user, const char *service)
{
	char *text;
	int r;

	xasprintf(&text, "Change of username or service not allowed: "
			 "(%s,%s) -> (%s,%s)",
	    a->user, a->service, user, service);
	r = give_up(a, SSH_DISCONNECT_PROTOCOL_ERROR, text);
	free(text);
	return r;
}

/* The first request tells the name; it has to stay the same. */
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
	log_info("SSH: Server;Ltype: Authname;Remote: %s;Name: %s",
	    a->params->remote, a->user);
	r = monitor_user(a->monitor_fd, a->user, a->service, &a->info);
	return r != 0 ? r : put_banner(a);
}

static bool
is_answered(const struct auth *a)
{
	return a->ahead && a->tries == 1;
}

static int
run_method(struct auth *a, const char *name, struct rd *r)
{
	struct monitor_verdict v = { 0 };
	const struct method *m = NULL;
	int err;

	for (size_t i = 0; i < ARRAY_LEN(methods) && m == NULL; i++)
		if (strcmp(methods[i].name, name) == 0)
			m = &methods[i];
	/* The client has taken our answer for one to this. */
	if (is_answered(a) && m != &methods[0]) {
		log_debug("%s, and not none, was asked for first", name);
		return 0;
	}
	a->secret = m != NULL && m->secret;
	if (m == NULL) {
		log_debug("unknown authentication method %s", name);
		v.methods = xstrdup(a->info.methods);
		v.counts = true;
		err = 0;
	} else {
		err = m->run(a, m, r, &v);
	}
	if (err == 0) {
		/* The list to go on with, for the next unknown method. */
		if (v.methods != NULL) {
			free(a->info.methods);
			a->info.methods = xstrdup(v.methods);
		}
		/* The usual opening question is not held against anybody. */
		if (a->tries == 1 && m == &methods[0])
			v.counts = false;
		if (!is_answered(a) || v.result == MONITOR_SUCCESS)
			err = conclude(a, &v);
		else
			fill_time(a);
	}
	monitor_verdict_clear(&v);
	return err;
}

/* A new request instead of an answer gives the dialogue up (RFC 4256 section
 * 3.1). What it took to begin one (a message to a telephone, say) was done, so
 * it counts as one that failed. */
static int
drop_dialogue(struct auth *a)
{
	if (!a->prompting)
		return 0;
	a->prompting = false;
	return ++a->failures >= a->info.max_auth_tries ? end_tries(a) : 0;
}

static int
on_request(struct auth *a, struct rd *r)
{
	char *user, *service, *method;
	int err;

	a->began_us = clock_us();
	user = rd_cstring(r, USER_NAME_MAX);
	service = rd_cstring(r, SERVICE_MAX);
	method = rd_cstring(r, METHOD_MAX);
	if ((err = rd_err(r)) != 0)
		goto out;
	if (!a->service_accepted) {
		err = ERR_PROTOCOL;
		goto out;
	}
	a->tries++;
	if ((err = drop_dialogue(a)) == 0 &&
	    (err = settle_user(a, &user, &service)) == 0)
		err = run_method(a, method, r);
out:
	free(user);
	free(service);
	free(method);
	return err;
}

static int
on_info_response(struct auth *a, struct rd *r)
{
	struct monitor_verdict v = { 0 };
	struct buf args;
	int err;

	if (!a->prompting)
		return ERR_PROTOCOL;
	a->began_us = clock_us();
	buf_init_secret(&args);
	buf_put(&args, r->p, r->len);
	if ((err = ask(a, MONITOR_KBDINT_ANSWER, &args, &v)) == 0)
		err = conclude(a, &v);
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
	if (err == 0 && (!a->ahead || a->service_accepted))
		err = put_service_accept(a);
	if (err == 0)
		a->service_accepted = true;
	free(name);
	return err;
}

int
auth_input(struct auth *a, struct rd payload)
{
	uint8_t type = rd_u8(&payload);

	if (a->succeeded)
		return ERR_PROTOCOL;
	if (++a->messages > MESSAGES_MAX)
		return give_up(a, SSH_DISCONNECT_PROTOCOL_ERROR,
		    "Too many authentication failures");
	switch (type) {
	case SSH_MSG_SERVICE_REQUEST:
		return on_service_request(a, &payload);
	case SSH_MSG_USERAUTH_REQUEST:
		return on_request(a, &payload);
	case SSH_MSG_USERAUTH_INFO_RESPONSE:
		return on_info_response(a, &payload);
	default:
		return ERR_PROTOCOL;
	}
}
