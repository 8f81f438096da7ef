/* SPDX-License-Identifier: ISC */
/*
 * The tickets that a server gives, in one reply or several, and what is asked
 * for by them. What is kept is within the limits; a malformed reply leaves what
 * there was.
 */
#include <stdlib.h>
#include <string.h>

#include "client/auth/login-tickets.h"
#include "regress/fuzz/fuzz.h"

enum { NOW = 1000, REPLIES_MAX = 16 };

static const struct login_ticket_binding binding = {
	.session_id = { (const uint8_t *)"session", 7 },
	.hostkey = { (const uint8_t *)"host key", 8 },
	.user = "user",
};

static void
must(bool right)
{
	if (!right)
		abort();
}

static void
take_reply(struct login_tickets *t, struct span reply)
{
	const struct login_tickets before = *t;
	int r = login_tickets_take_reply(t, &binding, rd_from_span(reply),
	    NOW);

	must(t->n <= LOGIN_TICKETS_MAX);
	must(r == 0 || memcmp(t, &before, sizeof before) == 0);
	for (size_t i = 0; i < t->n; i++)
		must(t->v[i].kind == LOGIN_TICKET_BESIDE &&
		    t->v[i].end_ms >= NOW);
	must(t->back.kind == 0 || t->back.kind == LOGIN_TICKET_INSTEAD);
}

static void
use(struct login_tickets *t)
{
	struct login_ticket one;
	struct buf b = { 0 };

	for (size_t n = 0; login_tickets_take(t, NOW, &one); n++) {
		must(n < LOGIN_TICKETS_MAX && one.end_ms > NOW);
		must(login_ticket_put(&b, &one, binding.session_id) == 0);
		buf_reset(&b);
	}
	login_tickets_lose(t);
	must(login_tickets_count(t, NOW) == 0);
	must(login_tickets_take(t, NOW, &one) ==
	    login_tickets_may_return(t, NOW));
	buf_clear(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rd in = rd_from(data, len);
	struct login_tickets t = { .n = 0 };

	for (int i = 0; i < REPLIES_MAX && in.len > 0; i++)
		take_reply(&t, fuzz_piece(&in));
	use(&t);
	login_tickets_clear(&t);
	return 0;
}
