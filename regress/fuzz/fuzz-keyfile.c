/* SPDX-License-Identifier: ISC */
/*
 * Private key files, and public ones of other programs. Input that begins
 * with 'R' is the inside of an openssh-key-v1 file, which is armoured here
 * because a fuzzer does not learn base64. No passphrase is tried: the cost
 * of deriving keys is the file's own choice.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "keys/keyfile.h"
#include "regress/fuzz/fuzz.h"

/* A key that was read is written and read again, and must be the same. */
static void
write_again(const struct key *k)
{
	struct key *again = NULL;
	struct buf b;

	buf_init_secret(&b);
	if (keyfile_format_private(
		k, KEYFILE_OPENSSH, NULL, NULL, NULL, 0, &b) != 0 ||
	    keyfile_parse_private(buf_span(&b),
		NULL, &again, NULL) != 0 ||
	    !key_equal_public(k, again))
		abort();
	key_free(again);
	buf_clear(&b);
}

static void
read_all_ways(struct span content)
{
	struct key *k = NULL;
	char *comment = NULL;

	if (keyfile_parse_private(content, NULL, &k, &comment) == 0)
		write_again(k);
	key_free(k);
	free(comment);
	k = NULL;
	(void)!keyfile_parse_public_half(content, &k);
	key_free(k);
	k = NULL;
	if (keyfile_import_sshcom(content, &k) == 0)
		write_again(k);
	key_free(k);
	for (int f = KEYFILE_PUBLIC_RFC4716; f <= KEYFILE_PUBLIC_PEM; f++) {
		k = NULL;
		(void)!keyfile_import_public(
		    content, (enum keyfile_public_format)f, &k);
		key_free(k);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct buf b = {0};
	char *base64;

	if (len == 0 || data[0] != 'R') {
		read_all_ways((struct span){data, len});
		return 0;
	}
	base64 = str_base64_encode(data + 1, len - 1);
	if (base64 != NULL) {
		buf_printf(&b,
		    "-----BEGIN OPENSSH PRIVATE KEY-----\n%s\n"
		    "-----END OPENSSH PRIVATE KEY-----\n",
		    base64);
		read_all_ways(buf_span(&b));
	}
	free(base64);
	buf_clear(&b);
	return 0;
}
