/* SPDX-License-Identifier: ISC */
/*
 * Whom the kernel ends when memory is short: never the listener, so that
 * somebody can still log in; of what it starts, whoever it would have been
 * without us. Where the system does not let us, nothing changes.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_OOM_H
#define HPN_SERVER_OOM_H

enum {
	OOM_NEVER = -1000,
	OOM_UNCHANGED = 1001, /* in place of a score, which is at most 1000 */
};

/* OOM_FILE is where a process has its own score, proc(5). For tests it is a
 * parameter. */
#define OOM_FILE "/proc/self/oom_score_adj"

/* Protects this process. */
void oom_protect(const char *file);
/* The score that it had before, for what it starts; or OOM_UNCHANGED. */
int oom_before(void);
/* The old score is given back, as the first thing that a process does; unless
 * it is OOM_UNCHANGED. */
void oom_give_back(const char *file, int score);

#endif
