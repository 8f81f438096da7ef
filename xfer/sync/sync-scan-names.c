/* SPDX-License-Identifier: ISC */
/*
 * A scan of given names: LSTAT, stat-ns@hpnssh.org where it is, and READLINK
 * of each, AHEAD names at a time. They are told by the groups of their parents.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/path.h"
#include "xfer/sync/sync-scan-internal.h"

enum { AHEAD = 512 };

struct scan_names;

/* What is asked of one name. */
struct name_ask {
	struct scan_names *names;
	unsigned under_way;
	bool gone, has_ns, followed;
	bool via_link; /* item is what a link leads to */
	bool xattrs_unread;
	uint32_t status;
	struct walk_item item;
	struct sftp_stat_ns ns;
	char *text; /* of a link; owned */
	struct buf xattrs;
};

struct scan_names {
	struct scan_way way;
	struct sftp *s;
	struct sync_scan_opts opts;
	const char *top;
	bool dead;
	int err;
	unsigned under_way;
	const char **order; /* the names in the order in which they are told */
	/* The answers to names next .. asked - 1, at their number % AHEAD. */
	size_t next, asked;
	struct name_ask asks[AHEAD];
	char group[WALK_PATH_MAX + 1];
	bool any_group;
	char *text;	      /* of the last item; owned */
	struct buf xattrs;    /* of the last item */
	struct buf path;
};

static void
names_free(struct scan_names *n)
{
	for (int i = 0; i < AHEAD; i++) {
		free(n->asks[i].text);
		buf_clear(&n->asks[i].xattrs);
	}
	buf_clear(&n->xattrs);
	free(n->order);
	free(n->text);
	buf_clear(&n->path);
	free(n);
}

/* ---- order --------------------------------------------------------------- */

static int
compare(const void *x, const void *y)
{
	return walk_name_cmp(*(const char *const *)x, *(const char *const *)y);
}

/* ---- requests ------------------------------------------------------------ */

static void
answered(struct name_ask *q)
{
	struct scan_names *n = q->names;

	q->under_way--;
	n->under_way--;
	if (n->dead && n->under_way == 0)
		names_free(n);
}

static void
asked(struct name_ask *q)
{
	q->under_way++;
	q->names->under_way++;
}

static const char *
path_of(struct scan_names *n, const struct name_ask *q)
{
	size_t slot = (size_t)(q - n->asks);
	size_t at = n->next + (slot + AHEAD - n->next % AHEAD) % AHEAD;

	buf_reset(&n->path);
	buf_put(&n->path, n->top, strlen(n->top));
	if (buf_len(&n->path) > 0 && n->top[strlen(n->top) - 1] != '/')
		buf_put_u8(&n->path, '/');
	buf_put(&n->path, n->order[at], strlen(n->order[at]) + 1);
	if (buf_err(&n->path) < 0) {
		n->err = buf_err(&n->path);
		return NULL;
	}
	return (const char *)buf_data(&n->path);
}

static void
text_done(void *arg, const struct sftp_reply *reply)
{
	struct name_ask *q = arg;
	struct rd body = reply->body;
	struct sftp_entry e;

	if (reply->err < 0)
		q->names->err = reply->err;
	else if (reply->type == SFTP_NAME && reply->count == 1 &&
	    sftp_next_entry(&body, &e) && e.name.len <= WALK_PATH_MAX)
		q->text = span_dup(e.name);
	answered(q);
}

static void
ns_done(void *arg, const struct sftp_reply *reply)
{
	struct name_ask *q = arg;
	struct rd body = reply->body;

	if (reply->err < 0)
		q->names->err = reply->err;
	else if (reply->type == SFTP_EXTENDED_REPLY)
		q->has_ns = sftp_get_stat_ns(&body, &q->ns) == 0;
	answered(q);
}

/* Takes the answer to stat-ns for the link itself. It does not count if the
 * link was followed. */
static void
link_ns_done(void *arg, const struct sftp_reply *reply)
{
	struct name_ask *q = arg;

	if (!q->via_link || reply->err < 0)
		ns_done(q, reply);
	else
		answered(q);
}

static void
ask_ns(struct name_ask *q, const char *path, bool follow)
{
	struct sftp *s = q->names->s;

	if (sftp_has_version(s) && !sftp_has(s, SFTP_EXT_STAT_NS))
		return;
	asked(q);
	sftp_stat_ns(s, path, follow, follow ? ns_done : link_ns_done, q);
}

static void
xattrs_done(void *arg, const struct sftp_reply *reply)
{
	struct name_ask *q = arg;

	if (reply->err < 0)
		q->names->err = reply->err;
	else
		q->xattrs_unread = !scan_take_xattrs(&q->item, &q->xattrs,
		    q->names->opts.want, reply);
	answered(q);
}

/* Asks for the extended attributes of the entry, once its kind is known. */
static void
ask_xattrs(struct name_ask *q)
{
	struct scan_names *n = q->names;
	uint32_t kinds = scan_xattr_kinds(n->s, n->opts.want);
	const char *path;

	if (kinds == 0 || q->status != SFTP_OK || q->gone || n->dead ||
	    (q->item.kind != WALK_FILE && q->item.kind != WALK_DIR &&
		q->item.kind != WALK_LINK) || (path = path_of(n, q)) == NULL)
		return;
	asked(q);
	sftp_xattrs(n->s, path, q->via_link, kinds, xattrs_done, q);
}

static void target_done(void *arg, const struct sftp_reply *reply);

static bool
follows(const struct scan_names *n)
{
	return n->opts.copy_links || n->opts.copy_dirlinks;
}

/* What else there is to ask about a link. */
static void
ask_of_link(struct name_ask *q)
{
	struct scan_names *n = q->names;
	const char *path = path_of(n, q);

	if (path == NULL)
		return;
	if (follows(n) && !q->followed) {
		q->followed = true;
		asked(q);
		sftp_path_request(n->s, SFTP_STAT, path, target_done, q);
	} else if ((n->opts.want & WALK_TEXT) != 0) {
		asked(q);
		sftp_path_request(n->s, SFTP_READLINK, path, text_done, q);
	}
}

static void
target_done(void *arg, const struct sftp_reply *reply)
{
	struct name_ask *q = arg;
	struct scan_names *n = q->names;
	struct walk_item item = { .is_group = false };
	bool known = reply->status == SFTP_OK && reply->err == 0 &&
	    scan_take_attrs(&item, &reply->attrs);
	const char *path;

	if (reply->err < 0) {
		n->err = reply->err;
	} else if (n->dead) {
		/* nobody wants to know */
	} else if (known && (n->opts.copy_links || item.kind == WALK_DIR)) {
		q->item = item;
		q->via_link = true;
		q->has_ns = false;
		if ((path = path_of(n, q)) != NULL)
			ask_ns(q, path, true);
		ask_xattrs(q);
	} else if (n->opts.copy_links ||
	    scan_leads_out(n->s, reply)) {
		q->status = MAX(reply->status, 1u);
	} else {
		ask_of_link(q);
		ask_xattrs(q);
	}
	answered(q);
}

static void
stat_done(void *arg, const struct sftp_reply *reply)
{
	struct name_ask *q = arg;

	if (reply->err < 0)
		q->names->err = reply->err;
	else if (reply->status == SFTP_NO_SUCH_FILE)
		q->gone = true;
	else if (reply->status != SFTP_OK)
		q->status = reply->status;
	else if (!scan_take_attrs(&q->item, &reply->attrs))
		q->status = SFTP_FAILURE;
	else if (q->item.kind == WALK_LINK && !q->names->dead)
		ask_of_link(q);
	if (q->item.kind != WALK_LINK || !follows(q->names))
		ask_xattrs(q);
	answered(q);
}

static void
ask_more(struct scan_names *n)
{
	struct name_ask *q;
	const char *path;

	for (; n->err == 0 && n->asked < n->opts.n_names &&
	     n->asked < n->next + AHEAD; n->asked++) {
		q = &n->asks[n->asked % AHEAD];
		buf_clear(&q->xattrs);
		*q = (struct name_ask){ .names = n };
		if ((path = path_of(n, q)) == NULL)
			return;
		asked(q);
		sftp_path_request(n->s, SFTP_LSTAT, path, stat_done, q);
		if (n->err == 0)
			ask_ns(q, path, false);
	}
}

/* ---- telling ------------------------------------------------------------- */

static void
tell_name(struct scan_names *n, struct name_ask *q, struct walk_item *item)
{
	uint32_t want = n->opts.want;

	*item = q->item;
	if (q->has_ns)
		scan_take_ns(item, &q->ns);
	if (q->status != SFTP_OK)
		*item = (struct walk_item){ .status = q->status };
	scan_leave_out_unasked(item, want);
	if (q->status == SFTP_OK) {
		buf_clear(&n->xattrs);
		n->xattrs = q->xattrs;
		q->xattrs = (struct buf){ 0 };
		item->xattrs = q->xattrs_unread ? (struct span){ .p = NULL } :
						  buf_span(&n->xattrs);
		item->xattrs_unread = q->xattrs_unread;
	}
	free(n->text);
	n->text = q->text;
	q->text = NULL;
	item->text = n->text != NULL ? n->text : "";
	item->name = path_last(n->order[n->next]);
}

/* Tells the group that the next name is in, unless that is the present one. */
static bool
tell_group(struct scan_names *n, struct walk_item *item)
{
	const char *name = n->order[n->next];
	size_t len = path_parent_len(name);

	if (n->any_group && strlen(n->group) == len &&
	    memcmp(n->group, name, len) == 0)
		return false;
	memcpy(n->group, name, len);
	n->group[len] = '\0';
	n->any_group = true;
	*item = (struct walk_item){ .is_group = true, .path = n->group };
	return true;
}

static int
names_next(struct scan_way *way, struct walk_item *item)
{
	struct scan_names *n = (struct scan_names *)way;
	struct name_ask *q;

	for (;;) {
		ask_more(n);
		if (n->err < 0)
			return n->err;
		if (n->next == n->opts.n_names)
			return 0;
		q = &n->asks[n->next % AHEAD];
		if (q->under_way > 0)
			return SYNC_SCAN_LATER;
		if (!q->gone) {
			if (tell_group(n, item))
				return 1;
			tell_name(n, q, item);
		}
		free(q->text);
		q->text = NULL;
		n->next++;
		if (!q->gone)
			return 1;
	}
}

static void
names_end(struct scan_way *way)
{
	struct scan_names *n = (struct scan_names *)way;

	n->dead = true;
	if (n->under_way == 0)
		names_free(n);
}

static const struct scan_way_ops names_ops = { names_next, names_end };

struct scan_way *
scan_names_new(struct sftp *s, const char *top, const struct sync_scan_opts *o)
{
	struct scan_names *n = calloc(1, sizeof *n);

	if (n == NULL)
		return NULL;
	n->order = calloc(o->n_names + 1, sizeof *n->order);
	if (n->order == NULL) {
		free(n);
		return NULL;
	}
	for (size_t i = 0; i < o->n_names; i++) {
		n->order[i] = o->names[i];
		if (strlen(o->names[i]) > WALK_PATH_MAX)
			n->err = ERR_LIMIT;
	}
	if (n->err == 0)
		qsort(n->order, o->n_names, sizeof *n->order, compare);
	n->way.ops = &names_ops;
	n->s = s;
	n->opts = *o;
	n->top = top;
	ask_more(n);
	return &n->way;
}
