/* SPDX-License-Identifier: ISC */
/* From the entries of one name to records: orders of a plan in their bare
 * form. */
#include "config.h"

#include <sys/stat.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "xfer/part-name.h"
#include "xfer/sftp/sftp-proto.h"
#include "xfer/sync/sync-plan-internal.h"
#include "xfer/rules/sync-rules.h"

enum { PERMISSIONS = 0777 };

/* Of names of a list it is tried to go on with a part from this size on: to
 * look for one takes a round trip, and one that is left stays for ever. */
enum { LISTED_RESUME_MIN = 1 << 20 };
enum { PARTS_MAX = 256 }; /* names of parts of one directory that are
			   * remembered */

/* ---- records ------------------------------------------------------------ */

static mode_t
kind_bits(enum walk_kind kind)
{
	static const mode_t bits[WALK_KINDS] = {
		[WALK_FILE] = S_IFREG,
		[WALK_DIR] = S_IFDIR,
		[WALK_LINK] = S_IFLNK,
		[WALK_FIFO] = S_IFIFO,
		[WALK_CHAR] = S_IFCHR,
		[WALK_BLOCK] = S_IFBLK,
		[WALK_SOCKET] = S_IFSOCK,
	};

	return bits[kind];
}

/* What a server tells of the target now, to see later if it is still so. */
static struct sftp_attrs
attrs_of(const struct walk_item *t)
{
	struct sftp_attrs a = { .flags = SFTP_A_MODE | SFTP_A_TIMES,
		.mode = (uint32_t)kind_bits(t->kind) | t->mode,
		.mtime = (uint32_t)t->mtime, .atime = (uint32_t)t->mtime };

	if (t->kind == WALK_FILE) {
		a.flags |= SFTP_A_SIZE;
		a.size = t->size;
	}
	return a;
}

/* True if a target that exists has the right time, within --modify-window. It
 * keeps that time, unless its data are written. */
static bool
has_time(const struct sync_decision *d)
{
	return !d->is_new && d->action != SYNC_COPY &&
	    d->action != SYNC_MAKE_LINK &&
	    (d->differs & SYNC_DIFFERS_TIME) == 0;
}

/* Chooses the attributes that the target gets. A new file, also in the place of
 * an old one, has none of the old one's. The time of a directory changes with
 * its entries, so whether to set it is decided later. */
static uint32_t
to_set(const struct sync_plan *p, const struct sync_decision *d,
    enum walk_kind kind)
{
	const struct sync_opts *o = p->p.opts;
	uint32_t set = 0;

	if (kind != WALK_LINK && (o->perms ||
		(o->chmod != NULL && d->is_new) ||
		(d->differs & SYNC_DIFFERS_MODE) != 0))
		set |= SFTP_A_MODE;
	if (sync_keeps_time(o, kind) && (kind == WALK_DIR || !has_time(d)))
		set |= SFTP_A_TIMES;
	if (d->sets_owner || d->sets_group)
		set |= SFTP_A_OWNER;
	return set;
}

static struct sync_record
record_of(struct sync_plan *p, const struct sync_decision *d,
    unsigned source, const struct walk_item *s, const struct walk_item *t)
{
	struct sync_record r = { .pair = p->now->number, .source = source,
		.set = to_set(p, d, s->kind),
		.mode = (uint32_t)kind_bits(s->kind) | d->mode,
		.uid = d->sets_owner ? d->uid : UINT32_MAX,
		.gid = d->sets_group ? d->gid : UINT32_MAX,
		.xattrs = d->xattrs,
		.replaces_kind = d->replaces_kind, .item = *s,
		.text = s->kind == WALK_LINK ? s->text : "" };

	r.item.text = r.text;
	sync_itemise(d, p->p.up && !p->p.here, s, r.letters);
	if (t != NULL) {
		r.is = (struct sync_file_id){ t->dev, t->ino };
		r.has_was = true;
		r.was = attrs_of(t);
	}
	return r;
}

/* ---- directories -------------------------------------------------------- */

static struct sync_child *
add_child(struct sync_plan *p, const char *path)
{
	return sync_children_add(TAILQ_LAST(&p->frames, sync_frames), path);
}

/* The order that makes the directory, without its path, from the record of its
 * attributes: so a child holds one record, not two. */
static struct sync_record
make_of(const struct sync_child *c)
{
	struct sync_record r = c->attrs;

	r.kind = XFER_ORDER_MAKE_DIR;
	r.xattrs = 0; /* they are set with the other attributes */
	r.silent = c->make.silent;
	r.has_was = c->make.has_was;
	r.replaces_kind = c->make.replaces_kind;
	r.set = c->make.set;
	return r;
}

/* -m: orders the open directory, and those above it, to be made if they have
 * waited for a first entry of the source. */
static void
fill_dirs(struct sync_plan *p)
{
	struct sync_frame *f;
	struct sync_record r;

	if (!p->p.opts->prune_empty)
		return;
	TAILQ_FOREACH(f, &p->frames, entry) {
		if (!f->has_self || !f->self.pending)
			continue;
		f->self.pending = false;
		if (!f->self.made_late)
			continue;
		r = make_of(&f->self);
		r.path = f->path;
		sync_emit(p, &r);
	}
}

/* Has the open directory made writable for its owner, once. */
static void
touch(struct sync_plan *p)
{
	struct sync_frame *f = TAILQ_LAST(&p->frames, sync_frames);
	struct sync_record r;

	if (f->has_self && !f->touched && f->self.locked) {
		r = make_of(&f->self);
		r.path = f->path;
		r.silent = true;
		sync_emit(p, &r);
	}
	f->touched = true;
}

static bool
is_protected(const struct sync_plan *p, const char *path, bool is_dir)
{
	char *shown = sync_shown(&p->now->pair, path, false);
	bool is = sync_rules_excludes(p->p.rules, p->now->group_gone ?
	    SYNC_RECEIVER_GONE : SYNC_RECEIVER, shown, is_dir);

	free(shown);
	return is;
}

/* True if the path is that of the target itself. */
static bool
is_target(const struct sync_plan *p, const char *path)
{
	return *path == '\0' && p->now->pair.shown[0] == '\0';
}

/* Takes a directory of the source: it is made if it is missing, and gets its
 * attributes when all else is done. With -m, a protected directory counts as an
 * entry, and so does the target itself. */
static void
take_dir(struct sync_plan *p, struct sync_child *c,
    const struct sync_decision *d, const struct sync_record *r,
    const char *path, bool may_go)
{
	bool is_there = !d->is_new;
	bool owner_writes = r->has_was && (r->was.mode & 0300) == 0300;

	c->attrs = *r;
	if (r->xattrs != 0 && r->item.xattrs.len > 0) {
		c->xattrs = xmalloc(r->item.xattrs.len);
		memcpy(c->xattrs, r->item.xattrs.p, r->item.xattrs.len);
		c->attrs.item.xattrs.p = c->xattrs;
	}
	c->make.silent = r->silent;
	c->make.has_was = r->has_was;
	c->make.replaces_kind = r->replaces_kind;
	c->make.set = r->set;
	c->attrs.kind = XFER_ORDER_DIR_ATTRS;
	c->attrs.silent = true;
	c->attrs.has_was = c->attrs.replaces_kind = false;
	c->attrs_differ = d->action != SYNC_NOTHING;
	c->has_time = has_time(d);
	c->locked = is_there && !owner_writes && !p->p.ends->target_is_root;
	if (c->locked) {
		/* The transfer lets the owner write to it: so the mode that it
		 * had is set again at the end. */
		c->attrs.set |= SFTP_A_MODE;
	}
	c->may_go = r->has_was && may_go;
	c->made_late = d->action == SYNC_MAKE_DIR;
	c->pending = p->p.opts->prune_empty && !p->alone &&
	    !is_target(p, path) && !is_protected(p, path, true);
	if (!c->pending)
		fill_dirs(p);
	if (c->made_late && !c->pending) {
		struct sync_record make = make_of(c);

		touch(p);
		make.path = path;
		sync_emit(p, &make);
	} else if (!c->made_late &&
	    (d->action == SYNC_ATTRS || p->p.tell_equal)) {
		/* The item is told with the attributes. */
		c->attrs.silent = r->silent;
		c->attrs_differ = true;
	}
}

/* -m: deletes a directory of the target into which nothing of the source came,
 * as if the source did not have the directory. */
static void
prune(struct sync_plan *p, struct sync_frame *f)
{
	struct sync_frame *above = TAILQ_PREV(f, sync_frames, entry);
	struct sync_record r = make_of(&f->self);

	above->touched = true;
	r.kind = XFER_ORDER_DELETE_DIR;
	r.path = f->path;
	r.replaces_kind = false;
	memcpy(r.letters, "*deleting  ", sizeof r.letters);
	if (!S_ISDIR(r.was.mode)) {
		if (is_protected(p, f->path, false))
			return;
		r.kind = XFER_ORDER_DELETE;
		r.item.kind = WALK_FILE;
	}
	p->n_deletes++;
	p->now->n_gone++;
	sync_record_put(p, &p->pruned, &r);
}

void
sync_frame_end(struct sync_plan *p, struct sync_frame *f)
{
	bool opened = f->touched && f->self.locked;
	struct sync_record r;

	if (!f->has_self)
		return;
	if (f->self.pending && f->self.may_go && f->has_group && !f->stays &&
	    !f->unsure && p->p.opts->delete && !p->now->pair.names_only)
		prune(p, f);
	if (f->self.pending ? !opened || f->self.made_late :
	    !f->touched && !f->self.attrs_differ)
		return;
	r = f->self.attrs;
	r.path = f->path;
	if (f->self.pending) {
		/* The directory was not filled, so -m leaves it out. But it was
		 * made writable for its owner, so its mode is set back. */
		r.silent = true;
		r.set = SFTP_A_MODE;
		r.xattrs = 0;
		r.mode = f->self.attrs.was.mode;
	}
	if (f->self.has_time && !f->touched)
		r.set &= ~(uint32_t)SFTP_A_TIMES;
	sync_record_put(p, &p->dirs, &r);
}

void
sync_top(struct sync_plan *p, const struct walk_item *s,
    const struct walk_item *t)
{
	struct sync_frame *f = TAILQ_FIRST(&p->frames);
	const struct sync_pair *pair = &p->now->pair;
	bool is_there = t->kind == WALK_DIR;
	struct sync_decision d = sync_decide(p->p.opts, p->p.ends, s,
	    is_there ? t : NULL);
	struct sync_record r;

	if (is_there && pair->target_made) {
		/* The program has made the target's top just now. */
		d.action = SYNC_ATTRS;
		d.is_new = true;
	}
	r = record_of(p, &d, 0, s, is_there ? t : NULL);
	if (pair->target_made) {
		/* The mode of a directory made with all permissions, less those
		 * in the umask. */
		if (is_there && (r.set & SFTP_A_MODE) == 0) {
			r.set |= SFTP_A_MODE;
			r.mode = (uint32_t)S_IFDIR |
			    (s->mode & t->mode & PERMISSIONS);
		}
		memcpy(r.letters, "cd+++++++++", sizeof r.letters);
		sync_dests_apply(p, &d, &r, NULL);
	}
	f->has_self = true;
	take_dir(p, &f->self, &d, &r, "", false);
	f->own_xattrs = f->self.xattrs;
}

/* ---- names -------------------------------------------------------------- */

static void
count(struct sync_plan *p, const struct walk_item *s)
{
	p->counts.entries++;
	switch (s->kind) {
	case WALK_FILE:
		p->counts.files++;
		p->counts.bytes += s->size;
		break;
	case WALK_DIR:
		p->counts.dirs++;
		break;
	case WALK_LINK:
		p->counts.links++;
		p->counts.bytes += strlen(s->text);
		break;
	default:
		p->counts.specials++;
	}
}

static void
skip(struct sync_plan *p, const char *path, const struct walk_item *s,
    const struct walk_item *t)
{
	const struct sync_opts *o = p->p.opts;
	char *shown = sync_shown(&p->now->pair, path, false);
	bool device = s->kind == WALK_CHAR || s->kind == WALK_BLOCK;

	if (s->kind == WALK_DIR)
		p->p.hooks.note(p->p.hooks.arg, shown, "is a directory, and "
		    "is skipped: -r");
	else if (s->kind == WALK_LINK)
		p->p.hooks.note(p->p.hooks.arg, shown, "is a link, and is "
		    "skipped: -l");
	else if (!(device ? o->devices : o->specials))
		p->p.hooks.note(p->p.hooks.arg, shown, "is no regular file, "
		    "and is skipped");
	else if (t == NULL || t->kind != s->kind)
		p->p.hooks.fail(p->p.hooks.arg, shown, "cannot be made "
		    "through SFTP: --no-D leaves such files out");
	free(shown);
}

/* A file or link in place of a directory: what is in that has to go first. An
 * empty one needs no --delete. */
static void
replace_dir(struct sync_plan *p, const char *path, struct sync_record *r,
    const struct walk_item *t)
{
	struct sync_record gone = { .kind = XFER_ORDER_DELETE_DIR,
		.pair = r->pair, .silent = true, .path = path, .text = "",
		.has_was = true, .was = attrs_of(t) };

	add_child(p, path)->gone = true;
	sync_record_put(p, &p->to_delete, &gone);
	r->path = path;
	r->has_was = r->replaces_kind = false;
	sync_record_put(p, &p->late, r);
}

/* True if an interrupted run has left a part of the file; the transfer checks
 * that it is this file's. The parts of names that sort behind that of the part
 * are not known yet, so these begin a new part. */
static bool
has_part(const struct sync_plan *p, const char *path)
{
	const struct strlist *parts = &p->now->parts;
	bool has = false;

	for (unsigned n = 1; n <= XFER_PARTS_MAX && parts->n > 0 && !has;
	    n++) {
		char *part = xfer_part_name(path, n);

		has = part != NULL && strlist_has(parts, part);
		free(part);
	}
	return has;
}

static void
take_file(struct sync_plan *p, const char *path,
    struct sync_decision *d, struct sync_record *r,
    const struct walk_item *t)
{
	const struct sync_opts *o = p->p.opts;
	bool for_dir = d->replaces_kind && t != NULL && t->kind == WALK_DIR;

	r->path = path;
	r->remove_source = o->remove_source && !d->left_alone;
	r->kind = d->action == SYNC_COPY || d->action == SYNC_MAKE_LINK ?
	    XFER_ORDER_COPY : XFER_ORDER_ATTRS;
	if (!for_dir && !p->alone && sync_set_takes(p, d, r)) {
		touch(p);
		return;
	}
	if (d->action == SYNC_NOTHING) {
		r->set = r->xattrs = 0;
		if (p->p.tell_equal && !d->left_alone)
			sync_tell(p, r);
		r->silent = true;
		if (r->remove_source || (p->p.every_file && !d->left_alone &&
		    r->item.kind == WALK_FILE))
			sync_emit(p, r);
		return;
	}
	touch(p);
	sync_count_copy(p, r);
	if (for_dir) {
		replace_dir(p, path, r, t);
	} else {
		r->resume = r->item.kind == WALK_FILE &&
		    (has_part(p, path) || (o->also.listed &&
			r->item.size >= LISTED_RESUME_MIN));
		if (p->alone || !sync_basis_takes(p, r))
			sync_emit(p, r);
	}
}

/* Reports an entry of the target whose kind is not known, such as, with -K, a
 * link that leads out of the target. The entry stays as it is, with all below
 * it. */
static void
unknown_target(struct sync_plan *p, const char *path,
    const struct walk_item *t)
{
	char *shown = sync_shown(&p->now->pair, path, false);

	p->p.hooks.fail(p->p.hooks.arg, shown, sftp_status_text(t->status));
	p->not_whole = true;
	free(shown);
}

static void
xattrs_unread(struct sync_plan *p, const char *path)
{
	char *shown = sync_shown(&p->now->pair, path, false);

	p->p.hooks.fail(p->p.hooks.arg, shown,
	    "its extended attributes cannot be read");
	free(shown);
}

/* Reports a file that would have to be read from a tape, and true. It is not
 * copied; and because it may be at the target under another name, nothing is
 * deleted. */
static bool
stays_away(struct sync_plan *p, const char *path, const struct walk_item *s,
    const struct sync_decision *d)
{
	char *shown;

	if (!s->away || p->p.opts->also.recall || d->left_alone ||
	    (d->action != SYNC_COPY && !(p->p.every_file && p->p.up)))
		return false;
	shown = sync_shown(&p->now->pair, path, false);
	p->p.hooks.fail(p->p.hooks.arg, shown, "has a size and no blocks, as "
	    "on a tape: --recall reads it");
	p->not_whole = true;
	free(shown);
	return true;
}

void
sync_one(struct sync_plan *p, const char *path, unsigned source,
    const struct walk_item *s, const struct walk_item *t)
{
	struct sync_decision d;
	struct sync_record r;

	count(p, s);
	if (t != NULL && t->kind == WALK_UNKNOWN) {
		unknown_target(p, path, t);
		return;
	}
	if (s->kind != WALK_DIR)
		fill_dirs(p);
	d = sync_decide(p->p.opts, p->p.ends, s, t);
	if (d.action == SYNC_SKIP) {
		skip(p, path, s, t);
		return;
	}
	if (s->xattrs_unread && !d.left_alone &&
	    sync_xattr_kinds(p->p.opts, p->p.ends, s->kind) != 0)
		xattrs_unread(p, path);
	r = record_of(p, &d, source, s, t);
	if (p->now->pair.n_dests > 0 && !d.left_alone)
		sync_dests_apply(p, &d, &r, t);
	if (stays_away(p, path, s, &d))
		return;
	if (s->kind != WALK_DIR)
		take_file(p, path, &d, &r, t);
	else if (d.action != SYNC_NOTHING || !d.is_new)
		take_dir(p, add_child(p, path), &d, &r, path,
		    t != NULL && !t->not_entered);
}

/* ---- names that are only at the target ---------------------------------- */

void
sync_keep(struct sync_plan *p, const char *path)
{
	const struct sync_record r = { .kind = XFER_ORDER_DELETE,
		.pair = p->now->number, .kept = true, .path = path,
		.text = "" };
	struct sync_frame *f;

	for (f = TAILQ_LAST(&p->frames, sync_frames); f != NULL;
	    f = TAILQ_PREV(f, sync_frames, entry)) {
		if (f->stays)
			break;
		f->stays = true;
		if (!f->gone)
			break;
		p->n_deletes -= f->counted;
	}
	sync_record_put(p, &p->to_delete, &r);
}

/* True if the path is that of the directory, or is in it, or above it. */
static bool
is_with(const char *dir, const char *path)
{
	size_t len = strlen(path), dir_len = strlen(dir);

	return strncmp(path, dir, MIN(len, dir_len)) == 0 &&
	    (len == dir_len || (len < dir_len ? dir[len] : path[dir_len]) ==
		'/');
}

/* True if the path belongs to this run's own directories, for backups or as
 * further directories of the target: they are never taken for a part of a
 * source. */
static bool
is_of_run(const struct sync_plan *p, const char *path)
{
	const struct sync_opts *o = p->p.opts;

	for (size_t i = 0; p->p.dests != NULL && i < p->p.dests->n; i++)
		if (is_with(p->p.dests->v[i], path))
			return true;
	return o->backup && o->backup_dir != NULL &&
	    is_with(o->backup_dir, path);
}

static bool
stays(struct sync_plan *p, const char *path, const struct walk_item *t)
{
	char *shown;
	bool of_run;

	if (t->kind == WALK_UNKNOWN || t->not_entered ||
	    xfer_is_part(path) || xfer_is_own_name(path))
		return true;
	shown = sync_shown(&p->now->pair, path, false);
	of_run = is_of_run(p, shown);
	free(shown);
	return of_run || is_protected(p, path, t->kind == WALK_DIR);
}

void
sync_gone(struct sync_plan *p, const char *path, const struct walk_item *t)
{
	struct sync_record r = { .pair = p->now->number, .path = path,
		.text = "", .kind = t->kind == WALK_DIR ?
		    XFER_ORDER_DELETE_DIR : XFER_ORDER_DELETE,
		.item = *t, .has_was = true, .was = attrs_of(t) };
	struct sync_child *c;

	if (!p->now->group_gone && t->kind == WALK_FILE &&
	    p->now->parts.n < PARTS_MAX && xfer_is_part(path))
		xstrlist_add(&p->now->parts, path);
	/* What is in a directory that goes, goes also with --force alone. */
	if (!p->now->group_gone && (!p->p.opts->delete ||
	    p->now->pair.names_only || p->now->group_unsure))
		return;
	if ((!p->p.opts->delete && !p->p.opts->force) || stays(p, path, t)) {
		if (p->now->group_gone)
			sync_keep(p, path);
		else
			TAILQ_LAST(&p->frames, sync_frames)->stays = true;
		return;
	}
	memcpy(r.letters, "*deleting  ", sizeof r.letters);
	touch(p);
	if (t->kind == WALK_DIR) {
		c = add_child(p, path);
		c->gone = c->counted = true;
	}
	p->n_deletes++;
	p->now->n_gone++;
	sync_basis_goes(p, t);
	sync_record_put(p, &p->to_delete, &r);
}
