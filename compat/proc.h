/* SPDX-License-Identifier: ISC */
/*
 * What a process can ask and do about itself in a way of each system's own: its
 * descriptors, title, environment and program, and giving up rights; and
 * whether another process still runs.
 *
 * Threads: any for proc_name(); all else only while there is one thread.
 */
#ifndef HPN_COMPAT_PROC_H
#define HPN_COMPAT_PROC_H

#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Closes all descriptors from low on. */
void proc_close_from(int low);

/* For getrusage(): this thread, or the whole process if the system does not
 * count threads. */
#if defined(RUSAGE_THREAD)
#define PROC_USAGE_THREAD RUSAGE_THREAD
#else
#define PROC_USAGE_THREAD RUSAGE_SELF
#endif

/* Moves arguments and environment elsewhere, so that proc_title() may write
 * where ps(1) looks for them. name (NULL: as it was called) is the process's
 * name from here on, for proc_name() and ps(1); it must stay. */
void proc_title_begin(int argc, char **argv, const char *name);
/* Sets what ps(1) shows: the name, a colon and this text, cut to the room there
 * is. Does nothing if the system has no titles. */
void proc_title(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *proc_name(void);

/* Forgets the whole environment: 0, or -1. */
int proc_clear_env(void);

/* Sets out to the path of this process's program: 0, or -1 if it is not known
 * or does not fit. */
int proc_self_path(char *out, size_t size);
/* Runs the program of this process anew, also where its file has another name
 * by now if the system can do that; returns on failure only. */
void proc_execute_self(char **argv, char **env);

/* The calls below return 0, or -1 with errno; ENOSYS: the system cannot do
 * this. */

/* This process and those it forks can be traced by the superuser only, and on
 * Linux leave no core, until they run another program. */
int proc_hide(void);
/* Takes proc_hide() back. */
int proc_unhide(void);
/* No program that is run from here on gets more privileges by being run. */
int proc_no_new_privs(void);
/* The process is killed when its parent ends. */
int proc_end_with_parent(void);

/* Capabilities are kept when the process becomes another user: an attribute of
 * Linux, which modules of PAM set. */
bool proc_keeps_caps(void);
void proc_keep_caps(void);

/* Sets *start to the time when process pid began, which tells it from other
 * processes with the same id. -1 with ESRCH: there is no such process, or it
 * has ended and its parent has not asked for its status yet; ENOSYS: the
 * process exists, but the system does not tell. */
int proc_start(pid_t pid, uint64_t *start);

/* All signals have their default actions, and none is blocked: what is ignored
 * would stay so in a program that is executed. System calls only, so a child
 * may call it after vfork(). */
void proc_reset_signals(void);
/* Drops signals of this set that are blocked and pending. */
void proc_drop_signals(const sigset_t *signals);

#endif
