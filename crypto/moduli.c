/* SPDX-License-Identifier: ISC */
#include "compat/bsd.h"
#include "crypto/moduli-internal.h"

#include <stdlib.h>
#include <string.h>

enum {
	FIELDS = 7,
	TIME_LEN = 14,
};

void
moduli_clear(struct modulus *m)
{
	buf_clear(&m->prime);
	buf_clear(&m->generator);
	*m = (struct modulus){ 0 };
}

static int
get_number(const char *s, uint32_t max, uint32_t *out)
{
	const char *error = NULL;

	*out = (uint32_t)strtonum(s, 0, max, &error);
	return error == NULL ? 0 : ERR_FORMAT;
}

int
moduli_put_number(struct buf *out, const BIGNUM *v)
{
	size_t len = (size_t)BN_num_bytes(v);
	uint8_t *to = buf_reserve(out, len);

	if (to == NULL)
		return buf_err(out);
	BN_bn2bin(v, to);
	buf_commit(out, len);
	return 0;
}

/* Reads a hexadecimal number and appends its bytes. Sets *bits, unless bits is
 * NULL, to its length in bits. */
static int
get_hex(const char *s, struct buf *out, uint32_t *bits)
{
	BIGNUM *v = NULL;
	int r;

	if (s[0] == '\0' || s[strspn(s, "0123456789abcdefABCDEF")] != '\0')
		return ERR_FORMAT;
	if (BN_hex2bn(&v, s) == 0)
		return ERR_NOMEM;
	if (bits != NULL)
		*bits = (uint32_t)BN_num_bits(v);
	r = moduli_put_number(out, v);
	BN_free(v);
	return r;
}

static int
parse_fields(char *field[FIELDS], struct modulus *m)
{
	uint32_t size, bits = 0;
	int r;

	if (strlen(field[0]) != TIME_LEN ||
	    strspn(field[0], "0123456789") != TIME_LEN)
		return ERR_FORMAT;
	memcpy(m->time, field[0], TIME_LEN + 1);
	if (get_number(field[1], 5, &m->type) != 0 ||
	    get_number(field[2], 31, &m->tests) != 0 ||
	    get_number(field[3], INT32_MAX, &m->trials) != 0 ||
	    get_number(field[4], MODULI_MAX_BITS, &size) != 0)
		return ERR_FORMAT;
	r = get_hex(field[5], &m->generator, NULL);
	if (r == 0)
		r = get_hex(field[6], &m->prime, &bits);
	if (r == 0 && (bits != size + 1 || bits < MODULI_MIN_BITS))
		r = ERR_FORMAT;
	m->bits = bits;
	return r;
}

int
moduli_parse(const char *line, struct modulus *m)
{
	char copy[MODULI_MAX_LINE], *field[FIELDS], *rest = copy, *word;
	size_t n = 0;
	int r;

	moduli_clear(m);
	line += strspn(line, " \t");
	if (*line == '#' || *line == '\n' || *line == '\0')
		return ERR_NOT_FOUND;
	if (strlcpy(copy, line, sizeof copy) >= sizeof copy)
		return ERR_LIMIT;
	copy[strcspn(copy, "\r\n")] = '\0';
	while ((word = strsep(&rest, " \t")) != NULL) {
		if (*word == '\0')
			continue;
		if (n == FIELDS)
			return ERR_FORMAT;
		field[n++] = word;
	}
	r = n == FIELDS ? parse_fields(field, m) : ERR_FORMAT;
	if (r != 0)
		moduli_clear(m);
	return r;
}

bool
moduli_is_usable(const struct modulus *m)
{
	return m->type == MODULI_TYPE_SAFE && m->trials > 0 &&
	    (m->tests & MODULI_TEST_COMPOSITE) == 0 &&
	    (m->tests & MODULI_TEST_MILLER_RABIN) != 0;
}
