/* SPDX-License-Identifier: ISC */
/*
 * The tickets of a connection (client/auth/login-tickets.h): which connection
 * asks the server for them, when, and what they allow.
 */
#include "client/sshclient-internal.h"

#include "base/clock.h"
#include "base/log.h"

void
sshclient_lose_tickets(struct sshclient *c)
{
	struct sshclient *first = sshclient_first(c);

	if (first->root != c)
		return;
	first->root = NULL;
	first->tickets_asked = first->tickets_scarce = false;
	login_tickets_lose(&first->tickets);
}

enum {
	TICKETS_AT_ONCE = 8, /* that are asked for */
	TICKETS_LEAST = 4,   /* connections that may log in at the same time */
};

static int
take_tickets(struct sshclient *c, struct rd data)
{
	const struct kex *k = sshlogin_kex(c->login);
	const struct login_ticket_binding b = {
		.session_id = kex_session_id(k),
		.hostkey = kex_hostkey(k),
		.user = c->conf->host.user };
	int r = login_tickets_take_reply(&sshclient_first(c)->tickets, &b, data,
	    clock_boot_ms());

	if (r != 0)
		log_debug("tickets: %s", err_text(r));
	return r;
}

static void
on_tickets(void *arg, bool ok, struct rd data)
{
	struct sshclient *c = arg, *first = sshclient_first(c);
	size_t before = first->tickets.n, n;

	if (ok)
		(void)!take_tickets(c, data);
	n = first->tickets.n - before;
	first->tickets_asked = false;
	first->tickets_scarce = n < TICKETS_AT_ONCE;
	log_debug("the host gave %zu tickets for further connections", n);
}

static void
on_return_ticket(void *arg, bool ok, struct rd data)
{
	struct sshclient *c = arg;

	if (ok && take_tickets(c, data) == 0)
		log_debug("the host gave a ticket to come back with");
}

/* May a login over c be worth tickets? */
static bool
tickets_are_given(const struct sshclient *c)
{
	/* NoneSwitch excludes tickets: a server that gives tickets stays
	 * encrypted. */
	return c->conf->auth.login_tickets && !c->conf->algs.none_switch &&
	    !c->ended && !c->p.proxied &&
	    kex_peer_tickets(sshlogin_kex(c->login)) &&
	    !sshlogin_is_distrusted(c->login);
}

static bool
may_ask_for_tickets(const struct sshclient *c)
{
	return c->ready && tickets_are_given(c);
}

bool
sshclient_expects_tickets(const struct sshclient *c)
{
	const struct userauth *user =
	    c->login != NULL ? sshlogin_userauth(c->login) : NULL;

	return user != NULL && userauth_code_is_sent(user) &&
	    tickets_are_given(c);
}

static bool
ask_for_tickets(struct sshclient *c, uint32_t beside, uint32_t instead,
    channels_reply_fn fn)
{
	struct buf b = { 0 };
	int r;

	login_tickets_put_request(&b, beside, instead);
	if ((r = buf_err(&b)) == 0)
		r = channels_global_request(c->channels,
		    LOGIN_TICKETS_REQUEST, &b, fn, c);
	buf_clear(&b);
	return r == 0;
}

/* Makes c the connection that is asked for tickets, if there is none. It
 * must have logged in by the user's methods, or in the place of a lost
 * connection. */
void
sshclient_take_root(struct sshclient *c)
{
	const struct userauth *user = sshlogin_userauth(c->login);
	struct sshclient *first = sshclient_first(c);

	if (user == NULL || first->root != NULL ||
	    userauth_ticket_kind(user) == LOGIN_TICKET_BESIDE)
		return;
	first->root = c;
	first->tickets.lost = false;
}

/* Asks for the ticket by which a lost connection is made again (--retry), if
 * the login needed the user. */
void
sshclient_ask_for_return(struct sshclient *c)
{
	struct sshclient *first = sshclient_first(c);

	if (c->p.watched && first->root == c && may_ask_for_tickets(c) &&
	    first->secret.effort != USERAUTH_SILENT)
		(void)ask_for_tickets(c, 0, 1, on_return_ticket);
}

/* Tells whether further connections can log in, after a login that needed the
 * user. */
enum sshclient_further
sshclient_further_by_ticket(struct sshclient *c)
{
	size_t n = login_tickets_count(&c->tickets, clock_boot_ms());

	if (c->tickets_asked)
		return SSHCLIENT_FURTHER_LATER;
	if (n < TICKETS_LEAST && c->root != NULL && !c->tickets_scarce &&
	    may_ask_for_tickets(c->root) &&
	    ask_for_tickets(c->root, TICKETS_AT_ONCE, 0, on_tickets)) {
		c->tickets_asked = true;
		return SSHCLIENT_FURTHER_LATER;
	}
	if (n == 0 && login_tickets_may_return(&c->tickets, clock_boot_ms()))
		return SSHCLIENT_FURTHER_ONE;
	if (n >= TICKETS_LEAST)
		return SSHCLIENT_FURTHER_LIKELY;
	return n > 0 ? SSHCLIENT_FURTHER_POSSIBLE : SSHCLIENT_FURTHER_NEVER;
}

bool
sshclient_lost_its_root(struct sshclient *c)
{
	const struct userauth *user =
	    c->login != NULL ? sshlogin_userauth(c->login) : NULL;

	return user != NULL &&
	    userauth_ticket_shown(user) == LOGIN_TICKET_BESIDE &&
	    login_tickets_may_return(&sshclient_first(c)->tickets,
		clock_boot_ms());
}

bool
sshclient_back(const struct sshclient *c, struct login_ticket *out)
{
	*out = c->tickets.back;
	return out->kind == LOGIN_TICKET_INSTEAD &&
	    clock_boot_ms() < out->end_ms;
}

bool
sshclient_is_root(const struct sshclient *c)
{
	return c->p.first != NULL ? c->p.first->root == c : c->root == c;
}

