/* SPDX-License-Identifier: ISC */
/*
 * SFTP version 3 (draft-ietf-secsh-filexfer-02) as spoken by OpenSSH:
 * numbers, limits, and the encoding of file attributes. Shared by the
 * server engine and the client engine.
 *
 * Threads: any.
 */
#ifndef HPN_XFER_SFTP_SFTP_PROTO_H
#define HPN_XFER_SFTP_SFTP_PROTO_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct buf;
struct rd;
struct stat;

enum {
	SFTP_VERSION = 3,
	SFTP_MESSAGE_MAX = 262144, /* bytes after the length field */
	SFTP_DATA_MAX = 261120,	   /* bytes of one READ or WRITE: 1 KiB less */
	SFTP_DATA_DEFAULT = 32768, /* every peer accepts so much */
	SFTP_PATH_MAX = 65536,	   /* bytes of a path on the wire */
	SFTP_HANDLE_MAX = 256,	   /* bytes of a handle (section 6) */
};

/* Section 3 */
enum sftp_type {
	SFTP_INIT = 1,
	SFTP_VERSION_REPLY = 2,
	SFTP_OPEN = 3,
	SFTP_CLOSE = 4,
	SFTP_READ = 5,
	SFTP_WRITE = 6,
	SFTP_LSTAT = 7,
	SFTP_FSTAT = 8,
	SFTP_SETSTAT = 9,
	SFTP_FSETSTAT = 10,
	SFTP_OPENDIR = 11,
	SFTP_READDIR = 12,
	SFTP_REMOVE = 13,
	SFTP_MKDIR = 14,
	SFTP_RMDIR = 15,
	SFTP_REALPATH = 16,
	SFTP_STAT = 17,
	SFTP_RENAME = 18,
	SFTP_READLINK = 19,
	SFTP_SYMLINK = 20, /* on the wire: target, then link */
	SFTP_STATUS = 101,
	SFTP_HANDLE = 102,
	SFTP_DATA = 103,
	SFTP_NAME = 104,
	SFTP_ATTRS = 105,
	SFTP_EXTENDED = 200,
	SFTP_EXTENDED_REPLY = 201,
};

/* Section 7 */
enum sftp_status {
	SFTP_OK = 0,
	SFTP_EOF = 1,
	SFTP_NO_SUCH_FILE = 2,
	SFTP_PERMISSION_DENIED = 3,
	SFTP_FAILURE = 4,
	SFTP_BAD_MESSAGE = 5,
	SFTP_NO_CONNECTION = 6,
	SFTP_CONNECTION_LOST = 7,
	SFTP_OP_UNSUPPORTED = 8,
};

/* Section 6.3 */
enum {
	SFTP_O_READ = 0x01,
	SFTP_O_WRITE = 0x02,
	SFTP_O_APPEND = 0x04,
	SFTP_O_CREAT = 0x08,
	SFTP_O_TRUNC = 0x10,
	SFTP_O_EXCL = 0x20,
};

/* Section 5: which fields of struct sftp_attrs are set. */
enum {
	SFTP_A_SIZE = 0x01,
	SFTP_A_OWNER = 0x02,
	SFTP_A_MODE = 0x04,
	SFTP_A_TIMES = 0x08,
};
#define SFTP_A_EXTENDED 0x80000000u

struct sftp_attrs {
	uint32_t flags; /* SFTP_A_* */
	uint64_t size;	/* bytes */
	uint32_t uid, gid;
	uint32_t mode;	       /* st_mode: type and permissions */
	uint32_t atime, mtime; /* seconds since 1970 */
	/* From the extended attribute copy@hpnssh.org (docs/SFTP.md) of OPEN:
	 * the number of the copy that opens a part, and whether that copy has
	 * the part open already. */
	uint64_t copy;
	bool further;
};

/* statvfs@openssh.com: eleven numbers in this order. */
struct sftp_statvfs {
	uint64_t bsize, frsize, blocks, bfree, bavail, files, ffree, favail;
	uint64_t fsid, flag, namemax;
};
enum { SFTP_VFS_RDONLY = 1, SFTP_VFS_NOSUID = 2 };

/* limits@openssh.com; 0: the server did not tell. */
struct sftp_limits {
	uint64_t packet_bytes, read_bytes, write_bytes, open_handles;
};

/* Appends attributes; errors stay in the buffer. attrs NULL: none. */
void sftp_put_attrs(struct buf *b, const struct sftp_attrs *attrs);
/* Reads attributes; errors stay in the reader. Extended attributes are skipped,
 * except copy@hpnssh.org. SFTP_A_EXTENDED is never in flags. */
void sftp_get_attrs(struct rd *r, struct sftp_attrs *attrs);
/* Sets all fields that version 3 has; times are limited to 32 bits. */
void sftp_attrs_from_stat(struct sftp_attrs *attrs, const struct stat *st);

void sftp_put_statvfs(struct buf *b, const struct sftp_statvfs *v);
void sftp_get_statvfs(struct rd *r, struct sftp_statvfs *v);

/* English text of a status; never NULL. A literal. */
const char *sftp_status_text(uint32_t status);
enum sftp_status sftp_status_from_errno(int error);
/* Puts into out what to tell the user of an error: the server's text, if the
 * status is a general one (FAILURE, BAD_MESSAGE, unknown) and the text says
 * more; else the text of the status. The result is escaped, and cut to size. */
enum { SFTP_WORDS_MAX = 160 };
struct span;
void sftp_status_words(uint32_t status, const struct span *text, char *out,
    size_t size);
/* Does the text of an error say that the disk is full, or a quota used up? */
bool sftp_words_are_full(const char *words);
/* Writes flags of OPEN to out, like "READ,WRITE,CREATE", for log lines. */
void sftp_open_flags_text(uint32_t pflags, char *out, size_t size);

#endif
