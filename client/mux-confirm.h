/* SPDX-License-Identifier: ISC */
/*
 * Asking the user whether a passenger may do something (ControlMaster ask and
 * autoask), by the askpass program only: a master may have no terminal, and
 * does not wait while the user thinks.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_MUX_CONFIRM_H
#define HPN_CLIENT_MUX_CONFIRM_H

#include <stdbool.h>

#include "base/loop.h"

struct mux_confirm;

/* told is called once, later; not if it is dropped before. NULL: nobody can be
 * asked, which is no consent; why was logged. */
struct mux_confirm *mux_confirm_ask(struct loop *loop, const char *question,
    void (*told)(void *arg, bool allowed), void *arg);
/* The question is no longer of interest. NULL is fine. */
void mux_confirm_drop(struct mux_confirm *c);

#endif
