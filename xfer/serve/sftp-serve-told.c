/* SPDX-License-Identifier: ISC */
/*
 * Tells the engine's owner what was moved, deleted and renamed (opts.tell).
 *
 * A file that a client writes as a part, and renames when it is whole, is told
 * once, by its own name: the transfer is kept from its close to its rename.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "xfer/part-name.h"
#include "xfer/serve/sftp-serve-internal.h"

enum { KEPT_MAX = 64 };

/* Transfers to parts that were closed and not yet renamed; the oldest first. */
struct serve_told {
	size_t count;
	struct serve_kept {
		char *path; /* owned */
		uint64_t bytes_read, bytes_written, ms;
	} kept[KEPT_MAX];
};

static void
tell(struct sftp_serve *s, const struct sftp_serve_event *e)
{
	s->opts.tell(s->opts.tell_arg, e);
}

static void
tell_kept(struct sftp_serve *s, const struct serve_kept *k, const char *path)
{
	const struct sftp_serve_event e = { .what = SFTP_SERVE_TRANSFER,
		.path = path != NULL ? path : k->path,
		.writes = true,
		.bytes_read = k->bytes_read,
		.bytes_written = k->bytes_written,
		.ms = k->ms,
		.result = path != NULL ? SFTP_SERVE_DONE : SFTP_SERVE_PART };

	tell(s, &e);
}

static void
forget(struct serve_told *t, size_t i)
{
	free(t->kept[i].path);
	t->count--;
	memmove(&t->kept[i], &t->kept[i + 1],
	    (t->count - i) * sizeof t->kept[0]);
}

/* Keeps a transfer to a part. */
static void
keep(struct sftp_serve *s, const struct sftp_serve_event *e)
{
	struct serve_told *t = s->told;
	struct serve_kept k = { .bytes_read = e->bytes_read,
		.bytes_written = e->bytes_written,
		.ms = e->ms };

	if (t == NULL && (t = s->told = calloc(1, sizeof *t)) == NULL) {
		tell(s, e);
		return;
	}
	if ((k.path = strdup(e->path)) == NULL) {
		tell(s, e);
		return;
	}
	if (t->count == KEPT_MAX) {
		tell_kept(s, &t->kept[0], NULL);
		forget(t, 0);
	}
	t->kept[t->count++] = k;
}

void
serve_told_free(struct sftp_serve *s)
{
	struct serve_told *t = s->told;

	while (t != NULL && t->count > 0) {
		tell_kept(s, &t->kept[0], NULL);
		forget(t, 0);
	}
	free(t);
	s->told = NULL;
}

static bool
is_part(const char *path)
{
	return xfer_is_part(path) || xfer_is_own_name(path);
}

void
serve_tell_transfer(struct sftp_serve *s, const struct serve_handle *h,
    const char *path, bool done)
{
	struct sftp_serve_event e = { .what = SFTP_SERVE_TRANSFER,
		.path = path != NULL ? path : h->path,
		.writes = h->writes,
		.bytes_read = h->bytes_read,
		.bytes_written = h->bytes_written,
		.ms = clock_ms() - h->opened_ms,
		.result = done ? SFTP_SERVE_DONE : SFTP_SERVE_FAILED };

	/* A file that was only looked at was not moved. */
	if (s->opts.tell == NULL ||
	    (h->bytes_read == 0 && h->bytes_written == 0 && !h->writes))
		return;
	if (path == NULL && h->writes && done && is_part(h->path)) {
		e.result = SFTP_SERVE_PART;
		keep(s, &e);
	} else {
		tell(s, &e);
	}
}

void
serve_tell_small(struct sftp_serve *s, const struct serve_op *op,
    uint64_t bytes, bool written)
{
	const struct sftp_serve_event e = { .what = SFTP_SERVE_TRANSFER,
		.path = op->path,
		.writes = written,
		.bytes_read = written ? 0 : bytes,
		.bytes_written = written && op->error == 0 ? bytes : 0,
		.ms = 0,
		.result = op->error == 0 ? SFTP_SERVE_DONE :
					   SFTP_SERVE_FAILED };

	/* EOPNOTSUPP is not told: after it the client does the same by ordinary
	 * requests. */
	if (s->opts.tell != NULL && op->error != EOPNOTSUPP)
		tell(s, &e);
}

/* True if the path is that of a part which was written in this session, and not
 * renamed. */
static bool
is_kept(const struct serve_told *t, const char *path)
{
	for (size_t i = 0; t != NULL && i < t->count; i++)
		if (strcmp(t->kept[i].path, path) == 0)
			return true;
	return false;
}

void
serve_tell_delete(struct sftp_serve *s, const struct serve_op *op)
{
	const struct sftp_serve_event e = { .what = SFTP_SERVE_DELETE,
		.path = op->path };

	/* The removal of a copy's own part is not told, because it was never a
	 * file of the user's. The name alone does not make it one: it must have
	 * been written in this session. */
	if (s->opts.tell != NULL && op->error == 0 &&
	    !is_kept(s->told, op->path))
		tell(s, &e);
}

void
serve_tell_rename(struct sftp_serve *s, const struct serve_op *op)
{
	const struct sftp_serve_event e = { .what = SFTP_SERVE_RENAME,
		.path = op->path, .path2 = op->path2 };
	struct serve_told *t = s->told;

	if (s->opts.tell == NULL || op->error != 0)
		return;
	for (size_t i = 0; t != NULL && i < t->count; i++)
		if (strcmp(t->kept[i].path, op->path) == 0) {
			tell_kept(s, &t->kept[i], op->path2);
			forget(t, i);
			return;
		}
	tell(s, &e);
}
