/* SPDX-License-Identifier: ISC */
/* Reads private RSA keys of ssh.com's programs. The lines are those of RFC
 * 4716, around a binary form of ssh.com's own in which lengths of numbers are
 * in bits. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "keys/keyfile-internal.h"

#define SSHCOM_MAGIC 0x3f6ff9eb

enum {
	NUMBER_BITS_MAX = 16384,
	/* If the first byte of the exponent is smaller than this, the exponent
	 * has three bytes, else one. */
	EXPONENT_ALONE_MIN = 30,
};

static const char sshcom_begin[] =
    "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----";

static struct span
get_number(struct rd *r)
{
	uint32_t bits = rd_u32(r);

	if (bits > NUMBER_BITS_MAX)
		rd_fail(r, ERR_KEY_LENGTH);
	return rd_bytes(r, bits / 8 + (bits % 8 != 0));
}

static struct span
get_exponent(struct rd *r)
{
	struct rd ahead = *r;
	uint8_t first = rd_u8(&ahead);

	return rd_bytes(r, first >= EXPONENT_ALONE_MIN ? 1 : 3);
}

/* Reads the head of the blob, up to the numbers. ERR_UNSUPPORTED: not RSA, or
 * encrypted. */
static int
get_head(struct rd *r)
{
	uint32_t magic = rd_u32(r);
	struct span type, cipher;

	(void)rd_u32(r); /* the length of the blob */
	type = rd_string(r);
	cipher = rd_string(r);
	for (int i = 0; i < 3; i++)
		(void)rd_u32(r);
	if (rd_err(r) != 0)
		return rd_err(r);
	if (magic != SSHCOM_MAGIC)
		return ERR_FORMAT;
	if (memmem(type.p, type.len, "rsa", 3) == NULL ||
	    !span_equals(cipher, "none"))
		return ERR_UNSUPPORTED;
	return 0;
}

/* Reads the blob: puts its numbers into the order of the openssh-key-v1 format
 * and parses that. */
static int
parse_blob(struct span blob, struct key **out)
{
	struct rd r = rd_from_span(blob), wire;
	struct span e, d, n, iqmp, q, p;
	struct buf own;
	int err = get_head(&r);

	if (err != 0)
		return err;
	e = get_exponent(&r);
	d = get_number(&r);
	n = get_number(&r);
	iqmp = get_number(&r);
	q = get_number(&r);
	p = get_number(&r);
	if (rd_err(&r) != 0)
		return rd_err(&r);
	buf_init_secret(&own);
	buf_put_cstring(&own, "ssh-rsa");
	buf_put_mpint(&own, n.p, n.len);
	buf_put_mpint(&own, e.p, e.len);
	buf_put_mpint(&own, d.p, d.len);
	buf_put_mpint(&own, iqmp.p, iqmp.len);
	buf_put_mpint(&own, p.p, p.len);
	buf_put_mpint(&own, q.p, q.len);
	err = buf_err(&own);
	wire = rd_from_buf(&own);
	if (err == 0)
		err = key_private_from_wire(&wire, out);
	buf_clear(&own);
	return err;
}

/* The length of the base64 without a padding of "===", which some programs
 * write although no base64 has one. */
static size_t
base64_length(const struct buf *body)
{
	size_t len = buf_len(body);

	if (len % 4 == 3 && memcmp(buf_data(body) + len - 3, "===", 3) == 0)
		return len - 3;
	return len;
}

int
keyfile_import_sshcom(struct span content, struct key **out)
{
	char *text = span_dup(content);
	struct buf body;
	uint8_t *blob = NULL;
	size_t len = 0;
	int r;

	if (text == NULL)
		return ERR_NOT_FOUND;
	if (strstr(text, sshcom_begin) == NULL) {
		mem_free_secret(text, content.len);
		return ERR_NOT_FOUND;
	}
	buf_init_secret(&body);
	r = keyfile_rfc4716_body(text, sshcom_begin, &body);
	if (r == 0)
		r = str_base64_decode((const char *)buf_data(&body),
		    base64_length(&body), &blob, &len);
	if (r == 0)
		r = parse_blob((struct span){ blob, len }, out);
	mem_free_secret(blob, len);
	mem_free_secret(text, content.len);
	buf_clear(&body);
	return r;
}
