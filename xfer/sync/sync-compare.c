/* SPDX-License-Identifier: ISC */
#include "xfer/sync/sync-compare.h"

#include <string.h>

#include "base/mem.h"
#include "xfer/rules/sync-chmod.h"
#include "xfer/xattrs.h"

enum {
	PERMISSIONS = 0777, /* without -p nothing else is taken over */
	EXECUTE = 0111,
	LINK_MODE = 0777,
	NSEC_UNIT_MIN = 100, /* of the coarser file systems' clocks */
	NSEC_PER_SEC = 1000000000,
};

/* ---- times -------------------------------------------------------------- */

/* Has the target the source's time as far as its file system keeps it? One that
 * keeps seconds, or hundreds of nanoseconds, has cut the rest off. */
static bool
same_nsec(uint32_t source, uint32_t target)
{
	if (source == target)
		return true;
	for (uint32_t unit = NSEC_UNIT_MIN; unit <= NSEC_PER_SEC; unit *= 10)
		if (target == source - source % unit)
			return true;
	return false;
}

static uint64_t
apart(int64_t a, int64_t b)
{
	return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

bool
sync_time_is_near(const struct sync_opts *o, int64_t a, int64_t b)
{
	return o->modify_window != 0 && apart(a, b) <= o->modify_window;
}

/* How far the target's time is behind the source's: below 0 it is older, 0: the
 * times count as equal. */
static int
time_cmp(const struct sync_opts *o, const struct sync_ends *ends,
    const struct walk_item *source, const struct walk_item *target)
{
	int64_t s = source->mtime, t = target->mtime;

	if (apart(s, t) > o->modify_window)
		return t > s ? 1 : -1;
	if (s != t || o->modify_window != 0 || !ends->ns ||
	    same_nsec(source->nsec, target->nsec))
		return 0;
	return target->nsec > source->nsec ? 1 : -1;
}

bool
sync_keeps_time(const struct sync_opts *o, enum walk_kind kind)
{
	return o->times && !(kind == WALK_DIR && o->omit.dir_times) &&
	    !(kind == WALK_LINK && o->omit.link_times);
}

/* ---- attributes --------------------------------------------------------- */

/* The mode of a file that there is already, where only whether it can be
 * executed counts (-E): whoever may read it may execute it, or nobody. */
static uint32_t
executable_as(uint32_t source, uint32_t target)
{
	if ((source & EXECUTE) == 0)
		return target & ~(uint32_t)EXECUTE;
	if ((target & EXECUTE) != 0)
		return target;
	return target | (target & 0444) >> 2;
}

/* old: a target of the same kind, or NULL. */
static uint32_t
wanted_mode(const struct sync_opts *o, const struct sync_ends *ends,
    const struct walk_item *source, const struct walk_item *old)
{
	uint32_t mode;

	if (source->kind == WALK_LINK)
		return LINK_MODE;
	mode = sync_chmod_apply(o->chmod, source->mode,
	    source->kind == WALK_DIR);
	if (o->perms)
		return mode;
	if (old == NULL)
		return mode & PERMISSIONS & ~ends->umask_target;
	if (o->also.executability && source->kind == WALK_FILE)
		return executable_as(mode, old->mode);
	return old->mode;
}

static bool
may_give_to(const struct sync_ends *ends, uint32_t gid)
{
	if (ends->target_is_root)
		return true;
	for (size_t i = 0; i < ends->n_groups; i++)
		if (ends->groups[i] == gid)
			return true;
	return false;
}

static void
want_owner(const struct sync_opts *o, const struct sync_ends *ends,
    const struct walk_item *source, struct sync_decision *d)
{
	d->uid = o->chown_user == SYNC_ANY_ID ? source->uid :
						(uint32_t)o->chown_user;
	d->gid = o->chown_group == SYNC_ANY_ID ? source->gid :
						 (uint32_t)o->chown_group;
	d->sets_owner = (o->owner || o->chown_user != SYNC_ANY_ID) &&
	    ends->target_is_root;
	d->sets_group = (o->group || o->chown_group != SYNC_ANY_ID) &&
	    may_give_to(ends, d->gid);
}

/* Only root can set attributes of all kinds. A link has no ACL, and no
 * attributes of the kind `user`. */
uint32_t
sync_xattr_kinds(const struct sync_opts *o, const struct sync_ends *ends,
    enum walk_kind kind)
{
	uint32_t kinds = 0;

	if (o->also.acls)
		kinds |= XATTRS_ACL;
	if (o->also.xattrs)
		kinds |= XATTRS_USER |
		    (ends->target_is_root ? XATTRS_OTHER : 0);
	if (kind == WALK_LINK)
		return kinds & XATTRS_OTHER;
	return kind == WALK_FILE || kind == WALK_DIR ? kinds : 0;
}

/* ---- what differs ------------------------------------------------------- */

static bool
same_digest(const struct walk_item *a, const struct walk_item *b)
{
	return a->digest != NULL && b->digest != NULL &&
	    memcmp(a->digest, b->digest, WALK_DIGEST_LEN) == 0;
}

/* Adds what differs of two files. True: the data has to be copied. A file of
 * which an end has no digest is one that differs. */
static bool
file_changed(const struct sync_opts *o, int time,
    const struct walk_item *source, const struct walk_item *target,
    struct sync_decision *d)
{
	if (source->size != target->size)
		d->differs |= SYNC_DIFFERS_SIZE;
	if (o->checksum && (source->size != target->size ||
	    !same_digest(source, target)))
		d->differs |= SYNC_DIFFERS_DIGEST;
	if (source->size != target->size)
		return true;
	if (o->checksum)
		return (d->differs & SYNC_DIFFERS_DIGEST) != 0;
	if (o->size_only)
		return false;
	return o->ignore_times || time != 0;
}

static unsigned
xattr_differences(uint32_t kinds, const struct walk_item *source,
    const struct walk_item *target)
{
	unsigned differs = 0;

	if ((kinds & XATTRS_ACL) != 0 && (target->xattrs_unread ||
	    xattrs_differ(source->xattrs, target->xattrs, XATTRS_ACL)))
		differs |= SYNC_DIFFERS_ACL;
	kinds &= ~(uint32_t)XATTRS_ACL;
	if (kinds != 0 && (target->xattrs_unread ||
	    xattrs_differ(source->xattrs, target->xattrs, kinds)))
		differs |= SYNC_DIFFERS_XATTRS;
	return differs;
}

static void
attributes_differ(const struct sync_opts *o, int time,
    const struct walk_item *source, const struct walk_item *target,
    struct sync_decision *d)
{
	bool writes = d->action == SYNC_COPY || d->action == SYNC_MAKE_LINK;

	if (sync_keeps_time(o, source->kind)) {
		if (time != 0)
			d->differs |= SYNC_DIFFERS_TIME;
	} else if (writes)
		d->differs |= o->times ? SYNC_DIFFERS_TIME : SYNC_DIFFERS_NOW;
	if (source->kind != WALK_LINK && d->mode != target->mode)
		d->differs |= SYNC_DIFFERS_MODE;
	if (d->sets_owner && d->uid != target->uid)
		d->differs |= SYNC_DIFFERS_OWNER;
	if (d->sets_group && d->gid != target->gid)
		d->differs |= SYNC_DIFFERS_GROUP;
	d->differs |= xattr_differences(d->xattrs, source, target);
	if (!writes && d->differs != 0)
		d->action = SYNC_ATTRS;
}

/* ---- decision ----------------------------------------------------------- */

/* What makes an entry of this kind, if it is asked for and can be made. */
static enum sync_action
made_by(const struct sync_opts *o, enum walk_kind kind)
{
	switch (kind) {
	case WALK_FILE:
		return SYNC_COPY;
	case WALK_DIR:
		return o->recursive || o->dirs ? SYNC_MAKE_DIR : SYNC_SKIP;
	case WALK_LINK:
		return o->links ? SYNC_MAKE_LINK : SYNC_SKIP;
	default:
		return SYNC_SKIP;
	}
}

/* Is the target newer, for -u? As with rsync, one that is older by less than
 * --modify-window is. */
static bool
is_newer(const struct sync_opts *o, const struct walk_item *source,
    const struct walk_item *target)
{
	return target->mtime > source->mtime ||
	    (uint64_t)source->mtime - (uint64_t)target->mtime <
	    o->modify_window;
}

/* Does an option keep this name as it is in the target? */
static bool
left_alone(const struct sync_opts *o, int time, const struct walk_item *source,
    const struct walk_item *target)
{
	bool file = source->kind == WALK_FILE;

	if (target == NULL ? o->existing :
	    o->ignore_existing &&
	    !(source->kind == WALK_DIR && target->kind == WALK_DIR))
		return true;
	if (file && (source->size < o->size.min ||
	    (o->size.max_given && source->size > o->size.max)))
		return true;
	return o->update && file && target != NULL &&
	    target->kind == WALK_FILE &&
	    (time > 0 || is_newer(o, source, target));
}

struct sync_decision
sync_decide(const struct sync_opts *o, const struct sync_ends *ends,
    const struct walk_item *source, const struct walk_item *target)
{
	bool same_kind = target != NULL && target->kind == source->kind;
	int time = same_kind ? time_cmp(o, ends, source, target) : 0;
	struct sync_decision d = {
		.action = made_by(o, source->kind),
		.is_new = !same_kind,
		.replaces_kind = target != NULL && !same_kind,
	};

	if (d.action == SYNC_SKIP)
		return d;
	d.mode = wanted_mode(o, ends, source, same_kind ? target : NULL);
	want_owner(o, ends, source, &d);
	if (!source->xattrs_unread)
		d.xattrs = sync_xattr_kinds(o, ends, source->kind);
	if (left_alone(o, time, source, target)) {
		d.action = SYNC_NOTHING;
		d.left_alone = true;
		return d;
	}
	if (!same_kind)
		return d;
	if (source->kind == WALK_LINK &&
	    strcmp(source->text, target->text) != 0)
		d.differs |= SYNC_DIFFERS_TEXT;
	else if (source->kind != WALK_FILE ||
	    !file_changed(o, time, source, target, &d))
		d.action = SYNC_NOTHING;
	else if (o->size.grows && target->size >= source->size) {
		d.action = SYNC_NOTHING;
		d.left_alone = true;
		return d;
	}
	attributes_differ(o, time, source, target, &d);
	return d;
}

/* ---- the letters of -i -------------------------------------------------- */

static char
what_happens(const struct sync_decision *d, bool up)
{
	switch (d->action) {
	case SYNC_COPY:
		return up ? '<' : '>';
	case SYNC_MAKE_DIR:
	case SYNC_MAKE_LINK:
		return 'c';
	default:
		return '.';
	}
}

static char
letter_of_kind(enum walk_kind kind)
{
	switch (kind) {
	case WALK_DIR:
		return 'd';
	case WALK_LINK:
		return 'L';
	case WALK_CHAR:
	case WALK_BLOCK:
		return 'D';
	case WALK_FIFO:
	case WALK_SOCKET:
		return 'S';
	default:
		return 'f';
	}
}

void
sync_itemise(const struct sync_decision *d, bool up,
    const struct walk_item *source, char out[SYNC_ITEM_LEN + 1])
{
	static const struct {
		unsigned differs;
		char letter;
	} letters[] = {
		{ SYNC_DIFFERS_DIGEST | SYNC_DIFFERS_TEXT, 'c' },
		{ SYNC_DIFFERS_SIZE, 's' },
		{ SYNC_DIFFERS_TIME, 't' },
		{ SYNC_DIFFERS_MODE, 'p' },
		{ SYNC_DIFFERS_OWNER, 'o' },
		{ SYNC_DIFFERS_GROUP, 'g' },
	};

	memset(out, d->is_new ? '+' : '.', SYNC_ITEM_LEN);
	out[SYNC_ITEM_LEN] = '\0';
	out[0] = what_happens(d, up);
	out[1] = letter_of_kind(source->kind);
	if (d->is_new)
		return;
	for (size_t i = 0; i < ARRAY_LEN(letters); i++)
		if ((d->differs & letters[i].differs) != 0)
			out[2 + i] = letters[i].letter;
	if ((d->differs & SYNC_DIFFERS_NOW) != 0)
		out[4] = 'T';
	if ((d->differs & SYNC_DIFFERS_ACL) != 0)
		out[9] = 'a';
	if ((d->differs & SYNC_DIFFERS_XATTRS) != 0)
		out[10] = 'x';
	if (d->action != SYNC_COPY &&
	    strspn(out + 2, ".") == SYNC_ITEM_LEN - 2)
		memset(out + 2, ' ', SYNC_ITEM_LEN - 2);
}
