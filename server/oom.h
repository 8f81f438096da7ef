/* SPDX-License-Identifier: ISC */
/*
 * Which processes the kernel kills when memory is short: never the listener, so
 * that somebody can still log in. The listener's children get back the score
 * that it had before. Where the system does not allow this, nothing changes.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_OOM_H
#define HPN_SERVER_OOM_H

enum {
	OOM_NEVER = -1000,
	OOM_UNCHANGED = 1001, /* no score: a score is at most 1000 */
};

/* The file with a process's own score, proc(5). Tests use another file. */
#define OOM_FILE "/proc/self/oom_score_adj"

/* Sets this process's score to OOM_NEVER, and remembers the old score. */
void oom_protect(const char *file);
/* The score before oom_protect(), for children of this process; OOM_UNCHANGED:
 * it was not changed. */
int oom_before(void);
/* A child process calls this first, to set the score that oom_before() returned
 * to its parent. OOM_UNCHANGED: nothing is done. */
void oom_give_back(const char *file, int score);

#endif
