/* SPDX-License-Identifier: ISC */
/*
 * Writes revoked serial numbers in as few bytes as possible (give or take a
 * byte or two, where a bitmap could have begun at a later number). The numbers
 * come as sorted ranges, and a section of the file is a list of numbers, one
 * range, or a bitmap. This is a shortest path: for each range in turn, and for
 * each form that it may have, the least bytes for all ranges up to it are
 * computed, and the form that the range before it has in that case. The forms
 * are then read off backwards from the last range.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "keys/krl-internal.h"

enum form { LIST, RANGE, BITMAP, FORMS };

enum {
	HEAD = 1 + 4, /* bytes of a section's type and length */
	NUMBER = 8,   /* bytes of a serial number */
	/* OpenSSH writes larger bitmaps, but cannot read them. */
	BITS_MAX = 2048 * 8,
	LISTED_MAX = 3, /* a range of more numbers is not put into a list */
};

static const uint64_t impossible = UINT64_MAX / 2;

/* The least bytes for all ranges up to one, if that one has a certain form. */
struct way {
	uint64_t bytes;
	uint64_t first, before; /* of an open bitmap: the number of its bit 0,
				 * and the bytes of all that is written before
				 * it */
};

/* How a range in a certain form follows the range before it. */
struct step {
	uint8_t form; /* the form of the range before it */
	bool continues; /* the range is in the section of the range before it */
};

static uint64_t
bitmap_room(uint64_t first, uint64_t last)
{
	/* A leading bit 0 is needed, as an mpint with the highest bit set is
	 * negative. So 8 numbers take 2 bytes. */
	return HEAD + NUMBER + 4 + (last - first + 1) / 8 + 1;
}

static struct way
cheapest(const struct way ways[FORMS], uint8_t *form)
{
	*form = LIST;
	for (uint8_t i = 0; i < FORMS; i++)
		if (ways[i].bytes < ways[*form].bytes)
			*form = i;
	return ways[*form];
}

static struct way
go_to_list(const struct way last[FORMS], const struct krl_range *s,
    struct step *step)
{
	uint64_t begun = cheapest(last, &step->form).bytes + HEAD;

	if (s->last - s->first >= LISTED_MAX)
		return (struct way){ .bytes = impossible };
	if (last[LIST].bytes <= begun) {
		*step = (struct step){ LIST, true };
		begun = last[LIST].bytes;
	}
	return (struct way){ begun + NUMBER * (s->last - s->first + 1), 0, 0 };
}

static struct way
go_to_range(const struct way last[FORMS], const struct krl_range *s,
    struct step *step)
{
	(void)s;
	return (struct way){ cheapest(last, &step->form).bytes + HEAD +
		2 * NUMBER, 0, 0 };
}

static struct way
go_to_bitmap(const struct way last[FORMS], const struct krl_range *s,
    struct step *step)
{
	const struct way *open = &last[BITMAP];
	struct way begun = { impossible, s->first,
		cheapest(last, &step->form).bytes };
	uint64_t more = impossible;

	if (s->last - s->first < BITS_MAX)
		begun.bytes = begun.before + bitmap_room(s->first, s->last);
	if (open->bytes < impossible && s->last - open->first < BITS_MAX)
		more = open->before + bitmap_room(open->first, s->last);
	if (more == impossible || more > begun.bytes)
		return begun;
	*step = (struct step){ BITMAP, true };
	return (struct way){ more, open->first, open->before };
}

/* Fills steps, FORMS of them for each range. Returns the cheapest form of the
 * last range. */
static uint8_t
find_steps(const struct krl_range *v, size_t n, struct step *steps)
{
	static struct way (*const go_to[FORMS])(const struct way *last,
	    const struct krl_range *s, struct step *step) = {
		[LIST] = go_to_list,
		[RANGE] = go_to_range,
		[BITMAP] = go_to_bitmap,
	};
	struct way last[FORMS] = { { impossible, 0, 0 }, { 0, 0, 0 },
		{ impossible, 0, 0 } }, next[FORMS];
	uint8_t form;

	for (size_t i = 0; i < n; i++) {
		for (size_t f = 0; f < FORMS; f++)
			next[f] = go_to[f](last, &v[i], &steps[i * FORMS + f]);
		memcpy(last, next, sizeof last);
	}
	(void)cheapest(last, &form);
	return form;
}

/* ---- writing ------------------------------------------------------------ */

static void
put_list(struct buf *out, const struct krl_range *v, size_t n)
{
	size_t mark;

	buf_put_u8(out, KRL_CERT_LIST);
	mark = buf_open_string(out);
	for (size_t i = 0; i < n; i++)
		for (uint64_t k = 0; k <= v[i].last - v[i].first; k++)
			buf_put_u64(out, v[i].first + k);
	buf_close_string(out, mark);
}

static void
put_range(struct buf *out, const struct krl_range *v, size_t n)
{
	(void)n;
	buf_put_u8(out, KRL_CERT_RANGE);
	buf_put_u32(out, 2 * NUMBER);
	buf_put_u64(out, v->first);
	buf_put_u64(out, v->last);
}

static void
put_bitmap(struct buf *out, const struct krl_range *v, size_t n)
{
	uint8_t bits[BITS_MAX / 8] = { 0 };
	size_t mark, len = (size_t)(v[n - 1].last - v->first) / 8 + 1;

	for (size_t i = 0; i < n; i++) {
		for (uint64_t k = 0; k <= v[i].last - v[i].first; k++) {
			size_t at = (size_t)(v[i].first + k - v->first);

			bits[len - 1 - at / 8] |= (uint8_t)(1 << at % 8);
		}
	}
	buf_put_u8(out, KRL_CERT_BITMAP);
	mark = buf_open_string(out);
	buf_put_u64(out, v->first);
	buf_put_mpint(out, bits, len);
	buf_close_string(out, mark);
}

int
krl_put_serials(struct buf *out, const struct krl_range *v, size_t n)
{
	static void (*const put[FORMS])(struct buf *out,
	    const struct krl_range *v, size_t n) = {
		[LIST] = put_list,
		[RANGE] = put_range,
		[BITMAP] = put_bitmap,
	};
	struct step *steps = calloc(n + 1, FORMS * sizeof *steps);
	uint8_t *forms = calloc(n + 1, 1);
	bool *begins = calloc(n + 1, sizeof *begins);
	int r = ERR_NOMEM;

	if (steps == NULL || forms == NULL || begins == NULL)
		goto out;
	forms[n] = n > 0 ? find_steps(v, n, steps) : 0;
	begins[n] = true;
	for (size_t i = n; i > 0; i--) {
		const struct step *s = &steps[(i - 1) * FORMS + forms[i]];

		begins[i - 1] = !s->continues;
		forms[i - 1] = s->form;
	}
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; !begins[end]; end++)
			;
		put[forms[end]](out, &v[i], end - i);
	}
	r = buf_err(out);
out:
	free(begins);
	free(forms);
	free(steps);
	return r;
}
