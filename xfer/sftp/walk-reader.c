/* SPDX-License-Identifier: ISC */
#include "xfer/sftp/walk-reader.h"

#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "xfer/xattrs.h"

enum { STATUS_MAX = 31, VARINT_BYTES = 10 };

void
walk_reader_init(struct walk_reader *r, uint32_t want)
{
	memset(r, 0, sizeof *r);
	r->want = want;
}

void
walk_reader_clear(struct walk_reader *r)
{
	buf_clear(&r->xattrs);
}

void
walk_reader_reply(struct walk_reader *r, struct span records)
{
	r->in = rd_from_span(records);
}

/* A slash is less than all other bytes, so that the content of a directory
 * comes directly behind it. */
int
walk_path_cmp(const char *a, const char *b)
{
	int x, y;

	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	x = *a == '/' ? 1 : *a == '\0' ? 0 : (uint8_t)*a + 1;
	y = *b == '/' ? 1 : *b == '\0' ? 0 : (uint8_t)*b + 1;
	return x - y;
}

/* The place of the byte at p in the order of groups; the path ends at `end`. */
static int
rank(const char *p, const char *end)
{
	return p >= end ? 0 : *p == '/' ? 1 : (uint8_t)*p + 1;
}

int
walk_name_cmp(const char *a, const char *b)
{
	const char *name_a = path_last(a), *name_b = path_last(b);
	const char *end_a = a + path_parent_len(a);
	const char *end_b = b + path_parent_len(b);

	while (a < end_a && b < end_b && *a == *b) {
		a++;
		b++;
	}
	if (rank(a, end_a) != rank(b, end_b))
		return rank(a, end_a) - rank(b, end_b);
	return strcmp(name_a, name_b);
}

/* ---- fields ------------------------------------------------------------- */

/* Reads a number of at most max: seven bits a byte, the lowest first. Only the
 * shortest form is accepted. */
static uint64_t
varint(struct rd *in, uint64_t max)
{
	uint64_t v = 0;
	uint8_t byte;

	for (unsigned shift = 0; shift < 7 * VARINT_BYTES; shift += 7) {
		byte = rd_u8(in);
		if (shift == 63 && byte > 1)
			break;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if ((byte & 0x80) != 0)
			continue;
		if ((byte == 0 && shift > 0) || v > max)
			break;
		return v;
	}
	rd_fail(in, ERR_FORMAT);
	return 0;
}

static uint32_t
number(struct rd *in, uint32_t max)
{
	return (uint32_t)varint(in, max);
}

/* Reads a string into s, behind the first `shared` bytes, which are kept from
 * the string before. */
static void
text_to(struct rd *in, char *s, size_t shared, size_t max)
{
	struct span rest = rd_bytes(in, varint(in, max));

	if (in->err != 0)
		return;
	if (shared + rest.len > max || memchr(rest.p, '\0', rest.len) != NULL) {
		rd_fail(in, ERR_FORMAT);
		return;
	}
	memcpy(s + shared, rest.p, rest.len);
	s[shared + rest.len] = '\0';
}

static void
front_coded(struct rd *in, char *s, size_t max)
{
	size_t shared = varint(in, strlen(s));

	text_to(in, s, shared, max);
}

static bool
is_name(const char *s, size_t len)
{
	return len > 0 && len <= WALK_NAME_MAX && memchr(s, '/', len) == NULL &&
	    !(len == 1 && s[0] == '.') &&
	    !(len == 2 && s[0] == '.' && s[1] == '.');
}

/* Is it a path below the top of the walk? "" is the top itself. */
static bool
is_path(const char *s)
{
	size_t len;

	if (*s == '\0')
		return true;
	for (;; s += len + 1) {
		len = strcspn(s, "/");
		if (!is_name(s, len))
			return false;
		if (s[len] == '\0')
			return true;
	}
}

/* ---- records ------------------------------------------------------------ */

static void
read_group(struct walk_reader *r, uint8_t flags, struct walk_item *item)
{
	struct rd *in = &r->in;

	if ((flags & ~(WALK_GROUP_ERROR | WALK_GROUP_MOUNTED)) != 0 ||
	    ((flags & WALK_GROUP_MOUNTED) != 0 &&
		(r->want & WALK_MOUNTS) == 0))
		rd_fail(in, ERR_FORMAT);
	strcpy(r->before, r->path);
	front_coded(in, r->path, WALK_PATH_MAX);
	if (!is_path(r->path) ||
	    (r->any && walk_path_cmp(r->before, r->path) >= 0))
		rd_fail(in, ERR_FORMAT);
	if ((flags & WALK_GROUP_ERROR) != 0 &&
	    (item->status = number(in, STATUS_MAX)) == 0)
		rd_fail(in, ERR_FORMAT);
	r->any = true;
	r->in_group = (flags & WALK_GROUP_ERROR) == 0;
	r->name[0] = '\0';
	item->is_group = true;
	item->path = r->path;
	item->mounted = (flags & WALK_GROUP_MOUNTED) != 0;
}

static void
read_mtime(struct walk_reader *r, struct walk_item *item)
{
	uint64_t coded = varint(&r->in, UINT64_MAX);
	int64_t delta = (int64_t)(coded >> 1) ^ -(int64_t)(coded & 1);

	if (__builtin_add_overflow(r->mtime, delta, &r->mtime))
		rd_fail(&r->in, ERR_FORMAT);
	item->mtime = r->mtime;
	item->nsec = number(&r->in, WALK_NSEC_MAX);
}

static void
read_attributes(struct walk_reader *r, uint8_t head, struct walk_item *item)
{
	struct rd *in = &r->in;

	if ((r->want & WALK_MODE) != 0 && (head & WALK_SAME_MODE) == 0)
		r->mode = number(in, WALK_MODE_MAX);
	item->mode = r->mode;
	if ((r->want & WALK_OWNER) != 0 && (head & WALK_SAME_OWNER) == 0) {
		r->uid = number(in, UINT32_MAX);
		r->gid = number(in, UINT32_MAX);
	}
	item->uid = r->uid;
	item->gid = r->gid;
	if (item->kind == WALK_FILE)
		item->size = varint(in, INT64_MAX);
	if ((r->want & WALK_MTIME) != 0)
		read_mtime(r, item);
	if ((r->want & WALK_NAMES) != 0)
		item->nlink = number(in, UINT32_MAX);
	if (item->nlink > 1 && item->kind != WALK_DIR) {
		item->dev = varint(in, UINT64_MAX);
		item->ino = varint(in, UINT64_MAX);
	}
	if ((r->want & WALK_BLOCKS) != 0 && item->kind == WALK_FILE)
		item->blocks = varint(in, UINT64_MAX);
}

/* Reads the set of an entry. It may only have kinds that were asked for. */
static void
read_xattrs(struct walk_reader *r, struct walk_item *item)
{
	uint32_t kinds = (r->want & WALK_XATTRS_ALL) / WALK_XATTRS;
	struct rd *in = &r->in;
	uint64_t len;
	struct span set;

	if (kinds == 0 || (item->kind != WALK_FILE &&
	    item->kind != WALK_DIR && item->kind != WALK_LINK))
		return;
	len = varint(in, WALK_SET + XATTRS_BYTES_MAX);
	item->xattrs_unread = len == WALK_SET_UNREAD;
	if (len >= WALK_SET) {
		set = rd_bytes(in, len - WALK_SET);
		if (in->err == 0 && xattrs_check(set, kinds) < 0)
			rd_fail(in, ERR_FORMAT);
		buf_reset(&r->xattrs);
		buf_put(&r->xattrs, set.p, set.len);
		if (buf_err(&r->xattrs) < 0)
			rd_fail(in, buf_err(&r->xattrs));
	}
	if (len >= WALK_SET_SAME)
		item->xattrs = buf_span(&r->xattrs);
}

static void
read_content(struct walk_reader *r, uint8_t head, struct walk_item *item)
{
	struct rd *in = &r->in;

	if ((r->want & WALK_DEVICE) != 0 &&
	    (item->kind == WALK_CHAR || item->kind == WALK_BLOCK)) {
		item->major = number(in, UINT32_MAX);
		item->minor = number(in, UINT32_MAX);
	}
	r->text[0] = '\0';
	if ((r->want & WALK_TEXT) != 0 && item->kind == WALK_LINK)
		text_to(in, r->text, 0, WALK_PATH_MAX);
	item->text = r->text;
	if (item->kind == WALK_FILE && (head & WALK_HAS_DIGEST) != 0)
		item->digest = rd_bytes(in, WALK_DIGEST_LEN).p;
	read_xattrs(r, item);
}

/* Is it a valid first byte of an entry? False if it has flags that were not
 * asked for, or do not go with the kind. */
static bool
is_head(const struct walk_reader *r, uint8_t head)
{
	unsigned kind = head & WALK_KIND;

	if (kind == WALK_FILE_AWAY && ((r->want & WALK_AWAY) == 0 ||
	    (head & WALK_HAS_DIGEST) != 0))
		return false;
	if (kind > WALK_FILE_AWAY || (kind == WALK_UNKNOWN && head != 0))
		return false;
	if ((r->want & WALK_MODE) == 0 && (head & WALK_SAME_MODE) != 0)
		return false;
	if ((r->want & WALK_OWNER) == 0 && (head & WALK_SAME_OWNER) != 0)
		return false;
	if ((head & WALK_HAS_DIGEST) == 0)
		return true;
	return kind == WALK_DIR ||
	    (kind == WALK_FILE && (r->want & WALK_DIGEST) != 0);
}

static void
read_entry(struct walk_reader *r, uint8_t head, struct walk_item *item)
{
	char before[WALK_NAME_MAX + 1];
	struct rd *in = &r->in;

	if (!r->in_group || !is_head(r, head))
		rd_fail(in, ERR_FORMAT);
	strcpy(before, r->name);
	front_coded(in, r->name, WALK_NAME_MAX);
	if (!is_name(r->name, strlen(r->name)) || strcmp(before, r->name) >= 0)
		rd_fail(in, ERR_FORMAT);
	item->name = r->name;
	item->kind = (enum walk_kind)(head & WALK_KIND);
	item->away = item->kind == WALK_FILE_AWAY;
	if (item->away)
		item->kind = WALK_FILE;
	item->not_entered = item->kind == WALK_DIR &&
	    (head & WALK_NOT_ENTERED) != 0;
	if (item->kind != WALK_UNKNOWN) {
		read_attributes(r, head, item);
		read_content(r, head, item);
	} else if ((item->status = number(in, STATUS_MAX)) == 0) {
		rd_fail(in, ERR_FORMAT);
	}
}

int
walk_reader_next(struct walk_reader *r, struct walk_item *item)
{
	uint8_t head;
	int err;

	*item = (struct walk_item){ .is_group = false };
	if (r->in.err == 0 && r->in.len == 0)
		return 0;
	head = rd_u8(&r->in);
	if ((head & WALK_GROUP) != 0)
		read_group(r, head & (uint8_t)~WALK_GROUP, item);
	else
		read_entry(r, head, item);
	err = rd_err(&r->in);
	return err < 0 ? err : 1;
}
