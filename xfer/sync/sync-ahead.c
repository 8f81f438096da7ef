/* SPDX-License-Identifier: ISC */
/*
 * Reads a scan ahead together with the files of rules.
 *
 * DESIGN. Items wait in a queue. A group has a state for each of its files of
 * rules. The file is asked for as soon as the scan tells its name; it is known
 * to be missing as soon as the scan tells a name that sorts behind it, or the
 * next group. If the queue fills up before, the file of the group that is read
 * next is asked for without knowing whether it exists. Our server sends a small
 * file in answer to one request. At other servers, and for larger files, that
 * takes LSTAT, OPEN, FSTAT and READ.
 */
#include "xfer/sync/sync-ahead.h"

#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/sync/sync-kept.h"
#include "xfer/rules/sync-rules.h"

enum {
	BYTES_MAX = 8 * 1024 * 1024, /* of items and texts */
	ASKS_MAX = 64,		     /* files of rules that are read at the same
				      * time */
	SMALL_MAX = 128 * 1024,	     /* bytes of a file that fits into one
				      * answer */
	PIECE = 32 * 1024,
};

enum file_state {
	FILE_UNDECIDED, /* the scan has not reached the file's name */
	FILE_MISSING,
	FILE_ASKED,
	FILE_READ,
	FILE_FAILED,
};

struct group;

struct file {
	struct sync_ahead *ahead;
	struct group *group;
	size_t number;
	enum file_state state;
	const char *why;
	bool is_open;
	struct sftp_handle handle;
	struct sftp_attrs attrs; /* the file's attributes as LSTAT told them */
	struct buf text;
};

/* What is kept of a group after its items have left the queue. */
struct group {
	char *path;
	unsigned asks; /* files of this group that are being read */
	bool left;     /* the reader needs the group no more */
	struct file files[SYNC_AHEAD_FILES];
};

struct sync_ahead {
	struct sftp *s;
	struct sync_scan *scan;
	const char *root;
	const char *const *names;
	size_t n, bytes;
	unsigned asks;
	bool ended, dead;
	int err;
	struct sync_kept_list queue; /* items; `with` of a group's item is its
				      * struct group */
	struct sync_kept *told;
	struct group *reading; /* the group whose names the scan tells */
	struct group *now;     /* that was told last */
};

/* ---- life --------------------------------------------------------------- */

static void
group_free(struct sync_ahead *a, struct group *g)
{
	for (size_t i = 0; i < a->n; i++) {
		a->bytes -= buf_len(&g->files[i].text);
		buf_clear(&g->files[i].text);
	}
	free(g->path);
	free(g);
}

/* Frees a group that the reader needs no more, now or with the last answer that
 * is under way for it. */
static void
group_leave(struct sync_ahead *a, struct group *g)
{
	if (g == NULL)
		return;
	g->left = true;
	if (g->asks == 0)
		group_free(a, g);
}

static void
kept_free(struct sync_ahead *a, struct sync_kept *q)
{
	if (q == NULL)
		return;
	a->bytes -= q->bytes;
	free(q);
}

int
sync_ahead_new(struct sync_ahead **out, struct sftp *s, const char *root,
    struct sync_scan *scan, const char *const *names, size_t n)
{
	struct sync_ahead *a;

	if (n > SYNC_AHEAD_FILES)
		return ERR_LIMIT;
	if ((a = calloc(1, sizeof *a)) == NULL)
		return ERR_NOMEM;
	a->s = s;
	a->scan = scan;
	a->root = root;
	a->names = names;
	a->n = n;
	TAILQ_INIT(&a->queue);
	*out = a;
	return 0;
}

void
sync_ahead_free(struct sync_ahead *a)
{
	struct sync_kept *q;

	if (a == NULL)
		return;
	a->dead = true;
	while ((q = TAILQ_FIRST(&a->queue)) != NULL) {
		TAILQ_REMOVE(&a->queue, q, entry);
		group_leave(a, q->with);
		kept_free(a, q);
	}
	kept_free(a, a->told);
	group_leave(a, a->now);
	a->told = NULL;
	a->now = NULL;
	if (a->asks == 0)
		free(a);
}

/* ---- files -------------------------------------------------------------- */

/* Ends the reading of a file: it is read, missing, or has failed. */
static void
file_ends(struct file *f, enum file_state state, const char *why)
{
	struct sync_ahead *a = f->ahead;
	struct group *g = f->group;

	if (f->is_open && a->err == 0)
		sftp_close(a->s, &f->handle, NULL, NULL);
	f->is_open = false;
	f->state = state;
	f->why = why;
	if (state == FILE_READ && buf_err(&f->text) < 0) {
		f->state = FILE_FAILED;
		f->why = err_text(buf_err(&f->text));
	}
	if (f->state != FILE_READ)
		buf_clear(&f->text);
	a->bytes += buf_len(&f->text);
	a->asks--;
	g->asks--;
	if (g->left && g->asks == 0)
		group_free(a, g);
	if (a->dead && a->asks == 0)
		free(a);
}

/* Ends the reading of f if the reply is an error or not of the type wanted. */
static bool
has_failed(struct file *f, const struct sftp_reply *reply, uint8_t wanted)
{
	if (reply->err < 0)
		f->ahead->err = reply->err;
	if (reply->err == 0 && reply->type == wanted && !f->ahead->dead)
		return false;
	if (reply->err == 0 && reply->status == SFTP_NO_SUCH_FILE)
		file_ends(f, FILE_MISSING, NULL);
	else
		file_ends(f, FILE_FAILED, reply->err < 0 ?
			err_text(reply->err) : sftp_status_text(reply->status));
	return true;
}

static void ask_by(struct file *f, bool at_once);

static char *
path_of(const struct file *f)
{
	const struct sync_ahead *a = f->ahead;
	char *dir = f->group->path[0] == '\0' ? strdup(a->root) :
	    str_join_path(a->root, f->group->path), *path;

	path = dir != NULL ? str_join_path(dir, a->names[f->number]) : NULL;
	free(dir);
	return path;
}

/* Takes the attributes. False: f must not be read by them, and has ended. */
static bool
is_readable(struct file *f, const struct sftp_attrs *attrs)
{
	const uint32_t known = SFTP_A_MODE | SFTP_A_SIZE;

	f->attrs = *attrs;
	if ((attrs->flags & known) == known && S_ISDIR(attrs->mode))
		file_ends(f, FILE_MISSING, NULL);
	else if ((attrs->flags & known) != known || !S_ISREG(attrs->mode))
		file_ends(f, FILE_FAILED, "is no regular file, and not read");
	else if (attrs->size > SYNC_RULES_FILE_MAX)
		file_ends(f, FILE_FAILED, "is too long for rules");
	else
		return true;
	return false;
}

static bool
is_same(const struct sftp_attrs *a, const struct sftp_attrs *b)
{
	uint32_t known = a->flags & b->flags;

	return a->mode == b->mode && a->size == b->size &&
	    (!(known & SFTP_A_TIMES) || a->mtime == b->mtime) &&
	    (!(known & SFTP_A_OWNER) || a->uid == b->uid);
}

static void
data_came(void *arg, uint64_t offset, const uint8_t *p, size_t len)
{
	struct file *f = arg;

	/* Pieces come in order; a missing one shows later, by the length of the
	 * text. */
	if (offset == buf_len(&f->text) &&
	    len <= SYNC_RULES_FILE_MAX - buf_len(&f->text))
		buf_put(&f->text, p, len);
}

static void ask_piece(struct file *f);

static void
piece_read(void *arg, const struct sftp_reply *reply)
{
	struct file *f = arg;

	if (reply->status == SFTP_EOF && reply->err == 0)
		file_ends(f, FILE_FAILED, "has changed while it was read");
	else if (has_failed(f, reply, SFTP_DATA))
		return;
	else if (buf_len(&f->text) == f->attrs.size || buf_err(&f->text) < 0)
		file_ends(f, FILE_READ, NULL);
	else if (reply->data_len == 0)
		file_ends(f, FILE_FAILED, "has changed while it was read");
	else
		ask_piece(f);
}

static void
ask_piece(struct file *f)
{
	uint64_t left = f->attrs.size - buf_len(&f->text);

	sftp_read(f->ahead->s, &f->handle, buf_len(&f->text),
	    (uint32_t)MIN(left, (uint64_t)PIECE), data_came, piece_read, f);
}

/* The file that was opened must be the one that LSTAT saw, not one that a link
 * leads to. */
static void
opened_seen(void *arg, const struct sftp_reply *reply)
{
	struct file *f = arg;
	struct sftp_attrs was = f->attrs;

	if (has_failed(f, reply, SFTP_ATTRS) ||
	    !is_readable(f, &reply->attrs))
		return;
	if (!is_same(&f->attrs, &was))
		file_ends(f, FILE_FAILED, "has changed while it was read");
	else if (was.size == 0)
		file_ends(f, FILE_READ, NULL);
	else
		ask_piece(f);
}

static void
opened(void *arg, const struct sftp_reply *reply)
{
	struct file *f = arg;

	if (reply->err == 0 && reply->type == SFTP_HANDLE)
		f->is_open = true;
	if (f->is_open)
		sftp_keep_handle(&f->handle, reply);
	if (!has_failed(f, reply, SFTP_HANDLE))
		sftp_handle_request(f->ahead->s, SFTP_FSTAT, &f->handle,
		    opened_seen, f);
}

static void
seen(void *arg, const struct sftp_reply *reply)
{
	const struct sftp_attrs none = { .flags = 0 };
	struct file *f = arg;
	char *path;

	if (has_failed(f, reply, SFTP_ATTRS) ||
	    !is_readable(f, &reply->attrs))
		return;
	path = path_of(f);
	if (path == NULL)
		file_ends(f, FILE_FAILED, err_text(ERR_NOMEM));
	else
		sftp_open(f->ahead->s, path, SFTP_O_READ, &none, opened, f);
	free(path);
}

static void
got(void *arg, const struct sftp_reply *reply)
{
	struct rd body = reply->body;
	struct sftp_attrs attrs;
	struct file *f = arg;
	struct span data;

	if (reply->err == 0 && reply->status == SFTP_OP_UNSUPPORTED &&
	    !f->ahead->dead) {
		ask_by(f, false);
		return;
	}
	if (has_failed(f, reply, SFTP_EXTENDED_REPLY))
		return;
	if (sftp_get_file_reply(&body, &attrs, &data) != 0 ||
	    data.len > SYNC_RULES_FILE_MAX) {
		file_ends(f, FILE_FAILED, sftp_status_text(SFTP_BAD_MESSAGE));
		return;
	}
	buf_put(&f->text, data.p, data.len);
	file_ends(f, FILE_READ, NULL);
}

/* SFTP_EXT_GET_FILE would follow a link, but a session that is confined follows
 * none. */
static void
ask_by(struct file *f, bool at_once)
{
	struct sftp *s = f->ahead->s;
	char *path = path_of(f);

	if (path == NULL)
		file_ends(f, FILE_FAILED, err_text(ERR_NOMEM));
	else if (at_once && sftp_has(s, SFTP_EXT_GET_FILE) &&
	    sftp_confined(s) == SFTP_CONFINED_YES)
		sftp_get_file(s, path, SMALL_MAX, got, f);
	else
		sftp_path_request(s, SFTP_LSTAT, path, seen, f);
	free(path);
}

/* Asks for the i-th file of a group. unseen: neither whether it exists is
 * known, nor its kind. */
static void
ask(struct sync_ahead *a, struct group *g, size_t i, bool unseen)
{
	struct file *f = &g->files[i];

	f->ahead = a;
	f->group = g;
	f->number = i;
	f->state = FILE_ASKED;
	a->asks++;
	g->asks++;
	ask_by(f, !unseen);
}

/* ---- the queue ---------------------------------------------------------- */

/* Takes the entry that has the name of the i-th file of rules. */
static void
found(struct sync_ahead *a, size_t i, const struct walk_item *entry)
{
	struct file *f = &a->reading->files[i];

	if (entry->kind == WALK_FILE) {
		ask(a, a->reading, i, false);
	} else if (entry->kind == WALK_DIR) {
		f->state = FILE_MISSING;
	} else {
		f->state = FILE_FAILED;
		f->why = "is no regular file, and not read";
	}
}

/* Looks whether an entry of the group that the scan is in is a file of rules.
 * Names are told in order, so files whose names sort before the entry's are
 * missing. entry NULL: the group is over. */
static void
decide(struct sync_ahead *a, const struct walk_item *entry)
{
	struct group *g = a->reading;

	for (size_t i = 0; g != NULL && i < a->n; i++) {
		int order = entry == NULL ? 1 :
					    strcmp(entry->name, a->names[i]);

		if (g->files[i].state != FILE_UNDECIDED)
			continue;
		if (order == 0)
			found(a, i, entry);
		else if (order > 0)
			g->files[i].state = FILE_MISSING;
	}
}

static struct group *
group_new(const struct walk_item *item)
{
	struct group *g = calloc(1, sizeof *g);

	if (g != NULL && (g->path = strdup(item->path)) == NULL) {
		free(g);
		g = NULL;
	}
	return g;
}

static int
take(struct sync_ahead *a, const struct walk_item *item)
{
	struct sync_kept *q = sync_kept_new(item);

	if (q != NULL && item->is_group) {
		q->with = group_new(item);
		q->bytes += sizeof(struct group);
	}
	if (q == NULL || (item->is_group && q->with == NULL)) {
		free(q);
		return ERR_NOMEM;
	}
	a->bytes += q->bytes;
	TAILQ_INSERT_TAIL(&a->queue, q, entry);
	if (!item->is_group) {
		decide(a, item);
		return 0;
	}
	decide(a, NULL);
	a->reading = q->with;
	if (item->status != 0)
		decide(a, NULL); /* it has no names */
	return 0;
}

static bool
is_full(const struct sync_ahead *a)
{
	unsigned most = MIN((unsigned)ASKS_MAX, sftp_handles_max(a->s) / 4 + 1);

	return a->bytes > BYTES_MAX || a->asks >= most;
}

/* Reads the scan until the queue is full, or no more is there. With an empty
 * queue there is always room: the texts of the group that was told last may be
 * more than BYTES_MAX, and stay until the next group is told. */
static int
fill(struct sync_ahead *a)
{
	struct walk_item item;
	int r = 1;

	while (!a->ended && r == 1 &&
	    (!is_full(a) || TAILQ_EMPTY(&a->queue))) {
		r = sync_scan_next(a->scan, &item);
		a->ended = r == 0;
		if (r == 0) {
			decide(a, NULL);
			a->reading = NULL;
		}
		if (r == 1 && take(a, &item) < 0)
			r = ERR_NOMEM;
	}
	return r < 0 ? r : 0;
}

/* True if the texts of all files of the group are known. Files that could be
 * far ahead in the scan are asked for unseen. */
static bool
is_known(struct sync_ahead *a, struct group *g)
{
	bool known = true;

	for (size_t i = 0; i < a->n; i++) {
		if (g->files[i].state == FILE_UNDECIDED && is_full(a))
			ask(a, g, i, true);
		known &= g->files[i].state != FILE_UNDECIDED &&
		    g->files[i].state != FILE_ASKED;
	}
	return known;
}

int
sync_ahead_next(struct sync_ahead *a, struct walk_item *item)
{
	struct sync_kept *q;

	if (a->err == 0)
		a->err = fill(a);
	if (a->err < 0)
		return a->err;
	if ((q = TAILQ_FIRST(&a->queue)) == NULL)
		return a->ended ? 0 : SYNC_SCAN_LATER;
	if (q->with != NULL && !is_known(a, q->with))
		return SYNC_SCAN_LATER;
	TAILQ_REMOVE(&a->queue, q, entry);
	kept_free(a, a->told);
	a->told = q;
	if (q->with != NULL) {
		group_leave(a, a->now);
		a->now = q->with;
	}
	*item = q->item;
	return 1;
}

struct sync_ahead_file
sync_ahead_file(const struct sync_ahead *a, size_t i)
{
	const struct file *f = a->now != NULL ? &a->now->files[i] : NULL;

	if (f == NULL || (f->state != FILE_READ && f->state != FILE_FAILED))
		return (struct sync_ahead_file){ .text = NULL };
	if (f->state == FILE_FAILED)
		return (struct sync_ahead_file){ .why = f->why };
	return (struct sync_ahead_file){ .text = buf_len(&f->text) > 0 ?
		(const char *)buf_data(&f->text) : "",
		.len = buf_len(&f->text) };
}
