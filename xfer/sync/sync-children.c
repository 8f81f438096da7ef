/* SPDX-License-Identifier: ISC */
/*
 * The directories of a group. Their own groups follow when this group is over,
 * in the order of names. There may be millions of them side by side: then all
 * are written to a spool, and read back some at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "xfer/sync/sync-plan-internal.h"

enum {
	CHILDREN_MAX = 2048, /* directories held in memory while their group is
			      * open */
	BACK = 256,	     /* directories that are read back at a time */
};

enum {
	IS_GONE = 1,
	IS_COUNTED = 2,
	ATTRS_DIFFER = 4,
	HAS_TIME = 8,
	IS_PENDING = 16,
	MADE_LATE = 32,
	MAY_GO = 64,
	IS_LOCKED = 128,
	MAKE_SILENT = 256,
	MAKE_HAS_WAS = 512,
	MAKE_REPLACES = 1024,
};

/* ---- bytes -------------------------------------------------------------- */

static uint32_t
flags_of(const struct sync_child *c)
{
	return (c->gone ? IS_GONE : 0) | (c->counted ? IS_COUNTED : 0) |
	    (c->attrs_differ ? ATTRS_DIFFER : 0) |
	    (c->has_time ? HAS_TIME : 0) | (c->pending ? IS_PENDING : 0) |
	    (c->made_late ? MADE_LATE : 0) | (c->may_go ? MAY_GO : 0) |
	    (c->locked ? IS_LOCKED : 0) | (c->make.silent ? MAKE_SILENT : 0) |
	    (c->make.has_was ? MAKE_HAS_WAS : 0) |
	    (c->make.replaces_kind ? MAKE_REPLACES : 0);
}

static void
set_flags(struct sync_child *c, uint32_t flags)
{
	c->gone = (flags & IS_GONE) != 0;
	c->counted = (flags & IS_COUNTED) != 0;
	c->attrs_differ = (flags & ATTRS_DIFFER) != 0;
	c->has_time = (flags & HAS_TIME) != 0;
	c->pending = (flags & IS_PENDING) != 0;
	c->made_late = (flags & MADE_LATE) != 0;
	c->may_go = (flags & MAY_GO) != 0;
	c->locked = (flags & IS_LOCKED) != 0;
	c->make.silent = (flags & MAKE_SILENT) != 0;
	c->make.has_was = (flags & MAKE_HAS_WAS) != 0;
	c->make.replaces_kind = (flags & MAKE_REPLACES) != 0;
}

/* Writes a directory to the spool. bare: without its extended attributes. */
static int
put(struct sync_spool *s, const struct sync_child *c, bool bare)
{
	struct sync_record r = c->attrs;
	struct buf b;
	int err;

	if (bare)
		r.xattrs = 0;
	r.path = c->name;
	r.text = "";
	buf_init(&b);
	buf_put_u32(&b, flags_of(c));
	buf_put_u32(&b, c->make.set);
	sync_record_encode(&b, &r);
	err = buf_err(&b);
	if (err == 0)
		err = sync_spool_put(s, buf_data(&b), buf_len(&b));
	buf_clear(&b);
	return err;
}

/* Reads a directory from bytes of the spool. False: the bytes are damaged. */
static bool
get(struct sync_child *c, const uint8_t *bytes, size_t len)
{
	struct rd in = rd_from(bytes, len);
	uint32_t flags = rd_u32(&in), set = rd_u32(&in);
	struct span rest = rd_rest(&in), x;

	*c = (struct sync_child){ .name = NULL };
	if (rd_err(&in) != 0 || !sync_record_get(&c->attrs, rest.p, rest.len))
		return false;
	c->name = xstrdup(c->attrs.path);
	c->make.set = set;
	set_flags(c, flags);
	x = c->attrs.item.xattrs;
	if (x.len > 0) {
		c->xattrs = xmalloc(x.len);
		memcpy(c->xattrs, x.p, x.len);
		c->attrs.item.xattrs.p = c->xattrs;
	}
	c->attrs.path = NULL;
	c->attrs.text = c->attrs.item.text = "";
	return true;
}

/* ---- both ways ---------------------------------------------------------- */

static void
forget(struct sync_frame *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->children[i].name);
		free(f->children[i].xattrs);
	}
	/* sync_children_add() expects a new element to be zero. */
	if (f->n > 0)
		memset(f->children, 0, f->n * sizeof *f->children);
	f->n = f->at = 0;
}

void
sync_children_free(struct sync_frame *f)
{
	forget(f);
	free(f->children);
	if (f->more != NULL)
		sync_spool_clear(f->more);
	free(f->more);
}

/* Reports that directories below f were lost from the spool: what is in them is
 * not compared. */
static void
fail(struct sync_plan *p, const struct sync_frame *f, int err)
{
	p->not_whole = true;
	p->p.hooks.fail(p->p.hooks.arg, *f->path != '\0' ? f->path : "./",
	    err_text(err));
}

static void
spill(struct sync_plan *p, struct sync_frame *f)
{
	int err = 0;

	if (f->more == NULL) {
		f->more = xcalloc(1, sizeof *f->more);
		sync_spool_init(f->more);
	}
	for (size_t i = 0; i < f->n && (err == 0 || err == ERR_LIMIT); i++) {
		err = put(f->more, &f->children[i], false);
		if (err == ERR_LIMIT) {
			fail(p, f, err);
			err = put(f->more, &f->children[i], true);
		}
	}
	if (err != 0)
		fail(p, f, err);
	forget(f);
}

struct sync_child *
sync_children_add(struct sync_frame *f, const char *path)
{
	size_t room = f->room;

	ENSURE(!f->reading);
	if (f->n == room) {
		f->room = room == 0 ? 16 : room * 2;
		f->children = xrecallocarray(f->children, room, f->room,
		    sizeof *f->children);
	}
	f->children[f->n].name = xstrdup(path_last(path));
	return &f->children[f->n++];
}

void
sync_children_limit(struct sync_plan *p)
{
	struct sync_frame *f = TAILQ_LAST(&p->frames, sync_frames);
	size_t most = p->p.children_max != 0 ? p->p.children_max : CHILDREN_MAX;

	if (f != NULL && !f->reading && f->n > most)
		spill(p, f);
}

const struct sync_child *
sync_children_next(struct sync_plan *p, struct sync_frame *f)
{
	const uint8_t *bytes;
	size_t len;
	int r = 1;

	if (f->more != NULL && !f->reading && f->n > 0)
		spill(p, f);
	f->reading = true;
	if (f->at < f->n)
		return &f->children[f->at];
	if (f->more == NULL || f->more->count == 0)
		return NULL;
	forget(f);
	while (f->n < MIN((size_t)BACK, f->room) &&
	    (r = sync_spool_take_first(f->more, &bytes, &len)) == 1) {
		if (!get(&f->children[f->n], bytes, len)) {
			r = ERR_SYSTEM;
			break;
		}
		f->n++;
	}
	if (r < 0) {
		fail(p, f, r);
		f->more->count = 0;
	}
	return f->n > 0 ? &f->children[0] : NULL;
}
