/* SPDX-License-Identifier: ISC */
/*
 * Signatures of files, and lists of who may sign. Input that begins with 'b'
 * is the blob of a signature, which is armoured here because a fuzzer does not
 * learn base64; one with '-' the text of one; any other is a line of a list.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "keys/allowed-signers.h"
#include "keys/sshsig.h"
#include "regress/fuzz/fuzz.h"

static const char known[] =
    "ssh-ed25519 "
    "AAAAC3NzaC1lZDI1NTE5AAAAIFSMBVz3cx8l6yDaVMgnNOSESWYceGQCPcRLkkTIUOy2";

static void
read_signature(struct span text)
{
	static const uint8_t digest[DIGEST_MAX_LEN];
	struct sshsig s;

	if (sshsig_parse(text, &s) != 0)
		return;
	if (s.key == NULL || s.namespace == NULL || s.alg == NULL ||
	    strcmp(s.alg, "ssh-rsa") == 0)
		abort();
	(void)!sshsig_verify(&s, s.namespace, digest);
	sshsig_clear(&s);
}

static void
armour(struct span blob)
{
	struct buf b = {0};
	char *base64 = str_base64_encode(blob.p, blob.len);

	if (base64 != NULL) {
		buf_printf(&b,
		    "-----BEGIN SSH SIGNATURE-----\n%s\n"
		    "-----END SSH SIGNATURE-----\n",
		    base64);
		read_signature(buf_span(&b));
	}
	free(base64);
	buf_clear(&b);
}

static void
ask(const struct signer *s)
{
	static struct key *k;
	const char *line = known;
	struct strlist names = {0};
	char *why = NULL;
	int r;

	if (k == NULL && key_parse_line(&line, &k) != 0)
		abort();
	r = signer_check(s,
	    &(struct signer_query){.key = k, .when = 1700000000}, &names,
	    &why);
	if (r == ERR_DENIED ? why == NULL : why != NULL)
		abort();
	if (r != 0 && names.n != 0)
		abort();
	free(why);
	strlist_clear(&names);
	(void)!signer_check(s,
	    &(struct signer_query){k, "name", "file", 1700000000}, NULL, &why);
	free(why);
}

static void
read_line(struct span text)
{
	char *line = span_dup(text);
	const char *why = NULL;
	struct signer s;
	int r;

	if (line == NULL)
		return;
	r = signer_parse(line, &s, &why);
	if (r == ERR_FORMAT && why == NULL)
		abort();
	if (r == 0)
		ask(&s);
	signer_clear(&s);
	free(line);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len > 0 && data[0] == 'b')
		armour((struct span){data + 1, len - 1});
	else if (len > 0 && data[0] == '-')
		read_signature((struct span){data, len});
	else
		read_line((struct span){data, len});
	return 0;
}
