/* SPDX-License-Identifier: ISC */
/* Keys of lines, and in messages. */
#ifndef HPN_REGRESS_UNIT_SOME_KEYS_H
#define HPN_REGRESS_UNIT_SOME_KEYS_H

#include "regress/unit/hex.h"

#include "base/buf.h"
#include "keys/key.h"

/* Caller frees. */
static inline struct key *
key_of(const char *line)
{
	struct key *k = NULL;

	assert_int_equal(key_parse_line(&line, &k), 0);
	return k;
}

/* The blob, as a string. */
static inline void
put_key(struct buf *b, const struct key *k)
{
	size_t mark = buf_open_string(b);

	assert_int_equal(key_to_blob(k, b), 0);
	buf_close_string(b, mark);
}

#endif
