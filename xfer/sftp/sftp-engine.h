/* SPDX-License-Identifier: ISC */
/*
 * The client side of SFTP version 3: any number of requests under way, each
 * with a callback, answered in any order. The core does no input or output:
 * bytes of replies are fed in, requests are taken out. A carrier's driver does
 * both for all of its sessions; sftp_step() gives it a turn.
 *
 * The data of a READ goes to the caller's function in pieces, straight from
 * the input. The data of a WRITE is put by the caller straight into the
 * message, or read from a file when the message is taken. The peer cannot send
 * more than was requested, or SFTP_MESSAGE_MAX where nothing was; an unknown id
 * ends the session.
 *
 * Threads: one at a time. Callbacks may make new requests, but not free the
 * session.
 */
#ifndef HPN_XFER_SFTP_SFTP_ENGINE_H
#define HPN_XFER_SFTP_SFTP_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "xfer/sftp/carrier.h"
#include "xfer/sftp/sftp-proto.h"

struct sftp;
struct timespec;
struct xattrs;

/* Extensions that a server may offer. */
enum sftp_extension {
	SFTP_EXT_POSIX_RENAME,
	SFTP_EXT_STATVFS,
	SFTP_EXT_FSTATVFS,
	SFTP_EXT_HARDLINK,
	SFTP_EXT_FSYNC,
	SFTP_EXT_LSETSTAT,
	SFTP_EXT_LIMITS,
	SFTP_EXT_EXPAND_PATH,
	SFTP_EXT_COPY_DATA,
	SFTP_EXT_HOME_DIRECTORY,
	SFTP_EXT_USERS_GROUPS,
	SFTP_EXT_CHECK_FILE, /* only if it can compute sha256 */
	SFTP_EXT_UNCACHE, /* syncs a file and drops it from the cache, so that a
			   * READ shows the disk's speed */
	SFTP_EXT_TIMES_NS,
	SFTP_EXT_TIMES_NS_NAME,
	SFTP_EXT_STAT_NS,
	SFTP_EXT_SPARSE_MAP,
	SFTP_EXT_READDIR_NS,
	SFTP_EXT_PUT_FILE,
	SFTP_EXT_PUT_FILE_NS,
	SFTP_EXT_GET_FILE,
	SFTP_EXT_RENAME_PART,
	SFTP_EXT_CONFINE,
	SFTP_EXT_WALK,
	SFTP_EXT_BLOCK_SUMS,
	SFTP_EXT_BLOCK_SUMS_NAME,
	SFTP_EXT_COPY_BLOCKS,
	SFTP_EXT_IDS_BY_NAME,
	SFTP_EXT_OWN_IDS,
	SFTP_EXT_XATTRS, /* stands for xattrs@hpnssh.org and the requests to set
			  * attributes */
	SFTP_EXT_COUNT,
};

struct sftp_handle {
	uint32_t len;
	uint8_t bytes[SFTP_HANDLE_MAX];
};

/* The answer to a request; spans are valid only during the callback. */
struct sftp_reply {
	int err;	 /* ERR_*: the session ended without an answer */
	uint32_t status; /* SFTP_OK, also for replies that are no STATUS */
	uint8_t type;	 /* SFTP_STATUS ... SFTP_EXTENDED_REPLY */
	const char *words; /* text of an error for the user, see
			    * sftp_status_words(); not NULL if status is not
			    * SFTP_OK */
	struct span handle;
	struct sftp_attrs attrs;
	struct rd body;	   /* EXTENDED_REPLY: its fields; NAME: entries; STATUS:
			    * error text */
	uint32_t count;	   /* NAME: number of entries in body */
	uint32_t data_len; /* DATA: bytes that were given to sftp_data_fn */
	/* For sftp_write_file(): how many bytes the file had, and why it had no
	 * more (errno; 0: it ended). The rest of the WRITE was sent as
	 * zeros. */
	uint32_t source_len;
	int source_errno;
	uint64_t source_us; /* microseconds that reading the file took */
};
typedef void (*sftp_done_fn)(void *arg, const struct sftp_reply *reply);
/* Gets data of a READ; called any number of times before done. */
typedef void (*sftp_data_fn)(void *arg, uint64_t offset, const uint8_t *p,
    size_t len);

/* sftp_next_entry() reads an entry of a NAME reply; its spans are valid only
 * during the callback. False at the end, or after an error: see
 * rd_err(&reply.body). */
struct sftp_entry {
	struct span name, long_name;
	struct sftp_attrs attrs;
};
bool sftp_next_entry(struct rd *body, struct sftp_entry *entry);

/* Life. INIT is the first output; requests may follow at once. Freeing the
 * session answers all requests under way with ERR_CANCELLED. */
int sftp_new(struct sftp **out) must_check;
void sftp_free(struct sftp *s);

/* The core. sftp_feed() takes all of p. Its error stays: the session is over,
 * and all requests were answered. */
int sftp_feed(struct sftp *s, const uint8_t *p, size_t len) must_check;
int sftp_feed_end(struct sftp *s, int err) must_check; /* returns the session's
							* error: err, or an
							* earlier one */
/* Returns all output in one piece; the data of WRITEs from files is read
 * now. */
struct buf *sftp_output(struct sftp *s);
/* Removes n bytes of sftp_output(), which the caller has sent. */
void sftp_output_sent(struct sftp *s, size_t n);
/* Bytes of the output, with data of files, which is not read for this. */
size_t sftp_output_len(const struct sftp *s);
/* Moves at most max bytes of output to p; returns how many, 0 if there is no
 * output. Data of files is read straight to p. */
size_t sftp_take(struct sftp *s, uint8_t *p, size_t max);

/* sftp_attach() gives the session a carrier (copied). Each request wakes it
 * from now on; it is woken at once if there is output already. sftp_step() is a
 * turn of the carrier's driver: it sends output and feeds replies. If nothing
 * can be moved it waits, at most timeout_ms (-1: no limit). With `more` the
 * caller has more requests to make: then it waits only if output is left that
 * could not be sent. ERR_CLOSED at the end of the session. */
void sftp_attach(struct sftp *s, struct xfer_carrier carrier);
int sftp_step(struct sftp *s, bool more, int timeout_ms) must_check;
/* Steps until *done. */
int sftp_run_until(struct sftp *s, const bool *done) must_check;

/* State of the session. Limits are defaults until the server has sent its own.
 * Limits of data never exceed what the server accepts. */
bool sftp_is_ready(const struct sftp *s); /* the server's version and limits are
					   * known */
bool sftp_has_version(const struct sftp *s); /* the server's version and
					      * extensions are known */
int sftp_error(const struct sftp *s);
bool sftp_has(const struct sftp *s, enum sftp_extension ext);
/* Which server it is, recognized by its extensions. Code that depends on the
 * behaviour of one server asks for this. */
enum sftp_server {
	SFTP_SERVER_OTHER,   /* or not known yet */
	SFTP_SERVER_OPENSSH, /* or another server with the same extensions */
	SFTP_SERVER_OWN,     /* the server of this project */
};
enum sftp_server sftp_server(const struct sftp *s);
/* What users of the session have found out about RENAME: a server may have the
 * request, but let nobody use it. The session only keeps this for them. */
enum sftp_renames {
	SFTP_RENAMES_UNKNOWN,
	SFTP_RENAMES_FILES,
	SFTP_RENAMES_NOTHING,
};
enum sftp_renames sftp_renames(const struct sftp *s);
void sftp_set_renames(struct sftp *s, enum sftp_renames renames);
/* Does the server carry out a request as if all earlier requests were done? The
 * draft demands this only of requests for the same file, and some servers do
 * not even do that: golang's pkg/sftp lets FSETSTAT overtake WRITE. */
bool sftp_keeps_order(const struct sftp *s);
uint32_t sftp_read_max(const struct sftp *s);
uint32_t sftp_write_max(const struct sftp *s);
uint32_t sftp_handles_max(const struct sftp *s);
size_t sftp_pending(const struct sftp *s);
/* Bytes that the session has received and sent so far. */
uint64_t sftp_received(const struct sftp *s);
uint64_t sftp_sent(const struct sftp *s);

/* Requests. The functions do not fail: the callback is told of errors, at once
 * or later. Names and handles are copied. done may be NULL. */
void sftp_open(struct sftp *s, const char *path, uint32_t pflags,
    const struct sftp_attrs *attrs, sftp_done_fn done, void *arg);
void sftp_close(struct sftp *s, const struct sftp_handle *h,
    sftp_done_fn done, void *arg);
void sftp_read(struct sftp *s, const struct sftp_handle *h, uint64_t offset,
    uint32_t len, sftp_data_fn data, sftp_done_fn done, void *arg);
/* Begins a WRITE. Returns the place where the caller puts up to len bytes of
 * data, or NULL if the session is over. Then sftp_write_finish() must be called
 * once, with how many bytes there are; 0: nothing is sent, and done is not
 * called. */
uint8_t *sftp_write_begin(struct sftp *s, const struct sftp_handle *h,
    uint64_t offset, uint32_t len);
void sftp_write_finish(struct sftp *s, uint32_t len, sftp_done_fn done,
    void *arg);
/* WRITE of len bytes of the file fd, from the same offset in it. The file is
 * read when the bytes are taken as output. fd is borrowed until done. See
 * source_len. */
void sftp_write_file(struct sftp *s, const struct sftp_handle *h,
    uint64_t offset, uint32_t len, int fd, sftp_done_fn done, void *arg);
/* SFTP_STAT, LSTAT, OPENDIR, REMOVE, RMDIR, REALPATH, READLINK */
void sftp_path_request(struct sftp *s, enum sftp_type type, const char *path,
    sftp_done_fn done, void *arg);
/* SFTP_SETSTAT, MKDIR */
void sftp_attrs_request(struct sftp *s, enum sftp_type type, const char *path,
    const struct sftp_attrs *attrs, sftp_done_fn done, void *arg);
/* SFTP_RENAME, SYMLINK (target, link) */
void sftp_two_paths(struct sftp *s, enum sftp_type type, const char *first,
    const char *second, sftp_done_fn done, void *arg);
/* SFTP_FSTAT, READDIR */
void sftp_handle_request(struct sftp *s, enum sftp_type type,
    const struct sftp_handle *h, sftp_done_fn done, void *arg);
void sftp_fsetstat(struct sftp *s, const struct sftp_handle *h,
    const struct sftp_attrs *attrs, sftp_done_fn done, void *arg);
/* Extensions with one path (second NULL), two paths, or one handle. The server
 * must have the extension. */
void sftp_ext_path(struct sftp *s, enum sftp_extension ext, const char *path,
    const char *second, sftp_done_fn done, void *arg);
void sftp_ext_handle(struct sftp *s, enum sftp_extension ext,
    const struct sftp_handle *h, sftp_done_fn done, void *arg);
void sftp_lsetstat(struct sftp *s, const char *path,
    const struct sftp_attrs *attrs, sftp_done_fn done, void *arg);
void sftp_copy_data(struct sftp *s, const struct sftp_handle *from,
    uint64_t from_at, uint64_t len, const struct sftp_handle *to,
    uint64_t to_at, sftp_done_fn done, void *arg);
/* Asks for SHA-256 digests of the blocks of a range, with check-file-handle;
 * the server must have SFTP_EXT_CHECK_FILE. For the reply see
 * sftp_get_digests(). */
void sftp_check_file(struct sftp *s, const struct sftp_handle *h,
    uint64_t offset, uint64_t len, uint32_t block, sftp_done_fn done,
    void *arg);
/* Reads the body of a reply to sftp_check_file(): *digests points to the
 * digests of `count` blocks, in body. ERR_PROTOCOL: there are not so many. */
int sftp_get_digests(struct rd *body, size_t count,
    const uint8_t **digests) must_check;
/* block-sums@hpnssh.org: asks for the sums of the blocks of a range, with the
 * seed (xfer/block-sum.h). sftp_get_sums() reads the body of the reply: *sums
 * points to `count` sums in it. ERR_PROTOCOL: there are fewer. */
struct sftp_block_sums {
	/* Handle, or path for SFTP_EXT_BLOCK_SUMS_NAME; the other one is
	 * NULL. */
	const struct sftp_handle *h;
	const char *path;
	uint64_t offset, len;
	uint32_t block;
	const uint8_t *seed;
};
void sftp_block_sums(struct sftp *s, const struct sftp_block_sums *b,
    sftp_done_fn done, void *arg);
int sftp_get_sums(struct rd *body, size_t count,
    const uint8_t **sums) must_check;
/* copy-blocks@hpnssh.org: has blocks of `from` copied to `to` if `digest`,
 * BLOCK_SUM_COPY bytes, is the SHA-256 of their strong sums. */
struct sftp_copy_blocks {
	const struct sftp_handle *from, *to;
	uint64_t from_at, to_at, len;
	uint32_t block;
	const uint8_t *seed, *digest;
};
void sftp_copy_blocks(struct sftp *s, const struct sftp_copy_blocks *c,
    sftp_done_fn done, void *arg);
/* stat-ns@hpnssh.org; with `follow` of the file that a link leads to. */
void sftp_stat_ns(struct sftp *s, const char *path, bool follow,
    sftp_done_fn done, void *arg);
struct sftp_stat_ns {
	int64_t atime, mtime;
	uint32_t atime_ns, mtime_ns, nlink;
	uint64_t dev, ino, blocks;
};
int sftp_get_stat_ns(struct rd *body, struct sftp_stat_ns *st) must_check;
/* Reads the next entry of a reply to READDIR, or, if exact, to readdir-ns,
 * whose body begins with the number of entries: the caller has read that. *st
 * is set, and the long name is empty, only for readdir-ns. */
bool sftp_next_entry_ns(struct rd *body, bool exact, struct sftp_entry *entry,
    struct sftp_stat_ns *st);

/* put-file@hpnssh.org: writes a whole file; path and data together are at most
 * SFTP_DATA_MAX bytes. With `exact` the file gets the mode and times in attrs,
 * else the mode of any new file. The answer is a STATUS. */
void sftp_put_file(struct sftp *s, const char *path, bool exact,
    const struct sftp_attrs *attrs, const uint8_t *p, size_t len,
    sftp_done_fn done, void *arg);
/* put-file-ns@hpnssh.org: writes a small file. `sets` tells which of attrs it
 * gets (of SFTP_A_OWNER, SFTP_A_MODE, SFTP_A_TIMES); times come from `times`.
 * SFTP_A_OWNER needs SFTP_A_MODE, too. */
struct sftp_put {
	const char *path;
	uint32_t sets;
	const struct sftp_attrs *attrs;
	struct timespec times[2]; /* atime, mtime */
	const struct xattrs *xattrs; /* put-file-xattrs; NULL: put-file-ns */
};
void sftp_put_file_ns(struct sftp *s, const struct sftp_put *put,
    const uint8_t *p, size_t len, sftp_done_fn done, void *arg);
/* get-file@hpnssh.org: reads a whole file, if it has at most `most` bytes. */
void sftp_get_file(struct sftp *s, const char *path, uint32_t most,
    sftp_done_fn done, void *arg);
int sftp_get_file_reply(struct rd *body, struct sftp_attrs *attrs,
    struct span *data) must_check;

/* rename-part@hpnssh.org: closes the handle, in any case, and gives the file
 * that it was open on the target's name. NO_SUCH_FILE: the part's name is no
 * longer that of this file. */
void sftp_rename_part(struct sftp *s, const struct sftp_handle *h,
    const char *part, const char *target, sftp_done_fn done, void *arg);

/* confine@hpnssh.org: the session gives up rights, and all but the directory
 * path, which is its "/" from then on. It may be asked for before the version
 * is known, so that requests that need it leave together with INIT. */
struct sftp_confine {
	uint32_t rights;		/* enum sftp_right: those that stay */
	uint64_t bytes, files, deletes; /* limits; UINT64_MAX: none */
	uint32_t flags;			/* enum sftp_confine_flag */
};
void sftp_confine(struct sftp *s, const char *path,
    const struct sftp_confine *c, sftp_done_fn done, void *arg);
enum sftp_confined {
	SFTP_CONFINED_NOT,   /* it was not asked for, or refused */
	SFTP_CONFINED_ASKED, /* the first answer is on its way */
	SFTP_CONFINED_YES,
};
enum sftp_confined sftp_confined(const struct sftp *s);

/* walk@hpnssh.org: begins to walk a tree; the answer is a HANDLE. rules are in
 * the form of the wire. */
struct sftp_walk {
	const char *path;
	uint32_t want; /* enum walk_want */
	const void *rules;
	size_t rules_len;
	const char *start; /* with WALK_AFTER; else NULL */
};
void sftp_walk(struct sftp *s, const struct sftp_walk *w, sftp_done_fn done,
    void *arg);
/* walk-read@hpnssh.org: the reply's body has records for a struct
 * walk_reader. */
void sftp_walk_read(struct sftp *s, const struct sftp_handle *h,
    sftp_done_fn done, void *arg);
/* Guesses the handle of a walk that is asked for next, so that walk-reads can
 * follow at once, even before the version is known: no server but ours has
 * these requests. False: there is no such guess. */
bool sftp_guess_walk(const struct sftp *s, struct sftp_handle *h);

/* users-groups-by-id: the reply's body is a string of users' names, and one of
 * groups' names, each in the order of the ids. */
void sftp_users_groups(struct sftp *s, const uint32_t *uids, size_t n_uids,
    const uint32_t *gids, size_t n_gids, sftp_done_fn done, void *arg);
/* ids-by-name@hpnssh.org: asks for the ids of at most 256 names. The reply's
 * body is a string of users' ids and one of groups' ids, each uint32, in the
 * order of the names; 2^32 - 1: unknown. */
void sftp_ids_by_name(struct sftp *s, const char *const *users,
    size_t n_users, const char *const *groups, size_t n_groups,
    sftp_done_fn done, void *arg);
/* own-ids@hpnssh.org: asks for whom the server works. The reply's body is the
 * user's id, and a string of the ids of its groups. It may be sent before the
 * version is known, because no other server has a request of that name. */
void sftp_own_ids(struct sftp *s, sftp_done_fn done, void *arg);

/* xattrs@hpnssh.org: asks for extended attributes; with `follow`, of the file
 * that a link leads to. The reply's body is a string, the set of attributes of
 * these kinds (xfer/xattrs.h). sftp_get_xattrs() reads and checks it: *set
 * points into body. */
void sftp_xattrs(struct sftp *s, const char *path, bool follow,
    uint32_t kinds, sftp_done_fn done, void *arg);
int sftp_get_xattrs(struct rd *body, uint32_t kinds,
    struct span *set) must_check;
/* set-xattrs@hpnssh.org and fset-xattrs@hpnssh.org: set a file's extended
 * attributes. */
void sftp_set_xattrs(struct sftp *s, const char *path, bool follow,
    const struct xattrs *x, sftp_done_fn done, void *arg);
void sftp_fset_xattrs(struct sftp *s, const struct sftp_handle *h,
    const struct xattrs *x, sftp_done_fn done, void *arg);

/* times-ns@hpnssh.org: sets atime and mtime of an open file or directory. */
void sftp_times_ns(struct sftp *s, const struct sftp_handle *h,
    const struct timespec times[2], sftp_done_fn done, void *arg);
/* times-ns-name@hpnssh.org: sets times by a path; those of a link itself. */
void sftp_times_ns_name(struct sftp *s, const char *path,
    const struct timespec times[2], sftp_done_fn done, void *arg);
/* sparse-map@hpnssh.org: asks for extents of data from offset on. The reply's
 * body: a count, (offset, length) of each extent, and a byte that is not 0 if
 * there are more extents. */
void sftp_sparse_map(struct sftp *s, const struct sftp_handle *h,
    uint64_t offset, sftp_done_fn done, void *arg);
/* Guesses the first handle of this session, so that requests with it can follow
 * its OPEN at once. If the guess is wrong, the server refuses these requests,
 * for there is no other handle yet. False: no guess is possible, or a handle
 * was requested before. */
bool sftp_guess_handle(const struct sftp *s, struct sftp_handle *h);
/* Copies the handle of a HANDLE reply to h. */
void sftp_keep_handle(struct sftp_handle *h, const struct sftp_reply *reply);

/*
 * The functions below make a request and wait for its answer; the session must
 * have a carrier. 0, a status > 0 (enum sftp_status), or ERR_* when the session
 * is over.
 */
/* The server's text of the status that the last sftp_call_*() returned.
 * Borrowed until the next one. */
const char *sftp_call_words(int status);
int sftp_call_stat(struct sftp *s, const char *path, bool follow,
    struct sftp_attrs *attrs) must_check;
/* REALPATH, READLINK, or EXPAND_PATH (type SFTP_EXTENDED); caller frees. */
int sftp_call_name(struct sftp *s, enum sftp_type type, const char *path,
    char **name) must_check;
int sftp_call_path(struct sftp *s, enum sftp_type type,
    const char *path) must_check;
int sftp_call_mkdir(struct sftp *s, const char *path,
    const struct sftp_attrs *attrs) must_check;
/* RENAME, SYMLINK (target, link) */
int sftp_call_paths(struct sftp *s, enum sftp_type type, const char *first,
    const char *second) must_check;
/* POSIX_RENAME, HARDLINK */
int sftp_call_ext(struct sftp *s, enum sftp_extension ext, const char *first,
    const char *second) must_check;
/* Without `follow` the attributes of a link itself are set: then the server
 * must have LSETSTAT. */
int sftp_call_setstat(struct sftp *s, const char *path, bool follow,
    const struct sftp_attrs *attrs) must_check;
/* The server copies a file (COPY_DATA); *failed is the path that could not
 * be opened, or NULL. A file that is copied onto itself stays whole. */
int sftp_call_copy(struct sftp *s, const char *from, const char *to,
    const struct sftp_attrs *attrs, const char **failed) must_check;
/* The names of a user and a group, which the caller frees; "": unknown. */
int sftp_call_owner(struct sftp *s, uint32_t uid, uint32_t gid, char **user,
    char **group) must_check;
int sftp_call_statvfs(struct sftp *s, const char *path,
    struct sftp_statvfs *v) must_check;
/* Calls fn for each entry of a directory but "." and "..", until fn returns
 * false. Entries whose name has a '/' or NUL are left out. */
typedef bool (*sftp_entry_fn)(void *arg, const char *name,
    const struct sftp_entry *entry);
int sftp_call_list(struct sftp *s, const char *path, sftp_entry_fn fn,
    void *arg) must_check;
/* Like sftp_call_list(), with "." and "..". */
int sftp_call_list_all(struct sftp *s, const char *path, sftp_entry_fn fn,
    void *arg) must_check;
/* Is it a name that an entry of a directory can have? No '/', no NUL, and not
 * "." or "..". */
bool sftp_name_is_safe(struct span name);

#endif
