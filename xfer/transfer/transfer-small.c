/* SPDX-License-Identifier: ISC */
/*
 * Small files that only have to be moved. Each takes one request (put-file,
 * put-file-ns, get-file; docs/SFTP.md) if the server has it. At other servers,
 * all requests of the first file of a session, often the only one, are sent
 * together, except for the rename; they use a guessed handle. A file that is
 * refused takes the ordinary steps, which report the reason. Of an upload the
 * data then leaves as if the target were not there; so it has to be private
 * until that is known, unless its caller was told so (xfer_put_new()).
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "xfer/transfer/transfer-internal.h"

enum {
	SMALL_MAX = 64 * 1024,
	AROUND = 1024, /* most bytes of a request beside data and path */
};

/* True if times to the nanosecond are to be kept, which takes requests of their
 * own, unless a plan knows those of the source. */
static bool
wants_more_times(const struct xfer_file *f)
{
	if (f->duty != NULL && !f->up && f->source.exact.known)
		return false;
	return (xfer_sets(f) & SFTP_A_TIMES) &&
	    (f->up ? xfer_wants_times_ns(f->x, &f->source.exact) :
		     xfer_has(f->x, SFTP_EXT_STAT_NS));
}

/* True if mode and times are both set, as with -p, or neither is. A plan may
 * set more; for a download that is done on this host. */
static bool
asks_little(const struct xfer_file *f)
{
	const struct xfer_duty *d = f->duty;

	if (wants_more_times(f) || (f->up && xfer_xattrs(f).kinds != 0))
		return false;
	return !f->up || d == NULL || d->sets == 0 ||
	    (d->sets == (SFTP_A_MODE | SFTP_A_TIMES) &&
		(d->mode & ~XFER_MODE_PRESERVED & XFER_MODE_KEPT) == 0);
}

/* True if one request can move f. put-file-ns takes no owner without a mode. */
static bool
has_request(const struct xfer_file *f)
{
	bool owner_alone =
	    (xfer_sets(f) & (SFTP_A_OWNER | SFTP_A_MODE)) == SFTP_A_OWNER;

	if (asks_little(f))
		return xfer_has(f->x,
		    f->up ? SFTP_EXT_PUT_FILE : SFTP_EXT_GET_FILE);
	if (xfer_xattrs(f).kinds != 0 && !xfer_has(f->x, SFTP_EXT_XATTRS))
		return false;
	return f->up && !owner_alone && xfer_has(f->x, SFTP_EXT_PUT_FILE_NS);
}

static bool
is_exact(const struct xfer_file *f)
{
	return (xfer_sets(f) & SFTP_A_TIMES) != 0;
}

/* True if f can be copied by moving its data and setting its attributes,
 * without any option that asks for more. The target is not considered here. */
static bool
is_plain(const struct xfer_file *f)
{
	const struct xfer_opts *o = &f->x->opts;
	const struct xfer_duty *d = f->duty;

	if (d != NULL && f->up && (d->backup != NULL || d->replaces_kind))
		return false;

	return !f->small.refused && !f->source.symlink && !o->hard_links &&
	    !o->sparse && !o->append && !o->verify && !o->in_place &&
	    !o->fsync && o->rate_bytes == 0 && o->requests_max == 0 &&
	    o->block_bytes == 0;
}

static bool
is_small(const struct xfer_file *f, uint64_t size)
{
	return size <= SMALL_MAX && is_plain(f) &&
	    strlen(f->remote) < SFTP_MESSAGE_MAX - SMALL_MAX - AROUND &&
	    has_request(f);
}

bool
xfer_small_waits(struct xfer *x, const struct xfer_file *f)
{
	const struct xfer_stream *stream = xfer_stream_pick(x);

	if (stream == NULL || f->source.attrs.size > SMALL_MAX || !is_plain(f))
		return false;
	/* A small file waits for the server's version: to learn whether the
	 * server has put-file saves more time than the wait costs. */
	if (!sftp_has_version(stream->s))
		return true;
	return is_small(f, f->source.attrs.size) &&
	    !xfer_may_issue(stream, f->up);
}

void
xfer_small_free(struct xfer_file *f)
{
	free(f->small.data);
	f->small.data = NULL;
}

static void
small_begin(struct xfer_file *f, struct xfer_stream *stream)
{
	xfer_file_enter(f, XFER_MOVING_SMALL);
	f->x->files.small++;
	f->x->data.in_flight += f->source.size;
	stream->in_flight += f->source.size;
	f->small.stream = stream;
	f->small.outcome = XFER_GUESS_RIGHT;
	f->small.opened = f->small.guess_closed = false;
}

/* Counts an answer. True if it was the last one. False if others are to come,
 * or the session is over: then transfer-retry.c begins the file anew. */
static bool
small_end(struct xfer_file *f, const struct sftp_reply *reply)
{
	struct xfer *x = f->x;

	if (reply->err != 0)
		f->small.outcome = XFER_GUESS_LOST;
	if (--f->pending > 0)
		return false;
	x->files.small--;
	x->data.in_flight -= f->source.size;
	f->small.stream->in_flight -= f->source.size;
	return f->small.outcome != XFER_GUESS_LOST;
}

static void
count_moved(struct xfer_file *f)
{
	struct xfer_stream *stream = f->small.stream;

	stream->proved = true;
	stream->acked += f->source.size;
	f->x->measured.acked += f->source.size;
	xfer_progress_complete(f);
	progress_add(f->x->opts.progress, &f->item, f->source.size);
}

/* Writes the data of a download to its target. */
static void
write_target(struct xfer_file *f, const uint8_t *p, size_t len)
{
	xfer_progress_came(f, len);
	xfer_part_stat(f);
	if (!xfer_part_open(f)) {
		if (f->opening.waits_for_fds) {
			xfer_file_restart(f, f->resume);
			return;
		}
		f->failed = true;
	} else if (fd_write_all(f->fd, p, len) != 0) {
		xfer_report_errno(f->x, f->local, errno);
		f->failed = true;
	}
	if (!f->failed)
		count_moved(f);
	xfer_file_arrived(f);
}

static void
take_ordinary_steps(struct xfer_file *f)
{
	f->small.refused = true;
	if (f->x->stopped) {
		xfer_file_fail(f);
		xfer_file_arrived(f);
		return;
	}
	xfer_file_restart(f, f->resume);
}

/* Reads all of the source into x->data.small. False if its size has changed. */
static bool
read_source(struct xfer_file *f, size_t *len)
{
	struct xfer *x = f->x;
	ssize_t n;

	if (x->data.small == NULL &&
	    (x->data.small = malloc(SMALL_MAX + 1)) == NULL)
		return false;
	/* One byte more than its size is read, to see whether it has grown. A
	 * call that returned just its size has met the end. */
	n = fd_pread(f->fd, x->data.small, (size_t)f->source.size + 1, 0);
	if (n >= 0 && (uint64_t)n < f->source.size)
		n = fd_pread_all(f->fd, x->data.small,
		    (size_t)f->source.size + 1, 0);
	if (n < 0 || (uint64_t)n != f->source.size)
		return false;
	*len = (size_t)n;
	fd_close(&f->fd);
	return true;
}

static struct sftp_attrs
new_attrs(const struct xfer_file *f)
{
	struct sftp_attrs a = f->source.attrs;
	bool exact = is_exact(f);

	a.flags &= SFTP_A_MODE | (exact ? SFTP_A_TIMES : 0u);
	a.mode &= exact ? XFER_MODE_PRESERVED : XFER_MODE_COPIED;
	return a;
}

/* --- in one request --- */

/* Notes a part or link that the server has left alone, whose name is in the
 * reply. A name that is none of our own is not believed. */
static void
note_left(struct xfer_file *f, const struct sftp_reply *reply)
{
	const char *slash = strrchr(f->remote, '/');
	struct rd r = reply->body;
	struct span text = rd_string(&r);
	struct xfer *x = f->x;
	char *path = NULL;

	if (rd_err(&r) < 0 || text.len == 0 || text.len > NAME_MAX ||
	    memchr(text.p, '/', text.len) != NULL ||
	    memchr(text.p, '\0', text.len) != NULL ||
	    asprintf(&path, "%.*s%.*s", slash == NULL ? 0 :
		(int)(slash + 1 - f->remote), f->remote, (int)text.len,
		(const char *)text.p) < 0)
		return;
	if (!xfer_is_own_name(path)) {
		free(path);
		return;
	}
	x->left.count++;
	if (x->left.first == NULL)
		x->left.first = path;
	else
		free(path);
}

static void
put_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	if (!small_end(f, reply))
		return;
	if (reply->type != SFTP_STATUS || reply->status != SFTP_OK) {
		take_ordinary_steps(f);
		return;
	}
	note_left(f, reply);
	count_moved(f);
	xfer_file_arrived(f);
}

/* Sends put-file-ns with all attributes that f gets. */
static void
put_ns(struct xfer_file *f, struct xfer_stream *stream, size_t len)
{
	const struct xfer_source *source = &f->source;
	struct sftp_attrs a = source->attrs;
	const struct xattrs x = xfer_xattrs(f);
	struct sftp_put q = { .path = f->remote, .sets = xfer_sets(f),
		.attrs = &a, .xattrs = x.kinds != 0 ? &x : NULL };

	a.flags = (a.flags & SFTP_A_MODE) | (q.sets & SFTP_A_OWNER);
	a.mode &= q.sets & SFTP_A_MODE ? xfer_mode_bits(f) : XFER_MODE_COPIED;
	xfer_times(&source->attrs, &source->exact, q.times);
	sftp_put_file_ns(stream->s, &q, f->x->data.small, len, put_done, f);
}

static bool
put(struct xfer_file *f, struct xfer_stream *stream)
{
	struct sftp_attrs a = new_attrs(f);
	size_t len;

	if (!read_source(f, &len))
		return false;
	small_begin(f, stream);
	f->pending++;
	if (asks_little(f))
		sftp_put_file(stream->s, f->remote, is_exact(f), &a,
		    f->x->data.small, len, put_done, f);
	else
		put_ns(f, stream, len);
	return true;
}

static void
get_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;
	struct rd r = reply->body;
	struct sftp_attrs attrs;
	struct span data;

	if (!small_end(f, reply))
		return;
	if (reply->type != SFTP_EXTENDED_REPLY ||
	    sftp_get_file_reply(&r, &attrs, &data) != 0 ||
	    data.len != f->source.size) {
		take_ordinary_steps(f);
		return;
	}
	xfer_source_read(f, &attrs);
	write_target(f, data.p, data.len);
}

/* --- with a guessed handle --- */

static void
guess_is_wrong(struct xfer_file *f)
{
	if (f->small.outcome != XFER_GUESS_LOST)
		f->small.outcome = XFER_GUESS_WRONG;
}

/* Is the guess the handle that the server has given? */
static bool
guess_fits(const struct xfer_small *small)
{
	return small->opened && small->handle.len == small->guess.len &&
	    memcmp(small->handle.bytes, small->guess.bytes,
		small->guess.len) == 0;
}

static void
wrong_removed(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	if (reply->err == 0)
		xfer_made_nothing(f);
	if (!f->x->over)
		take_ordinary_steps(f);
}

/* Takes the ordinary steps. They may make no part of that name, so that of the
 * guess goes first. */
static void
guess_anew(struct xfer_file *f)
{
	if (!f->up || !f->small.opened) {
		take_ordinary_steps(f);
		return;
	}
	f->pending++;
	xfer_part_remove(f, wrong_removed);
}

static void
guess_end(struct xfer_file *f, const struct sftp_reply *reply)
{
	struct xfer_small *small = &f->small;

	if (!small_end(f, reply))
		return;
	if (small->opened && !(small->guess_closed && guess_fits(small)))
		sftp_close(small->stream->s, &small->handle, NULL, NULL);
	if (f->up && f->target.attrs.flags != 0 &&
	    (xfer_plan(f) != TARGET_RENAME ||
		target_asks_writable(f->target.attrs.mode) ||
		(!is_exact(f) &&
		    f->target.attrs.mode != f->part.made.mode)))
		f->small.outcome = XFER_GUESS_WRONG;
	if (f->small.outcome == XFER_GUESS_WRONG) {
		guess_anew(f);
	} else if (f->up) {
		count_moved(f);
		if (is_exact(f))
			xfer_times_clamped(f->x, f->local, &f->source.exact);
		xfer_file_rename(f);
	} else {
		write_target(f, f->small.data, (size_t)f->source.size);
	}
}

static void
guess_opened(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	xfer_part_asked(f, reply);
	f->small.opened = reply->err == 0 && reply->status == SFTP_OK;
	if (f->small.opened)
		sftp_keep_handle(&f->small.handle, reply);
	if (!guess_fits(&f->small))
		guess_is_wrong(f);
	guess_end(f, reply);
}

static void
guess_target(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	if (reply->err == 0 && reply->type == SFTP_ATTRS)
		xfer_target_found(f, &reply->attrs);
	else if (reply->status != SFTP_NO_SUCH_FILE)
		guess_is_wrong(f);
	guess_end(f, reply);
}

static void
guess_made(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	/* A handle that was guessed wrong is another file's. */
	if (reply->err == 0 && reply->type == SFTP_ATTRS &&
	    guess_fits(&f->small)) {
		xfer_part_opened(f, &reply->attrs);
		xfer_made_written(f, &reply->attrs);
		xfer_tail_written(f, &reply->attrs);
	} else {
		guess_is_wrong(f);
	}
	guess_end(f, reply);
}

static void
guess_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	if (reply->status != SFTP_OK)
		guess_is_wrong(f);
	guess_end(f, reply);
}

static void
guess_closed(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	if (reply->err == 0 && reply->status == SFTP_OK)
		f->small.guess_closed = true;
	guess_done(f, reply);
}

static void
guess_data(void *arg, uint64_t offset, const uint8_t *p, size_t len)
{
	struct xfer_file *f = arg;

	memcpy(f->small.data + offset, p, len);
}

static void
guess_read(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	if (reply->type != SFTP_DATA || reply->data_len != f->source.size)
		guess_is_wrong(f);
	guess_end(f, reply);
}

static bool
guess_put(struct xfer_file *f, struct xfer_stream *stream, bool is_new)
{
	const struct sftp_handle *h = &f->small.guess;
	struct sftp_attrs a = new_attrs(f);
	struct sftp *s = stream->s;
	size_t len;
	uint8_t *p;

	xfer_part_avoid_plan(f);
	/* A server that can tell how many names a file has must be asked
	 * before. And the data must not be readable by others before it is
	 * known whether it replaces a file that they may not read. */
	if (f->part.name == NULL || sftp_has(s, SFTP_EXT_STAT_NS) ||
	    (!is_new && !is_exact(f) &&
		(a.mode & (S_IRWXG | S_IRWXO)) != 0) ||
	    !read_source(f, &len))
		return false;
	small_begin(f, stream);
	f->pending = 5 + is_exact(f);
	sftp_path_request(s, SFTP_LSTAT, f->remote, guess_target, f);
	sftp_open(s, f->part.name, SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_EXCL,
	    &a, guess_opened, f);
	if ((p = sftp_write_begin(s, h, 0, (uint32_t)len)) != NULL) {
		memcpy(p, f->x->data.small, len);
		sftp_write_finish(s, (uint32_t)len, guess_done, f);
	} else {
		f->pending--; /* the session is over, as the answers to the
			       * others will say */
	}
	if (is_exact(f))
		sftp_fsetstat(s, h, &a, guess_done, f);
	sftp_handle_request(s, SFTP_FSTAT, h, guess_made, f);
	sftp_close(s, h, guess_closed, f);
	return true;
}

static bool
guess_get(struct xfer_file *f, struct xfer_stream *stream)
{
	const struct sftp_handle *h = &f->small.guess;

	xfer_small_free(f);
	if ((f->small.data = malloc((size_t)f->source.size)) == NULL)
		return false;
	small_begin(f, stream);
	f->pending = 3;
	sftp_open(stream->s, f->remote, SFTP_O_READ, NULL, guess_opened, f);
	sftp_read(stream->s, h, 0, (uint32_t)f->source.size, guess_data,
	    guess_read, f);
	sftp_close(stream->s, h, guess_closed, f);
	return true;
}

bool
xfer_small_start(struct xfer_file *f)
{
	struct xfer_stream *stream = xfer_stream_pick(f->x);
	bool is_new = f->small.target_is_new;

	f->small.target_is_new = false; /* that was true a moment ago */
	if (stream == NULL || (f->source.attrs.flags & SFTP_A_SIZE) == 0 ||
	    xfer_may_resume(f) || xfer_in_temp(f))
		return false;
	if (is_small(f, f->source.size) && f->up)
		return put(f, stream);
	if (is_small(f, f->source.size)) {
		small_begin(f, stream);
		f->pending++;
		sftp_get_file(stream->s, f->remote, (uint32_t)f->source.size,
		    get_done, f);
		return true;
	}
	if (!is_plain(f) || !asks_little(f) || f->source.size == 0 ||
	    f->source.size > SFTP_DATA_DEFAULT ||
	    !sftp_guess_handle(stream->s, &f->small.guess))
		return false;
	return f->up ? guess_put(f, stream, is_new) : guess_get(f, stream);
}
