/* SPDX-License-Identifier: ISC */
/*
 * How monitors of different connections find each other: each that has
 * something to answer listens at a socket with a random name, in a directory
 * that only the superuser can enter. Names outlive SIGHUP, a restart and an
 * upgrade of the listener, which knows nothing of them. The name of a monitor
 * that has died is removed by who finds that nobody listens there: a monitor
 * that asks, or one that begins to listen and looks at some.
 *
 * Threads: loop thread only; each call waits for two seconds at most, if it
 * does not say otherwise.
 */
#ifndef HPN_SERVER_MONITOR_RENDEZVOUS_H
#define HPN_SERVER_MONITOR_RENDEZVOUS_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"

enum { RENDEZVOUS_HANDLE_LEN = 16 };

/* Opens the directory, close-on-exec, and makes it first if there is none.
 * ERR_SYSTEM; ERR_PERMISSION: it is not the superuser's alone, which was
 * logged; ERR_UNSUPPORTED: this process is not the superuser's. */
int rendezvous_open(int *dir) must_check;
/* For tests: the same with a directory and an owner of one's own. */
int rendezvous_open_at(const char *path, uint32_t owner, int *dir) must_check;

/* Listens at a new random name, and removes names of the dead. */
int rendezvous_listen(int dir, uint8_t handle[RENDEZVOUS_HANDLE_LEN],
    int *fd) must_check;
/* Removes the name. */
void rendezvous_forget(int dir, const uint8_t handle[RENDEZVOUS_HANDLE_LEN]);
/* Accepts one that asks, whose question is appended. *fd stays open for the
 * answer, and until the asker ends. ERR_PERMISSION: it is another user's. */
int rendezvous_accept(int listening, int *fd, struct buf *question) must_check;
int rendezvous_answer(int fd, const struct buf *answer) must_check;
/* For tests: looks at the first `most` names, and removes those at which nobody
 * listens, but not those of the last seconds. */
void rendezvous_sweep(int dir, size_t most);

/* Asks whoever listens at the name. *fd stays open, so that the other one knows
 * when this process ends. ERR_NOT_FOUND: nobody does; a name without anybody
 * was removed. */
int rendezvous_ask(int dir, struct span handle, const struct buf *question,
    struct buf *answer, int *fd) must_check;
/* As rendezvous_ask(), of a monitor that has to ask its user's process first:
 * waits for ten seconds. */
int rendezvous_ask_long(int dir, struct span handle,
    const struct buf *question, struct buf *answer, int *fd) must_check;

#endif
