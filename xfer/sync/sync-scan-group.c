/* SPDX-License-Identifier: ISC */
#include "xfer/sync/sync-scan-group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/wire.h"
#include "compat/bsd-mem.h"
#include "compat/bsd.h"
#include "xfer/xattrs.h"

enum {
	RUN_READ = 32 * 1024, /* bytes of a run that are read at a time */
	RECORD_MAX = 128 + WALK_NAME_MAX + WALK_PATH_MAX,
	WRITE_PIECE = 256 * 1024,
	RUNS_MAX = 2048,
	SETS_MAX = 128 * 1024 * 1024, /* bytes of attributes in memory for one
				       * run of records */
};
#define FILE_MAX (UINT64_C(16) << 30) /* bytes */

/* A sorted part of the entries, in the file. */
struct scan_run {
	uint64_t at, end; /* what was not read yet */
	struct buf bytes; /* read, and not told */
	struct walk_item item; /* comes next; name and text are below */
	char name[WALK_NAME_MAX + 1];
	char *text; /* owned, or NULL */
	uint8_t *set; /* attributes of item; owned, or NULL */
};

static void
forget_entries(struct scan_group *g)
{
	for (size_t i = 0; i < g->count; i++) {
		free(g->v[i].text);
		free(g->v[i].real);
		free(g->v[i].set);
	}
	free(g->v);
	g->v = NULL;
	g->count = g->cap = g->next = g->set_bytes = 0;
	buf_clear(&g->names);
}

void
scan_group_clear(struct scan_group *g)
{
	forget_entries(g);
	for (size_t i = 0; i < g->n_runs; i++) {
		buf_clear(&g->runs[i].bytes);
		free(g->runs[i].text);
		free(g->runs[i].set);
	}
	free(g->runs);
	free(g->heap);
	free(g->before);
	*g = (struct scan_group){ .file = g->file };
}

void
scan_file_close(struct scan_file *f)
{
	if (f->open)
		fd_close(&f->fd);
	*f = (struct scan_file){ .open = false };
}

struct scan_entry *
scan_group_add(struct scan_group *g, const void *name, size_t len,
    const struct walk_item *item)
{
	struct scan_entry *grown;
	size_t cap = g->cap > 0 ? g->cap * 2 : 16;

	if (g->count == g->cap) {
		grown = recallocarray(g->v, g->cap, cap, sizeof *grown);
		if (grown == NULL)
			return NULL;
		g->v = grown;
		g->cap = cap;
	}
	g->v[g->count] = (struct scan_entry){ .item = *item,
		.name = buf_len(&g->names) };
	buf_put(&g->names, name, len);
	buf_put_u8(&g->names, 0);
	if (buf_err(&g->names) < 0)
		return NULL;
	g->total++;
	return &g->v[g->count++];
}

void
scan_group_set_xattrs(struct scan_group *g, struct scan_entry *e,
    const struct buf *set)
{
	size_t len = set != NULL ? buf_len(set) : 0;

	free(e->set);
	e->set = NULL;
	e->item.xattrs = (struct span){ .p = NULL };
	e->item.xattrs_unread = set == NULL || len > SETS_MAX - g->set_bytes ||
	    (len > 0 && (e->set = malloc(len)) == NULL);
	if (e->item.xattrs_unread || len == 0)
		return;
	memcpy(e->set, buf_data(set), len);
	e->item.xattrs = (struct span){ e->set, len };
	g->set_bytes += len;
}

const char *
scan_group_name(const struct scan_group *g, const struct scan_entry *e)
{
	return (const char *)buf_data(&g->names) + e->name;
}

size_t
scan_group_bytes(const struct scan_group *g)
{
	return g->cap * sizeof *g->v + buf_len(&g->names) + g->set_bytes;
}

static int
compare(const void *a, const void *b)
{
	const struct scan_entry *x = a, *y = b;

	return strcmp(x->item.name, y->item.name);
}

static void
sort(struct scan_group *g)
{
	for (size_t i = 0; i < g->count; i++) {
		g->v[i].item.name = scan_group_name(g, &g->v[i]);
		g->v[i].item.text = g->v[i].text != NULL ? g->v[i].text : "";
	}
	if (g->count > 1)
		qsort(g->v, g->count, sizeof *g->v, compare);
}

/* ---- the file of runs --------------------------------------------------- */

/* Appends a record. It begins with the length of the extended attributes, which
 * are its end. */
static void
put_record(struct buf *b, const struct walk_item *item)
{
	buf_put_u32(b, (uint32_t)item->xattrs.len);
	buf_put_u8(b, (uint8_t)item->kind);
	buf_put_u8(b, (uint8_t)item->status);
	buf_put_bool(b, item->not_entered);
	buf_put_bool(b, item->xattrs_unread);
	buf_put_u16(b, (uint16_t)item->mode);
	buf_put_u32(b, item->uid);
	buf_put_u32(b, item->gid);
	buf_put_u64(b, item->size);
	buf_put_u64(b, (uint64_t)item->mtime);
	buf_put_u32(b, item->nsec);
	buf_put_u32(b, item->nlink);
	if (item->nlink > 1 && item->kind != WALK_DIR) {
		buf_put_u64(b, item->dev);
		buf_put_u64(b, item->ino);
	}
	if (item->kind == WALK_FILE)
		buf_put_u64(b, item->blocks);
	buf_put_cstring(b, item->name);
	buf_put_cstring(b, item->text);
	buf_put(b, item->xattrs.p, item->xattrs.len);
}

/* Reads the extended attributes, which are the rest of a record. */
static int
get_set(struct scan_run *r, struct rd *in, size_t len)
{
	struct span got;

	free(r->set);
	r->set = NULL;
	if (len == 0)
		return 0;
	got = rd_bytes(in, len);
	if (in->err != 0)
		return ERR_FORMAT;
	if ((r->set = malloc(len)) == NULL)
		return ERR_NOMEM;
	memcpy(r->set, got.p, len);
	r->item.xattrs = (struct span){ r->set, len };
	return 0;
}

/* Reads a record of our own file: what is not as it was written is an error of
 * the disk. */
static int
get_record(struct scan_run *r)
{
	struct rd in = rd_from_buf(&r->bytes);
	struct walk_item *item = &r->item;
	uint32_t set_len = rd_u32(&in);
	struct span name, text;
	int err;

	*item = (struct walk_item){ .kind = (enum walk_kind)rd_u8(&in) };
	item->status = rd_u8(&in);
	item->not_entered = rd_u8(&in) != 0;
	item->xattrs_unread = rd_u8(&in) != 0;
	item->mode = rd_u16(&in);
	item->uid = rd_u32(&in);
	item->gid = rd_u32(&in);
	item->size = rd_u64(&in);
	item->mtime = (int64_t)rd_u64(&in);
	item->nsec = rd_u32(&in);
	item->nlink = rd_u32(&in);
	if (item->nlink > 1 && item->kind != WALK_DIR) {
		item->dev = rd_u64(&in);
		item->ino = rd_u64(&in);
	}
	if (item->kind == WALK_FILE)
		item->blocks = rd_u64(&in);
	name = rd_string(&in);
	text = rd_string(&in);
	if (in.err != 0 || name.len > WALK_NAME_MAX)
		return ERR_FORMAT;
	memcpy(r->name, name.p, name.len);
	r->name[name.len] = '\0';
	free(r->text);
	r->text = text.len > 0 ? span_dup(text) : NULL;
	if (text.len > 0 && r->text == NULL)
		return ERR_NOMEM;
	if ((err = get_set(r, &in, set_len)) < 0)
		return err;
	buf_consume(&r->bytes, buf_len(&r->bytes) - in.len);
	return 0;
}

static int
open_file(struct scan_file *f)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];

	if (f->open)
		return 0;
	if (dir == NULL || dir[0] == '\0')
		dir = "/var/tmp";
	strlcpy(path, dir, sizeof path);
	if (strlcat(path, "/hpnsync.XXXXXXXXXX", sizeof path) >= sizeof path) {
		errno = ENAMETOOLONG;
		return ERR_SYSTEM;
	}
	f->fd = mkostemp(path, O_CLOEXEC);
	if (f->fd < 0)
		return ERR_SYSTEM;
	f->open = true;
	unlink(path);
	return 0;
}

static int
flush(struct scan_group *g, struct buf *b)
{
	if (buf_err(b) < 0)
		return buf_err(b);
	if (g->file->len > FILE_MAX)
		return ERR_LIMIT;
	if (fd_write_all(g->file->fd, buf_data(b), buf_len(b)) != 0)
		return ERR_SYSTEM;
	g->file->len += buf_len(b);
	buf_reset(b);
	return 0;
}

static int
write_entries(struct scan_group *g)
{
	struct buf b = { 0 };
	int err = 0;

	for (size_t i = 0; i < g->count && err == 0; i++) {
		if (!g->v[i].dropped)
			put_record(&b, &g->v[i].item);
		if (buf_len(&b) >= WRITE_PIECE)
			err = flush(g, &b);
	}
	if (err == 0)
		err = flush(g, &b);
	buf_clear(&b);
	return err;
}

int
scan_group_spill(struct scan_group *g)
{
	struct scan_run *grown;
	uint64_t from = g->file->len;
	int err;

	if (g->n_runs >= RUNS_MAX)
		return ERR_LIMIT;
	if ((err = open_file(g->file)) < 0)
		return err;
	grown = recallocarray(g->runs, g->n_runs, g->n_runs + 1,
	    sizeof *grown);
	if (grown == NULL)
		return ERR_NOMEM;
	g->runs = grown;
	g->n_runs++;
	sort(g);
	if ((err = write_entries(g)) < 0)
		return err;
	g->runs[g->n_runs - 1].at = from;
	g->runs[g->n_runs - 1].end = g->file->len;
	forget_entries(g);
	return 0;
}

/* ---- merging ------------------------------------------------------------ */

/* Reads more of the run's file if fewer than `need` bytes are in memory. */
static int
fill(struct scan_group *g, struct scan_run *r, size_t need)
{
	size_t want = (size_t)MIN(r->end - r->at,
	    (uint64_t)MAX(need, (size_t)RUN_READ));
	uint8_t *p;

	if (buf_len(&r->bytes) >= need || want == 0)
		return 0;
	p = buf_reserve(&r->bytes, want);
	if (p == NULL)
		return ERR_NOMEM;
	if (fd_pread(g->file->fd, p, want, r->at) != (ssize_t)want)
		return ERR_SYSTEM;
	buf_commit(&r->bytes, want);
	r->at += want;
	return 0;
}

/* Reads the next record of a run. 1; 0: it has no more. */
static int
advance(struct scan_group *g, struct scan_run *r)
{
	int err = fill(g, r, RECORD_MAX);
	struct rd in;

	if (err == 0 && buf_len(&r->bytes) == 0) {
		buf_clear(&r->bytes);
		return 0;
	}
	in = rd_from_buf(&r->bytes);
	if (err == 0)
		err = fill(g, r, RECORD_MAX + (size_t)MIN(rd_u32(&in),
		    (uint32_t)XATTRS_BYTES_MAX));
	if (err == 0)
		err = get_record(r);
	return err < 0 ? err : 1;
}

static bool
is_before(const struct scan_group *g, size_t a, size_t b)
{
	return strcmp(g->runs[g->heap[a]].name, g->runs[g->heap[b]].name) < 0;
}

static void
swap(size_t *a, size_t *b)
{
	size_t was = *a;

	*a = *b;
	*b = was;
}

static void
sift_down(struct scan_group *g, size_t at)
{
	size_t least;

	for (;; at = least) {
		least = at;
		for (size_t k = 2 * at + 1; k <= 2 * at + 2; k++)
			if (k < g->in_heap && is_before(g, k, least))
				least = k;
		if (least == at)
			return;
		swap(&g->heap[at], &g->heap[least]);
	}
}

static int
begin_merge(struct scan_group *g)
{
	int r;

	g->merging = true;
	g->heap = calloc(g->n_runs, sizeof *g->heap);
	if (g->heap == NULL)
		return ERR_NOMEM;
	for (size_t i = 0; i < g->n_runs; i++) {
		if ((r = advance(g, &g->runs[i])) < 0)
			return r;
		if (r == 1)
			g->heap[g->in_heap++] = i;
	}
	for (size_t i = g->in_heap / 2; i-- > 0;)
		sift_down(g, i);
	return 0;
}

/* The run that was told goes on. */
static int
pass(struct scan_group *g)
{
	int r = advance(g, &g->runs[g->heap[0]]);

	if (r == 0)
		g->heap[0] = g->heap[--g->in_heap];
	if (r >= 0 && g->in_heap > 0)
		sift_down(g, 0);
	return r < 0 ? r : 0;
}

static int
note_told(struct scan_group *g, const char *name)
{
	if (g->before == NULL &&
	    (g->before = malloc(WALK_NAME_MAX + 1)) == NULL)
		return ERR_NOMEM;
	strlcpy(g->before, name, WALK_NAME_MAX + 1);
	g->any = true;
	return 1;
}

static int
next_merged(struct scan_group *g, struct walk_item *item)
{
	const struct scan_run *r;
	int err;

	/* The item of the call before lies in its run until now. */
	if (!g->merging)
		err = begin_merge(g);
	else
		err = g->in_heap > 0 ? pass(g) : 0;
	while (err == 0 && g->in_heap > 0) {
		r = &g->runs[g->heap[0]];
		if (!g->any || strcmp(r->name, g->before) != 0) {
			*item = r->item;
			item->name = r->name;
			item->text = r->text != NULL ? r->text : "";
			return note_told(g, r->name);
		}
		err = pass(g);
	}
	return err;
}

/* ---- telling ------------------------------------------------------------ */

int
scan_group_sort(struct scan_group *g)
{
	if (g->n_runs > 0)
		return g->count > 0 ? scan_group_spill(g) : 0;
	sort(g);
	g->next = 0;
	return 0;
}

int
scan_group_next(struct scan_group *g, struct walk_item *item)
{
	const struct scan_entry *e;

	if (g->n_runs > 0)
		return next_merged(g, item);
	while (g->next < g->count) {
		e = &g->v[g->next++];
		if (e->dropped || (g->any &&
		    strcmp(e->item.name, g->before) == 0))
			continue;
		*item = e->item;
		return note_told(g, e->item.name);
	}
	return 0;
}
