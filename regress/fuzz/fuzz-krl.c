/* SPDX-License-Identifier: ISC */
/*
 * KRLs. One that is read is written again and must revoke the same: what it
 * says of a key and of numbers is asked of both.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "keys/krl.h"
#include "keys/revoked-keys.h"
#include "regress/fuzz/fuzz.h"

static const char line[] =
    "ssh-ed25519 "
    "AAAAC3NzaC1lZDI1NTE5AAAAIFSMBVz3cx8l6yDaVMgnNOSESWYceGQCPcRLkkTIUOy2";

static struct key *
known_key(void)
{
	static struct key *k;
	const char *s = line;

	if (k == NULL && key_parse_line(&s, &k) != 0)
		abort();
	return k;
}

/* Numbers that are revoked: their sum, so that order and pieces do not
 * matter as long as no number is in two of them. */
struct sum {
	uint64_t first, last, previous;
	size_t count;
};

static int
add(void *arg, const struct krl_item *item)
{
	struct sum *s = arg;

	if (item->what == KRL_SERIALS) {
		if (item->first > item->last)
			abort();
		s->first += item->first;
		s->last += item->last;
		s->count++;
	}
	return 0;
}

static struct sum
sum_of(const struct buf *b)
{
	struct sum s = {0};

	if (krl_read(buf_span(b), NULL, add, &s) !=
	    0)
		abort();
	return s;
}

static void
write_again(struct span content, bool revoked)
{
	struct krl_header h;
	struct krl *one = NULL, *two = NULL;
	struct buf b = {0}, c = {0};
	struct sum x, y;
	bool again;

	if (krl_new(&one) != 0 || krl_new(&two) != 0 ||
	    krl_add_all(one, content, &h) != 0 ||
	    krl_write(one, &h, &b) != 0)
		abort();
	if (krl_find(buf_span(&b), known_key(),
		&again) != 0 ||
	    again != revoked)
		abort();
	if (krl_add_all(two, buf_span(&b), &h) !=
		0 ||
	    krl_write(two, &h, &c) != 0)
		abort();
	x = sum_of(&b);
	y = sum_of(&c);
	if (x.first != y.first || x.last != y.last || x.count != y.count)
		abort();
	krl_free(one);
	krl_free(two);
	buf_clear(&b);
	buf_clear(&c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct span content = {data, len};
	struct buf list = {0};
	bool revoked = false, listed = false;

	if (krl_find(content, known_key(), &revoked) == 0)
		write_again(content, revoked);
	else if (!revoked)
		abort();
	buf_put(&list, data, len);
	if (revoked_keys_find(&list, known_key(), &listed) != 0 && !listed)
		abort();
	buf_clear(&list);
	return 0;
}
