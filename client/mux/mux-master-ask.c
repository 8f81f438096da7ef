/* SPDX-License-Identifier: ISC */
/*
 * Questions to the user about what mux clients want. Only one question is shown
 * at a time.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/askpass.h"
#include "base/mem.h"
#include "client/mux/mux-master-internal.h"

enum { QUESTION_MAX = 2048 };

static void ask_next(struct mux_master *m);

static void
conclude(struct mux_client *c, bool allowed)
{
	free(c->question);
	c->question = NULL;
	mux_transport_pause(c->transport, false);
	c->answered(c, allowed);
}

static void
on_told(void *arg, bool allowed, const char *answer)
{
	struct mux_master *m = arg;
	struct mux_client *c = m->asked;

	(void)answer;
	m->confirm = NULL;
	m->asked = NULL;
	conclude(c, allowed);
	ask_next(m);
}

static void
ask_next(struct mux_master *m)
{
	struct mux_client *c, *next = NULL;

	if (m->confirm != NULL)
		return;
	/* The newest client is first in the list: the oldest question is asked
	 * first. */
	TAILQ_FOREACH(c, &m->clients, entry)
		if (c->question != NULL)
			next = c;
	if (next == NULL)
		return;
	m->asked = next;
	m->confirm = askpass_ask(m->p.session.loop, ASKPASS_CONFIRM,
	    next->question, on_told, m);
	if (m->confirm == NULL) {
		m->asked = NULL;
		conclude(next, false);
	}
}

void
mux_client_ask(struct mux_client *c,
    void (*then)(struct mux_client *c, bool allowed), const char *fmt, ...)
{
	char text[QUESTION_MAX], shown[QUESTION_MAX];
	va_list ap;

	if (!c->m->p.asks) {
		then(c, true);
		return;
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	str_escape(shown, sizeof shown, text);
	c->question = xstrdup(shown);
	c->answered = then;
	mux_transport_pause(c->transport, true);
	ask_next(c->m);
}

void
mux_client_deny(struct mux_client *c)
{
	mux_client_refuse(c, MUX_DENIED, c->request, "Permission denied");
}

void
mux_client_leave_question(struct mux_client *c)
{
	struct mux_master *m = c->m;

	free(c->question);
	c->question = NULL;
	if (m->asked != c)
		return;
	askpass_drop(m->confirm);
	m->confirm = NULL;
	m->asked = NULL;
	ask_next(m);
}
