/* SPDX-License-Identifier: ISC */
/*
 * Which name a part takes: one that nothing has in the target's directory, and
 * that no file of this run will get. Numbers are tried up to XFER_PARTS_MAX,
 * then random ones.
 *
 * The names that a run will make are known in three ways. Named sources are
 * noted. Of an upload's tree the directory of the source is asked. A download's
 * listing may not have come yet; so there the part makes way for the file that
 * gets its name.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "compat/bsd.h"
#include "xfer/transfer/transfer-internal.h"

enum {
	OWN_MAX = 1000, /* names of our own that a run remembers */
	DAY_S = 24 * 3600,
};

struct xfer_planned {
	struct xfer_planned *next;
	char path[];
};

static bool
remember(struct xfer_planned **list, const char *target)
{
	size_t size = strlen(target) + 1;
	struct xfer_planned *p = malloc(sizeof *p + size);

	if (p == NULL)
		return false;
	memcpy(p->path, target, size);
	p->next = *list;
	*list = p;
	return true;
}

static bool
has(const struct xfer_planned *list, const char *path)
{
	while (list != NULL && strcmp(list->path, path) != 0)
		list = list->next;
	return list != NULL;
}

bool
xfer_plan_root(struct xfer *x, const char *target)
{
	return !xfer_is_part(target) || remember(&x->planned, target);
}

void
xfer_plan_found(struct xfer *x, const char *target)
{
	if (!xfer_is_own_name(target) || x->own.many)
		return;
	x->own.many = ++x->own.count > OWN_MAX ||
	    !remember(&x->own.names, target);
}

/* Is path, a name of our own, the target of a source that was found so far?
 * Also true if it may be, since too many were found to note them all. */
static bool
is_found(const struct xfer *x, const char *path)
{
	return x->own.many || has(x->own.names, path);
}

char *
xfer_free_name(const struct xfer *x, const char *target, unsigned *number,
    char *(*make)(const char *target, unsigned number))
{
	char *name;

	while (++*number <= XFER_NAMES_TRIED) {
		name = make(target, *number);
		if (name == NULL || *number > XFER_PARTS_MAX ||
		    !is_found(x, name))
			return name;
		free(name);
	}
	return NULL;
}

static void
forget(struct xfer_planned **list)
{
	struct xfer_planned *p;

	while ((p = *list) != NULL) {
		*list = p->next;
		free(p);
	}
}

void
xfer_plan_free(struct xfer *x)
{
	forget(&x->planned);
	forget(&x->own.names);
}

static bool
is_planned(const struct xfer_file *f)
{
	struct stat st;

	if (f->part_number > XFER_PARTS_MAX)
		return false;
	if (has(f->x->planned, f->part.name))
		return true;
	return f->up && f->dir != NULL && f->at != NULL &&
	    local_stat(f->at, xfer_part_local(f), LOCAL_LINKS_NONE, &st) == 0;
}

/* True if the target is known to be on another file system than the directory
 * of parts. At a server this is known once a rename has failed. */
static bool
is_elsewhere(const struct xfer_file *f)
{
	const char *far = f->x->orders->far;
	struct stat temp, target;
	size_t len;

	if (!f->up)
		return local_dir_stat(f->x->opts.temp->at, &temp) == 0 &&
		    local_dir_stat(f->at, &target) == 0 &&
		    temp.st_dev != target.st_dev;
	len = far != NULL ? strlen(far) : 0;
	return far != NULL && strncmp(f->remote, far, len) == 0;
}

char *
xfer_part_path(struct xfer_file *f, unsigned number)
{
	const struct xfer_temp *temp = f->x->opts.temp;
	const char *target = f->up ? f->remote : f->local;
	struct xfer_duty *d = f->duty;

	if (d != NULL && temp != NULL && !d->in_temp && !d->beside) {
		d->beside = is_elsewhere(f);
		d->in_temp = !d->beside;
	}
	return xfer_in_temp(f) ? xfer_temp_name(temp->dir, target, number) :
				 xfer_part_name(target, number);
}

void
xfer_part_beside(struct xfer_file *f, bool other_system)
{
	char **far = &f->x->orders->far;

	f->duty->in_temp = false;
	f->duty->beside = true;
	f->part_number = 1;
	f->resume = false;
	if (!other_system || !f->up)
		return;
	free(*far);
	*far = strndup(f->remote,
	    (size_t)(local_last_name(f->remote) - f->remote));
}

static void
take_number(struct xfer_file *f, unsigned number)
{
	f->part_number = number;
	xfer_made_nothing(f);
	xfer_part_forget(f);
	xfer_part_named(f, xfer_part_path(f, number));
}

void
xfer_part_avoid_plan(struct xfer_file *f)
{
	/* A part that this run has made already is not a planned file, even if
	 * it is now found among the sources: these and the targets may be in
	 * one folder. */
	while (f->part.name != NULL && !f->made.ours && is_planned(f))
		take_number(f, f->part_number + 1);
}

/* Puts the words "a part of 08:17 is here" into out. False if what was seen
 * cannot be a part of an earlier copy, or no option could use it. */
static bool
part_text(const struct xfer_file *f, const struct sftp_attrs *seen, char *out,
    size_t size)
{
	const char *by = f->x->opts.resume_by;
	uint32_t want = SFTP_A_SIZE | SFTP_A_TIMES | SFTP_A_MODE;
	char when[32], bytes[24];
	time_t at = (time_t)seen->mtime, now = time(NULL);
	struct tm tm;

	if (f->resume || by == NULL || (seen->flags & want) != want ||
	    !S_ISREG(seen->mode) || seen->size == 0 ||
	    localtime_r(&at, &tm) == NULL ||
	    strftime(when, sizeof when, now - at < DAY_S && now >= at ?
		"%H:%M" : "%Y-%m-%d %H:%M", &tm) == 0)
		return false;
	progress_bytes_text(seen->size, bytes, sizeof bytes);
	snprintf(out, size, "a part of %s is here (%s), and left alone; %s "
	    "uses it", when, bytes, by);
	return true;
}

/* Tells the user, once for each file, that what has the name of its part is
 * left alone. seen: attributes of that, as far as they are known. */
static void
note(struct xfer_file *f, const struct sftp_attrs *seen)
{
	char text[160];

	if (f->part_noted)
		return;
	f->part_noted = true;
	if (!part_text(f, seen, text, sizeof text))
		strlcpy(text, "a file that has the name of its part is left "
		    "alone", sizeof text);
	xfer_note(f->x, f->up ? f->remote : f->local, text);
}

void
xfer_part_further(struct xfer_file *f)
{
	take_number(f, f->part_number + 1);
	xfer_part_avoid_plan(f);
}

bool
xfer_part_next(struct xfer_file *f, const struct sftp_attrs *seen)
{
	const char *path = f->up ? f->remote : f->local;

	note(f, seen);
	if (f->part_number == XFER_NAMES_TRIED) {
		xfer_report(f->x, path, "no name is left for its part");
		return false;
	}
	xfer_part_further(f);
	if (f->part.name == NULL)
		xfer_report_errno(f->x, path, ENOMEM);
	return f->part.name != NULL;
}

void
xfer_part_pass(struct xfer_file *f)
{
	note(f, &(struct sftp_attrs){ .flags = 0 });
	f->part_number++;
	xfer_made_nothing(f);
	xfer_file_restart(f, f->resume);
}

void
xfer_part_make_way(struct xfer *x, struct local_dir *at, const char *name)
{
	struct xfer_file *f;
	char *other;

	if (!xfer_is_part(name))
		return;
	TAILQ_FOREACH(f, &x->files.active, entry) {
		if (f->up || f->fd < 0 || f->part.name == NULL ||
		    xfer_in_temp(f) ||
		    f->target.reuse == XFER_REUSE_WHOLE ||
		    strcmp(xfer_part_local(f), name) != 0 ||
		    !local_part_is(f->fd, at, name))
			continue;
		other = xfer_probe_name(f->local);
		if (other == NULL || local_rename(f->at, xfer_part_local(f),
			local_last_name(other)) != 0) {
			free(other);
			continue; /* f's own rename will report that */
		}
		xfer_part_named(f, other);
		xfer_made_disowned(f); /* another file will get the old name */
	}
}
