/* SPDX-License-Identifier: ISC */
/*
 * --temp-dir: parts are made in a private directory within the named one, which
 * may be one that others can write to, such as /tmp. So nobody else can put a
 * file under a part's name, or read a file whose place at the target is closed
 * to them. The name of the private directory follows from the target's path, so
 * that a later run finds the parts of one that was killed.
 */
#include "client/sync/sync-run.h"

#include <sys/stat.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "crypto/digest.h"
#include "crypto/rand.h"
#include "xfer/sync/sync-path.h"

enum {
	NAMES_MAX = 9, /* names to try: other users may have taken some */
	OTHERS = S_IRWXG | S_IRWXO,
};

#define NO_DIR "is no directory, in which --temp-dir could make parts"
#define OPEN_TO_ALL "may be written by all, and has no sticky bit: others "    \
	"could take --temp-dir's parts away"
#define OTHER_SYSTEM "is on another file system than the target: parts are "   \
	"made beside their targets"

/* The name of the private directory of parts; number: which of NAMES_MAX. The
 * caller frees it. */
static char *
name_of(const struct sync_run *run, unsigned number)
{
	const char *path = run->target_path;
	uint8_t digest[DIGEST_MAX_LEN];
	uint64_t bits;
	char *name;

	sync_must(digest_once(DIGEST_SHA256, path, strlen(path), digest));
	memcpy(&bits, digest, sizeof bits);
	xasprintf(&name, ".hpnsync-%016" PRIx64 "-%u", bits, number);
	return name;
}

bool
sync_temp_is_far(const struct sync_run *run)
{
	const char *dir = run->args.temp_dir;

	return dir != NULL && (*dir == '/' || strcmp(dir, "..") == 0 ||
	    strncmp(dir, "../", 3) == 0 || strstr(dir, "/..") != NULL);
}

/* Sets where the directory of parts is. If it is below the target, the names
 * that it may have are excluded from the run's deletes. */
void
sync_temp_named(struct sync_run *run, char *path, const char *inside)
{
	free(run->temp.path);
	run->temp.path = path;
	for (unsigned n = 1; inside != NULL && n <= NAMES_MAX; n++) {
		char *name = name_of(run, n);
		char *below = sync_path_below(inside, name);

		xstrlist_add(&run->dests_inside, below);
		free(below);
		free(name);
	}
}

/* ---- at the target's server --------------------------------------------- */

/* Ends the program if r says that the session is lost; else returns r, a
 * status. */
static int
answer(struct sync_run *run, int r)
{
	if (r < 0)
		sync_lost(run, r);
	return r;
}

static struct sftp_attrs
must_be_dir(struct sync_run *run, struct sftp *s, const char *named)
{
	struct sftp_attrs a;

	if (answer(run, sftp_call_stat(s, named, true, &a)) > 0 ||
	    !(a.flags & SFTP_A_MODE) || !S_ISDIR(a.mode))
		sync_die(run, SYNC_EXIT_USAGE, run->temp.path, NO_DIR);
	return a;
}

/* True if the directory is on another file system than the target. Servers tell
 * a number of it; some tell 0 for all, which then says nothing. */
static bool
is_other_system(struct sync_run *run, struct sftp *s, const char *named)
{
	char *target = sync_end_path(sync_end_of(run, false),
	    run->target_path);
	struct sftp_statvfs a, b;
	bool other;

	other = sftp_has(s, SFTP_EXT_STATVFS) &&
	    answer(run, sftp_call_statvfs(s, named, &a)) == 0 &&
	    answer(run, sftp_call_statvfs(s, target, &b)) == 0 &&
	    a.fsid != b.fsid;
	free(target);
	return other;
}

static bool
is_private(const struct sftp_attrs *a)
{
	return (a->flags & SFTP_A_MODE) && S_ISDIR(a->mode) &&
	    (a->mode & OTHERS) == 0 && (a->flags & SFTP_A_OWNER);
}

/* True if the directory belongs to the user that the server works for. If this
 * run has not made it, its owner is compared with the owner of a directory made
 * as a probe. */
static bool
is_own(struct sync_run *run, struct sftp *s, const char *dir,
    const char *named, bool made)
{
	const struct sftp_attrs closed = { .flags = SFTP_A_MODE,
		.mode = S_IRWXU };
	struct sftp_attrs a, probe;
	uint64_t number;
	char *path;
	bool own;

	if (answer(run, sftp_call_stat(s, named, false, &a)) > 0 ||
	    !is_private(&a))
		return false;
	if (made)
		return true;
	rand_bytes(&number, sizeof number);
	xasprintf(&path, "%s/.hpnsync-%016" PRIx64, dir, number);
	if (answer(run, sftp_call_mkdir(s, path, &closed)) > 0) {
		free(path);
		return false;
	}
	own = answer(run, sftp_call_stat(s, path, false, &probe)) == 0 &&
	    is_private(&probe) && probe.uid == a.uid;
	(void)answer(run, sftp_call_path(s, SFTP_RMDIR, path));
	free(path);
	return own;
}

/* Makes the private directory of parts, or finds the one of an earlier run. */
static void
make_there(struct sync_run *run)
{
	const struct sftp_attrs closed = { .flags = SFTP_A_MODE,
		.mode = S_IRWXU };
	struct sync_end *end = sync_end_of(run, false);
	char *dir = sync_end_path(end, run->temp.path);
	const struct sftp_attrs at = must_be_dir(run, end->s, dir);
	int r = 0;

	if (!sftp_has(end->s, SFTP_EXT_POSIX_RENAME))
		sync_die(run, SYNC_EXIT_REFUSED, "--temp-dir", "the server has "
		    "no rename that replaces a file");
	if ((at.mode & S_IWOTH) && !(at.mode & S_ISVTX))
		sync_die(run, SYNC_EXIT_REFUSED, run->temp.path, OPEN_TO_ALL);
	if (run->args.opts.dry_run) {
		free(dir);
		return;
	}
	if (is_other_system(run, end->s, dir)) {
		sync_tell_note(run, run->temp.path, OTHER_SYSTEM);
		free(dir);
		return;
	}
	for (unsigned n = 1; n <= NAMES_MAX && run->temp.made == NULL; n++) {
		char *name = name_of(run, n);
		char *path = sync_path_below(dir, name);

		r = answer(run, sftp_call_mkdir(end->s, path, &closed));
		if (is_own(run, end->s, dir, path, r == SFTP_OK)) {
			run->temp.made = path;
			run->temp.x = (struct xfer_temp){ .dir = path,
				.old = r != SFTP_OK };
		} else {
			free(path);
		}
		free(name);
	}
	if (run->temp.made == NULL)
		sync_die(run, SYNC_EXIT_FILES, run->temp.path, r != 0 ?
		    sftp_call_words(r) : "no directory of ours can be made");
	free(dir);
}

/* ---- on this host ------------------------------------------------------- */

static bool
is_own_here(struct local_dir *d)
{
	struct stat st;

	return local_dir_stat(d, &st) == 0 && st.st_uid == geteuid() &&
	    (st.st_mode & OTHERS) == 0;
}

static void
make_here(struct sync_run *run)
{
	struct local_dir *top, *at;
	struct stat st, target;
	bool made;

	top = run->temp.top = local_root(run->tree, run->temp.path,
	    LOCAL_LINKS_OWN);
	sync_must(top == NULL ? ERR_NOMEM : 0);
	if (local_dir_stat(top, &st) != 0)
		sync_die(run, SYNC_EXIT_USAGE, run->temp.path, NO_DIR);
	if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
		sync_die(run, SYNC_EXIT_REFUSED, run->temp.path, OPEN_TO_ALL);
	if (run->args.opts.dry_run)
		return;
	if (stat(run->target_path, &target) == 0 &&
	    target.st_dev != st.st_dev) {
		sync_tell_note(run, run->temp.path, OTHER_SYSTEM);
		return;
	}
	for (unsigned n = 1; n <= NAMES_MAX && run->temp.made == NULL; n++) {
		char *name = name_of(run, n);

		errno = 0;
		if (local_make(top, name, S_IRWXU, LOCAL_LINKS_NONE, &at,
			&made) == 0 && is_own_here(at)) {
			run->temp.made = sync_path_below(run->temp.path, name);
			run->temp.x = (struct xfer_temp){ .at = at,
				.dir = run->temp.made, .old = !made };
		} else {
			local_dir_unref(at);
		}
		free(name);
	}
	if (run->temp.made == NULL)
		sync_die(run, SYNC_EXIT_FILES, run->temp.path, errno != 0 ?
		    strerror(errno) : "no directory of ours can be made");
}

/* ---- both --------------------------------------------------------------- */

void
sync_temp_make(struct sync_run *run)
{
	if (run->args.temp_dir == NULL || run->args.opts.in_place ||
	    (run->args.opts.dry_run && run->target_made))
		return;
	if (run->up)
		make_there(run);
	else
		make_here(run);
}

void
sync_temp_end(struct sync_run *run)
{
	struct sftp *s = sync_end_of(run, false)->s;
	bool gone = false;

	if (run->temp.made == NULL) {
		gone = true;
	} else if (!run->up) {
		gone = local_remove_dir(run->temp.top,
		    local_last_name(run->temp.made)) == 0;
	} else if (sftp_error(s) == 0) {
		gone = sftp_call_path(s, SFTP_RMDIR, run->temp.made) == 0;
	}
	if (!gone)
		sync_tell_note(run, run->temp.made, "stays: it has parts of "
		    "copies that were broken off");
	local_dir_unref(run->temp.x.at);
	local_dir_unref(run->temp.top);
	free(run->temp.made);
	free(run->temp.path);
}
