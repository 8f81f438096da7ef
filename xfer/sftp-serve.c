/* SPDX-License-Identifier: ISC */
/*
 * DESIGN. A message is handled where it lies in the caller's input if it is
 * whole there. If not, its bytes are gathered in s->in until it is; except
 * that a WRITE is started as soon as its fields are known, and its data
 * goes to the file piece by piece (struct serve_write).
 */
#include "xfer/sftp-serve.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/wire.h"
#include "xfer/sftp-proto.h"
#include "xfer/sftp-serve-int.h"

enum {
	HANDLE_WIRE = 4, /* bytes: place, generation */
	HANDLES_LIMIT = 65535,
	/* length, type, id, handle, offset, length of the data */
	WRITE_HEAD = 4 + 1 + 4 + 4 + HANDLE_WIRE + 8 + 4,
	RESERVED_FDS = 5,
};

struct request {
	const char *name; /* for -p, -P and log lines */
	const char *wire; /* of an extension, else NULL */
	const char *version;
	uint8_t type;
	bool changes; /* refused when read-only */
	serve_fn fn;  /* NULL for WRITE, which is handled here */
};

/*
 * Every request of the protocol. Opening is checked by itself when
 * read-only, for it changes things only with some flags.
 */
static const struct request requests[] = {
	{ "open", NULL, NULL, SFTP_OPEN, false, serve_open },
	{ "close", NULL, NULL, SFTP_CLOSE, false, serve_close },
	{ "read", NULL, NULL, SFTP_READ, false, serve_read },
	{ "write", NULL, NULL, SFTP_WRITE, true, NULL },
	{ "lstat", NULL, NULL, SFTP_LSTAT, false, serve_lstat },
	{ "fstat", NULL, NULL, SFTP_FSTAT, false, serve_fstat },
	{ "setstat", NULL, NULL, SFTP_SETSTAT, true, serve_setstat },
	{ "fsetstat", NULL, NULL, SFTP_FSETSTAT, true, serve_fsetstat },
	{ "opendir", NULL, NULL, SFTP_OPENDIR, false, serve_opendir },
	{ "readdir", NULL, NULL, SFTP_READDIR, false, serve_readdir },
	{ "remove", NULL, NULL, SFTP_REMOVE, true, serve_remove },
	{ "mkdir", NULL, NULL, SFTP_MKDIR, true, serve_mkdir },
	{ "rmdir", NULL, NULL, SFTP_RMDIR, true, serve_rmdir },
	{ "realpath", NULL, NULL, SFTP_REALPATH, false, serve_realpath },
	{ "stat", NULL, NULL, SFTP_STAT, false, serve_stat },
	{ "rename", NULL, NULL, SFTP_RENAME, true, serve_rename },
	{ "readlink", NULL, NULL, SFTP_READLINK, false, serve_readlink },
	{ "symlink", NULL, NULL, SFTP_SYMLINK, true, serve_symlink },
	{ "posix-rename", "posix-rename@openssh.com", "1", SFTP_EXTENDED, true,
	    serve_posix_rename },
	{ "statvfs", "statvfs@openssh.com", "2", SFTP_EXTENDED, false,
	    serve_statvfs },
	{ "fstatvfs", "fstatvfs@openssh.com", "2", SFTP_EXTENDED, false,
	    serve_fstatvfs },
	{ "hardlink", "hardlink@openssh.com", "1", SFTP_EXTENDED, true,
	    serve_hardlink },
	{ "fsync", "fsync@openssh.com", "1", SFTP_EXTENDED, true,
	    serve_fsync },
	{ "lsetstat", "lsetstat@openssh.com", "1", SFTP_EXTENDED, true,
	    serve_lsetstat },
	{ "limits", "limits@openssh.com", "1", SFTP_EXTENDED, false,
	    serve_limits },
	{ "expand-path", "expand-path@openssh.com", "1", SFTP_EXTENDED, false,
	    serve_expand_path },
	{ "copy-data", "copy-data", "1", SFTP_EXTENDED, true,
	    serve_copy_data },
	{ "home-directory", "home-directory", "1", SFTP_EXTENDED, false,
	    serve_home_directory },
	{ "users-groups-by-id", "users-groups-by-id@openssh.com", "1",
	    SFTP_EXTENDED, false, serve_users_groups },
};
_Static_assert(ARRAY_LEN(requests) <= 64, "struct sftp_serve.enabled");

const char *
sftp_serve_request_name(size_t i)
{
	return i < ARRAY_LEN(requests) ? requests[i].name : NULL;
}

/* Bits of the requests in a comma list; names that are none are counted. */
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

int
sftp_serve_new(struct sftp_serve **out, const struct sftp_serve_opts *opts)
{
	struct sftp_serve *s = calloc(1, sizeof *s);
	struct rlimit rl;
	unsigned unknown;

	if (s == NULL)
		return ERR_NOMEM;
	s->opts = *opts;
	buf_init(&s->in);
	buf_init(&s->out);
	s->free_handle = -1;
	s->handles_max = 256;
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur > RESERVED_FDS)
		s->handles_max =
		    rl.rlim_cur - RESERVED_FDS > HANDLES_LIMIT ?
		    HANDLES_LIMIT :
		    (int)(rl.rlim_cur - RESERVED_FDS);
	s->enabled = ~UINT64_C(0);
	if (opts->allowed != NULL)
		s->enabled = requests_in_list(opts->allowed, &unknown);
	if (opts->denied != NULL)
		s->enabled &= ~requests_in_list(opts->denied, &unknown);
	if (opts->read_only)
		for (size_t i = 0; i < ARRAY_LEN(requests); i++)
			if (requests[i].changes)
				s->enabled &= ~(UINT64_C(1) << i);
	*out = s;
	return 0;
}

void
sftp_serve_free(struct sftp_serve *s)
{
	if (s == NULL)
		return;
	for (int i = 0; i < s->handles_cap; i++) {
		struct serve_handle *h = &s->handles[i];

		if (h->kind == SERVE_FILE)
			log_info("forced close \"%s\" bytes read %llu "
				 "written %llu", h->path,
			    (unsigned long long)h->bytes_read,
			    (unsigned long long)h->bytes_written);
		else if (h->kind == SERVE_DIR)
			log_info("forced closedir \"%s\"", h->path);
		if (h->kind != SERVE_FREE)
			serve_handle_close(s, h);
	}
	free(s->handles);
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
	return buf_len(&s->out) >= SFTP_SERVE_OUTPUT_MAX;
}

/* --- handles --- */

static int
handles_grow(struct sftp_serve *s)
{
	struct serve_handle *grown;
	int cap = s->handles_cap > 0 ? s->handles_cap * 2 : 16;

	if (s->handles_cap >= s->handles_max)
		return ERR_LIMIT;
	cap = MIN(cap, s->handles_max);
	grown = recallocarray(s->handles, (size_t)s->handles_cap, (size_t)cap,
	    sizeof *grown);
	if (grown == NULL)
		return ERR_NOMEM;
	for (int i = cap - 1; i >= s->handles_cap; i--) {
		grown[i].fd = -1;
		grown[i].next_free = s->free_handle;
		s->free_handle = i;
	}
	s->handles = grown;
	s->handles_cap = cap;
	return 0;
}

int
serve_handle_new(struct sftp_serve *s, const char *path)
{
	struct serve_handle *h;
	int place, r;

	if (s->free_handle < 0 && (r = handles_grow(s)) < 0)
		return r;
	place = s->free_handle;
	h = &s->handles[place];
	h->path = strdup(path);
	if (h->path == NULL)
		return ERR_NOMEM;
	s->free_handle = h->next_free;
	h->bytes_read = h->bytes_written = 0;
	h->append = false;
	h->dir = NULL;
	h->fd = -1;
	h->kind = SERVE_FILE;
	return place;
}

void
serve_handle_close(struct sftp_serve *s, struct serve_handle *h)
{
	int saved = errno;

	if (h->dir != NULL)
		closedir(h->dir);
	if (h->fd >= 0)
		close(h->fd);
	h->dir = NULL;
	h->fd = -1;
	free(h->path);
	h->path = NULL;
	h->kind = SERVE_FREE;
	h->generation++;
	h->next_free = s->free_handle;
	s->free_handle = (int)(h - s->handles);
	errno = saved;
}

struct serve_handle *
serve_get_handle(struct sftp_serve *s, struct rd *r, int kind)
{
	struct span wire = rd_string(r);
	struct serve_handle *h;
	int place;

	if (wire.len != HANDLE_WIRE)
		return NULL;
	place = wire_get_u16(wire.p);
	if (place >= s->handles_cap)
		return NULL;
	h = &s->handles[place];
	if (h->kind == SERVE_FREE || h->generation != wire_get_u16(wire.p + 2))
		return NULL;
	return (kind == SERVE_FREE || (int)h->kind == kind) ? h : NULL;
}

void
serve_put_handle(struct sftp_serve *s, uint32_t id, int place)
{
	buf_put_u32(&s->out, 1 + 4 + 4 + HANDLE_WIRE);
	buf_put_u8(&s->out, SFTP_HANDLE);
	buf_put_u32(&s->out, id);
	buf_put_u32(&s->out, HANDLE_WIRE);
	buf_put_u16(&s->out, (uint16_t)place);
	buf_put_u16(&s->out, s->handles[place].generation);
}

/* --- fields and replies --- */

char *
serve_get_path(struct sftp_serve *s, struct rd *r)
{
	char *path = rd_cstring(r, SFTP_PATH_MAX);

	if (path != NULL && s->opts.path_ok != NULL &&
	    !s->opts.path_ok(s->opts.path_ok_arg, path)) {
		free(path);
		rd_fail(r, ERR_DENIED);
		return NULL;
	}
	return path;
}

void
serve_status(struct sftp_serve *s, uint32_t id, uint32_t status)
{
	struct buf *b = &s->out;
	size_t mark;

	if (status > SFTP_EOF)
		log_verbose("sent status %s", sftp_status_text(status));
	mark = buf_open_string(b);
	buf_put_u8(b, SFTP_STATUS);
	buf_put_u32(b, id);
	buf_put_u32(b, status);
	buf_put_cstring(b, sftp_status_text(status));
	buf_put_cstring(b, "");
	buf_close_string(b, mark);
}

void
serve_errno(struct sftp_serve *s, uint32_t id, int result)
{
	serve_status(s, id,
	    result == 0 ? SFTP_OK : sftp_status_from_errno(errno));
}

void
serve_attrs(struct sftp_serve *s, uint32_t id, const struct stat *st)
{
	struct sftp_attrs attrs;
	size_t mark = buf_open_string(&s->out);

	sftp_attrs_from_stat(&attrs, st);
	buf_put_u8(&s->out, SFTP_ATTRS);
	buf_put_u32(&s->out, id);
	sftp_put_attrs(&s->out, &attrs);
	buf_close_string(&s->out, mark);
}

void
serve_name(struct sftp_serve *s, uint32_t id, const char *name)
{
	size_t mark = buf_open_string(&s->out);

	buf_put_u8(&s->out, SFTP_NAME);
	buf_put_u32(&s->out, id);
	buf_put_u32(&s->out, 1);
	buf_put_cstring(&s->out, name);
	buf_put_cstring(&s->out, name);
	sftp_put_attrs(&s->out, NULL);
	buf_close_string(&s->out, mark);
}

/* --- messages --- */

static int
handle_init(struct sftp_serve *s, struct rd *r)
{
	uint32_t version = rd_u32(r);
	size_t mark;
	int err = rd_err(r);

	if (err < 0)
		return err;
	log_verbose("received client version %u", version);
	mark = buf_open_string(&s->out);
	buf_put_u8(&s->out, SFTP_VERSION_REPLY);
	buf_put_u32(&s->out, SFTP_VERSION);
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		if (requests[i].wire == NULL ||
		    (s->enabled >> i & 1) == 0)
			continue;
		buf_put_cstring(&s->out, requests[i].wire);
		buf_put_cstring(&s->out, requests[i].version);
	}
	buf_close_string(&s->out, mark);
	s->initialised = true;
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
 * 0 if the request may run, else the status that refuses it: what is
 * read-only or not listed is a permission, as people expect to read.
 */
static uint32_t
refuse(const struct sftp_serve *s, const struct request *q)
{
	if (q == NULL)
		return SFTP_OP_UNSUPPORTED;
	if ((s->enabled >> (q - requests) & 1) == 0) {
		log_info("refused %s request", q->name);
		return SFTP_PERMISSION_DENIED;
	}
	return 0;
}

/* The data of a WRITE begins; the reader stands behind the id. */
static int
write_begin(struct sftp_serve *s, uint32_t id, struct rd *r, uint32_t body)
{
	static const size_t fixed = WRITE_HEAD - 4;
	struct serve_write *w = &s->write;
	uint32_t refused = refuse(s, find_request(SFTP_WRITE, r));

	*w = (struct serve_write){ .id = id, .active = true };
	w->handle = serve_get_handle(s, r, SERVE_FILE);
	w->offset = rd_u64(r);
	w->left = rd_u32(r);
	if (r->err != 0 || body < fixed || w->left > body - fixed)
		return ERR_PROTOCOL;
	w->skip = body - (uint32_t)fixed - w->left;
	if (w->handle == NULL)
		w->error = EBADF;
	if (refused != 0) {
		w->handle = NULL;
		w->error = EACCES;
	}
	return 0;
}

static void
write_piece(struct serve_write *w, const uint8_t *p, size_t len)
{
	struct serve_handle *h = w->handle;
	ssize_t n;

	while (len > 0 && w->error == 0) {
		n = h->append ? write(h->fd, p, len) :
				pwrite(h->fd, p, len, (off_t)w->offset);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			w->error = n < 0 ? errno : EIO;
			log_error("write \"%s\": %s", h->path,
			    strerror(w->error));
			break;
		}
		h->bytes_written += (uint64_t)n;
		w->offset += (uint64_t)n;
		p += n;
		len -= (size_t)n;
	}
}

/* Returns how many bytes belonged to the WRITE that is under way. */
static size_t
write_continue(struct sftp_serve *s, const uint8_t *p, size_t len)
{
	struct serve_write *w = &s->write;
	size_t data = MIN(len, (size_t)w->left);
	size_t skip = MIN(len - data, (size_t)w->skip);

	write_piece(w, p, data);
	w->left -= (uint32_t)data;
	w->skip -= (uint32_t)skip;
	if (w->left == 0 && w->skip == 0) {
		w->active = false;
		errno = w->error;
		serve_errno(s, w->id, w->error == 0 ? 0 : -1);
	}
	return data + skip;
}

static int
handle_message(struct sftp_serve *s, const uint8_t *p, size_t len)
{
	struct rd r = rd_from(p, len);
	const struct request *q;
	uint8_t type = rd_u8(&r);
	uint32_t id, refused;
	int err;

	if (!s->initialised)
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
	/* Only a WRITE with a handle that cannot be ours comes here. */
	err = q->fn != NULL ? q->fn(s, id, &r) : ERR_NOT_FOUND;
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
 * What is known of a message from its first bytes: how many are needed
 * before it can be acted on.
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
	if (body < WRITE_HEAD - 4 || !s->initialised)
		return 0;
	if (len < 13) {
		*need = 13; /* to the end of the handle's length */
		return 0;
	}
	if (p[4] == SFTP_WRITE && wire_get_u32(p + 9) == HANDLE_WIRE) {
		*need = WRITE_HEAD;
		*streamed = true;
	}
	return 0;
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
	err = write_begin(s, id, &r, wire_get_u32(p));
	if (err == 0 && s->write.left == 0 && s->write.skip == 0)
		(void)write_continue(s, p, 0);
	return err < 0 ? err : buf_err(&s->out);
}

/*
 * One step: continues a WRITE, or acts on a message that is whole at p, or
 * gathers bytes of one that is not. Returns the bytes used.
 */
static ssize_t
step(struct sftp_serve *s, const uint8_t *p, size_t len)
{
	size_t have = buf_len(&s->in), need, take;
	bool streamed;
	int err;

	if (s->write.active)
		return (ssize_t)write_continue(s, p, len);
	err = bytes_needed(s, have > 0 ? buf_data(&s->in) : p,
	    have > 0 ? have : len, &need, &streamed);
	if (err < 0)
		return err;
	if (have == 0 && len >= need && need > 4) {
		err = act(s, p, need, streamed);
		return err < 0 ? err : (ssize_t)need;
	}
	if (have >= need) {
		err = act(s, buf_data(&s->in), need, streamed);
		buf_consume(&s->in, need);
		return err;
	}
	take = MIN(len, need - have);
	buf_put(&s->in, p, take);
	err = buf_err(&s->in);
	return err < 0 ? err : (ssize_t)take;
}

ssize_t
sftp_serve_input(struct sftp_serve *s, const uint8_t *p, size_t len)
{
	size_t used = 0, before;
	ssize_t n;

	for (;;) {
		if (sftp_serve_blocked(s) && !s->write.active)
			break;
		before = buf_len(&s->in);
		if (used == len && before == 0)
			break;
		n = step(s, p + used, len - used);
		if (n < 0)
			return n;
		used += (size_t)n;
		if (n == 0 && buf_len(&s->in) == before)
			break;
	}
	return (ssize_t)used;
}
