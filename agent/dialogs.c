/* SPDX-License-Identifier: ISC */
/* Windows that ask the user something or show a notice: at most DIALOGS_MAX at
 * a time. */
#include <stdlib.h>

#include "agent/agent-internal.h"

enum { DIALOGS_MAX = 8 };

struct dialog {
	struct agentd *a;
	struct askpass *window;
	askpass_fn told;
	void *arg;
};

const char *
dialog_refusal(const struct agentd *a)
{
	if (a->dialogs >= DIALOGS_MAX)
		return "too many questions are open";
	return askpass_possible() ? NULL : "there is no display to ask on";
}

static void
on_told(void *arg, bool agreed, const char *answer)
{
	struct dialog d = *(struct dialog *)arg;

	free(arg);
	d.a->dialogs--;
	d.told(d.arg, agreed, answer);
}

struct dialog *
dialog_ask(struct agentd *a, enum askpass_kind kind, const char *text,
    askpass_fn told, void *arg)
{
	struct dialog *d;

	if (dialog_refusal(a) != NULL || (d = calloc(1, sizeof *d)) == NULL)
		return NULL;
	*d = (struct dialog){ .a = a, .told = told, .arg = arg };
	d->window = askpass_ask(a->loop, kind, text, on_told, d);
	if (d->window == NULL) {
		free(d);
		return NULL;
	}
	a->dialogs++;
	return d;
}

void
dialog_drop(struct dialog *d)
{
	if (d == NULL)
		return;
	askpass_drop(d->window);
	d->a->dialogs--;
	free(d);
}
