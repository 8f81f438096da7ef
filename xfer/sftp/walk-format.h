/* SPDX-License-Identifier: ISC */
/*
 * The records of walk@hpnssh.org, as docs/SFTP.md describes them. A server
 * writes them (xfer/serve/sftp-serve-walk-put.c), a client reads them
 * (walk-reader.h).
 */
#ifndef HPN_XFER_SFTP_WALK_FORMAT_H
#define HPN_XFER_SFTP_WALK_FORMAT_H

#include <sys/stat.h>

#include <stdint.h>

/* What a client asks for: which attributes of each entry, and how to walk. */
enum walk_want {
	WALK_MODE = 1,
	WALK_OWNER = 2,
	WALK_MTIME = 4,
	WALK_NAMES = 8,	  /* nlink; if that is more than 1, dev and ino */
	WALK_BLOCKS = 16,
	WALK_TEXT = 32,	  /* targets of symbolic links */
	WALK_DEVICE = 64, /* major and minor number of device files */
	WALK_DIGEST = 128, /* sha256 of regular files */
	WALK_ONE_DEVICE = 256, /* directories on other devices are not
				* entered */
	WALK_AFTER = 512,      /* go on behind "start", the last group that the
				* client knows */
	WALK_MOUNTS = 1024, /* records of groups tell whether these are on the
			     * device of the top */
	/* Wanted kinds of extended attributes: enum xattrs_kind, from this bit
	 * on. */
	WALK_XATTRS = 2048,
	WALK_XATTRS_ALL = 7 * 2048,
	WALK_AWAY = 16384, /* files that are away are told as such, and not read
			    * for a digest */
	WALK_WANT_ALL = 32767,
};

/* The first byte of a record. Of a group: WALK_GROUP with flags. Of an entry:
 * its kind with flags. */
enum {
	WALK_GROUP = 0x80,
	WALK_GROUP_ERROR = 1, /* an SFTP status follows, and no entries */
	WALK_GROUP_MOUNTED = 2, /* the directory is on another device than the
				 * top */

	WALK_KIND = 0x0f,
	WALK_SAME_MODE = 0x10,	/* the mode of the entry before */
	WALK_SAME_OWNER = 0x20, /* the owner and group of the entry before */
	WALK_HAS_DIGEST = 0x40, /* for a file: a digest follows */
	WALK_NOT_ENTERED = 0x40, /* for a directory: it has no group */
};

/* The number before a set of extended attributes: its length + WALK_SET, or one
 * of these. */
enum {
	WALK_SET_UNREAD, /* it cannot be read */
	WALK_SET_SAME,	 /* the same set as that of the last entry which had
			  * one */
	WALK_SET,
};

enum walk_kind {
	WALK_UNKNOWN, /* a name without attributes, and the status that says
		       * why */
	WALK_FILE,
	WALK_DIR,
	WALK_LINK,
	WALK_FIFO,
	WALK_CHAR,
	WALK_BLOCK,
	WALK_SOCKET,
	WALK_KINDS,
	WALK_FILE_AWAY = WALK_KINDS, /* in records only: a file whose data are
				      * elsewhere, as on a tape */
};

/* The kind of a mode; WALK_UNKNOWN: the mode has none. */
static inline enum walk_kind
walk_kind_of(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return WALK_FILE;
	case S_IFDIR:
		return WALK_DIR;
	case S_IFLNK:
		return WALK_LINK;
	case S_IFIFO:
		return WALK_FIFO;
	case S_IFCHR:
		return WALK_CHAR;
	case S_IFBLK:
		return WALK_BLOCK;
	case S_IFSOCK:
		return WALK_SOCKET;
	default:
		return WALK_UNKNOWN;
	}
}

enum {
	WALK_DIGEST_LEN = 32,
	WALK_PATH_MAX = 4095, /* bytes of a group's path, or of a link's
			       * target */
	WALK_NAME_MAX = 255,
	WALK_NSEC_MAX = 999999999,
	WALK_MODE_MAX = 07777,
};

#endif
