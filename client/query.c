/* SPDX-License-Identifier: ISC */
#include "client/query.h"

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

/* Without "none", which cannot be configured. */
static void
list_ciphers(struct buf *out)
{
	for (size_t i = 0; cipher_at(i) != NULL; i++)
		if (cipher_at(i)->ops != NULL)
			put_line(out, cipher_at(i)->name);
}

static void
list_aeads(struct buf *out)
{
	for (size_t i = 0; cipher_at(i) != NULL; i++)
		if (cipher_at(i)->ops != NULL && !cipher_at(i)->needs_mac)
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

static void
list_compression(struct buf *out)
{
	put_line(out, "none");
	put_line(out, "zlib@openssh.com");
}

static void
list_key_types(struct buf *out)
{
	for (size_t i = 0; key_alg_at(i) != NULL; i++) {
		const char *type = key_alg_at(i)->key_type;
		bool seen = false;

		for (size_t j = 0; j < i; j++)
			seen = seen ||
			    strcmp(key_alg_at(j)->key_type, type) == 0;
		if (!seen)
			put_line(out, type);
	}
}

static void
list_signatures(struct buf *out)
{
	for (size_t i = 0; key_alg_at(i) != NULL; i++)
		put_line(out, key_alg_at(i)->name);
}

static void
list_nothing(struct buf *out)
{
	(void)out; /* certificates come in a later version */
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
	{ "key", list_key_types },
	{ "key-cert", list_nothing },
	{ "key-plain", list_key_types },
	{ "key-sig", list_signatures },
	{ "sig", list_signatures },
	{ "HostKeyAlgorithms", list_signatures },
	{ "PubkeyAcceptedAlgorithms", list_signatures },
	{ "PubkeyAcceptedKeyTypes", list_signatures },
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
