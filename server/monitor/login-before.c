/* SPDX-License-Identifier: ISC */
#include "server/monitor/login-before.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/monitor/login-rules.h"

/* The method of a proof; NULL: there is no such method, or it stands for others
 * itself. */
static const struct auth_method *
method_of(const struct rendezvous_proof *p)
{
	const struct auth_method *m =
	    auth_method_by_name((const char *)p->method.p, p->method.len);

	return m == &auth_method_table[AUTH_METHOD_TICKET] ||
			m == &auth_method_table[AUTH_METHOD_RESUME] ?
		   NULL : m;
}

/* True if these methods, in this order, would be enough for a login today
 * without a ticket. */
static bool
are_enough(const struct login *l, const struct rendezvous_answer *a)
{
	struct auth_methods today = { 0 };
	struct strlist lists = { 0 };
	char *enabled = login_enabled_methods(&l->conf, false);
	bool enough = false, may = true;
	int r = auth_methods_without(&lists,
	    &l->conf.login.authentication_methods,
	    auth_method_table[AUTH_METHOD_TICKET].name);

	if (r == 0)
		r = auth_methods_init(&today, &lists, enabled);
	for (size_t i = 0; r == 0 && may && !enough && i < a->n; i++) {
		const struct auth_method *m = method_of(&a->proofs[i]);

		may = m != NULL && auth_methods_may(&today, m->name);
		enough = may && auth_methods_done(&today, m->name) == 1;
	}
	auth_methods_clear(&today);
	strlist_clear(&lists);
	free(enabled);
	return enough;
}

/* True if the key of a proof may still log this user in; *p is then what it
 * allows today. */
static bool
key_holds(struct login *l, struct span blob, struct permits *p,
    char **shown)
{
	const char *pos = l->conf.algs.pubkey_accepted_algorithms, *name;
	struct key *k = NULL;
	bool holds = false;
	size_t len;

	if (key_from_blob(blob, &k) != 0)
		return false;
	while (!holds && csv_next(&pos, &name, &len)) {
		char *alg = xstrndup(name, len);
		struct key *again = NULL;

		if (key_serves(k, alg)) {
			holds = login_key_is_still_welcome(l, alg, blob,
			    &again, p);
			key_free(again);
		}
		free(alg);
	}
	*shown = login_key_text(l, k);
	key_free(k);
	return holds;
}

/* Checks one proof again, by today's rules; its permits are merged into t's.
 * Appends a description to text, for the log. */
static bool
proof_holds(struct login *l, const struct rendezvous_proof *proof,
    struct login_try *t, struct buf *text)
{
	const struct auth_method *m = method_of(proof);
	struct permits p;
	char *shown = NULL;
	const char *why;
	bool holds = true;

	if (m == &auth_method_table[AUTH_METHOD_PUBLICKEY]) {
		memset(&p, 0, sizeof p);
		holds = key_holds(l, proof->key, &p, &shown);
	} else {
		permits_init(&p);
	}
	buf_printf(text, "%s%s%s%s%s%s", buf_len(text) > 0 ? ", " : "",
	    m->name, m->device != NULL ? "/" : "",
	    m->device != NULL ? m->device : "", shown != NULL ? " " : "",
	    shown != NULL ? shown : "");
	if (holds)
		holds = login_rules_root_may(l, m, shown != NULL ? &p : NULL) &&
		    permits_merge(&t->permits, &p, &why) == 0;
	permits_clear(&p);
	free(shown);
	return holds;
}

const char *
login_before_why_not(struct login *l, const struct rendezvous_answer *a,
    struct login_try *t, struct buf *text)
{
	for (size_t i = 0; i < a->n; i++)
		if (method_of(&a->proofs[i]) == NULL)
			return "of a method that is not known here";
	if (!are_enough(l, a))
		return "its methods are not enough any more";
	permits_clear(&t->permits);
	permits_init(&t->permits);
	t->has_permits = true;
	for (size_t i = 0; i < a->n; i++)
		if (!proof_holds(l, &a->proofs[i], t, text))
			return "what was shown does not hold any more";
	return NULL;
}

void
login_before_keep(const struct rendezvous_answer *a, struct login_shown *s)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct auth_method *m = method_of(&a->proofs[i]);

		buf_put_cstring(&s->proofs, m->name);
		buf_put_string(&s->proofs, a->proofs[i].key.p,
		    a->proofs[i].key.len);
		s->methods |= 1U << (m - auth_method_table);
	}
	s->n = a->n;
	s->at_ms = clock_boot_ms() - a->age_ms;
	buf_put(&s->info, a->auth_info.p, a->auth_info.len);
}

int
login_before_tell(const struct login *l, struct rendezvous_answer *a)
{
	const struct login_shown *s = &l->shown;
	struct rd r = rd_from_buf(&s->proofs);

	while (a->n < s->n) {
		a->proofs[a->n].method = rd_string(&r);
		a->proofs[a->n++].key = rd_string(&r);
	}
	a->age_ms = clock_boot_ms() - s->at_ms;
	a->pid = (uint32_t)getpid();
	a->auth_info = buf_span(&s->info);
	return rd_end(&r);
}
