/* SPDX-License-Identifier: ISC */
/*
 * Inside of the SFTP server engine: what sftp-serve.c (framing, table of
 * requests, handles), sftp-serve-file.c (the requests of the draft) and
 * sftp-serve-ext.c (extensions) share. Nobody else includes it.
 *
 * Threads: one at a time.
 */
#ifndef HPN_XFER_SFTP_SERVE_INT_H
#define HPN_XFER_SFTP_SERVE_INT_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/wire.h"
#include "xfer/sftp-proto.h"
#include "xfer/sftp-serve.h"

struct serve_handle {
	enum { SERVE_FREE, SERVE_FILE, SERVE_DIR } kind;
	uint16_t generation; /* changes with each reuse of the place */
	int fd;
	bool append;
	DIR *dir;
	char *path; /* owned; for log lines */
	uint64_t bytes_read, bytes_written;
	int next_free; /* place, or -1 */
};

/* A WRITE whose data is still arriving. */
struct serve_write {
	uint32_t id;
	uint32_t left; /* bytes of data that are still to come */
	uint32_t skip; /* then bytes of the message to pass over */
	uint64_t offset;
	struct serve_handle *handle; /* NULL: data is dropped */
	int error;		     /* first errno */
	bool active;
};

struct sftp_serve {
	struct sftp_serve_opts opts;
	struct buf in;	/* the head of a message that is not whole yet */
	struct buf out; /* replies */
	struct serve_write write;
	struct serve_handle *handles; /* owned */
	int handles_cap, handles_max, free_handle;
	uint64_t enabled; /* bit per row of the table */
	bool initialised;
	/* One remembered name each: directories mostly have one owner. */
	struct {
		bool known;
		uint32_t id;
		char name[40];
	} last_user, last_group;
};

/*
 * A request's handler reads its fields and appends one reply. It returns
 * ERR_* when the message is malformed (a BAD_MESSAGE status is then sent)
 * and has appended nothing in that case.
 */
typedef int (*serve_fn)(struct sftp_serve *s, uint32_t id, struct rd *r);

#define SERVE_HANDLER(name)                                                   \
	int serve_##name(struct sftp_serve *s, uint32_t id, struct rd *r)

/* sftp-serve-file.c */
SERVE_HANDLER(open);
SERVE_HANDLER(close);
SERVE_HANDLER(read);
SERVE_HANDLER(lstat);
SERVE_HANDLER(fstat);
SERVE_HANDLER(setstat);
SERVE_HANDLER(fsetstat);
SERVE_HANDLER(opendir);
SERVE_HANDLER(readdir);
SERVE_HANDLER(remove);
SERVE_HANDLER(mkdir);
SERVE_HANDLER(rmdir);
SERVE_HANDLER(realpath);
SERVE_HANDLER(stat);
SERVE_HANDLER(rename);
SERVE_HANDLER(readlink);
SERVE_HANDLER(symlink);
/* sftp-serve-ext.c */
SERVE_HANDLER(posix_rename);
SERVE_HANDLER(statvfs);
SERVE_HANDLER(fstatvfs);
SERVE_HANDLER(hardlink);
SERVE_HANDLER(fsync);
SERVE_HANDLER(lsetstat);
SERVE_HANDLER(limits);
SERVE_HANDLER(expand_path);
SERVE_HANDLER(copy_data);
SERVE_HANDLER(home_directory);
SERVE_HANDLER(users_groups);

/* Handles. New: place number or ERR_LIMIT, ERR_NOMEM; on success it owns
 * fd or dir. Reading gives NULL if there is no such handle (not an error
 * of the message). */
int serve_handle_new(struct sftp_serve *s, const char *path) must_check;
void serve_handle_close(struct sftp_serve *s, struct serve_handle *h);
struct serve_handle *serve_get_handle(struct sftp_serve *s, struct rd *r,
    int kind);
void serve_put_handle(struct sftp_serve *s, uint32_t id, int place);

/* A path that the caller frees; NULL with a sticky error in r. */
char *serve_get_path(struct sftp_serve *s, struct rd *r);

/* Replies. serve_errno() sends the status for what a system call gave: its
 * result is 0 or -1. */
void serve_status(struct sftp_serve *s, uint32_t id, uint32_t status);
void serve_errno(struct sftp_serve *s, uint32_t id, int result);
void serve_attrs(struct sftp_serve *s, uint32_t id, const struct stat *st);
void serve_name(struct sftp_serve *s, uint32_t id, const char *name);

/* Absolute path of what exists up to the last part; caller frees; NULL with
 * errno. */
char *serve_resolve(const char *path);

/* Applies attrs to path (nofollow: to a link itself) or, if path is NULL,
 * to fd. 0, or -1 with errno. */
int serve_apply_attrs(const char *path, int fd, bool nofollow,
    const struct sftp_attrs *attrs);

#endif
