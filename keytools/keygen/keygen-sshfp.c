/* SPDX-License-Identifier: ISC */
/* Prints DNS records (SSHFP) of host keys (-r). */
#include "keytools/keygen/keygen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "keys/sshfp.h"

static const enum digest_alg all_digests[] = { DIGEST_SHA1, DIGEST_SHA256 };

/* The digest that -O asks for; false: none, so all are wanted. */
static bool
wanted_digest(const struct keygen_options *o, enum digest_alg *alg)
{
	static const char lead[] = "hashalg=";
	bool wanted = false;

	for (size_t i = 0; i < o->options.n; i++) {
		const char *text = o->options.v[i];
		int n;

		if (!str_has_prefix(text, lead))
			fatal("Unsupported -O option \"%s\"", text);
		n = digest_parse(text + strlen(lead));
		if (n < 0 || !sshfp_digest_ok((enum digest_alg)n))
			fatal("Unsupported hash algorithm \"%s\"",
			    text + strlen(lead));
		*alg = (enum digest_alg)n;
		wanted = true;
	}
	return wanted;
}

static void
print_records(const struct keygen_options *o, const struct key *k)
{
	struct buf out = { 0 };
	enum digest_alg only = DIGEST_SHA256;
	bool one = wanted_digest(o, &only);
	char *text;
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(all_digests) && r == 0; i++)
		if (!one || all_digests[i] == only)
			r = sshfp_put(o->revoked, k, all_digests[i],
			    o->generic, &out);
	if (r == ERR_UNSUPPORTED)
		fatal("there are no records of %s keys", key_short_name(k));
	if (r != 0 || (text = buf_dup_string(&out)) == NULL)
		fatal("%s", err_text(r != 0 ? r : ERR_NOMEM));
	printf("%s", text);
	free(text);
	buf_clear(&out);
}

static void
print_file(const struct keygen_options *o, const char *path)
{
	struct key *k = NULL;
	int r = keyfile_load_public(path, &k, NULL);

	if (r != 0)
		fatal("Failed to read public key from \"%s\": %s", path,
		    err_text(r));
	print_records(o, k);
	key_free(k);
}

int
keygen_dns_records(const struct keygen_options *o)
{
	static const char *const names[] = { "rsa", "ecdsa", "ed25519" };
	bool found = false;

	if (o->file != NULL) {
		keygen_require_file(o->file);
		print_file(o, o->file);
		return OK;
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char *path;

		xasprintf(&path, "%s/ssh_host_%s_key.pub", SYSCONFDIR,
		    names[i]);
		if (access(path, F_OK) == 0) {
			print_file(o, path);
			found = true;
		}
		free(path);
	}
	if (!found)
		log_error("there are no host keys in %s", SYSCONFDIR);
	return found ? OK : FAILED;
}
