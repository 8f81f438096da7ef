/* SPDX-License-Identifier: ISC */
/*
 * The programs that serve a connection: where they are, and how they are
 * executed. The listener opens them when it starts, and each connection gets
 * these open files. So an update, which puts other files in their place, does
 * not mix programs of two versions: logins go on with those of before until the
 * listener is restarted.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_PROGRAMS_H
#define HPN_SERVER_PROGRAMS_H

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

enum program_kind {
	PROGRAM_SESSION,
	PROGRAM_AUTH,
	PROGRAM_USER,
	PROGRAMS,
};

struct program {
	char *path; /* owned */
	/* The open file; owned; close-on-exec. 0: it is not held, and the path
	 * is executed. */
	int fd;
};

/* The number at which a program gets the first of the descriptors that are
 * passed to it. */
enum { PROGRAM_FD_FIRST = 3, PROGRAM_FDS_MAX = 5 };

/* How a program is executed. Beside the descriptors here it gets the standard
 * ones only. */
struct program_start {
	const struct program *program;
	char *const *argv, *const *env;
	/* Become PROGRAM_FD_FIRST and so on. -1: that number stays closed. */
	int fds[PROGRAM_FDS_MAX];
	size_t n;
	/* If the open file cannot be executed (a script, a rule of the system
	 * that goes by paths), the path is, with this many of the descriptors.
	 * 0: it is not. */
	size_t n_by_path;
	bool leads; /* the process begins a session of its own, setsid(2) */
};

/* Sets the path of a program: `configured` if it is not NULL and not the
 * installed path. Else the program beside this executable if that is not
 * installed (it runs where it was built), else the installed path. */
void program_find(struct program *p, enum program_kind kind,
    const char *configured);
/* Opens the program, unless it is held already. ERR_SYSTEM with errno: it does
 * not exist or cannot be executed. */
int program_hold(struct program *p) must_check;
/* Takes a descriptor that this process was started with, which is then
 * close-on-exec. If it is not open the program is not held. */
void program_take(struct program *p, int fd);
/* Does the path lead to another file than the one that is held? */
bool program_is_replaced(const struct program *p);
/* The program is not needed any more by this process. */
void program_let_go(struct program *p);
void program_clear(struct program *p);

/* Starts the program. Signals have their default actions there, and none is
 * blocked. Returns 0 or an errno number; *pid is set then. */
int program_start(const struct program_start *s, pid_t *pid) must_check;
/* Makes this process the program. Returns an errno number if that fails. */
int program_become(const struct program_start *s);

#endif
