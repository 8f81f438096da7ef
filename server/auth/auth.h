/* SPDX-License-Identifier: ISC */
/*
 * User authentication (RFC 4252, 4256) as the unprivileged process speaks
 * it: it parses what the client sends and asks the monitor, which decides
 * everything.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_SERVER_AUTH_AUTH_H
#define HPN_SERVER_AUTH_AUTH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/wire.h"
#include "kex.h"
#include "packet.h"
#include "server/monitor-wire.h"

struct auth;

/* Everything is borrowed. */
struct auth *auth_new(int monitor_fd, struct packet *p, const struct kex *k,
    const struct monitor_params *params);
void auth_free(struct auth *a);

/*
 * Optimistic replies. Some clients always ask for the service, wait, ask for
 * the methods (request "none"), and wait again: a round trip each, and at the
 * end of the key exchange their socket delays such small messages for another
 * one. They get both replies right behind our NEWKEYS, before they have asked,
 * so that their two requests leave together with the first real one. That is
 * done only for clients known to send exactly these requests
 * (PEER_WAITS_FOR_ANSWERS), and only where the methods are the same for all
 * users.
 */
int auth_put_optimistic(struct auth *a) must_check;

/* A message of type 5, 6 or 50-79, type first. ERR_PROTOCOL for what is
 * not expected now; ERR_CLOSED when a disconnect was sent (auth_gave_up()),
 * or the user was turned away. */
int auth_input(struct auth *a, struct rd payload) must_check;

/* USERAUTH_SUCCESS has been put into the packet layer. */
bool auth_succeeded(const struct auth *a);
/* Why we ended it; NULL: we did not. */
const char *auth_gave_up(const struct auth *a);
/* The account may not log in now, which the monitor has logged. */
bool auth_turned_away(const struct auth *a);
/* The name given, as far as log lines show it. */
const char *auth_user(const struct auth *a); /* NULL: not known yet */
bool auth_user_invalid(const struct auth *a); /* unknown, or not allowed */

/* The time that a refusal takes must not show what was refused, so refusals are
 * sent only at certain times after the request, which depend on the name and
 * on a secret of this server. Microseconds to wait for the next of these.
 * secret: the request had a password or the like. Pure. */
uint64_t auth_delay_us(const uint8_t salt[32], const char *user, bool secret,
    uint64_t floor_us, uint64_t spent_us);

#endif
