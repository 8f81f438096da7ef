/* SPDX-License-Identifier: ISC */
/* hpnsshd-auth gets a list of mechanisms from a client that is not
 * authenticated. What is found in it was there. */
#include <stdlib.h>
#include <string.h>

#include "gss/gss-wire.h"
#include "regress/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct span oid = gss_wire_kerberos();
	struct rd in = rd_from(data, len);
	bool found = false, there;

	if (len > 65536)
		return 0;
	there = len >= oid.len && memmem(data, len, oid.p, oid.len) != NULL;
	if (gss_wire_get_request(&in, &found) == 0 && found && !there)
		abort();
	return 0;
}
