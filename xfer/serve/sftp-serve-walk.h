/* SPDX-License-Identifier: ISC */
/*
 * The inside of walk@hpnssh.org in the server, in five parts:
 *
 *  sftp-serve-walk.c        requests, and when a reply is full
 *  sftp-serve-walk-dirs.c   which directory is next, and what is in it
 *  sftp-serve-walk-ahead.c  attributes, where they are slow
 *  sftp-serve-walk-early.c  small directories, where attributes are slow
 *  sftp-serve-walk-put.c    records
 *
 * Memory: names of one directory, and of the directories that are still to come
 * on each level of the path to it. Both have a limit. A directory with too many
 * names is read several times: each time the names that come next are picked
 * out.
 *
 * Threads: one at a time for a walk; a worker, mostly.
 */
#ifndef HPN_XFER_SERVE_SFTP_SERVE_WALK_H
#define HPN_XFER_SERVE_SFTP_SERVE_WALK_H

#include <sys/stat.h>

#include <dirent.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "xfer/filter.h"
#include "xfer/local/local-tree.h"
#include "xfer/sftp/walk-format.h"

/* ---- records ------------------------------------------------------------ */

/* State of the encoder: records leave out what is as in the record before. */
struct walk_put {
	uint32_t want;
	char path[WALK_PATH_MAX + 1], name[WALK_NAME_MAX + 1];
	uint32_t mode, uid, gid;
	int64_t mtime;
	struct buf xattrs; /* the set of attributes that was put last */
};

/* Appends the record that begins a group (a directory). mounted: the directory
 * is on another device than the top. error: an errno; if it is not 0 the group
 * has no entries. */
void walk_put_group(struct walk_put *p, struct buf *b, const char *path,
    bool mounted, int error);
void walk_put_unknown(struct walk_put *p, struct buf *b, const char *name,
    int error);
/* Appends a set of extended attributes behind its entry. set NULL: the
 * attributes cannot be read. */
void walk_put_xattrs(struct walk_put *p, struct buf *b,
    const struct buf *set);
/* Appends an entry. left: it is a directory that is not entered, or a file
 * that is away. text: the target of a symbolic link. digest: NULL if there
 * is none. */
void walk_put_entry(struct walk_put *p, struct buf *b, const char *name,
    const struct stat *st, bool left, const char *text,
    const uint8_t *digest);

/* ---- directories -------------------------------------------------------- */

struct walk_level;
struct walk_ahead;
struct walk_early;

struct walk_dirs {
	struct walk_ahead *ahead; /* borrowed; NULL: attributes are not read
				   * ahead */
	struct walk_early *early; /* owned: the present directory, if it was
				   * read ahead, with its names; NULL: the names
				   * are in bytes */
	struct local_tree *tree;
	struct walk_level *levels; /* owned: from the top to the present
				    * directory */
	size_t count, cap;
	char path[WALK_PATH_MAX + 1]; /* of the present directory */
	size_t names_max;  /* bytes of names that are held; 0: the default */
	unsigned fds_max;  /* most descriptors of directories; 0: the default */
	size_t below_held; /* bytes of directories that are still to come */
	char start[WALK_PATH_MAX + 1];
	bool skipping; /* the walk continues an earlier one, and has not yet
			* come to the directory `start` */
	/* The names in the present directory, sorted: those behind `last`, up
	 * to `upper` if there are more. */
	char last[WALK_NAME_MAX + 1], upper[WALK_NAME_MAX + 1];
	bool more;
	int broken; /* errno: why names behind those that were told cannot be
		     * read */
	struct buf bytes;
	const char **names; /* owned, unless it is that of early; points to
			     * names in bytes */
	size_t names_count, next;
	DIR *list;	/* of the present directory; NULL: it cannot be read */
	uint64_t loads; /* how often names were loaded */
	bool begun;
	/* silent: no name of this directory is told, since the client knows
	 * them from an earlier walk. Names that sort before `after` are passed
	 * over altogether. */
	bool silent;
	bool refilling; /* only further directories below it are looked for */
	char after[WALK_NAME_MAX + 1];
};

/* Begins a walk. The caller has zeroed *w and set names_max, fds_max, start and
 * skipping. Takes over top, a descriptor of the top directory. 0, or -1
 * with errno. */
int walk_dirs_begin(struct walk_dirs *w, int top) must_check;
void walk_dirs_clear(struct walk_dirs *w);
/* Goes to the next directory. 1; 0: the walk is at its end; -1: it cannot go
 * on. *error is an errno if the names of the directory cannot be told. */
int walk_dirs_next(struct walk_dirs *w, int *error) must_check;
/* The next name in the present directory, valid until the next call; NULL:
 * there is none, or w->broken says why it cannot be read. */
const char *walk_dirs_name(struct walk_dirs *w);
/* A descriptor of the present directory, which has names. */
int walk_dirs_fd(const struct walk_dirs *w);
struct local_dir *walk_dirs_here(const struct walk_dirs *w);
/* Puts a directory of the present one on the list of those to be visited. 0; -1
 * with errno: ENOMEM, or ENAMETOOLONG. */
int walk_dirs_enter(struct walk_dirs *w, const char *name,
    const struct stat *found) must_check;

/* ---- attributes that are read ahead ------------------------------------- */

struct walk_stat {
	struct stat st;
	int error; /* errno of the call; 0: st is set */
};

/* Starts threads: by the loop, as is the end. NULL: there are none. */
struct walk_ahead *walk_ahead_new(void);
void walk_ahead_free(struct walk_ahead *a); /* NULL: nothing */
/* Attributes of the last name that walk_dirs_name() told, which may be older
 * than this call. 0, or -1 with errno. */
int walk_ahead_stat(struct walk_ahead *a, const struct walk_dirs *w,
    struct stat *st) must_check;

/* ---- directories that are read ahead ------------------------------------ */

struct walk_early {
	int at; /* descriptor of the parent directory; -1: closed */
	dev_t dev;
	ino_t ino;
	char name[WALK_NAME_MAX + 1];
	bool done; /* set when the thread has ended */
	/* What was read, if it is whole, and when its names were (clock_us()).
	 */
	bool whole;
	uint64_t read_us;
	size_t count;
	struct buf bytes;
	const char **names; /* sorted; in bytes */
	struct walk_stat *stats;
	/* What threads share of it once its names are known. */
	atomic_bool shared;
	atomic_size_t next; /* the first name that nobody has taken yet */
	atomic_uint users;  /* threads that have it; the last closes list */
	DIR *list;
};

/* Prepares to read a directory ahead. at: descriptor of the parent, which stays
 * the caller's. NULL: no memory, or no descriptor. */
struct walk_early *walk_early_new(int at, const char *name,
    const struct stat *found);
void walk_early_free(struct walk_early *e); /* NULL: nothing */
/* Reads the directory: by a thread. Others may read attributes, too. */
void walk_early_read(struct walk_early *e);
/* A further user of it, who then calls walk_early_help(). False: nobody has it
 * any more. */
bool walk_early_hold(struct walk_early *e) must_check;
void walk_early_help(struct walk_early *e);
/* Names whose attributes nobody has taken: 0 before all names are known. */
size_t walk_early_left(struct walk_early *e);
/* True if the directory was read whole, and only a moment ago. */
bool walk_early_is_good(const struct walk_early *e);
/* Gives it to the threads, which walk_ahead_go() wakes. False: there are too
 * many under way. */
bool walk_ahead_read(struct walk_ahead *a, struct walk_early *e) must_check;
void walk_ahead_go(struct walk_ahead *a);
/* Waits until the thread is done with e. */
void walk_ahead_wait(struct walk_ahead *a, struct walk_early *e);

#endif
