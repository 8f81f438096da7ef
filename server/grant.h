/* SPDX-License-Identifier: ISC */
/*
 * What a grant allows (grant@hpnssh.org, docs/PROTOCOL.md): a client that has
 * logged in lets the owner of a key, on another machine, move files below one
 * directory here for a while. The monitor that gives it, the one that lets its
 * owner in, and the user's process hand this to each other.
 *
 * Threads: any.
 */
#ifndef HPN_SERVER_GRANT_H
#define HPN_SERVER_GRANT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"

enum {
	GRANT_PATH_MAX = 4096,	  /* bytes */
	GRANT_CONNECTIONS_MAX = 32,
	GRANT_BEGIN_MAX_S = 120,
	GRANT_LIFE_MAX_S = 24 * 3600,
	GRANTS_MAX = 8, /* of one connection that are good at a time */
};

/* Rights of confine@hpnssh.org (docs/SFTP.md) that the rules here know. */
enum grant_right {
	GRANT_MAY_LIST = 1,
	GRANT_MAY_READ = 2,
	GRANT_MAY_OWNER = 128,
	GRANT_MAY_ALL = 511,
};

/* Values of TransferGrants, as bits. */
enum grant_kind { GRANT_PUT = 1, GRANT_GET = 2 };

/* Zeroed: none. Clear with grant_scope_clear(). */
struct grant_scope {
	char *path;	 /* absolute; owned. NULL: there is no grant */
	uint32_t rights; /* all bits of confine@hpnssh.org */
	/* As of confine@hpnssh.org, of each connection. UINT64_MAX: any. */
	uint64_t bytes, files, deletes;
};

/* Whether the configuration allows these rights: to read takes GRANT_GET, to
 * change anything GRANT_PUT. Owners can never be changed by a grant. */
bool grant_rights_allowed(uint32_t rights, unsigned kinds);
/* The wire form. The caller clears s also after an error. ERR_FORMAT: the path
 * is not absolute, or there are rights that are not known. */
void grant_scope_put(struct buf *b, const struct grant_scope *s);
int grant_scope_get(struct rd *r, struct grant_scope *s) must_check;
int grant_scope_copy(struct grant_scope *to,
    const struct grant_scope *from) must_check;
void grant_scope_clear(struct grant_scope *s);

#endif
