/* SPDX-License-Identifier: ISC */
/*
 * A forward as users write it: -L, -R, -D and -W, and the keywords of the same
 * meaning. The functions use only their arguments, besides ${NAME}, which is
 * read from the environment, and names of services.
 *
 * A specification has one to four fields with colons between them. A field with
 * a slash is the path of a Unix-domain socket. [ ] keep the colons of an IPv6
 * address together; elsewhere a backslash makes the character behind it an
 * ordinary one.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CONF_FORWARD_SPEC_H
#define HPN_CONF_FORWARD_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
	FORWARD_HOST_MAX = 1024, /* bytes of a host */
	FORWARD_PATH_MAX = 107,	 /* bytes of a path: what sockaddr_un holds */
	FORWARD_LIST_MAX = 4096, /* forwards of one list */
};

/* The numbers are those of the protocol for shared connections. */
enum forward_kind {
	FORWARD_LOCAL = 1,
	FORWARD_REMOTE = 2,
	FORWARD_DYNAMIC = 3,
};

struct forward_endpoint { /* has either a path or a port */
	char *host;	  /* owned; NULL: none given; "": empty or "*" */
	uint16_t port;
	char *path; /* owned; of a Unix-domain socket; NULL: none */
};

struct forward_spec {
	enum forward_kind kind;
	/* The program that connects names the target by SOCKS: FORWARD_DYNAMIC,
	 * and FORWARD_REMOTE without a target (-R 1080). */
	bool target_is_socks;
	struct forward_endpoint listen, target;
};

/* Zeroed: empty. */
struct forward_list {
	struct forward_spec *v;
	size_t n;
};

/* Parses a forward. 0 or ERR_SYNTAX; *out must be cleared only after 0. %x in
 * paths is not expanded. */
int forward_spec_parse(struct forward_spec *out, enum forward_kind kind,
    const char *text) must_check;
/* Parses the argument of -W: host:port, or a path. */
int forward_target_parse(struct forward_endpoint *out,
    const char *text) must_check;
void forward_endpoint_clear(struct forward_endpoint *e);
void forward_spec_clear(struct forward_spec *s);
bool forward_spec_equals(const struct forward_spec *a,
    const struct forward_spec *b);
int forward_spec_copy(struct forward_spec *to,
    const struct forward_spec *from) must_check;

/* An end of the forward as in a configuration: "[host]:port", "port", or the
 * path. Both texts, with a colon between them, parse to the same forward. The
 * target by SOCKS is "[socks]:0". Caller frees. */
char *forward_listen_text(const struct forward_spec *s);
char *forward_target_text(const struct forward_spec *s);

/* Appends a copy of the forward, unless the list has the same one.
 * ERR_LIMIT. */
int forward_list_add(struct forward_list *l,
    const struct forward_spec *s) must_check;
void forward_list_clear(struct forward_list *l);

#endif
