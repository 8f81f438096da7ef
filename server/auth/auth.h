/* SPDX-License-Identifier: ISC */
/*
 * User authentication (RFC 4252, 4256) in the unprivileged process. It parses
 * what the client sends and asks the monitor, which makes all decisions.
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

/* All arguments are borrowed. */
struct auth *auth_new(int monitor_fd, struct packet *p, const struct kex *k,
    const struct monitor_params *params);
void auth_free(struct auth *a);

/*
 * Optimistic replies save some clients two round trips. These clients request
 * the service and wait for the reply; then they request "none", to learn the
 * methods, and wait again. Besides, at the end of the key exchange their socket
 * delays each of these small messages by a round trip. So both replies are put
 * right behind our NEWKEYS, before the requests. The client then sends both
 * requests together with its first real one. This is done only for clients that
 * are known to send exactly these requests (PEER_WAITS_FOR_ANSWERS), and only
 * where the methods are the same for all users.
 */
int auth_put_optimistic(struct auth *a) must_check;

/* Handles a message of type 5, 6 or 50-79, which begins with its type.
 * ERR_PROTOCOL: it is not expected now. ERR_CLOSED: a disconnect was sent
 * (auth_gave_up()), or the account was refused (auth_turned_away()). */
int auth_input(struct auth *a, struct rd payload) must_check;

/* Whether USERAUTH_SUCCESS was put into the packet layer. */
bool auth_succeeded(const struct auth *a);
/* The reason that we sent with a disconnect; NULL: none was sent. */
const char *auth_gave_up(const struct auth *a);
/* Whether the monitor refused the account after it had proven its identity. The
 * monitor has logged why. */
bool auth_turned_away(const struct auth *a);
/* The user name that the client gave, cut to USER_SHOWN_MAX for log lines. */
const char *auth_user(const struct auth *a); /* NULL before it is known */
bool auth_user_invalid(const struct auth *a); /* the account is unknown or not
					       * allowed */

/* Returns how many microseconds to wait before a refusal is sent. The time that
 * a refusal takes must not show why it was refused. So refusals are sent only
 * at certain times after the request, which depend on the user name and on a
 * secret of this server; the wait lasts to the next of them. spent_us: since
 * the request. secret: the request had a password or the like, which is refused
 * no earlier than after floor_us. Pure. */
uint64_t auth_delay_us(const uint8_t salt[32], const char *user, bool secret,
    uint64_t floor_us, uint64_t spent_us);

#endif
