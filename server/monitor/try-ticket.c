/* SPDX-License-Identifier: ISC */
/*
 * "ticket@hpnssh.org" in the monitor: the client names a ticket and proves that
 * it has the ticket's secret. The monitor that issued the ticket tells which
 * methods were shown there; this monitor decides by today's rules whether they
 * let the user in. So a removed key, a locked account, or another
 * AuthenticationMethods counts at once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "packet.h"
#include "server/monitor/login-before.h"
#include "server/monitor/rendezvous.h"
#include "server/monitor/ticket-rules.h"

enum {
	VERSION = 1,
	SIGNATURE_MAX = 128, /* bytes of the proof for a grant, a signature */
};

/* A client's request. Spans are borrowed from the try's fields. */
struct ticket_request {
	uint8_t version, kind;
	struct span name, proof;
};

/* ---- what it is worth today -------------------------------------------- */

/* Restricts t's permits to what LoginTickets allows, or to what a session by a
 * grant needs. */
static bool
restrict_permits(const struct login *l, struct login_try *t)
{
	struct permits p;
	const char *why;
	int r;

	if (t->grant.path == NULL &&
	    l->conf.login.login_tickets.permit == SERVER_TICKET_ALL)
		return true;
	permits_init(&p);
	p.pty = p.agent_forwarding = p.x11_forwarding = false;
	p.forward = p.tunnel_modes = 0;
	r = permits_merge(&t->permits, &p, &why);
	permits_clear(&p);
	return r == 0;
}

/* Takes the scope of a grant out of the answer. Returns NULL, or the reason
 * (static) why it does not hold here. The path is below the ChrootDirectory of
 * the login that gave the grant; a Match block for the other machine's address
 * can set another one, below which the path would be another place. */
static const char *
take_scope(const struct login *l, struct span scope, struct login_try *t)
{
	const char *chroot_directory = l->conf.session.chroot_directory;
	struct rd r = rd_from_span(scope);
	int err = grant_scope_get(&r, &t->grant);
	struct span theirs;

	t->grant_end_ms = clock_boot_ms() + rd_u64(&r);
	theirs = rd_string(&r);
	if (err != 0 || rd_end(&r) != 0 ||
	    !grant_rights_allowed(t->grant.rights,
		(unsigned)l->conf.login.transfer_grants))
		return "TransferGrants does not allow it any more";
	return span_equals(theirs,
		   chroot_directory != NULL ? chroot_directory : "") ?
	    NULL : "it was given below another ChrootDirectory";
}

/* Returns NULL if the methods that were shown let the user in today; t then has
 * the permits. Else the reason (static). */
static const char *
why_not_today(struct login *l, const struct rendezvous_answer *a,
    struct login_try *t, struct buf *text)
{
	const char *why;

	if (a->scope.len > 0 &&
	    (why = take_scope(l, a->scope, t)) != NULL)
		return why;
	if (t->grant.path == NULL &&
	    a->age_ms / 1000 >=
		(uint64_t)l->conf.login.login_tickets.max_age_s)
		return "host wants a new login";
	if ((why = login_before_why_not(l, a, t, text)) != NULL)
		return why;
	return restrict_permits(l, t) ? NULL : "its permits contradict";
}

/* ---- the ticket --------------------------------------------------------- */

/* Puts the bytes that the proof signs: this session and the request. User and
 * service are taken from what the monitor knows, not from the request. */
static void
put_data(const struct login_request *q, const struct ticket_request *request,
    struct buf *b)
{
	static const char label[] = "client";
	const struct login *l = q->login;

	buf_put(b, label, sizeof label - 1);
	buf_put_string(b, l->session_id.p, l->session_id.len);
	buf_put_u8(b, SSH_MSG_USERAUTH_REQUEST);
	buf_put_cstring(b, l->name);
	buf_put_cstring(b, l->service);
	buf_put_cstring(b, q->method->name);
	buf_put_u8(b, request->version);
	buf_put_string(b, request->name.p, request->name.len);
	buf_put_u8(b, request->kind);
}

/* Asks the monitor that issued the ticket. *a is borrowed from answer. */
static int
redeem(const struct login_request *q, const struct ticket_request *request,
    struct buf *answer, struct rendezvous_answer *a, int *fd)
{
	const struct login *l = q->login;
	struct buf data = { 0 }, message = { 0 };
	struct rendezvous_question question = {
		.serial = { request->name.p + TICKET_HANDLE_LEN,
		    TICKET_SERIAL_LEN },
		.proof = request->proof,
		.kind = (char)request->kind,
		.uid = (uint32_t)l->user->uid,
		.user = { (const uint8_t *)l->name, strlen(l->name) },
		.address = { (const uint8_t *)l->peer->address,
		    strlen(l->peer->address) },
		.hostkey = l->hostkey,
	};
	int dir, r = rendezvous_open(&dir);

	put_data(q, request, &data);
	question.data = buf_span(&data);
	rendezvous_put_question(&message, &question);
	if (r == 0)
		r = buf_err(&data);
	if (r == 0)
		r = rendezvous_ask(dir,
		    (struct span){ request->name.p, TICKET_HANDLE_LEN },
		    &message, answer, fd);
	if (r == 0)
		r = rendezvous_get_answer(rd_from_buf(answer),
		    request->kind == TICKET_GRANT, a);
	fd_close(&dir);
	buf_clear(&data);
	buf_clear(&message);
	return r;
}

/* Concludes the try by the answer. t->what, for the log, names the session that
 * issued the ticket, and what was shown there. */
static void
weigh(struct login *l, const struct rendezvous_answer *a,
    struct login_try *t)
{
	struct buf text = { 0 };
	const char *why;
	char *shown;

	if (a->verdict != RENDEZVOUS_GOOD) {
		t->what = xstrdup(rendezvous_verdict_text(a->verdict));
		t->checked = a->verdict == RENDEZVOUS_WRONG;
		t->outcome = t->checked ? LOGIN_TRIED : LOGIN_PASSED_OVER;
		return;
	}
	why = why_not_today(l, a, t, &text);
	shown = buf_dup_string(&text);
	if (shown == NULL)
		fatal("out of memory");
	xasprintf(&t->what, "%s session %u (%s), %llu s old%s%s",
	    a->scope.len > 0 ? "a grant of" : "of", (unsigned)a->pid, shown,
	    (unsigned long long)(a->age_ms / 1000),
	    why != NULL ? ": " : "", why != NULL ? why : "");
	t->ok = why == NULL;
	t->outcome = t->ok ? LOGIN_TRIED : LOGIN_PASSED_OVER;
	if (t->ok)
		login_before_keep(a, &t->before);
	free(shown);
	buf_clear(&text);
}

static void
try(const struct login_request *q, const struct ticket_request *request,
    struct login_try *t)
{
	struct login *l = q->login;
	struct rendezvous_answer a;
	struct buf answer;
	int r, fd = -1;

	buf_init_secret(&answer);
	r = redeem(q, request, &answer, &a, &fd);
	if (r == 0) {
		weigh(l, &a, t);
	} else {
		t->outcome = LOGIN_PASSED_OVER;
		t->what = xstrdup(r == ERR_NOT_FOUND ?
			"unknown, or its session has ended" : err_text(r));
	}
	if (t->ok) {
		t->instead = request->kind == TICKET_INSTEAD;
		t->ticket_fd = fd;
		fd = -1;
	}
	fd_close(&fd);
	buf_clear(&answer);
}

/* True if the user may use tickets of that kind at this server. */
static bool
is_enabled(const struct login *l, char kind)
{
	return kind == TICKET_GRANT ? l->conf.login.transfer_grants != 0 :
				      l->conf.login.login_tickets.enabled != 0;
}

static bool
is_well_formed(const struct ticket_request *request)
{
	bool right_length = request->kind == TICKET_GRANT ?
	    request->proof.len <= SIGNATURE_MAX :
	    request->proof.len == TICKET_PROOF_LEN;

	return request->version == VERSION &&
	    request->name.len == TICKET_NAME_LEN && right_length;
}

int
login_try_ticket(const struct login_request *q, struct login_try *t)
{
	struct login *l = q->login;
	struct ticket_request request = { .version = rd_u8(q->in) };
	int r;

	request.name = rd_string(q->in);
	request.kind = rd_u8(q->in);
	request.proof = rd_string(q->in);
	if ((r = rd_end(q->in)) != 0)
		return r;
	t->outcome = LOGIN_PASSED_OVER;
	if (!is_enabled(l, (char)request.kind) || !l->allowed ||
	    !auth_methods_may(&l->methods, q->method->name))
		t->what = xstrdup("not asked for");
	else if (!is_well_formed(&request) || l->hostkey.len == 0)
		t->what = xstrdup("not of a form that is known here");
	else
		try(q, &request, t);
	return 0;
}
