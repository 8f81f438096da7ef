/* SPDX-License-Identifier: ISC */
/* Password authentication (RFC 4252 section 8). */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/prompt.h"
#include "client/auth/userauth-internal.h"

enum { NEW_PASSWORD_TRIES = 3 };

static bool
password_enabled(const struct userauth *ua)
{
	return ua->p.conf->auth.password_authentication &&
	       !ua->p.no_passwords &&
	       (!ua->p.conf->auth.batch_mode ||
		   userauth_kept_answer(ua) != NULL);
}

/* Asks the user "user@host's <what>: ". Returns the answer, for prompt_free();
 * NULL: there is none. */
static char *
prompt_user(const struct userauth *ua, const char *what)
{
	char *text, *answer;

	xasprintf(&text, "%s@%s's %s: ", ua->p.conf->host.user,
	    ua->p.conf->host.hostname, what);
	answer = prompt_ask(text, PROMPT_HIDDEN);
	free(text);
	return answer;
}

static int
send_password(struct userauth *ua, const char *password)
{
	struct buf b;
	int r;

	buf_init_secret(&b);
	userauth_put_request(ua, &b, "password");
	buf_put_bool(&b, false);
	buf_put_cstring(&b, password);
	r = userauth_send(ua, &b);
	return r != 0 ? r : 1;
}

static int
password_next(struct userauth *ua)
{
	const char *kept = userauth_kept_answer(ua);
	char *password;
	int r;

	if (kept != NULL)
		return ua->password_tries++ == 0 ? send_password(ua, kept) : 0;
	if (ua->password_tries >=
	    (unsigned)ua->p.conf->auth.number_of_password_prompts)
		return 0;
	if (ua->password_tries++ > 0)
		log_error("Permission denied, please try again.");
	if ((password = prompt_user(ua, "password")) == NULL)
		return 0;
	r = send_password(ua, password);
	userauth_keep_answer(ua, password);
	return r;
}

/* Asks for a new password, which the user has to type twice. NULL: the user
 * gave up. For prompt_free(). */
static char *
prompt_new_password(const struct userauth *ua)
{
	for (int i = 0; i < NEW_PASSWORD_TRIES; i++) {
		char *once = prompt_user(ua, "new password"), *again;
		bool same;

		if (once == NULL || *once == '\0') {
			prompt_free(once);
			return NULL;
		}
		again = prompt_user(ua, "new password once more");
		same = again != NULL && strcmp(once, again) == 0;
		if (same || again == NULL) {
			prompt_free(again);
			if (same)
				return once;
			prompt_free(once);
			return NULL;
		}
		prompt_free(again);
		prompt_free(once);
		log_error("The two differ; try again.");
	}
	return NULL;
}

/* PASSWD_CHANGEREQ: the password was right but has expired. Asks for a new one
 * and sends it. */
static int
password_input(struct userauth *ua, uint8_t type, struct rd body)
{
	struct span text = rd_string(&body);
	char *old = NULL, *new = NULL;
	struct buf b;
	int r;

	if (type != SSH_MSG_USERAUTH_PASSWD_CHANGEREQ)
		return USERAUTH_UNKNOWN;
	(void)rd_string(&body); /* language */
	if ((r = rd_end(&body)) != 0)
		return r;
	log_info("The server wants a new password: %.*s",
	    (int)MIN(text.len, (size_t)USERAUTH_TEXT_MAX),
	    (const char *)text.p);
	if (ua->p.conf->auth.batch_mode)
		return userauth_advance(ua);
	userauth_keep_answer(ua, NULL);
	old = prompt_user(ua, "old password");
	if (old != NULL)
		new = prompt_new_password(ua);
	if (new == NULL) {
		prompt_free(old);
		ua->password_tries = UINT32_MAX - 1;
		return userauth_advance(ua);
	}
	buf_init_secret(&b);
	userauth_put_request(ua, &b, "password");
	buf_put_bool(&b, true);
	buf_put_cstring(&b, old);
	buf_put_cstring(&b, new);
	prompt_free(old);
	prompt_free(new);
	return userauth_send(ua, &b);
}

static void
password_partial(struct userauth *ua)
{
	ua->password_tries = 0;
}

const struct userauth_ops userauth_password = {
	.enabled = password_enabled,
	.next = password_next,
	.input = password_input,
	.partial = password_partial,
};
