/* SPDX-License-Identifier: ISC */
#include "tokens/sk/sk-der.h"

enum { DER_INTEGER = 0x02, DER_SEQUENCE = 0x30, NUMBER_MAX = 32 };

/* Reads an element with this tag, and returns its content. The element's length
 * field must be one byte long. */
static struct span
take(struct rd *rd, uint8_t tag)
{
	uint8_t got = rd_u8(rd), len = rd_u8(rd);

	if (rd_err(rd) == 0 && (got != tag || len > 127))
		rd_fail(rd, ERR_FORMAT);
	return rd_bytes(rd, len);
}

/* Reads a number, which must be positive, and returns it without zeros in
 * front. */
static struct span
take_number(struct rd *rd)
{
	struct span n = take(rd, DER_INTEGER);

	if (rd_err(rd) != 0)
		return n;
	if (n.len == 0 || (n.p[0] & 0x80) != 0) {
		rd_fail(rd, ERR_FORMAT);
		return n;
	}
	while (n.len > 0 && n.p[0] == 0) {
		n.p++;
		n.len--;
	}
	if (n.len == 0 || n.len > NUMBER_MAX)
		rd_fail(rd, ERR_FORMAT);
	return n;
}

int
sk_der_split(struct span der, struct span *r, struct span *s)
{
	struct rd outer = rd_from_span(der);
	struct span content = take(&outer, DER_SEQUENCE);
	struct rd inner = rd_from_span(content);

	if (rd_end(&outer) != 0)
		return ERR_FORMAT;
	*r = take_number(&inner);
	*s = take_number(&inner);
	return rd_end(&inner) == 0 ? 0 : ERR_FORMAT;
}
