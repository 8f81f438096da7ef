/* SPDX-License-Identifier: ISC */
/* Fingerprints of keys, as text and as a picture. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "keys/key-internal.h"

static int
hash_key(const struct key *k, enum digest_alg alg, uint8_t *out)
{
	struct buf blob = { 0 };
	int r = key_to_blob(key_identity(k), &blob);

	if (r == 0)
		r = digest_once(alg, buf_data(&blob), buf_len(&blob), out);
	buf_clear(&blob);
	return r;
}

bool
key_fingerprint_hash_ok(enum digest_alg alg)
{
	return alg != DIGEST_SHA224 && alg != DIGEST_BLAKE2B_512;
}

/* A fingerprint by MD5 is pairs of hex digits with colons between them. Those
 * by other hashes are base64 without padding. */
char *
key_fingerprint(const struct key *k, enum digest_alg alg)
{
	uint8_t hash[DIGEST_MAX_LEN];
	struct buf text = { 0 };
	char *base64, *out = NULL;

	if (hash_key(k, alg, hash) != 0)
		return NULL;
	buf_printf(&text, "%s:", digest_name(alg));
	if (alg == DIGEST_MD5) {
		for (size_t i = 0; i < digest_len(alg); i++)
			buf_printf(&text, i == 0 ? "%02x" : ":%02x", hash[i]);
	} else {
		base64 = str_base64_encode(hash, digest_len(alg));
		if (base64 == NULL)
			goto out;
		buf_put(&text, base64, strcspn(base64, "="));
		free(base64);
	}
	if (buf_err(&text) == 0)
		out = buf_dup_string(&text);
out:
	buf_clear(&text);
	return out;
}

enum { SHA1_LEN = 20 };

/* Writes two bytes of the hash as five letters and a dash. *seed is a checksum
 * of all bytes so far, which changes the letters of later words. */
static void
put_word(struct buf *out, const uint8_t *two, unsigned *seed)
{
	static const char vowels[] = "aeiouy", others[] = "bcdfghklmnprstvzx";

	buf_put_u8(out, (uint8_t)vowels[((two[0] >> 6) + *seed) % 6]);
	buf_put_u8(out, (uint8_t)others[two[0] >> 2 & 15]);
	buf_put_u8(out, (uint8_t)vowels[((two[0] & 3) + *seed / 6) % 6]);
	buf_put_u8(out, (uint8_t)others[two[1] >> 4]);
	buf_put_u8(out, '-');
	buf_put_u8(out, (uint8_t)others[two[1] & 15]);
	*seed = (*seed * 5 + two[0] * 7U + two[1]) % 36;
}

char *
key_bubblebabble(const struct key *k)
{
	static const char vowels[] = "aeiouy";
	uint8_t hash[DIGEST_MAX_LEN];
	struct buf text = { 0 };
	unsigned seed = 1;
	char *out = NULL;

	if (hash_key(k, DIGEST_SHA1, hash) != 0)
		return NULL;
	buf_put_u8(&text, 'x');
	for (size_t i = 0; i < SHA1_LEN; i += 2)
		put_word(&text, hash + i, &seed);
	buf_printf(&text, "%cx%cx", vowels[seed % 6], vowels[seed / 6]);
	if (buf_err(&text) == 0)
		out = buf_dup_string(&text);
	buf_clear(&text);
	return out;
}

/*
 * The picture of a fingerprint ("drunken bishop" by D. Loss, T. Limmer and A.
 * von Gernler): a walk over a board takes one diagonal step for each two bits
 * of the hash. The character of a square says how often it was visited.
 */
enum { BOARD_W = 17, BOARD_H = 9 };

static const char art_visits[] = " .o+=*BOX@%&#/^";

static int
clamp(int v, int max)
{
	return v < 0 ? 0 : v > max ? max : v;
}

static void
art_walk(const uint8_t *hash, size_t len, char board[BOARD_H][BOARD_W])
{
	uint8_t visits[BOARD_H][BOARD_W] = { 0 };
	int x = BOARD_W / 2, y = BOARD_H / 2;

	for (size_t step = 0; step < len * 4; step++) {
		unsigned way = hash[step / 4] >> (2 * (step % 4));

		x = clamp(x + ((way & 1) != 0 ? 1 : -1), BOARD_W - 1);
		y = clamp(y + ((way & 2) != 0 ? 1 : -1), BOARD_H - 1);
		if (visits[y][x] < sizeof art_visits - 2)
			visits[y][x]++;
	}
	for (int row = 0; row < BOARD_H; row++) {
		for (int col = 0; col < BOARD_W; col++)
			board[row][col] = art_visits[visits[row][col]];
	}
	board[BOARD_H / 2][BOARD_W / 2] = 'S';
	board[y][x] = 'E';
}

/* Writes the upper or lower border of the picture, with text in its middle. */
static void
art_border(struct buf *out, const char *text)
{
	int len = (int)strlen(text), left = (BOARD_W - len) / 2;

	buf_put_u8(out, '+');
	for (int i = 0; i < left; i++)
		buf_put_u8(out, '-');
	buf_put(out, text, (size_t)len);
	for (int i = left + len; i < BOARD_W; i++)
		buf_put_u8(out, '-');
	buf_put_u8(out, '+');
}

char *
key_randomart(const struct key *k, enum digest_alg alg)
{
	uint8_t hash[DIGEST_MAX_LEN];
	char board[BOARD_H][BOARD_W], title[BOARD_W + 1], foot[BOARD_W + 1];
	struct buf out = { 0 };
	char *art = NULL;
	int n;

	if (hash_key(k, alg, hash) != 0)
		return NULL;
	art_walk(hash, digest_len(alg), board);
	n = snprintf(title, sizeof title, "[%s %u]", key_short_name(k),
	    key_bits(k));
	if (n < 0 || n > BOARD_W)
		snprintf(title, sizeof title, "[%s]", key_short_name(k));
	snprintf(foot, sizeof foot, "[%s]", digest_name(alg));

	art_border(&out, title);
	for (int row = 0; row < BOARD_H; row++) {
		buf_put(&out, "\n|", 2);
		buf_put(&out, board[row], BOARD_W);
		buf_put_u8(&out, '|');
	}
	buf_put_u8(&out, '\n');
	art_border(&out, foot);
	if (buf_err(&out) == 0)
		art = buf_dup_string(&out);
	buf_clear(&out);
	return art;
}
