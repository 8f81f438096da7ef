/* SPDX-License-Identifier: ISC */
/*
 * DESIGN. Requests under way are places of one table. An id is a place and
 * a count that changes with each use, so that an answer that comes twice or
 * was never asked for is noticed. Input is handled where it lies; only the
 * head of a message that is not whole is kept in s->in, and DATA is passed
 * on piece by piece. The output is bytes, and WRITEs whose data is still in
 * its file (s->files).
 */
#include "xfer/sftp-engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

enum {
	PLACES_MAX = 0x10000,
	DATA_HEAD = 4 + 1 + 4 + 4,  /* length, type, id, data length */
	WRITE_HEAD = 4 + 1 + 4 + 4, /* + handle + offset + data length */
	HANDLES_DEFAULT = 100,
	HANDLES_LIKELY = 256, /* of a server that will tell */
	CHECK_BYTES = 32,
};
#define CHECK_ALGORITHM "sha256"

struct request {
	bool used;
	uint8_t type;
	uint16_t count;
	uint32_t want;	 /* bytes of a READ */
	uint64_t offset; /* of a READ, or where a WRITE's file is read next */
	struct {
		uint32_t len, left; /* bytes in all, and not yet taken */
		uint32_t got;	    /* that the file had */
		int fd, error;
		uint64_t us;	    /* that reading took */
		size_t before; /* bytes of s->out between it and the last */
		int next;      /* place; -1 */
	} file; /* of a WRITE from a file */
	sftp_data_fn data;
	sftp_done_fn done;
	void *arg;
	int next_free;
};

struct sftp {
	struct buf in, out;
	int err; /* sticky: why the session is over */
	struct request *requests;
	int cap, free_place;
	size_t pending;
	/* A DATA reply whose bytes are still arriving. */
	struct {
		uint32_t left, len;
		uint64_t offset;
		int place; /* -1: none */
	} data;
	struct {
		size_t mark;
		uint32_t room;
		int place;
		size_t head;
	} write;
	/* WRITEs whose data is read when it is taken, in the order of the
	 * output, which has only their heads. */
	struct {
		int first, last; /* places; -1: none */
		size_t before;	 /* sum of theirs */
		size_t left;	 /* bytes, the same */
	} files;
	uint32_t version;
	bool limits_pending;
	bool opened; /* a handle was asked for */
	struct sftp_limits limits;
	bool has[SFTP_EXT_COUNT];
	struct xfer_carrier carrier;
};

/* version NULL: the data is a comma list of what it can do. */
static const struct {
	const char *name, *version;
} extensions[SFTP_EXT_COUNT] = {
	[SFTP_EXT_POSIX_RENAME] = { "posix-rename@openssh.com", "1" },
	[SFTP_EXT_STATVFS] = { "statvfs@openssh.com", "2" },
	[SFTP_EXT_FSTATVFS] = { "fstatvfs@openssh.com", "2" },
	[SFTP_EXT_HARDLINK] = { "hardlink@openssh.com", "1" },
	[SFTP_EXT_FSYNC] = { "fsync@openssh.com", "1" },
	[SFTP_EXT_LSETSTAT] = { "lsetstat@openssh.com", "1" },
	[SFTP_EXT_LIMITS] = { "limits@openssh.com", "1" },
	[SFTP_EXT_EXPAND_PATH] = { "expand-path@openssh.com", "1" },
	[SFTP_EXT_COPY_DATA] = { "copy-data", "1" },
	[SFTP_EXT_HOME_DIRECTORY] = { "home-directory", "1" },
	[SFTP_EXT_USERS_GROUPS] = { "users-groups-by-id@openssh.com", "1" },
	[SFTP_EXT_CHECK_FILE] = { "check-file", NULL },
	[SFTP_EXT_TIMES_NS] = { "times-ns@hpnssh.org", "1" },
	[SFTP_EXT_STAT_NS] = { "stat-ns@hpnssh.org", "1" },
	[SFTP_EXT_SPARSE_MAP] = { "sparse-map@hpnssh.org", "1" },
	[SFTP_EXT_PUT_FILE] = { "put-file@hpnssh.org", "1" },
	[SFTP_EXT_GET_FILE] = { "get-file@hpnssh.org", "1" },
};

/* --- life --- */

int
sftp_new(struct sftp **out)
{
	struct sftp *s = calloc(1, sizeof *s);

	if (s == NULL)
		return ERR_NOMEM;
	buf_init(&s->in);
	buf_init(&s->out);
	s->free_place = -1;
	s->data.place = -1;
	s->write.place = -1;
	s->files.first = s->files.last = -1;
	buf_put_u32(&s->out, 5);
	buf_put_u8(&s->out, SFTP_INIT);
	buf_put_u32(&s->out, SFTP_VERSION);
	if (buf_err(&s->out) < 0) {
		sftp_free(s);
		return ERR_NOMEM;
	}
	*out = s;
	return 0;
}

static void
end_session(struct sftp *s, int err)
{
	if (s->err == 0)
		s->err = err;
	/* Whose files are closed by the callbacks. */
	s->files.first = s->files.last = -1;
	s->files.before = s->files.left = 0;
	buf_reset(&s->out);
	/* Callbacks may add requests; these fail in the same sweep. */
	for (int i = 0; i < s->cap; i++) {
		struct request q = s->requests[i];
		struct sftp_reply reply = { .err = s->err };

		if (!q.used)
			continue;
		s->requests[i].used = false;
		s->requests[i].next_free = s->free_place;
		s->free_place = i;
		s->pending--;
		if (q.done != NULL)
			q.done(q.arg, &reply);
	}
}

void
sftp_free(struct sftp *s)
{
	if (s == NULL)
		return;
	end_session(s, ERR_CANCELLED);
	buf_clear(&s->in);
	buf_clear(&s->out);
	free(s->requests);
	free(s);
}

/* --- requests --- */

static int
places_grow(struct sftp *s)
{
	int cap = s->cap > 0 ? s->cap * 2 : 64;
	struct request *grown;

	if (s->cap >= PLACES_MAX)
		return ERR_LIMIT;
	grown = recallocarray(s->requests, (size_t)s->cap, (size_t)cap,
	    sizeof *grown);
	if (grown == NULL)
		return ERR_NOMEM;
	for (int i = cap - 1; i >= s->cap; i--) {
		grown[i].next_free = s->free_place;
		s->free_place = i;
	}
	s->requests = grown;
	s->cap = cap;
	return 0;
}

/*
 * A place for a request, or -1: then the session is over and done was
 * called with the reason.
 */
static int
place_new(struct sftp *s, uint8_t type, sftp_done_fn done, void *arg)
{
	struct sftp_reply reply = { .err = s->err };
	struct request *q;
	int place;

	if (s->err == 0 && s->free_place < 0 &&
	    (reply.err = places_grow(s)) < 0)
		end_session(s, reply.err);
	if (reply.err < 0) {
		if (done != NULL)
			done(arg, &reply);
		return -1;
	}
	place = s->free_place;
	q = &s->requests[place];
	s->free_place = q->next_free;
	*q = (struct request){ .used = true, .type = type, .done = done,
		.arg = arg, .count = (uint16_t)(q->count + 1) };
	s->pending++;
	return place;
}

static uint32_t
place_id(const struct sftp *s, int place)
{
	return (uint32_t)s->requests[place].count << 16 | (uint32_t)place;
}

/* Starts a message; its mark for finish(), or 0 if there is no session. */
static size_t
start(struct sftp *s, uint8_t type, sftp_done_fn done, void *arg, int *place)
{
	size_t mark;

	*place = place_new(s, type, done, arg);
	if (*place < 0)
		return 0;
	s->opened |= type == SFTP_OPEN || type == SFTP_OPENDIR;
	mark = buf_open_string(&s->out);
	buf_put_u8(&s->out, type);
	buf_put_u32(&s->out, place_id(s, *place));
	return mark;
}

static void
finish(struct sftp *s, size_t mark)
{
	buf_close_string(&s->out, mark);
	if (buf_err(&s->out) < 0)
		end_session(s, buf_err(&s->out));
}

static void
put_handle(struct sftp *s, const struct sftp_handle *h)
{
	buf_put_string(&s->out, h->bytes, h->len);
}

void
sftp_open(struct sftp *s, const char *path, uint32_t pflags,
    const struct sftp_attrs *attrs, sftp_done_fn done, void *arg)
{
	int place;
	size_t mark = start(s, SFTP_OPEN, done, arg, &place);

	if (mark == 0)
		return;
	buf_put_cstring(&s->out, path);
	buf_put_u32(&s->out, pflags);
	sftp_put_attrs(&s->out, attrs);
	finish(s, mark);
}

void
sftp_read(struct sftp *s, const struct sftp_handle *h, uint64_t offset,
    uint32_t len, sftp_data_fn data, sftp_done_fn done, void *arg)
{
	int place;
	size_t mark = start(s, SFTP_READ, done, arg, &place);

	if (mark == 0)
		return;
	s->requests[place].want = len;
	s->requests[place].offset = offset;
	s->requests[place].data = data;
	put_handle(s, h);
	buf_put_u64(&s->out, offset);
	buf_put_u32(&s->out, len);
	finish(s, mark);
}

uint8_t *
sftp_write_begin(struct sftp *s, const struct sftp_handle *h, uint64_t offset,
    uint32_t len)
{
	size_t head = WRITE_HEAD + (size_t)h->len + 8 + 4;
	uint8_t *p;

	ENSURE(s->write.room == 0);
	if (s->err != 0)
		return NULL;
	p = buf_reserve(&s->out, head + len);
	if (p == NULL) {
		end_session(s, buf_err(&s->out));
		return NULL;
	}
	/* Length, id and data length are known at the end. */
	p[4] = SFTP_WRITE;
	wire_put_u32(p + 9, h->len);
	memcpy(p + 13, h->bytes, h->len);
	wire_put_u64(p + 13 + h->len, offset);
	s->write.room = len;
	s->write.head = head;
	return p + head;
}

void
sftp_write_finish(struct sftp *s, uint32_t len, sftp_done_fn done, void *arg)
{
	size_t head = s->write.head;
	uint8_t *p;
	int place;

	ENSURE(len <= s->write.room);
	p = len > 0 ? buf_reserve(&s->out, head + s->write.room) : NULL;
	s->write.room = 0;
	if (p == NULL)
		return;
	place = place_new(s, SFTP_WRITE, done, arg);
	if (place < 0)
		return;
	wire_put_u32(p, (uint32_t)head - 4 + len);
	wire_put_u32(p + 5, place_id(s, place));
	wire_put_u32(p + head - 4, len);
	buf_commit(&s->out, head + len);
}

void
sftp_write_file(struct sftp *s, const struct sftp_handle *h, uint64_t offset,
    uint32_t len, int fd, sftp_done_fn done, void *arg)
{
	int place;
	size_t mark = start(s, SFTP_WRITE, done, arg, &place);
	struct request *q;

	if (mark == 0)
		return;
	put_handle(s, h);
	buf_put_u64(&s->out, offset);
	buf_put_u32(&s->out, len);
	finish(s, mark);
	if (s->err != 0)
		return;
	/* The data is counted too. */
	wire_put_u32((uint8_t *)buf_data(&s->out) + mark - 4,
	    (uint32_t)(buf_len(&s->out) - mark) + len);
	q = &s->requests[place];
	q->offset = offset;
	q->file.len = q->file.left = len;
	q->file.fd = fd;
	q->file.before = buf_len(&s->out) - s->files.before;
	q->file.next = -1;
	if (s->files.last >= 0)
		s->requests[s->files.last].file.next = place;
	else
		s->files.first = place;
	s->files.last = place;
	s->files.before += q->file.before;
	s->files.left += len;
}

void
sftp_path_request(struct sftp *s, enum sftp_type type, const char *path,
    sftp_done_fn done, void *arg)
{
	int place;
	size_t mark = start(s, (uint8_t)type, done, arg, &place);

	if (mark == 0)
		return;
	buf_put_cstring(&s->out, path);
	finish(s, mark);
}

void
sftp_attrs_request(struct sftp *s, enum sftp_type type, const char *path,
    const struct sftp_attrs *attrs, sftp_done_fn done, void *arg)
{
	int place;
	size_t mark = start(s, (uint8_t)type, done, arg, &place);

	if (mark == 0)
		return;
	buf_put_cstring(&s->out, path);
	sftp_put_attrs(&s->out, attrs);
	finish(s, mark);
}

void
sftp_two_paths(struct sftp *s, enum sftp_type type, const char *first,
    const char *second, sftp_done_fn done, void *arg)
{
	int place;
	size_t mark = start(s, (uint8_t)type, done, arg, &place);

	if (mark == 0)
		return;
	buf_put_cstring(&s->out, first);
	buf_put_cstring(&s->out, second);
	finish(s, mark);
}

void
sftp_handle_request(struct sftp *s, enum sftp_type type,
    const struct sftp_handle *h, sftp_done_fn done, void *arg)
{
	int place;
	size_t mark = start(s, (uint8_t)type, done, arg, &place);

	if (mark == 0)
		return;
	put_handle(s, h);
	finish(s, mark);
}

void
sftp_close(struct sftp *s, const struct sftp_handle *h, sftp_done_fn done,
    void *arg)
{
	sftp_handle_request(s, SFTP_CLOSE, h, done, arg);
}

void
sftp_fsetstat(struct sftp *s, const struct sftp_handle *h,
    const struct sftp_attrs *attrs, sftp_done_fn done, void *arg)
{
	int place;
	size_t mark = start(s, SFTP_FSETSTAT, done, arg, &place);

	if (mark == 0)
		return;
	put_handle(s, h);
	sftp_put_attrs(&s->out, attrs);
	finish(s, mark);
}

static size_t
start_ext(struct sftp *s, enum sftp_extension ext, sftp_done_fn done,
    void *arg)
{
	int place;
	size_t mark = start(s, SFTP_EXTENDED, done, arg, &place);

	if (mark != 0)
		buf_put_cstring(&s->out, extensions[ext].name);
	return mark;
}

void
sftp_ext_path(struct sftp *s, enum sftp_extension ext, const char *path,
    const char *second, sftp_done_fn done, void *arg)
{
	size_t mark = start_ext(s, ext, done, arg);

	if (mark == 0)
		return;
	buf_put_cstring(&s->out, path);
	if (second != NULL)
		buf_put_cstring(&s->out, second);
	finish(s, mark);
}

void
sftp_ext_handle(struct sftp *s, enum sftp_extension ext,
    const struct sftp_handle *h, sftp_done_fn done, void *arg)
{
	size_t mark = start_ext(s, ext, done, arg);

	if (mark == 0)
		return;
	put_handle(s, h);
	finish(s, mark);
}

void
sftp_lsetstat(struct sftp *s, const char *path,
    const struct sftp_attrs *attrs, sftp_done_fn done, void *arg)
{
	size_t mark = start_ext(s, SFTP_EXT_LSETSTAT, done, arg);

	if (mark == 0)
		return;
	buf_put_cstring(&s->out, path);
	sftp_put_attrs(&s->out, attrs);
	finish(s, mark);
}

void
sftp_copy_data(struct sftp *s, const struct sftp_handle *from,
    uint64_t from_at, uint64_t len, const struct sftp_handle *to,
    uint64_t to_at, sftp_done_fn done, void *arg)
{
	size_t mark = start_ext(s, SFTP_EXT_COPY_DATA, done, arg);

	if (mark == 0)
		return;
	put_handle(s, from);
	buf_put_u64(&s->out, from_at);
	buf_put_u64(&s->out, len);
	put_handle(s, to);
	buf_put_u64(&s->out, to_at);
	finish(s, mark);
}

void
sftp_check_file(struct sftp *s, const struct sftp_handle *h, uint64_t offset,
    uint64_t len, uint32_t block, sftp_done_fn done, void *arg)
{
	int place;
	size_t mark = start(s, SFTP_EXTENDED, done, arg, &place);

	if (mark == 0)
		return;
	buf_put_cstring(&s->out, "check-file-handle");
	put_handle(s, h);
	buf_put_cstring(&s->out, CHECK_ALGORITHM);
	buf_put_u64(&s->out, offset);
	buf_put_u64(&s->out, len);
	buf_put_u32(&s->out, block);
	finish(s, mark);
}

int
sftp_get_digests(struct rd *body, size_t count, const uint8_t **digests)
{
	struct span algorithm = rd_string(body);

	if (rd_err(body) < 0 || !span_equals(algorithm, CHECK_ALGORITHM) ||
	    body->len != count * CHECK_BYTES)
		return ERR_PROTOCOL;
	*digests = body->p;
	return 0;
}

void
sftp_stat_ns(struct sftp *s, const char *path, bool follow, sftp_done_fn done,
    void *arg)
{
	size_t mark = start_ext(s, SFTP_EXT_STAT_NS, done, arg);

	if (mark == 0)
		return;
	buf_put_cstring(&s->out, path);
	buf_put_u32(&s->out, follow);
	finish(s, mark);
}

int
sftp_get_stat_ns(struct rd *body, struct sftp_stat_ns *st)
{
	st->atime = (int64_t)rd_u64(body);
	st->atime_ns = rd_u32(body);
	st->mtime = (int64_t)rd_u64(body);
	st->mtime_ns = rd_u32(body);
	st->nlink = rd_u32(body);
	st->dev = rd_u64(body);
	st->ino = rd_u64(body);
	st->blocks = rd_u64(body);
	return rd_err(body);
}

void
sftp_put_file(struct sftp *s, const char *path, bool exact,
    const struct sftp_attrs *attrs, const uint8_t *p, size_t len,
    sftp_done_fn done, void *arg)
{
	size_t mark = start_ext(s, SFTP_EXT_PUT_FILE, done, arg);

	if (mark == 0)
		return;
	buf_put_cstring(&s->out, path);
	buf_put_u32(&s->out, exact);
	sftp_put_attrs(&s->out, attrs);
	buf_put_string(&s->out, p, len);
	finish(s, mark);
}

void
sftp_get_file(struct sftp *s, const char *path, uint32_t most,
    sftp_done_fn done, void *arg)
{
	size_t mark = start_ext(s, SFTP_EXT_GET_FILE, done, arg);

	if (mark == 0)
		return;
	buf_put_cstring(&s->out, path);
	buf_put_u32(&s->out, most);
	finish(s, mark);
}

int
sftp_get_file_reply(struct rd *body, struct sftp_attrs *attrs,
    struct span *data)
{
	sftp_get_attrs(body, attrs);
	*data = rd_string(body);
	return rd_err(body);
}

static void
put_ids(struct sftp *s, const uint32_t *ids, size_t n)
{
	size_t mark = buf_open_string(&s->out);

	for (size_t i = 0; i < n; i++)
		buf_put_u32(&s->out, ids[i]);
	buf_close_string(&s->out, mark);
}

void
sftp_users_groups(struct sftp *s, const uint32_t *uids, size_t n_uids,
    const uint32_t *gids, size_t n_gids, sftp_done_fn done, void *arg)
{
	size_t mark = start_ext(s, SFTP_EXT_USERS_GROUPS, done, arg);

	if (mark == 0)
		return;
	put_ids(s, uids, n_uids);
	put_ids(s, gids, n_gids);
	finish(s, mark);
}

void
sftp_times_ns(struct sftp *s, const struct sftp_handle *h,
    const struct timespec times[2], sftp_done_fn done, void *arg)
{
	size_t mark = start_ext(s, SFTP_EXT_TIMES_NS, done, arg);

	if (mark == 0)
		return;
	put_handle(s, h);
	for (int i = 0; i < 2; i++) {
		buf_put_u64(&s->out, (uint64_t)(int64_t)times[i].tv_sec);
		buf_put_u32(&s->out, (uint32_t)times[i].tv_nsec);
	}
	finish(s, mark);
}

void
sftp_sparse_map(struct sftp *s, const struct sftp_handle *h, uint64_t offset,
    sftp_done_fn done, void *arg)
{
	size_t mark = start_ext(s, SFTP_EXT_SPARSE_MAP, done, arg);

	if (mark == 0)
		return;
	put_handle(s, h);
	buf_put_u64(&s->out, offset);
	finish(s, mark);
}

/* --- replies --- */

static void
limits_done(void *arg, const struct sftp_reply *reply)
{
	struct sftp *s = arg;
	struct rd r = reply->body;
	struct sftp_limits limits;

	s->limits_pending = false;
	if (reply->err != 0 || reply->type != SFTP_EXTENDED_REPLY)
		return;
	limits.packet_bytes = rd_u64(&r);
	limits.read_bytes = rd_u64(&r);
	limits.write_bytes = rd_u64(&r);
	limits.open_handles = rd_u64(&r);
	if (rd_err(&r) == 0)
		s->limits = limits;
}

/* Of check-file, the only one with a list, we want one algorithm. */
static bool
offer_fits(const char *want, struct span offered)
{
	char *list;
	bool fits;

	if (want != NULL)
		return span_equals(offered, want);
	list = span_dup(offered);
	fits = list != NULL && csv_has(list, CHECK_ALGORITHM);
	free(list);
	return fits;
}

static int
take_version(struct sftp *s, struct rd *r)
{
	struct span name, version;

	s->version = rd_u32(r);
	if (rd_err(r) < 0)
		return ERR_PROTOCOL;
	if (s->version < SFTP_VERSION)
		return ERR_UNSUPPORTED;
	while (r->len > 0 && r->err == 0) {
		name = rd_string(r);
		version = rd_string(r);
		for (int i = 0; i < SFTP_EXT_COUNT; i++)
			if (span_equals(name, extensions[i].name) &&
			    offer_fits(extensions[i].version, version))
				s->has[i] = true;
	}
	if (rd_err(r) < 0)
		return ERR_PROTOCOL;
	if (s->has[SFTP_EXT_LIMITS]) {
		size_t mark = start_ext(s, SFTP_EXT_LIMITS, limits_done, s);

		s->limits_pending = mark != 0;
		if (mark != 0)
			finish(s, mark);
	}
	return 0;
}

/* The request that an id belongs to; NULL: none of ours. */
static struct request *
find(const struct sftp *s, uint32_t id, int *place)
{
	*place = (int)(id & 0xffff);
	if (*place >= s->cap || !s->requests[*place].used ||
	    s->requests[*place].count != id >> 16)
		return NULL;
	return &s->requests[*place];
}

static void
complete(struct sftp *s, int place, const struct sftp_reply *reply)
{
	struct request q = s->requests[place];

	s->requests[place].used = false;
	s->requests[place].next_free = s->free_place;
	s->free_place = place;
	s->pending--;
	if (q.done != NULL)
		q.done(q.arg, reply);
}

/* Which reply, besides STATUS, a request may have. */
static uint8_t
expected_reply(uint8_t type)
{
	switch (type) {
	case SFTP_OPEN:
	case SFTP_OPENDIR:
		return SFTP_HANDLE;
	case SFTP_READ:
		return SFTP_DATA;
	case SFTP_STAT:
	case SFTP_LSTAT:
	case SFTP_FSTAT:
		return SFTP_ATTRS;
	case SFTP_READDIR:
	case SFTP_REALPATH:
	case SFTP_READLINK:
		return SFTP_NAME;
	default:
		return SFTP_STATUS;
	}
}

static bool
reply_fits(const struct request *q, uint8_t type)
{
	if (type == SFTP_STATUS || type == expected_reply(q->type))
		return true;
	return q->type == SFTP_EXTENDED &&
	    (type == SFTP_EXTENDED_REPLY || type == SFTP_NAME);
}

static int
take_message(struct sftp *s, const uint8_t *p, size_t len)
{
	struct rd r = rd_from(p, len);
	struct sftp_reply reply = { .type = rd_u8(&r) };
	struct request *q;
	uint32_t id;
	int place;

	if (s->version == 0)
		return reply.type == SFTP_VERSION_REPLY ?
		    take_version(s, &r) :
		    ERR_PROTOCOL;
	id = rd_u32(&r);
	q = find(s, id, &place);
	/* Nor is there an answer to what is not all sent. */
	if (r.err != 0 || q == NULL || !reply_fits(q, reply.type) ||
	    q->file.left > 0)
		return ERR_PROTOCOL;
	reply.source_len = q->file.got;
	reply.source_errno = q->file.error;
	reply.source_us = q->file.us;
	switch (reply.type) {
	case SFTP_STATUS:
		reply.status = rd_u32(&r);
		/* OK says nothing where a handle or data was asked for. */
		if (reply.status == SFTP_OK &&
		    expected_reply(q->type) != SFTP_STATUS)
			return ERR_PROTOCOL;
		break;
	case SFTP_HANDLE:
		reply.handle = rd_string(&r);
		if (reply.handle.len == 0 ||
		    reply.handle.len > SFTP_HANDLE_MAX)
			return ERR_PROTOCOL;
		break;
	case SFTP_ATTRS:
		sftp_get_attrs(&r, &reply.attrs);
		break;
	case SFTP_NAME:
		reply.count = rd_u32(&r);
		reply.body = r;
		break;
	default:
		reply.body = r;
		break;
	}
	if (r.err != 0)
		return ERR_PROTOCOL;
	complete(s, place, &reply);
	return s->err;
}

/* A DATA reply begins: p holds its DATA_HEAD bytes. */
static int
data_begin(struct sftp *s, const uint8_t *p)
{
	uint32_t body = wire_get_u32(p), id = wire_get_u32(p + 5);
	uint32_t len = wire_get_u32(p + 9);
	int place;
	struct request *q = find(s, id, &place);

	if (s->version == 0 || q == NULL || q->type != SFTP_READ ||
	    len > q->want || len == 0 || body != DATA_HEAD - 4 + len)
		return ERR_PROTOCOL;
	s->data.place = place;
	s->data.left = s->data.len = len;
	s->data.offset = q->offset;
	return 0;
}

static size_t
data_continue(struct sftp *s, const uint8_t *p, size_t len)
{
	struct request *q = &s->requests[s->data.place];
	size_t n = MIN(len, (size_t)s->data.left);

	q->data(q->arg, s->data.offset, p, n);
	s->data.offset += n;
	s->data.left -= (uint32_t)n;
	if (s->data.left == 0) {
		struct sftp_reply reply = { .type = SFTP_DATA,
			.data_len = s->data.len };
		int place = s->data.place;

		s->data.place = -1;
		complete(s, place, &reply);
	}
	return n;
}

/*
 * Bytes of the message at p that are needed to act on it, as far as len
 * bytes tell.
 */
static int
bytes_needed(const uint8_t *p, size_t len, size_t *need, bool *data)
{
	uint32_t body;

	*data = false;
	*need = 5;
	if (len < 5)
		return 0;
	body = wire_get_u32(p);
	if (body < 5 || body > SFTP_MESSAGE_MAX)
		return ERR_PROTOCOL;
	*need = 4 + (size_t)body;
	if (p[4] == SFTP_DATA) {
		if (*need < DATA_HEAD)
			return ERR_PROTOCOL;
		*need = DATA_HEAD;
		*data = true;
	}
	return 0;
}

static ssize_t
feed_step(struct sftp *s, const uint8_t *p, size_t len)
{
	size_t have = buf_len(&s->in), need, take;
	const uint8_t *at = have > 0 ? buf_data(&s->in) : p;
	bool data;
	int r;

	if (s->data.place >= 0)
		return (ssize_t)data_continue(s, p, len);
	r = bytes_needed(at, have > 0 ? have : len, &need, &data);
	if (r < 0)
		return r;
	if ((have > 0 ? have : len) >= need && need > 5) {
		r = data ? data_begin(s, at) :
			   take_message(s, at + 4, need - 4);
		if (have > 0)
			buf_consume(&s->in, need);
		if (r < 0)
			return r;
		return have > 0 ? 0 : (ssize_t)need;
	}
	take = MIN(len, need - have);
	buf_put(&s->in, p, take);
	r = buf_err(&s->in);
	return r < 0 ? r : (ssize_t)take;
}

int
sftp_feed(struct sftp *s, const uint8_t *p, size_t len)
{
	size_t before;
	ssize_t n;

	while (s->err == 0) {
		before = buf_len(&s->in);
		if (len == 0 && before == 0)
			break;
		n = feed_step(s, p, len);
		if (n < 0) {
			end_session(s, (int)n);
			break;
		}
		if (n == 0 && buf_len(&s->in) == before)
			break;
		p += n;
		len -= (size_t)n;
	}
	return s->err;
}

int
sftp_feed_end(struct sftp *s, int err)
{
	end_session(s, err);
	return s->err;
}

static size_t
take_bytes(struct sftp *s, uint8_t *p, size_t max)
{
	size_t n = MIN(max, buf_len(&s->out));

	if (n > 0)
		memcpy(p, buf_data(&s->out), n);
	buf_consume(&s->out, n);
	return n;
}

static uint64_t
now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* What the file does not have is sent as zeros, for the head promised it. */
static void
read_source(struct request *q, uint8_t *p, size_t len)
{
	ssize_t n = 0;

	while (len > 0) {
		if (q->file.error == 0 &&
		    q->file.got == q->file.len - q->file.left)
			n = pread(q->file.fd, p, len, (off_t)q->offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			q->file.error = errno;
		if (n <= 0) {
			memset(p, 0, len);
			q->file.left -= (uint32_t)len;
			return;
		}
		p += n;
		len -= (size_t)n;
		q->offset += (uint64_t)n;
		q->file.got += (uint32_t)n;
		q->file.left -= (uint32_t)n;
	}
}

/* Of the first WRITE from a file, or what is in front of it. */
static size_t
take_file(struct sftp *s, uint8_t *p, size_t max)
{
	struct request *q = &s->requests[s->files.first];
	size_t head = take_bytes(s, p, MIN(max, q->file.before));
	size_t data = MIN(max - head, (size_t)q->file.left);
	uint64_t from;

	q->file.before -= head;
	s->files.before -= head;
	if (q->file.before > 0)
		return head;
	from = now_us();
	read_source(q, p + head, data);
	q->file.us += now_us() - from;
	s->files.left -= data;
	if (q->file.left == 0) {
		s->files.first = q->file.next;
		if (s->files.first < 0)
			s->files.last = -1;
	}
	return head + data;
}

size_t
sftp_take(struct sftp *s, uint8_t *p, size_t max)
{
	const struct request *q;
	size_t n = 0;

	while (s->files.first >= 0 && n < max) {
		q = &s->requests[s->files.first];
		/* The next one whole in the next packet is the better for
		 * whoever writes it. */
		if (n > max / 8 * 7 &&
		    q->file.before + q->file.left > max - n)
			return n;
		n += take_file(s, p + n, max - n);
	}
	return n + take_bytes(s, p + n, max - n);
}

size_t
sftp_output_len(const struct sftp *s)
{
	return buf_len(&s->out) + s->files.left;
}

struct buf *
sftp_output(struct sftp *s)
{
	struct buf all;
	uint8_t *p;
	size_t len;

	if (s->files.first < 0)
		return &s->out;
	buf_init(&all);
	while ((len = sftp_output_len(s)) > 0 &&
	    (p = buf_reserve(&all, len)) != NULL)
		buf_commit(&all, sftp_take(s, p, len));
	if (len > 0)
		end_session(s, ERR_NOMEM);
	buf_clear(&s->out);
	s->out = all;
	return &s->out;
}

/* --- ask --- */

bool
sftp_is_ready(const struct sftp *s)
{
	return s->version != 0 && !s->limits_pending;
}

bool
sftp_has_version(const struct sftp *s)
{
	return s->version != 0;
}

int
sftp_error(const struct sftp *s)
{
	return s->err;
}

bool
sftp_has(const struct sftp *s, enum sftp_extension ext)
{
	return s->has[ext];
}

/* packet_bytes counts what is around the data too: 1 KiB is plenty. */
static uint32_t
data_max(const struct sftp *s, uint64_t limit)
{
	uint64_t packet = s->limits.packet_bytes;

	if (limit == 0 && packet > 2048)
		limit = packet - 1024;
	if (limit == 0)
		limit = SFTP_DATA_DEFAULT;
	return (uint32_t)MIN(limit, (uint64_t)SFTP_DATA_MAX);
}

uint32_t
sftp_read_max(const struct sftp *s)
{
	return data_max(s, s->limits.read_bytes);
}

uint32_t
sftp_write_max(const struct sftp *s)
{
	return data_max(s, s->limits.write_bytes);
}

uint32_t
sftp_handles_max(const struct sftp *s)
{
	if (s->limits.open_handles == 0)
		return s->limits_pending ? HANDLES_LIKELY : HANDLES_DEFAULT;
	return (uint32_t)MIN(s->limits.open_handles, (uint64_t)PLACES_MAX);
}

size_t
sftp_pending(const struct sftp *s)
{
	return s->pending;
}

bool
sftp_next_entry(struct rd *body, struct sftp_entry *entry)
{
	if (body->len == 0 || body->err != 0)
		return false;
	entry->name = rd_string(body);
	entry->long_name = rd_string(body);
	sftp_get_attrs(body, &entry->attrs);
	return body->err == 0;
}

bool
sftp_name_is_safe(struct span name)
{
	if (name.len == 0 || name.len > 4096 || span_equals(name, ".") ||
	    span_equals(name, ".."))
		return false;
	return memchr(name.p, '/', name.len) == NULL &&
	    memchr(name.p, '\0', name.len) == NULL;
}

/* OpenSSH's server, known by what only it offers, numbers them from 0. */
bool
sftp_guess_handle(const struct sftp *s, struct sftp_handle *h)
{
	*h = (struct sftp_handle){ .len = 4 };
	return !s->opened && s->has[SFTP_EXT_LIMITS] &&
	    s->has[SFTP_EXT_EXPAND_PATH];
}

void
sftp_keep_handle(struct sftp_handle *h, const struct sftp_reply *reply)
{
	h->len = (uint32_t)reply->handle.len;
	memcpy(h->bytes, reply->handle.p, reply->handle.len);
}

/* --- with a carrier --- */

void
sftp_attach(struct sftp *s, struct xfer_carrier carrier)
{
	s->carrier = carrier;
}

int
sftp_step(struct sftp *s, bool more, int timeout_ms)
{
	int r = s->err;

	if (r == 0)
		r = s->carrier.ops->turn(s->carrier.arg, more ? 0 : timeout_ms);
	/* All that there was did not go: there is no room for more. */
	if (r == 0 && s->err == 0 && more && sftp_output_len(s) > 0)
		r = s->carrier.ops->turn(s->carrier.arg, timeout_ms);
	if (r < 0)
		return sftp_feed_end(s, r);
	return s->err;
}

int
sftp_run_until(struct sftp *s, const bool *done)
{
	int r;

	while (!*done)
		if ((r = sftp_step(s, false, -1)) < 0)
			return r;
	return 0;
}
