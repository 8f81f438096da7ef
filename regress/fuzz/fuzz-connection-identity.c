/* SPDX-License-Identifier: ISC */
/* What somebody at a master's socket tells of its connection. What is believed
 * is put in the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "client/mux/connection-identity.h"
#include "regress/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct connection_identity id;
	struct rd r = rd_from(data, len);
	struct buf b = { 0 };

	if (connection_identity_read(&r, &id) == 0) {
		if (id.port == 0 || *id.user == '\0' || *id.login == '\0')
			abort();
		connection_identity_put(&b, &id);
		if (buf_len(&b) != len || memcmp(buf_data(&b), data, len) != 0)
			abort();
	}
	connection_identity_clear(&id);
	buf_clear(&b);
	return 0;
}
