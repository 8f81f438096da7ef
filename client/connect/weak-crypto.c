/* SPDX-License-Identifier: ISC */
#include "client/connect/weak-crypto.h"

#include "base/log.h"
#include "base/mem.h"
#include "cipher.h"
#include "crypto/kem.h"
#include "crypto/mac.h"
#include "keys/key.h"

static bool
mac_is_weak(const char *name)
{
	const struct mac_alg *mac = mac_by_name(name);

	return mac != NULL && mac->weak;
}

/* Warns of each weak algorithm that was agreed on. Normally that happens only
 * with a server that has nothing better. */
static void
warn_old(const struct kex_result *k)
{
	const struct kem_alg *kem = kem_by_name(k->kex);
	const struct key_alg *key = key_alg_by_name(k->hostkey_alg);
	const struct {
		const char *what, *name;
		bool weak;
	} used[] = {
		{ "key exchange", k->kex, kem != NULL && kem->weak },
		{ "host key algorithm", k->hostkey_alg,
		    key != NULL && !key->offered },
		{ "cipher", k->cipher_tx, cipher_by_name(k->cipher_tx)->weak },
		{ "MAC", k->mac_tx, mac_is_weak(k->mac_tx) },
	};

	for (size_t i = 0; i < ARRAY_LEN(used); i++)
		if (used[i].weak)
			log_info("** WARNING: the %s %s is weak; use it only "
				 "for a server that has no other.",
			    used[i].what, used[i].name);
}

void
weak_crypto_warn(const struct client_conf *conf, const struct kex_result *k)
{
	int warn = conf->algs.warn_weak_crypto;

	if (warn != CLIENT_WEAK_NO)
		warn_old(k);
	/* A user who has set KexAlgorithms is not warned: the methods were
	 * chosen on purpose. */
	if (k->post_quantum || warn != CLIENT_WEAK_YES ||
	    conf->load.kex_given)
		return;
	log_info("** WARNING: the key exchange %s is not post-quantum.",
	    k->kex);
	log_info("** Who records this session now may be able to read it one "
		 "day.");
	log_info("** A newer SSH server would help; WarnWeakCrypto=no-pq-kex "
		 "silences this.");
}
