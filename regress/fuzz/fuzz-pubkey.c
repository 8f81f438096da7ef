/* SPDX-License-Identifier: ISC */
/*
 * Keys and signatures as peers send them. The first byte chooses:
 * b  blob; what is accepted must come out again as it went in
 * s  two strings: blob and signature
 * p  private key of the agent protocol and key files
 * otherwise a text line
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "keys/key.h"
#include "regress/fuzz/fuzz.h"

static void
check_blob(struct span blob)
{
	struct key *k = NULL;
	struct buf out = {0};

	if (key_from_blob(blob, &k) == 0) {
		if (key_to_blob(k, &out) != 0 || buf_len(&out) != blob.len ||
		    memcmp(buf_data(&out), blob.p, blob.len) != 0)
			abort();
		free(key_fingerprint(k, DIGEST_SHA256));
		free(key_randomart(k, DIGEST_MD5));
	}
	buf_clear(&out);
	key_free(k);
}

static void
check_signature(struct rd rd)
{
	struct span blob = rd_string(&rd), signature = rd_string(&rd);
	static const uint8_t data[] = "signed";
	const struct key_alg *alg;
	struct key *k = NULL;

	if (rd_err(&rd) != 0 || key_from_blob(blob, &k) != 0)
		return;
	for (size_t i = 0; (alg = key_alg_at(i)) != NULL; i++)
		(void)!key_verify(
		    k, alg->name, (struct span){data, sizeof data}, signature);
	key_free(k);
}

static void
check_private(struct rd rd)
{
	struct key *k = NULL;
	struct buf out;

	buf_init_secret(&out);
	if (key_private_from_wire(&rd, &k) == 0 &&
	    key_private_to_wire(k, &out) != 0)
		abort();
	buf_clear(&out);
	key_free(k);
}

static void
check_line(struct span s)
{
	char *text = span_dup(s);
	const char *at = text;
	struct key *k = NULL;
	struct buf out = {0};

	if (text != NULL && key_parse_line(&at, &k) == 0 &&
	    key_format_line(k, at, &out) != 0)
		abort();
	buf_clear(&out);
	key_free(k);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct span rest;

	if (len == 0)
		return 0;
	rest = (struct span){data + 1, len - 1};
	switch (data[0]) {
	case 'b':
		check_blob(rest);
		break;
	case 's':
		check_signature(rd_from_span(rest));
		break;
	case 'p':
		check_private(rd_from_span(rest));
		break;
	default:
		check_line((struct span){data, len});
	}
	return 0;
}
