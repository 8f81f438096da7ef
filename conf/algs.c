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
 * The default lists, best first. A server offers finite-field Diffie-Hellman
 * only if it is configured. A client offers it last, for old servers.
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
#define KEX_GSS                                                               \
	"gss-curve25519-sha256-,gss-nistp256-sha256-,gss-group16-sha512-,"    \
	"gss-group14-sha256-"
#define MACS                                                                  \
	"umac-64-etm@openssh.com,umac-128-etm@openssh.com,"                   \
	"hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,"        \
	"hmac-sha1-etm@openssh.com,umac-64@openssh.com,"                      \
	"umac-128@openssh.com,hmac-sha2-256,hmac-sha2-512,hmac-sha1"

/* The names of all key algorithms: first those without certificates, then those
 * with certificates. NULL behind the last one. */
static const char *
key_name_at(size_t index)
{
	size_t n = key_alg_count();

	if (index < n)
		return key_alg_at(index)->name;
	return index < 2 * n ? key_alg_at(index - n)->cert_name : NULL;
}

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
	case ALGS_KEX_GSS:
		kem = kem_gss_at(index);
		return kem != NULL ? kem->gss_prefix : NULL;
	case ALGS_CIPHER:
		cipher = cipher_at(index);
		return cipher != NULL ? cipher->name : NULL;
	case ALGS_MAC:
		mac = mac_at(index);
		return mac != NULL ? mac->name : NULL;
	case ALGS_HOST_KEY:
	case ALGS_HOST_KEY_SERVER:
	case ALGS_PUBKEY:
		return key_name_at(index);
	case ALGS_CA:
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
	case ALGS_KEX_GSS:
		return KEX_GSS;
	case ALGS_CIPHER:
		return cipher_default_list();
	case ALGS_MAC:
		return MACS;
	case ALGS_HOST_KEY:
	case ALGS_HOST_KEY_SERVER:
	case ALGS_PUBKEY:
		return key_alg_default_list();
	case ALGS_CA:
		return key_alg_default_plain_list();
	}
	return "";
}

/* Is this the name of an algorithm that may be configured? "none" may not,
 * although the table of ciphers has it. */
static bool
known_span(enum algs_kind kind, const char *p, size_t len)
{
	const char *name;

	for (size_t i = 0; (name = name_at(kind, i)) != NULL; i++)
		if (strncmp(name, p, len) == 0 && name[len] == '\0')
			return strcmp(name, "none") != 0;
	return false;
}

/*
 * Other names of algorithms that we have. HPN-SSH's multi-threaded cipher has
 * the same bytes on the wire as OpenSSH's, so its name stands for that.
 */
static const struct {
	enum algs_kind kind;
	const char *name, *means;
} other_names[] = {
	{ ALGS_CIPHER, "chacha20-poly1305-mt@hpnssh.org",
	    "chacha20-poly1305@openssh.com" },
};

/* Returns one kind for all the kinds that choose from the same table of names,
 * so that two kinds can be compared. */
static enum algs_kind
table_of(enum algs_kind kind)
{
	switch (kind) {
	case ALGS_KEX_SERVER:
		return ALGS_KEX_CLIENT;
	case ALGS_HOST_KEY_SERVER:
	case ALGS_PUBKEY:
	case ALGS_CA:
		return ALGS_HOST_KEY;
	default:
		return kind;
	}
}

/* ---- building lists ----------------------------------------------------- */

struct builder {
	char *list; /* owned; "" at the beginning */
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

/* Appends a name, unless the list has it already. The list never gets longer
 * than the room that builder_init() made. */
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

/* ---- parsing ------------------------------------------------------------ */

/* The list that is being parsed. */
struct result {
	enum algs_kind kind;
	struct builder list;
};

/* Lists of key algorithms may contain patterns, as in OpenSSH. */
static bool
is_pattern(enum algs_kind kind, const char *name)
{
	return table_of(kind) == ALGS_HOST_KEY && strpbrk(name, "*?") != NULL;
}

/* Adds the algorithm of this name, or all that match the pattern. False: there
 * is none. */
static bool
add_known(struct result *res, const char *name)
{
	bool found = false;
	const char *known;

	for (size_t i = 0; i < ARRAY_LEN(other_names); i++)
		if (other_names[i].kind == table_of(res->kind) &&
		    strcmp(other_names[i].name, name) == 0)
			name = other_names[i].means;
	if (!is_pattern(res->kind, name)) {
		found = known_span(res->kind, name, strlen(name));
		if (found)
			builder_add(&res->list, name, strlen(name));
		return found;
	}
	for (size_t i = 0; (known = name_at(res->kind, i)) != NULL; i++) {
		if (!str_match(known, name))
			continue;
		builder_add(&res->list, known, strlen(known));
		found = true;
	}
	return found;
}

/* Is this the MAC "none"? HPN-SSH allows it in lists of MACs. Here it is
 * ignored in them: NoneMacEnabled adds it for the key exchange after the login
 * (kex_set_none()), so that no login goes without a MAC. */
static bool
is_for_later(const struct result *res, const char *name)
{
	return res->kind == ALGS_MAC && strcmp(name, "none") == 0;
}

/* Adds all names in the list text. ERR_UNSUPPORTED: *bad, which the caller
 * frees, is unknown. */
static int
add_names(struct result *res, const char *text, char **bad)
{
	const char *pos = text, *p;
	char *name;
	size_t len;

	while (csv_next(&pos, &p, &len)) {
		if ((name = strndup(p, len)) == NULL)
			return ERR_NOMEM;
		if (!is_for_later(res, name) && !add_known(res, name)) {
			*bad = name;
			return ERR_UNSUPPORTED;
		}
		free(name);
	}
	return 0;
}

static int
parse_change(struct result *res, const char *text, const char *base,
    char **bad)
{
	char *kept;
	int r;

	switch (*text++) {
	case '+':
		builder_add_list(&res->list, base);
		return add_names(res, text, bad);
	case '^':
		if ((r = add_names(res, text, bad)) < 0)
			return r;
		builder_add_list(&res->list, base);
		return 0;
	default: /* '-' */
		if ((kept = csv_filter(base, text, false)) == NULL)
			return ERR_NOMEM;
		builder_add_list(&res->list, kept);
		free(kept);
		return 0;
	}
}

/* The length of a list with all names of the kind, with a comma behind each. */
static size_t
table_len(enum algs_kind kind)
{
	const char *name;
	size_t sum = 0;

	for (size_t i = 0; (name = name_at(kind, i)) != NULL; i++)
		sum += strlen(name) + 1;
	return sum;
}

int
algs_parse(enum algs_kind kind, const char *text, struct algs_result *out)
{
	bool change = *text != '\0' && strchr("+-^", *text) != NULL;
	struct result res = { .kind = kind };
	char *base = NULL;
	int r = ERR_NOMEM;

	memset(out, 0, sizeof *out);
	if ((change && (base = algs_default(kind)) == NULL) ||
	    builder_init(&res.list,
		(change ? strlen(base) : 0) + strlen(text) + table_len(kind) +
		    2) < 0)
		goto out;
	r = change ? parse_change(&res, text, base, &out->bad) :
		     add_names(&res, text, &out->bad);
	if (r == 0 && res.list.len == 0)
		r = ERR_SYNTAX;
	if (r == 0) {
		out->list = res.list.list;
		res.list.list = NULL;
	}
out:
	free(base);
	free(res.list.list);
	return r;
}

void
algs_result_clear(struct algs_result *res)
{
	free(res->list);
	free(res->bad);
	memset(res, 0, sizeof *res);
}
