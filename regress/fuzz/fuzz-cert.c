/* SPDX-License-Identifier: ISC */
/*
 * Certificates. Input that begins with 'f' is the fields from the serial
 * number to the reserved string, which are signed here, so that the checks
 * behind the signature are reached; any other is a blob as a peer sends it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "keys/cert.h"
#include "regress/fuzz/fuzz.h"

static const uint8_t seed[] = "the seed of the key of fuzz-cert"; /* 32 */

/* An Ed25519 key that is the same in every run. */
static struct key *
authority(void)
{
	static const uint8_t point[] = {
	    0xa2, 0x4b, 0x93, 0xdd, 0x84, 0x35, 0xc8, 0xd1, 0x03, 0xe9, 0x59,
	    0x85, 0xb8, 0x57, 0xf8, 0xac, 0xe8, 0xa3, 0x85, 0xf1, 0x2c, 0xff,
	    0x2e, 0xb0, 0x93, 0x31, 0xfd, 0x9a, 0xc5, 0xbb, 0x05, 0x44};
	struct buf b = {0};
	struct key *k = NULL;
	struct rd r;
	size_t mark;

	buf_put_cstring(&b, "ssh-ed25519");
	buf_put_string(&b, point, sizeof point);
	mark = buf_open_string(&b);
	buf_put(&b, seed, 32);
	buf_put(&b, point, sizeof point);
	buf_close_string(&b, mark);
	r = rd_from_buf(&b);
	if (key_private_from_wire(&r, &k) != 0)
		abort();
	buf_clear(&b);
	return k;
}

static void
put_key(struct buf *b, const struct key *k, bool without_type)
{
	struct buf blob = {0};
	struct rd r;
	struct span rest;

	if (key_to_blob(k, &blob) != 0)
		abort();
	r = rd_from_buf(&blob);
	if (without_type)
		(void)rd_string(&r);
	rest = rd_rest(&r);
	buf_put(b, rest.p, rest.len);
	buf_clear(&blob);
}

static void
sign_fields(struct span fields, struct buf *out)
{
	static struct key *ca;
	struct buf signature = {0};
	size_t mark;

	if (ca == NULL)
		ca = authority();
	buf_put_cstring(out, "ssh-ed25519-cert-v01@openssh.com");
	buf_put_cstring(out, "nonce");
	put_key(out, ca, true);
	buf_put(out, fields.p, fields.len);
	mark = buf_open_string(out);
	put_key(out, ca, false);
	buf_close_string(out, mark);
	if (key_sign(ca, "ssh-ed25519",
		buf_span(out), &signature) != 0)
		abort();
	buf_put_string_buf(out, &signature);
	buf_clear(&signature);
}

static void
ask(const struct key *k)
{
	const struct cert *c = key_cert(k);
	struct cert_grants g;
	const char *why = NULL;

	(void)!cert_refusal(c, CERT_USER, 1, "name");
	(void)!cert_host_refusal(c, 1, "Host.Name", "ssh-ed25519");
	if (cert_grants_read(c, &g, &why) != 0 && why == NULL)
		abort();
	cert_grants_clear(&g);
}

static void
read_blob(struct span blob)
{
	struct key *k = NULL;
	struct buf out = {0};

	if (key_from_blob(blob, &k) == 0 && key_is_cert(k)) {
		if (key_to_blob(k, &out) != 0 || buf_len(&out) != blob.len ||
		    memcmp(buf_data(&out), blob.p, blob.len) != 0)
			abort();
		if (key_cert(k)->principals.n > CERT_PRINCIPALS_MAX)
			abort();
		ask(k);
	}
	buf_clear(&out);
	key_free(k);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct buf b = {0};

	if (len == 0 || data[0] != 'f') {
		read_blob((struct span){data, len});
		return 0;
	}
	sign_fields((struct span){data + 1, len - 1}, &b);
	read_blob(buf_span(&b));
	buf_clear(&b);
	return 0;
}
