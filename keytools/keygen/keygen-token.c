/* SPDX-License-Identifier: ISC */
/* Shows the public keys of tokens, by their PKCS#11 library (-D). */
#include "keytools/keygen/keygen.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "keys/p11-ask.h"

static void
print_line(const struct p11_key *k)
{
	char *label = xstr_escape(k->label);
	struct buf line = { 0 };
	int r = key_format_line(k->key, label, &line);

	if (r != 0)
		fatal("%s", err_text(r));
	printf("%.*s\n", (int)buf_len(&line), (const char *)buf_data(&line));
	buf_clear(&line);
	free(label);
}

static void
print_fingerprint(const struct keygen_options *o, const struct p11_key *k)
{
	char *fp = key_fingerprint(k->key, o->hash);

	if (fp == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	printf("%u %s %s (PKCS11 key)\n", key_bits(k->key), fp,
	    key_short_name(k->key));
	if (o->verbose)
		keygen_print_art(o, k->key);
	free(fp);
}

int
keygen_list_token(const struct keygen_options *o)
{
	struct p11_ask ask = { .may_ask = true };
	struct p11_list list = { 0 };
	struct p11 *p = NULL;

	if (p11_ask_open(&ask, o->library, &p, &list) != 0 ||
	    list.n_keys == 0)
		fatal("cannot read public key from pkcs11");
	for (size_t i = 0; i < list.n_keys; i++) {
		if (o->fingerprint)
			print_fingerprint(o, &list.keys[i]);
		else
			print_line(&list.keys[i]);
	}
	p11_list_clear(&list);
	p11_end(p);
	return OK;
}
