/* SPDX-License-Identifier: ISC */
/*
 * DESIGN
 * The one table of public key algorithms. A row is a signature algorithm;
 * rows of one key type follow each other, and the first of them stands for
 * the type. The order is that of the default proposal. A new algorithm is a
 * row here and, if its family is new, one vtable in a file of its own.
 */
#include "keys/key.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "keys/key-internal.h"

/*
 * OFFERED rows are in the default lists; KNOWN rows work only if a list in the
 * configuration names them. The first two columns are the names of the
 * algorithm and of its key type, both without the domain (third column) that
 * ends private names. The names for certificates are the same two with CERT at
 * the end.
 */
/* clang-format off */
#define KEY_ALGS(OFFERED, KNOWN)                                              \
	OFFERED("ssh-ed25519", "ssh-ed25519", "", "ED25519", ed25519, 0)      \
	OFFERED("ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256", "", "ECDSA",    \
	    ecdsa, 256)                                                       \
	OFFERED("ecdsa-sha2-nistp384", "ecdsa-sha2-nistp384", "", "ECDSA",    \
	    ecdsa, 384)                                                       \
	OFFERED("ecdsa-sha2-nistp521", "ecdsa-sha2-nistp521", "", "ECDSA",    \
	    ecdsa, 521)                                                       \
	OFFERED("sk-ssh-ed25519", "sk-ssh-ed25519", "@openssh.com",           \
	    "ED25519-SK", sk_ed25519, 0)                                      \
	OFFERED("sk-ecdsa-sha2-nistp256", "sk-ecdsa-sha2-nistp256",           \
	    "@openssh.com", "ECDSA-SK", sk_ecdsa, 256)                        \
	OFFERED("webauthn-sk-ecdsa-sha2-nistp256", "sk-ecdsa-sha2-nistp256",  \
	    "@openssh.com", "ECDSA-SK", sk_webauthn, 256)                     \
	OFFERED("rsa-sha2-512", "ssh-rsa", "", "RSA", rsa, DIGEST_SHA512)     \
	OFFERED("rsa-sha2-256", "ssh-rsa", "", "RSA", rsa, DIGEST_SHA256)     \
	KNOWN("ssh-rsa", "ssh-rsa", "", "RSA", rsa, DIGEST_SHA1)              \
	KNOWN("ssh-mldsa44-ed25519", "ssh-mldsa44-ed25519", "@openssh.com",   \
	    "MLDSA44-ED25519", mldsa44_ed25519, 0)
/* clang-format on */

#define CERT "-cert-v01@openssh.com"
#define ROW(name, type, domain, text, offered, family, param)                 \
	{ name domain, type domain, text, name CERT, type CERT, text "-CERT", \
		offered, &key_ops_##family, param },
#define ROW_OFFERED(name, type, domain, text, family, param)                  \
	ROW(name, type, domain, text, true, family, param)
#define ROW_KNOWN(name, type, domain, text, family, param)                    \
	ROW(name, type, domain, text, false, family, param)
static const struct key_alg table[] = { KEY_ALGS(ROW_OFFERED, ROW_KNOWN) };

#define LIST_PLAIN(name, type, domain, ...) "," name domain
#define LIST_CERT(name, type, domain, ...) "," name CERT
#define LIST_KNOWN(name, ...)
static const char plain_list[] = KEY_ALGS(LIST_PLAIN, LIST_KNOWN);
static const char default_list[] =
    KEY_ALGS(LIST_CERT, LIST_KNOWN) KEY_ALGS(LIST_PLAIN, LIST_KNOWN);

const struct key_alg *
key_alg_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	}
	return NULL;
}

const struct key_alg *
key_alg_by_cert_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		if (strcmp(table[i].cert_name, name) == 0)
			return &table[i];
	}
	return NULL;
}

const struct key_alg *
key_alg_at(size_t index)
{
	return index < ARRAY_LEN(table) ? &table[index] : NULL;
}

size_t
key_alg_count(void)
{
	return ARRAY_LEN(table);
}

const char *
key_alg_default_list(void)
{
	return default_list + 1;
}

const char *
key_alg_default_plain_list(void)
{
	return plain_list + 1;
}

/* The row of the algorithm that has this name, plain or with certificates.
 * NULL: there is none. */
static const struct key_alg *
row_named(const char *p, size_t len)
{
	struct span name = { (const uint8_t *)p, len };

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		if (span_equals(name, table[i].name) ||
		    span_equals(name, table[i].cert_name))
			return &table[i];
	}
	return NULL;
}

char *
key_algs_of_signatures(const char *algorithms)
{
	const char *pos = algorithms, *name;
	bool taken[ARRAY_LEN(table)] = { false };
	struct buf list = { 0 };
	char *text;
	size_t len;

	while (csv_next(&pos, &name, &len)) {
		const struct key_alg *row = row_named(name, len);

		if (row == NULL || taken[row - table])
			continue;
		taken[row - table] = true;
		if (buf_len(&list) > 0)
			buf_put_u8(&list, ',');
		buf_put(&list, row->name, strlen(row->name));
	}
	text = buf_dup_string(&list);
	buf_clear(&list);
	return text;
}

const struct key_alg *
key_kind_by_type(struct span key_type, bool *certificate)
{
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		*certificate = span_equals(key_type, table[i].cert_type);
		if (*certificate || span_equals(key_type, table[i].key_type))
			return &table[i];
	}
	return NULL;
}
