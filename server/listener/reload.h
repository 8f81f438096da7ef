/* SPDX-License-Identifier: ISC */
/*
 * SIGHUP: before the listener becomes a new one it asks that one, in a process
 * of its own and with the same arguments, whether it could start (-t), and
 * listen beside what the old one holds (places.h). If not, the old one goes on
 * as it is, and the reason is in its log. Meanwhile it serves: nothing here
 * waits.
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
	RELOAD_CHECK_MS = 60 * 1000, /* a check that takes longer has failed */
	RELOAD_TEXT_MAX = 4 * 1024,  /* bytes of reasons that are kept */
};

struct reload {
	struct loop *loop;
	const char *exe;
	char **argv;
	const struct listen_set *sockets;
	pid_t pid; /* of the check; 0: there is none */
	bool again; /* there was one more SIGHUP during it */
	int fd; /* what it says; -1: nothing more */
	struct loop_fd *watch;
	struct loop_timer *timer;
	struct buf text;
};

/* argv, sockets: of the listener; all are borrowed. */
void reload_init(struct reload *r, struct loop *loop, const char *exe,
    char **argv, const struct listen_set *sockets);
/* A check that is under way is killed. */
void reload_clear(struct reload *r);
/* SIGHUP arrived. */
void reload_ask(struct reload *r);

enum reload_answer {
	RELOAD_NOT_MINE, /* that process was no check */
	RELOAD_WAIT,	 /* there is one more check */
	RELOAD_YES,
	RELOAD_NO, /* the reason was logged */
};
/* A child has ended. */
enum reload_answer reload_child_ended(struct reload *r, pid_t pid, int status);

#endif
