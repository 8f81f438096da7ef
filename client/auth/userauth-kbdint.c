/* SPDX-License-Identifier: ISC */
/* Keyboard-interactive authentication (RFC 4256). */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/prompt.h"
#include "client/auth/userauth-internal.h"

enum {
	REQUESTS_MAX = 64, /* INFO_REQUESTs of one try */
	PROMPTS_MAX = 64,  /* prompts in one INFO_REQUEST */
};

static bool
kbdint_enabled(const struct userauth *ua)
{
	return ua->p.conf->auth.kbd_interactive_authentication &&
	    !ua->p.no_passwords &&
	    (!ua->p.conf->auth.batch_mode || userauth_kept_answer(ua) != NULL);
}

static int
kbdint_next(struct userauth *ua)
{
	struct buf b;
	int r;

	/* A server that refused the last try without asking anything would only
	 * refuse again. */
	if (ua->kbdint_tries > 0 && ua->requests_seen == 0)
		return 0;
	if (ua->kbdint_tries > 0 && ua->p.conf->auth.batch_mode)
		return 0;
	if (ua->kbdint_tries >=
	    (unsigned)ua->p.conf->auth.number_of_password_prompts)
		return 0;
	ua->kbdint_tries++;
	ua->requests_seen = 0;
	buf_init(&b);
	userauth_put_request(ua, &b, "keyboard-interactive");
	buf_put_cstring(&b, ""); /* language */
	buf_put_cstring(&b, ua->p.conf->auth.kbd_interactive_devices);
	r = userauth_send(ua, &b);
	return r != 0 ? r : 1;
}

static struct span
cut(struct span s)
{
	s.len = MIN(s.len, (size_t)USERAUTH_TEXT_MAX);
	return s;
}

static void
log_text(struct span text)
{
	const char *s = (const char *)text.p;
	size_t len = cut(text).len;

	while (len > 0) {
		const char *end = memchr(s, '\n', len);
		size_t line = end != NULL ? (size_t)(end - s) : len;

		log_info("%.*s", (int)line, s);
		len -= MIN(len, line + 1);
		s += line + 1;
	}
}

/* Does the prompt ask for a password, so that the same answer is right on a
 * further connection too? Any other prompt, also one in another language, may
 * ask for a code that is good for one time: used again, it would be a failed
 * login. */
static bool
is_for_password(struct span prompt)
{
	static const char *const for_once[] = { "one-time", "one time",
		"onetime", "otp", "code", "token", "pin", "new " };
	char *text = xstrndup((const char *)prompt.p, cut(prompt).len);
	bool is = strcasestr(text, "password") != NULL;

	for (size_t i = 0; i < ARRAY_LEN(for_once) && is; i++)
		is = strcasestr(text, for_once[i]) == NULL;
	free(text);
	return is;
}

/* Asks the user one prompt and appends the answer as a string. False: the user
 * gave no answer, or with BatchMode there is none. */
static bool
answer_one(struct userauth *ua, struct span prompt, bool echo,
    struct buf *out)
{
	struct buf text = { 0 };
	char *shown, *answer = NULL;

	if (ua->p.conf->auth.batch_mode) {
		if (echo || !is_for_password(prompt) ||
		    ua->prompts_answered++ > 0)
			return false;
		buf_put_cstring(out, userauth_kept_answer(ua));
		return true;
	}
	buf_printf(&text, "(%s@%s) ", ua->p.conf->host.user,
	    ua->p.conf->host.hostname);
	userauth_put_clean(&text, cut(prompt));
	shown = buf_dup_string(&text);
	buf_clear(&text);
	if (shown != NULL)
		answer = prompt_ask(shown,
		    echo ? PROMPT_VISIBLE : PROMPT_HIDDEN);
	free(shown);
	if (answer == NULL)
		return false;
	buf_put_cstring(out, answer);
	if (echo || !is_for_password(prompt)) {
		prompt_free(answer);
		answer = NULL;
		ua->code_sent = true;
	}
	userauth_keep_answer(ua, answer);
	return true;
}

static int
kbdint_input(struct userauth *ua, uint8_t type, struct rd body)
{
	struct span name, instruction;
	uint32_t count;
	struct buf b;
	int r;

	if (type != SSH_MSG_USERAUTH_INFO_REQUEST)
		return USERAUTH_UNKNOWN;
	if (++ua->requests_seen > REQUESTS_MAX)
		return ERR_LIMIT;
	if (ua->requests_seen == 1 && ua->kbdint_tries > 1)
		log_error("Permission denied, please try again.");
	name = rd_string(&body);
	instruction = rd_string(&body);
	(void)rd_string(&body); /* language */
	count = rd_u32(&body);
	if ((r = rd_err(&body)) != 0)
		return r;
	if (count > PROMPTS_MAX)
		return ERR_LIMIT;
	log_text(name);
	log_text(instruction);
	buf_init_secret(&b);
	buf_put_u8(&b, SSH_MSG_USERAUTH_INFO_RESPONSE);
	buf_put_u32(&b, count);
	for (uint32_t i = 0; i < count; i++) {
		struct span prompt = rd_string(&body);
		bool echo = rd_bool(&body);

		if ((r = rd_err(&body)) != 0)
			break;
		if (!answer_one(ua, prompt, echo, &b)) {
			buf_clear(&b);
			ua->code_sent = false;
			ua->kbdint_tries = UINT32_MAX - 1;
			return userauth_advance(ua);
		}
	}
	if (r == 0)
		r = rd_end(&body);
	if (r != 0) {
		buf_clear(&b);
		return r;
	}
	return userauth_send(ua, &b);
}

static void
kbdint_partial(struct userauth *ua)
{
	ua->kbdint_tries = 0;
	ua->requests_seen = 0;
}

const struct userauth_ops userauth_kbdint = {
	.enabled = kbdint_enabled,
	.next = kbdint_next,
	.input = kbdint_input,
	.partial = kbdint_partial,
};
