/* SPDX-License-Identifier: ISC */
#include "client/query.h"

#include "config.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "cipher.h"
#include "crypto/kem.h"
#include "crypto/mac.h"
#include "keys/key.h"

static void
put_line(struct buf *out, const char *name)
{
	buf_printf(out, "%s\n", name);
}

/* Lists all ciphers except "none", which cannot be configured. */
static void
list_ciphers(struct buf *out)
{
	for (size_t i = 0; cipher_at(i) != NULL; i++)
		put_line(out, cipher_at(i)->name);
}

static void
list_aeads(struct buf *out)
{
	for (size_t i = 0; cipher_at(i) != NULL; i++)
		if (!cipher_at(i)->needs_mac)
			put_line(out, cipher_at(i)->name);
}

static void
list_macs(struct buf *out)
{
	for (size_t i = 0; mac_at(i) != NULL; i++)
		put_line(out, mac_at(i)->name);
}

static void
list_kex(struct buf *out)
{
	for (size_t i = 0; kem_at(i) != NULL; i++)
		put_line(out, kem_at(i)->name);
}

#ifdef HAVE_GSSAPI
/* Lists the key exchange methods of GSSAPI as GSSAPIKexAlgorithms spells them:
 * prefixes, without the mechanism's identifier at their end. */
static void
list_gss_kex(struct buf *out)
{
	for (size_t i = 0; kem_gss_at(i) != NULL; i++)
		put_line(out, kem_gss_at(i)->gss_prefix);
}
#endif

static void
list_compression(struct buf *out)
{
	put_line(out, "none");
	put_line(out, "zlib@openssh.com");
}

/* Is row i of the key algorithms the first row of its key type? (RSA has
 * several rows.) */
static bool
is_new_type(size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (strcmp(key_alg_at(j)->key_type, key_alg_at(i)->key_type) ==
		    0)
			return false;
	return true;
}

static void
list_plain_types(struct buf *out)
{
	for (size_t i = 0; key_alg_at(i) != NULL; i++)
		if (is_new_type(i))
			put_line(out, key_alg_at(i)->key_type);
}

static void
list_cert_types(struct buf *out)
{
	for (size_t i = 0; key_alg_at(i) != NULL; i++)
		if (is_new_type(i))
			put_line(out, key_alg_at(i)->cert_type);
}

static void
list_key_types(struct buf *out)
{
	for (size_t i = 0; key_alg_at(i) != NULL; i++) {
		if (!is_new_type(i))
			continue;
		put_line(out, key_alg_at(i)->key_type);
		put_line(out, key_alg_at(i)->cert_type);
	}
}

static void
list_signatures(struct buf *out)
{
	for (size_t i = 0; key_alg_at(i) != NULL; i++)
		put_line(out, key_alg_at(i)->name);
}

static void
list_key_algorithms(struct buf *out)
{
	for (size_t i = 0; key_alg_at(i) != NULL; i++) {
		put_line(out, key_alg_at(i)->name);
		put_line(out, key_alg_at(i)->cert_name);
	}
}

static void
list_versions(struct buf *out)
{
	put_line(out, "2");
}

static void list_queries(struct buf *out);

static const struct {
	const char *name;
	void (*list)(struct buf *out);
} queries[] = {
	{ "cipher", list_ciphers },
	{ "Ciphers", list_ciphers },
	{ "cipher-auth", list_aeads },
	{ "compression", list_compression },
	{ "kex", list_kex },
	{ "KexAlgorithms", list_kex },
#ifdef HAVE_GSSAPI
	{ "kex-gss", list_gss_kex },
	{ "GSSAPIKexAlgorithms", list_gss_kex },
#endif
	{ "key", list_key_types },
	{ "key-ca-sign", list_signatures },
	{ "key-cert", list_cert_types },
	{ "key-plain", list_plain_types },
	{ "key-sig", list_key_algorithms },
	{ "sig", list_signatures },
	{ "CASignatureAlgorithms", list_signatures },
	{ "HostKeyAlgorithms", list_key_algorithms },
	{ "PubkeyAcceptedAlgorithms", list_key_algorithms },
	{ "PubkeyAcceptedKeyTypes", list_key_algorithms },
	{ "HostbasedAcceptedAlgorithms", list_key_algorithms },
	{ "HostbasedAcceptedKeyTypes", list_key_algorithms },
	{ "HostbasedKeyTypes", list_key_algorithms },
	{ "mac", list_macs },
	{ "MACs", list_macs },
	{ "protocol-version", list_versions },
	{ "help", list_queries },
};

static void
list_queries(struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(queries); i++)
		put_line(out, queries[i].name);
}

int
query_list(const char *what, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
		if (strcasecmp(what, queries[i].name) != 0)
			continue;
		queries[i].list(out);
		return buf_err(out);
	}
	return ERR_NOT_FOUND;
}
