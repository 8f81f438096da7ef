/* SPDX-License-Identifier: ISC */
/*
 * Inside of the SFTP server engine: what the sftp-serve*.c files share.
 * Nobody else includes it.
 *
 * A request becomes a struct serve_op: its handler parses the fields, and sets
 * the function that makes the system calls (run) and the one that appends the
 * reply (done). sftp-serve-op.c decides when and on which thread it runs.
 *
 * Threads: one at a time, the loop; but run() may be called by a worker.
 */
#ifndef HPN_XFER_SERVE_SFTP_SERVE_INTERNAL_H
#define HPN_XFER_SERVE_SFTP_SERVE_INTERNAL_H

#include <sys/stat.h>

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "base/owners.h"
#include "base/wire.h"
#include "crypto/digest.h"
#include "xfer/serve/sftp-serve.h"
#include "xfer/sftp/sftp-proto.h"

struct local_beneath;
struct ring;
struct serve_hash;
struct serve_io;
struct serve_walk;

enum {
	SERVE_MODE_BITS = 07777,
	SERVE_DATA_HEAD = 4 + 1 + 4 + 4, /* length, type, id, data length */
	SERVE_HANDLE_WIRE = 4,		 /* bytes: slot, generation */
	/* length, type, id, handle, offset, length of the data */
	SERVE_WRITE_HEAD = 4 + 1 + 4 + 4 + SERVE_HANDLE_WIRE + 8 + 4,
};

/* A right that is not on the wire: one of those with which something can be
 * altered. Requests need it that alter by a handle which was opened for that,
 * or in a way that only their arguments tell. */
#define SERVE_ALTERS (UINT32_C(1) << 31)

/* Two handles with the same key are open on the same file. */
struct serve_key {
	dev_t dev;
	ino_t ino;
};

struct serve_handle {
	enum {
		SERVE_FREE,
		SERVE_UNUSABLE,
		SERVE_FILE,
		SERVE_DIR,
		SERVE_WALK
	} kind;
	uint16_t generation; /* changes with each reuse of the slot */
	int fd;
	bool append;
	bool no_nowait; /* the file system knows no RWF_NOWAIT */
	DIR *dir;
	struct serve_walk *walk; /* owned */
	struct serve_key key;
	char *path; /* owned; for log lines */
	uint64_t bytes_read, bytes_written;
	int write_error; /* errno that the log has; 0: none */
	int next_free; /* slot, or -1 */
};

/* What a session may still do; UINT64_MAX: any number. */
struct serve_left {
	uint64_t bytes, files, deletes;
};

/* A place is where a path leads: a name, as by openat(2). */
struct serve_place {
	int at;
	const char *name;
	int own; /* what serve_leave() closes, or -1 */
	char leaf[NAME_MAX + 1];
};

/* The target of an op that works on an open handle. */
struct serve_target {
	int slot; /* of the handle in s->handles, or -1 */
	int fd;	  /* borrowed from it */
	DIR *dir; /* the same */
	uint64_t offset;
};

struct serve_op {
	/* System calls only: no log lines, nothing of the engine's. 0, or -1
	 * with errno, which is then in error. */
	int (*run)(struct serve_op *op);
	/* Appends the reply. */
	void (*done)(struct sftp_serve *s, struct serve_op *op);
	uint32_t id;
	int error;

	/* Which requests it must not overtake, see conflict() in
	 * sftp-serve-op.c. */
	struct {
		/* A path may lead to any file; a file is touched in
		 * [from, to). */
		enum {
			SERVE_TOUCHES_PATH,
			SERVE_TOUCHES_FILE,
			SERVE_TOUCHES_NOTHING
		} touches;
		struct serve_key key;
		uint64_t from, to;
		bool changes;
		bool opens; /* it opens a path, and cuts no file by that */
		bool alone; /* nothing runs beside it, on any thread */
	} order;

	/* A long one is run by a worker, while the replies of later requests
	 * overtake its own. */
	enum {
		SERVE_QUICK,
		SERVE_WAITS, /* for a disk: the page cache does not have it */
		SERVE_LONG
	} duration;
	/* A long one runs in slices: again while it is unfinished. */
	struct {
		bool unfinished;
		struct ring *goes_first; /* work that ends a slice early;
					  * NULL: the loop runs it */
	} slice;

	const struct local_beneath *below; /* s->below; all paths are */

	/* Arguments and results, as each request needs them. */
	char *path, *path2;	     /* owned */
	struct serve_target file;
	struct serve_target to_file; /* of a copy */
	struct {
		int fd;	  /* -1: none */
		DIR *dir; /* NULL: none */
	} own; /* owned: opened by this op, or taken from a handle to close */
	struct {
		bool remote; /* it is on another machine */
	} open; /* of what is opened */
	int flags;
	mode_t mode;
	struct sftp_attrs attrs;
	struct timespec times[2];
	struct stat st;
	size_t len;
	uint64_t count;
	struct buf data;	 /* owned */
	struct serve_hash *hash; /* owned */
	struct local_beneath *made; /* owned */
	struct serve_walk *walk;    /* owned */
	struct serve_walk *walking; /* the handle's */
	struct serve_left left;

	struct serve_op *next, *prev; /* those that workers have */
};

/* The WRITE whose data is arriving. */
struct serve_write {
	enum {
		SERVE_WRITE_NONE,
		SERVE_WRITE_PIECES, /* each goes to the file as it arrives */
		SERVE_WRITE_GATHER, /* all goes to op, submitted at its end */
	} state;
	uint32_t id;
	uint32_t left; /* bytes of data that are still to come */
	uint32_t skip; /* then bytes of the message to pass over */
	uint64_t offset;
	struct serve_handle *handle; /* NULL: data is dropped */
	int error;		     /* first errno */
	struct serve_op op;
};

enum { SERVE_OWNER_MAX = OWNERS_NAME_MAX, SERVE_HOME_MAX = PATH_MAX };

struct serve_owner_name {
	bool known;
	uint32_t id;
	char text[SERVE_OWNER_MAX]; /* "": it has none */
};

struct sftp_serve {
	struct sftp_serve_opts opts;
	enum {
		SERVE_AWAITS_INIT,
		SERVE_ANSWERS,
		SERVE_ENDS, /* what workers still have is not answered */
	} state;
	struct buf in;	/* requests that are not whole or not acted on yet */
	struct buf out; /* replies */
	struct serve_write write;
	struct serve_handle *handles; /* owned */
	int handles_cap, handles_max, free_slot;
	uint32_t rights; /* enum sftp_right and SERVE_ALTERS */
	struct serve_left left;
	struct local_beneath *below; /* owned; NULL: it is not confined */
	uint64_t enabled; /* bit per row of the table */
	struct serve_io *io; /* workers and what they have; NULL: none yet */
	struct serve_op parked; /* must wait for earlier ones; all requests
				 * behind it wait in the input */
	bool has_parked;
	/* The caller's room, where the reply of a READ may go at once; p NULL:
	 * none. */
	struct {
		uint8_t *p;
		size_t room, used; /* bytes */
		bool whole;	   /* nothing stands before it in the packet */
	} direct;
	bool read_waits; /* a READ is kept back until there is such room */
	uint64_t slow_until_us; /* until then the file system counts as slow */
	bool remote; /* something opened was on another machine */
	int suspect; /* calls left of which serve_timer counts the sleeps */
	struct {
		enum digest_alg alg;
		uint64_t block; /* 0: none yet */
		uint8_t digest[DIGEST_MAX_LEN];
	} zeros; /* the digest of a block of zeros */
	/* The last owners' names, one of each: directories mostly have one
	 * owner. */
	struct serve_owner_name last_user, last_group;
};

/*
 * A request's handler fills in op (zeroed but for id, and for descriptors and
 * slots, which are -1), or answers at once and leaves run
 * alone. It returns ERR_* when the message is malformed (a BAD_MESSAGE status
 * is then sent) and has answered nothing in that case.
 */
typedef int (*serve_fn)(struct sftp_serve *s, struct serve_op *op,
    struct rd *r);

#define SERVE_HANDLER(name)                                                   \
	int serve_##name(struct sftp_serve *s, struct serve_op *op,           \
	    struct rd *r)

/* sftp-serve.c */
/* The session keeps these rights from now on, as far as it had them before. */
void serve_limit_rights(struct sftp_serve *s, uint32_t rights);
/* sftp-serve-confine.c */
SERVE_HANDLER(confine);
/* The session has all of these rights. */
bool serve_may(const struct sftp_serve *s, uint32_t rights);
/* A session's limit is used: n of what is left (a field of s->left). False:
 * there is not so much. serve_spend() has answered op then. */
bool serve_take(uint64_t *left, uint64_t n) must_check;
bool serve_spend(struct sftp_serve *s, const struct serve_op *op,
    uint64_t *left, uint64_t n);

/* sftp-serve-place.c: the files of paths, for run(). */
/* To be left again, also if it fails (-1). */
int serve_at(const struct serve_op *op, const char *path,
    struct serve_place *p) must_check;
void serve_leave(struct serve_place *p); /* errno stays */
/* The name there of a path in the same directory. */
const char *serve_beside(const struct serve_place *p, const char *path);
int serve_open_at(const struct serve_op *op, const char *path, int flags,
    mode_t mode) must_check;
DIR *serve_list_at(const struct serve_op *op, const char *path) must_check;
int serve_stat_at(const struct serve_op *op, const char *path, bool follow,
    struct stat *st) must_check;
/* SETSTAT's work, by name and by descriptor. 0 or -1. */
int serve_apply_at(const struct serve_op *op, const char *path, bool nofollow,
    const struct sftp_attrs *attrs);
int serve_apply_attrs(int fd, const struct sftp_attrs *attrs);

/* sftp-serve-data.c */
bool serve_is_remote(int fd);
SERVE_HANDLER(open);
SERVE_HANDLER(close);
SERVE_HANDLER(read);
SERVE_HANDLER(fsync);
SERVE_HANDLER(copy_data);
/* sftp-serve-file.c */
SERVE_HANDLER(lstat);
SERVE_HANDLER(fstat);
SERVE_HANDLER(setstat);
SERVE_HANDLER(fsetstat);
SERVE_HANDLER(lsetstat);
SERVE_HANDLER(opendir);
SERVE_HANDLER(readdir);
SERVE_HANDLER(readdir_ns);
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
SERVE_HANDLER(limits);
SERVE_HANDLER(expand_path);
SERVE_HANDLER(home_directory);
SERVE_HANDLER(users_groups);
/* sftp-serve-hpn.c */
SERVE_HANDLER(check_file_handle);
SERVE_HANDLER(check_file_name);
SERVE_HANDLER(times_ns);
SERVE_HANDLER(stat_ns);
/* What stat-ns says, as it stands on the wire. */
void serve_put_stat_ns(struct buf *b, const struct stat *st);
SERVE_HANDLER(sparse_map);

/* sftp-serve-part.c */
SERVE_HANDLER(rename_part);
/* Closes *fd, a part, and renames that, and nothing else, to its target. If
 * that fails, the part goes, unless it is to be kept and its data is not lost.
 * 0 or -1; ESTALE: see part-lock.h. */
int serve_part_end(int *fd, int at, const char *part, int to_at,
    const char *target, bool keep);
/* Removes the part if that is still the name of what fd is. */
void serve_part_remove(int fd, int at, const char *part);
/* sftp-serve-small.c */
SERVE_HANDLER(put_file);
SERVE_HANDLER(get_file);

/* sftp-serve-walk.c */
SERVE_HANDLER(walk);
SERVE_HANDLER(walk_read);
void serve_walk_free(struct serve_walk *w); /* NULL: nothing */

/* Comma list of what check-file can compute. Literal. */
extern const char serve_hash_algs[];
void serve_hash_free(struct serve_hash *h);

/* sftp-serve-op.c. serve_submit() runs op now, has a worker run it, or parks
 * it; in each case it takes over what op owns. */
void serve_op_init(struct serve_op *op, uint32_t id);
void serve_op_clear(struct serve_op *op);
void serve_submit(struct sftp_serve *s, struct serve_op *op);
/* Must op wait for an earlier one that a worker still has? */
bool serve_must_wait(const struct sftp_serve *s, const struct serve_op *op);
/* Should a worker, not the loop, do what may wait for a disk? */
bool serve_prefers_worker(struct sftp_serve *s);
/* Answers what workers have finished, then what was parked. */
void serve_collect(struct sftp_serve *s);
void serve_io_free(struct sftp_serve *s);
/* Put around a system call on the loop: finds out whether it waited for a
 * disk. */
struct serve_timer {
	uint64_t since_us;
	long sleeps; /* of this thread so far, or -1 */
};
void serve_timer_begin(struct sftp_serve *s, struct serve_timer *t);
void serve_timer_end(struct sftp_serve *s, const struct serve_timer *t);

/* sftp-serve-data.c */
bool serve_is_remote(int fd);
int serve_write_begin(struct sftp_serve *s, struct rd *r, uint32_t id,
    uint32_t body, uint32_t refused) must_check;
size_t serve_write_continue(struct sftp_serve *s, const uint8_t *p,
    size_t len);

/* sftp-serve-reply.c.
 *
 * Handles. New: its slot, or ERR_LIMIT, ERR_NOMEM; on success it owns
 * fd or dir. Reading gives NULL if there is no such handle (not an error
 * of the message). */
int serve_handle_new(struct sftp_serve *s, const char *path) must_check;
void serve_handle_close(struct sftp_serve *s, struct serve_handle *h);
struct serve_handle *serve_get_handle(struct sftp_serve *s, struct rd *r,
    int kind);
/* To be called when all fields are read. 1: the request goes on; 0: there is no
 * such handle, and it was answered with status; or the message's ERR_*. */
int serve_check_handle(struct sftp_serve *s, const struct serve_op *op,
    const struct rd *r, const struct serve_handle *h,
    uint32_t status) must_check;
void serve_put_handle(struct sftp_serve *s, uint32_t id, int slot);
/* before: "", or "forced " */
void serve_log_close(struct sftp_serve *s, const struct serve_handle *h,
    bool is_dir, const char *before);
/* The op works on this handle, in all of the file. */
void serve_touch_handle(struct sftp_serve *s, struct serve_op *op,
    const struct serve_handle *h, bool changes);

/* A path that the caller frees; NULL with a sticky error in r. */
char *serve_get_path(struct sftp_serve *s, struct rd *r);

/* The log lines of what sets attributes. */
void serve_log_attrs(struct sftp_serve *s, const char *path,
    const struct sftp_attrs *attrs);
void serve_log_times(struct sftp_serve *s, const char *path, time_t mtime);

/* The rights that it takes to set these. */
uint32_t serve_attrs_need(const struct sftp_attrs *attrs);

/* sftp-serve-owners.c: names of those who own files. The name, or "" and false:
 * there is none, or it cannot be told. file: see base/owners.h. */
bool serve_owner(struct sftp_serve *s, enum owners_kind kind, uint32_t id,
    int file, char name[SERVE_OWNER_MAX]);
/* The owners of an entry of a directory, as names or numbers. */
void serve_owners(struct sftp_serve *s, const struct stat *st, int dir,
    const char *entry, char user[SERVE_OWNER_MAX],
    char group[SERVE_OWNER_MAX]);
/* user "": the own one. */
bool serve_home_of(const struct sftp_serve *s, const char *user,
    char home[SERVE_HOME_MAX]);

/* Replies. */
/* The reply is a status: an errno, in its words; 0: OK. */
void serve_errno(struct sftp_serve *s, uint32_t id, int error);
void serve_status(struct sftp_serve *s, uint32_t id, uint32_t status);
void serve_fail(struct sftp_serve *s, uint32_t id, uint32_t status,
    const char *text);
void serve_name(struct sftp_serve *s, uint32_t id, const char *name);
/* EXTENDED_REPLY; the mark is for buf_close_string. */
size_t serve_begin_reply(struct sftp_serve *s, uint32_t id);

/* For op->done: a status; attributes; a name (op->data); the bytes of
 * op->data as an extended reply. In case of an error its status. */
void serve_done_status(struct sftp_serve *s, struct serve_op *op);
void serve_done_attrs(struct sftp_serve *s, struct serve_op *op);
void serve_done_name(struct sftp_serve *s, struct serve_op *op);
void serve_done_data(struct sftp_serve *s, struct serve_op *op);

/* run: op->path to op->data. */
int serve_run_resolve(struct serve_op *op);

/* Log lines; of a quiet session only errors. */
#define serve_log(s, level, ...)                                              \
	((s)->opts.quiet && (level) > LOG_LVL_ERROR ?                         \
		(void)0 :                                                     \
		log_msg(level, __VA_ARGS__))
#define serve_info(s, ...) serve_log(s, LOG_LVL_INFO, __VA_ARGS__)
#define serve_verbose(s, ...) serve_log(s, LOG_LVL_VERBOSE, __VA_ARGS__)

#endif
