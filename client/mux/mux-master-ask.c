/* SPDX-License-Identifier: ISC */
/*
 * Questions to the user about what passengers want, one after the other.
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
conclude(struct passenger *p, bool allowed)
{
	free(p->question);
	p->question = NULL;
	mux_link_pause(p->link, false);
	p->answered(p, allowed);
}

static void
on_told(void *arg, bool allowed, const char *answer)
{
	struct mux_master *m = arg;
	struct passenger *p = m->asked;

	(void)answer;
	m->confirm = NULL;
	m->asked = NULL;
	conclude(p, allowed);
	ask_next(m);
}

static void
ask_next(struct mux_master *m)
{
	struct passenger *p, *next = NULL;

	if (m->confirm != NULL)
		return;
	/* The list begins with the last that came. */
	for (p = m->passengers; p != NULL; p = p->next)
		if (p->question != NULL)
			next = p;
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
passenger_ask(struct passenger *p,
    void (*then)(struct passenger *p, bool allowed), const char *fmt, ...)
{
	char text[QUESTION_MAX], shown[QUESTION_MAX];
	va_list ap;

	if (!p->m->p.asks) {
		then(p, true);
		return;
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	str_escape(shown, sizeof shown, text);
	p->question = xstrdup(shown);
	p->answered = then;
	mux_link_pause(p->link, true);
	ask_next(p->m);
}

void
passenger_deny(struct passenger *p)
{
	passenger_refuse(p, MUX_DENIED, p->request, "Permission denied");
}

void
passenger_leave_question(struct passenger *p)
{
	struct mux_master *m = p->m;

	free(p->question);
	p->question = NULL;
	if (m->asked != p)
		return;
	askpass_drop(m->confirm);
	m->confirm = NULL;
	m->asked = NULL;
	ask_next(m);
}
