/* SPDX-License-Identifier: ISC */
/*
 * The records of walk@hpnssh.org, as docs/SFTP.md describes them. A server
 * writes them (xfer/serve/sftp-serve-walk-put.c), a client reads them
 * (walk-reader.h).
 */
#ifndef HPN_XFER_SFTP_WALK_FORMAT_H
#define HPN_XFER_SFTP_WALK_FORMAT_H

/* What is told of each entry, and how the walk goes. */
enum walk_want {
	WALK_MODE = 1,
	WALK_OWNER = 2,
	WALK_MTIME = 4,
	WALK_NAMES = 8,	  /* nlink, and dev and ino where it is more than 1 */
	WALK_BLOCKS = 16,
	WALK_TEXT = 32,	  /* of links */
	WALK_DEVICE = 64, /* numbers of devices */
	WALK_DIGEST = 128, /* sha256 of regular files */
	WALK_ONE_DEVICE = 256, /* directories of others are not entered */
	WALK_AFTER = 512,      /* "start" is the last group that is known */
	WALK_WANT_ALL = 1023,
};

/* A record's first byte: of a group, with flags; or of an entry: its kind, with
 * flags. */
enum {
	WALK_GROUP = 0x80,
	WALK_GROUP_ERROR = 1, /* an SFTP status follows, and no entries */
	WALK_GROUP_WIDE = 2,  /* a number of parts follows, and no entries */

	WALK_KIND = 0x0f,
	WALK_SAME_MODE = 0x10,	/* as the entry before has */
	WALK_SAME_OWNER = 0x20, /* the same */
	WALK_HAS_DIGEST = 0x40, /* of a file */
	WALK_NOT_ENTERED = 0x40, /* of a directory: no group follows */
};

enum walk_kind {
	WALK_UNKNOWN, /* a name only; an SFTP status says why */
	WALK_FILE,
	WALK_DIR,
	WALK_LINK,
	WALK_FIFO,
	WALK_CHAR,
	WALK_BLOCK,
	WALK_SOCKET,
	WALK_KINDS,
};

enum {
	WALK_DIGEST_LEN = 32,
	WALK_PATH_MAX = 4095, /* bytes of a group's path, and of a text */
	WALK_NAME_MAX = 255,
	WALK_NSEC_MAX = 999999999,
	WALK_MODE_MAX = 07777,
	WALK_PARTS_MAX = 65535,
};

#endif
