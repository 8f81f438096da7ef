/* SPDX-License-Identifier: ISC */
/* The entry of every fuzz target, as libFuzzer and replay.c call it; and what
 * several of them need. */
#ifndef HPN_REGRESS_FUZZ_H
#define HPN_REGRESS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The piece behind a 16 bit length, or what there is of it. */
static inline struct span
fuzz_piece(struct rd *in)
{
	size_t n = rd_u16(in);

	return rd_bytes(in, n < in->len ? n : in->len);
}

/* The input as a file; path is a template of mkstemp(3). */
static inline void
fuzz_file(char *path, const uint8_t *data, size_t len)
{
	int fd = mkstemp(path);

	if (fd == -1 || fd_write_all(fd, data, len) != 0)
		abort();
	close(fd);
}

#endif
