/* SPDX-License-Identifier: ISC */
/* What auth.c and the files of the methods (read-*.c) share. */
#ifndef HPN_SERVER_AUTH_AUTH_INTERNAL_H
#define HPN_SERVER_AUTH_AUTH_INTERNAL_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/wire.h"
#include "conf/auth-method-table.h"
#include "kex.h"

/* A client's request on its way to the monitor. */
struct auth_try {
	const struct auth_method *method;
	bool alias;		/* the client used the method's alias */
	const struct kex *kex;
	struct buf fields;	/* what auth_read_WORD() writes; secret */
	struct buf key_ok;	/* message to the client if the monitor's
				 * verdict is MONITOR_KEY_OK */
};

/* One function for each method: reads the fields of a request that only this
 * method has, and writes to t->fields what the monitor needs of them. An error
 * ends the connection. */
#define ROW(id, word, ...)                                                    \
	int auth_read_##word(struct auth_try *t, struct rd *in) must_check;
AUTH_METHODS(ROW)
#undef ROW

#endif
