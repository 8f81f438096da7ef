/* SPDX-License-Identifier: ISC */
/*
 * The lock of a run that deletes: a file in each directory that it makes the
 * same as a source. It says whose run it is. As nobody else knows what is in
 * it, it also shows whether source and target are one directory by two names:
 * then the source has it, too.
 */
#include "client/sync/sync-run.h"

#include "config.h"

#include <sys/stat.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/own-account.h"
#include "base/str.h"
#include "client/sync/sync-again.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/sync/sync-path.h"

#define LOCK_NAME ".hpnsync-lock"

enum { LOCK_MAX = 1024 };

/* ---- requests ----------------------------------------------------------- */

struct call {
	bool done;
	uint32_t status;
	struct sftp_handle h;
	char text[LOCK_MAX + 1];
	size_t len;
};

static void
on_reply(void *arg, const struct sftp_reply *reply)
{
	struct call *c = arg;

	c->status = reply->err != 0 ? SFTP_CONNECTION_LOST : reply->status;
	if (c->status == SFTP_OK && reply->type == SFTP_HANDLE)
		sftp_keep_handle(&c->h, reply);
	c->done = true;
}

static void
on_data(void *arg, uint64_t offset, const uint8_t *p, size_t len)
{
	struct call *c = arg;

	len = MIN(len, LOCK_MAX - c->len);
	(void)offset;
	memcpy(c->text + c->len, p, len);
	c->len += len;
}

static uint32_t
wait_for(struct sync_run *run, struct sftp *s, struct call *c)
{
	int r = sftp_run_until(s, &c->done);

	if (r < 0 || c->status == SFTP_CONNECTION_LOST)
		sync_lost(run, r < 0 ? r : ERR_CLOSED);
	c->done = false;
	return c->status;
}

static uint32_t
open_lock(struct sync_run *run, struct sftp *s, const char *path,
    uint32_t flags, struct call *c)
{
	const struct sftp_attrs attrs = { .flags = SFTP_A_MODE,
		.mode = 0644 };

	*c = (struct call){ .done = false };
	sftp_open(s, path, flags, &attrs, on_reply, c);
	return wait_for(run, s, c);
}

/* True if a lock at path may be opened. Other servers than ours wait in the
 * OPEN of a FIFO and follow links, so there it has to be a regular file. */
static bool
may_open(struct sync_run *run, struct sftp *s, const char *path,
    struct call *c)
{
	struct sftp_attrs attrs;
	int r;

	if (sftp_has(s, SFTP_EXT_WALK))
		return true;
	if ((r = sftp_call_stat(s, path, false, &attrs)) < 0)
		sync_lost(run, r);
	*c = (struct call){ .status = (uint32_t)r };
	return r == 0 && (attrs.flags & SFTP_A_MODE) && S_ISREG(attrs.mode);
}

/* Reads a lock; c->text is empty if there is none. */
static void
read_lock(struct sync_run *run, struct sftp *s, const char *path,
    struct call *c)
{
	if (!may_open(run, s, path, c) ||
	    open_lock(run, s, path, SFTP_O_READ, c) != SFTP_OK)
		return;
	sftp_read(s, &c->h, 0, LOCK_MAX, on_data, on_reply, c);
	(void)wait_for(run, s, c);
	c->text[c->len] = '\0';
	sftp_close(s, &c->h, NULL, NULL);
}

/* True if the name is free. (A link that is not followed is no file to
 * OPEN.) */
static bool
is_nothing(struct sync_run *run, struct sftp *s, const char *path)
{
	struct sftp_attrs attrs;
	int r = sftp_call_stat(s, path, false, &attrs);

	if (r < 0)
		sync_lost(run, r);
	return r == SFTP_NO_SUCH_FILE;
}

/* Makes the lock with the text in it. False: a lock is there, which somebody
 * else has made. */
static bool
make_lock(struct sync_run *run, struct sftp *s, const char *path,
    const char *text)
{
	size_t len = strlen(text);
	struct call c;
	uint8_t *p;

	if (open_lock(run, s, path, SFTP_O_WRITE | SFTP_O_CREAT |
		SFTP_O_EXCL, &c) != SFTP_OK)
		return false;
	p = sftp_write_begin(s, &c.h, 0, (uint32_t)len);
	if (p != NULL) {
		memcpy(p, text, len);
		sftp_write_finish(s, (uint32_t)len, on_reply, &c);
		if (wait_for(run, s, &c) != SFTP_OK)
			sync_die(run, SYNC_EXIT_OUTPUT, path,
			    "cannot be written");
	}
	sftp_close(s, &c.h, NULL, NULL);
	return true;
}

static void
remove_lock(struct sync_run *run, struct sftp *s, const char *path)
{
	struct call c = { .done = false };

	sftp_path_request(s, SFTP_REMOVE, path, on_reply, &c);
	(void)wait_for(run, s, &c);
}

/* ---- whose -------------------------------------------------------------- */

/* The last line of a lock, which tells this run's locks from those of others:
 * all tries of a run write the same. */
static char *
last_line(const struct sync_run *run, const struct sync_pair_ends *of)
{
	const struct sync_pair_ends *p;
	unsigned n = 0;
	char *line;

	TAILQ_FOREACH(p, &run->pairs, entry) {
		if (p == of)
			break;
		n++;
	}
	xasprintf(&line, "%s-%u\n", sync_again_token(), n);
	return line;
}

static char *
lock_text(const char *line)
{
	char host[256] = "?", *text;
	const char *user = own_account_name();

	if (gethostname(host, sizeof host) == -1)
		snprintf(host, sizeof host, "?");
	host[sizeof host - 1] = '\0';
	xasprintf(&text, "%s on %s, process %ld, since %lld\n%s",
	    user != NULL ? user : "?", host, (long)getpid(),
	    (long long)time(NULL), line);
	return text;
}

_Noreturn static void
tell_held(struct sync_run *run, const char *path, const struct call *c)
{
	size_t line = strcspn(c->text, "\n");
	char *first = xstrndup(c->text, line), *shown = xstr_escape(first);
	char *text;

	xasprintf(&text, "another run has this directory: %s; if that is dead, "
	    "--break-lock", *shown != '\0' ? shown : "(unknown)");
	sync_die(run, SYNC_EXIT_AGAIN, path, text);
}

/* True if an earlier try of this run has left the lock. *text is then replaced
 * by the lock's text. */
static bool
is_ours(const struct call *c, const char *line, char **text)
{
	size_t len = strlen(line);

	if (c->len < len || strcmp(c->text + c->len - len, line) != 0)
		return false;
	free(*text);
	*text = xstrdup(c->text);
	return true;
}

/* Makes the lock, or finds that an earlier try has made it. False: another run
 * has it. */
static bool
get_lock(struct sync_run *run, const char *path, const char *line,
    char **text, struct call *c)
{
	struct sftp *s = sync_end_of(run, false)->s;
	bool made;

	sync_again_locks(true);
	made = make_lock(run, s, path, *text);
	if (!made) {
		read_lock(run, s, path, c);
		made = is_ours(c, line, text);
		if (!made && sync_again_locked_half() &&
		    c->status == SFTP_EOF && c->len == 0) {
			remove_lock(run, s, path);
			made = make_lock(run, s, path, *text);
		}
	}
	sync_again_locks(false);
	return made;
}

/* ---- times -------------------------------------------------------------- */

static struct walk_item
top_of(struct sync_run *run, struct sync_scan *scan)
{
	struct walk_item item = { .kind = WALK_UNKNOWN };
	int r;

	while ((r = sync_scan_top(scan, &item)) == SYNC_SCAN_LATER)
		sync_hosts_turn(run, 1000);
	if (r < 0)
		item.kind = WALK_UNKNOWN;
	return item;
}

static struct timespec
time_of(const struct walk_item *top)
{
	return (struct timespec){ .tv_sec = (time_t)top->mtime,
		.tv_nsec = top->nsec };
}

/* The lock comes and goes in the target's top. So the time of that directory
 * has to be set afterwards: to that of the source, or as it was. */
void
sync_top_note(struct sync_run *run, struct sync_pair_ends *p)
{
	const struct sync_opts *o = &run->args.opts;
	bool copied = o->times && !o->omit.dir_times && !p->root->names_only;
	struct walk_item target = top_of(run, p->target), top = target;

	if (copied)
		top = top_of(run, p->sources[0]);
	p->has_time = top.kind == WALK_DIR;
	p->time = time_of(&top);
	p->is_near = copied && target.kind == WALK_DIR &&
	    sync_time_is_near(o, top.mtime, target.mtime);
	p->before = time_of(&target);
}

/* Keeps the target's old time, which is within --modify-window of the new
 * one, unless it has changed during the run: then the plan had no reason to
 * set it. */
static void
choose_time(struct sync_run *run, struct sync_pair_ends *p)
{
	struct sftp_attrs now;

	if (p->is_near && sftp_call_stat(sync_end_of(run, false)->s,
	    p->target_root, true, &now) == 0 &&
	    now.mtime != (uint32_t)p->time.tv_sec)
		p->time = p->before;
}

/* Removes the lock and sets the time of the directory in one flight. False: it
 * cannot be done so, because the server may change the order of requests, or
 * the directory may be a link. */
static bool
remove_and_set_time(struct sync_run *run, struct sync_pair_ends *p,
    struct sftp *s, const char *lock)
{
	const struct timespec both[2] = { p->time, p->time };
	struct call removed = { .done = false }, set = { .done = false };

	if (!p->has_time || !sftp_has(s, SFTP_EXT_TIMES_NS_NAME) ||
	    !sftp_keeps_order(s) || run->args.opts.keep_dirlinks)
		return false;
	sftp_path_request(s, SFTP_REMOVE, lock, on_reply, &removed);
	sftp_times_ns_name(s, p->target_root, both, on_reply, &set);
	(void)wait_for(run, s, &removed);
	p->unlocking = false;
	(void)wait_for(run, s, &set);
	return true;
}

static void
set_time(struct sync_run *run, struct sftp *s, const char *dir,
    const struct timespec *time)
{
	const struct timespec both[2] = { *time, *time };
	const struct sftp_attrs attrs = { .flags = SFTP_A_TIMES,
		.mtime = (uint32_t)time->tv_sec,
		.atime = (uint32_t)time->tv_sec };
	struct call c = { .done = false };

	if (!sftp_has(s, SFTP_EXT_TIMES_NS)) {
		sftp_attrs_request(s, SFTP_SETSTAT, dir, &attrs, on_reply, &c);
		(void)wait_for(run, s, &c);
		return;
	}
	sftp_path_request(s, SFTP_OPENDIR, dir, on_reply, &c);
	if (wait_for(run, s, &c) != SFTP_OK)
		return;
	sftp_times_ns(s, &c.h, both, on_reply, &c);
	(void)wait_for(run, s, &c);
	sftp_close(s, &c.h, NULL, NULL);
}

void
sync_top_set_time(struct sync_run *run, struct sync_pair_ends *p)
{
	choose_time(run, p);
	if (p->has_time)
		set_time(run, sync_end_of(run, false)->s, p->target_root,
		    &p->time);
}

/* ---- the locks of a run ------------------------------------------------- */

void
sync_lock_take(struct sync_run *run, struct sync_pair_ends *p)
{
	char *path = sync_path_below(p->target_root, LOCK_NAME);
	char *line = last_line(run, p), *text = lock_text(line), *other;
	struct sftp *target = sync_end_of(run, false)->s;
	struct sftp *source = sync_end_of(run, true)->s;
	struct call c;

	sync_top_note(run, p);
	/* --break-lock removes the lock of another run once. A lock that is
	 * found by a later try may be an earlier try's. */
	if (run->args.break_lock && !sync_again_is())
		remove_lock(run, target, path);
	if (!get_lock(run, path, line, &text, &c)) {
		if (is_nothing(run, target, path))
			goto out; /* the directory is still to be made */
		tell_held(run, path, &c);
	}
	p->locked = true;
	for (unsigned i = 0; i < p->source_roots.n; i++) {
		other = sync_path_below(p->source_roots.v[i], LOCK_NAME);
		read_lock(run, source, other, &c);
		free(other);
		if (strcmp(c.text, text) != 0)
			continue;
		sync_die(run, SYNC_EXIT_FILES, p->source_roots.v[i],
		    "is the same directory as the target");
	}
out:
	free(line);
	free(text);
	free(path);
}

void
sync_locks_release(struct sync_run *run)
{
	struct sync_pair_ends *p;

	TAILQ_FOREACH(p, &run->pairs, entry)
		sync_lock_release(run, p);
}

void
sync_lock_release(struct sync_run *run, struct sync_pair_ends *p)
{
	struct sftp *target = sync_end_of(run, false)->s;
	char *path;

	if (!p->locked)
		return;
	/* p->locked is cleared first, so that the release is not begun a second
	 * time when the program ends in the middle of it. */
	p->locked = false;
	p->unlocking = true;
	path = sync_path_below(p->target_root, LOCK_NAME);
	choose_time(run, p);
	if (!remove_and_set_time(run, p, target, path)) {
		remove_lock(run, target, path);
		p->unlocking = false;
		if (p->has_time)
			set_time(run, target, p->target_root, &p->time);
	}
	free(path);
}
