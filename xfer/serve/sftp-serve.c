/* SPDX-License-Identifier: ISC */
/*
 * DESIGN. A message is handled where it lies in the caller's input if it is
 * whole there. If not, its bytes are gathered in s->in until it is; except
 * that a WRITE is started as soon as its fields are known, and its data
 * goes to the file piece by piece (struct serve_write).
 */
#include "xfer/serve/sftp-serve.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/wire.h"
#include "xfer/local/local-beneath.h"
#include "xfer/serve/sftp-serve-internal.h"
#include "xfer/sftp/sftp-proto.h"
#include "xfer/sftp/sftp-rights.h"

enum {
	HANDLES_LIMIT = 65535,
	RESERVED_FDS = 5,
	WAITING_MAX = 64 * 1024, /* bytes of requests behind a READ that
				  * is kept back */
};

struct request {
	const char *name; /* for -p, -P and log lines */
	const char *wire; /* name of an extension on the wire; NULL: no
			   * extension */
	const char *version; /* what the VERSION reply says of it; NULL: it is
			      * not listed there */
	uint8_t type;
	uint32_t needs; /* rights that every use of the request needs */
	serve_fn fn;  /* NULL for WRITE, which is handled here */
	/* A comma list of the standard requests that can do the same: this
	 * one is allowed only if all of these are. NULL: it is a standard one
	 * itself. */
	const char *counts_as;
};

/* Short names of rights, for the table. NOTHING is for requests that tell
 * nothing of files, or only of a file that the session has open already. */
enum {
	NOTHING = 0,
	LIST = SFTP_MAY_LIST,
	READ = SFTP_MAY_READ,
	MAKE = SFTP_MAY_MAKE,
	CHANGE = SFTP_MAY_CHANGE,
	LINK = SFTP_MAY_LINK,
	DELETE = SFTP_MAY_DELETE,
	TIMES = SFTP_MAY_TIMES,
};
#define ALTERS SERVE_ALTERS

/* Rows of the table: requests of the draft, requests of OpenSSH, and others.
 * Lists (-P, -p) that were written for OpenSSH's server do not name the others.
 * So these have in counts_as which listed requests can do the same; else they
 * would be a way around such lists. */
#define DRAFT(type, name, needs, fn) \
	{ name, NULL, NULL, type, needs, fn, NULL }
#define STOCK(name, wire, version, needs, fn) \
	{ name, wire, version, SFTP_EXTENDED, needs, fn, NULL }
#define OTHER(name, wire, version, counts_as, needs, fn) \
	{ name, wire, version, SFTP_EXTENDED, needs, fn, counts_as }

/*
 * Every request of the protocol, with the rights that it needs: a row without
 * rights does not compile. OPEN, and requests that set attributes, need further
 * rights depending on their arguments: their handlers call serve_may().
 */
static const struct request requests[] = {
	DRAFT(SFTP_OPEN, "open", NOTHING, serve_open),
	DRAFT(SFTP_CLOSE, "close", NOTHING, serve_close),
	DRAFT(SFTP_READ, "read", READ, serve_read),
	DRAFT(SFTP_WRITE, "write", ALTERS, NULL),
	DRAFT(SFTP_LSTAT, "lstat", LIST, serve_lstat),
	DRAFT(SFTP_FSTAT, "fstat", NOTHING, serve_fstat),
	DRAFT(SFTP_SETSTAT, "setstat", ALTERS, serve_setstat),
	DRAFT(SFTP_FSETSTAT, "fsetstat", ALTERS, serve_fsetstat),
	DRAFT(SFTP_OPENDIR, "opendir", LIST, serve_opendir),
	DRAFT(SFTP_READDIR, "readdir", LIST, serve_readdir),
	DRAFT(SFTP_REMOVE, "remove", DELETE, serve_remove),
	DRAFT(SFTP_MKDIR, "mkdir", MAKE, serve_mkdir),
	DRAFT(SFTP_RMDIR, "rmdir", DELETE, serve_rmdir),
	DRAFT(SFTP_REALPATH, "realpath", LIST, serve_realpath),
	DRAFT(SFTP_STAT, "stat", LIST, serve_stat),
	DRAFT(SFTP_RENAME, "rename", MAKE | DELETE, serve_rename),
	DRAFT(SFTP_READLINK, "readlink", LIST, serve_readlink),
	DRAFT(SFTP_SYMLINK, "symlink", MAKE | LINK, serve_symlink),
	STOCK("posix-rename", "posix-rename@openssh.com", "1",
	    MAKE | CHANGE | DELETE, serve_posix_rename),
	STOCK("statvfs", "statvfs@openssh.com", "2", LIST, serve_statvfs),
	STOCK("fstatvfs", "fstatvfs@openssh.com", "2", NOTHING,
	    serve_fstatvfs),
	STOCK("hardlink", "hardlink@openssh.com", "1", MAKE | LINK,
	    serve_hardlink),
	STOCK("fsync", "fsync@openssh.com", "1", ALTERS, serve_fsync),
	STOCK("lsetstat", "lsetstat@openssh.com", "1", ALTERS, serve_lsetstat),
	STOCK("limits", "limits@openssh.com", "1", NOTHING, serve_limits),
	STOCK("expand-path", "expand-path@openssh.com", "1", LIST,
	    serve_expand_path),
	STOCK("copy-data", "copy-data", "1", READ | ALTERS, serve_copy_data),
	STOCK("home-directory", "home-directory", "1", LIST,
	    serve_home_directory),
	STOCK("users-groups-by-id", "users-groups-by-id@openssh.com", "1",
	    LIST, serve_users_groups),
	OTHER("check-file-handle", "check-file-handle", serve_hash_algs,
	    "read", READ, serve_check_file_handle),
	OTHER("check-file-name", "check-file-name", NULL,
	    "open,read,close", READ, serve_check_file_name),
	OTHER("block-sums", "block-sums@hpnssh.org", "1", "read", READ,
	    serve_block_sums),
	OTHER("block-sums-name", "block-sums-name@hpnssh.org", "1",
	    "open,read,close", READ, serve_block_sums_name),
	OTHER("copy-blocks", "copy-blocks@hpnssh.org", "1", "copy-data",
	    READ | ALTERS, serve_copy_blocks),
	OTHER("uncache", "uncache@hpnssh.org", "1", "fsync", ALTERS,
	    serve_uncache),
	OTHER("times-ns", "times-ns@hpnssh.org", "1", "fsetstat", TIMES,
	    serve_times_ns),
	OTHER("times-ns-name", "times-ns-name@hpnssh.org", "1", "lsetstat",
	    TIMES, serve_times_ns_name),
	OTHER("stat-ns", "stat-ns@hpnssh.org", "1", "stat,lstat", LIST,
	    serve_stat_ns),
	OTHER("sparse-map", "sparse-map@hpnssh.org", "1", "read", READ,
	    serve_sparse_map),
	OTHER("readdir-ns", "readdir-ns@hpnssh.org", "1",
	    "opendir,readdir", LIST, serve_readdir_ns),
	OTHER("put-file", "put-file@hpnssh.org", "1",
	    "open,write,close,lstat,fsetstat,posix-rename,remove",
	    MAKE | CHANGE, serve_put_file),
	OTHER("put-file-ns", "put-file-ns@hpnssh.org", "1",
	    "open,write,close,lstat,fsetstat,posix-rename,remove",
	    MAKE | CHANGE, serve_put_file_ns),
	OTHER("put-file-xattrs", "put-file-xattrs@hpnssh.org", NULL,
	    "open,write,close,lstat,fsetstat,posix-rename,remove",
	    MAKE | CHANGE, serve_put_file_xattrs),
	OTHER("rename-part", "rename-part@hpnssh.org", "1",
	    "close,posix-rename,remove", MAKE | CHANGE, serve_rename_part),
	OTHER("get-file", "get-file@hpnssh.org", "1",
	    "open,read,close,fstat", READ, serve_get_file),
	OTHER("walk", "walk@hpnssh.org", "1",
	    "opendir,readdir,lstat,readlink,open,read,close", LIST,
	    serve_walk),
	OTHER("walk-read", "walk-read@hpnssh.org", NULL,
	    "opendir,readdir,lstat,readlink,open,read,close", LIST,
	    serve_walk_read),
	OTHER("confine", "confine@hpnssh.org", "1", "opendir,close",
	    NOTHING, serve_confine),
	OTHER("ids-by-name", "ids-by-name@hpnssh.org", "1",
	    "users-groups-by-id", LIST, serve_ids_by_name),
	OTHER("own-ids", "own-ids@hpnssh.org", "1", "stat", NOTHING,
	    serve_own_ids),
	OTHER("xattrs", "xattrs@hpnssh.org", "1", "stat,lstat", LIST,
	    serve_xattrs),
	OTHER("set-xattrs", "set-xattrs@hpnssh.org", NULL, "setstat", ALTERS,
	    serve_set_xattrs),
	OTHER("fset-xattrs", "fset-xattrs@hpnssh.org", NULL, "fsetstat",
	    ALTERS, serve_fset_xattrs),
};
_Static_assert(ARRAY_LEN(requests) <= 64, "struct sftp_serve.enabled");

const char *
sftp_serve_request_name(size_t i)
{
	return i < ARRAY_LEN(requests) ? requests[i].name : NULL;
}

const char *
sftp_serve_request_counts_as(size_t i)
{
	return i < ARRAY_LEN(requests) ? requests[i].counts_as : NULL;
}

/* The set of the requests in a comma list, a bit for each row of the table.
 * *unknown: how many names of the list are no request. */
static uint64_t
requests_in_list(const char *list, unsigned *unknown)
{
	uint64_t bits = 0;
	size_t len, i;

	*unknown = 0;
	for (; *list != '\0'; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		for (i = 0; i < ARRAY_LEN(requests); i++)
			if (strlen(requests[i].name) == len &&
			    memcmp(requests[i].name, list, len) == 0)
				break;
		if (i < ARRAY_LEN(requests))
			bits |= UINT64_C(1) << i;
		else
			(*unknown)++;
	}
	return bits;
}

bool
sftp_serve_names_valid(const char *list)
{
	unsigned unknown;

	(void)requests_in_list(list, &unknown);
	return unknown == 0;
}

/* The set of requests that opts->allowed and opts->denied allow. A request is
 * also refused if one of the requests in its counts_as is. */
static uint64_t
requests_listed(const struct sftp_serve_opts *opts)
{
	uint64_t listed = ~UINT64_C(0), needs;
	unsigned unknown;

	if (opts->allowed != NULL)
		listed = requests_in_list(opts->allowed, &unknown);
	if (opts->denied != NULL)
		listed &= ~requests_in_list(opts->denied, &unknown);
	/* Another machine may see a directory, not who has an account here. */
	if (opts->bounds != NULL)
		listed &= ~requests_in_list("users-groups-by-id", &unknown);
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		if (requests[i].counts_as == NULL)
			continue;
		if (requests[i].fn == serve_xattrs && !xattr_is_known())
			listed &= ~(UINT64_C(1) << i);
		needs = requests_in_list(requests[i].counts_as, &unknown);
		if ((listed & needs) != needs)
			listed &= ~(UINT64_C(1) << i);
	}
	return listed;
}

void
serve_limit_rights(struct sftp_serve *s, uint32_t rights)
{
	if ((rights & ~(uint32_t)(LIST | READ)) != 0)
		rights |= ALTERS;
	s->rights &= rights;
	for (size_t i = 0; i < ARRAY_LEN(requests); i++)
		if (!serve_may(s, requests[i].needs))
			s->enabled &= ~(UINT64_C(1) << i);
}

int
sftp_serve_new(struct sftp_serve **out, const struct sftp_serve_opts *opts)
{
	struct sftp_serve *s = calloc(1, sizeof *s);
	struct rlimit rl;
	int r;

	if (s == NULL)
		return ERR_NOMEM;
	s->opts = *opts;
	buf_init(&s->in);
	buf_init(&s->out);
	s->free_slot = -1;
	s->near.fd = -1;
	serve_op_init(&s->parked, 0);
	serve_op_init(&s->write.op, 0);
	s->handles_max = 256;
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur > RESERVED_FDS)
		s->handles_max =
		    rl.rlim_cur - RESERVED_FDS > HANDLES_LIMIT ?
		    HANDLES_LIMIT :
		    (int)(rl.rlim_cur - RESERVED_FDS);
	s->enabled = requests_listed(opts);
	s->rights = UINT32_MAX;
	serve_limit_rights(s, opts->read_only ? LIST | READ : SFTP_MAY_ALL);
	s->left = (struct serve_left){ UINT64_MAX, UINT64_MAX, UINT64_MAX };
	if (opts->bounds != NULL && (r = serve_set_bounds(s)) != 0) {
		sftp_serve_free(s);
		return r;
	}
	*out = s;
	return 0;
}

void
sftp_serve_free(struct sftp_serve *s)
{
	if (s == NULL)
		return;
	serve_io_free(s);
	serve_op_clear(&s->parked);
	serve_op_clear(&s->write.op);
	for (int i = 0; i < s->handles_cap; i++) {
		struct serve_handle *h = &s->handles[i];

		if (h->kind > SERVE_UNUSABLE)
			serve_log_close(s, h, h->kind != SERVE_FILE,
			    "forced ");
		if (h->kind == SERVE_FILE)
			serve_tell_transfer(s, h, NULL, false);
		if (h->kind != SERVE_FREE)
			serve_handle_close(s, h);
	}
	serve_told_free(s);
	serve_near_drop(&s->near);
	free(s->handles);
	local_beneath_free(s->below);
	buf_clear(&s->in);
	buf_clear(&s->out);
	free(s);
}

struct buf *
sftp_serve_output(struct sftp_serve *s)
{
	return &s->out;
}

bool
sftp_serve_blocked(const struct sftp_serve *s)
{
	return buf_len(&s->out) >= SFTP_SERVE_OUTPUT_MAX || s->has_parked;
}

/* ---- messages ----------------------------------------------------------- */

static int
handle_init(struct sftp_serve *s, struct rd *r)
{
	uint32_t version = rd_u32(r);
	size_t mark;
	int err = rd_err(r);

	if (err < 0)
		return err;
	serve_verbose(s, "received client version %u", version);
	mark = buf_open_string(&s->out);
	buf_put_u8(&s->out, SFTP_VERSION_REPLY);
	buf_put_u32(&s->out, SFTP_VERSION);
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		if (requests[i].version == NULL ||
		    (s->enabled >> i & 1) == 0)
			continue;
		/* check-file-handle stands for both requests, whose common name
		 * in the draft is check-file. */
		buf_put_cstring(&s->out,
		    requests[i].version == serve_hash_algs ?
			"check-file" : requests[i].wire);
		buf_put_cstring(&s->out, requests[i].version);
	}
	buf_close_string(&s->out, mark);
	s->state = SERVE_ANSWERS;
	return 0;
}

static const struct request *
find_request(uint8_t type, struct rd *r)
{
	struct span name = { .p = NULL };

	if (type == SFTP_EXTENDED)
		name = rd_string(r);
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		if (requests[i].type != type)
			continue;
		if (requests[i].wire == NULL ||
		    span_equals(name, requests[i].wire))
			return &requests[i];
	}
	return NULL;
}

/*
 * 0 if the request may run, else the status that refuses it. Requests that a
 * list or read-only mode forbids get PERMISSION_DENIED, since that is the text
 * that users expect.
 */
static uint32_t
refuse(const struct sftp_serve *s, const struct request *q)
{
	if (q == NULL)
		return SFTP_OP_UNSUPPORTED;
	if ((s->enabled >> (q - requests) & 1) == 0) {
		serve_info(s, "refused %s request", q->name);
		return SFTP_PERMISSION_DENIED;
	}
	return 0;
}

static int
handle_message(struct sftp_serve *s, const uint8_t *p, size_t len)
{
	struct rd r = rd_from(p, len);
	const struct request *q;
	struct serve_op op;
	uint8_t type = rd_u8(&r);
	uint32_t id, refused;
	int err;

	if (s->state == SERVE_AWAITS_INIT)
		return type == SFTP_INIT ? handle_init(s, &r) : ERR_PROTOCOL;
	id = rd_u32(&r);
	if (r.err != 0)
		return ERR_PROTOCOL;
	q = find_request(type, &r);
	refused = refuse(s, q);
	if (refused != 0) {
		serve_status(s, id, refused);
		return buf_err(&s->out);
	}
	serve_op_init(&op, id);
	op.below = s->below;
	op.only_reads = !serve_may(s, SERVE_ALTERS);
	/* fn is NULL for WRITE. One whose handle has another length than ours
	 * is not streamed and comes here: its handle does not exist. */
	err = q->fn != NULL ? q->fn(s, &op, &r) : ERR_NOT_FOUND;
	if (err == 0 && op.run != NULL) {
		serve_submit(s, &op);
		return buf_err(&s->out);
	}
	serve_op_clear(&op);
	if (err == ERR_NOMEM)
		serve_status(s, id, SFTP_FAILURE);
	else if (err == ERR_DENIED)
		serve_status(s, id, SFTP_PERMISSION_DENIED);
	else if (err == ERR_NOT_FOUND)
		serve_status(s, id, SFTP_NO_SUCH_FILE);
	else if (err < 0)
		serve_status(s, id, SFTP_BAD_MESSAGE);
	return buf_err(&s->out);
}

/*
 * Tells from the first bytes of a message how many bytes are needed before it
 * can be acted on. *streamed: it is a WRITE that can be acted on before its
 * data has arrived.
 */
static int
bytes_needed(const struct sftp_serve *s, const uint8_t *p, size_t len,
    size_t *need, bool *streamed)
{
	uint32_t body;

	*streamed = false;
	*need = 4;
	if (len < 4)
		return 0;
	body = wire_get_u32(p);
	if (body < 5 || body > SFTP_MESSAGE_MAX)
		return ERR_PROTOCOL;
	*need = 4 + (size_t)body;
	if (body < SERVE_WRITE_HEAD - 4 || s->state == SERVE_AWAITS_INIT)
		return 0;
	if (len < 13) {
		*need = 13; /* up to and including the length of the handle */
		return 0;
	}
	if (p[4] == SFTP_WRITE && wire_get_u32(p + 9) == SERVE_HANDLE_WIRE) {
		*need = SERVE_WRITE_HEAD;
		*streamed = true;
	}
	return 0;
}

/*
 * With opts.direct a READ waits until the caller gives room to read to. True:
 * it still waits, for the room is in use already, or is too small to make
 * saving a copy worthwhile.
 */
static bool
waits_for_room(const struct sftp_serve *s, const uint8_t *p, size_t need)
{
	size_t want;

	if (!s->opts.direct || s->state == SERVE_AWAITS_INIT ||
	    p[4] != SFTP_READ || need != SERVE_WRITE_HEAD)
		return false;
	if (s->direct.p == NULL || s->direct.used > 0 || buf_len(&s->out) > 0)
		return true;
	want = wire_get_u32(p + need - 4);
	return !s->direct.whole &&
	    want / 8 * 7 + SERVE_DATA_HEAD > s->direct.room;
}

/* Acts on a message whose `need` bytes are at p. */
static int
act(struct sftp_serve *s, const uint8_t *p, size_t need, bool streamed)
{
	struct rd r;
	uint32_t id;
	int err;

	if (!streamed)
		return handle_message(s, p + 4, need - 4);
	r = rd_from(p + 5, need - 5);
	id = rd_u32(&r);
	err = serve_write_begin(s, &r, id, wire_get_u32(p),
	    refuse(s, find_request(SFTP_WRITE, &r)));
	if (err == 0 && s->write.left == 0 && s->write.skip == 0)
		(void)serve_write_continue(s, p, 0);
	return err < 0 ? err : buf_err(&s->out);
}

/*
 * One step: continues a WRITE, or acts on a message that is complete, or
 * gathers bytes of an incomplete one. Bytes that were gathered before come
 * first. Returns how many bytes of p were used, or ERR_*.
 */
static ssize_t
step(struct sftp_serve *s, const uint8_t *p, size_t len)
{
	size_t have = buf_len(&s->in), need, take;
	const uint8_t *from = have > 0 ? buf_data(&s->in) : p;
	size_t there = have > 0 ? have : len;
	bool streamed;
	int err;

	if (s->write.state != SERVE_WRITE_NONE) {
		take = serve_write_continue(s, from, there);
		if (have > 0)
			buf_consume(&s->in, take);
		return have > 0 ? 0 : (ssize_t)take;
	}
	err = bytes_needed(s, from, there, &need, &streamed);
	if (err < 0)
		return err;
	if (there >= need && need > 4) {
		s->read_waits = waits_for_room(s, from, need);
		if (s->read_waits)
			return 0;
		err = act(s, from, need, streamed);
		if (have > 0)
			buf_consume(&s->in, need);
		return err < 0 || have > 0 ? err : (ssize_t)need;
	}
	take = MIN(len, need - have);
	buf_put(&s->in, p, take);
	err = buf_err(&s->in);
	return err < 0 ? err : (ssize_t)take;
}

/* Acts on what there is of input until it is used up, or blocked. Returns how
 * many bytes of p were used, or ERR_*. */
static ssize_t
use_input(struct sftp_serve *s, const uint8_t *p, size_t len)
{
	size_t used = 0, before;
	bool was_writing;
	ssize_t n;

	for (;;) {
		was_writing = s->write.state != SERVE_WRITE_NONE;
		if (sftp_serve_blocked(s) && !was_writing)
			break;
		before = buf_len(&s->in);
		if (used == len && before == 0)
			break;
		n = step(s, p + used, len - used);
		if (n < 0)
			return n;
		used += (size_t)n;
		if (n == 0 && buf_len(&s->in) == before &&
		    was_writing == (s->write.state != SERVE_WRITE_NONE))
			break;
	}
	if (s->read_waits && buf_len(&s->in) < WAITING_MAX) {
		n = (ssize_t)MIN(len - used, WAITING_MAX - buf_len(&s->in));
		buf_put(&s->in, p + used, (size_t)n);
		used += (size_t)n;
	}
	return buf_err(&s->in) < 0 ? buf_err(&s->in) : (ssize_t)used;
}

ssize_t
sftp_serve_input(struct sftp_serve *s, const uint8_t *p, size_t len)
{
	size_t used = 0;
	bool was_blocked;
	ssize_t n;

	serve_collect(s);
	do {
		n = use_input(s, p + used, len - used);
		if (n < 0)
			return n;
		used += (size_t)n;
		was_blocked = sftp_serve_blocked(s);
		/* From now on a worker that finishes the oldest request signals
		 * it. One that had finished just before does not: if that was
		 * what the input waited for, nobody else would say so. */
		serve_collect(s);
	} while (was_blocked && !sftp_serve_blocked(s));
	return (ssize_t)used;
}

ssize_t
sftp_serve_take(struct sftp_serve *s, uint8_t *p, size_t max)
{
	size_t n = 0, len, before;
	ssize_t used;

	for (;;) {
		len = MIN(buf_len(&s->out), max - n);
		if (len > 0)
			memcpy(p + n, buf_data(&s->out), len);
		buf_consume(&s->out, len);
		n += len;
		if (n == max || buf_len(&s->out) > 0)
			break;
		s->direct.p = p + n;
		s->direct.room = max - n;
		s->direct.used = 0;
		s->direct.whole = n == 0;
		before = buf_len(&s->in);
		used = sftp_serve_input(s, p, 0);
		s->direct.p = NULL;
		if (used < 0)
			return used;
		n += s->direct.used;
		if (s->direct.used == 0 && buf_len(&s->out) == 0 &&
		    buf_len(&s->in) == before)
			break;
	}
	return (ssize_t)n;
}

bool
sftp_serve_idle(const struct sftp_serve *s)
{
	return buf_len(&s->out) == 0 && !s->read_waits &&
	    !sftp_serve_has_work(s);
}
