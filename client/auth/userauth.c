/* SPDX-License-Identifier: ISC */
#include "client/auth/userauth.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/prompt.h"
#include "base/screen.h"
#include "base/str.h"
#include "client/auth/userauth-internal.h"
#include "compat/bsd-mem.h"
#include "compat/cpu.h"

enum {
	METHOD_LIST_MAX = 4096,
	BANNERS_MAX = 1024 * 1024, /* bytes of all banners of a login; one
				    * banner is limited by its packet */
};

static const struct {
	const char *name;
	const struct userauth_ops *ops;
} methods[USERAUTH_METHOD_COUNT] = {
#define METHOD(id, name) [USERAUTH_ID_##id] = { name, &userauth_##id },
	CLIENT_AUTH_METHODS(METHOD)
#undef METHOD
};

/* The method of the last request; NULL for the request "none". */
static const struct userauth_ops *
current_ops(const struct userauth *ua)
{
	return ua->current != USERAUTH_ID_NONE ? methods[ua->current].ops :
						 NULL;
}

int
userauth_new(struct userauth **out, const struct userauth_params *params)
{
	struct userauth *ua = xcalloc(1, sizeof *ua);

	ua->p = *params;
	ua->current = USERAUTH_ID_NONE;
	buf_put(&ua->session_id, params->session_id.p, params->session_id.len);
	buf_put(&ua->hostkey, params->hostkey.p, params->hostkey.len);
	buf_put(&ua->host_signature, params->host_signature.p,
	    params->host_signature.len);
	if (params->key_hint != NULL)
		ua->key_hint = xstrdup(params->key_hint);
	if (buf_err(&ua->session_id) != 0 || buf_err(&ua->hostkey) != 0 ||
	    buf_err(&ua->host_signature) != 0) {
		userauth_free(ua);
		return ERR_NOMEM;
	}
	*out = ua;
	return 0;
}

void
userauth_set_extensions(struct userauth *ua, const char *sig_algs,
    bool hostbound)
{
	if (sig_algs != NULL && (ua->server_sig_algs == NULL ||
		strcmp(sig_algs, ua->server_sig_algs) != 0)) {
		free(ua->server_sig_algs);
		ua->server_sig_algs = xstrdup(sig_algs);
		if (pubkey_try_left_out(ua))
			ua->exhausted[USERAUTH_ID_pubkey] = false;
	}
	ua->hostbound = hostbound &&
	    ua->p.conf->auth.pubkey_authentication != CLIENT_PUBKEY_UNBOUND;
}

void
userauth_keep_answer(struct userauth *ua, char *answer)
{
	prompt_free(ua->answer);
	ua->answer = answer;
	ua->prompts_answered++;
}

const char *
userauth_kept_answer(const struct userauth *ua)
{
	return ua->p.conf->auth.batch_mode && ua->p.secret != NULL ?
	    ua->p.secret->answer :
	    NULL;
}

enum userauth_effort
userauth_effort(const struct userauth *ua)
{
	return ua->effort;
}

bool
userauth_can_be_repeated(const struct userauth *ua)
{
	return ua->state == USERAUTH_SUCCEEDED &&
	    ua->effort == USERAUTH_SILENT && !pubkey_used_is_security_key(ua);
}

static enum userauth_effort
effort_of(const struct userauth *ua)
{
	if (ua->by_ticket) /* the ticket stands for what was shown before */
		return USERAUTH_INTERACTIVE;
	if (ua->prompts_answered == 0 || ua->p.conf->auth.batch_mode)
		return USERAUTH_SILENT;
	return ua->prompts_answered == 1 && ua->answer != NULL ?
	    USERAUTH_ONE_ANSWER :
	    USERAUTH_INTERACTIVE;
}

/* Keeps the answer that led to the success for further connections. With
 * BatchMode this is a further connection itself, which keeps nothing. */
static void
fill_secret(struct userauth *ua)
{
	struct userauth_secret *secret = ua->p.secret;

	if (secret == NULL || ua->p.conf->auth.batch_mode)
		return;
	secret->effort = ua->effort;
	if (ua->effort != USERAUTH_ONE_ANSWER)
		return;
	prompt_free(secret->answer);
	secret->answer = ua->answer;
	ua->answer = NULL;
}

/* Wipes what proved who the user is, because the user is authenticated now; but
 * not the answer that fill_secret() has kept. */
static void
forget_proofs(struct userauth *ua)
{
	prompt_free(ua->answer);
	ua->answer = NULL;
	pubkey_forget(ua->pubkey);
	cpu_clear_vectors();
	cpu_clear_stack();
}

void
userauth_free(struct userauth *ua)
{
	if (ua == NULL)
		return;
	prompt_free(ua->answer);
	explicit_bzero(&ua->ticket, sizeof ua->ticket);
	pubkey_state_free(ua->pubkey);
	gssapi_state_free(ua->gssapi);
	hostbased_state_free(ua->hostbased);
	free(ua->offered);
	free(ua->key_hint);
	free(ua->server_sig_algs);
	buf_clear(&ua->session_id);
	buf_clear(&ua->hostkey);
	buf_clear(&ua->host_signature);
	free(ua);
}

int
userauth_send(struct userauth *ua, struct buf *b)
{
	int r = packet_put(ua->p.packet, b);

	buf_clear(b);
	return r;
}

void
userauth_put_request(const struct userauth *ua, struct buf *b,
    const char *method)
{
	buf_put_u8(b, SSH_MSG_USERAUTH_REQUEST);
	buf_put_cstring(b, ua->p.conf->host.user);
	buf_put_cstring(b, "ssh-connection");
	buf_put_cstring(b, method);
}

void
userauth_put_clean(struct buf *out, struct span text)
{
	char *copy, *line, *next, *clean;

	copy = xcalloc(1, text.len + 1);
	/* A NUL would end the text early, so it becomes a blank. */
	for (size_t i = 0; i < text.len; i++)
		copy[i] = text.p[i] != '\0' ? (char)text.p[i] : ' ';
	for (line = copy; line != NULL; line = next) {
		if ((next = strchr(line, '\n')) != NULL)
			*next++ = '\0';
		line[strcspn(line, "\r")] = '\0';
		clean = xstr_escape(line);
		buf_put(out, clean, strlen(clean));
		if (next != NULL)
			buf_put_u8(out, '\n');
		free(clean);
	}
	free(copy);
}

/* SERVICE_ACCEPT. The first request of the authentication was sent without
 * waiting for it: a server that does not grant the service disconnects. */
static int
on_service_accept(struct userauth *ua, struct rd body)
{
	(void)rd_string(&body); /* some servers leave the name out */
	if (ua->state != USERAUTH_SERVICE_REQUESTED)
		return ERR_PROTOCOL;
	ua->state = USERAUTH_SERVICE_GRANTED;
	return 0;
}

/* The method with this name; USERAUTH_ID_NONE: there is no such method. */
static enum userauth_id
method_id(const char *name)
{
	for (int i = 0; i < USERAUTH_METHOD_COUNT; i++)
		if (strcmp(methods[i].name, name) == 0)
			return (enum userauth_id)i;
	return USERAUTH_ID_NONE;
}

/* The next method of PreferredAuthentications that the configuration allows.
 * *pos moves behind it. USERAUTH_ID_NONE: no more. */
static enum userauth_id
next_preferred(const struct userauth *ua, const char **pos)
{
	const char *name;
	size_t len;

	while (csv_next(pos, &name, &len)) {
		char *copy = xstrndup(name, len);
		enum userauth_id id = method_id(copy);

		free(copy);
		if (id != USERAUTH_ID_NONE && methods[id].ops->enabled(ua))
			return id;
	}
	return USERAUTH_ID_NONE;
}

/* Sends the request "none" (RFC 4252 section 5.2); the answer names the methods
 * that the server offers. */
static int
request_methods(struct userauth *ua)
{
	struct buf b;

	ua->current = USERAUTH_ID_NONE;
	ua->asked_none = true;
	buf_init(&b);
	userauth_put_request(ua, &b, "none");
	return userauth_send(ua, &b);
}

static void
tell_next(struct userauth *ua, enum userauth_id id)
{
	if (ua->current != id)
		log_debug("Next authentication method: %s", methods[id].name);
	ua->current = id;
}

/* Sends a ticket of the first connection; the same one again if the server
 * had not asked for the method when it was sent before. 1: sent; 0: there is
 * none. */
static int
show_ticket(struct userauth *ua)
{
	struct buf b = { 0 };
	int r;

	if (!ua->has_ticket && ua->p.tickets != NULL)
		ua->has_ticket = login_tickets_take(ua->p.tickets,
		    clock_boot_ms(), &ua->ticket);
	if (!ua->has_ticket)
		return 0;
	ua->current = USERAUTH_ID_NONE;
	ua->by_ticket = true;
	log_debug("Next authentication method: %s", LOGIN_TICKET_METHOD);
	userauth_put_request(ua, &b, LOGIN_TICKET_METHOD);
	r = login_ticket_put(&b, &ua->ticket, buf_span(&ua->session_id));
	if (r == 0)
		r = userauth_send(ua, &b);
	buf_clear(&b);
	return r != 0 ? r : 1;
}

int
userauth_start(struct userauth *ua)
{
	const char *pos = ua->p.conf->auth.preferred_authentications;
	enum userauth_id id;
	struct buf b;
	int r;

	buf_init(&b);
	buf_put_u8(&b, SSH_MSG_SERVICE_REQUEST);
	buf_put_cstring(&b, "ssh-userauth");
	if ((r = userauth_send(ua, &b)) != 0)
		return r;
	if (ua->p.resume != NULL)
		return userauth_ask_to_resume(ua);
	if ((r = show_ticket(ua)) != 0) {
		ua->signed_first = r > 0;
		return MIN(r, 0);
	}
	while ((id = next_preferred(ua, &pos)) != USERAUTH_ID_NONE &&
	    methods[id].ops->goes_first) {
		tell_next(ua, id);
		if ((r = methods[id].ops->next(ua)) != 0)
			return r < 0 ? r : 0;
	}
	return request_methods(ua);
}

bool
userauth_expects_success(const struct userauth *ua)
{
	return ua->signed_first;
}

bool
userauth_has_failure(const struct userauth *ua)
{
	return ua->offered != NULL;
}

bool
userauth_was_refused(const struct userauth *ua)
{
	return ua->refused;
}

char *
userauth_key_hint(const struct userauth *ua)
{
	const struct userauth_ops *ops = current_ops(ua);

	return ops != NULL && ops->used_key != NULL ? ops->used_key(ua) : NULL;
}

static int
give_up(struct userauth *ua)
{
	log_error("%s@%s: Permission denied (%s).", ua->p.conf->host.user,
	    ua->p.conf->host.hostname, ua->offered);
	return ERR_DENIED;
}

/* Sends the next request: that of the first method, in the order of
 * PreferredAuthentications, that the server offers and that has one left. */
int
userauth_advance(struct userauth *ua)
{
	const char *pos = ua->p.conf->auth.preferred_authentications, *name;
	size_t len;

	/* No answer has arrived yet, so the first request was not sent: its key
	 * could not sign. */
	if (ua->offered == NULL)
		return request_methods(ua);
	while (csv_next(&pos, &name, &len)) {
		char *copy = xstrndup(name, len);
		enum userauth_id id = method_id(copy);
		bool usable = id != USERAUTH_ID_NONE && !ua->exhausted[id] &&
		    csv_has(ua->offered, copy) && methods[id].ops->enabled(ua);
		int r;

		free(copy);
		if (!usable)
			continue;
		tell_next(ua, id);
		if ((r = methods[id].ops->next(ua)) != 0)
			return r < 0 ? r : 0;
		ua->exhausted[id] = true;
	}
	/* The server offers no method. It may still let in a user with an empty
	 * password by the request "none", which is never among the offers. */
	if (!ua->asked_none && ua->offered[0] == '\0')
		return request_methods(ua);
	return give_up(ua);
}

/* Wipes the user's answers in a try that was refused, and no longer counts
 * them. */
static void
forget_refused(struct userauth *ua)
{
	if (ua->prompts_answered == ua->prompts_proven)
		return;
	ua->prompts_answered = ua->prompts_proven;
	prompt_free(ua->answer);
	ua->answer = NULL;
}

/* Lets all methods start anew after a partial success. */
static void
begin_anew(struct userauth *ua)
{
	memset(ua->exhausted, 0, sizeof ua->exhausted);
	for (int i = 0; i < USERAUTH_METHOD_COUNT; i++)
		if (methods[i].ops->partial != NULL)
			methods[i].ops->partial(ua);
}

static void
tell_success(const struct userauth *ua)
{
	const struct userauth_ops *ops = current_ops(ua);

	if (ops != NULL && ops->succeeded != NULL)
		ops->succeeded(ua);
}

static int
on_failure(struct userauth *ua, struct rd body)
{
	const struct userauth_ops *ops = current_ops(ua);
	char *list = rd_cstring(&body, METHOD_LIST_MAX);
	bool partial = rd_bool(&body), more;
	int r;

	if ((r = rd_end(&body)) != 0) {
		free(list);
		return r;
	}
	free(ua->offered);
	ua->offered = list;
	/* If the ticket was sent too early, it is sent again when the server
	 * asks for it behind another method. */
	ua->refused = ua->refused || !ua->by_ticket;
	ua->by_ticket = false;
	more = ops != NULL && ops->refused != NULL && ops->refused(ua);
	if (more)
		return partial ? ERR_PROTOCOL : 0;
	if (partial) {
		ua->prompts_proven = ua->prompts_answered;
		tell_success(ua);
		log_verbose("Authenticated using \"%s\" with partial success.",
		    userauth_method(ua));
		begin_anew(ua);
		if ((r = show_ticket(ua)) != 0)
			return MIN(r, 0);
	} else {
		forget_refused(ua);
	}
	log_debug("Authentications that can continue: %s", list);
	return userauth_advance(ua);
}

static int
on_banner(struct userauth *ua, struct rd body)
{
	struct span text = rd_string(&body);
	struct buf clean = { 0 };
	int r;

	(void)rd_string(&body); /* language */
	if ((r = rd_end(&body)) != 0)
		return r;
	if (text.len == 0 || log_get_level() < LOG_LVL_INFO)
		return 0;
	text.len = MIN(text.len, BANNERS_MAX - ua->banner_bytes);
	ua->banner_bytes += text.len;
	userauth_put_clean(&clean, text);
	screen_clear();
	if (buf_err(&clean) == 0)
		(void)!fd_write_all(STDERR_FILENO, buf_data(&clean),
		    buf_len(&clean));
	buf_clear(&clean);
	return 0;
}

int
userauth_input(struct userauth *ua, uint8_t type, struct rd body)
{
	if (ua->state == USERAUTH_SUCCEEDED)
		return USERAUTH_UNKNOWN;
	if (type == SSH_MSG_SERVICE_ACCEPT)
		return on_service_accept(ua, body);
	if (ua->state == USERAUTH_SERVICE_REQUESTED)
		return ERR_PROTOCOL;
	if (ua->p.resume != NULL && type != SSH_MSG_USERAUTH_BANNER)
		return userauth_resume_input(ua, type, body);
	if (type != SSH_MSG_USERAUTH_BANNER)
		ua->code_sent = false;
	switch (type) {
	case SSH_MSG_USERAUTH_FAILURE:
		return on_failure(ua, body);
	case SSH_MSG_USERAUTH_BANNER:
		return on_banner(ua, body);
	case SSH_MSG_USERAUTH_SUCCESS:
		tell_success(ua);
		ua->state = USERAUTH_SUCCEEDED;
		ua->effort = effort_of(ua);
		fill_secret(ua);
		forget_proofs(ua);
		return USERAUTH_DONE;
	default:
		if (type < 60 || ua->current == USERAUTH_ID_NONE)
			return USERAUTH_UNKNOWN;
		return current_ops(ua)->input(ua, type, body);
	}
}

bool
userauth_code_is_sent(const struct userauth *ua)
{
	return ua->code_sent;
}

char
userauth_ticket_kind(const struct userauth *ua)
{
	return ua->by_ticket ? (char)ua->ticket.kind : '\0';
}

char
userauth_ticket_shown(const struct userauth *ua)
{
	return ua->has_ticket ? (char)ua->ticket.kind : '\0';
}

const char *
userauth_method(const struct userauth *ua)
{
	if (ua->by_ticket)
		return LOGIN_TICKET_METHOD;
	return ua->current != USERAUTH_ID_NONE ? methods[ua->current].name :
						 "none";
}
