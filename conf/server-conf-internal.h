/* SPDX-License-Identifier: ISC */
/* What server-conf.c and server-conf-types.c share. */
#ifndef HPN_CONF_SERVER_CONF_INTERNAL_H
#define HPN_CONF_SERVER_CONF_INTERNAL_H

#include "conf/conf-internal.h"
#include "conf/server-conf.h"

extern const struct conf_type server_ports_type;
extern const struct conf_type server_listen_type;
extern const struct conf_type server_startups_type;
extern const struct conf_type server_net_bits_type;
extern const struct conf_type server_methods_type;
extern const struct conf_type server_subsystem_type;

/* Splits a value of ListenAddress: "host", "host:port", "[host]:port", or a
 * bare IPv6 address; RDOMAIN and the name of an interface may follow. */
#define RDOMAIN " rdomain "
bool server_split_listen(const char *text, struct server_listen *out);

/* Length of the name that "name command" begins with; 0 if there is no
 * command. */
size_t server_subsystem_name_len(const char *text);
bool server_has_subsystem(const struct strlist *l, const char *name,
    size_t len);

#endif
