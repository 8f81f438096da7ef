/* SPDX-License-Identifier: ISC */
/*
 * Makes orders for the transfer engine from the records of the plan. When an
 * order is done, the caller's hook is told of it as an item.
 */
#include "config.h"

#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/wire.h"
#include "xfer/sync/sync-path.h"
#include "xfer/sync/sync-plan-internal.h"
#include "xfer/xattrs.h"

/* ---- records on a list -------------------------------------------------- */

void
sync_record_encode(struct buf *b, const struct sync_record *r)
{
	const struct walk_item *i = &r->item;
	size_t mark;

	buf_put_u8(b, (uint8_t)r->kind);
	buf_put_u32(b, r->pair);
	buf_put_u32(b, r->source);
	buf_put_u32(b, r->dest);
	buf_put_bool(b, r->silent);
	buf_put_bool(b, r->kept);
	buf_put_bool(b, r->replaces_kind);
	buf_put_bool(b, r->remove_source);
	buf_put_bool(b, r->has_was);
	buf_put_u32(b, r->set);
	buf_put_u32(b, r->mode);
	buf_put_u32(b, r->uid);
	buf_put_u32(b, r->gid);
	buf_put_u32(b, r->was.flags);
	buf_put_u32(b, r->was.mode);
	buf_put_u64(b, r->was.size);
	buf_put_u32(b, r->was.mtime);
	buf_put(b, r->letters, sizeof r->letters);
	buf_put_u8(b, (uint8_t)i->kind);
	buf_put_u32(b, i->mode);
	buf_put_u32(b, i->uid);
	buf_put_u32(b, i->gid);
	buf_put_u64(b, i->size);
	buf_put_u64(b, i->dev);
	buf_put_u64(b, i->ino);
	buf_put_u64(b, (uint64_t)i->mtime);
	buf_put_u32(b, i->nsec);
	buf_put_u32(b, r->xattrs);
	mark = buf_open_string(b);
	xattrs_filter(b, i->xattrs, r->xattrs);
	buf_close_string(b, mark);
	buf_put(b, r->path, strlen(r->path) + 1);
	buf_put(b, r->text, strlen(r->text) + 1);
}

void
sync_record_put(struct sync_plan *p, struct sync_spool *s,
    const struct sync_record *r)
{
	struct buf b;
	int err;

	buf_init(&b);
	sync_record_encode(&b, r);
	err = buf_err(&b);
	if (err == 0)
		err = sync_spool_put(s, buf_data(&b), buf_len(&b));
	if (err != 0) {
		p->not_whole = true;
		p->p.hooks.fail(p->p.hooks.arg, r->path, err_text(err));
	}
	buf_clear(&b);
}

bool
sync_record_get(struct sync_record *r, const uint8_t *bytes, size_t len)
{
	struct rd in = rd_from(bytes, len);
	struct walk_item *i = &r->item;
	struct span rest;

	*r = (struct sync_record){ .kind = rd_u8(&in) };
	r->pair = rd_u32(&in);
	r->source = rd_u32(&in);
	r->dest = rd_u32(&in);
	r->silent = rd_bool(&in);
	r->kept = rd_bool(&in);
	r->replaces_kind = rd_bool(&in);
	r->remove_source = rd_bool(&in);
	r->has_was = rd_bool(&in);
	r->set = rd_u32(&in);
	r->mode = rd_u32(&in);
	r->uid = rd_u32(&in);
	r->gid = rd_u32(&in);
	r->was.flags = rd_u32(&in);
	r->was.mode = rd_u32(&in);
	r->was.size = rd_u64(&in);
	r->was.mtime = r->was.atime = rd_u32(&in);
	rest = rd_bytes(&in, sizeof r->letters);
	if (rest.len == sizeof r->letters)
		memcpy(r->letters, rest.p, rest.len);
	i->kind = rd_u8(&in);
	i->mode = rd_u32(&in);
	i->uid = rd_u32(&in);
	i->gid = rd_u32(&in);
	i->size = rd_u64(&in);
	i->dev = rd_u64(&in);
	i->ino = rd_u64(&in);
	i->mtime = (int64_t)rd_u64(&in);
	i->nsec = rd_u32(&in);
	r->xattrs = rd_u32(&in);
	i->xattrs = rd_string(&in);
	rest = rd_rest(&in);
	if (rd_err(&in) != 0 || rest.len < 2 || rest.p[rest.len - 1] != '\0')
		return false;
	r->path = (const char *)rest.p;
	if (strlen(r->path) + 1 >= rest.len)
		return false;
	r->text = r->path + strlen(r->path) + 1;
	i->text = r->text;
	return true;
}

/* ---- paths -------------------------------------------------------------- */

char *
sync_shown(const struct sync_pair *pair, const char *path, bool is_dir)
{
	char *plain = sync_path_below(pair->shown, path), *shown;

	if (*plain == '\0') {
		free(plain);
		return xstrdup("./");
	}
	if (!is_dir)
		return plain;
	xasprintf(&shown, "%s/", plain);
	free(plain);
	return shown;
}

static const struct sync_pair *
pair_of(const struct sync_plan *p, uint32_t number)
{
	const struct sync_pair_state *s;

	TAILQ_FOREACH(s, &p->pairs, entry)
		if (s->number == number)
			return &s->pair;
	return NULL;
}

/* Where the old target goes, before it is replaced or deleted: a path below the
 * top of all targets. name is a path below that top. */
static char *
backup_of(const struct sync_plan *p, const struct sync_pair *pair,
    const struct sync_record *r, const char *name)
{
	const struct sync_opts *o = p->p.opts;
	size_t top = strlen(pair->target_root) - strlen(pair->shown);
	char *path, *full;

	if (!o->backup || !r->has_was || S_ISDIR(r->was.mode) ||
	    (r->kind != XFER_ORDER_COPY && r->kind != XFER_ORDER_DELETE &&
		!(r->kind == XFER_ORDER_MAKE_DIR && r->replaces_kind)))
		return NULL;
	if (o->backup_dir != NULL)
		xasprintf(&path, "%s/%s%s", o->backup_dir, name, o->suffix);
	else
		xasprintf(&path, "%s%s", name, o->suffix);
	if (!p->p.up)
		return path;
	if (*pair->shown != '\0')
		xasprintf(&full, "%.*s%s", (int)top, pair->target_root, path);
	else
		full = sync_path_below(pair->target_root, path);
	free(path);
	return full;
}

char *
sync_target_path(const struct sync_plan *p, const struct sync_record *r)
{
	const struct sync_pair *pair = pair_of(p, r->pair);
	const char *name = pair->as != NULL ? pair->as : r->path;

	return sync_path_below(p->p.up ? pair->target_root : pair->shown,
	    name);
}

char *
sync_record_shown(const struct sync_plan *p, const struct sync_record *r)
{
	return sync_shown(pair_of(p, r->pair), r->path, false);
}

/* ---- orders ------------------------------------------------------------- */

static void
set_attrs(struct sync_ready *y)
{
	const struct sync_record *r = &y->record;

	y->attrs = (struct sftp_attrs){ .flags = r->set, .mode = r->mode,
		.uid = r->uid, .gid = r->gid };
	y->attrs.mtime = (uint32_t)r->item.mtime;
	y->attrs.atime = y->attrs.mtime;
	if (r->item.kind == WALK_FILE) {
		y->attrs.flags |= SFTP_A_SIZE;
		y->attrs.size = r->item.size;
	}
	y->exact = (struct xfer_exact){ .known = true };
	y->exact.times[1].tv_sec = (time_t)r->item.mtime;
	y->exact.times[1].tv_nsec = r->item.nsec;
	y->exact.times[0] = y->exact.times[1];
}

static enum local_links
links_of(const struct sync_plan *p)
{
	const struct sync_opts *o = p->p.opts;

	if (p->p.up)
		return o->copy_links || o->copy_dirlinks ? LOCAL_LINKS_ALL :
							   LOCAL_LINKS_NONE;
	return o->keep_dirlinks ? LOCAL_LINKS_OWN : LOCAL_LINKS_NONE;
}

static void
set_paths(const struct sync_plan *p, struct sync_ready *y)
{
	const struct sync_record *r = &y->record;
	const struct sync_pair *pair = pair_of(p, r->pair);
	bool is_delete = r->kind == XFER_ORDER_DELETE ||
	    r->kind == XFER_ORDER_DELETE_DIR;
	/* pair->as is the name at the target of a pair of one file. */
	const char *name = pair->as != NULL ? pair->as : r->path;
	char *in_top = sync_path_below(pair->shown, name);
	struct xfer_order *o = &y->order;

	if (p->p.up) {
		y->remote = sync_path_below(pair->target_root, name);
		y->local = is_delete ? NULL : xstrdup(r->path);
		o->top = is_delete ? NULL : pair->source_roots[r->source];
	} else {
		y->local = xstrdup(in_top);
		y->remote = is_delete ? NULL :
		    sync_path_below(pair->source_roots[r->source], r->path);
	}
	if (y->local != NULL && *y->local == '\0') {
		free(y->local);
		y->local = xstrdup(".");
	}
	if (r->dest > 0 && p->p.up) {
		y->link = sync_path_below(pair->dest_roots[r->dest - 1], name);
	} else if (r->dest > 0) {
		y->link = xstrdup(name);
		o->link_at = pair->dest_locals[r->dest - 1];
	}
	if (r->link != NULL) {
		y->link = xstrdup(r->link);
		o->link_at = p->p.up ? NULL : pair->locals[0];
		o->waits = true;
	}
	o->link = y->link;
	y->basis = r->basis != NULL ? xstrdup(r->basis) : NULL;
	o->basis = y->basis;
	o->basis_size = r->basis_size;
	o->at = pair->locals[p->p.up ? r->source : 0];
	o->links = links_of(p);
	o->dir_links = p->p.up && p->p.opts->keep_dirlinks;
	y->backup = backup_of(p, pair, r, in_top);
	free(in_top);
	o->local = y->local;
	o->remote = y->remote;
	o->backup = y->backup;
}

void
sync_emit(struct sync_plan *p, const struct sync_record *r)
{
	struct sync_ready *y;

	if (p->p.opts->dry_run) {
		sync_tell(p, r);
		return;
	}
	y = xcalloc(1, sizeof *y);
	y->record = *r;
	y->path = xstrdup(r->path);
	y->text = xstrdup(r->text);
	y->record.path = y->path;
	y->record.text = y->record.item.text = y->text;
	y->was = r->was;
	y->record.item.xattrs = (struct span){ .p = NULL };
	xattrs_filter(&y->xattrs, r->item.xattrs, r->xattrs);
	ENSURE(buf_err(&y->xattrs) == 0);
	set_attrs(y);
	y->order = (struct xfer_order){ .kind = r->kind,
		.attrs = &y->attrs, .exact = &y->exact,
		.xattrs = { r->xattrs, buf_span(&y->xattrs) },
		.text = r->item.kind == WALK_LINK ? y->text : NULL,
		.was = r->has_was ? &y->was : NULL,
		.replaces_kind = r->replaces_kind,
		.remove_source = r->remove_source, .resume = r->resume,
		.id = p->next_id++ };
	if (r->kind == XFER_ORDER_DELETE || r->kind == XFER_ORDER_DELETE_DIR) {
		y->order.attrs = NULL;
		y->order.exact = NULL;
		y->order.text = NULL;
	}
	set_paths(p, y);
	y->record.link = y->link;
	TAILQ_INSERT_TAIL(&p->ready, y, entry);
}

void
sync_ready_free(struct sync_ready *r)
{
	free(r->local);
	free(r->remote);
	free(r->backup);
	free(r->link);
	free(r->basis);
	free(r->path);
	free(r->text);
	buf_clear(&r->xattrs);
	free(r);
}

/* ---- items -------------------------------------------------------------- */

void
sync_count_copy(struct sync_plan *p, const struct sync_record *r)
{
	if (r->kind != XFER_ORDER_COPY || r->item.kind != WALK_FILE ||
	    r->letters[0] == 'h')
		return;
	p->counts.to_copy++;
	p->counts.to_copy_bytes += r->item.size;
}

static void
count_done(struct sync_plan *p, const struct sync_record *r)
{
	bool is_new = strcmp(r->letters + 2, "+++++++++") == 0;

	switch (r->kind) {
	case XFER_ORDER_DELETE:
	case XFER_ORDER_DELETE_DIR:
		p->counts.deleted++;
		break;
	case XFER_ORDER_MAKE_DIR:
		p->counts.made_dirs++;
		break;
	case XFER_ORDER_COPY:
		if (r->letters[0] == 'h') {
			p->counts.made_files += is_new;
			break;
		}
		if (r->item.kind == WALK_LINK) {
			p->counts.made_links += is_new;
			break;
		}
		p->counts.made_files += is_new;
		p->counts.copied_files++;
		p->counts.copied_bytes += r->item.size;
		break;
	default:
		break;
	}
}

void
sync_tell(struct sync_plan *p, const struct sync_record *r)
{
	bool is_delete = r->kind == XFER_ORDER_DELETE ||
	    r->kind == XFER_ORDER_DELETE_DIR;
	char *shown;

	if (r->silent || r->letters[0] == '\0')
		return;
	count_done(p, r);
	shown = sync_shown(pair_of(p, r->pair), r->path,
	    r->item.kind == WALK_DIR);
	p->p.hooks.item(p->p.hooks.arg, r->letters, shown,
	    is_delete ? NULL : &r->item);
	free(shown);
}
