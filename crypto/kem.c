/* SPDX-License-Identifier: ISC */
#include "crypto/kem.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "crypto/kem-internal.h"

struct kem {
	const struct kem_alg *alg;
	const struct kem_ops *ops;
	void *state; /* owned; of the method's ops */
};

/* The key exchange methods, in the order of our proposal. */
static const struct kem_alg algs[] = {
	{ .name = "mlkem768x25519-sha256",
	  .digest = DIGEST_SHA256, .post_quantum = true,
	  .ops = &kem_ops_hybrid, .param = KEM_MLKEM768_X25519 },
	{ .name = "sntrup761x25519-sha512",
	  .digest = DIGEST_SHA512, .post_quantum = true,
	  .ops = &kem_ops_hybrid, .param = KEM_SNTRUP761_X25519 },
	{ .name = "sntrup761x25519-sha512@openssh.com",
	  .digest = DIGEST_SHA512, .post_quantum = true,
	  .ops = &kem_ops_hybrid, .param = KEM_SNTRUP761_X25519 },
	{ .name = "curve25519-sha256",
	  .digest = DIGEST_SHA256, .ops = &kem_ops_x25519 },
	{ .name = "curve25519-sha256@libssh.org",
	  .digest = DIGEST_SHA256, .ops = &kem_ops_x25519 },
	{ .name = "ecdh-sha2-nistp256",
	  .digest = DIGEST_SHA256, .ops = &kem_ops_ecdh, .param = KEM_P256 },
	{ .name = "ecdh-sha2-nistp384",
	  .digest = DIGEST_SHA384, .ops = &kem_ops_ecdh, .param = KEM_P384 },
	{ .name = "ecdh-sha2-nistp521",
	  .digest = DIGEST_SHA512, .ops = &kem_ops_ecdh, .param = KEM_P521 },
	{ .name = "diffie-hellman-group-exchange-sha256",
	  .digest = DIGEST_SHA256, .group_exchange = true,
	  .ops = &kem_ops_dh },
	{ .name = "diffie-hellman-group16-sha512",
	  .digest = DIGEST_SHA512, .ops = &kem_ops_dh, .param = 4096 },
	{ .name = "diffie-hellman-group18-sha512",
	  .digest = DIGEST_SHA512, .ops = &kem_ops_dh, .param = 8192 },
	{ .name = "diffie-hellman-group14-sha256",
	  .digest = DIGEST_SHA256, .ops = &kem_ops_dh, .param = 2048 },
	{ .name = "mlkem768nistp256-sha256",
	  .digest = DIGEST_SHA256, .post_quantum = true,
	  .ops = &kem_ops_hybrid, .param = KEM_MLKEM768_P256 },
	/* These are for old devices: only a configuration that names them
	 * enables them. */
	{ .name = "diffie-hellman-group-exchange-sha1",
	  .digest = DIGEST_SHA1, .group_exchange = true, .weak = true,
	  .ops = &kem_ops_dh },
	{ .name = "diffie-hellman-group14-sha1",
	  .digest = DIGEST_SHA1, .weak = true,
	  .ops = &kem_ops_dh, .param = 2048 },
	{ .name = "diffie-hellman-group1-sha1",
	  .digest = DIGEST_SHA1, .weak = true,
	  .ops = &kem_ops_dh, .param = DH_OLD_BITS },
};

/* The methods of GSSAPI (RFC 4462), with the only mechanism that we have:
 * Kerberos 5. The mechanism's part of a name is the MD5 of its OID in DER, in
 * base64. */
#define GSS(prefix)                                                           \
	.name = prefix "toWM5Slw5Ew8Mqkay+al2g==", .gss_prefix = prefix

static const struct kem_alg gss_algs[] = {
	{ GSS("gss-curve25519-sha256-"),
	  .digest = DIGEST_SHA256, .ops = &kem_ops_x25519 },
	{ GSS("gss-nistp256-sha256-"),
	  .digest = DIGEST_SHA256, .ops = &kem_ops_ecdh, .param = KEM_P256 },
	{ GSS("gss-group16-sha512-"),
	  .digest = DIGEST_SHA512, .ops = &kem_ops_dh, .param = 4096 },
	{ GSS("gss-group14-sha256-"),
	  .digest = DIGEST_SHA256, .ops = &kem_ops_dh, .param = 2048 },
	/* These are for old servers and clients: only a configuration that
	 * names them enables them. */
	{ GSS("gss-group14-sha1-"),
	  .digest = DIGEST_SHA1, .weak = true,
	  .ops = &kem_ops_dh, .param = 2048 },
	{ GSS("gss-gex-sha1-"),
	  .digest = DIGEST_SHA1, .group_exchange = true, .weak = true,
	  .ops = &kem_ops_dh },
	{ GSS("gss-group1-sha1-"),
	  .digest = DIGEST_SHA1, .weak = true,
	  .ops = &kem_ops_dh, .param = DH_OLD_BITS },
};

const struct kem_alg *
kem_at(size_t index)
{
	return index < ARRAY_LEN(algs) ? &algs[index] : NULL;
}

const struct kem_alg *
kem_gss_at(size_t index)
{
	return index < ARRAY_LEN(gss_algs) ? &gss_algs[index] : NULL;
}

char *
kem_gss_names(const char *prefixes)
{
	const char *pos = prefixes, *p;
	struct buf b = { 0 };
	char *names;
	size_t len;

	while (csv_next(&pos, &p, &len))
		for (size_t i = 0; i < ARRAY_LEN(gss_algs); i++)
			if (strlen(gss_algs[i].gss_prefix) == len &&
			    memcmp(gss_algs[i].gss_prefix, p, len) == 0)
				buf_printf(&b, "%s%s",
				    buf_len(&b) > 0 ? "," : "",
				    gss_algs[i].name);
	names = buf_dup_string(&b);
	buf_clear(&b);
	return names;
}

const struct kem_alg *
kem_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(algs); i++) {
		if (strcmp(algs[i].name, name) == 0)
			return &algs[i];
	}
	for (size_t i = 0; i < ARRAY_LEN(gss_algs); i++) {
		if (strcmp(gss_algs[i].name, name) == 0)
			return &gss_algs[i];
	}
	return NULL;
}

static int
new_state(struct kem **out, const struct kem_alg *alg, void *state)
{
	struct kem *k = calloc(1, sizeof *k);

	*out = k;
	if (k == NULL)
		return ERR_NOMEM;
	k->alg = alg;
	k->ops = alg->ops;
	k->state = state;
	return 0;
}

int
kem_new(struct kem **out, const struct kem_alg *alg)
{
	*out = NULL;
	if (alg->group_exchange)
		return ERR_ARGUMENT;
	return new_state(out, alg, NULL);
}

int
kem_new_group(struct kem **out, const struct kem_alg *alg, struct span prime,
    struct span generator)
{
	void *state = NULL;
	int r;

	*out = NULL;
	if (!alg->group_exchange)
		return ERR_ARGUMENT;
	r = dh_new_group(&state, prime, generator);
	if (r != 0)
		return r;
	r = new_state(out, alg, state);
	if (r != 0)
		kem_ops_dh.free(state);
	return r;
}

void
kem_free(struct kem *k)
{
	if (k == NULL)
		return;
	k->ops->free(k->state);
	free(k);
}

int
kem_client_init(struct kem *k, struct buf *init)
{
	int r = k->ops->init(k->alg, &k->state, init);

	return r != 0 ? r : buf_err(init);
}

int
kem_client_finish(struct kem *k, struct span reply, struct buf *shared)
{
	int r;

	if (k->state == NULL)
		return ERR_ARGUMENT; /* kem_client_init() was not called */
	r = k->ops->finish(k->alg, k->state, reply, shared);
	return r != 0 ? r : buf_err(shared);
}

int
kem_server_reply(struct kem *k, struct span init, struct buf *reply,
    struct buf *shared)
{
	int r = k->ops->reply(k->alg, k->state, init, reply, shared);

	if (r == 0)
		r = buf_err(reply);
	return r != 0 ? r : buf_err(shared);
}
