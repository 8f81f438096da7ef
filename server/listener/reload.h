/* SPDX-License-Identifier: ISC */
/*
 * SIGHUP makes the listener start its program anew. Before that it runs the
 * program with the same arguments and -t, in another process, as a check
 * whether it could start and could listen beside the addresses that the old
 * listener holds (listen-addresses.h). If it could not, the old listener goes
 * on unchanged and logs the reason. The listener serves during the check:
 * nothing here waits.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_LISTENER_RELOAD_H
#define HPN_SERVER_LISTENER_RELOAD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/listen.h"
#include "base/loop.h"

enum {
	RELOAD_CHECK_MS = 60 * 1000, /* a check that takes longer is killed and
				      * counts as failed */
	RELOAD_TEXT_MAX = 4 * 1024,  /* bytes that are kept of the check's
				      * messages */
};

struct reload {
	struct loop *loop;
	const char *exe;
	char **argv;
	const struct listen_set *sockets;
	pid_t pid; /* of the check; 0: none is running */
	bool again; /* another SIGHUP arrived during the check */
	int fd; /* pipe from standard error of the check; -1: closed */
	struct loop_fd *watch;
	struct loop_timer *timer;
	struct buf text;
};

/* exe, argv: path and arguments of the listener. sockets: those that it listens
 * on. All are borrowed. */
void reload_init(struct reload *r, struct loop *loop, const char *exe,
    char **argv, const struct listen_set *sockets);
/* Kills a running check and frees what r holds. */
void reload_clear(struct reload *r);
/* Starts a check, because SIGHUP arrived. During a check: repeats it after its
 * end. */
void reload_ask(struct reload *r);

enum reload_answer {
	RELOAD_NOT_MINE, /* the process that ended was not the check */
	RELOAD_WAIT,	 /* the check is repeated: wait for its end */
	RELOAD_YES,
	RELOAD_NO, /* the check failed, and its reason was logged */
};
/* To be called with each child process that has ended; status is of waitpid(2).
 * RELOAD_YES: the program can be started anew. RELOAD_NO: the old configuration
 * stays. */
enum reload_answer reload_child_ended(struct reload *r, pid_t pid, int status);

#endif
