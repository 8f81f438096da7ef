/* SPDX-License-Identifier: ISC */
#include "keys/p11-ask.h"

#include <stdio.h>

#include "base/log.h"
#include "base/prompt.h"
#include "base/str.h"

enum { CLEAN_MAX = 4 * P11_LABEL_MAX, PROMPT_MAX = CLEAN_MAX + 32 };

/* Writes the prompt for the PIN of a token. The token's label may contain any
 * bytes and is escaped. */
static void
prompt_for(char text[PROMPT_MAX], const char *label)
{
	char clean[CLEAN_MAX + 1];

	str_escape(clean, sizeof clean, label);
	snprintf(text, PROMPT_MAX, "Enter PIN for '%s': ", clean);
}

/* Asks the user for the PIN of the token, and fills *pin. pin->text may point
 * to *answer, which the caller frees with prompt_free(). */
static int
ask_pin(struct p11_ask *a, const char *label, bool on_reader,
    struct p11_pin *pin, char **answer)
{
	char text[PROMPT_MAX];
	int r = 0;

	prompt_for(text, label);
	*answer = NULL;
	if (!a->may_ask) {
		log_error("PKCS#11 token: pin required");
		r = ERR_PIN_NEEDED;
	} else if (on_reader) {
		log_info("%s(on the reader)", text);
		a->asked = true;
		pin->kind = P11_PIN_ON_READER;
	} else {
		a->asked = true;
		*answer = prompt_ask(text, PROMPT_HIDDEN);
		pin->kind = P11_PIN_GIVEN;
		pin->text = *answer;
		if (*answer == NULL || **answer == '\0')
			r = ERR_CANCELLED;
	}
	return r;
}

static void
log_failure(const char *what, int r)
{
	if (r == ERR_PIN || r == ERR_PIN_LOCKED)
		log_error("PKCS#11 login failed: %s", err_text(r));
	else if (r != 0 && r != ERR_CANCELLED)
		log_error("%s: %s", what, err_text(r));
}

/* Asks for the PIN and logs in to the token. On success *list is replaced by
 * the new list, which has the token's keys that are only visible after a
 * login. */
static int
log_in(struct p11_ask *a, struct p11 *p, uint32_t token, const char *path,
    struct p11_list *list)
{
	struct p11_pin pin = { .token = token };
	struct p11_list more = { 0 };
	char *answer;
	int r = ask_pin(a, list->tokens[token].label,
	    list->tokens[token].on_reader, &pin, &answer);

	if (r == 0) {
		r = p11_get_list(p, &pin, 0, &more);
		log_failure(path, r);
	}
	prompt_free(answer);
	if (r == 0) {
		p11_list_clear(list);
		*list = more;
	}
	return r;
}

int
p11_ask_open(struct p11_ask *a, const char *path, struct p11 **out,
    struct p11_list *list)
{
	static const struct p11_pin none = { .kind = P11_PIN_NONE };
	struct p11 *p = NULL;
	int r = p11_start(&p, path);

	*list = (struct p11_list){ 0 };
	if (r == 0)
		r = p11_get_list(p, &none, 0, list);
	if (r != 0) {
		log_error("PKCS#11 provider %s: %s", path, err_text(r));
		p11_end(p);
		return r;
	}
	for (uint32_t i = 0; list->n_keys == 0 && i < list->n_tokens; i++)
		if (list->tokens[i].wants_login &&
		    log_in(a, p, i, path, list) == ERR_PIN_NEEDED)
			break;
	*out = p;
	return 0;
}

int
p11_ask_sign(struct p11_ask *a, struct p11 *p, const struct key *k,
    const char *alg, struct span data, struct buf *signature)
{
	struct p11_pin pin = { .kind = P11_PIN_NONE };
	char *answer = NULL;
	const char *label;
	bool on_reader;
	int r = p11_sign(p, k, alg, data, &pin, 0, signature);

	if (r == ERR_PIN_NEEDED) {
		label = p11_wanted(p, &on_reader);
		r = ask_pin(a, label, on_reader, &pin, &answer);
		if (r == 0)
			r = p11_sign(p, k, alg, data, &pin, 0, signature);
		prompt_free(answer);
	}
	if (r == ERR_PIN || r == ERR_PIN_LOCKED)
		log_failure("", r);
	return r;
}
