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
#include "compat/queue.h"
#include "crypto/digest.h"
#include "xfer/serve/sftp-serve.h"
#include "xfer/sftp/sftp-proto.h"
#include "xfer/xattrs.h"

struct local_beneath;
struct ring;
struct serve_copy;
struct serve_hash;
struct serve_io;
struct serve_sums;
struct serve_told;
struct serve_walk;

enum {
	SERVE_MODE_BITS = 07777,
	SERVE_SLICE = 1024 * 1024, /* bytes; see serve_slice_has_room() */
	SERVE_SLICE_MAX = 16 * SERVE_SLICE,
	SERVE_DATA_HEAD = 4 + 1 + 4 + 4, /* length, type, id, data length */
	SERVE_HANDLE_WIRE = 4,		 /* bytes: slot, generation */
	/* length, type, id, handle, offset, length of the data */
	SERVE_WRITE_HEAD = 4 + 1 + 4 + 4 + SERVE_HANDLE_WIRE + 8 + 4,
};

/* A right that is not on the wire: the session has at least one of the rights
 * with which files can be altered. A request needs SERVE_ALTERS if it alters
 * through a handle that was opened for that, or if only its arguments tell
 * which right it needs. */
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
	bool writes; /* it was opened for writing */
	bool no_nowait; /* the file system knows no RWF_NOWAIT */
	DIR *dir;
	struct serve_walk *walk; /* owned */
	struct serve_key key;
	char *path; /* owned; for log lines */
	uint64_t bytes_read, bytes_written;
	uint64_t opened_ms; /* monotonic */
	int write_error; /* the last errno that was logged; 0: none */
	int next_free; /* in a free slot: index of the next free one, or -1 */
};

/* What confine@hpnssh.org lets the session still do; UINT64_MAX: no limit. */
struct serve_left {
	uint64_t bytes, files, deletes;
};

/* The directory and the name that a path leads to, as openat(2) takes them. */
struct serve_place {
	int at;
	const char *name;
	int own; /* the descriptor of `at` that serve_leave() closes, or -1 */
	const struct serve_near *near; /* `at` is its; NULL: it is not known */
	char leaf[NAME_MAX + 1];
};

/* The directory of the last small file (sftp-serve-near.c). */
struct serve_near {
	int fd; /* owned; -1: none */
	uint64_t since_us; /* when it was opened (clock_us()) */
	/* The ids of this process. A new file gets the uid, and the gid if
	 * own_group is set: then the directory has the same group. */
	uid_t uid;
	gid_t gid;
	bool own_group;
	bool silent_close; /* see file_close_is_silent() */
	size_t len;
	char path[PATH_MAX]; /* len bytes, up to the file's name */
};

/* The target of an op that works on an open handle. */
struct serve_target {
	int slot; /* index of the handle in s->handles, or -1 */
	int fd;	  /* borrowed from the handle */
	DIR *dir; /* borrowed from the handle as well */
	uint64_t offset;
};

struct serve_op {
	/* Makes the system calls. It must not log, nor touch the engine, since
	 * a worker may run it. Returns 0, or -1 with errno, which is then
	 * stored in error. */
	int (*run)(struct serve_op *op);
	/* Appends the reply. */
	void (*done)(struct sftp_serve *s, struct serve_op *op);
	uint32_t id;
	int error;

	/* Which earlier requests this one must not overtake, see conflict() in
	 * sftp-serve-op.c. */
	struct {
		/* PATH: the request names a path, which may lead to any file.
		 * FILE: it uses the bytes [from, to) of the file with this
		 * key. */
		enum {
			SERVE_TOUCHES_PATH,
			SERVE_TOUCHES_FILE,
			SERVE_TOUCHES_NOTHING
		} touches;
		struct serve_key key;
		uint64_t from, to;
		bool changes;
		bool opens; /* it opens a path, without truncating the file */
		bool alone; /* no other request may run at the same time */
	} order;

	/* A SERVE_LONG request is run by a worker; the replies of later
	 * requests may be sent before its own. */
	enum {
		SERVE_QUICK,
		SERVE_WAITS, /* it has to read from the disk */
		SERVE_LONG
	} duration;
	/* A long request runs in slices: run() is called again while it leaves
	 * `unfinished` set. */
	struct {
		bool unfinished;
		struct ring *goes_first; /* the ring of short requests; a slice
					  * ends early when it has work. NULL:
					  * the loop runs the request */
	} slice;

	const struct local_beneath *below; /* s->below: all paths must stay
					    * below this directory; NULL: no
					    * limit */
	bool only_reads; /* the session may not change anything */
	bool stays_near; /* it is about a small file, whose directory is kept */
	struct serve_near *near; /* where the directory is kept; NULL: the op
				  * is a worker's */

	/* Arguments and results, as each request needs them. */
	char *path, *path2;	     /* owned */
	struct serve_target file;
	struct serve_target to_file; /* the destination of copy-data */
	struct {
		int fd;	  /* -1: none */
		DIR *dir; /* NULL: none */
	} own; /* owned: opened by this op, or taken from a handle to close */
	struct {
		bool remote; /* the opened file is on another machine */
	} open; /* result of opening */
	int flags;
	mode_t mode;
	struct sftp_attrs attrs;
	struct timespec times[2];
	struct stat st;
	size_t len;
	uint64_t count;
	struct buf data;	 /* owned */
	struct {
		uint32_t kinds; /* enum xattrs_kind; 0: none */
		struct buf set; /* owned */
	} xattrs;
	struct serve_hash *hash; /* owned */
	struct serve_sums *sums; /* owned */
	struct serve_copy *copy; /* owned */
	struct local_beneath *made; /* owned */
	struct serve_walk *walk;    /* owned */
	struct serve_walk *walking; /* the walk of the handle, borrowed */
	struct serve_left left;

	TAILQ_ENTRY(serve_op) entry; /* while workers have the request */
};

/* The WRITE whose data is arriving. */
struct serve_write {
	enum {
		SERVE_WRITE_NONE,
		SERVE_WRITE_PIECES, /* each piece of data is written to the file
				     * as it arrives */
		SERVE_WRITE_GATHER, /* all data is gathered in op, which is
				     * submitted when the WRITE is complete */
	} state;
	uint32_t id;
	uint32_t left; /* bytes of data that are still to come */
	uint32_t skip; /* bytes of the message behind the data, to be ignored */
	uint64_t offset;
	struct serve_handle *handle; /* NULL: data is dropped */
	int error;		     /* the first error of this WRITE (errno),
				      * or 0 */
	struct serve_op op;
};

enum {
	SERVE_OWNER_MAX = 40, /* bytes of a name in a long line, with the NUL */
	SERVE_HOME_MAX = PATH_MAX,
};

struct serve_owner_name {
	bool known;
	uint32_t id;
	char text[SERVE_OWNER_MAX]; /* "": the owner has no name */
};

struct sftp_serve {
	struct sftp_serve_opts opts;
	enum {
		SERVE_AWAITS_INIT,
		SERVE_ANSWERS,
		SERVE_ENDS, /* requests that workers still have get no reply */
	} state;
	struct buf in;	/* bytes of requests that are incomplete or not acted on
			 * yet */
	struct buf out; /* replies */
	struct serve_write write;
	struct serve_handle *handles; /* owned */
	int handles_cap, handles_max, free_slot;
	uint32_t rights; /* enum sftp_right and SERVE_ALTERS */
	struct serve_left left;
	struct local_beneath *below; /* owned; NULL: the session is not
				      * confined */
	uint64_t enabled; /* bit i: row i of the table of requests is allowed */
	struct serve_io *io; /* workers and the requests they have; NULL: no
			      * worker was started */
	struct serve_near near;
	struct serve_told *told; /* of sftp-serve-told.c; or NULL */
	struct serve_op parked; /* a request that must wait for earlier ones;
				 * all requests behind it wait in the input */
	bool has_parked;
	/* The caller's buffer, into which the reply of a READ may be put
	 * directly; p NULL: the caller gave none. */
	struct {
		uint8_t *p;
		size_t room, used; /* bytes */
		bool whole;	   /* the caller's packet is still empty */
	} direct;
	bool read_waits; /* a READ waits until the caller gives such a buffer */
	uint64_t slow_until_us; /* a time of clock_us(): until then calls are
				 * assumed to wait for the disk */
	bool remote; /* a file or directory that was opened is on another
		      * machine */
	int suspect; /* serve_timer counts the sleeps of so many more calls */
	struct {
		enum digest_alg alg;
		uint64_t block; /* 0: none yet */
		uint8_t digest[DIGEST_MAX_LEN];
	} zeros; /* the digest of a block of zeros */
	/* Cache of the last user's and the last group's name: the files of a
	 * directory mostly have one owner. */
	struct serve_owner_name last_user, last_group;
};

/*
 * A request's handler fills in op, which is zeroed but for id, and for
 * descriptors and slots, which are -1. Or it answers at once, and leaves
 * op->run NULL. It returns ERR_* without answering if the request is malformed
 * or refused: the caller then sends the status (BAD_MESSAGE for most errors).
 */
typedef int (*serve_fn)(struct sftp_serve *s, struct serve_op *op,
    struct rd *r);

#define SERVE_HANDLER(name)                                                   \
	int serve_##name(struct sftp_serve *s, struct serve_op *op,           \
	    struct rd *r)

/* sftp-serve.c */
/* Takes all rights but these from the session; it never gets one back. */
void serve_limit_rights(struct sftp_serve *s, uint32_t rights);
/* sftp-serve-confine.c. serve_set_bounds() confines the session to opts.bounds
 * when it begins. */
int serve_set_bounds(struct sftp_serve *s) must_check;
SERVE_HANDLER(confine);
/* Does the session have all of these rights? */
bool serve_may(const struct sftp_serve *s, uint32_t rights);
/* serve_take() subtracts n from *left, a field of s->left. False: less than n
 * was left, and nothing is subtracted. serve_spend() does the same, and answers
 * op with EDQUOT if it returns false. */
bool serve_take(uint64_t *left, uint64_t n) must_check;
bool serve_spend(struct sftp_serve *s, const struct serve_op *op,
    uint64_t *left, uint64_t n);

/* sftp-serve-place.c: reaches the files that paths name; called by run(). */
/* Sets *p to where the path leads. 0, or -1 with errno. The caller calls
 * serve_leave() in both cases. */
int serve_at(const struct serve_op *op, const char *path,
    struct serve_place *p) must_check;
/* sftp-serve-near.c: the same, by the directory of the small file before. */
int serve_at_near(const struct serve_op *op, const char *path,
    struct serve_place *p) must_check;
void serve_near_drop(struct serve_near *n);
void serve_leave(struct serve_place *p); /* keeps errno */
/* The name, relative to p->at, of a path that is in the same directory as p.
 * Borrowed from path. */
const char *serve_beside(const struct serve_place *p, const char *path);
int serve_open_at(const struct serve_op *op, const char *path, int flags,
    mode_t mode) must_check;
DIR *serve_list_at(const struct serve_op *op, const char *path) must_check;
int serve_stat_at(const struct serve_op *op, const char *path, bool follow,
    struct stat *st) must_check;
/* Set the attributes as SETSTAT does: of a path, or of an open file. 0, or -1
 * with errno. */
int serve_apply_at(const struct serve_op *op, const char *path, bool nofollow,
    const struct sftp_attrs *attrs);
int serve_apply_attrs(int fd, const struct sftp_attrs *attrs);

/* sftp-serve-data.c */
bool serve_is_remote(int fd);
SERVE_HANDLER(open);
SERVE_HANDLER(close);
SERVE_HANDLER(read);
SERVE_HANDLER(fsync);
SERVE_HANDLER(uncache);
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
SERVE_HANDLER(ids_by_name);
SERVE_HANDLER(own_ids);
/* sftp-serve-hpn.c */
SERVE_HANDLER(check_file_handle);
SERVE_HANDLER(check_file_name);
SERVE_HANDLER(times_ns);
SERVE_HANDLER(times_ns_name);
/* Reads a time with nanoseconds; errors stay in the reader. */
void serve_get_time(struct rd *r, struct timespec *ts);
SERVE_HANDLER(stat_ns);
/* Appends the fields of a stat-ns reply. */
void serve_put_stat_ns(struct buf *b, const struct stat *st);
SERVE_HANDLER(sparse_map);

/* sftp-serve-part.c */
SERVE_HANDLER(rename_part);
/* Closes *fd, which is a part, and renames the part to its target, but only if
 * the part's name still belongs to that file. If this fails, the part is
 * removed, unless `keep` is set and closing reported no lost data. st: its
 * attributes; NULL: they are not known. 0 or -1 with errno; ESTALE: see
 * part-lock.h. */
int serve_part_end(int *fd, const struct stat *st, int at, const char *part,
    int to_at, const char *target, bool keep);
/* Removes the name `part` if it still belongs to the file that fd is open
 * on. */
void serve_part_remove(int fd, int at, const char *part);
/* sftp-serve-small.c */
SERVE_HANDLER(put_file);
SERVE_HANDLER(put_file_ns);
SERVE_HANDLER(put_file_xattrs);
SERVE_HANDLER(get_file);

/* sftp-serve-xattrs.c */
SERVE_HANDLER(xattrs);
SERVE_HANDLER(set_xattrs);
SERVE_HANDLER(fset_xattrs);
/* Reads kinds and a set of extended attributes into op->xattrs. False: the
 * request was answered, or the error is in r. */
bool serve_get_xattrs(struct sftp_serve *s, struct serve_op *op,
    struct rd *r) must_check;
/* Sets the extended attributes op->xattrs of the open file. 0, or -1 with
 * errno. */
int serve_apply_xattrs(const struct serve_op *op, int fd) must_check;

/* sftp-serve-walk.c */
SERVE_HANDLER(walk);
SERVE_HANDLER(walk_read);
void serve_walk_free(struct serve_walk *w); /* NULL: nothing */

/* The digest algorithms of check-file, a comma list. */
extern const char serve_hash_algs[];
void serve_hash_free(struct serve_hash *h);

/* sftp-serve-sums.c */
SERVE_HANDLER(block_sums);
SERVE_HANDLER(block_sums_name);
void serve_sums_free(struct serve_sums *s); /* NULL: nothing */

/* sftp-serve-copy.c */
SERVE_HANDLER(copy_blocks);
void serve_copy_free(struct serve_copy *c); /* NULL: nothing */

/* sftp-serve-op.c. serve_submit() runs op now, gives it to a worker, or parks
 * it; in each case it takes over what op owns. */
void serve_op_init(struct serve_op *op, uint32_t id);
void serve_op_clear(struct serve_op *op);
void serve_submit(struct sftp_serve *s, struct serve_op *op);
/* True if a slice of a long request that has read `did` bytes may go on. It
 * ends after SERVE_SLICE if other work waits, else after SERVE_SLICE_MAX. */
bool serve_slice_has_room(const struct serve_op *op, size_t did);
/* Runs a slice of a request about the next *left bytes of a file: block by
 * block, until the slice is full, nothing is left, or op->flags has a status.
 * pass_hole() answers for a block that is a hole without reading it. It returns
 * 1 if it did so, 0 if the block is no hole, -1 on an error. next() reads
 * bytes, and adds their number to *did. Returns 0 or -1. */
int serve_slice_blocks(struct serve_op *op, const uint64_t *left,
    int (*pass_hole)(struct serve_op *op),
    int (*next)(struct serve_op *op, size_t *did));
/* Must op wait for an earlier request that a worker has not finished? */
bool serve_must_wait(const struct sftp_serve *s, const struct serve_op *op);
/* Should a worker run a request that may wait for a disk, instead of the
 * loop? */
bool serve_prefers_worker(struct sftp_serve *s);
/* Answers the requests that workers have finished, then runs the parked one. */
void serve_collect(struct sftp_serve *s);
void serve_io_free(struct sftp_serve *s);
/* How often this thread has slept, for instance for a disk; 0 where the system
 * does not count that. */
long serve_sleeps(void);
/* Called before and after a system call on the loop, to find out whether the
 * call waited for a disk. */
struct serve_timer {
	uint64_t since_us;
	long sleeps; /* how often this thread had slept at the begin; -1: not
		      * counted */
};
void serve_timer_begin(struct sftp_serve *s, struct serve_timer *t);
void serve_timer_end(struct sftp_serve *s, const struct serve_timer *t);

/* sftp-serve-data.c */
bool serve_is_remote(int fd);
int serve_write_begin(struct sftp_serve *s, struct rd *r, uint32_t id,
    uint32_t body, uint32_t refused) must_check;
size_t serve_write_continue(struct sftp_serve *s, const uint8_t *p,
    size_t len);

/*
 * sftp-serve-reply.c.
 *
 * Handles. serve_handle_new() returns the slot of the new handle, or ERR_LIMIT,
 * ERR_NOMEM; the handle owns the fd or dir that is later put into it.
 * serve_get_handle() returns NULL if there is no such handle of this kind
 * (SERVE_FREE: of any); that is not an error of the message.
 */
int serve_handle_new(struct sftp_serve *s, const char *path) must_check;
void serve_handle_close(struct sftp_serve *s, struct serve_handle *h);
struct serve_handle *serve_get_handle(struct sftp_serve *s, struct rd *r,
    int kind);
/* Called when all fields are read. 1: the request goes on; 0: h is NULL, and
 * the request was answered with status; or ERR_*, the error of the message. */
int serve_check_handle(struct sftp_serve *s, const struct serve_op *op,
    const struct rd *r, const struct serve_handle *h,
    uint32_t status) must_check;
void serve_put_handle(struct sftp_serve *s, uint32_t id, int slot);
/* before: text in front of the log line: "", or "forced " if the client did not
 * close the handle */
void serve_log_close(struct sftp_serve *s, const struct serve_handle *h,
    bool is_dir, const char *before);
/*
 * sftp-serve-told.c: tell opts.tell what was done. path: the name that the file
 * has now; NULL: the one by which it was opened. done: it was closed without an
 * error. serve_tell_small() is for a request with a whole file in it.
 */
void serve_tell_transfer(struct sftp_serve *s, const struct serve_handle *h,
    const char *path, bool done);
void serve_tell_small(struct sftp_serve *s, const struct serve_op *op,
    uint64_t bytes, bool written);
void serve_tell_delete(struct sftp_serve *s, const struct serve_op *op);
void serve_tell_rename(struct sftp_serve *s, const struct serve_op *op);
/* Tells what was not told yet, and frees s->told. */
void serve_told_free(struct sftp_serve *s);

/* Makes op work on this handle, and lets it touch all bytes of the file. */
void serve_touch_handle(struct sftp_serve *s, struct serve_op *op,
    const struct serve_handle *h, bool changes);

/* Reads a path, which the caller frees. NULL: the error is in r. */
char *serve_get_path(struct sftp_serve *s, struct rd *r);

/* Log that attributes, or times, of a file are set. */
void serve_log_attrs(struct sftp_serve *s, const char *path,
    const struct sftp_attrs *attrs);
void serve_log_times(struct sftp_serve *s, const char *path, time_t mtime);

/* The rights that a session needs to set these attributes. */
uint32_t serve_attrs_need(const struct sftp_attrs *attrs);

/* sftp-serve-owners.c: names of those who own files. The name, or "" and false:
 * there is none, or it cannot be told. file: see base/owners.h. */
bool serve_owner(struct sftp_serve *s, enum owners_kind kind, uint32_t id,
    int file, char name[OWNERS_NAME_MAX]);
/* The id of a user or group by name; UINT32_MAX: it is unknown, or must not be
 * told. */
uint32_t serve_id(struct sftp_serve *s, enum owners_kind kind,
    const char *name);
/* Owner and group of an entry of the directory `dir` for a long line: as names,
 * or as numbers if there is no name, or one with a space, which would look like
 * two columns. */
void serve_owners(struct sftp_serve *s, const struct stat *st, int dir,
    const char *entry, char user[SERVE_OWNER_MAX],
    char group[SERVE_OWNER_MAX]);
/* The home directory of a user; "" is the user of this session. False: it is
 * not known, or must not be told. */
bool serve_home_of(const struct sftp_serve *s, const char *user,
    char home[SERVE_HOME_MAX]);

/* Replies. */
/* The reply is a status: an errno, in its words; 0: OK. */
void serve_errno(struct sftp_serve *s, uint32_t id, int error);
void serve_status(struct sftp_serve *s, uint32_t id, uint32_t status);
void serve_fail(struct sftp_serve *s, uint32_t id, uint32_t status,
    const char *text);
void serve_name(struct sftp_serve *s, uint32_t id, const char *name);
/* Begins an EXTENDED_REPLY; buf_close_string() takes the mark to end it. */
size_t serve_begin_reply(struct sftp_serve *s, uint32_t id);

/* Values for op->done. They reply with a status; with the attributes op->st;
 * with the name in op->data; with the bytes of op->data as an extended reply.
 * If op->error is set, all of them reply with its status instead. */
void serve_done_status(struct sftp_serve *s, struct serve_op *op);
void serve_done_attrs(struct sftp_serve *s, struct serve_op *op);
void serve_done_name(struct sftp_serve *s, struct serve_op *op);
void serve_done_data(struct sftp_serve *s, struct serve_op *op);

/* Value for op->run: resolves op->path to an absolute path in op->data. */
int serve_run_resolve(struct serve_op *op);

/* Write log lines; a quiet session logs errors only. */
#define serve_log(s, level, ...)                                              \
	((s)->opts.quiet && (level) > LOG_LVL_ERROR ?                         \
		(void)0 :                                                     \
		log_msg(level, __VA_ARGS__))
#define serve_info(s, ...) serve_log(s, LOG_LVL_INFO, __VA_ARGS__)
#define serve_verbose(s, ...) serve_log(s, LOG_LVL_VERBOSE, __VA_ARGS__)

#endif
