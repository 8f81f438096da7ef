/* SPDX-License-Identifier: ISC */
/* Asks the user whether a key may be used (ssh-add -c). */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "agent/agent-internal.h"
#include "base/log.h"
#include "base/str.h"

enum { SHOWN_MAX = 1024 /* bytes */ };

static char *
question(const struct agentd *a, const struct identity *id,
    const struct sign_data *data)
{
	char comment[SHOWN_MAX], user[SHOWN_MAX] = "", *text = NULL;
	char *fingerprint = key_fingerprint(id->key, a->p.fingerprint);
	bool login = id->destinations.n > 0 && data->kind == SIGN_DATA_LOGIN;

	str_escape(comment, sizeof comment, id->comment);
	if (login)
		str_escape(user, sizeof user, data->user);
	if (fingerprint != NULL &&
	    asprintf(&text, "Allow use of key %s?\nKey fingerprint %s.%s%s%s",
		comment, fingerprint,
		login ? "\npublic key authentication request for user \"" : "",
		user, login ? "\" to listed host" : "") == -1)
		text = NULL;
	free(fingerprint);
	return text;
}

static void
on_told(void *arg, bool agreed, const char *answer)
{
	struct client *c = arg;

	(void)answer;
	c->waiting.dialog = NULL;
	log_debug("the use of a key was %s", agreed ? "confirmed" : "refused");
	if (agreed) {
		client_again(c);
		return;
	}
	client_fail(c);
}

bool
confirm_ask(struct client *c, const struct identity *id,
    const struct sign_data *data)
{
	struct agentd *a = c->a;
	const char *why = dialog_refusal(a);
	char *text;

	if (why != NULL) {
		log_info("the use of %s is to be confirmed, and %s",
		    id->comment, why);
		return false;
	}
	text = question(a, id, data);
	if (text == NULL)
		return false;
	c->waiting.dialog = dialog_ask(a, ASKPASS_CONFIRM, text, on_told, c);
	free(text);
	if (c->waiting.dialog == NULL)
		return false;
	c->confirmed = id->serial;
	return true;
}
