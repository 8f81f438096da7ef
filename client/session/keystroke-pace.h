/* SPDX-License-Identifier: ISC */
/*
 * ObscureKeystrokeTiming on a connection: in each turn of the loop, asks
 * keystrokes_decide() (keystrokes.h) and does what it decides.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SESSION_KEYSTROKE_PACE_H
#define HPN_CLIENT_SESSION_KEYSTROKE_PACE_H

#include <stdint.h>

#include "base/loop.h"
#include "channels.h"
#include "connection.h"
#include "kex.h"
#include "packet.h"

struct keystroke_pace;

/* The pointers are borrowed and have to outlive the keystroke_pace. */
struct keystroke_pace_params {
	struct loop *loop;
	struct connection *connection;
	struct packet *packet;
	const struct kex *kex;
	const struct channels *channels;
	uint32_t interval_ms;
};

int keystroke_pace_new(struct keystroke_pace **out,
    const struct keystroke_pace_params *params) must_check;
void keystroke_pace_free(struct keystroke_pace *kp); /* NULL is fine */

#endif
