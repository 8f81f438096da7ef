/* SPDX-License-Identifier: ISC */
/*
 * A scan chooses its way, and asks what the top is. Before the server has said
 * what it can, the walk is tried: a server that does not know it answers so,
 * and is then listed. The paths of a session that may or may not be confined
 * are settled by the answer to confine@; until then nothing is told.
 */
#include "xfer/sync/sync-scan.h"

#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>

#include "xfer/sync/sync-scan-internal.h"

enum { REFUSALS_MAX = 3 }; /* of one walk */

/* What is known of the top. It outlives its scan until all is answered. */
struct scan_top {
	int err;
	bool dead;
	unsigned under_way;
	uint32_t status;
	struct walk_item item;
	struct walk_item told; /* extended attributes only */
	struct sftp_stat_ns ns;
	bool has_ns;
	uint32_t want;
	struct buf xattrs;
};

struct sync_scan {
	struct sftp *s;
	struct sync_scan_opts opts;
	bool confined; /* its requests have the paths of a confined session */
	bool is_walk;
	unsigned refused; /* number of times that the server refused the walk */
	struct scan_top *top;
	struct scan_way *way;
	struct scan_window *window; /* owned; NULL: no owners */
	int err;
};

/* ---- the top ------------------------------------------------------------ */

static void
answered(struct scan_top *t)
{
	t->under_way--;
	if (!t->dead || t->under_way > 0)
		return;
	buf_clear(&t->xattrs);
	free(t);
}

static void
xattrs_done(void *arg, const struct sftp_reply *reply)
{
	struct scan_top *t = arg;

	(void)scan_take_xattrs(&t->told, &t->xattrs, t->want, reply);
	answered(t);
}

static void
stat_done(void *arg, const struct sftp_reply *reply)
{
	struct scan_top *t = arg;

	if (reply->err < 0)
		t->err = reply->err;
	else if (reply->type == SFTP_STATUS)
		t->status = reply->status;
	else if (!scan_take_attrs(&t->item, &reply->attrs))
		t->status = SFTP_FAILURE;
	answered(t);
}

static void
ns_done(void *arg, const struct sftp_reply *reply)
{
	struct scan_top *t = arg;
	struct rd body = reply->body;

	if (reply->err == 0 && reply->type == SFTP_EXTENDED_REPLY)
		t->has_ns = sftp_get_stat_ns(&body, &t->ns) == 0;
	answered(t);
}

static struct scan_top *
top_new(struct sftp *s, const char *path, uint32_t want)
{
	uint32_t kinds = scan_xattr_kinds(s, want);
	struct scan_top *t = calloc(1, sizeof *t);

	if (t == NULL)
		return NULL;
	t->under_way = 1;
	sftp_path_request(s, SFTP_STAT, path, stat_done, t);
	if (sftp_has(s, SFTP_EXT_STAT_NS) || !sftp_has_version(s)) {
		t->under_way++;
		sftp_stat_ns(s, path, true, ns_done, t);
	}
	t->want = want;
	if (kinds != 0) {
		t->under_way++;
		sftp_xattrs(s, path, true, kinds, xattrs_done, t);
	}
	return t;
}

static void
top_free(struct scan_top *t)
{
	if (t == NULL)
		return;
	t->dead = true;
	t->under_way++;
	answered(t);
}

static int
top_get(struct scan_top *t, struct walk_item *item)
{
	if (t->err < 0)
		return t->err;
	if (t->under_way > 0)
		return SYNC_SCAN_LATER;
	*item = t->item;
	item->name = item->text = "";
	item->xattrs = t->told.xattrs;
	item->xattrs_unread = t->told.xattrs_unread;
	if (t->status != SFTP_OK)
		*item = (struct walk_item){ .name = "", .text = "",
			.status = t->status };
	else if (t->has_ns)
		scan_take_ns(item, &t->ns);
	return 1;
}

/* ---- the scan ----------------------------------------------------------- */

static void
let_go(struct sync_scan *c)
{
	if (c->way != NULL)
		c->way->ops->end(c->way);
	c->way = NULL;
	top_free(c->top);
	c->top = NULL;
}

static const char *
path_of_top(const struct sync_scan *c)
{
	return c->confined ? c->opts.confined_root : c->opts.root;
}

static bool
may_walk(const struct sync_scan *c)
{
	return !c->opts.copy_links && !c->opts.copy_dirlinks &&
	    c->opts.names == NULL &&
	    (sftp_has(c->s, SFTP_EXT_WALK) || !sftp_has_version(c->s));
}

/* The top as walk@ is asked for it, before it is known whether the session is
 * confined. In a confined session the path without its slash means the same
 * directory. In a session that is not, because its root does not exist yet, "/"
 * would be the whole host, which the server would begin to read; no directory
 * has the name "". */
static const char *
top_of_walk(const struct sync_scan *c)
{
	const char *path = path_of_top(c);

	return path + (c->confined ? strspn(path, "/") : 0);
}

static int
begin_way(struct sync_scan *c)
{
	const char *path = path_of_top(c);

	c->is_walk = may_walk(c);
	if (c->is_walk)
		c->way = scan_walk_new(c->s, top_of_walk(c), &c->opts);
	else if (c->opts.names != NULL)
		c->way = scan_names_new(c->s, path, &c->opts);
	else
		c->way = scan_list_new(c->s, path, &c->opts);
	return c->way != NULL ? 0 : ERR_NOMEM;
}

/* The handle of the walk can be guessed only if it is the session's first. */
static int
begin(struct sync_scan *c)
{
	int err;

	c->confined = c->opts.confined_root != NULL &&
	    sftp_confined(c->s) != SFTP_CONFINED_NOT;
	c->top = top_new(c->s, path_of_top(c), c->opts.want);
	err = c->top != NULL ? begin_way(c) : ERR_NOMEM;
	if (err < 0)
		let_go(c);
	return err;
}

static int next_told(struct sync_scan *c, struct walk_item *item);

/* Makes the window, for a scan with owners. */
static int
begin_window(struct sync_scan *c)
{
	const struct scan_window_source from = { .next = next_told,
		.scan = c, .owners = c->opts.owners,
		.guess = c->opts.owners_guess };

	if (c->opts.owners == NULL)
		return 0;
	c->window = scan_window_new(&from);
	return c->window != NULL ? 0 : ERR_NOMEM;
}

int
sync_scan_new(struct sync_scan **out, struct sftp *s,
    const struct sync_scan_opts *o)
{
	struct sync_scan *c = calloc(1, sizeof *c);
	int err;

	if (c == NULL)
		return ERR_NOMEM;
	c->s = s;
	c->opts = *o;
	err = begin_window(c);
	if (err == 0 && (err = begin(c)) < 0)
		scan_window_free(c->window);
	if (err < 0) {
		free(c);
		return err;
	}
	*out = c;
	return 0;
}

void
sync_scan_free(struct sync_scan *c)
{
	if (c == NULL)
		return;
	let_go(c);
	scan_window_free(c->window);
	free(c);
}

/* Sees to it that the paths of the requests are the session's. 1; LATER: it is
 * not known yet whether they are. */
static int
settle(struct sync_scan *c)
{
	if (c->err < 0)
		return c->err;
	if (!c->confined || sftp_confined(c->s) == SFTP_CONFINED_YES)
		return 1;
	if (sftp_error(c->s) < 0)
		return c->err = sftp_error(c->s);
	if (sftp_confined(c->s) == SFTP_CONFINED_ASKED)
		return SYNC_SCAN_LATER;
	let_go(c);
	c->err = begin(c);
	return c->err < 0 ? c->err : 1;
}

/* True if the walk was refused, and is to be begun again. A server allows a few
 * walks of a session at a time, and answers a further one with a failure only.
 * Trees are read one after the other, so earlier walks have ended by the time
 * this one's first item is wanted. */
static bool
was_refused(struct sync_scan *c, int r, const struct walk_item *item)
{
	return c->is_walk && r == 1 && item->is_group &&
	    item->path[0] == '\0' && item->status == SFTP_FAILURE &&
	    c->refused++ < REFUSALS_MAX;
}

static int
next_told(struct sync_scan *c, struct walk_item *item)
{
	int r = settle(c);

	if (r != 1)
		return r;
	r = c->way->ops->next(c->way, item);
	if ((r == ERR_UNSUPPORTED && c->is_walk) || was_refused(c, r, item)) {
		c->way->ops->end(c->way);
		c->way = NULL;
		r = begin_way(c);
		if (r == 0)
			r = c->way->ops->next(c->way, item);
	}
	if (r < 0)
		c->err = r;
	return r;
}

int
sync_scan_next(struct sync_scan *c, struct walk_item *item)
{
	return c->window != NULL ? scan_window_next(c->window, item) :
				   next_told(c, item);
}

void
sync_scan_read_ahead(struct sync_scan *c)
{
	if (c->window != NULL)
		scan_window_fill(c->window);
}

int
sync_scan_top(struct sync_scan *c, struct walk_item *item)
{
	int r = settle(c);

	if (r == 1)
		r = top_get(c->top, item);
	return r == 1 && c->window != NULL && item->status == 0 ?
	    scan_window_map(c->window, item) : r;
}

bool
sync_scan_has_ns(const struct sync_scan *c)
{
	return c->is_walk || (sftp_has(c->s, SFTP_EXT_STAT_NS) &&
	    (c->opts.names != NULL || sftp_has(c->s, SFTP_EXT_READDIR_NS)));
}

bool
sync_scan_has_digests(const struct sync_scan *c)
{
	return c->is_walk;
}

/* ---- attributes --------------------------------------------------------- */

bool
scan_take_attrs(struct walk_item *item, const struct sftp_attrs *a)
{
	if ((a->flags & SFTP_A_MODE) == 0)
		return false;
	item->kind = walk_kind_of(a->mode);
	if (item->kind == WALK_UNKNOWN || a->size > INT64_MAX)
		return false;
	item->mode = a->mode & WALK_MODE_MAX;
	if ((a->flags & SFTP_A_OWNER) != 0) {
		item->uid = a->uid;
		item->gid = a->gid;
	}
	if (item->kind == WALK_FILE && (a->flags & SFTP_A_SIZE) != 0)
		item->size = a->size;
	if ((a->flags & SFTP_A_TIMES) != 0)
		item->mtime = a->mtime;
	return true;
}

void
scan_take_ns(struct walk_item *item, const struct sftp_stat_ns *st)
{
	item->mtime = st->mtime;
	item->nsec = st->mtime_ns <= WALK_NSEC_MAX ? st->mtime_ns : 0;
	item->nlink = st->nlink;
	if (st->nlink > 1 && item->kind != WALK_DIR) {
		item->dev = st->dev;
		item->ino = st->ino;
	}
	if (item->kind == WALK_FILE)
		item->blocks = st->blocks;
	item->away = item->kind == WALK_FILE && st->blocks == UINT64_MAX;
}

bool
scan_leads_out(const struct sftp *s, const struct sftp_reply *reply)
{
	return sftp_confined(s) == SFTP_CONFINED_YES && reply->err == 0 &&
	    reply->type == SFTP_STATUS &&
	    reply->status == SFTP_PERMISSION_DENIED;
}

static uint32_t
kinds_of(uint32_t want)
{
	return (want & WALK_XATTRS_ALL) / WALK_XATTRS;
}

uint32_t
scan_xattr_kinds(const struct sftp *s, uint32_t want)
{
	return sftp_has(s, SFTP_EXT_XATTRS) || !sftp_has_version(s) ?
	    kinds_of(want) : 0;
}

bool
scan_take_xattrs(struct walk_item *item, struct buf *set, uint32_t want,
    const struct sftp_reply *reply)
{
	struct rd body = reply->body;
	struct span got = { .p = NULL };

	buf_reset(set);
	if (reply->err == 0 && reply->type == SFTP_EXTENDED_REPLY &&
	    sftp_get_xattrs(&body, kinds_of(want), &got) == 0)
		buf_put(set, got.p, got.len);
	else
		item->xattrs_unread = true;
	if (buf_err(set) < 0)
		item->xattrs_unread = true;
	item->xattrs = item->xattrs_unread ? (struct span){ .p = NULL } :
					     buf_span(set);
	return !item->xattrs_unread;
}

void
scan_leave_out_unasked(struct walk_item *item, uint32_t want)
{
	if ((want & WALK_MODE) == 0)
		item->mode = 0;
	if ((want & WALK_OWNER) == 0)
		item->uid = item->gid = 0;
	if ((want & WALK_MTIME) == 0)
		item->mtime = item->nsec = 0;
	if ((want & WALK_NAMES) == 0)
		item->dev = item->ino = item->nlink = 0;
	if ((want & WALK_BLOCKS) == 0)
		item->blocks = 0;
}
