/* SPDX-License-Identifier: ISC */
/*
 * Opening a file by the name that the caller of a program gave for it: logs,
 * batches, metrics, keys, checkpoints. The name may lead through directories
 * that others can write, as /tmp, and what is found there may have been put
 * there for us to write or read through.
 *
 * THE RULE. Every link on the way, also the last component, counts only if root
 * or the effective user owns it (ELOOP otherwise). In a directory that others
 * can write only regular files are opened (EACCES), and for writing only those
 * that have no other name and are root's or ours; or anybody's, where not all
 * can write but a group or another owner of the directory, and only to append
 * (O_APPEND without O_TRUNC): there a log may be a log keeper's, whom the
 * administrator has chosen, and nobody else can have put it there. Elsewhere
 * devices and pipes are as good as files, and so is a descriptor by its name,
 * wherever it leads: /dev/stderr, /dev/fd/N, /proc/self/fd/N.
 *
 * Threads: any.
 */
#ifndef HPN_BASE_OPEN_NAMED_H
#define HPN_BASE_OPEN_NAMED_H

#include <sys/types.h>

#include "base/err.h"

/* As open(2), always with O_CLOEXEC and O_NOCTTY. -1 sets errno. */
int open_named(const char *path, int flags, mode_t mode);

/* Opens a directory: to read it, or as a step (compat/file.h) if this user may
 * not read it. The rule above holds for all links in the path, also for the
 * last component, with or without a slash or a dot behind it. -1 sets errno. */
int open_named_dir(const char *path);

/* Opens a handle (O_PATH) of a socket, to connect to it by /proc/self/fd. By
 * the rule above, a socket in a directory that others can write must be root's
 * or ours and have no other name: otherwise somebody could lead us to another
 * socket of ours. The file may turn out not to be a socket. -1 sets errno. */
int open_named_socket(const char *path);

/* Opens the directory that has the last component of path, for *at() calls.
 * *last points to that component within path, which may or may not exist. Links
 * on the way are followed by the rule above. -1 sets errno. */
int open_named_parent(const char *path, const char **last);

#endif
