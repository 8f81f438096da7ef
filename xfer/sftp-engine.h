/* SPDX-License-Identifier: ISC */
/*
 * The client side of SFTP version 3: any number of requests under way, each
 * with a callback, answered in any order. The core does no input or output:
 * bytes of replies are fed in, requests are taken from a buffer. sftp_step()
 * joins both with a carrier, for callers that have nothing else to do.
 *
 * The data of a READ goes to the caller's function in pieces, straight from
 * the input. The data of a WRITE is put by the caller straight into the
 * message. What the peer sends is bounded: by what was asked for, and by
 * SFTP_MESSAGE_MAX for the rest; an unknown id ends the session.
 *
 * Threads: one at a time. Callbacks may make new requests, but not free the
 * session.
 */
#ifndef HPN_XFER_SFTP_ENGINE_H
#define HPN_XFER_SFTP_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "xfer/carrier.h"
#include "xfer/sftp-proto.h"

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
	struct span handle;
	struct sftp_attrs attrs;
	struct rd body;	   /* of EXTENDED_REPLY; of NAME: the entries */
	uint32_t count;	   /* of NAME: entries in body */
	uint32_t data_len; /* of DATA: bytes that were handed over */
};
typedef void (*sftp_done_fn)(void *arg, const struct sftp_reply *reply);
/* Data of a READ; called any number of times before its done. */
typedef void (*sftp_data_fn)(void *arg, uint64_t offset, const uint8_t *p,
    size_t len);

/* One entry of a NAME reply; spans as above. False at the end (then see
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
struct buf *sftp_output(struct sftp *s);

/* With a carrier (copied). A step sends, and feeds what there is; if that is
 * nothing it waits, at most timeout_ms (-1: no limit). It does not wait when
 * the caller has `more` to send and all before is sent. ERR_CLOSED at the
 * end. */
void sftp_attach(struct sftp *s, struct xfer_carrier carrier);
int sftp_step(struct sftp *s, bool more, int timeout_ms) must_check;
/* Steps until *done. */
int sftp_run_until(struct sftp *s, const bool *done) must_check;

/* Ask. Limits are defaults until the server told; data limits are never
 * over what it takes. */
bool sftp_is_ready(const struct sftp *s); /* version and limits are known */
int sftp_error(const struct sftp *s);
bool sftp_has(const struct sftp *s, enum sftp_extension ext);
uint32_t sftp_read_max(const struct sftp *s);
uint32_t sftp_write_max(const struct sftp *s);
uint32_t sftp_handles_max(const struct sftp *s);
size_t sftp_pending(const struct sftp *s);

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

/* Takes a HANDLE reply's handle. */
void sftp_keep_handle(struct sftp_handle *h, const struct sftp_reply *reply);

/*
 * The same, but waiting for the answer (a carrier is attached): 0, a status
 * > 0 (enum sftp_status), or ERR_* when the session is over.
 */
int sftp_call_stat(struct sftp *s, const char *path, bool follow,
    struct sftp_attrs *attrs) must_check;
/* REALPATH, READLINK, or EXPAND_PATH (type SFTP_EXTENDED); caller frees. */
int sftp_call_name(struct sftp *s, enum sftp_type type, const char *path,
    char **name) must_check;
int sftp_call_path(struct sftp *s, enum sftp_type type,
    const char *path) must_check;
int sftp_call_statvfs(struct sftp *s, const char *path,
    struct sftp_statvfs *v) must_check;
/* Calls fn for each entry of a directory but "." and "..", until it gives
 * false. Names are checked: no '/', no NUL. */
typedef bool (*sftp_entry_fn)(void *arg, const char *name,
    const struct sftp_entry *entry);
int sftp_call_list(struct sftp *s, const char *path, sftp_entry_fn fn,
    void *arg) must_check;
/* True for a name that an honest directory may hold. */
bool sftp_name_is_safe(struct span name);

#endif
