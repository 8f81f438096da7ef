/* SPDX-License-Identifier: ISC */
/* What the table of the client's keywords needs from other files. */
#ifndef HPN_CONF_CLIENT_CONF_INTERNAL_H
#define HPN_CONF_CLIENT_CONF_INTERNAL_H

#include "conf/client-conf.h"
#include "conf/conf-internal.h"

/* struct forward_list; the row's param is an enum forward_kind. */
extern const struct conf_type client_forward_type;
/* int[2]: unit here, unit there. */
extern const struct conf_type client_tunnel_type;
/* int: ms; 0 = off. */
extern const struct conf_type client_obscure_type;
/* struct strlist, in lower case: domains; "PATTERNS:PATTERNS". */
extern const struct conf_type client_domains_type;
extern const struct conf_type client_cnames_type;
extern const struct conf_enum client_canonical_values[];
/* int: CLIENT_PERSIST_*, or seconds. */
extern const struct conf_type client_persist_type;

/* int[2]: CLIENT_ADD_*, seconds. */
extern const struct conf_type client_add_keys_type;

/* Settles the host's name between the two passes over the files; looks it up if
 * CanonicalizeHostname asks for that. ERR_*: was logged. */
int client_conf_canonicalize(struct client_conf *c,
    client_conf_resolve_fn resolve) must_check;

/* May an unknown keyword be passed over? IgnoreUnknown may name it, or another
 * system's ssh may have it. */
bool client_conf_is_ignored(const struct client_conf *c, const char *keyword);

/* To be called when all files are read. client_conf_default_forwards() sets the
 * defaults of -W. The other function drops what ClearAllForwardings forbids,
 * and expands the tokens in the paths of forwards. */
void client_conf_default_forwards(struct client_conf *c);
int client_conf_settle_forwards(struct client_conf *c) must_check;

#endif
