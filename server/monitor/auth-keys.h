/* SPDX-License-Identifier: ISC */
/*
 * authorized_keys: lines, their options, and the search for a user's key.
 * The parser is pure; only authkeys_search() touches files.
 *
 * Threads: any.
 */
#ifndef HPN_SERVER_MONITOR_AUTH_KEYS_H
#define HPN_SERVER_MONITOR_AUTH_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/wire.h"
#include "server/permits.h"
#include "server/user.h"

/* A line's options: when it counts, and what it allows then. Clear with
 * authkeys_options_clear(). */
struct authkeys_options {
	bool cert_authority; /* the line names a CA, not a key */
	char *from;	     /* owned pattern list; NULL: from anywhere */
	char *principals;    /* owned; of a CA's line only */
	struct permits permits;
};

/* Those of a line without any. */
void authkeys_options_init(struct authkeys_options *o);
void authkeys_options_clear(struct authkeys_options *o);
/* One line, against the blob of an identity (keys/key.h). ERR_NOT_FOUND:
 * blank, comment, or another key. 0: it is this key, *o is filled. Other
 * errors: malformed. */
int authkeys_match_line(const char *line, struct span identity,
    struct authkeys_options *o, const char **why) must_check;

/* Time of expiry-time= : YYYYMMDD[HHMM[SS]][Z]; local time without the Z. */
int authkeys_parse_time(const char *s, int64_t *when) must_check;

struct authkeys_query {
	const struct user *user;
	struct span identity;	/* blob of the offered key's identity */
	const char *address;	/* of the peer, numeric */
	const char *host;	/* its name, or the address again */
	bool strict_modes;
	bool user_environment;	/* environment= counts */
};

/* Looks for the key in one file, as the user. 0 with *permits and *line_no
 * filled; or, with nothing permitted, ERR_NOT_FOUND (also when the line does
 * not apply: expired, from elsewhere), or an error that was logged. */
int authkeys_search(const struct authkeys_query *q, const char *path,
    struct permits *permits, unsigned *line_no) must_check;

#endif
