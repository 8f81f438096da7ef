/* SPDX-License-Identifier: ISC */
/*
 * The server's side of a connection with handlers of server/session, and a
 * client in the same loop that asks of them what the test wants. All of it
 * fails the test that runs when it cannot do its work.
 */
#ifndef HPN_REGRESS_UNIT_SERVICES_HOST_H
#define HPN_REGRESS_UNIT_SERVICES_HOST_H

#include "regress/unit/channels-host.h"
#include "server/peer.h"
#include "server/permits.h"
#include "server/session/services.h"
#include "server/user.h"

enum { HELD_BY_CLIENT_MAX = 128 };

struct services_host {
	struct world w; /* a is the client */
	struct server_conf conf;
	struct permits permits; /* everything, until the test says less */
	struct service_owners owners;
	bool holds; /* the client does not answer opens, but collects them */
	struct channel *held[HELD_BY_CLIENT_MAX];
	int called; /* channels that the server has opened */
};

extern struct services_host host;

/* Of cmocka. Messages are kept. */
int services_setup(void **state);
int services_teardown(void **state);

void serve_channel(const struct service_channel *row);
void serve_request(const struct service_request *row);

/* 0: accepted; or the reason (enum channel_open_failure) of the refusal. The
 * extra fields are cleared. */
int client_opens(const char *type, struct buf *extra);
/* The server's answer, with its data in *reply, if that is not NULL. */
bool client_asks(const char *name, struct buf *data, struct buf *reply);
/* The server finds that these fields cannot be: the error that ends the
 * connection. */
int client_misspeaks(const char *open_type, const char *request,
    struct buf *fields);

#endif
