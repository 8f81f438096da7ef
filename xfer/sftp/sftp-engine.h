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

/* What a server offers beyond the draft. */
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
	SFTP_EXT_CHECK_FILE, /* with sha256 */
	SFTP_EXT_TIMES_NS,
	SFTP_EXT_STAT_NS,
	SFTP_EXT_SPARSE_MAP,
	SFTP_EXT_READDIR_NS,
	SFTP_EXT_PUT_FILE,
	SFTP_EXT_GET_FILE,
	SFTP_EXT_RENAME_PART,
	SFTP_EXT_COUNT,
};

struct sftp_handle {
	uint32_t len;
	uint8_t bytes[SFTP_HANDLE_MAX];
};

/* An answer; spans live during the callback only. */
struct sftp_reply {
	int err;	 /* ERR_*: the session ended without an answer */
	uint32_t status; /* SFTP_OK, also for replies that are no STATUS */
	uint8_t type;	 /* SFTP_STATUS ... SFTP_EXTENDED_REPLY */
	const char *words; /* of a status that is no success, for a person:
			    * see sftp_status_words(); never NULL then */
	struct span handle;
	struct sftp_attrs attrs;
	struct rd body;	   /* of EXTENDED_REPLY; NAME: entries; STATUS: text */
	uint32_t count;	   /* of NAME: entries in body */
	uint32_t data_len; /* of DATA: bytes that were handed over */
	/* The source of a WRITE from a file: bytes that the file had, and why
	 * it had no more (errno; 0: it ended). The rest was sent as zeros. */
	uint32_t source_len;
	int source_errno;
	uint64_t source_us; /* microseconds that took */
};
typedef void (*sftp_done_fn)(void *arg, const struct sftp_reply *reply);
/* Data of a READ; called any number of times before its done. */
typedef void (*sftp_data_fn)(void *arg, uint64_t offset, const uint8_t *p,
    size_t len);

/* An entry of a NAME reply; spans as above. False at the end (then see
 * rd_err(&reply.body) for why). */
struct sftp_entry {
	struct span name, long_name;
	struct sftp_attrs attrs;
};
bool sftp_next_entry(struct rd *body, struct sftp_entry *entry);

/* Life. INIT is the first output; requests may follow at once. Freeing
 * calls what is under way with ERR_CANCELLED. */
int sftp_new(struct sftp **out) must_check;
void sftp_free(struct sftp *s);

/* The core. Feeding takes all of p; its error is sticky: the session is over
 * and every callback was called. */
int sftp_feed(struct sftp *s, const uint8_t *p, size_t len) must_check;
int sftp_feed_end(struct sftp *s, int err) must_check; /* gives err back */
/* All output in one piece; data of files is read for it. */
struct buf *sftp_output(struct sftp *s);
/* The bytes of the output, data of files included, which is not read for it. */
size_t sftp_output_len(const struct sftp *s);
/* The output is taken, at most max bytes of it; returns how many, 0 if there
 * are none. Data of files is read straight to p. */
size_t sftp_take(struct sftp *s, uint8_t *p, size_t max);

/* With a carrier (copied), which each request wakes from now on; it is woken at
 * once if there is output already. A step is a turn of its driver: it sends,
 * and feeds what there is; if that is nothing it waits, at most timeout_ms
 * (-1: no limit). It does not wait when the caller has `more` to send and all
 * before is sent. ERR_CLOSED at the end. */
void sftp_attach(struct sftp *s, struct xfer_carrier carrier);
int sftp_step(struct sftp *s, bool more, int timeout_ms) must_check;
/* Steps until *done. */
int sftp_run_until(struct sftp *s, const bool *done) must_check;

/* State of the session. Limits are defaults until the server has sent its own;
 * data limits never exceed what it accepts. */
bool sftp_is_ready(const struct sftp *s); /* version and limits are known */
bool sftp_has_version(const struct sftp *s); /* so extensions are known */
int sftp_error(const struct sftp *s);
bool sftp_has(const struct sftp *s, enum sftp_extension ext);
/* Which server it is, recognized by its extensions. Whatever depends on the
 * behaviour of one server is decided by this. */
enum sftp_server {
	SFTP_SERVER_OTHER,   /* or not known yet */
	SFTP_SERVER_OPENSSH, /* or another that offers the same */
	SFTP_SERVER_OWN,     /* of this project */
};
enum sftp_server sftp_server(const struct sftp *s);
/* What was found out of RENAME by those who use the session: may it be that
 * the server has the request, but lets nobody use it? */
enum sftp_renames {
	SFTP_RENAMES_UNKNOWN,
	SFTP_RENAMES_FILES,
	SFTP_RENAMES_NOTHING,
};
enum sftp_renames sftp_renames(const struct sftp *s);
void sftp_set_renames(struct sftp *s, enum sftp_renames renames);
/* Is a request carried out as if those before it were done? The draft demands
 * no more than that of each file, and there are servers that do not even do
 * so: golang's pkg/sftp lets FSETSTAT overtake WRITE. */
bool sftp_keeps_order(const struct sftp *s);
uint32_t sftp_read_max(const struct sftp *s);
uint32_t sftp_write_max(const struct sftp *s);
uint32_t sftp_handles_max(const struct sftp *s);
size_t sftp_pending(const struct sftp *s);
/* Bytes that were fed so far. */
uint64_t sftp_received(const struct sftp *s);

/* Requests. Never fail by themselves: what goes wrong, the callback says
 * (perhaps at the next step). Names, handles are copied. done may be NULL. */
void sftp_open(struct sftp *s, const char *path, uint32_t pflags,
    const struct sftp_attrs *attrs, sftp_done_fn done, void *arg);
void sftp_close(struct sftp *s, const struct sftp_handle *h,
    sftp_done_fn done, void *arg);
void sftp_read(struct sftp *s, const struct sftp_handle *h, uint64_t offset,
    uint32_t len, sftp_data_fn data, sftp_done_fn done, void *arg);
/* Place for len bytes of data, or NULL; then exactly one finish with how
 * many are there (0: nothing is sent, and done not called). */
uint8_t *sftp_write_begin(struct sftp *s, const struct sftp_handle *h,
    uint64_t offset, uint32_t len);
void sftp_write_finish(struct sftp *s, uint32_t len, sftp_done_fn done,
    void *arg);
/* len bytes of a file, from the same offset, which are read when they are
 * taken as output. fd is borrowed until done. See source_len. */
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
/* Extensions with one path, two paths, or one handle; the server must have
 * them. */
void sftp_ext_path(struct sftp *s, enum sftp_extension ext, const char *path,
    const char *second, sftp_done_fn done, void *arg);
void sftp_ext_handle(struct sftp *s, enum sftp_extension ext,
    const struct sftp_handle *h, sftp_done_fn done, void *arg);
void sftp_lsetstat(struct sftp *s, const char *path,
    const struct sftp_attrs *attrs, sftp_done_fn done, void *arg);
void sftp_copy_data(struct sftp *s, const struct sftp_handle *from,
    uint64_t from_at, uint64_t len, const struct sftp_handle *to,
    uint64_t to_at, sftp_done_fn done, void *arg);
/* Digests (SHA-256) of the blocks of a range; the server must have it. The
 * reply's body is as check-file's, see sftp_next_digest(). */
void sftp_check_file(struct sftp *s, const struct sftp_handle *h,
    uint64_t offset, uint64_t len, uint32_t block, sftp_done_fn done,
    void *arg);
/* The body of such a reply: *digests are those of `count` blocks, or it is
 * ERR_PROTOCOL. */
int sftp_get_digests(struct rd *body, size_t count,
    const uint8_t **digests) must_check;
/* stat-ns@hpnssh.org, of what a link names if follow. */
void sftp_stat_ns(struct sftp *s, const char *path, bool follow,
    sftp_done_fn done, void *arg);
struct sftp_stat_ns {
	int64_t atime, mtime;
	uint32_t atime_ns, mtime_ns, nlink;
	uint64_t dev, ino, blocks;
};
int sftp_get_stat_ns(struct rd *body, struct sftp_stat_ns *st) must_check;
/* The next entry of READDIR's answer, or (exact) of that of readdir-ns, behind
 * their number. *st is set by the latter only; there is no long name. */
bool sftp_next_entry_ns(struct rd *body, bool exact, struct sftp_entry *entry,
    struct sftp_stat_ns *st);

/* put-file@hpnssh.org: all of a file, at most SFTP_DATA_MAX bytes with the
 * path; with `exact` its mode and times as well, else the mode is that of a
 * new file. The answer is a STATUS. */
void sftp_put_file(struct sftp *s, const char *path, bool exact,
    const struct sftp_attrs *attrs, const uint8_t *p, size_t len,
    sftp_done_fn done, void *arg);
/* get-file@hpnssh.org, of a file of at most `most` bytes. */
void sftp_get_file(struct sftp *s, const char *path, uint32_t most,
    sftp_done_fn done, void *arg);
int sftp_get_file_reply(struct rd *body, struct sftp_attrs *attrs,
    struct span *data) must_check;

/* rename-part@hpnssh.org: closes the handle, in any case, and gives what it is
 * of the target's name. NO_SUCH_FILE: it has not the part's name any more. */
void sftp_rename_part(struct sftp *s, const struct sftp_handle *h,
    const char *part, const char *target, sftp_done_fn done, void *arg);

/* USERS_GROUPS; the reply's body is two strings of names in this order. */
void sftp_users_groups(struct sftp *s, const uint32_t *uids, size_t n_uids,
    const uint32_t *gids, size_t n_gids, sftp_done_fn done, void *arg);

/* times-ns@hpnssh.org: atime and mtime of what a handle is of. */
struct timespec;
void sftp_times_ns(struct sftp *s, const struct sftp_handle *h,
    const struct timespec times[2], sftp_done_fn done, void *arg);
/* sparse-map@hpnssh.org: extents of data from offset on. The reply's body:
 * a count, (offset, length) of each, and whether there may be more. */
void sftp_sparse_map(struct sftp *s, const struct sftp_handle *h,
    uint64_t offset, sftp_done_fn done, void *arg);
/* What the first handle of this session will be, so that requests with it can
 * follow its OPEN at once; a wrong one is refused by the server, for there is
 * no other. False: not known, or not the first. */
bool sftp_guess_handle(const struct sftp *s, struct sftp_handle *h);
/* The handle of a HANDLE reply is kept. */
void sftp_keep_handle(struct sftp_handle *h, const struct sftp_reply *reply);

/*
 * The same, but waiting for the answer (a carrier is attached): 0, a status
 * > 0 (enum sftp_status), or ERR_* when the session is over.
 */
/* The words of the status that the last of these calls gave. */
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
/* The attributes go to a link itself, if not `follow`: then LSETSTAT is
 * needed. */
int sftp_call_setstat(struct sftp *s, const char *path, bool follow,
    const struct sftp_attrs *attrs) must_check;
/* The server copies a file (COPY_DATA); *failed is the path that could not
 * be opened, or NULL. A file that is copied onto itself stays whole. */
int sftp_call_copy(struct sftp *s, const char *from, const char *to,
    const struct sftp_attrs *attrs, const char **failed) must_check;
/* Names of one user and one group; "" where unknown. */
int sftp_call_owner(struct sftp *s, uint32_t uid, uint32_t gid, char **user,
    char **group) must_check;
int sftp_call_statvfs(struct sftp *s, const char *path,
    struct sftp_statvfs *v) must_check;
/* Calls fn for each entry of a directory but "." and "..", until it gives
 * false. Names are checked: no '/', no NUL. */
typedef bool (*sftp_entry_fn)(void *arg, const char *name,
    const struct sftp_entry *entry);
int sftp_call_list(struct sftp *s, const char *path, sftp_entry_fn fn,
    void *arg) must_check;
/* The same with "." and "..". */
int sftp_call_list_all(struct sftp *s, const char *path, sftp_entry_fn fn,
    void *arg) must_check;
/* True for a name that an honest directory may hold. */
bool sftp_name_is_safe(struct span name);

#endif
