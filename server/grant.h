/* SPDX-License-Identifier: ISC */
/*
 * What a grant allows (grant@hpnssh.org, docs/PROTOCOL.md). By a grant, a
 * client that has logged in lets the owner of a key, on another machine, move
 * files below one directory of this host for a while. The scope goes from the
 * monitor that gives the grant to the monitor that redeems it, and to the
 * user's process.
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
	GRANTS_MAX = 8, /* grants of one connection that exist at a time */
};

/* The rights of confine@hpnssh.org (docs/SFTP.md) that a rule is about. */
enum grant_right {
	GRANT_MAY_LIST = 1,
	GRANT_MAY_READ = 2,
	GRANT_MAY_OWNER = 128,
	GRANT_MAY_ALL = 511,
};

/* Values of TransferGrants, as bits. */
enum grant_kind { GRANT_PUT = 1, GRANT_GET = 2 };

/* Zeroed: there is no grant. Clear with grant_scope_clear(). */
struct grant_scope {
	char *path;	 /* the directory, absolute; owned. NULL: there is no
			  * grant */
	uint32_t rights; /* all bits of confine@hpnssh.org */
	/* Limits as in confine@hpnssh.org, for all connections together; in the
	 * scope of one connection, its part. UINT64_MAX: none. */
	uint64_t bytes, files, deletes;
};

/* True if TransferGrants (kinds) allows these rights: GRANT_GET is needed to
 * read, GRANT_PUT to change anything. No grant allows to change owners. */
bool grant_rights_allowed(uint32_t rights, unsigned kinds);
/* The wire form of a scope. The caller clears s also after an error.
 * ERR_FORMAT: the path is not absolute, or a bit of the rights is unknown. */
void grant_scope_put(struct buf *b, const struct grant_scope *s);
int grant_scope_get(struct rd *r, struct grant_scope *s) must_check;
int grant_scope_copy(struct grant_scope *to,
    const struct grant_scope *from) must_check;
void grant_scope_clear(struct grant_scope *s);

#endif
