/* SPDX-License-Identifier: ISC */
/* Names of hosts in known_hosts: as written, as patterns, and hashed. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "crypto/digest.h"
#include "crypto/rand.h"
#include "keys/knownhosts-internal.h"

enum {
	HASH_LEN = 20,	     /* bytes of an HMAC-SHA1, and of its salt */
	HASH_BASE64 = 28,    /* characters of HASH_LEN bytes in base64 */
	HASH_ALL = 3 + HASH_BASE64 + 1 + HASH_BASE64,
};

static const char hash_mark[] = "|1|";

char *
knownhosts_lower_case(const char *s)
{
	char *copy = strdup(s);

	for (char *p = copy; p != NULL && *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	return copy;
}

char *
knownhosts_name(const char *host, uint16_t port)
{
	char *low = knownhosts_lower_case(host), *name = NULL;

	if (low == NULL || port == 22)
		return low;
	if (asprintf(&name, "[%s]:%u", low, port) == -1)
		name = NULL;
	free(low);
	return name;
}

/* ---- hashed names ------------------------------------------------------- */

char *
knownhosts_hash(const char *name)
{
	uint8_t salt[HASH_LEN], mac[DIGEST_MAX_LEN];
	char *low = knownhosts_lower_case(name), *salt64 = NULL, *mac64 = NULL;
	char *out = NULL;

	rand_pad(salt, sizeof salt); /* a salt is no secret */
	if (low == NULL ||
	    digest_hmac(DIGEST_SHA1, salt, sizeof salt, low, strlen(low),
		mac) != 0)
		goto out;
	salt64 = str_base64_encode(salt, sizeof salt);
	mac64 = str_base64_encode(mac, HASH_LEN);
	if (salt64 == NULL || mac64 == NULL ||
	    asprintf(&out, "%s%s|%s", hash_mark, salt64, mac64) == -1)
		out = NULL;
out:
	free(mac64);
	free(salt64);
	free(low);
	return out;
}

bool
knownhosts_is_hashed(const char *hosts)
{
	return str_has_prefix(hosts, hash_mark);
}

static int
read_base64(const char *text, uint8_t out[HASH_LEN])
{
	uint8_t *p;
	size_t len;
	int r = str_base64_decode(text, HASH_BASE64, &p, &len);

	if (r != 0)
		return r;
	if (len == HASH_LEN)
		memcpy(out, p, HASH_LEN);
	free(p);
	return len == HASH_LEN ? 0 : ERR_FORMAT;
}

struct hashed {
	uint8_t salt[HASH_LEN], mac[HASH_LEN];
};

/* Reads the salt and the hash of a name field that is hashed. ERR_FORMAT: the
 * field is malformed and matches no name. */
static int
read_hashed(const char *field, struct hashed *h)
{
	const char *text = field + strlen(hash_mark);
	int r;

	if (strlen(field) != HASH_ALL || text[HASH_BASE64] != '|')
		return ERR_FORMAT;
	r = read_base64(text, h->salt);
	return r == 0 ? read_base64(text + HASH_BASE64 + 1, h->mac) : r;
}

bool
knownhosts_is_good_hash(const char *hosts)
{
	struct hashed h;

	return knownhosts_is_hashed(hosts) && read_hashed(hosts, &h) == 0;
}

/* ---- comparing ---------------------------------------------------------- */

int
knownhosts_matcher_init(struct knownhosts_matcher *m, const char *const *names,
    size_t n)
{
	*m = (struct knownhosts_matcher){ .n = 0 };
	if (n > KNOWNHOSTS_NAMES_MAX)
		return ERR_LIMIT;
	for (; m->n < n; m->n++)
		if ((m->names[m->n] = knownhosts_lower_case(names[m->n])) ==
		    NULL)
			return ERR_NOMEM;
	return 0;
}

void
knownhosts_matcher_clear(struct knownhosts_matcher *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->names[i]);
	digest_free(m->sha1);
	*m = (struct knownhosts_matcher){ .n = 0 };
}

static int
match_hashed(struct knownhosts_matcher *m, const char *hosts, uint32_t *which)
{
	uint8_t mac[DIGEST_MAX_LEN];
	struct hashed h;
	int r = read_hashed(hosts, &h);

	if (r == ERR_FORMAT)
		return 0;
	if (r == 0 && m->sha1 == NULL)
		r = digest_new(&m->sha1, DIGEST_SHA1);
	for (size_t i = 0; r == 0 && i < m->n; i++) {
		r = digest_hmac_by(m->sha1, h.salt, sizeof h.salt,
		    m->names[i], strlen(m->names[i]), mac);
		if (r == 0 && memcmp(mac, h.mac, HASH_LEN) == 0)
			*which |= UINT32_C(1) << i;
	}
	return r;
}

int
knownhosts_match(struct knownhosts_matcher *m, const char *hosts,
    uint32_t *which)
{
	*which = 0;
	if (knownhosts_is_hashed(hosts))
		return match_hashed(m, hosts, which);
	for (size_t i = 0; i < m->n; i++)
		if (str_match_list(m->names[i], hosts, true) == 1)
			*which |= UINT32_C(1) << i;
	return 0;
}

bool
knownhosts_hosts_match(const char *hosts, const char *host)
{
	struct knownhosts_matcher m;
	uint32_t which = 0;
	int r = knownhosts_matcher_init(&m, &host, 1);

	if (r == 0)
		r = knownhosts_match(&m, hosts, &which);
	knownhosts_matcher_clear(&m);
	return r == 0 && which != 0;
}
