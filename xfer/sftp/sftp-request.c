/* SPDX-License-Identifier: ISC */
/* The client engine's requests: their slots, and their messages. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "compat/bsd-mem.h"
#include "xfer/block-sum.h"
#include "xfer/sftp/sftp-internal.h"
#include "xfer/xattrs.h"

enum { WRITE_HEAD = 4 + 1 + 4 + 4 /* + handle + offset + data length */ };

const struct sftp_offer sftp_extensions[SFTP_EXT_COUNT] = {
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
	[SFTP_EXT_UNCACHE] = { "uncache@hpnssh.org", "1" },
	[SFTP_EXT_TIMES_NS] = { "times-ns@hpnssh.org", "1" },
	[SFTP_EXT_TIMES_NS_NAME] = { "times-ns-name@hpnssh.org", "1" },
	[SFTP_EXT_STAT_NS] = { "stat-ns@hpnssh.org", "1" },
	[SFTP_EXT_SPARSE_MAP] = { "sparse-map@hpnssh.org", "1" },
	[SFTP_EXT_READDIR_NS] = { "readdir-ns@hpnssh.org", "1" },
	[SFTP_EXT_PUT_FILE] = { "put-file@hpnssh.org", "1" },
	[SFTP_EXT_PUT_FILE_NS] = { "put-file-ns@hpnssh.org", "1" },
	[SFTP_EXT_GET_FILE] = { "get-file@hpnssh.org", "1" },
	[SFTP_EXT_RENAME_PART] = { "rename-part@hpnssh.org", "1" },
	[SFTP_EXT_CONFINE] = { "confine@hpnssh.org", "1" },
	[SFTP_EXT_WALK] = { "walk@hpnssh.org", "1" },
	[SFTP_EXT_BLOCK_SUMS] = { "block-sums@hpnssh.org", "1" },
	[SFTP_EXT_BLOCK_SUMS_NAME] = { "block-sums-name@hpnssh.org", "1" },
	[SFTP_EXT_COPY_BLOCKS] = { "copy-blocks@hpnssh.org", "1" },
	[SFTP_EXT_IDS_BY_NAME] = { "ids-by-name@hpnssh.org", "1" },
	[SFTP_EXT_OWN_IDS] = { "own-ids@hpnssh.org", "1" },
	[SFTP_EXT_XATTRS] = { "xattrs@hpnssh.org", "1" },
};

static int
slots_grow(struct sftp *s)
{
	int cap = s->cap > 0 ? s->cap * 2 : 64;
	struct sftp_request *grown;

	if (s->cap >= SFTP_SLOTS_MAX)
		return ERR_LIMIT;
	grown = recallocarray(s->requests, (size_t)s->cap, (size_t)cap,
	    sizeof *grown);
	if (grown == NULL)
		return ERR_NOMEM;
	for (int i = cap - 1; i >= s->cap; i--) {
		grown[i].next_free = s->free_slot;
		s->free_slot = i;
	}
	s->requests = grown;
	s->cap = cap;
	return 0;
}

/*
 * A slot for a request. -1: the session is over, and done was called with the
 * reason.
 */
static int
slot_new(struct sftp *s, uint8_t type, sftp_done_fn done, void *arg)
{
	struct sftp_reply reply = { .err = s->err };
	struct sftp_request *q;
	int slot;

	if (s->err == 0 && s->free_slot < 0 &&
	    (reply.err = slots_grow(s)) < 0)
		sftp_end(s, reply.err);
	if (reply.err < 0) {
		if (done != NULL)
			done(arg, &reply);
		return -1;
	}
	slot = s->free_slot;
	q = &s->requests[slot];
	s->free_slot = q->next_free;
	*q = (struct sftp_request){ .used = true, .type = type, .done = done,
		.arg = arg, .count = (uint16_t)(q->count + 1) };
	s->pending++;
	return slot;
}

void
sftp_complete(struct sftp *s, int slot, const struct sftp_reply *reply)
{
	struct sftp_request q = s->requests[slot];

	s->requests[slot].used = false;
	s->requests[slot].next_free = s->free_slot;
	s->free_slot = slot;
	s->pending--;
	if (q.done != NULL)
		q.done(q.arg, reply);
}

static uint32_t
slot_id(const struct sftp *s, int slot)
{
	return (uint32_t)s->requests[slot].count << 16 | (uint32_t)slot;
}

/* Starts the message of a request. Returns its mark for finish(), or 0 if the
 * session is over; then done was called. */
static size_t
start(struct sftp *s, uint8_t type, sftp_done_fn done, void *arg, int *slot)
{
	size_t mark;

	*slot = slot_new(s, type, done, arg);
	if (*slot < 0)
		return 0;
	s->handle_requested |= type == SFTP_OPEN || type == SFTP_OPENDIR;
	mark = buf_open_string(&s->out);
	buf_put_u8(&s->out, type);
	buf_put_u32(&s->out, slot_id(s, *slot));
	return mark;
}

static void
end_message(struct sftp *s, size_t mark)
{
	buf_close_string(&s->out, mark);
	if (buf_err(&s->out) < 0)
		sftp_end(s, buf_err(&s->out));
}

static void
finish(struct sftp *s, size_t mark)
{
	end_message(s, mark);
	sftp_wake(s);
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
	int slot;
	size_t mark = start(s, SFTP_OPEN, done, arg, &slot);

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
	int slot;
	size_t mark = start(s, SFTP_READ, done, arg, &slot);

	if (mark == 0)
		return;
	s->requests[slot].want = len;
	s->requests[slot].offset = offset;
	s->requests[slot].data = data;
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
		sftp_end(s, buf_err(&s->out));
		return NULL;
	}
	/* The length, id and data length are set by sftp_write_finish(). */
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
	int slot;

	ENSURE(len <= s->write.room);
	p = len > 0 ? buf_reserve(&s->out, head + s->write.room) : NULL;
	s->write.room = 0;
	if (p == NULL)
		return;
	slot = slot_new(s, SFTP_WRITE, done, arg);
	if (slot < 0)
		return;
	wire_put_u32(p, (uint32_t)head - 4 + len);
	wire_put_u32(p + 5, slot_id(s, slot));
	wire_put_u32(p + head - 4, len);
	buf_commit(&s->out, head + len);
	sftp_wake(s);
}

void
sftp_write_file(struct sftp *s, const struct sftp_handle *h, uint64_t offset,
    uint32_t len, int fd, sftp_done_fn done, void *arg)
{
	int slot;
	size_t mark = start(s, SFTP_WRITE, done, arg, &slot);
	struct sftp_request *q;

	if (mark == 0)
		return;
	put_handle(s, h);
	buf_put_u64(&s->out, offset);
	buf_put_u32(&s->out, len);
	end_message(s, mark);
	if (s->err != 0)
		return;
	/* The message's length includes the data. */
	wire_put_u32((uint8_t *)buf_data(&s->out) + mark - 4,
	    (uint32_t)(buf_len(&s->out) - mark) + len);
	q = &s->requests[slot];
	q->offset = offset;
	q->file.len = q->file.left = len;
	q->file.fd = fd;
	q->file.before = buf_len(&s->out) - s->files.before;
	q->file.next = -1;
	if (s->files.last >= 0)
		s->requests[s->files.last].file.next = slot;
	else
		s->files.first = slot;
	s->files.last = slot;
	s->files.before += q->file.before;
	s->files.left += len;
	sftp_wake(s);
}

void
sftp_path_request(struct sftp *s, enum sftp_type type, const char *path,
    sftp_done_fn done, void *arg)
{
	int slot;
	size_t mark = start(s, (uint8_t)type, done, arg, &slot);

	if (mark == 0)
		return;
	buf_put_cstring(&s->out, path);
	finish(s, mark);
}

void
sftp_attrs_request(struct sftp *s, enum sftp_type type, const char *path,
    const struct sftp_attrs *attrs, sftp_done_fn done, void *arg)
{
	int slot;
	size_t mark = start(s, (uint8_t)type, done, arg, &slot);

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
	int slot;
	size_t mark = start(s, (uint8_t)type, done, arg, &slot);

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
	int slot;
	size_t mark = start(s, (uint8_t)type, done, arg, &slot);

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
	int slot;
	size_t mark = start(s, SFTP_FSETSTAT, done, arg, &slot);

	if (mark == 0)
		return;
	put_handle(s, h);
	sftp_put_attrs(&s->out, attrs);
	finish(s, mark);
}

static size_t
start_named(struct sftp *s, const char *name, sftp_done_fn done, void *arg,
    int *slot)
{
	size_t mark = start(s, SFTP_EXTENDED, done, arg, slot);

	if (mark != 0)
		buf_put_cstring(&s->out, name);
	return mark;
}

static size_t
start_ext(struct sftp *s, enum sftp_extension ext, sftp_done_fn done,
    void *arg)
{
	int slot;

	return start_named(s, sftp_extensions[ext].name, done, arg, &slot);
}

void
sftp_request_limits(struct sftp *s, sftp_done_fn done, void *arg)
{
	size_t mark = start_ext(s, SFTP_EXT_LIMITS, done, arg);

	if (mark != 0)
		finish(s, mark);
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
	int slot;
	size_t mark = start(s, SFTP_EXTENDED, done, arg, &slot);

	if (mark == 0)
		return;
	buf_put_cstring(&s->out, "check-file-handle");
	put_handle(s, h);
	buf_put_cstring(&s->out, SFTP_CHECK_ALGORITHM);
	buf_put_u64(&s->out, offset);
	buf_put_u64(&s->out, len);
	buf_put_u32(&s->out, block);
	finish(s, mark);
}

void
sftp_block_sums(struct sftp *s, const struct sftp_block_sums *b,
    sftp_done_fn done, void *arg)
{
	size_t mark = start_ext(s, b->path != NULL ?
	    SFTP_EXT_BLOCK_SUMS_NAME : SFTP_EXT_BLOCK_SUMS, done, arg);

	if (mark == 0)
		return;
	if (b->path != NULL)
		buf_put_cstring(&s->out, b->path);
	else
		put_handle(s, b->h);
	buf_put_u64(&s->out, b->offset);
	buf_put_u64(&s->out, b->len);
	buf_put_u32(&s->out, b->block);
	buf_put_string(&s->out, b->seed, BLOCK_SUM_SEED);
	finish(s, mark);
}

void
sftp_copy_blocks(struct sftp *s, const struct sftp_copy_blocks *c,
    sftp_done_fn done, void *arg)
{
	size_t mark = start_ext(s, SFTP_EXT_COPY_BLOCKS, done, arg);

	if (mark == 0)
		return;
	put_handle(s, c->from);
	buf_put_u64(&s->out, c->from_at);
	buf_put_u64(&s->out, c->len);
	put_handle(s, c->to);
	buf_put_u64(&s->out, c->to_at);
	buf_put_u32(&s->out, c->block);
	buf_put_string(&s->out, c->seed, BLOCK_SUM_SEED);
	buf_put_string(&s->out, c->digest, BLOCK_SUM_COPY);
	finish(s, mark);
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

static void
put_times(struct sftp *s, const struct timespec times[2])
{
	for (int i = 0; i < 2; i++) {
		buf_put_u64(&s->out, (uint64_t)(int64_t)times[i].tv_sec);
		buf_put_u32(&s->out, (uint32_t)times[i].tv_nsec);
	}
}

static void
put_xattrs(struct sftp *s, const struct xattrs *x)
{
	buf_put_u32(&s->out, x->kinds);
	buf_put_string(&s->out, x->set.p, x->set.len);
}

void
sftp_put_file_ns(struct sftp *s, const struct sftp_put *put, const uint8_t *p,
    size_t len, sftp_done_fn done, void *arg)
{
	size_t mark;
	int slot;

	if (put->xattrs != NULL)
		mark = start_named(s, "put-file-xattrs@hpnssh.org", done, arg,
		    &slot);
	else
		mark = start_ext(s, SFTP_EXT_PUT_FILE_NS, done, arg);
	if (mark == 0)
		return;
	buf_put_cstring(&s->out, put->path);
	buf_put_u32(&s->out, put->sets);
	sftp_put_attrs(&s->out, put->attrs);
	put_times(s, put->times);
	if (put->xattrs != NULL)
		put_xattrs(s, put->xattrs);
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

void
sftp_rename_part(struct sftp *s, const struct sftp_handle *h, const char *part,
    const char *target, sftp_done_fn done, void *arg)
{
	size_t mark = start_ext(s, SFTP_EXT_RENAME_PART, done, arg);

	if (mark == 0)
		return;
	put_handle(s, h);
	buf_put_cstring(&s->out, part);
	buf_put_cstring(&s->out, target);
	finish(s, mark);
}

void
sftp_confine(struct sftp *s, const char *path, const struct sftp_confine *c,
    sftp_done_fn done, void *arg)
{
	int slot;
	size_t mark = start_named(s, sftp_extensions[SFTP_EXT_CONFINE].name,
	    done, arg, &slot);

	if (mark == 0)
		return;
	s->requests[slot].confines = true;
	s->confines++;
	buf_put_cstring(&s->out, path);
	buf_put_u32(&s->out, c->rights);
	buf_put_u64(&s->out, c->bytes);
	buf_put_u64(&s->out, c->files);
	buf_put_u64(&s->out, c->deletes);
	buf_put_u32(&s->out, c->flags);
	finish(s, mark);
}

void
sftp_walk(struct sftp *s, const struct sftp_walk *w, sftp_done_fn done,
    void *arg)
{
	int slot;
	size_t mark = start_named(s, sftp_extensions[SFTP_EXT_WALK].name, done,
	    arg, &slot);

	if (mark == 0)
		return;
	s->requests[slot].type = SFTP_OPENDIR;
	s->handle_requested = true;
	buf_put_cstring(&s->out, w->path);
	buf_put_u32(&s->out, w->want);
	buf_put_string(&s->out, w->rules, w->rules_len);
	buf_put_cstring(&s->out, w->start != NULL ? w->start : "");
	finish(s, mark);
}

void
sftp_walk_read(struct sftp *s, const struct sftp_handle *h, sftp_done_fn done,
    void *arg)
{
	int slot;
	size_t mark = start_named(s, "walk-read@hpnssh.org", done, arg, &slot);

	if (mark == 0)
		return;
	put_handle(s, h);
	finish(s, mark);
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

static void
put_names(struct sftp *s, const char *const *names, size_t n)
{
	size_t mark = buf_open_string(&s->out);

	for (size_t i = 0; i < n; i++)
		buf_put_cstring(&s->out, names[i]);
	buf_close_string(&s->out, mark);
}

void
sftp_ids_by_name(struct sftp *s, const char *const *users, size_t n_users,
    const char *const *groups, size_t n_groups, sftp_done_fn done, void *arg)
{
	size_t mark = start_ext(s, SFTP_EXT_IDS_BY_NAME, done, arg);

	if (mark == 0)
		return;
	put_names(s, users, n_users);
	put_names(s, groups, n_groups);
	finish(s, mark);
}

void
sftp_own_ids(struct sftp *s, sftp_done_fn done, void *arg)
{
	size_t mark = start_ext(s, SFTP_EXT_OWN_IDS, done, arg);

	if (mark != 0)
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
	put_times(s, times);
	finish(s, mark);
}

void
sftp_times_ns_name(struct sftp *s, const char *path,
    const struct timespec times[2], sftp_done_fn done, void *arg)
{
	size_t mark = start_ext(s, SFTP_EXT_TIMES_NS_NAME, done, arg);

	if (mark == 0)
		return;
	buf_put_cstring(&s->out, path);
	put_times(s, times);
	finish(s, mark);
}

void
sftp_xattrs(struct sftp *s, const char *path, bool follow, uint32_t kinds,
    sftp_done_fn done, void *arg)
{
	size_t mark = start_ext(s, SFTP_EXT_XATTRS, done, arg);

	if (mark == 0)
		return;
	buf_put_cstring(&s->out, path);
	buf_put_u32(&s->out, follow);
	buf_put_u32(&s->out, kinds);
	finish(s, mark);
}

void
sftp_set_xattrs(struct sftp *s, const char *path, bool follow,
    const struct xattrs *x, sftp_done_fn done, void *arg)
{
	int slot;
	size_t mark = start_named(s, "set-xattrs@hpnssh.org", done, arg, &slot);

	if (mark == 0)
		return;
	buf_put_cstring(&s->out, path);
	buf_put_u32(&s->out, follow);
	put_xattrs(s, x);
	finish(s, mark);
}

void
sftp_fset_xattrs(struct sftp *s, const struct sftp_handle *h,
    const struct xattrs *x, sftp_done_fn done, void *arg)
{
	int slot;
	size_t mark = start_named(s, "fset-xattrs@hpnssh.org", done, arg,
	    &slot);

	if (mark == 0)
		return;
	put_handle(s, h);
	put_xattrs(s, x);
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
