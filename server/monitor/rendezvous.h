/* SPDX-License-Identifier: ISC */
/*
 * How the monitors of different connections find each other. Each that can
 * answer questions listens at a socket with a random name, in a directory that
 * only the superuser can enter. Names outlive SIGHUP, a restart and an upgrade
 * of the listener, which does not know of them. When a monitor has died, its
 * name is removed by another one that finds nobody listening there: one that
 * asks, or one that begins to listen and looks at some names.
 *
 * Threads: loop thread only; each call waits for two seconds at most, unless it
 * says otherwise.
 */
#ifndef HPN_SERVER_MONITOR_RENDEZVOUS_H
#define HPN_SERVER_MONITOR_RENDEZVOUS_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"

enum { RENDEZVOUS_HANDLE_LEN = 16 };

/* Opens the directory, close-on-exec; makes it if it is missing. ERR_SYSTEM;
 * ERR_PERMISSION: others than the superuser can enter it, which was logged;
 * ERR_UNSUPPORTED: this process is not the superuser's. */
int rendezvous_open(int *dir) must_check;
/* For tests: as rendezvous_open(), with that directory and owner. */
int rendezvous_open_at(const char *path, uint32_t owner, int *dir) must_check;

/* Listens at a new random name, and removes some names of monitors that have
 * died. */
int rendezvous_listen(int dir, uint8_t handle[RENDEZVOUS_HANDLE_LEN],
    int *fd) must_check;
/* Removes the name. */
void rendezvous_forget(int dir, const uint8_t handle[RENDEZVOUS_HANDLE_LEN]);
/* Accepts a monitor that asks, and appends its question. *fd is for the answer,
 * and stays open until the asker ends. ERR_PERMISSION: the asker is another
 * user's process. */
int rendezvous_accept(int listening, int *fd, struct buf *question) must_check;
int rendezvous_answer(int fd, const struct buf *answer) must_check;
/* For tests: looks at the first `most` names, and removes those at which nobody
 * listens, but not those of the last seconds. */
void rendezvous_sweep(int dir, size_t most);

/* Asks the monitor that listens at the name. *fd stays open, so that the other
 * one notices when this process ends. ERR_NOT_FOUND: nobody listens; the name
 * was removed. */
int rendezvous_ask(int dir, struct span handle, const struct buf *question,
    struct buf *answer, int *fd) must_check;
/* As rendezvous_ask(), but waits for ten seconds: the monitor has to ask its
 * user's process first. */
int rendezvous_ask_long(int dir, struct span handle,
    const struct buf *question, struct buf *answer, int *fd) must_check;

#endif
