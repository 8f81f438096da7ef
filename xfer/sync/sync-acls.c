/* SPDX-License-Identifier: ISC */
#include "xfer/sync/sync-acls.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "xfer/sync/sync-owners.h"
#include "xfer/xattrs.h"

/* Layout of an ACL in the kernel's form: a version, then entries of a tag,
 * permissions and an id, all little-endian. */
enum {
	HEAD = 4,
	ENTRY = 8,
	ID_AT = 4,
	TAG_USER = 0x02,
	TAG_GROUP = 0x08,
};

static bool
is_acl(const struct xattr *x)
{
	return xattrs_kind_of(x->name) == XATTRS_ACL && x->value.len >= HEAD &&
	    (x->value.len - HEAD) % ENTRY == 0;
}

static bool
has_id(const uint8_t *entry)
{
	return entry[1] == 0 && (entry[0] == TAG_USER || entry[0] == TAG_GROUP);
}

bool
sync_acls_have_ids(struct span set)
{
	struct rd in = rd_from_span(set);
	struct xattr x;

	while (xattrs_next(&in, &x))
		for (size_t at = HEAD; is_acl(&x) && at < x.value.len;
		    at += ENTRY)
			if (has_id(x.value.p + at))
				return true;
	return false;
}

static uint32_t
get_id(const uint8_t *entry)
{
	const uint8_t *p = entry + ID_AT;

	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
	    (uint32_t)p[3] << 24;
}

static void
set_id(uint8_t *entry, uint32_t id)
{
	for (int i = 0; i < 4; i++)
		entry[ID_AT + i] = (uint8_t)(id >> 8 * i);
}

/* Compares entries by tag, then by id: the order that an ACL needs. */
static int
entry_order(const void *a, const void *b)
{
	const uint8_t *x = a, *y = b;
	uint32_t one = get_id(x), two = get_id(y);

	if (x[0] != y[0])
		return x[0] - y[0];
	return one < two ? -1 : one > two;
}

static bool
map_acl(struct sync_owners *o, uint8_t *acl, size_t len)
{
	bool known = true;
	uint32_t to;

	for (size_t at = HEAD; at < len; at += ENTRY) {
		uint8_t *entry = acl + at;

		if (!has_id(entry))
			continue;
		known &= sync_owners_find(o, entry[0] == TAG_USER ?
			OWNERS_USER : OWNERS_GROUP, get_id(entry), &to);
		set_id(entry, to);
	}
	qsort(acl + HEAD, (len - HEAD) / ENTRY, ENTRY, entry_order);
	return known;
}

bool
sync_acls_map(struct sync_owners *o, struct span set, struct buf *out)
{
	struct rd in = rd_from_span(set);
	bool known = true;
	struct xattr x;
	uint8_t *acl;

	buf_reset(out);
	while (xattrs_next(&in, &x)) {
		buf_put_string(out, x.name.p, x.name.len);
		if (!is_acl(&x)) {
			buf_put_string(out, x.value.p, x.value.len);
			continue;
		}
		acl = xmalloc(x.value.len);
		memcpy(acl, x.value.p, x.value.len);
		known &= map_acl(o, acl, x.value.len);
		buf_put_string(out, acl, x.value.len);
		free(acl);
	}
	ENSURE(buf_err(out) == 0);
	return known;
}
