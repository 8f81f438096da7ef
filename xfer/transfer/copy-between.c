/* SPDX-License-Identifier: ISC */
#include "xfer/transfer/copy-between.h"

#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"

enum {
	BUDGET_BYTES = 8 * 1024 * 1024, /* read but not yet written */
	OUTPUT_MAX = 512 * 1024,
	DEPTH_MAX = 64,
	TICK_MS = 100,
};

/* The copy of one file, while it is under way. */
struct relay {
	struct sftp *from, *to;
	const struct relay_opts *opts;
	const char *source, *target;
	struct sftp_handle from_handle, to_handle;
	uint64_t size, next;   /* expected; offset to ask for next */
	uint64_t started_ms;
	size_t in_flight;      /* bytes asked for and not yet written */
	unsigned reads, writes; /* requests under way */
	bool ended, failed;
	struct progress_item item;
};

struct relay_read {
	struct relay *r;
	uint64_t offset;
	uint32_t len, got;
};

struct relay_write {
	struct relay *r;
	uint32_t len;
};

static void
fail(struct relay *r, const char *path, const char *text)
{
	r->ended = true;
	if (r->failed)
		return;
	r->failed = true;
	progress_clear_line(r->opts->progress);
	r->opts->report(r->opts->report_arg, path, text);
}

/* Reports a status. The end of a session (err) is reported by the caller. */
static void
fail_reply(struct relay *r, const char *path, const struct sftp_reply *reply)
{
	if (reply->err == 0)
		fail(r, path, sftp_status_text(reply->status));
	r->ended = r->failed = true;
}

/* --- data --- */

static void
write_done(void *arg, const struct sftp_reply *reply)
{
	struct relay_write *w = arg;
	struct relay *r = w->r;

	r->writes--;
	r->in_flight -= w->len;
	if (reply->err != 0 || reply->status != SFTP_OK)
		fail_reply(r, r->target, reply);
	else
		progress_add(r->opts->progress, &r->item, w->len);
	free(w);
}

static void
pass_on(void *arg, uint64_t offset, const uint8_t *p, size_t len)
{
	struct relay_read *b = arg;
	struct relay *r = b->r;
	uint32_t n, most = sftp_write_max(r->to);
	struct relay_write *w;
	uint8_t *to;

	b->got += (uint32_t)len;
	while (len > 0) {
		n = (uint32_t)MIN(len, (size_t)most);
		w = r->failed ? NULL : malloc(sizeof *w);
		to = w != NULL ? sftp_write_begin(r->to, &r->to_handle,
			 offset, n) : NULL;
		if (to == NULL) {
			free(w);
			r->in_flight -= len;
			fail(r, r->target, "cannot be written");
			return;
		}
		memcpy(to, p, n);
		*w = (struct relay_write){ r, n };
		r->writes++;
		sftp_write_finish(r->to, n, write_done, w);
		p += n;
		offset += n;
		len -= n;
	}
}

static void
read_done(void *arg, const struct sftp_reply *reply)
{
	struct relay_read *b = arg;
	struct relay *r = b->r;

	if (reply->err == 0 && reply->type == SFTP_DATA && b->got < b->len &&
	    !r->failed) {
		sftp_read(r->from, &r->from_handle, b->offset + b->got,
		    b->len - b->got, pass_on, read_done, b);
		return;
	}
	r->reads--;
	r->in_flight -= b->len - b->got;
	if (reply->err == 0 && reply->type == SFTP_STATUS &&
	    reply->status == SFTP_EOF)
		r->ended = true;
	else if (reply->err != 0 || reply->type != SFTP_DATA)
		fail_reply(r, r->source, reply);
	free(b);
}

static bool
within_rate(const struct relay *r)
{
	uint64_t ms = clock_ms() - r->started_ms;

	return r->opts->rate_bytes == 0 ||
	    (double)r->next < (double)ms * (double)r->opts->rate_bytes / 1000;
}

static bool
wants_more(const struct relay *r)
{
	return !r->ended && (r->size == 0 ? r->reads == 0 : r->next < r->size);
}

static void
read_more(struct relay *r)
{
	uint32_t len;
	struct relay_read *b;

	while (wants_more(r) && r->in_flight < BUDGET_BYTES &&
	    buf_len(sftp_output(r->to)) < OUTPUT_MAX && within_rate(r)) {
		len = sftp_read_max(r->from);
		if (r->size != 0)
			len = (uint32_t)MIN((uint64_t)len, r->size - r->next);
		b = malloc(sizeof *b);
		if (b == NULL) {
			fail(r, r->source, err_text(ERR_NOMEM));
			return;
		}
		*b = (struct relay_read){ .r = r, .offset = r->next,
			.len = len };
		r->next += len;
		r->in_flight += len;
		r->reads++;
		sftp_read(r->from, &r->from_handle, b->offset, len, pass_on,
		    read_done, b);
	}
}

/* Both sessions have the same carrier, so one turn of it moves the bytes of
 * both. */
static int
step_both(struct relay *r)
{
	int err = sftp_step(r->from, false, TICK_MS);

	return err != 0 ? err : sftp_error(r->to);
}

static int
move_data(struct relay *r)
{
	int err;

	r->started_ms = clock_ms();
	for (;;) {
		read_more(r);
		if (r->reads == 0 && r->writes == 0 && !wants_more(r))
			return 0;
		if ((err = step_both(r)) < 0) {
			/* The other session is ended as well, because its
			 * requests under way refer to this stack. */
			err = sftp_feed_end(r->from, err);
			return sftp_feed_end(r->to, err);
		}
		progress_tick(r->opts->progress, &r->item, clock_ms());
	}
}

/* --- files --- */

struct answer {
	bool done;
	int result;
	struct sftp_handle handle;
};

static void
answered(void *arg, const struct sftp_reply *reply)
{
	struct answer *a = arg;

	a->done = true;
	a->result = reply->err != 0 ? reply->err : (int)reply->status;
	if (reply->type == SFTP_HANDLE)
		sftp_keep_handle(&a->handle, reply);
}

static int
wait_answer(struct sftp *s, struct answer *a)
{
	int err = sftp_run_until(s, &a->done);

	return err < 0 ? err : a->result;
}

static int
open_file(struct sftp *s, const char *path, uint32_t pflags,
    const struct sftp_attrs *attrs, struct sftp_handle *handle)
{
	struct answer a = { .done = false };
	int result;

	sftp_open(s, path, pflags, attrs, answered, &a);
	result = wait_answer(s, &a);
	*handle = a.handle;
	return result;
}

static int
close_file(struct sftp *s, const struct sftp_handle *handle)
{
	struct answer a = { .done = false };

	sftp_close(s, handle, answered, &a);
	return wait_answer(s, &a);
}

static int
set_attrs(struct sftp *s, const char *path, const struct sftp_attrs *attrs)
{
	struct sftp_attrs set = *attrs;
	struct answer a = { .done = false };

	set.flags &= SFTP_A_MODE | SFTP_A_TIMES;
	set.mode &= 07777;
	sftp_attrs_request(s, SFTP_SETSTAT, path, &set, answered, &a);
	return wait_answer(s, &a);
}

/* Reports a status, and returns 0, so that other files are copied. The end of a
 * session is returned, because it ends the copy. */
static int
report_status(struct relay *r, const char *path, int result)
{
	if (result > 0)
		fail(r, path, sftp_status_text((uint32_t)result));
	return result < 0 ? result : 0;
}

static int
copy_file(struct relay *r, const struct sftp_attrs *attrs)
{
	struct sftp_attrs create = { .flags = SFTP_A_MODE,
		.mode = attrs->flags & SFTP_A_MODE ? attrs->mode & 0777 :
						     0666 };
	int result = open_file(r->from, r->source, SFTP_O_READ, NULL,
	    &r->from_handle);

	if (result != 0)
		return report_status(r, r->source, result);
	result = open_file(r->to, r->target,
	    SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_TRUNC, &create,
	    &r->to_handle);
	if (result != 0) {
		if (report_status(r, r->target, result) < 0)
			return result;
		result = close_file(r->from, &r->from_handle);
		return result < 0 ? result : 0;
	}
	r->size = attrs->flags & SFTP_A_SIZE ? attrs->size : 0;
	progress_start(r->opts->progress, &r->item, r->source, r->size,
	    clock_ms());
	result = move_data(r);
	if (result == 0)
		result = close_file(r->from, &r->from_handle);
	if (result >= 0)
		result = report_status(
		    r, r->target, close_file(r->to, &r->to_handle));
	if (result == 0 && r->opts->preserve && !r->failed)
		result = report_status(r, r->target,
		    set_attrs(r->to, r->target, attrs));
	progress_finish(r->opts->progress, &r->item, !r->failed,
	    clock_ms());
	return result;
}

/* --- trees --- */

static int copy_any(struct sftp *from, const char *source, struct sftp *to,
    const char *target, const struct relay_opts *opts, int depth);

static bool
collect(void *arg, const char *name, const struct sftp_entry *entry)
{
	(void)entry;
	return strlist_add(arg, name) == 0;
}

static int
make_dir(struct sftp *to, const char *target)
{
	struct sftp_attrs attrs;
	int result = sftp_call_path(to, SFTP_MKDIR, target);

	/* It also fails if there is such a directory already. */
	if (result == SFTP_FAILURE &&
	    (result = sftp_call_stat(to, target, true, &attrs)) == 0 &&
	    !S_ISDIR(attrs.mode))
		result = SFTP_FAILURE;
	return result;
}

static int
copy_dir(struct relay *r, const struct sftp_attrs *attrs, int depth)
{
	struct strlist names = { NULL, 0 };
	char *source, *target;
	int result;

	if (depth > DEPTH_MAX) {
		fail(r, r->source, "directories are too deep");
		return 0;
	}
	result = report_status(r, r->target, make_dir(r->to, r->target));
	if (result < 0 || r->failed)
		return result;
	result = report_status(r, r->source,
	    sftp_call_list(r->from, r->source, collect, &names));
	for (size_t i = 0; i < names.n && result == 0; i++) {
		source = target = NULL;
		if (asprintf(&source, "%s/%s", r->source, names.v[i]) < 0 ||
		    asprintf(&target, "%s/%s", r->target, names.v[i]) < 0)
			result = ERR_NOMEM;
		else
			result = copy_any(r->from, source, r->to, target,
			    r->opts, depth + 1);
		free(source);
		free(target);
	}
	if (result == 0 && r->opts->preserve)
		result = report_status(r, r->target,
		    set_attrs(r->to, r->target, attrs));
	strlist_clear(&names);
	return result;
}

static int
copy_any(struct sftp *from, const char *source, struct sftp *to,
    const char *target, const struct relay_opts *opts, int depth)
{
	struct relay r = { .from = from, .to = to, .opts = opts,
		.source = source, .target = target };
	struct sftp_attrs attrs;
	int result = sftp_call_stat(from, source, true, &attrs);

	if (result != 0)
		return report_status(&r, source, result);
	if (S_ISREG(attrs.mode) || (attrs.flags & SFTP_A_MODE) == 0)
		return copy_file(&r, &attrs);
	if (S_ISDIR(attrs.mode) && opts->recursive)
		return copy_dir(&r, &attrs, depth);
	fail(&r, source, "not a regular file");
	return 0;
}

int
relay_copy(struct sftp *from, const char *source, struct sftp *to,
    const char *target, const struct relay_opts *opts)
{
	return copy_any(from, source, to, target, opts, 0);
}
