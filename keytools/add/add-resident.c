/* SPDX-License-Identifier: ISC */
/* Adds the resident keys that a FIDO authenticator stores. */
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/prompt.h"
#include "keys/sk-client.h"
#include "keytools/add/add.h"

static bool
add_found(struct agent *a, const struct add_options *o, const struct key *k)
{
	struct agent_constraints c = add_constraints_for(o, k);
	char *fp = key_fingerprint(k, o->hash), *name;
	int r = agent_add(a, k, "", &c);

	if (fp == NULL)
		fatal("out of memory");
	xasprintf(&name, "%s %s", key_short_name(k), fp);
	if (r != 0)
		log_error("Unable to add key %s: %s", name, add_why(r));
	else if (!o->quiet)
		fprintf(stderr, "Resident identity added: %s\n", name);
	if (r == 0)
		add_tell_constraints(o, &c);
	free(name);
	free(fp);
	return r == 0;
}

int
add_resident(struct agent *a, const struct add_options *o)
{
	struct sk_params p = { .provider = o->sk_provider };
	struct sk_resident *v = NULL;
	size_t n = 0, added = 0;
	char *pin;
	int r;

	if (p.provider == NULL) {
		log_error("Cannot download keys without provider");
		return FAILED;
	}
	pin = prompt_ask_or_read("Enter PIN for authenticator: ");
	if (pin == NULL)
		return FAILED;
	p.pin = pin;
	r = sk_client_load(&p, &v, &n);
	prompt_free(pin);
	if (r != 0)
		log_error("Unable to load resident keys: %s", err_text(r));
	else if (n == 0 && !o->quiet)
		log_info("No keys to download");
	for (size_t i = 0; i < n; i++)
		added += add_found(a, o, v[i].key);
	sk_residents_free(v, n);
	return added > 0 && added == n ? OK : FAILED;
}
