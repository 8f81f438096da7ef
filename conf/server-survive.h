/* SPDX-License-Identifier: ISC */
/*
 * Survive of the server: may a session outlive its connection, for how long,
 * and how much of it is kept? One value of several parts.
 *
 * Threads: any.
 */
#ifndef HPN_CONF_SERVER_SURVIVE_H
#define HPN_CONF_SERVER_SURVIVE_H

#include "conf/conf.h"

/* From which address a client may come back. */
enum { SERVER_SURVIVE_ANY_ADDRESS, SERVER_SURVIVE_SAME_ADDRESS };

enum { SERVER_SURVIVE_MAX = 64 };

struct server_survive {
	int enabled;  /* flag; the method's option in
		       * conf/auth-method-table.h */
	int time_s;   /* how long a session waits for its client */
	int memory;   /* bytes that are kept for it */
	int max;      /* sessions of a user that wait at a time */
	int address;
};

extern const struct conf_type server_survive_type;

#endif
