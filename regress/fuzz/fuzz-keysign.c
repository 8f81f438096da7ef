/* SPDX-License-Identifier: ISC */
/*
 * What a user may write to hpnssh-keysign. Whatever is signed must name the
 * caller and the host.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "keys/key.h"
#include "keytools/keysign/keysign-check.h"
#include "regress/fuzz/fuzz.h"

/* The public half is that of the seeds; nothing is signed here. */
static struct key *
host_key(void)
{
	static struct key *k;
	const char *line =
	    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFSMBVz3cx8l6yDa"
	    "VMgnNOSESWYceGQCPcRLkkTIUOy2";

	if (k == NULL && key_parse_line(&line, &k) != 0)
		abort();
	return k;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint8_t end[] = "\0\0\0\012here.test.\0\0\0\002jo";
	struct key *const keys[] = { host_key() };
	const struct keysign_facts facts = { .user = "jo",
		.host = "here.test", .keys = keys, .n = ARRAY_LEN(keys) };
	const size_t end_len = sizeof end - 1, host_len = 14;
	struct keysign_order order;
	struct span signed_data;
	const char *why;

	log_set_level(LOG_LVL_QUIET);
	if (keysign_read((struct span){ data, len }, &signed_data, &why) != 0 ||
	    keysign_check(signed_data, &facts, &order, &why) != 0)
		return 0;
	/* Names of hosts may differ in case: only the user is compared. */
	if (order.key != keys[0] || signed_data.len < end_len ||
	    memcmp(signed_data.p + signed_data.len - end_len + host_len,
		end + host_len, end_len - host_len) != 0)
		abort();
	return 0;
}
