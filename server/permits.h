/* SPDX-License-Identifier: ISC */
/*
 * What a login may do. The configuration allows something, and every proof of
 * identity (a key today) comes with its own permits; the login has what all of
 * them allow.
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
	    4096,                /* permitopen= or permitlisten= of a line */
	PERMITS_TUNNEL_ANY = -1, /* any unit */
	PERMITS_TUNNEL_MAX = 0x7ffffffd, /* the highest unit */
};

/* Kinds of forwarding, as bits: connections from this host that the client
 * opens, and sockets here that it listens on; by TCP or at a path. */
enum permits_forward {
	PERMITS_OPEN_TCP = 1,
	PERMITS_LISTEN_TCP = 2,
	PERMITS_OPEN_PATH = 4,
	PERMITS_LISTEN_PATH = 8,
	PERMITS_FORWARD_ALL = 15,
};

/* Kinds of tunnels, as bits; numbers of tun@openssh.com. */
enum permits_tunnel {
	PERMITS_TUNNEL_POINT_TO_POINT = 1,
	PERMITS_TUNNEL_ETHERNET = 2,
	PERMITS_TUNNEL_ALL = 3,
};

/* A host and port that forwarding may go to, or listen on. */
struct permits_endpoint {
	char *host;    /* owned; "*": any */
	uint16_t port; /* 0: any */
};

/* The endpoints that one key or rule lists: one of them has to fit. None:
 * nothing fits. */
struct permits_endpoints {
	struct permits_endpoint *v;
	size_t n;
};

/* The lists of several keys or rules: in each of them one has to fit.
 * No list: no limit. */
struct permits_limit {
	struct permits_endpoints *v;
	size_t n;
};

/* Zeroed: as little as possible. Clear with permits_clear(). */
struct permits {
	bool pty, user_rc;
	bool agent_forwarding, x11_forwarding;
	unsigned forward;      /* enum permits_forward */
	unsigned tunnel_modes; /* enum permits_tunnel */
	bool no_touch;	       /* a security key need not be touched */
	bool verify_required;  /* a security key must know its user */
	int64_t tunnel_unit;   /* or PERMITS_TUNNEL_ANY */
	int64_t expires;       /* seconds since 1970; 0: never */
	char *command;	       /* forced; owned; NULL: any */
	struct strlist env;    /* NAME=value, each name once */
	struct permits_limit open, listen;
};

/* Everything is allowed: what merging starts from. */
void permits_init(struct permits *p);
/* The permits allow nothing but a session, with a terminal or without. */
void permits_init_session_only(struct permits *p);
void permits_clear(struct permits *p);

/* *into becomes what both allow; the order of merging makes no difference.
 * ERR_DENIED, with *into as it was, if there is no such thing: two commands
 * are forced, or a variable is to have two values; *why is static. */
int permits_merge(struct permits *into, const struct permits *from,
    const char **why) must_check;

/* Adds "host:port" to the list of one source, before any merging: port is a
 * number, the name of a service, or "*"; an IPv6 address stands in brackets.
 * ERR_SYNTAX, ERR_LIMIT. */
int permits_add_open(struct permits *p, const char *text) must_check;
/* The same, or a port alone, on any address. */
int permits_add_listen(struct permits *p, const char *text) must_check;
/* NAME=value; a name that is there already keeps its value. ERR_SYNTAX. */
int permits_add_env(struct permits *p, const char *assignment) must_check;

/* Adds a list in which nothing fits. */
void permits_open_nothing(struct permits *p);
void permits_listen_nothing(struct permits *p);

/* To another process of ours. What is imported is cleared also after an error:
 * one that no login can have is an error (ERR_FORMAT, ERR_LIMIT). */
struct buf;
struct rd;
void permits_export(const struct permits *p, struct buf *out);
int permits_import(struct permits *p, struct rd *in) must_check;

/* What the configuration of this user allows. */
struct server_conf;
void permits_init_conf(struct permits *p, const struct server_conf *conf);

/* Forwarding of a connection to this host, written as the client did. */
bool permits_may_open(const struct permits *p, const char *host,
    uint16_t port);
/* A socket of the system may be connected to. A list that allows less than all
 * of the network allows none of these. */
bool permits_may_open_path(const struct permits *p);
/* Listening for the client, on the address as it was asked for; port 0: any
 * free one. */
bool permits_may_listen(const struct permits *p, const char *address,
    uint16_t port);
/* A path may be listened at, for which there are no lists. */
bool permits_may_listen_path(const struct permits *p);
bool permits_may_tunnel(const struct permits *p, enum permits_tunnel mode,
    int64_t unit);

#endif
