/* SPDX-License-Identifier: ISC */
/*
 * Names that may be one at the target. Of each name its folds are looked at
 * (xfer/name-form.h): by case, by form, by both. A fold that differs from its
 * name is kept; another source of the same fold is one that has been kept, or
 * whose name is the fold itself. So a directory of small ASCII letters costs
 * nothing.
 *
 * A source that may meet another one waits in a row until the directory of its
 * target was asked in all ways that count for it.
 */
#include "xfer/trees/transfer-meet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crypto/rand.h"
#include "xfer/name-form.h"
#include "xfer/trees/transfer-dir.h"

enum {
	WAYS = NAME_CASE | NAME_FORM,
	WAY_SHIFT = 60, /* of a fold's hash: folds of several ways, apart */
	PROBE_MODE = 0700,
};

#define MEETS                                                                 \
	"at the target this is the same name as another one of this copy: "   \
	"not copied"

/* A source that waits. */
struct meeting {
	TAILQ_ENTRY(meeting) entry;
	unsigned meets;
	struct xfer_found found; /* owns what it points to */
	struct sftp_attrs attrs;
	struct xfer_exact exact;
};

struct xfer_meet {
	struct xfer *x;
	struct xfer_dir *dir;	  /* its owner; NULL: x is */
	struct xfer_names *folds; /* owned */
	struct xfer_names *found; /* owned; names of roots, and those that are
				   * not ASCII of sources on this host */
	/* Sets of enum name_ways: those in which the server was asked, and
	 * those in which it takes two names for the same. */
	unsigned asked, same;
	char *in; /* owned; of roots: the directory that was asked */
	unsigned asking; /* the way in which a server is being asked (enum
			  * name_ways); 0: none is */
	unsigned pending;
	/* The probe is found under its own name; under its other spelling. */
	bool is_there, is_other;
	char *probe, *other; /* owned; the paths with these two names */
	TAILQ_HEAD(meeting_row, meeting) waiting;
};

/* ---- names that may meet ------------------------------------------------ */

static struct xfer_meet *
meet_of(struct xfer *x, struct xfer_dir *d)
{
	struct xfer_meet **m = d != NULL ? &d->meet : &x->meet;

	if (*m == NULL && (*m = calloc(1, sizeof **m)) != NULL) {
		(*m)->x = x;
		(*m)->dir = d;
		TAILQ_INIT(&(*m)->waiting);
	}
	return *m;
}

static bool
is_plain(const char *name)
{
	while (*name != '\0' && (*name & 0x80) == 0 &&
	    (*name < 'A' || *name > 'Z'))
		name++;
	return *name == '\0';
}

/* Is there another source of that name? hash: of the name. Of a directory of
 * this host, small ASCII names are not noted, which most names are; they are
 * looked for, found or not, and never look for others. */
static bool
is_source(struct xfer_meet *m, const char *name, uint64_t hash,
    const struct stat *self)
{
	struct stat st;

	if (m->dir == NULL || (self != NULL && !name_is_ascii(name)))
		return xfer_names_has(m->found, hash);
	if (self == NULL)
		return xfer_names_has(m->dir->names, hash);
	/* On a file system that folds, as well, it is the same file. */
	return local_stat(m->dir->at, name, LOCAL_LINKS_NONE, &st) == 0 &&
	    (st.st_dev != self->st_dev || st.st_ino != self->st_ino);
}

/* Notes name, and tells whether another one may be the same in that way. */
static bool
meets_in(struct xfer_meet *m, unsigned way, const char *name,
    const struct stat *self)
{
	char *fold = name_fold(name, way);
	uint64_t hash, tagged;
	bool meets = false;

	if (fold != NULL && xfer_names_hash(fold, &hash)) {
		tagged = hash ^ (uint64_t)way << WAY_SHIFT;
		if (strcmp(fold, name) != 0)
			meets = !xfer_names_add(&m->folds, tagged) ||
			    is_source(m, fold, hash, self);
		else if (self == NULL || !name_is_ascii(name))
			meets = xfer_names_has(m->folds, tagged);
	}
	free(fold);
	return meets;
}

unsigned
xfer_meet_note(struct xfer *x, struct xfer_dir *d, const char *name,
    const struct stat *self)
{
	struct xfer_meet *m = d != NULL ? d->meet : x->meet;
	unsigned meets = 0;
	uint64_t hash;

	if (d != NULL && is_plain(name) && (self != NULL || m == NULL))
		return 0;
	m = meet_of(x, d);
	if (m == NULL)
		return 0;
	for (unsigned way = 1; way <= WAYS; way++)
		if ((way == NAME_CASE || !name_is_ascii(name)) &&
		    meets_in(m, way, name, self))
			meets |= 1u << way;
	if ((d == NULL || (self != NULL && !name_is_ascii(name))) &&
	    xfer_names_hash(name, &hash))
		(void)xfer_names_add(&m->found, hash);
	return meets;
}

/* ---- what the target says ----------------------------------------------- */

/* Are names that meet in these ways one, where names are the same? */
static bool
are_one(unsigned meets, unsigned same)
{
	for (unsigned way = 1; way <= WAYS; way++)
		if ((meets & 1u << way) && (way & same) == way)
			return true;
	return false;
}

/* The ways that have to be asked for. */
static unsigned
needed(unsigned meets)
{
	unsigned ways = 0;

	for (unsigned way = 1; way <= WAYS; way++)
		if (meets & 1u << way)
			ways |= way;
	return ways;
}

static const char *
target_of(const struct xfer_found *found)
{
	return found->up ? found->remote : found->local;
}

/* Makes up two names beside target that are the same in one way: both owned by
 * the caller. False: no memory. */
static bool
make_up(unsigned way, const char *target, char **one, char **other)
{
	const char *name = local_last_name(target);
	int len = (int)(name - target);
	uint64_t number;

	rand_bytes(&number, sizeof number);
	if (asprintf(one, "%.*s.hpn%016jx.%s", len, target,
		(uintmax_t)number, way == NAME_CASE ? "a" : "\xc3\xa9") < 0)
		*one = NULL;
	if (asprintf(other, "%.*s.hpn%016jx.%s", len, target,
		(uintmax_t)number, way == NAME_CASE ? "A" : "e\xcc\x81") < 0)
		*other = NULL;
	return *one != NULL && *other != NULL;
}

static void
forget_probe(struct xfer_meet *m)
{
	free(m->probe);
	free(m->other);
	m->probe = m->other = NULL;
	m->is_there = m->is_other = false;
	m->asking = 0;
}

static void
answered(struct xfer_meet *m)
{
	m->asked |= m->asking;
	if (m->is_there && m->is_other)
		m->same |= m->asking;
	forget_probe(m);
}

/* Asks a directory of this host, in the way m->asking. */
static void
ask_local(struct xfer_meet *m, const struct xfer_found *found)
{
	const char *name = local_last_name(m->probe);
	struct local_dir *at = m->dir != NULL ? local_dir_ref(m->dir->at) :
	    local_place(m->x->local, found->local, LOCAL_LINKS_OWN,
		&(const char *){ NULL });
	struct local_dir *sub = NULL;
	struct stat st;
	bool made;

	if (at != NULL && local_make(at, name, PROBE_MODE, LOCAL_LINKS_NONE,
			      &sub, &made) == 0) {
		m->is_there = made;
		m->is_other = local_stat(at, local_last_name(m->other),
			     LOCAL_LINKS_NONE, &st) == 0;
		local_dir_unref(sub);
		if (made)
			(void)local_remove_dir(at, name);
	}
	local_dir_unref(at);
}

static void
looked(struct xfer_meet *m)
{
	const struct xfer_path_request q = { .type = SFTP_RMDIR,
		.path = m->probe };

	if (--m->pending > 0 || m->x->over)
		return;
	if (m->is_there)
		xfer_request_path(m->x, &q, NULL, NULL);
	answered(m);
	xfer_meet_turn(m);
}

static void
looked_for_probe(void *arg, const struct sftp_reply *reply)
{
	struct xfer_meet *m = arg;

	m->is_there = reply->err == 0 && reply->type == SFTP_ATTRS;
	looked(m);
}

static void
looked_for_other(void *arg, const struct sftp_reply *reply)
{
	struct xfer_meet *m = arg;

	m->is_other = reply->err == 0 && reply->type == SFTP_ATTRS;
	looked(m);
}

/* MKDIR was answered. A refusal may be that of a second one, whose first answer
 * was lost with its stream: so the directory is looked for in any case. */
static void
probe_made(void *arg, const struct sftp_reply *reply)
{
	struct xfer_meet *m = arg;
	struct xfer_path_request q = { .type = SFTP_LSTAT, .path = m->probe };

	(void)reply;
	if (m->x->over)
		return;
	m->pending = 2;
	xfer_request_path(m->x, &q, looked_for_probe, m);
	q.path = m->other;
	xfer_request_path(m->x, &q, looked_for_other, m);
}

/* Makes a probe and looks for it under its other name, which tells whether
 * names that differ in this way meet. True if the answer is there at once. */
static bool
ask(struct xfer_meet *m, unsigned way, const struct xfer_found *found)
{
	const struct sftp_attrs attrs = { .flags = SFTP_A_MODE,
		.mode = PROBE_MODE };
	struct xfer_path_request q = { .type = SFTP_MKDIR, .attrs = &attrs };

	m->asking = way;
	if (!make_up(way, target_of(found), &m->probe, &m->other)) {
		answered(m);
		return true;
	}
	if (!found->up) {
		ask_local(m, found);
		answered(m);
		return true;
	}
	q.path = m->probe;
	xfer_request_path(m->x, &q, probe_made, m);
	return false;
}

/* ---- the row ------------------------------------------------------------ */

static int
give(struct xfer *x, struct xfer_dir *d, const struct xfer_found *found)
{
	if (found->attrs != NULL && (found->attrs->flags & SFTP_A_MODE) &&
	    S_ISDIR(found->attrs->mode))
		return xfer_add_dir(x, d, found);
	return x->found->file(x, d, found);
}

static void
drop(const struct xfer_found *found)
{
	local_dir_unref(found->at);
	free(found->local);
	free(found->remote);
}

/* Takes the first name out of the row, and has it copied or refused. */
static void
settle(struct xfer_meet *m, struct meeting *w)
{
	const char *source = w->found.up ? w->found.local : w->found.remote;

	TAILQ_REMOVE(&m->waiting, w, entry);
	m->x->files.held--;
	if ((m->dir != NULL && m->dir->state == XFER_DIR_FAILED) ||
	    m->x->stopped) {
		drop(&w->found);
	} else if (are_one(w->meets, m->same)) {
		xfer_report(m->x, source, MEETS);
		drop(&w->found);
	} else if (give(m->x, m->dir, &w->found) < 0) {
		xfer_report(m->x, m->dir != NULL ? m->dir->local : "copy",
		    err_text(ERR_NOMEM));
	}
	free(w);
}

/* Forgets the answers if found goes to another directory than they are about:
 * only roots can have targets in several directories. */
static void
ask_anew(struct xfer_meet *m, const struct xfer_found *found)
{
	const char *target = target_of(found);
	size_t len = (size_t)(local_last_name(target) - target);

	if (m->dir != NULL || (m->in != NULL && strlen(m->in) == len &&
		strncmp(m->in, target, len) == 0))
		return;
	free(m->in);
	m->in = strndup(target, len);
	m->asked = m->same = 0;
}

void
xfer_meet_turn(struct xfer_meet *m)
{
	struct xfer_dir *d = m != NULL ? m->dir : NULL;
	struct meeting *w;
	unsigned ways;

	if (m == NULL || m->asking != 0)
		return;
	if (d != NULL)
		d->refs++;
	while ((w = TAILQ_FIRST(&m->waiting)) != NULL &&
	    (d == NULL || d->state != XFER_DIR_WANTED)) {
		ask_anew(m, &w->found);
		ways = needed(w->meets) & ~m->asked;
		if (ways == 0 || m->x->stopped ||
		    (d != NULL && d->state == XFER_DIR_FAILED)) {
			settle(m, w);
			if (d != NULL)
				/* The name's; the one from above is left. */
				d->refs--;
		} else if (!ask(m, ways & NAME_CASE ? NAME_CASE : NAME_FORM,
			       &w->found)) {
			break;
		}
	}
	if (d != NULL)
		xfer_dir_unref(d);
}

int
xfer_meet_take(struct xfer *x, struct xfer_dir *d, unsigned meets,
    const struct xfer_found *found)
{
	struct xfer_meet *m = meets != 0 ? meet_of(x, d) : NULL;
	struct meeting *w;

	if (m == NULL || found->local == NULL || found->remote == NULL)
		return give(x, d, found);
	w = calloc(1, sizeof *w);
	if (w == NULL) {
		drop(found);
		return ERR_NOMEM;
	}
	w->meets = meets;
	w->found = *found;
	if (found->attrs != NULL) {
		w->attrs = *found->attrs;
		w->found.attrs = &w->attrs;
	}
	if (found->exact != NULL) {
		w->exact = *found->exact;
		w->found.exact = &w->exact;
	}
	TAILQ_INSERT_TAIL(&m->waiting, w, entry);
	x->files.held++;
	if (d != NULL)
		d->refs++;
	xfer_meet_turn(m);
	return 0;
}

void
xfer_meet_free(struct xfer_meet *m)
{
	struct meeting *w;

	if (m == NULL)
		return;
	while ((w = TAILQ_FIRST(&m->waiting)) != NULL) {
		TAILQ_REMOVE(&m->waiting, w, entry);
		drop(&w->found);
		free(w);
	}
	forget_probe(m);
	xfer_names_free(&m->folds);
	xfer_names_free(&m->found);
	free(m->in);
	free(m);
}
