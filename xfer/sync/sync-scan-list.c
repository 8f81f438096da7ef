/* SPDX-License-Identifier: ISC */
/*
 * A scan that lists directories: OPENDIR, READDIR until the end, CLOSE, with
 * what entries need besides (sync-scan-look.c).
 *
 * DESIGN. Directories are opened ahead in the order in which they are told, as
 * many as the server's handles and the memory for their entries allow. Of the
 * directories below one that was listed, the first that is not opened yet is an
 * element by itself; the others are names. What is told next (the head) is read
 * whatever memory it takes, for its entries can go to a file; all others wait
 * when there is too much.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "xfer/filter.h"
#include "xfer/sync/sync-scan-list-internal.h"

enum {
	OPEN_MAX = 512,		       /* most handles */
	WIDTH_MAX = 64,		       /* most READDIRs of a directory */
	BYTES_MAX = 24 * 1024 * 1024,  /* of groups in memory */
	WHOLE_BYTES_MAX = 8 * 1024 * 1024, /* then what waits goes to a file */
	AHEAD_MAX = 65536, /* most directories that are known, not told */
	BELOW_MAX = 256 * 1024 * 1024, /* of names of directories */
	BELOW_TEXTS = 3,	       /* of each in list_dir.below */
	ENTRIES_MAX = 20000000,	       /* of a directory */
	REPLY_BYTES = 4096,	       /* of a READDIR, to begin with */
};

static struct list_dir *
of_order(struct tree_node *n)
{
	return (struct list_dir *)((char *)n -
	    offsetof(struct list_dir, order));
}

static struct list_dir *
of_waiting(struct tree_node *n)
{
	return (struct list_dir *)((char *)n -
	    offsetof(struct list_dir, waiting));
}

static int
compare_order(const struct tree_node *a, const struct tree_node *b)
{
	return walk_path_cmp(of_order((struct tree_node *)a)->path,
	    of_order((struct tree_node *)b)->path);
}

static int
compare_waiting(const struct tree_node *a, const struct tree_node *b)
{
	return walk_path_cmp(of_waiting((struct tree_node *)a)->path,
	    of_waiting((struct tree_node *)b)->path);
}

/* ---- life --------------------------------------------------------------- */

static void
dir_free(struct list_dir *d)
{
	TAILQ_REMOVE(&d->list->all, d, all);
	scan_group_clear(&d->group);
	buf_clear(&d->below);
	free(d->handle);
	free(d->real);
	free(d);
}

static void
list_free(struct scan_list *l)
{
	struct list_dir *d;

	while ((d = TAILQ_FIRST(&l->all)) != NULL)
		dir_free(d);
	filter_free(l->filter);
	buf_clear(&l->path);
	scan_file_close(&l->file);
	free(l->real);
	free(l);
}

static void
unref(struct list_dir *d)
{
	struct list_dir *parent;

	for (; d != NULL && --d->refs == 0; d = parent) {
		parent = d->parent;
		dir_free(d);
	}
}

void
list_asked(struct list_dir *d)
{
	d->refs++;
	d->list->under_way++;
}

void
list_answered(struct list_dir *d)
{
	struct scan_list *l = d->list;

	l->under_way--;
	if (!l->dead)
		unref(d);
	else if (l->under_way == 0)
		list_free(l);
}

void
list_fail(struct scan_list *l, int err)
{
	if (l->err == 0)
		l->err = err;
}

const char *
list_path(struct scan_list *l, const struct list_dir *d, const char *name)
{
	struct buf *b = &l->path;

	buf_reset(b);
	buf_put(b, l->top, strlen(l->top));
	for (int i = 0; i < 2; i++) {
		const char *more = i == 0 ? d->path : name;
		size_t len = buf_len(b);

		if (more == NULL || more[0] == '\0')
			continue;
		if (len > 0 && buf_data(b)[len - 1] != '/')
			buf_put_u8(b, '/');
		buf_put(b, more, strlen(more));
	}
	buf_put_u8(b, 0);
	if (buf_err(b) < 0) {
		list_fail(l, buf_err(b));
		return NULL;
	}
	return (const char *)buf_data(b);
}

bool
list_is_excluded(const struct scan_list *l, const struct list_dir *d,
    const char *name, bool is_dir)
{
	char path[WALK_PATH_MAX + 1 + WALK_NAME_MAX + 1];

	if (l->filter == NULL)
		return false;
	strcpy(path, d->path);
	strcat(path, path[0] != '\0' ? "/" : "");
	strcat(path, name);
	return filter_excludes(l->filter, path, is_dir);
}

/* ---- which directory is next -------------------------------------------- */

/* Ranks need not be secret: at worst a hostile server makes the set deep, and
 * waits for that itself. */
static uint32_t
rank(struct scan_list *l)
{
	l->ranks ^= l->ranks << 13;
	l->ranks ^= l->ranks >> 17;
	l->ranks ^= l->ranks << 5;
	return l->ranks;
}

static struct list_dir *
dir_new(struct scan_list *l, struct list_dir *parent, const char *name,
    const char *real, bool mounted)
{
	size_t len = parent != NULL ? strlen(parent->path) : 0;
	size_t size = sizeof(struct list_dir) + len + 1 + strlen(name) + 1;
	struct list_dir *d = calloc(1, size);

	if (d == NULL || (d->real = strdup(real)) == NULL) {
		free(d);
		list_fail(l, ERR_NOMEM);
		return NULL;
	}
	if (len > 0) {
		memcpy(d->path, parent->path, len);
		d->path[len++] = '/';
	}
	strcpy(d->path + len, name);
	d->list = l;
	d->mounted = mounted;
	d->group.file = &l->file;
	d->parent = parent;
	if (parent != NULL)
		parent->refs++;
	d->refs = 1;
	d->width = 2;
	l->ahead++;
	TAILQ_INSERT_TAIL(&l->all, d, all);
	tree_insert(&l->order, &d->order, rank(l), compare_order);
	tree_insert(&l->waiting, &d->waiting, rank(l), compare_waiting);
	return d;
}

/* Makes an element of the next directory below d. */
static void
wait_for_next(struct list_dir *d)
{
	const char *name, *real, *mounted;
	size_t len;

	if (buf_len(&d->below) == 0)
		return;
	name = (const char *)buf_data(&d->below);
	real = name + strlen(name) + 1;
	mounted = real + strlen(real) + 1;
	len = (size_t)(mounted - name) + strlen(mounted) + 1;
	(void)dir_new(d->list, d, name, real, mounted[0] != '\0');
	buf_consume(&d->below, len);
	d->list->below_bytes -= len;
}

/* ---- what is in it ------------------------------------------------------ */

/* Adds an entry of a listing. False: the listing cannot be trusted. */
static bool
take_entry(struct list_dir *d, const struct sftp_entry *e,
    const struct sftp_stat_ns *ns)
{
	struct scan_list *l = d->list;
	struct walk_item item = { .is_group = false };
	struct scan_entry *added;

	if (span_equals(e->name, ".") || span_equals(e->name, ".."))
		return true;
	if (!sftp_name_is_safe(e->name) || e->name.len > WALK_NAME_MAX)
		return false;
	if (scan_take_attrs(&item, &e->attrs) && l->exact)
		scan_take_ns(&item, ns);
	added = scan_group_add(&d->group, e->name.p, e->name.len, &item);
	if (added == NULL) {
		list_fail(l, ERR_NOMEM);
		return false;
	}
	added->dev = l->exact ? ns->dev : 0;
	added->dropped = item.kind != WALK_UNKNOWN &&
	    !(item.kind == WALK_LINK && list_follows(l)) &&
	    list_is_excluded(l, d, scan_group_name(&d->group, added),
		item.kind == WALK_DIR);
	return true;
}

/* Counts the memory of a group anew. */
static void
count_bytes(struct list_dir *d, size_t before)
{
	d->list->bytes += scan_group_bytes(&d->group);
	d->list->bytes -= before;
}

static void
take_entries(struct list_dir *d, const struct sftp_reply *reply)
{
	struct scan_list *l = d->list;
	size_t before = scan_group_bytes(&d->group);
	struct rd body = reply->body;
	uint32_t count = reply->count, n = 0;
	struct sftp_stat_ns ns = { 0 };
	struct sftp_entry e;

	if (l->exact)
		count = rd_u32(&body);
	while (n < count && sftp_next_entry_ns(&body, l->exact, &e, &ns)) {
		n++;
		if (!take_entry(d, &e, &ns)) {
			d->status = SFTP_BAD_MESSAGE;
			break;
		}
	}
	/* An answer without entries could come for ever. */
	if (rd_err(&body) < 0 || n < count || n == 0)
		d->status = SFTP_BAD_MESSAGE;
	if (d->group.total > ENTRIES_MAX)
		list_fail(l, ERR_LIMIT);
	count_bytes(d, before);
}

static void
readdir_done(void *arg, const struct sftp_reply *reply)
{
	struct list_dir *d = arg;
	struct scan_list *l = d->list;

	l->reads--;
	d->reads--;
	l->reply_bytes += reply->body.len * 2 / 8;
	l->reply_bytes -= l->reply_bytes / 8;
	if (reply->err < 0) {
		list_fail(l, reply->err);
	} else if (l->dead || d->status != SFTP_OK) {
		d->at_end = true;
	} else if (reply->type == SFTP_STATUS) {
		/* Behind the end the handle may be closed already. */
		if (reply->status != SFTP_EOF && !d->at_end)
			d->status = reply->status;
		d->at_end = true;
	} else {
		take_entries(d, reply);
		d->at_end |= d->status != SFTP_OK;
		if (d->width < WIDTH_MAX)
			d->width++;
	}
	if (!l->dead)
		list_go_on(d);
	list_answered(d);
}

/* ---- its phases --------------------------------------------------------- */

static bool
is_tight(const struct scan_list *l)
{
	return l->bytes + l->reads * l->reply_bytes > BYTES_MAX;
}

static void
close_dir(struct list_dir *d)
{
	struct scan_list *l = d->list;

	if (!d->is_open)
		return;
	d->is_open = false;
	l->open--;
	if (l->err == 0)
		sftp_close(l->s, d->handle, NULL, NULL);
	free(d->handle);
	d->handle = NULL;
}

static void
read_more(struct list_dir *d)
{
	struct scan_list *l = d->list;
	bool waits_for_looks = d->group.count >= SCAN_RUN_ENTRIES;

	while (l->err == 0 && !d->at_end && d->reads < d->width &&
	    !waits_for_looks) {
		if (d != l->head && is_tight(l)) {
			l->stalled = true;
			return;
		}
		d->reads++;
		l->reads++;
		list_asked(d);
		if (l->exact)
			sftp_ext_handle(l->s, SFTP_EXT_READDIR_NS, d->handle,
			    readdir_done, d);
		else
			sftp_handle_request(l->s, SFTP_READDIR, d->handle,
			    readdir_done, d);
	}
}

static void
open_done(void *arg, const struct sftp_reply *reply)
{
	struct list_dir *d = arg;
	struct scan_list *l = d->list;

	if (reply->err < 0) {
		list_fail(l, reply->err);
	} else if (reply->type == SFTP_STATUS) {
		d->status = reply->status;
		d->at_end = true;
		l->open--;
	} else if ((d->handle = malloc(sizeof *d->handle)) == NULL) {
		list_fail(l, ERR_NOMEM);
	} else {
		sftp_keep_handle(d->handle, reply);
		d->is_open = true;
		l->exact = sftp_has(l->s, SFTP_EXT_READDIR_NS);
		if (l->dead)
			close_dir(d);
		else if (d->parent == NULL)
			list_look_at_top(d);
	}
	d->state = LIST_READING;
	if (!l->dead)
		list_go_on(d);
	list_answered(d);
}

static void
open_dir(struct list_dir *d)
{
	struct scan_list *l = d->list;
	const char *path = list_path(l, d, NULL);

	if (path == NULL)
		return;
	tree_remove(&l->waiting, &d->waiting, compare_waiting);
	TAILQ_INSERT_TAIL(&l->active, d, active);
	d->state = LIST_OPENING;
	l->open++;
	list_asked(d);
	sftp_path_request(l->s, SFTP_OPENDIR, path, open_done, d);
	if (d->parent != NULL)
		wait_for_next(d->parent);
}

static void
open_more(struct scan_list *l)
{
	unsigned most = MAX(MIN(sftp_handles_max(l->s) / 2, OPEN_MAX), 1u);
	struct list_dir *d;

	while (l->err == 0 && l->waiting != NULL) {
		d = of_waiting(tree_first(l->waiting));
		if (d != l->head && (l->open >= most || is_tight(l) ||
		    l->ahead >= AHEAD_MAX ||
		    l->under_way >= LIST_ASKED_MAX))
			return;
		open_dir(d);
	}
}

/* Sorts d->below, and leaves out what is there twice. */
static int
sort_below(struct list_dir *d)
{
	const char *at = (const char *)buf_data(&d->below), **names;
	const char *end = at + buf_len(&d->below);
	struct buf sorted = { 0 };
	size_t n = 0;

	for (const char *p = at; p < end; n++)
		for (int i = 0; i < BELOW_TEXTS; i++)
			p += strlen(p) + 1;
	names = calloc(n + 1, sizeof *names);
	if (names == NULL)
		return ERR_NOMEM;
	for (size_t i = 0; i < n; i++) {
		names[i] = at;
		for (int k = 0; k < BELOW_TEXTS; k++)
			at += strlen(at) + 1;
	}
	qsort(names, n, sizeof *names, str_order);
	for (size_t i = 0; i < n; i++) {
		const char *text = names[i];

		if (i > 0 && strcmp(names[i - 1], names[i]) == 0)
			continue;
		for (int k = 0; k < BELOW_TEXTS; k++) {
			buf_put(&sorted, text, strlen(text) + 1);
			text += strlen(text) + 1;
		}
	}
	free(names);
	buf_clear(&d->below);
	d->below = sorted;
	return buf_err(&d->below);
}

/* Notes the directories among the entries that are in memory, which are those
 * of a run or all. */
static void
note_below(struct list_dir *d)
{
	struct scan_list *l = d->list;
	struct scan_entry *e;
	const char *name, *real;
	bool mounted;

	for (size_t i = 0; i < d->group.count; i++) {
		e = &d->group.v[i];
		if (e->dropped || e->item.kind != WALK_DIR)
			continue;
		name = scan_group_name(&d->group, e);
		mounted = e->dev != l->device;
		if ((l->opts.want & WALK_ONE_DEVICE) != 0 && mounted)
			e->item.not_entered = true;
		if (strlen(d->path) + 1 + strlen(name) > WALK_PATH_MAX)
			e->item.not_entered = true;
		if (e->item.not_entered || !l->opts.recursive)
			continue;
		real = e->real != NULL ? e->real : "";
		buf_put(&d->below, name, strlen(name) + 1);
		buf_put(&d->below, real, strlen(real) + 1);
		mounted &= (l->opts.want & WALK_MOUNTS) != 0;
		buf_put(&d->below, "m", mounted ? 1 : 0);
		buf_put_u8(&d->below, 0);
	}
	if (buf_err(&d->below) < 0)
		list_fail(l, buf_err(&d->below));
}

static void
spill(struct list_dir *d)
{
	size_t before = scan_group_bytes(&d->group);
	int err;

	note_below(d);
	if ((err = scan_group_spill(&d->group)) < 0)
		list_fail(d->list, err);
	d->next_look = 0;
	count_bytes(d, before);
}

/* Ends the reading of d, of which all is known now. */
static void
make_whole(struct list_dir *d)
{
	struct scan_list *l = d->list;
	size_t before = scan_group_bytes(&d->group);
	int err = 0;

	close_dir(d);
	TAILQ_REMOVE(&l->active, d, active);
	d->state = LIST_WHOLE;
	if (d->status != SFTP_OK) {
		scan_group_clear(&d->group);
		buf_clear(&d->below);
	} else {
		note_below(d);
		/* What is told later leaves room for what is told soon. */
		if (d != l->head && d->group.count > 0 &&
		    l->bytes > WHOLE_BYTES_MAX)
			err = scan_group_spill(&d->group);
		if (err == 0)
			err = scan_group_sort(&d->group);
		if (err == 0)
			err = sort_below(d);
	}
	if (err < 0)
		list_fail(l, err);
	count_bytes(d, before);
	l->below_bytes += buf_len(&d->below);
	if (l->below_bytes > BELOW_MAX)
		list_fail(l, ERR_LIMIT);
	wait_for_next(d);
}

void
list_go_on(struct list_dir *d)
{
	struct scan_list *l = d->list;
	bool looked;

	if (d->state != LIST_READING || l->err < 0)
		return;
	/* READDIRs that are still under way will find the end, too. */
	if (d->at_end)
		close_dir(d);
	list_look(d);
	looked = d->reads == 0 && list_looks_done(d);
	if (looked && !d->at_end && d->group.count >= SCAN_RUN_ENTRIES)
		spill(d);
	if (looked && d->at_end)
		make_whole(d);
	else
		read_more(d);
	open_more(l);
}

/* ---- telling ------------------------------------------------------------ */

/* Leaves the head, all of which has been told. */
static void
leave(struct scan_list *l)
{
	struct list_dir *d = l->head;
	size_t before = scan_group_bytes(&d->group);

	scan_group_clear(&d->group);
	count_bytes(d, before);
	tree_remove(&l->order, &d->order, compare_order);
	l->ahead--;
	l->head = NULL;
	unref(d);
}

/* Lets the directories go on that had to wait because there was no memory left
 * for more names, or because too many requests were under way. */
static void
wake_others(struct scan_list *l)
{
	struct list_dir *d, *after;

	if (is_tight(l) || l->under_way >= LIST_ASKED_MAX / 2)
		return;
	l->stalled = false;
	for (d = TAILQ_FIRST(&l->active); d != NULL; d = after) {
		after = TAILQ_NEXT(d, active);
		if (l->err < 0 || l->stalled)
			return;
		list_go_on(d);
	}
}

static int
tell_head(struct scan_list *l, struct walk_item *item)
{
	struct list_dir *d = l->head;
	int r;

	if (!d->group_told) {
		d->group_told = true;
		*item = (struct walk_item){ .is_group = true,
			.path = d->path, .status = d->status,
			.mounted = d->mounted };
		return 1;
	}
	r = d->status == SFTP_OK ? scan_group_next(&d->group, item) : 0;
	if (r < 0)
		list_fail(l, r);
	if (r == 1)
		scan_leave_out_unasked(item, l->opts.want);
	return r;
}

static int
list_next(struct scan_way *way, struct walk_item *item)
{
	struct scan_list *l = (struct scan_list *)way;
	int r;

	for (;;) {
		if (l->err < 0)
			return l->err;
		if (l->head == NULL && l->order == NULL)
			return 0;
		if (l->head == NULL) {
			l->head = of_order(tree_first(l->order));
			list_go_on(l->head);
			open_more(l);
			continue;
		}
		if (l->head->state != LIST_WHOLE && l->stalled)
			wake_others(l);
		if (l->head->state != LIST_WHOLE)
			return l->err < 0 ? l->err : SYNC_SCAN_LATER;
		if ((r = tell_head(l, item)) != 0)
			return r;
		leave(l);
	}
}

static void
list_end(struct scan_way *way)
{
	struct scan_list *l = (struct scan_list *)way;
	struct list_dir *d;

	l->dead = true;
	TAILQ_FOREACH(d, &l->all, all)
		close_dir(d);
	if (l->under_way == 0)
		list_free(l);
}

static const struct scan_way_ops list_ops = { list_next, list_end };

struct scan_way *
scan_list_new(struct sftp *s, const char *top, const struct sync_scan_opts *o)
{
	struct scan_list *l = calloc(1, sizeof *l);
	struct list_dir *d;

	if (l == NULL)
		return NULL;
	l->way.ops = &list_ops;
	l->s = s;
	l->opts = *o;
	l->top = top[0] != '\0' ? top : ".";
	l->ranks = 2463534242;
	l->reply_bytes = REPLY_BYTES;
	TAILQ_INIT(&l->all);
	TAILQ_INIT(&l->active);
	if (o->rules_len > 0 && ((l->filter = filter_new()) == NULL ||
	    filter_add_wire(l->filter, o->rules, o->rules_len) < 0)) {
		list_free(l);
		return NULL;
	}
	d = dir_new(l, NULL, "", "", false);
	if (d == NULL) {
		list_free(l);
		return NULL;
	}
	open_dir(d);
	return &l->way;
}
