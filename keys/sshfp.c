/* SPDX-License-Identifier: ISC */
#include "keys/sshfp.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static const struct {
	const char *kind;
	unsigned number;
} kinds[] = { { "RSA", 1 }, { "ECDSA", 3 }, { "ED25519", 4 } };

static const struct {
	enum digest_alg alg;
	unsigned number;
} digests[] = { { DIGEST_SHA1, 1 }, { DIGEST_SHA256, 2 } };

/* The number of the key's type in SSHFP records (RFC 4255). 0: the type has no
 * number here, so there are no records for it. */
static unsigned
number_of_key(const struct key *k)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (strcmp(key_short_name(k), kinds[i].kind) == 0)
			return kinds[i].number;
	return 0;
}

static unsigned
number_of_digest(enum digest_alg alg)
{
	for (size_t i = 0; i < ARRAY_LEN(digests); i++)
		if (digests[i].alg == alg)
			return digests[i].number;
	return 0;
}

bool
sshfp_digest_ok(enum digest_alg alg)
{
	return number_of_digest(alg) != 0;
}

static int
fingerprint(const struct key *k, enum digest_alg alg,
    uint8_t digest[DIGEST_MAX_LEN])
{
	struct buf blob = { 0 };
	int r;

	if ((r = key_to_blob(k, &blob)) == 0)
		r = digest_once(alg, buf_data(&blob), buf_len(&blob), digest);
	buf_clear(&blob);
	return r;
}

int
sshfp_put(const char *name, const struct key *k, enum digest_alg alg,
    bool generic, struct buf *out)
{
	unsigned kind = number_of_key(k), number = number_of_digest(alg);
	uint8_t digest[DIGEST_MAX_LEN];
	char *hex = NULL;
	int r;

	if (kind == 0 || number == 0)
		return ERR_UNSUPPORTED;
	r = fingerprint(k, alg, digest);
	if (r == 0 && (hex = str_hex(digest, digest_len(alg))) == NULL)
		r = ERR_NOMEM;
	if (r == 0 && generic)
		buf_printf(out, "%s IN TYPE44 \\# %zu %02x %02x %s\n", name,
		    digest_len(alg) + 2, kind, number, hex);
	else if (r == 0)
		buf_printf(out, "%s IN SSHFP %u %u %s\n", name, kind, number,
		    hex);
	free(hex);
	return r != 0 ? r : buf_err(out);
}

int
sshfp_compare(const struct key *k, struct span record)
{
	struct rd in = rd_from_span(record);
	unsigned kind = rd_u8(&in), number = rd_u8(&in);
	uint8_t digest[DIGEST_MAX_LEN];

	if (rd_err(&in) != 0 || kind == 0 || kind != number_of_key(k))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(digests); i++) {
		enum digest_alg alg = digests[i].alg;

		if (digests[i].number != number || in.len != digest_len(alg))
			continue;
		if (fingerprint(k, alg, digest) != 0)
			return -1;
		return memcmp(in.p, digest, in.len) == 0 ? 1 : -1;
	}
	return 0;
}

enum sshfp_verdict
sshfp_judge(const struct key *k, const struct span *records, size_t n)
{
	bool equal = false, unequal = false;

	for (size_t i = 0; i < n; i++) {
		int c = sshfp_compare(k, records[i]);

		equal = equal || c > 0;
		unequal = unequal || c < 0;
	}
	if (n == 0)
		return SSHFP_NOTHING;
	return equal && !unequal ? SSHFP_MATCH : SSHFP_MISMATCH;
}
