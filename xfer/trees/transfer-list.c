/* SPDX-License-Identifier: ISC */
/*
 * Listing directories. The newest is read first, which keeps the number of
 * directories that are known but not read yet small, however large the tree.
 *
 * Directories of this host: see transfer-walk.c.
 *
 * A server answers each request only after a round trip, so hundreds of its
 * directories are listed at a time:
 *
 * - OPENDIRs are sent as long as the server has handles to give. The rest of
 *   them is for files; see xfer_opendirs_left().
 * - The first two READDIRs of a directory are sent together, because the
 *   second one of a small directory tells that it ends.
 * - Room for the names of the first answer is reserved when OPENDIR is sent:
 *   as many as other directories of that depth had (x->dirs.usual). All in
 *   flight are expected to bring NAMES_EXPECTED at most; see may_open().
 * - Directories that have directories in them make the tree wider, so few are
 *   opened when much is known already; directories of files are opened as long
 *   as the queue takes files. So the newest branch is finished first.
 * - When directories wait for handles, and the server executes requests in
 *   order, CLOSE is sent right behind the first two READDIRs: the handle is
 *   then in use for one round trip instead of two. If the directory turns
 *   out to be larger, it is listed again from the start.
 * - An answer that brings more than was reserved is dropped when too many
 *   names are known (x->dirs.names_max). The directory is listed again later,
 *   with enough reserved: so that happens to each directory once, and there is
 *   progress however many are listed at a time.
 *
 * When a directory is listed again, names come for the second time. A set of
 * hashes (d->names) prevents that they are copied twice.
 *
 * A server's listing is hostile until checked: names with '/' or of "." and
 * ".." are refused, and so are paths that are too long. The number of
 * directories that are known is limited, and that of links above each other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "xfer/streams/handle-limit.h"
#include "xfer/trees/transfer-dir.h"
#include "xfer/trees/transfer-meet.h"

enum {
	REQUESTS_MAX = 8192,
	HANDLES_FEW = 128, /* usual limit of a server that does not tell
			    * limits */
	READS_MAX = 32,	   /* READDIRs in flight for one directory */
	READS_OTHERS = 4,  /* READDIRs if the server may reorder requests */
	NAMES_EXPECTED = 4096, /* names expected from READDIRs in flight */
	NAMES_KNOWN = 2048, /* names known from which on large directories get
			     * no further READDIRs */
	NAMES_SMALL = 16,  /* an answer of so few names is never dropped */
	LISTINGS_FEW = 64, /* with so many listings, when much is known, no
			    * directory that has directories in it is opened */
	LISTINGS_LEAST = 8, /* the same limit above names_max */
	ENTRY_LEAST = 4 + 4 + 52, /* least bytes of an entry of readdir-ns */
	LATE_CLOSES = 64,  /* directories without early CLOSE after one that was
			    * larger than expected */
};

/* Adds name to the names of d. False if it was found before. */
static bool
name_is_new(struct xfer_dir *d, const char *name)
{
	uint64_t h;

	return !xfer_names_hash(name, &h) || xfer_names_add(&d->names, h);
}

/* --- handles --- */

/* How many more OPENDIRs may be sent. */
size_t
xfer_opendirs_left(const struct xfer_stream *l)
{
	size_t handles = sftp_handles_max(l->s);
	size_t share = handles / 3, most;

	/* A file has waited for a handle: it is opened first. */
	if (l->x->files.crowded > 0)
		return 0;
	/* With early CLOSE a directory needs its handle for half as long as a
	 * file does, so there may be more of them. */
	if (handles > HANDLES_FEW)
		share = sftp_keeps_order(l->s) ? handles / 4 * 3 : handles / 2;
	share = MIN(share, (size_t)(l->dirs_limit.max != 0 ? l->dirs_limit.max :
		XFER_LISTINGS_MAX));
	most = MIN(share, handles > l->handles ? handles - l->handles : 0);
	return MAX(most, (size_t)1) > l->dirs_open ?
	    MAX(most, (size_t)1) - l->dirs_open : 0;
}

void
xfer_opendir_send(struct xfer_dir *d, struct xfer_stream *l, const char *path,
    sftp_done_fn done)
{
	l->dirs_open++;
	d->listing.stream = l;
	d->listing.alone = l->dirs_open + l->handles == 1;
	d->listing.number = ++l->dirs_limit.sent;
	sftp_path_request(l->s, SFTP_OPENDIR, path, done, d);
}

/* Counts the answer to OPENDIR. FAILURE may mean that too many handles are
 * open: then the limit is halved, once for all requests that were in flight,
 * and the result is true: send OPENDIR again later. If no other handle was
 * open, or after XFER_CROWDED_MAX tries, the failure is the directory's own. */
bool
xfer_opendir_answered(struct xfer_dir *d, struct xfer_stream *l,
    const struct sftp_reply *reply)
{
	if (reply->err == 0 && reply->status == SFTP_OK) {
		xfer_handle_limit_given(&l->dirs_limit, XFER_LISTINGS_MAX);
		return false;
	}
	if (reply->err == 0 && reply->status == SFTP_FAILURE)
		xfer_handle_limit_refused(&l->dirs_limit, d->listing.number,
		    l->dirs_open);
	l->dirs_open--;
	return reply->err == 0 && reply->status == SFTP_FAILURE &&
	    !d->listing.alone && ++d->refusals < XFER_CROWDED_MAX;
}

void
xfer_closedir_send(struct xfer_stream *l, const struct sftp_handle *h)
{
	l->dirs_open--;
	sftp_close(l->s, h, NULL, NULL);
}

/* --- life --- */

void
xfer_dir_wait(struct xfer_dir *d)
{
	if (d->x->stopped) {
		xfer_dir_unref(d);
		return;
	}
	TAILQ_INSERT_HEAD(&d->x->dirs.waiting, d, entry);
	d->x->dirs.waiting_count++;
}

void
xfer_dir_stop_waiting(struct xfer_dir *d)
{
	TAILQ_REMOVE(&d->x->dirs.waiting, d, entry);
	d->x->dirs.waiting_count--;
}

void
xfer_dir_unlist(struct xfer_dir *d)
{
	if (d->dirp != NULL)
		closedir(d->dirp);
	d->dirp = NULL;
	free(d->listing.handle);
	d->listing.handle = NULL;
	xfer_names_free(&d->names);
}

/* The stream that directories are listed over; NULL if there is none now. */
static struct xfer_stream *
lister(struct xfer *x)
{
	struct xfer_stream *l = x->origin.stream;

	if (l == NULL)
		return xfer_stream_first(x);
	return sftp_error(l->s) == 0 ? l : NULL;
}

/* May more names be listed now? Each one may cause requests (MKDIR, STAT), and
 * waits in the queue. */
bool
xfer_may_find_more(struct xfer *x)
{
	struct xfer_stream *first = xfer_stream_first(x), *l = lister(x);

	return first != NULL && l != NULL &&
	    x->files.queued + x->files.held < XFER_QUEUE_MAX &&
	    sftp_pending(first->s) < REQUESTS_MAX &&
	    sftp_pending(l->s) < REQUESTS_MAX;
}

bool
xfer_dir_is_local(const struct xfer_dir *d)
{
	return d->up && d->x->origin.stream == NULL;
}

/* --- listing what is remote --- */

/* The one of both names by which something in d is read at the source. */
static const char *
source_of(const struct xfer_dir *d, const char *local, const char *remote)
{
	return d->up ? local : remote;
}

static const char *
path_of(const struct xfer_dir *d)
{
	return source_of(d, d->local, d->remote);
}

/* An entry of which attributes are still to come: a STAT is under way of a link
 * that was listed, or of an entry without a mode. */
struct lookup {
	struct xfer_dir *dir; /* holds a reference while it is under way */
	char *local, *remote;
	unsigned meets; /* see xfer_meet_note() */
};

/* Adds an entry that a server has listed. by_link: the entry was a link, or
 * came without a type, and attrs are those that STAT has told. */
static int
add_remote(struct xfer_dir *d, const struct lookup *l,
    const struct sftp_attrs *attrs, const struct xfer_exact *exact,
    bool by_link)
{
	char *local = l->local, *remote = l->remote;

	if (S_ISDIR(attrs->mode))
		return xfer_meet_take(d->x, d, l->meets,
		    &(struct xfer_found){ .up = d->up, .by_link = by_link,
			.local = local, .remote = remote, .attrs = attrs });
	if (S_ISREG(attrs->mode) ||
	    (S_ISLNK(attrs->mode) && d->x->opts.links))
		return xfer_meet_take(d->x, d, l->meets,
		    &(struct xfer_found){ .up = d->up,
			.links = xfer_target_links(d->x), .local = local,
			.remote = remote, .attrs = attrs, .exact = exact });
	xfer_report(d->x, source_of(d, local, remote), "not a regular file");
	free(local);
	free(remote);
	return 0;
}

static void
lookup_done(void *arg, const struct sftp_reply *reply)
{
	struct lookup *l = arg;
	struct xfer_dir *d = l->dir;

	if (d->state == XFER_DIR_FAILED) {
		free(l->local);
		free(l->remote);
	} else if (reply->err == 0 && reply->type == SFTP_ATTRS) {
		if (add_remote(d, l, &reply->attrs, NULL, true) < 0)
			xfer_report(d->x, path_of(d), "out of memory");
	} else {
		xfer_report_reply(d->x, source_of(d, l->local, l->remote),
		    reply);
		free(l->local);
		free(l->remote);
	}
	free(l);
	xfer_dir_unref(d);
}

static int
found_remote(struct xfer_dir *d, const struct sftp_entry *entry,
    const struct xfer_exact *exact)
{
	char *name = span_dup(entry->name), *local, *remote;
	unsigned meets = 0;
	const struct sftp_attrs *a = &entry->attrs;
	struct xfer_path_request q = { .origin = d->up,
		.type = d->x->opts.links ? SFTP_LSTAT : SFTP_STAT };
	struct lookup *l;

	if (name != NULL && !name_is_new(d, name)) {
		free(name);
		return 0;
	}
	local = name != NULL ? str_join_path(d->local, name) : NULL;
	remote = name != NULL ? str_join_path(d->remote, name) : NULL;
	if (name != NULL)
		meets = xfer_meet_note(d->x, d, name, NULL);
	free(name);
	if (d->x->opts.skip_links && (a->flags & SFTP_A_MODE) &&
	    S_ISLNK(a->mode) && remote != NULL && local != NULL) {
		xfer_note(d->x, source_of(d, local, remote),
		    "not a regular file");
		free(local);
		free(remote);
		return 0;
	}
	if ((a->flags & SFTP_A_MODE) && (a->mode & S_IFMT) != 0 &&
	    (!S_ISLNK(a->mode) || d->x->opts.links) && local != NULL &&
	    remote != NULL)
		return add_remote(d, &(struct lookup){ .local = local,
			.remote = remote, .meets = meets }, a, exact, false);
	l = malloc(sizeof *l);
	if (l == NULL || local == NULL || remote == NULL) {
		free(l);
		free(local);
		free(remote);
		return ERR_NOMEM;
	}
	*l = (struct lookup){ d, local, remote, meets };
	d->refs++;
	q.path = source_of(d, local, remote);
	xfer_request_path(d->x, &q, lookup_done, l);
	return 0;
}

static void
unready(struct xfer_dir *d)
{
	if (d->listing.ready)
		TAILQ_REMOVE(&d->x->dirs.ready, d, turn);
	d->listing.ready = false;
}

/* Takes d out of all lists of listings. */
static void
unlist(struct xfer_dir *d)
{
	unready(d);
	TAILQ_REMOVE(&d->x->dirs.listing, d, entry);
	d->x->dirs.listing_count--;
	d->x->dirs.expected -= d->listing.expected;
	d->listing.expected = 0;
	d->listing.stream = NULL;
}

static void
entered(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;

	if (reply->err == 0 && reply->status == SFTP_PERMISSION_DENIED)
		xfer_report_reply(d->x, path_of(d), reply);
	xfer_dir_unref(d);
}

/* Asks for "." in an empty listing, to report a directory that may be listed
 * but not entered: servers leave out names whose attributes they cannot tell,
 * and here these are all names, even ".". */
static void
check_empty(struct xfer_dir *d)
{
	char *path = str_join_path(path_of(d), ".");
	const struct xfer_path_request q = { .origin = d->up,
		.type = SFTP_STAT, .path = path };

	if (path == NULL) {
		xfer_report(d->x, path_of(d), err_text(ERR_NOMEM));
		return;
	}
	d->refs++;
	xfer_request_path(d->x, &q, entered, d);
	free(path);
}

/* Called after each answer. When it was the last one in flight, and nothing
 * more is to be read, closes the handle. The directory is then listed, or waits
 * to be listed again. */
static void
remote_ends(struct xfer_dir *d)
{
	bool again = d->listing.dropped || !d->listing.ended;

	if (d->listing.reads > 0 || !(d->listing.ended || d->listing.closed))
		return;
	if (d->listing.handle != NULL && !d->listing.closed)
		xfer_closedir_send(d->listing.stream, d->listing.handle);
	unlist(d);
	if (!again && !d->listing.any && d->listing.read_out)
		check_empty(d);
	if (again && !d->x->stopped) {
		if (!d->listing.ended)
			d->x->dirs.no_early_close = LATE_CLOSES;
		free(d->listing.handle);
		d->listing = (struct xfer_listing){ .handle = NULL };
		xfer_dir_wait(d);
		return;
	}
	d->x->retry.kept++;
	xfer_dir_unlist(d);
	xfer_dir_unref(d);
}

/* The index of d's depth in x->dirs.usual and usual_dirs. */
static unsigned
level(const struct xfer_dir *d)
{
	return MIN(d->depth, XFER_USUAL_DEPTHS - 1u);
}

/* Adapts the average *usual to n. It rises more slowly than it falls, so that a
 * single large directory does not stop the others from being read in
 * parallel. */
static void
learn_usual(unsigned *usual, unsigned n)
{
	if (n > *usual)
		*usual += (n - *usual + 7) / 8;
	else
		*usual -= (*usual - n + 3) / 4;
}

static size_t
known(const struct xfer *x)
{
	return x->files.queued + x->files.held + x->dirs.waiting_count +
	    x->dirs.listing_count;
}

/* Accounts for the answer to a READDIR. True if its names are to be taken. */
static bool
take_answer(struct xfer_dir *d, const struct sftp_reply *reply)
{
	struct xfer *x = d->x;
	unsigned share = d->listing.expected / d->listing.reads;
	unsigned room = d->listing.batch != 0 ? d->listing.batch :
						d->listing.reserved;

	d->listing.expected -= share;
	x->dirs.expected -= share;
	x->dirs.readdirs--;
	d->listing.reads--;
	if (reply->err != 0 || d->listing.dropped)
		return false;
	if (d->state == XFER_DIR_FAILED) { /* its names have no target */
		d->listing.ended = true;
		return false;
	}
	if (reply->status != SFTP_OK) {
		if (reply->status != SFTP_EOF && d->listing.guessed)
			d->listing.dropped =
			    !d->listing.ended; /* perhaps the guess was wrong */
		else if (reply->status != SFTP_EOF)
			xfer_report_reply(x, path_of(d), reply);
		else
			d->listing.read_out = true;
		d->listing.ended = true;
		return false;
	}
	if (d->listing.batch == 0 && d->parent != NULL)
		learn_usual(&x->dirs.usual[level(d)], reply->count);
	d->listing.batch = MAX(reply->count, 1u);
	if (reply->count <= MAX(room, (unsigned)NAMES_SMALL) ||
	    known(x) + reply->count <= x->dirs.names_max)
		return true;
	d->large = reply->count;
	d->listing.dropped = d->listing.ended = true;
	return false;
}

static void
take_names(struct xfer_dir *d, const struct sftp_reply *reply)
{
	size_t before = d->x->dirs.count;
	bool exact = reply->type == SFTP_EXTENDED_REPLY;
	struct xfer_exact times;
	struct sftp_entry entry;
	struct sftp_stat_ns st;
	struct rd r = reply->body;

	d->listing.any |= reply->count > 0;
	while (sftp_next_entry_ns(&r, exact, &entry, &st)) {
		if (span_equals(entry.name, ".") ||
		    span_equals(entry.name, ".."))
			continue;
		if (!sftp_name_is_safe(entry.name)) {
			xfer_report(d->x, path_of(d),
			    "the server sent an unsafe file name");
			continue;
		}
		if (found_remote(d, &entry, exact &&
			xfer_exact_from_numbers(&times, &st) ? &times :
							       NULL) < 0) {
			xfer_report(d->x, path_of(d), err_text(ERR_NOMEM));
			d->listing.ended = true;
		}
	}
	learn_usual(&d->x->dirs.usual_dirs[level(d)],
	    (unsigned)(d->x->dirs.count - before));
	if (r.err != 0 || (exact && reply->count == 0))
		xfer_report(d->x, path_of(d),
		    sftp_status_text(SFTP_BAD_MESSAGE));
	if (r.err != 0 || reply->count == 0)
		d->listing.ended = true;
}

static void
make_ready(struct xfer_dir *d)
{
	if (d->listing.ready || d->listing.ended || d->listing.closed ||
	    d->listing.reads > 0)
		return;
	TAILQ_INSERT_HEAD(&d->x->dirs.ready, d, turn);
	d->listing.ready = true;
}

/* Are nanoseconds asked for by readdir-ns? That is worth a request where they
 * may show that files are complete. */
static bool
asks_exactly(const struct xfer_dir *d)
{
	const struct xfer_opts *o = &d->x->opts;

	return !d->up && o->resume && o->preserve &&
	    sftp_has(d->listing.stream->s, SFTP_EXT_READDIR_NS);
}

static void
readdir_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;
	struct sftp_reply answer = *reply;
	uint32_t most;
	bool names;

	if (reply->err == 0 && reply->type == SFTP_EXTENDED_REPLY) {
		answer.count = rd_u32(&answer.body);
		most = (uint32_t)(answer.body.len / ENTRY_LEAST);
		answer.count = MIN(answer.count, most);
	}
	names = take_answer(d, &answer);
	if (reply->err != 0) {
		d->listing.dropped = true; /* see xfer_dirs_lost() */
		return;
	}
	if (names)
		take_names(d, &answer);
	make_ready(d);
	remote_ends(d);
}

static bool
is_guess(const struct xfer_dir *d, const struct sftp_reply *reply)
{
	return d->listing.handle->len == reply->handle.len &&
	    memcmp(d->listing.handle->bytes, reply->handle.p,
		d->listing.handle->len) == 0;
}

/* The answer to an OPENDIR whose READDIRs were sent with a guessed handle. If
 * the guess was wrong, what they brought is dropped, the handle is closed and
 * the directory is listed again. */
static void
guess_answered(struct xfer_dir *d, const struct sftp_reply *reply)
{
	if (reply->status != SFTP_OK) {
		xfer_report_reply(d->x, path_of(d), reply);
		d->listing.ended = true;
		d->listing.dropped = false;
		free(d->listing.handle);
		d->listing.handle = NULL;
	} else if (!is_guess(d, reply)) {
		sftp_keep_handle(d->listing.handle, reply);
		d->listing.dropped = d->listing.ended = true;
	}
	if (d->listing.reads == 0) {
		d->x->dirs.expected -= d->listing.expected;
		d->listing.expected = 0;
	}
}

static void
opendir_done(void *arg, const struct sftp_reply *reply)
{
	struct xfer_dir *d = arg;
	bool refused = xfer_opendir_answered(d, d->listing.stream, reply);

	d->listing.reads--;
	if (reply->err != 0) {
		d->listing.dropped = true;
		return;
	}
	if (d->listing.guessed) {
		guess_answered(d, reply);
	} else if (refused && !d->listing.ended) {
		/* The directory waits behind all others, until fewer handles
		 * are open. */
		unlist(d);
		TAILQ_INSERT_TAIL(&d->x->dirs.waiting, d, entry);
		d->x->dirs.waiting_count++;
		return;
	} else if (reply->status != SFTP_OK) {
		xfer_report_reply(d->x, path_of(d), reply);
		d->listing.ended = true;
	} else if ((d->listing.handle = malloc(sizeof *d->listing.handle)) ==
	    NULL) {
		xfer_report(d->x, path_of(d), err_text(ERR_NOMEM));
		d->listing.ended = true;
	} else {
		sftp_keep_handle(d->listing.handle, reply);
	}
	make_ready(d);
	remote_ends(d); /* also if it was stopped meanwhile */
}

/* May a READDIR of d be sent that is expected to bring so many names? For the
 * first answer room is reserved (batch is 0). While no READDIR is in flight one
 * is always allowed, to guarantee progress. */
static bool
has_room(struct xfer *x, const struct xfer_dir *d, unsigned names)
{
	if (!xfer_may_find_more(x))
		return false;
	return d->listing.batch == 0 || x->dirs.readdirs == 0 ||
	    known(x) + x->dirs.expected + names <= NAMES_KNOWN;
}

/* Sends CLOSE behind the first READDIRs, if other directories wait for a
 * handle. */
static void
close_early(struct xfer_dir *d)
{
	struct xfer *x = d->x;

	if (x->dirs.no_early_close > 0) {
		x->dirs.no_early_close--;
		return;
	}
	if (d->no_early_close ||
	    x->dirs.waiting_count <= xfer_opendirs_left(d->listing.stream))
		return;
	d->listing.closed = d->no_early_close = true;
	xfer_closedir_send(d->listing.stream, d->listing.handle);
}

/* Sends as many READDIRs as one round trip may have; further ones follow when
 * all of these are answered. False if there is no room for more names. */
static bool
read_remote(struct xfer_dir *d)
{
	struct xfer *x = d->x;
	bool first = d->listing.batch == 0 && d->listing.reads == 0;
	bool ordered = sftp_keeps_order(d->listing.stream->s);
	/* The names to expect. 0 before the first answer, whose room is
	 * reserved already. */
	unsigned names = d->listing.batch;

	/* When the session fails, each request calls back with the error
	 * before it returns. */
	while (d->listing.reads < d->listing.reads_max &&
	    sftp_error(d->listing.stream->s) == 0) {
		if (!has_room(x, d, names))
			return false;
		d->listing.reads++;
		d->listing.expected += names;
		x->dirs.expected += names;
		x->dirs.readdirs++;
		if (asks_exactly(d))
			sftp_ext_handle(d->listing.stream->s,
			    SFTP_EXT_READDIR_NS, d->listing.handle,
			    readdir_done, d);
		else
			sftp_handle_request(d->listing.stream->s, SFTP_READDIR,
			    d->listing.handle, readdir_done, d);
		if (d->listing.batch == 0)
			names = 1; /* the answer only tells the end */
	}
	unready(d);
	d->listing.reads_max = MIN(4 * d->listing.reads_max,
	    (unsigned)(ordered ? READS_MAX : READS_OTHERS));
	if (first && ordered)
		close_early(d);
	return true;
}

/* Opens a root directory. There is nothing else to do before it is read, so
 * many READDIRs are sent at once in case it is large. If its handle will be the
 * first of the session the value is known (sftp_guess_handle), and the READDIRs
 * go along with OPENDIR. A wrong guess names no handle at all, so READDIR
 * fails; CLOSE is never sent with a guess. */
static void
open_root(struct xfer_dir *d, struct xfer_stream *l)
{
	struct sftp_handle guess;
	bool known = sftp_guess_handle(l->s, &guess);

	if (sftp_keeps_order(l->s))
		d->listing.reads_max = READS_MAX;
	if (known &&
	    (d->listing.handle = malloc(sizeof *d->listing.handle)) != NULL) {
		*d->listing.handle = guess;
		d->listing.guessed = true;
	}
	xfer_opendir_send(d, l, path_of(d), opendir_done);
	if (d->listing.guessed)
		(void)read_remote(d);
}

/* May d be opened, if it is expected to have so many names? */
static bool
may_open(const struct xfer *x, const struct xfer_dir *d, unsigned names)
{
	size_t more = x->dirs.expected + names, sum = known(x) + more;

	if (x->dirs.listing_count == 0)
		return true;
	if (more > NAMES_EXPECTED ||
	    x->files.queued + x->files.held + more > x->dirs.names_max)
		return false;
	if (x->dirs.usual_dirs[level(d)] == 0)
		return true; /* files only: the queue limits their number */
	if (sum > x->dirs.names_max)
		return x->dirs.listing_count < LISTINGS_LEAST;
	return sum <= NAMES_KNOWN || x->dirs.listing_count < LISTINGS_FEW;
}

static void
open_remotes(struct xfer *x)
{
	struct xfer_stream *first;
	struct xfer_dir *d;
	unsigned names;

	while (xfer_may_find_more(x) && (first = lister(x)) != NULL &&
	    xfer_opendirs_left(first) > 0 &&
	    (d = TAILQ_FIRST(&x->dirs.waiting)) != NULL &&
	    !xfer_dir_is_local(d)) {
		names = MAX(x->dirs.usual[level(d)], d->large);
		if (!may_open(x, d, names))
			return;
		xfer_dir_stop_waiting(d);
		TAILQ_INSERT_HEAD(&x->dirs.listing, d, entry);
		x->dirs.listing_count++;
		x->dirs.expected += names;
		d->listing.reserved = d->listing.expected = names;
		d->listing.reads = 1;
		d->listing.batch = 0;
		d->listing.reads_max = sftp_keeps_order(first->s) ? 2 : 1;
		if (d->parent == NULL)
			open_root(d, first);
		else
			xfer_opendir_send(d, first, path_of(d), opendir_done);
	}
}

/* Directories that were being listed over a lost stream wait to be listed over
 * another one. */
void
xfer_dirs_lost(struct xfer *x, const struct xfer_stream *stream)
{
	struct xfer_dir *d, *next;

	for (d = TAILQ_FIRST(&x->dirs.listing); d != NULL; d = next) {
		next = TAILQ_NEXT(d, entry);
		if (d->listing.stream != stream)
			continue;
		d->listing.closed = true; /* the handle went with the stream */
		remote_ends(d);
	}
}

/* --- both --- */

void
xfer_dirs_stop(struct xfer *x)
{
	struct xfer_dir *d, *next;

	while ((d = TAILQ_FIRST(&x->dirs.waiting)) != NULL) {
		xfer_dir_stop_waiting(d);
		xfer_dir_unref(d);
	}
	while ((d = TAILQ_FIRST(&x->dirs.walking)) != NULL)
		xfer_walk_ends(d);
	for (d = TAILQ_FIRST(&x->dirs.listing); d != NULL; d = next) {
		next = TAILQ_NEXT(d, entry);
		d->listing.ended = true;
		unready(d);
		remote_ends(d);
	}
}

bool
xfer_list(struct xfer *x)
{
	struct xfer_dir *d;
	bool more;

	more = xfer_walk(x);
	while ((d = TAILQ_FIRST(&x->dirs.ready)) != NULL && read_remote(d))
		;
	open_remotes(x); /* early CLOSEs have made room */
	return more;
}
