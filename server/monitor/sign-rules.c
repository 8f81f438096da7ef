/* SPDX-License-Identifier: ISC */
#include "server/monitor/sign-rules.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "crypto/digest.h"
#include "crypto/kem.h"
#include "keys/key.h"

bool
sign_rules_alg(const struct server_conf *conf, const struct hostkeys *keys,
    const char *alg)
{
	char *offered = hostkeys_algs(keys, conf->algs.host_key_algorithms);
	bool ok = csv_has(offered, alg);

	free(offered);
	return ok;
}

bool
sign_rules_hash_len(const char *methods, size_t len)
{
	const struct kem_alg *row;
	const char *name;
	size_t name_len;
	bool ok = false;

	while (!ok && csv_next(&methods, &name, &name_len)) {
		char *method = xstrndup(name, name_len);

		row = kem_by_name(method);
		ok = row != NULL && digest_len(row->digest) == len;
		free(method);
	}
	return ok;
}

bool
sign_rules_rsa_proof(const struct server_conf *conf, const char *alg)
{
	const struct key_alg *row = key_alg_by_name(alg);

	return row != NULL && strcmp(row->key_type, "ssh-rsa") == 0 &&
	    (str_has_prefix(alg, "rsa-sha2-") ||
		csv_has(conf->algs.host_key_algorithms, alg));
}
