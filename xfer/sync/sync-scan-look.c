/* SPDX-License-Identifier: ISC */
/*
 * Looks up what a listing does not tell of an entry: the text of a link, what a
 * link leads to if links are followed, the device of a directory, extended
 * attributes, and attributes at servers that leave them out. An entry gets one
 * look after the other; many entries are looked up at the same time.
 *
 * DESIGN. A link to a directory could lead back to one that the scan came
 * through. So the link's real path is asked for, and compared with the real
 * paths of all directories above it. A path goes through LINKS_MAX links at
 * most, as in the kernel.
 */
#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "xfer/sync/sync-scan-list-internal.h"

enum { LINKS_MAX = 40 };

enum list_look_kind {
	LOOK_ATTRS = 1,
	LOOK_TARGET = 2,
	LOOK_TARGET_NS = 4,
	LOOK_REAL = 8,
	LOOK_TEXT = 16,
	LOOK_DEVICE = 32,
	LOOK_XATTRS = 64, /* attributes of what the entry has turned out to
			   * be */
};

/* A request about an entry, or about the top. */
struct look {
	struct list_dir *dir;
	size_t at; /* which entry */
	bool of_top;
	enum list_look_kind kind;
};

bool
list_follows(const struct scan_list *l)
{
	return l->opts.copy_links || l->opts.copy_dirlinks;
}

bool
list_looks_done(const struct list_dir *d)
{
	return d->looks == 0 && d->next_look == d->group.count;
}

static bool
has_xattrs(const struct walk_item *item)
{
	return item->kind == WALK_FILE || item->kind == WALK_DIR ||
	    item->kind == WALK_LINK;
}

/* The next look that the entry needs; 0: none. */
static unsigned
next_look(const struct scan_list *l, const struct scan_entry *e)
{
	unsigned wanted = 0;

	if (e->dropped)
		return 0;
	switch (e->item.kind) {
	case WALK_UNKNOWN:
		wanted = e->item.status == SFTP_OK ? LOOK_ATTRS : 0;
		break;
	case WALK_LINK:
		wanted = (list_follows(l) ? LOOK_TARGET : 0) |
		    ((l->opts.want & WALK_TEXT) != 0 ? LOOK_TEXT : 0);
		break;
	case WALK_DIR:
		wanted = (e->via_link ? LOOK_REAL : 0) |
		    ((l->opts.want & LIST_DEVICES) != 0 && !l->exact ?
			LOOK_DEVICE : 0);
		break;
	default:
		break;
	}
	if (e->via_link && l->exact)
		wanted |= LOOK_TARGET_NS;
	if (has_xattrs(&e->item) &&
	    scan_xattr_kinds(l->s, l->opts.want) != 0)
		wanted |= LOOK_XATTRS;
	wanted &= ~e->looks;
	return wanted & -wanted; /* the lowest bit */
}

/* ---- answers ------------------------------------------------------------- */

static void
set_unknown(struct scan_entry *e, uint32_t status)
{
	e->item = (struct walk_item){ .status = status };
	e->via_link = false;
}

static void
take_target(const struct scan_list *l, struct scan_entry *e,
    const struct sftp_reply *reply)
{
	struct walk_item item = { .is_group = false };

	if (reply->type == SFTP_STATUS ||
	    !scan_take_attrs(&item, &reply->attrs)) {
		if (l->opts.copy_links || scan_leads_out(l->s, reply))
			set_unknown(e, MAX(reply->status, 1u));
		return;
	}
	if (!l->opts.copy_links && item.kind != WALK_DIR)
		return;
	e->item = item;
	e->via_link = true;
}

/* True if path is the real path of the directory a. The real path is known only
 * of directories that a link leads to; that of a is put together from the next
 * such directory above it and the names from there on. */
static bool
is_real_path(const struct scan_list *l, const struct list_dir *a,
    const char *path)
{
	const struct list_dir *above = a;
	const char *real, *rest;
	size_t len;

	while (above->parent != NULL && above->real[0] == '\0')
		above = above->parent;
	real = above->parent != NULL ? above->real : l->real;
	if (real == NULL)
		return false;
	len = strlen(real);
	rest = a->path + strlen(above->path);
	rest += *rest == '/';
	if (strncmp(path, real, len) != 0)
		return false;
	path += len;
	if (*rest != '\0' && (len == 0 || real[len - 1] != '/') &&
	    *path++ != '/')
		return false;
	return strcmp(path, rest) == 0;
}

static bool
leads_back(const struct list_dir *d, const char *real)
{
	unsigned links = 0;

	for (const struct list_dir *a = d; a != NULL; a = a->parent) {
		links += a->real[0] != '\0';
		if (links >= LINKS_MAX || is_real_path(d->list, a, real))
			return true;
	}
	return false;
}

/* The name in an answer to REALPATH or READLINK; caller frees; NULL: none. */
static char *
name_of(const struct sftp_reply *reply)
{
	struct rd body = reply->body;
	struct sftp_entry e;

	if (reply->type != SFTP_NAME || reply->count != 1 ||
	    !sftp_next_entry(&body, &e) || e.name.len > WALK_PATH_MAX)
		return NULL;
	return span_dup(e.name);
}

static uint64_t
device_of(const struct sftp_reply *reply)
{
	struct rd body = reply->body;
	struct sftp_statvfs v;
	struct sftp_stat_ns ns;

	if (reply->type != SFTP_EXTENDED_REPLY)
		return UINT64_MAX;
	if (body.len > 64) {
		sftp_get_statvfs(&body, &v);
		return body.err == 0 ? v.fsid : UINT64_MAX;
	}
	return sftp_get_stat_ns(&body, &ns) == 0 ? ns.dev : UINT64_MAX;
}

static void
take_xattrs(struct list_dir *d, struct scan_entry *e,
    const struct sftp_reply *reply)
{
	struct scan_list *l = d->list;
	size_t before = scan_group_bytes(&d->group);
	struct buf set = { 0 };
	bool known = scan_take_xattrs(&e->item, &set, l->opts.want, reply);

	scan_group_set_xattrs(&d->group, e, known ? &set : NULL);
	buf_clear(&set);
	l->bytes += scan_group_bytes(&d->group) - before;
}

static void
take_look(struct list_dir *d, struct scan_entry *e, enum list_look_kind kind,
    const struct sftp_reply *reply)
{
	struct rd body = reply->body;
	struct sftp_stat_ns ns;

	switch (kind) {
	case LOOK_ATTRS:
		if (reply->status == SFTP_NO_SUCH_FILE)
			e->dropped = true;
		else if (reply->status != SFTP_OK ||
		    !scan_take_attrs(&e->item, &reply->attrs))
			set_unknown(e, MAX(reply->status, 1u));
		break;
	case LOOK_TARGET:
		take_target(d->list, e, reply);
		break;
	case LOOK_TARGET_NS:
		if (reply->type != SFTP_EXTENDED_REPLY ||
		    sftp_get_stat_ns(&body, &ns) < 0)
			break;
		scan_take_ns(&e->item, &ns);
		e->dev = ns.dev;
		break;
	case LOOK_REAL:
		e->real = name_of(reply);
		if (e->real == NULL || e->real[0] != '/' ||
		    leads_back(d, e->real))
			set_unknown(e, SFTP_FAILURE);
		break;
	case LOOK_TEXT:
		e->text = name_of(reply);
		break;
	case LOOK_DEVICE:
		e->dev = device_of(reply);
		break;
	case LOOK_XATTRS:
		take_xattrs(d, e, reply);
		break;
	}
	if (kind == LOOK_ATTRS || kind == LOOK_TARGET)
		e->dropped |= list_is_excluded(d->list, d,
		    scan_group_name(&d->group, e), e->item.kind == WALK_DIR);
}

static void
take_look_at_top(struct scan_list *l, enum list_look_kind kind,
    const struct sftp_reply *reply)
{
	if (kind == LOOK_REAL)
		l->real = name_of(reply);
	else
		l->device = device_of(reply);
}

/* ---- requests ------------------------------------------------------------ */

static void ask(struct list_dir *d, size_t at, enum list_look_kind kind,
    bool of_top);

static void
look_done(void *arg, const struct sftp_reply *reply)
{
	struct look *k = arg;
	struct list_dir *d = k->dir;
	struct scan_list *l = d->list;
	unsigned more;

	d->looks--;
	if (reply->err < 0) {
		list_fail(l, reply->err);
	} else if (k->of_top && !l->dead) {
		take_look_at_top(l, k->kind, reply);
	} else if (!l->dead) {
		take_look(d, &d->group.v[k->at], k->kind, reply);
		more = next_look(l, &d->group.v[k->at]);
		if (more != 0)
			ask(d, k->at, (enum list_look_kind)more, false);
	}
	free(k);
	if (!l->dead)
		list_go_on(d);
	list_answered(d);
}

static void
ask_by_path(struct sftp *s, struct look *k, const char *path)
{
	const struct list_dir *d = k->dir;

	switch (k->kind) {
	case LOOK_ATTRS:
		sftp_path_request(s, SFTP_LSTAT, path, look_done, k);
		return;
	case LOOK_TARGET:
		sftp_path_request(s, SFTP_STAT, path, look_done, k);
		return;
	case LOOK_TARGET_NS:
		sftp_stat_ns(s, path, true, look_done, k);
		return;
	case LOOK_REAL:
		sftp_path_request(s, SFTP_REALPATH, path, look_done, k);
		return;
	case LOOK_TEXT:
		sftp_path_request(s, SFTP_READLINK, path, look_done, k);
		return;
	case LOOK_DEVICE:
		sftp_ext_path(s, SFTP_EXT_STATVFS, path, NULL, look_done, k);
		return;
	case LOOK_XATTRS:
		sftp_xattrs(s, path, d->group.v[k->at].via_link,
		    scan_xattr_kinds(s, d->list->opts.want), look_done, k);
		return;
	}
}

static void
ask(struct list_dir *d, size_t at, enum list_look_kind kind, bool of_top)
{
	struct scan_list *l = d->list;
	struct look *k = malloc(sizeof *k);
	const char *path, *name = NULL;

	if (!of_top) {
		d->group.v[at].looks |= kind;
		name = scan_group_name(&d->group, &d->group.v[at]);
	}
	path = list_path(l, d, name);
	if (k == NULL || path == NULL) {
		free(k);
		list_fail(l, ERR_NOMEM);
		return;
	}
	*k = (struct look){ d, at, of_top, kind };
	d->looks++;
	list_asked(d);
	if (of_top && kind == LOOK_DEVICE && l->exact)
		sftp_stat_ns(l->s, path, true, look_done, k);
	else
		ask_by_path(l->s, k, path);
}

void
list_look(struct list_dir *d)
{
	struct scan_list *l = d->list;
	unsigned kind;

	for (; d->next_look < d->group.count && l->err == 0; d->next_look++) {
		kind = next_look(l, &d->group.v[d->next_look]);
		if (kind == 0)
			continue;
		if (l->under_way >= LIST_ASKED_MAX) {
			l->stalled = true;
			return;
		}
		ask(d, d->next_look, (enum list_look_kind)kind, false);
	}
}

void
list_look_at_top(struct list_dir *d)
{
	struct scan_list *l = d->list;

	if (list_follows(l))
		ask(d, 0, LOOK_REAL, true);
	if ((l->opts.want & LIST_DEVICES) == 0)
		return;
	if (l->exact || sftp_has(l->s, SFTP_EXT_STATVFS))
		ask(d, 0, LOOK_DEVICE, true);
	else
		list_fail(l, ERR_UNSUPPORTED);
}
