/* SPDX-License-Identifier: ISC */
/* Shows the keys and extensions of an agent, and tests its keys. */
#include "keytools/add/add.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "crypto/rand.h"
#include "keys/keyfile.h"

enum { TEST_BYTES = 1024 };

static void
print_fingerprint(const struct agent_key *k, const char *comment,
    enum digest_alg hash)
{
	char *fp = key_fingerprint(k->key, hash);

	if (fp == NULL)
		fatal("out of memory");
	printf("%u %s %s (%s)\n", key_bits(k->key), fp, comment,
	    key_short_name(k->key));
	free(fp);
}

static void
print_line(const struct agent_key *k, const char *comment)
{
	struct buf line = { 0 };
	char *text;

	if (key_format_line(k->key, comment, &line) != 0 ||
	    (text = buf_dup_string(&line)) == NULL)
		fatal("out of memory");
	puts(text);
	free(text);
	buf_clear(&line);
}

static int
list(struct agent *a, bool lines, enum digest_alg hash)
{
	struct agent_key *keys = NULL;
	size_t count = 0;
	int r = agent_list(a, &keys, &count);

	if (r != 0) {
		fprintf(stderr, "error fetching identities: %s\n", add_why(r));
		return FAILED;
	}
	if (count == 0)
		puts("The agent has no identities.");
	for (size_t i = 0; i < count; i++) {
		char *comment = xstr_escape(keys[i].comment);

		if (lines)
			print_line(&keys[i], comment);
		else
			print_fingerprint(&keys[i], comment, hash);
		free(comment);
	}
	agent_keys_free(keys, count);
	return count > 0 ? OK : FAILED;
}

int
add_list(struct agent *a, enum digest_alg hash)
{
	return list(a, false, hash);
}

int
add_list_lines(struct agent *a)
{
	return list(a, true, DIGEST_SHA256);
}

int
add_list_extensions(struct agent *a)
{
	struct strlist names = { 0 };
	int r = agent_query(a, &names);

	if (r != 0)
		fatal("Unable to query the agent's extensions: %s",
		    add_why(r));
	for (size_t i = 0; i < names.n; i++) {
		char *shown = xstr_escape(names.v[i]);

		puts(shown);
		free(shown);
	}
	strlist_clear(&names);
	return OK;
}

/* ---- trying ------------------------------------------------------------- */

static const char *
algorithm_for(const struct key *k)
{
	const struct key_alg *alg;

	for (size_t i = 0; (alg = key_alg_at(i)) != NULL; i++) {
		const char *name = key_is_cert(k) ? alg->cert_name : alg->name;

		if (alg->offered && key_serves(k, name))
			return name;
	}
	return NULL;
}

static int
test_key(struct agent *a, const struct key *k)
{
	uint8_t random[TEST_BYTES];
	struct span data = { random, sizeof random };
	struct buf signature = { 0 };
	const char *alg = algorithm_for(k);
	int r;

	if (alg == NULL)
		return ERR_KEY_TYPE;
	rand_bytes(random, sizeof random);
	r = agent_sign(a, k, alg, data, &signature);
	if (r == 0)
		r = key_verify(k, alg, data, buf_span(&signature));
	buf_clear(&signature);
	return r;
}

static bool
test_file(struct agent *a, const char *path)
{
	struct key *k = NULL;
	int r = keyfile_load_public(path, &k, NULL);

	if (r != 0) {
		log_error("Couldn't read public key %s: %s", path,
		    err_text(r));
		return false;
	}
	r = test_key(a, k);
	if (r == ERR_SIGNATURE)
		fprintf(stderr, "Agent signature verification failed for %s: "
				"%s\n", path, err_text(r));
	else if (r != 0)
		fprintf(stderr, "Agent signature failed for %s: %s\n", path,
		    add_why(r));
	key_free(k);
	return r == 0;
}

int
add_test(struct agent *a, const struct strlist *paths)
{
	bool ok = true;

	if (paths->n == 0)
		fatal("no keys to test");
	for (size_t i = 0; i < paths->n; i++)
		ok &= test_file(a, paths->v[i]);
	return ok ? OK : FAILED;
}
