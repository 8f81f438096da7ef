/* SPDX-License-Identifier: ISC */
/* Rules of a peer, as they stand on the wire, behind a 16 bit length; what
 * follows is a path. */
#include <stdlib.h>

#include "regress/fuzz/fuzz.h"
#include "xfer/filter.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rd in = rd_from(data, len);
	struct span rules = fuzz_piece(&in);
	struct filter *f = filter_new();
	char *path = span_dup(rd_rest(&in));

	if (f == NULL)
		abort();
	if (filter_add_wire(f, rules.p, rules.len) == 0 && path != NULL) {
		(void)filter_excludes(f, path, false);
		(void)filter_excludes(f, path, true);
	}
	filter_free(f);
	free(path);
	return 0;
}
