/* SPDX-License-Identifier: ISC */
/*
 * "resume@hpnssh.org" in the monitor: the client of a session whose connection
 * was lost proves that the session is its own. The monitor of the session
 * checks that; whether the user is let in today, with the same permits, is
 * decided here, by the rules that hold now. So a session of a user who was
 * locked meanwhile ends when its client comes back.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "connection-survive-wire.h"
#include "packet.h"
#include "server/monitor/login-before.h"
#include "server/monitor/login-bounds.h"
#include "server/monitor/rendezvous.h"
#include "server/monitor/resume-wire.h"

/* Puts the request as the proof signs it. User and service are taken from what
 * the monitor knows, not from the request. */
static void
put_data(const struct login_request *q, struct span fields, struct buf *b)
{
	const struct login *l = q->login;

	buf_put_u8(b, SSH_MSG_USERAUTH_REQUEST);
	buf_put_cstring(b, l->name);
	buf_put_cstring(b, l->service);
	buf_put_cstring(b, q->method->name);
	buf_put(b, fields.p, fields.len);
}

static struct span
text_span(const char *text)
{
	return (struct span){ (const uint8_t *)text, strlen(text) };
}

/* Asks the session's monitor. *a is borrowed from answer. */
static int
ask(const struct login_request *q, const struct survive_resume *request,
    struct span fields, struct buf *answer, struct resume_answer *a, int *fd)
{
	const struct login *l = q->login;
	struct buf data = { 0 }, message = { 0 };
	struct resume_question question = {
		.generation = request->generation,
		.received = request->received,
		.proof = request->proof,
		.uid = (uint32_t)l->user->uid,
		.session_id = l->session_id,
		.user = text_span(l->name),
		.address = text_span(l->peer->address),
		.hostkey = l->hostkey,
		.port = l->peer->port,
	};
	int dir, r = rendezvous_open(&dir);

	put_data(q, fields, &data);
	question.data = buf_span(&data);
	resume_put_question(&message, &question);
	if (r == 0)
		r = buf_err(&data);
	if (r == 0)
		r = rendezvous_ask_long(dir, request->handle, &message, answer,
		    fd);
	if (r == 0)
		r = resume_get_answer(rd_from_buf(answer), a);
	fd_close(&dir);
	buf_clear(&data);
	buf_clear(&message);
	return r;
}

/* True if a session that began today would be held to the same as that one. */
static bool
is_same(const struct login *l, const struct resume_answer *a,
    const struct login_try *t)
{
	uint8_t now[LOGIN_BOUNDS_LEN];
	struct permits p;
	const char *why;
	bool same;

	permits_init_conf(&p, &l->conf);
	same = permits_merge(&p, &t->permits, &why) == 0 &&
	    login_bounds(l, &p, now) == 0 &&
	    memcmp(now, a->bounds.p, sizeof now) == 0;
	permits_clear(&p);
	return same;
}

static const char *
why_not(struct login *l, const struct resume_answer *a, struct login_try *t,
    struct buf *text)
{
	const char *why = login_before_why_not(l, &a->login, t, text);

	if (why == NULL && !is_same(l, a, t))
		why = "what it may do is another by now";
	return why;
}

/* Sets the outcome of the try by the answer of the old session's monitor. */
static void
weigh(struct login *l, const struct resume_answer *a, struct login_try *t)
{
	const struct survive_welcome w = { .received = a->received,
		.proof = a->proof };
	struct buf text = { 0 };
	const char *why;
	char *shown;

	if (a->login.verdict != RENDEZVOUS_GOOD) {
		t->what = xstrdup(rendezvous_verdict_text(a->login.verdict));
		t->checked = a->login.verdict == RENDEZVOUS_WRONG;
		t->outcome = t->checked ? LOGIN_TRIED : LOGIN_PASSED_OVER;
		return;
	}
	why = why_not(l, a, t, &text);
	if ((shown = buf_dup_string(&text)) == NULL)
		fatal("out of memory");
	xasprintf(&t->what, "session %u (%s)%s%s", (unsigned)a->login.pid,
	    shown, why != NULL ? ": " : "", why != NULL ? why : "");
	t->ok = why == NULL;
	t->outcome = t->ok ? LOGIN_TRIED : LOGIN_PASSED_OVER;
	if (t->ok)
		survive_put_welcome(&t->welcome, &w);
	free(shown);
	buf_clear(&text);
}

/* Tells the session's monitor to end the session, because today's rules do not
 * let the user in. */
static void
end_session(int fd)
{
	static const uint8_t end = RESUME_END;

	(void)!send(fd, &end, sizeof end, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Tries to take over the session. An error means that the session exists, but
 * its monitor or process does not answer now: nothing is decided, and the
 * client may try again. */
static int
try(const struct login_request *q, const struct survive_resume *request,
    struct span fields, struct login_try *t)
{
	struct resume_answer a;
	struct buf answer;
	int r, fd = -1;

	buf_init_secret(&answer);
	r = ask(q, request, fields, &answer, &a, &fd);
	if (r == ERR_SYSTEM || r == ERR_EOF) {
		buf_clear(&answer);
		return ERR_SYSTEM;
	}
	if (r == 0) {
		weigh(q->login, &a, t);
	} else {
		t->outcome = LOGIN_PASSED_OVER;
		t->what = xstrdup(r == ERR_NOT_FOUND ?
			"unknown, or its session has ended" : err_text(r));
	}
	if (t->ok) {
		t->resumes = true;
		t->ticket_fd = fd;
		fd = -1;
	} else if (r == 0 && a.login.verdict == RENDEZVOUS_GOOD) {
		end_session(fd);
	}
	fd_close(&fd);
	buf_clear(&answer);
	return 0;
}

int
login_try_resume(const struct login_request *q, struct login_try *t)
{
	struct login *l = q->login;
	struct span fields = { q->in->p, q->in->len };
	struct survive_resume request;
	int r = survive_get_resume(*q->in, fields.len, &request);

	/* There is no version 0: such a request is malformed, not one of a
	 * later version. */
	if (r != 0 && (r != ERR_UNSUPPORTED || fields.p[0] == 0))
		return r == ERR_UNSUPPORTED ? ERR_FORMAT : r;
	t->outcome = LOGIN_PASSED_OVER;
	if (r != 0) {
		t->what = xstrdup("not of a form that is known here");
	} else if (!l->conf.login.survive.enabled || !l->allowed ||
	    !auth_methods_may(&l->methods, q->method->name) ||
	    l->hostkey.len == 0) {
		t->what = xstrdup("not asked for");
	} else {
		fields.len = request.signed_len;
		return try(q, &request, fields, t);
	}
	return 0;
}
