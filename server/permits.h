/* SPDX-License-Identifier: ISC */
/*
 * What a login may do. The configuration allows something, and every proof of
 * identity (a key today) comes with its own permits. The login may do only what
 * the configuration and all of its proofs allow.
 *
 * Threads: any.
 */
#ifndef HPN_SERVER_PERMITS_H
#define HPN_SERVER_PERMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum {
	PERMITS_ENDPOINTS_MAX =
	    4096,                /* endpoints in the list of one key */
	PERMITS_TUNNEL_ANY = -1, /* no limit to one unit */
	PERMITS_TUNNEL_MAX = 0x7ffffffd, /* the highest number of a unit */
};

/* Kinds of forwarding, as bits. OPEN: this host connects for the client.
 * LISTEN: this host listens for the client. TCP: by TCP. PATH: by Unix
 * sockets. */
enum permits_forward {
	PERMITS_OPEN_TCP = 1,
	PERMITS_LISTEN_TCP = 2,
	PERMITS_OPEN_PATH = 4,
	PERMITS_LISTEN_PATH = 8,
	PERMITS_FORWARD_ALL = 15,
};

/* Kinds of tunnels, as bits. The values are those of the mode in
 * tun@openssh.com. */
enum permits_tunnel {
	PERMITS_TUNNEL_POINT_TO_POINT = 1,
	PERMITS_TUNNEL_ETHERNET = 2,
	PERMITS_TUNNEL_ALL = 3,
};

/* A host and port that may be connected to or listened on. */
struct permits_endpoint {
	char *host;    /* owned; "*": any */
	uint16_t port; /* 0: any */
};

/* The endpoints that one key or one keyword lists. A connection is allowed if
 * it fits one of them. n 0: none is allowed. */
struct permits_endpoints {
	struct permits_endpoint *v;
	size_t n;
};

/* The lists of all keys and keywords of a login. A connection is allowed if
 * each of the lists allows it. n 0: no limit. */
struct permits_limit {
	struct permits_endpoints *v;
	size_t n;
};

/* Zeroed: as little as possible is allowed. Clear with permits_clear(). */
struct permits {
	bool pty, user_rc;
	bool agent_forwarding, x11_forwarding;
	unsigned forward;      /* enum permits_forward */
	unsigned tunnel_modes; /* enum permits_tunnel */
	bool no_touch;	       /* a security key need not be touched */
	bool verify_required;  /* a security key must verify its user */
	int64_t tunnel_unit;   /* the only one allowed; or PERMITS_TUNNEL_ANY */
	int64_t expires;       /* seconds since 1970; 0: never */
	char *command;	       /* the only one that runs; owned; NULL: any */
	struct strlist env;    /* NAME=value, each name once */
	struct permits_limit open, listen;
};

/* Sets p to permits that allow everything. Merging starts from them. */
void permits_init(struct permits *p);
/* Sets p to permits that allow only a session, with or without a terminal. */
void permits_init_session_only(struct permits *p);
void permits_clear(struct permits *p);

/* *into becomes what both allow; the order of merging makes no difference.
 * ERR_DENIED if both force different commands or give a variable different
 * values: then *into is unchanged, and *why is a static text. */
int permits_merge(struct permits *into, const struct permits *from,
    const char **why) must_check;

/* Adds "host:port" to the endpoints that may be opened, before any merging. The
 * port is a number, the name of a service, or "*"; an IPv6 address stands in
 * brackets. ERR_SYNTAX; ERR_LIMIT: over PERMITS_ENDPOINTS_MAX. */
int permits_add_open(struct permits *p, const char *text) must_check;
/* Adds an endpoint that may be listened on: "host:port" as above, or a port
 * alone, which means any address. */
int permits_add_listen(struct permits *p, const char *text) must_check;
/* Adds a variable, NAME=value. A name that is there already keeps its value.
 * ERR_SYNTAX. */
int permits_add_env(struct permits *p, const char *assignment) must_check;

/* Adds an empty list, so that no endpoint is allowed. */
void permits_open_nothing(struct permits *p);
void permits_listen_nothing(struct permits *p);

/* What a key allows in one line, for people: a word for each permit and each
 * limit, with a blank in front. Caller frees. */
char *permits_text(const struct permits *p);

/* The wire form, for other processes of this server. The caller clears p also
 * after a failed import. ERR_FORMAT, ERR_LIMIT: no login can have such
 * permits. */
struct buf;
struct rd;
void permits_export(const struct permits *p, struct buf *out);
int permits_import(struct permits *p, struct rd *in) must_check;

/* Sets p to what conf, the configuration for this user, allows. */
struct server_conf;
void permits_init_conf(struct permits *p, const struct server_conf *conf);

/* Whether the client may connect to host, which is compared as the client wrote
 * it, without a look-up. */
bool permits_may_open(const struct permits *p, const char *host,
    uint16_t port);
/* Whether the client may connect to a path (a Unix socket). If any list limits
 * the hosts and ports of TCP, no path is allowed, because no list can name
 * paths. */
bool permits_may_open_path(const struct permits *p);
/* Whether this server may listen for the client on address, which is compared
 * as the client wrote it. port 0: any free port. */
bool permits_may_listen(const struct permits *p, const char *address,
    uint16_t port);
/* Whether this server may listen at a path for the client. Lists of endpoints
 * do not limit this. */
bool permits_may_listen_path(const struct permits *p);
bool permits_may_tunnel(const struct permits *p, enum permits_tunnel mode,
    int64_t unit);

#endif
