/* SPDX-License-Identifier: ISC */
/*
 * Extended attributes of a file as a set, in bytes. This is their form in
 * requests of xattrs@hpnssh.org and in records of a walk (docs/SFTP.md): for
 * each attribute a string name and a string value, sorted by the bytes of the
 * names, no name twice. So two files have the same attributes if their sets
 * have the same bytes. ACLs are attributes, too, in the form of Linux's kernel.
 *
 * A set from a peer is checked by xattrs_check(); the other functions expect a
 * valid one.
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
	XATTRS_ACL = 2,	  /* ACLs, and the default ACLs that new files get */
	XATTRS_OTHER = 4, /* security.*, trusted.* and all others, except
			   * system.* */
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

/* The attributes that a file is to have: those of these kinds become those of
 * the set. kinds 0: nothing is changed. */
struct xattrs {
	uint32_t kinds;
	struct span set; /* borrowed */
};

/* The kind of an attribute's name; 0: such attributes are never copied. */
uint32_t xattrs_kind_of(struct span name);
/* Reads the next attribute of a set. False: there is no more. */
bool xattrs_next(struct rd *set, struct xattr *out);
/* Checks a set. ERR_FORMAT, ERR_LIMIT: it is malformed, or has attributes of
 * other kinds. */
int xattrs_check(struct span set, uint32_t kinds) must_check;
/* Appends the attributes of these kinds. */
void xattrs_filter(struct buf *out, struct span set, uint32_t kinds);
/* True if two sets differ in attributes of these kinds. Entries of an ACL that
 * the file's mode has as well are not compared. */
bool xattrs_differ(struct span a, struct span b, uint32_t kinds);

/* Appends the set of a file's attributes of these kinds. 0, or -1 with errno;
 * E2BIG: there is more than a set may have. */
int xattrs_read(const struct xattr_file *f, uint32_t kinds,
    struct buf *out) must_check;
/* Sets a file's attributes of these kinds to those of the set; others of these
 * kinds are removed. Goes on after an error. 0, or -1 with the first errno. A
 * file that only its mode makes read-only is made writable meanwhile. */
int xattrs_write(const struct xattr_file *f,
    const struct xattrs *x) must_check;
/* xattrs_read_at() and xattrs_write_at() do this for a name in a directory.
 * follow: for the file that a symbolic link leads to, else for the link itself.
 * The name is opened once, so if another file gets it meanwhile, that one is
 * not changed. */
int xattrs_read_at(int dir, const char *name, bool follow, uint32_t kinds,
    struct buf *out) must_check;
int xattrs_write_at(int dir, const char *name, bool follow,
    const struct xattrs *x) must_check;
/* xattrs_read_beside() does the same as xattrs_read_at() without `follow`, by
 * fewer system calls. */
int xattrs_read_beside(int dir, const char *name, uint32_t kinds,
    struct buf *out) must_check;

#endif
