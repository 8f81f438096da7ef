/* SPDX-License-Identifier: ISC */
/* Makes certificates (-s): the key of a certificate authority signs public
 * keys. */
#include "keytools/keygen/keygen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "keys/agent-client.h"
#include "keys/p11-ask.h"
#include "keytools/keygen/keygen-cert.h"
#include "keytools/keygen/keygen-sk.h"

/* The authority that signs: key is private, or an agent or a token has the
 * private key. */
struct authority {
	const struct keygen_options *o;
	struct key *key;
	struct agent *agent;
	struct p11 *token; /* both NULL: key is private */
	const char *alg;
};

static int
sign(void *arg, struct span data, struct buf *signature)
{
	struct p11_ask ask = { .may_ask = true };
	struct authority *a = arg;

	if (a->token != NULL)
		return p11_ask_sign(&ask, a->token, a->key, a->alg, data,
		    signature);
	if (a->agent == NULL && key_sk(a->key) != NULL)
		return keygen_sk_sign(a->o, a->key, a->alg, data,
		    "Enter PIN for CA key: ", signature);
	return a->agent != NULL ?
	    agent_sign(a->agent, a->key, a->alg, data, signature) :
	    key_sign(a->key, a->alg, data, signature);
}

/* Chooses the signature algorithm: that of -t, or else the first one for the
 * key. Only RSA keys have several. */
static void
choose_alg(struct authority *a)
{
	const struct key_alg *row = NULL;

	if (a->o->type != NULL) {
		row = key_alg_by_name(a->o->type);
		if (row == NULL || !key_serves(a->key, a->o->type))
			fatal("CA key type %s doesn't match specified %s",
			    key_type(a->key), a->o->type);
	}
	for (size_t i = 0; row == NULL && key_alg_at(i) != NULL; i++)
		if (key_serves(a->key, key_alg_at(i)->name))
			row = key_alg_at(i);
	if (row == NULL)
		fatal("the key of the CA is a certificate itself");
	a->alg = row->name;
}

static void
load_from_agent(struct authority *a)
{
	struct agent_key *keys = NULL;
	size_t count = 0;
	bool found = false;
	int r = keyfile_load_public(a->o->ca, &a->key, NULL);

	if (r != 0)
		fatal("Cannot load CA public key %s: %s", a->o->ca,
		    err_text(r));
	r = agent_open(&a->agent, NULL);
	if (r != 0)
		fatal("Cannot use public key for CA signature: %s",
		    r == ERR_NOT_FOUND ? "agent not present" : err_text(r));
	r = agent_list(a->agent, &keys, &count);
	if (r != 0)
		fatal("Retrieve agent key list: %s", err_text(r));
	for (size_t i = 0; i < count; i++)
		found |= key_equal_public(keys[i].key, a->key);
	agent_keys_free(keys, count);
	if (!found)
		fatal("CA key %s not found in agent", a->o->ca);
}

static void
load_from_token(struct authority *a)
{
	struct p11_ask ask = { .may_ask = true };
	struct p11_list list;
	bool found = false;
	int r = keyfile_load_public(a->o->ca, &a->key, NULL);

	if (r != 0)
		fatal("Cannot load CA public key %s: %s", a->o->ca,
		    err_text(r));
	if (p11_ask_open(&ask, a->o->library, &a->token, &list) != 0)
		exit(255);
	for (size_t i = 0; i < list.n_keys; i++)
		found |= key_equal_public(list.keys[i].key, a->key);
	p11_list_clear(&list);
	if (!found)
		fatal("No PKCS#11 key matching %s found", a->o->ca);
}

static void
load_authority(struct authority *a)
{
	char *pass = NULL, *comment = NULL;

	if (a->o->use_agent && a->o->library != NULL)
		fatal("-U and -D cannot be used together");
	if (a->o->library != NULL) {
		load_from_token(a);
	} else if (a->o->use_agent) {
		load_from_agent(a);
	} else {
		a->key = keygen_load_private(a->o, a->o->ca, &pass, &comment);
		keygen_pass_free(pass);
		free(comment);
	}
	choose_alg(a);
}

/* The path of the certificate of a public key file: for "dir/name.pub"
 * "dir/name-cert.pub". */
static char *
cert_path(const char *path)
{
	size_t len = strlen(path);
	char *out;

	if (len > 4 && strcmp(path + len - 4, ".pub") == 0)
		len -= 4;
	xasprintf(&out, "%.*s-cert.pub", (int)len, path);
	return out;
}

static void
report(const char *path, const struct cert *c)
{
	char *id = xstr_escape(c->id), *range = keygen_validity(c);

	fprintf(stderr, "Signed %s key %s: id \"%s\" serial %llu",
	    c->kind == CERT_HOST ? "host" : "user", path, id,
	    (unsigned long long)c->serial);
	for (size_t i = 0; i < c->principals.n; i++) {
		char *name = xstr_escape(c->principals.v[i]);

		fprintf(stderr, "%s%s", i == 0 ? " for " : ",", name);
		free(name);
	}
	fprintf(stderr, " valid %s\n", range);
	free(range);
	free(id);
}

static void
certify(struct authority *a, const struct cert_request *request,
    const char *path)
{
	struct key *k = NULL, *cert = NULL;
	char *comment = NULL, *to = cert_path(path);
	int r = keyfile_load_public(path, &k, &comment);

	if (r != 0)
		fatal("load pubkey \"%s\": %s", path, err_text(r));
	if (key_is_cert(k))
		fatal("key \"%s\" type %s cannot be certified", path,
		    key_short_name(k));
	r = cert_make(k, request, a->key, sign, a, &cert);
	if (r != 0)
		fatal("Couldn't certify key %s via %s: %s", path,
		    a->token != NULL	   ? "token" :
			a->agent != NULL ? "agent" :
					   "CA key",
		    err_text(r));
	r = keyfile_save_public(to, cert, comment);
	if (r != 0)
		fatal("Saving certificate \"%s\" failed: %s", to,
		    err_text(r));
	if (!a->o->quiet)
		report(to, key_cert(cert));
	free(comment);
	free(to);
	key_free(cert);
	key_free(k);
}

/* The serial number by -z. *counts: it was "+number", and each further file
 * gets the next number. */
static uint64_t
serial(const struct keygen_options *o, bool *counts)
{
	const char *text = o->number != NULL ? o->number : "0";
	uint64_t n;

	*counts = *text == '+';
	if (!keygen_number(text + *counts, &n))
		fatal("Invalid serial number \"%s\"", o->number);
	return n;
}

static void
split_principals(const struct keygen_options *o, struct strlist *out)
{
	const char *pos = o->names;

	for (; pos != NULL; pos = *pos == ',' ? pos + 1 : NULL) {
		size_t len = strcspn(pos, ",");

		if (len == 0)
			fatal("Empty principal name");
		if (out->n == CERT_PRINCIPALS_MAX)
			fatal("more than %d principals", CERT_PRINCIPALS_MAX);
		xstrlist_add_len(out, pos, len);
		pos += len;
	}
	if (out->n == 0)
		fprintf(stderr,
		    "Warning: certificate will contain no principals (-n)\n");
}

int
keygen_certify(const struct keygen_options *o)
{
	struct authority a = { .o = o };
	struct cert_request request = {
		.kind = o->for_host ? CERT_HOST : CERT_USER,
		.id = o->identity,
	};
	bool counts;

	if (o->identity == NULL)
		fatal("Must specify key id (-I) when certifying");
	request.serial = serial(o, &counts);
	split_principals(o, &request.principals);
	keygen_validity_parse(o->validity, time(NULL), &request.valid_after,
	    &request.valid_before);
	keygen_cert_options(o, &request);
	load_authority(&a);
	for (size_t i = 0; i < o->n_args; i++) {
		certify(&a, &request, o->args[i]);
		request.serial += counts;
	}
	strlist_clear(&request.principals);
	cert_options_clear(&request.critical);
	cert_options_clear(&request.extensions);
	agent_close(a.agent);
	p11_end(a.token);
	key_free(a.key);
	return OK;
}
