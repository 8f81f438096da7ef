/* SPDX-License-Identifier: ISC */
#include "server/monitor/login.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "gss/gss.h"
#include "server/monitor/gss-exchange.h"
#include "server/monitor/login-internal.h"
#include "server/monitor/login-rules.h"
#include "server/monitor/loginrec.h"
#include "server/monitor/monitor-events.h"

enum { BANNER_MAX = 240 * 1024 }; /* bytes; as much as fits into a packet */

/* ---- life ------------------------------------------------------------- */

static void
clear_shown(struct login_shown *s)
{
	buf_clear(&s->proofs);
	buf_clear(&s->info);
	*s = (struct login_shown){ .n = 0 };
}

char *
login_enabled_methods(const struct server_conf *c, bool by_gss)
{
	const struct auth_method *m;
	struct buf b = { 0 };
	char *s;

	for (size_t i = 0; i < AUTH_METHOD_COUNT; i++) {
		m = &auth_method_table[i];
		if (auth_method_served(m, c) && (!m->needs_gss_kex || by_gss))
			buf_printf(&b, "%s%s", buf_len(&b) > 0 ? "," : "",
			    m->name);
	}
	s = buf_dup_string(&b);
	buf_clear(&b);
	if (s == NULL)
		fatal("out of memory");
	return s;
}

char *
login_methods_of_all(const struct server_conf *c)
{
	struct auth_methods m = { 0 };
	char *enabled, *list = NULL;

	if (server_conf_has_match(c) || c->login.permit_empty_passwords)
		return NULL;
	enabled = login_enabled_methods(c, false);
	if (auth_methods_init(&m, &c->login.authentication_methods, enabled) ==
	    0)
		list = auth_methods_next(&m);
	auth_methods_clear(&m);
	free(enabled);
	return list;
}

static void
make_conf(struct login *l)
{
	const struct server_conf_spec spec = { .user = l->user->name,
		.host = l->peer->host,
		.addr = l->peer->address,
		.laddr = l->peer->local_address,
		.lport = l->peer->local_port,
		.rdomain = l->peer->rdomain,
		.invalid_user = !l->user->valid };

	if (server_conf_for(&l->state->conf, &spec, &l->conf) != 0)
		fatal("cannot make the configuration for user %s",
		    l->user->name);
	log_set_level((enum log_level)l->conf.log.log_level);
	state_log_locations(&l->conf);
}

static void
start_pam(struct login *l)
{
	const struct peer *p = l->peer;
	char *text;

	l->pam =
	    pam_new(l->conf.login.pam_service_name, l->user->name, p->host);
	if (l->pam == NULL) {
		l->allowed = false;
		return;
	}
	xasprintf(&text, "%s %u %s %u", p->address, p->port,
	    p->local_address, p->local_port);
	pam_set_variable(l->pam, "SSH_CONNECTION", text);
	free(text);
}

struct login *
login_new(const struct server_state *state, const struct peer *peer,
    struct span session_id, struct gss_exchange *exchange, const char *name,
    const char *service)
{
	struct login *l = xcalloc(1, sizeof *l);
	char *account = xstrndup(name, strcspn(name, ":")), *enabled;

	l->state = state;
	l->peer = peer;
	l->session_id = session_id;
	l->ticket_fd = -1;
	l->gss_exchange = exchange;
	l->name = xstrdup(name);
	l->shown_name = xstrndup(name, USER_SHOWN_MAX);
	l->service = xstrdup(service);
	l->user = user_lookup(account);
	free(account);
	make_conf(l);
	permits_init_conf(&l->permits, &l->conf);
	l->name_ok = l->allowed = login_rules_allow(l);
	if (strcmp(service, "ssh-connection") != 0) {
		log_info("user %s asks for the service \"%s\"",
		    l->shown_name, service);
		l->allowed = false;
	}
	enabled = login_enabled_methods(&l->conf, exchange != NULL);
	if (auth_methods_init(&l->methods,
		&l->conf.login.authentication_methods, enabled) != 0) {
		log_error("AuthenticationMethods leaves no way in for user %s",
		    l->shown_name);
		l->allowed = false;
	}
	free(enabled);
	if (l->conf.login.login_tickets.enabled ||
	    l->conf.login.transfer_grants != 0)
		auth_methods_allow_alone(&l->methods,
		    auth_method_table[AUTH_METHOD_TICKET].name);
	if (l->conf.login.survive.enabled)
		auth_methods_allow_alone(&l->methods,
		    auth_method_table[AUTH_METHOD_RESUME].name);
	if (l->conf.login.use_pam)
		start_pam(l);
	return l;
}

void
login_free(struct login *l)
{
	if (l == NULL)
		return;
	pam_free(l->pam);
	gss_acceptor_free(l->gss);
	free(l->ccache);
	free(l->principal);
	auth_methods_clear(&l->methods);
	permits_clear(&l->permits);
	strlist_clear(&l->used_keys);
	free(l->found_at);
	strlist_clear(&l->client_lines);
	buf_clear(&l->auth_info);
	clear_shown(&l->shown);
	grant_scope_clear(&l->grant);
	fd_close(&l->ticket_fd);
	server_conf_clear(&l->conf);
	user_free(l->user);
	free(l->name);
	free(l->shown_name);
	free(l->service);
	free(l);
}

char *
login_banner(const struct login *l)
{
	struct buf b = { 0 };
	char *text = NULL;
	int r;

	if (l->conf.login.banner == NULL)
		return NULL;
	r = file_read(l->conf.login.banner, &b, BANNER_MAX);
	if (r == 0)
		text = buf_dup_string(&b);
	else if (r == ERR_LIMIT)
		log_info("Banner %s is not shown: it is longer than %d bytes",
		    l->conf.login.banner, BANNER_MAX);
	buf_clear(&b);
	return text;
}

/* ---- the end of every try ---------------------------------------------- */

static void
log_try(const struct login *l, const struct login_try *t, const char *verdict)
{
	const char *method = t->shown != NULL ? t->shown : t->method->name;
	const char *device = t->method->device;
	bool news = t->shown == NULL && t->method->logs_failures;
	enum log_level level = LOG_LVL_INFO;

	/* Failures of a client that offers one key after the other are not of
	 * interest to most administrators. */
	if (!t->ok && !news && l->name_ok &&
	    l->failures < l->conf.login.max_auth_tries / 2)
		level = LOG_LVL_VERBOSE;
	log_msg(level, "%s %s%s%s for %s%s from %s port %u ssh2%s%s", verdict,
	    method, device != NULL ? "/" : "", device != NULL ? device : "",
	    l->name_ok ? "" : "invalid user ", l->shown_name,
	    l->peer->address, l->peer->port, t->what != NULL ? ": " : "",
	    t->what != NULL ? t->what : "");
}

/* Records a failed attempt, such as a wrong password, for lastb(1). */
static void
record_failure(const struct login *l)
{
	const struct loginrec rec = { .user = l->name,
		.host = l->peer->host,
		.tty = "ssh:notty",
		.pid = getpid(),
		.uid = l->user->uid };

	if (geteuid() == 0)
		loginrec_failed(&rec);
}

/* Notes for the client what a key of its user allows. */
static void
tell_permits(struct login *l, const struct permits *p)
{
	char *text, *line;

	if (l->found_at == NULL)
		return;
	text = permits_text(p);
	xasprintf(&line, "%.1024s: key options:%s", l->found_at, text);
	xstrlist_add(&l->client_lines, line);
	free(line);
	free(text);
}

/* Restricts the login's permits to what the new proof allows, too. False: the
 * permits of the proofs contradict each other. */
static bool
restrict_login(struct login *l, const struct login_try *t)
{
	const char *why;

	if (!t->has_permits)
		return true;
	if (permits_merge(&l->permits, &t->permits, &why) == 0) {
		tell_permits(l, &t->permits);
		return true;
	}
	log_info("User %s from %s not allowed because the options of the keys "
		 "contradict each other: %s",
	    l->user->name, l->peer->host, why);
	return false;
}

/* Adds a line about the proof for ExposeAuthInfo, and sets all lines as a
 * variable for the modules of PAM. */
static void
add_auth_info(struct login *l, const struct login_try *t)
{
	char *text;

	buf_printf(&l->auth_info, "%s%s%s\n", t->method->name,
	    t->line != NULL ? " " : "", t->line != NULL ? t->line : "");
	buf_put_buf(&l->auth_info, &t->before.info);
	if (l->pam == NULL)
		return;
	if ((text = buf_dup_string(&l->auth_info)) == NULL)
		fatal("out of memory");
	pam_set_variable(l->pam, "SSH_AUTH_INFO_0", text);
	free(text);
}

/* Whether PAM lets the account log in now (it may have expired or be locked).
 * To be called when the user has proven enough. */
static bool
account_agrees(struct login *l, const struct pam_dialogue *talk)
{
	bool must_change = false;

	if (l->pam == NULL)
		return true;
	if (pam_check_account(l->pam, talk, &must_change) != 0) {
		/* Level fatal, as in OpenSSH: the system's log shows it, and
		 * fail2ban looks for it. */
		log_msg(LOG_LVL_FATAL, "Access denied for user %s by PAM "
				       "account configuration",
		    l->user->name);
		return false;
	}
	l->must_change = l->must_change || must_change;
	return true;
}

/* Restricts the permits of a user who must change the password to a session. */
static void
limit_to_change(struct login *l)
{
	struct permits least;
	const char *why;

	log_info("password of user %s has to be changed", l->user->name);
	permits_init_session_only(&least);
	if (permits_merge(&l->permits, &least, &why) != 0)
		fatal("permits: %s", why);
	permits_clear(&least);
}

/* Completes the login. PAM's messages are sent now, and shown again by the
 * first session on a terminal, as with OpenSSH. */
static void
finish(struct login *l, struct monitor_verdict *v)
{
	if (l->must_change)
		limit_to_change(l);
	buf_reset(&v->info);
	if (l->pam != NULL)
		pam_copy_messages(l->pam, &v->info);
}

/* Whether the rules for user, method and superuser let a successful try
 * count. */
static bool
rules_allow(struct login *l, const struct login_try *t)
{
	const struct permits *permits = t->has_permits ? &t->permits : NULL;

	if (!l->allowed || !auth_methods_may(&l->methods, t->method->name))
		return false;
	if (!login_rules_root_may(l, t->method, permits)) {
		log_info("ROOT LOGIN REFUSED FROM %s port %u",
		    l->peer->address, l->peer->port);
		return false;
	}
	return restrict_login(l, t);
}

/* True if MaxConnectionsPerUser allows this connection; else *v has the text
 * for the user. */
static bool
has_room(const struct login *l, struct monitor_verdict *v)
{
	if (monitor_events_enter(l->events, l))
		return true;
	v->result = MONITOR_TOO_MANY;
	buf_printf(&v->info,
	    "Too many connections: a user may have %d to this server",
	    l->conf.session.max_connections_per_user);
	return false;
}

/* Counts a method that has succeeded. False: it was the last one needed, but
 * PAM refuses the account, or a limit the connection. */
static bool
count_method(struct login *l, const struct login_try *t,
    struct monitor_verdict *v)
{
	bool enough;

	add_auth_info(l, t);
	enough = auth_methods_done(&l->methods, t->method->name) == 1;
	l->must_change = l->must_change || t->must_change;
	if (enough &&
	    !account_agrees(l, t->talk.ask != NULL ? &t->talk : NULL)) {
		l->allowed = false;
		v->result = MONITOR_REFUSED;
		pam_take_messages(l->pam, &v->info);
		return false;
	}
	/* A connection for another session to go on over is counted by that
	 * session's monitor. */
	if (enough && !t->resumes && !has_room(l, v)) {
		l->allowed = false;
		return false;
	}
	l->complete = enough;
	if (enough)
		finish(l, v);
	if (enough && t->method->welcome != 0) {
		buf_reset(&v->info);
		buf_put_buf(&v->info, &t->welcome);
	}
	v->result = enough ? MONITOR_SUCCESS : MONITOR_PARTIAL;
	return true;
}

/* Notes a method that succeeded, with its key, for tickets. */
static void
note_proof(struct login *l, const struct login_try *t)
{
	const size_t id = (size_t)(t->method - auth_method_table);
	struct login_shown *s = &l->shown;
	struct buf blob = { 0 };

	if (id == AUTH_METHOD_PUBLICKEY && key_to_blob(t->key, &blob) != 0)
		fatal("out of memory");
	buf_put_cstring(&s->proofs, t->method->name);
	buf_put_string_buf(&s->proofs, &blob);
	buf_clear(&blob);
	s->n++;
	s->methods |= 1U << id;
	s->at_ms = clock_boot_ms();
	buf_printf(&s->info, "%s%s%s\n", t->method->name,
	    t->line != NULL ? " " : "", t->line != NULL ? t->line : "");
}

/* Puts this login in the place of the lost one: what was shown there, and when,
 * now counts as shown here. */
static void
take_over(struct login *l, struct login_try *t)
{
	clear_shown(&l->shown);
	l->shown = t->before;
	t->before = (struct login_shown){ .n = 0 };
	l->instead = true;
}

static void
keep_proof(struct login *l, struct login_try *t)
{
	if (t->instead)
		take_over(l, t);
	else
		note_proof(l, t);
	l->resumes = t->resumes;
	if (t->ticket_fd != -1) {
		fd_close(&l->ticket_fd);
		l->ticket_fd = t->ticket_fd;
		t->ticket_fd = -1;
	}
	if (t->grant.path != NULL) {
		grant_scope_clear(&l->grant);
		l->grant = t->grant;
		l->grant_end_ms = t->grant_end_ms;
		t->grant = (struct grant_scope){ .path = NULL };
	}
	if (t->key != NULL)
		login_key_was_used(l, t->key);
	if (t->ticket_of_exchange)
		t->ticket = gss_exchange_take(l->gss_exchange);
	if (t->ticket == NULL)
		return;
	gss_acceptor_free(l->gss);
	l->gss = t->ticket;
	t->ticket = NULL;
}

static void
charge_failure(struct login *l, const struct login_try *t,
    struct monitor_verdict *v)
{
	if (v->result == MONITOR_FAILURE)
		buf_put_buf(&v->info, &t->info);
	if (t->has_secret)
		login_pay_for_failure(l, t);
	if (t->is_recorded)
		record_failure(l);
}

static void
conclude_tried(struct login *l, struct login_try *t,
    struct monitor_verdict *v)
{
	v->result = MONITOR_FAILURE;
	t->ok = t->ok && rules_allow(l, t) && count_method(l, t, v);
	v->methods = auth_methods_next(&l->methods);
	log_try(l, t,
	    l->complete ? "Accepted" : t->ok ? "Partial" : "Failed");
	monitor_events_auth(l->events, l, t->method,
	    l->complete	  ? LOGIN_ACCEPTED :
		    t->ok ? LOGIN_PARTIAL :
			    LOGIN_FAILED,
	    t->key);
	if (t->ok) {
		keep_proof(l, t);
		return;
	}
	l->failures++;
	v->counts = true;
	charge_failure(l, t, v);
}

/* Concludes a try with "none" that only asked which methods there are. It is
 * not logged as a failure: programs that count such lines would count one for
 * each login. */
static void
conclude_asked(struct login *l, const struct login_try *t,
    struct monitor_verdict *v)
{
	v->result = MONITOR_FAILURE;
	v->counts = true;
	v->methods = auth_methods_next(&l->methods);
	if (l->asked_none)
		l->failures++;
	l->asked_none = true;
	charge_failure(l, t, v);
}

/* Concludes a try with a ticket that is no longer good, or to go on with a
 * session that has ended. Clients that come back have such tickets, so the
 * first try does not count as a failure, and the log line does not say
 * "Failed". */
static void
conclude_passed_over(struct login *l, const struct login_try *t,
    struct monitor_verdict *v)
{
	v->result = MONITOR_FAILURE;
	v->methods = auth_methods_next(&l->methods);
	v->counts = l->passed_over;
	if (l->passed_over)
		l->failures++;
	l->passed_over = true;
	log_info("%s refused for %s%s from %s port %u ssh2: %s",
	    t->method->welcome != 0 ? "Return" : "Ticket",
	    l->name_ok ? "" : "invalid user ", l->shown_name,
	    l->peer->address, l->peer->port, t->what);
}

static void
conclude(struct login *l, struct login_try *t, struct monitor_verdict *v)
{
	switch (t->outcome) {
	case LOGIN_TRIED:
		conclude_tried(l, t, v);
		break;
	case LOGIN_KEY_OK:
		v->result = MONITOR_KEY_OK;
		v->methods = auth_methods_next(&l->methods);
		break;
	case LOGIN_ASKED:
		conclude_asked(l, t, v);
		break;
	case LOGIN_PASSED_OVER:
		conclude_passed_over(l, t, v);
		break;
	}
}

static void
clear_try(struct login_try *t)
{
	free(t->what);
	key_free(t->key);
	free(t->line);
	permits_clear(&t->permits);
	gss_acceptor_free(t->ticket);
	buf_clear(&t->info);
	buf_clear(&t->welcome);
	clear_shown(&t->before);
	grant_scope_clear(&t->grant);
	fd_close(&t->ticket_fd);
}

int
login_try(struct login *l, enum auth_method_id id, struct rd *in,
    const struct login_dialogue *d, struct monitor_verdict *v)
{
	static int (*const tries[AUTH_METHOD_COUNT])(
	    const struct login_request *q, struct login_try *t) = {
#define ROW(id, word, ...) [AUTH_METHOD_##id] = login_try_##word,
		AUTH_METHODS(ROW)
#undef ROW
	};
	const struct login_request q = { .login = l,
		.method = &auth_method_table[id],
		.in = in,
		.dialogue = d };

	struct login_try t = { .method = q.method, .ticket_fd = -1 };
	int r = tries[id](&q, &t);

	l->checked = l->checked || t.checked;
	if (r == 0)
		conclude(l, &t, v);
	clear_try(&t);
	return r;
}
