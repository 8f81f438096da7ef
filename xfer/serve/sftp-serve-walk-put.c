/* SPDX-License-Identifier: ISC */
/* Records of walk@hpnssh.org; see sftp-serve-walk.h, and docs/SFTP.md. */
#include <string.h>

#include "base/mem.h"
#include "compat/bsd.h"
#include "compat/file.h"
#include "xfer/serve/sftp-serve-walk.h"
#include "xfer/sftp/sftp-proto.h"

static void
put_varint(struct buf *b, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		buf_put_u8(b, (uint8_t)(v | 0x80));
	buf_put_u8(b, (uint8_t)v);
}

/* Appends a signed number in zigzag coding, so that small negative numbers are
 * short, too. */
static void
put_delta(struct buf *b, int64_t v)
{
	put_varint(b, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

static void
put_text(struct buf *b, const char *s)
{
	put_varint(b, strlen(s));
	buf_put(b, s, strlen(s));
}

/* Appends how many leading bytes s shares with `before`, then the rest of s.
 * Then copies s to before. */
static void
put_front_coded(struct buf *b, char *before, size_t size, const char *s)
{
	size_t shared = 0;

	while (s[shared] != '\0' && s[shared] == before[shared])
		shared++;
	put_varint(b, shared);
	put_text(b, s + shared);
	strlcpy(before, s, size);
}

void
walk_put_group(struct walk_put *p, struct buf *b, const char *path,
    bool mounted, int error)
{
	buf_put_u8(b, WALK_GROUP | (error != 0 ? WALK_GROUP_ERROR : 0) |
		(mounted ? WALK_GROUP_MOUNTED : 0));
	put_front_coded(b, p->path, sizeof p->path, path);
	if (error != 0)
		put_varint(b, sftp_status_from_errno(error));
	p->name[0] = '\0';
}

void
walk_put_unknown(struct walk_put *p, struct buf *b, const char *name,
    int error)
{
	buf_put_u8(b, WALK_UNKNOWN);
	put_front_coded(b, p->name, sizeof p->name, name);
	put_varint(b, sftp_status_from_errno(error));
}

static uint8_t
head_of(const struct walk_put *p, const struct stat *st, bool left,
    const uint8_t *digest)
{
	enum walk_kind kind = walk_kind_of(st->st_mode);
	/* Sockets, and kinds of files that only some systems have, are never
	 * copied. */
	uint8_t head = (uint8_t)(kind == WALK_UNKNOWN ? WALK_SOCKET :
		left && kind == WALK_FILE ? WALK_FILE_AWAY : kind);

	if ((p->want & WALK_MODE) != 0 &&
	    (st->st_mode & WALK_MODE_MAX) == p->mode)
		head |= WALK_SAME_MODE;
	if ((p->want & WALK_OWNER) != 0 && st->st_uid == p->uid &&
	    st->st_gid == p->gid)
		head |= WALK_SAME_OWNER;
	if (digest != NULL)
		head |= WALK_HAS_DIGEST;
	if (left && kind == WALK_DIR)
		head |= WALK_NOT_ENTERED;
	return head;
}

static void
put_attributes(struct walk_put *p, struct buf *b, uint8_t head,
    const struct stat *st)
{
	if ((p->want & WALK_MODE) != 0 && (head & WALK_SAME_MODE) == 0)
		put_varint(b, p->mode = st->st_mode & WALK_MODE_MAX);
	if ((p->want & WALK_OWNER) != 0 && (head & WALK_SAME_OWNER) == 0) {
		put_varint(b, p->uid = st->st_uid);
		put_varint(b, p->gid = st->st_gid);
	}
	if (S_ISREG(st->st_mode))
		put_varint(b, (uint64_t)st->st_size);
	if ((p->want & WALK_MTIME) != 0) {
		put_delta(b, (int64_t)((uint64_t)st->FILE_MTIME.tv_sec -
		    (uint64_t)p->mtime));
		put_varint(b, (uint64_t)st->FILE_MTIME.tv_nsec);
		p->mtime = st->FILE_MTIME.tv_sec;
	}
	if ((p->want & WALK_NAMES) == 0)
		return;
	put_varint(b, (uint32_t)st->st_nlink);
	if ((uint32_t)st->st_nlink > 1 && !S_ISDIR(st->st_mode)) {
		put_varint(b, st->st_dev);
		put_varint(b, st->st_ino);
	}
}

void
walk_put_entry(struct walk_put *p, struct buf *b, const char *name,
    const struct stat *st, bool left, const char *text,
    const uint8_t *digest)
{
	uint8_t head = head_of(p, st, left, digest);

	buf_put_u8(b, head);
	put_front_coded(b, p->name, sizeof p->name, name);
	put_attributes(p, b, head, st);
	if ((p->want & WALK_BLOCKS) != 0 && S_ISREG(st->st_mode))
		put_varint(b, (uint64_t)st->st_blocks);
	if ((p->want & WALK_DEVICE) != 0 &&
	    (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode))) {
		put_varint(b, file_device_major(st->st_rdev));
		put_varint(b, file_device_minor(st->st_rdev));
	}
	if ((p->want & WALK_TEXT) != 0 && S_ISLNK(st->st_mode))
		put_text(b, text);
	if (digest != NULL)
		buf_put(b, digest, WALK_DIGEST_LEN);
}

void
walk_put_xattrs(struct walk_put *p, struct buf *b, const struct buf *set)
{
	if (set == NULL) {
		put_varint(b, WALK_SET_UNREAD);
	} else if (buf_len(set) == buf_len(&p->xattrs) && (buf_len(set) == 0 ||
	    memcmp(buf_data(set), buf_data(&p->xattrs), buf_len(set)) == 0)) {
		put_varint(b, WALK_SET_SAME);
	} else {
		put_varint(b, WALK_SET + buf_len(set));
		buf_put_buf(b, set);
		buf_reset(&p->xattrs);
		buf_put_buf(&p->xattrs, set);
	}
}
