/* SPDX-License-Identifier: ISC */
/*
 * Survive of the server: whether a session may outlive its connection, for how
 * long, and how much data is kept for it. One value of several parts.
 *
 * Threads: any.
 */
#ifndef HPN_CONF_SERVER_SURVIVE_H
#define HPN_CONF_SERVER_SURVIVE_H

#include "conf/conf.h"

/* The addresses from which a client may come back. */
enum { SERVER_SURVIVE_ANY_ADDRESS, SERVER_SURVIVE_SAME_ADDRESS };

enum { SERVER_SURVIVE_MAX = 64 };

struct server_survive {
	int enabled;  /* flag: the option that enables the method in
		       * conf/auth-method-table.h */
	int time_s;   /* seconds that a session waits for its client */
	int memory;   /* bytes of sent data that are kept for a session */
	int max;      /* sessions of one user that may wait at a time */
	int address;
};

extern const struct conf_type server_survive_type;

#endif
