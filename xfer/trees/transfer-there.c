/* SPDX-License-Identifier: ISC */
/*
 * What a directory at the server has in it before it is filled again (-Z). It
 * is listed once, instead of a question for each name. An upload's directory
 * that was there already is listed, and its files wait for that (d->held). Then
 * a file of the same size and time is complete without a further request.
 * Nothing is asked for a file if neither its name nor its part's is listed.
 *
 * After any failure, or with more names than NAMES_MAX, nothing is known: then
 * each file is asked for by itself. So it is with a server that tells
 * nanoseconds only for single files. Names are kept as the first 64 bits of
 * their SHA-256.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/wire.h"
#include "crypto/digest.h"
#include "xfer/trees/transfer-dir.h"

enum {
	NAMES_MAX = 128 * 1024, /* of all directories together */
	NAMES_FIRST = 64,
	READS_MAX = 4, /* READDIRs under way */
};

struct there {
	uint64_t hash; /* hash of the name; 0: the row is free */
	uint64_t size;
	int64_t sec;
	uint32_t nsec, mode;
	bool exact, timed; /* exact: nanoseconds are known; timed: seconds
			    * are */
};

struct xfer_there {
	struct there *rows; /* owned */
	size_t used, cap;
	bool whole; /* all names are known */
	bool parts; /* there may be parts among the names */
	bool failed;
};

static bool
hash_of(const void *name, size_t len, uint64_t *h)
{
	uint8_t sum[DIGEST_MAX_LEN];

	if (digest_once(DIGEST_SHA256, name, len, sum) != 0)
		return false;
	*h = wire_get_u64(sum) | 1;
	return true;
}

/* The row of the name with that hash, or the free row where it belongs. */
static struct there *
find(const struct xfer_there *t, uint64_t hash)
{
	size_t i = (hash >> 1) & (t->cap - 1);

	while (t->rows[i].hash != 0 && t->rows[i].hash != hash)
		i = (i + 1) & (t->cap - 1);
	return &t->rows[i];
}

static bool
grow(struct xfer_there *t)
{
	struct xfer_there more = { .cap = t->cap != 0 ? 2 * t->cap :
		NAMES_FIRST };

	if (t->used * 2 < t->cap)
		return true;
	more.rows = calloc(more.cap, sizeof *more.rows);
	if (more.rows == NULL)
		return false;
	for (size_t i = 0; i < t->cap; i++)
		if (t->rows[i].hash != 0)
			*find(&more, t->rows[i].hash) = t->rows[i];
	free(t->rows);
	t->rows = more.rows;
	t->cap = more.cap;
	return true;
}

/* --- listing --- */

void
xfer_there_free(struct xfer_dir *d)
{
	if (d->there == NULL)
		return;
	d->x->dirs.names_there -= d->there->used;
	free(d->there->rows);
	free(d->there);
	d->there = NULL;
}

/* Ends the listing of d, which is used only if it is whole. The files of d may
 * be copied now. */
static void
end(struct xfer_dir *d)
{
	d->listing = (struct xfer_listing){ .stream = NULL };
	d->refusals = 0;
	if (!d->there->whole || d->there->failed)
		xfer_there_free(d);
	xfer_dir_found(d);
}

static bool
take_entry(struct xfer_dir *d, const struct sftp_entry *e,
    const struct sftp_stat_ns *st)
{
	struct xfer_there *t = d->there;
	struct there *row;
	uint64_t hash;

	if (d->x->dirs.names_there >= NAMES_MAX || !grow(t) ||
	    !hash_of(e->name.p, e->name.len, &hash))
		return false;
	row = find(t, hash);
	if (row->hash == 0) {
		t->used++;
		d->x->dirs.names_there++;
	}
	*row = (struct there){ .hash = hash, .size = e->attrs.size,
		.mode = e->attrs.mode, .exact = st != NULL,
		.timed = (e->attrs.flags & SFTP_A_TIMES) != 0,
		.sec = st != NULL ? st->mtime : e->attrs.mtime,
		.nsec = st != NULL ? st->mtime_ns : 0 };
	t->parts |= e->name.p[0] == '.';
	return (e->attrs.flags & SFTP_A_SIZE) && (e->attrs.flags & SFTP_A_MODE);
}

static void
take_names(struct xfer_dir *d, const struct sftp_reply *reply)
{
	bool exact = reply->type == SFTP_EXTENDED_REPLY;
	struct rd r = reply->body;
	struct sftp_stat_ns st;
	struct sftp_entry e;

	if (exact)
		(void)rd_u32(&r); /* the number of entries */
	while (!d->there->failed && sftp_next_entry_ns(&r, exact, &e, &st))
		if (sftp_name_is_safe(e.name) &&
		    !take_entry(d, &e, exact ? &st : NULL))
			d->there->failed = true;
	if (r.err != 0)
		d->there->failed = true;
}

static void read_more(struct xfer_dir *d);

static void
names_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;
	bool names = reply->type == SFTP_NAME ||
	    reply->type == SFTP_EXTENDED_REPLY;

	d->listing.reads--;
	if (d->x->over)
		return;
	if (reply->err == 0 && names && reply->status == SFTP_OK)
		take_names(d, reply);
	else if (reply->err == 0 && reply->status == SFTP_EOF)
		d->there->whole = d->listing.ended = true;
	else
		d->there->failed = true;
	read_more(d);
}

/* Sends READDIRs for d, or at its end CLOSE. */
static void
read_more(struct xfer_dir *d)
{
	struct xfer_stream *l = d->listing.stream;
	bool exact = sftp_has(l->s, SFTP_EXT_READDIR_NS);

	d->listing.ended |= d->there->failed || d->x->stopped;
	while (!d->listing.ended && d->listing.reads < d->listing.reads_max &&
	    sftp_error(l->s) == 0) {
		d->listing.reads++;
		if (exact)
			sftp_ext_handle(l->s, SFTP_EXT_READDIR_NS,
			    d->listing.handle, names_done, d);
		else
			sftp_handle_request(l->s, SFTP_READDIR,
			    d->listing.handle, names_done, d);
	}
	if (d->listing.reads > 0)
		return;
	xfer_closedir_send(l, d->listing.handle);
	free(d->listing.handle);
	end(d);
}

static void
opened(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;
	struct xfer_stream *l = d->listing.stream;
	bool refused = xfer_opendir_answered(d, l, reply);

	if (d->x->over)
		return;
	if (refused) {
		TAILQ_INSERT_TAIL(&d->x->dirs.looking, d, turn);
		return;
	}
	if (reply->err != 0 || reply->type != SFTP_HANDLE) {
		end(d);
		return;
	}
	d->listing.handle = malloc(sizeof *d->listing.handle);
	if (d->listing.handle == NULL) {
		struct sftp_handle h;

		sftp_keep_handle(&h, reply);
		xfer_closedir_send(l, &h);
		end(d);
		return;
	}
	sftp_keep_handle(d->listing.handle, reply);
	d->listing.reads_max = READS_MAX;
	read_more(d);
}

bool
xfer_there_begin(struct xfer_dir *d)
{
	struct xfer *x = d->x;

	if (!x->opts.resume || x->opts.append || x->stopped ||
	    x->origin.stream != NULL || (xfer_has(x, SFTP_EXT_STAT_NS) &&
	    !xfer_has(x, SFTP_EXT_READDIR_NS)) ||
	    (d->there = calloc(1, sizeof *d->there)) == NULL)
		return false;
	TAILQ_INSERT_TAIL(&x->dirs.looking, d, turn);
	return true;
}

void
xfer_there_issue(struct xfer *x)
{
	struct xfer_stream *first = xfer_stream_first(x);
	struct xfer_dir *d;

	while ((d = TAILQ_FIRST(&x->dirs.looking)) != NULL) {
		if (!x->stopped &&
		    (first == NULL || xfer_opendirs_left(first) == 0))
			return;
		TAILQ_REMOVE(&x->dirs.looking, d, turn);
		if (x->stopped)
			end(d);
		else
			xfer_opendir_send(d, first, d->remote, opened);
	}
}

/* --- what was found --- */

/* The row of name; NULL if nothing of that name is there. */
static const struct there *
look(const struct xfer_there *t, const char *name)
{
	const struct there *row;
	uint64_t hash;

	if (t->cap == 0 || !hash_of(name, strlen(name), &hash))
		return NULL;
	row = find(t, hash);
	return row->hash != 0 ? row : NULL;
}

/* Is name ASCII? Other letters may be spelled in another way by the file system
 * than they were when the file was made. */
static bool
is_ascii(const char *name)
{
	while (*name != '\0' && (*name & 0x80) == 0)
		name++;
	return *name == '\0';
}

static bool
part_is_there(const struct xfer_file *f, const struct xfer_there *t)
{
	char *part = t->parts ? xfer_part_name(local_last_name(f->remote), 1) :
				NULL;
	bool there = t->parts && (part == NULL || look(t, part) != NULL);

	free(part);
	return there;
}

bool
xfer_there_lacks(const struct xfer_file *f)
{
	const struct xfer_there *t = f->dir != NULL ? f->dir->there : NULL;
	const char *name = local_last_name(f->remote);

	return t != NULL && is_ascii(name) && look(t, name) == NULL &&
	    !part_is_there(f, t);
}

bool
xfer_there_find(struct xfer_file *f)
{
	const struct xfer_there *t = f->dir != NULL ? f->dir->there : NULL;
	const struct there *row;

	if (t == NULL ||
	    (row = look(t, local_last_name(f->remote))) == NULL ||
	    part_is_there(f, t))
		return false;
	xfer_target_seen(f, &(struct sftp_attrs){ .flags = SFTP_A_SIZE |
		    SFTP_A_MODE | (row->timed ? SFTP_A_TIMES : 0u),
		.size = row->size, .mode = row->mode,
		.mtime = (uint32_t)row->sec },
	    &(struct xfer_exact){ .known = row->exact,
		.times[1] = { .tv_sec = (time_t)row->sec,
			.tv_nsec = (long)row->nsec } });
	return true;
}
