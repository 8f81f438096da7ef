/* SPDX-License-Identifier: ISC */
/*
 * Extended attributes of a file as a set of bytes, as they are in requests of
 * xattrs@hpnssh.org and in records of a walk (docs/SFTP.md): of each a string
 * name and a string value, sorted by the bytes of the names, none twice. So
 * two files have the same attributes if their sets have the same bytes. ACLs
 * are attributes, too, in the form of Linux's kernel.
 *
 * A set is checked where it comes from a peer (xattrs_check()); the other
 * functions take one that is right.
 *
 * Threads: any.
 */
#ifndef HPN_XFER_XATTRS_H
#define HPN_XFER_XATTRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "compat/xattr.h"

enum xattrs_kind {
	XATTRS_USER = 1,  /* user.* */
	XATTRS_ACL = 2,	  /* ACLs, also those that new files get */
	XATTRS_OTHER = 4, /* security.*, trusted.* and what else there is, but
			   * for system.* */
	XATTRS_ALL = 7,
};

enum {
	XATTRS_COUNT_MAX = 1024, /* of a file */
	XATTRS_NAME_LEN_MAX = 255,
	XATTRS_VALUE_MAX = 64 * 1024,
	XATTRS_BYTES_MAX = 128 * 1024, /* of a set */
};

struct xattr {
	struct span name, value;
};

/* What a file is to have: its attributes of these kinds become those of the
 * set. kinds 0: nothing is changed. */
struct xattrs {
	uint32_t kinds;
	struct span set; /* borrowed */
};

/* The kind of a name; 0: such attributes are never copied. */
uint32_t xattrs_kind_of(struct span name);
/* The next one of a set: false at its end. */
bool xattrs_next(struct rd *set, struct xattr *out);
/* ERR_FORMAT, ERR_LIMIT: it is no set, or has other kinds than these. */
int xattrs_check(struct span set, uint32_t kinds) must_check;
/* Appends those of these kinds. */
void xattrs_filter(struct buf *out, struct span set, uint32_t kinds);
/* Do two sets differ in attributes of these kinds? Of an ACL those entries do
 * not count that permissions say as well. */
bool xattrs_differ(struct span a, struct span b, uint32_t kinds);

/* Appends the set of a file. 0, or -1 with errno; E2BIG: it has more than a set
 * may have. */
int xattrs_read(const struct xattr_file *f, uint32_t kinds,
    struct buf *out) must_check;
/* Gives a file the set: what it has besides, of these kinds, is removed. All of
 * it is tried. 0, or -1 with the first errno. A file that only its mode makes
 * read-only is made writable meanwhile. */
int xattrs_write(const struct xattr_file *f,
    const struct xattrs *x) must_check;
/* xattrs_read_at() and xattrs_write_at() are xattrs_read() and xattrs_write()
 * of a name in a directory. follow: of the file that a symbolic link leads to,
 * else of the link itself. The name is opened once, so another file that gets
 * it meanwhile is not changed. */
int xattrs_read_at(int dir, const char *name, bool follow, uint32_t kinds,
    struct buf *out) must_check;
int xattrs_write_at(int dir, const char *name, bool follow,
    const struct xattrs *x) must_check;
/* xattrs_read_beside() is xattrs_read_at() without `follow`, with fewer system
 * calls. */
int xattrs_read_beside(int dir, const char *name, uint32_t kinds,
    struct buf *out) must_check;

#endif
