/* SPDX-License-Identifier: ISC */
#include "conf/algs.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cipher.h"
#include "crypto/kem.h"
#include "crypto/mac.h"
#include "keys/key.h"

/*
 * Our policy, best first. A server leaves finite-field Diffie-Hellman to
 * those who configure it; a client appends it for old servers' sake.
 */
#define KEX_SERVER                                                            \
	"mlkem768x25519-sha256,sntrup761x25519-sha512,"                       \
	"sntrup761x25519-sha512@openssh.com,curve25519-sha256,"               \
	"curve25519-sha256@libssh.org,ecdh-sha2-nistp256,"                    \
	"ecdh-sha2-nistp384,ecdh-sha2-nistp521"
#define KEX_CLIENT                                                            \
	KEX_SERVER ",diffie-hellman-group-exchange-sha256,"                   \
	"diffie-hellman-group16-sha512,diffie-hellman-group18-sha512,"        \
	"diffie-hellman-group14-sha256"
#define MACS                                                                  \
	"umac-64-etm@openssh.com,umac-128-etm@openssh.com,"                   \
	"hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,"        \
	"hmac-sha1-etm@openssh.com,umac-64@openssh.com,"                      \
	"umac-128@openssh.com,hmac-sha2-256,hmac-sha2-512,hmac-sha1"

/* "none" is a row of the cipher table, but nothing that one may choose. */
static const char *
name_at(enum algs_kind kind, size_t index)
{
	const struct key_alg *key;
	const struct kem_alg *kem;
	const struct mac_alg *mac;
	const struct cipher_alg *cipher;

	switch (kind) {
	case ALGS_KEX_CLIENT:
	case ALGS_KEX_SERVER:
		kem = kem_at(index);
		return kem != NULL ? kem->name : NULL;
	case ALGS_CIPHER:
		cipher = cipher_at(index);
		return cipher != NULL ? cipher->name : NULL;
	case ALGS_MAC:
		mac = mac_at(index);
		return mac != NULL ? mac->name : NULL;
	case ALGS_HOST_KEY:
	case ALGS_HOST_KEY_SERVER:
	case ALGS_PUBKEY:
		key = key_alg_at(index);
		return key != NULL ? key->name : NULL;
	}
	return NULL;
}

static const char *
policy(enum algs_kind kind)
{
	switch (kind) {
	case ALGS_KEX_CLIENT:
		return KEX_CLIENT;
	case ALGS_KEX_SERVER:
		return KEX_SERVER;
	case ALGS_CIPHER:
		return cipher_default_list();
	case ALGS_MAC:
		return MACS;
	case ALGS_HOST_KEY:
	case ALGS_HOST_KEY_SERVER:
	case ALGS_PUBKEY:
		return key_alg_default_list();
	}
	return "";
}

static bool
known_span(enum algs_kind kind, const char *p, size_t len)
{
	const char *name;

	for (size_t i = 0; (name = name_at(kind, i)) != NULL; i++)
		if (strcmp(name, "none") != 0 && strlen(name) == len &&
		    memcmp(name, p, len) == 0)
			return true;
	return false;
}

/* --- building lists --- */

struct builder {
	char *list; /* owned; "" at first */
	size_t len, cap;
};

static int
builder_init(struct builder *b, size_t cap)
{
	b->len = 0;
	b->cap = cap + 1;
	b->list = calloc(1, b->cap);
	return b->list != NULL ? 0 : ERR_NOMEM;
}

/* Appends a name that is not there yet; cap bounds the sum of all. */
static void
builder_add(struct builder *b, const char *p, size_t len)
{
	if (csv_has_span(b->list, p, len))
		return;
	ENSURE(len + 2 <= b->cap - b->len);
	if (b->len > 0)
		b->list[b->len++] = ',';
	memcpy(b->list + b->len, p, len);
	b->len += len;
	b->list[b->len] = '\0';
}

static void
builder_add_list(struct builder *b, const char *list)
{
	const char *pos = list, *p;
	size_t len;

	while (csv_next(&pos, &p, &len))
		builder_add(b, p, len);
}

char *
algs_default(enum algs_kind kind)
{
	const char *pos = policy(kind), *p;
	struct builder b;
	size_t len;

	if (builder_init(&b, strlen(pos) + 2) < 0)
		return NULL;
	while (csv_next(&pos, &p, &len))
		if (known_span(kind, p, len))
			builder_add(&b, p, len);
	return b.list;
}

/* --- parsing --- */

/* Appends the names of text; each must be known. */
static int
add_names(enum algs_kind kind, const char *text, struct builder *b,
    char **bad)
{
	const char *pos = text, *p;
	size_t len;

	while (csv_next(&pos, &p, &len)) {
		if (!known_span(kind, p, len)) {
			*bad = strndup(p, len);
			return *bad != NULL ? ERR_UNSUPPORTED : ERR_NOMEM;
		}
		builder_add(b, p, len);
	}
	return 0;
}

static int
parse_change(enum algs_kind kind, const char *text, const char *base,
    struct builder *b, char **bad)
{
	char *kept;
	int r;

	switch (*text++) {
	case '+':
		builder_add_list(b, base);
		return add_names(kind, text, b, bad);
	case '^':
		if ((r = add_names(kind, text, b, bad)) < 0)
			return r;
		builder_add_list(b, base);
		return 0;
	default: /* '-' */
		if ((kept = csv_filter(base, text, false)) == NULL)
			return ERR_NOMEM;
		builder_add_list(b, kept);
		free(kept);
		return 0;
	}
}

int
algs_parse(enum algs_kind kind, const char *text, char **out, char **bad)
{
	bool change = *text != '\0' && strchr("+-^", *text) != NULL;
	struct builder b = { 0 };
	char *base = NULL;
	int r = ERR_NOMEM;

	*out = *bad = NULL;
	if ((base = algs_default(kind)) == NULL ||
	    builder_init(&b, strlen(base) + strlen(text) + 2) < 0)
		goto out;
	r = change ? parse_change(kind, text, base, &b, bad) :
		     add_names(kind, text, &b, bad);
	if (r == 0 && b.len == 0)
		r = ERR_SYNTAX;
	if (r == 0) {
		*out = b.list;
		b.list = NULL;
	}
out:
	free(base);
	free(b.list);
	return r;
}
