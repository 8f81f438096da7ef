/* SPDX-License-Identifier: ISC */
/*
 * The methods of user authentication that the server has: one row each. The
 * configuration, the auth process and the monitor read this table, and know
 * no method by name besides. What a process does for a method is one function,
 * which the second word of the row binds: auth_read_WORD() in server/auth/,
 * login_try_WORD() in server/monitor/. A program without it does not link.
 *
 * Threads: any.
 */
#ifndef HPN_CONF_AUTH_METHOD_TABLE_H
#define HPN_CONF_AUTH_METHOD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/server-conf.h"
#include "packet.h"

#define AUTH_OPTION(field)                                                    \
	.option = offsetof(struct server_conf, login.field##_authentication)

/* The rows are in the order in which clients are offered the methods. */
#define AUTH_METHODS(ROW)                                                     \
	ROW(NONE, none, .name = "none", .asks_only = true)                    \
	ROW(PUBLICKEY, publickey, .name = "publickey",                        \
	    .alias = "publickey-hostbound-v00@openssh.com",                   \
	    AUTH_OPTION(pubkey), .proves_key = true)                          \
	ROW(KEYEX, keyex, .name = "gssapi-keyex", AUTH_OPTION(gssapi),        \
	    .needs_gss_kex = true, .proves_key = true)                        \
	ROW(GSSAPI, gssapi, .name = "gssapi-with-mic", AUTH_OPTION(gssapi),   \
	    .proves_key = true,                                               \
	    .dialogue_min = SSH_MSG_USERAUTH_GSSAPI_RESPONSE,                 \
	    .dialogue_max = SSH_MSG_USERAUTH_GSSAPI_MIC)                      \
	ROW(PASSWORD, password, .name = "password", AUTH_OPTION(password),    \
	    .has_secret = true, .logs_failures = true)                        \
	ROW(KBDINT, kbdint, .name = "keyboard-interactive", .device = "pam",  \
	    AUTH_OPTION(kbd_interactive), .needs_pam = true,                  \
	    .has_secret = true, .prompt = SSH_MSG_USERAUTH_INFO_REQUEST,      \
	    .answer = SSH_MSG_USERAUTH_INFO_RESPONSE)                         \
	ROW(HOSTBASED, hostbased, .name = "hostbased",                        \
	    AUTH_OPTION(hostbased), .proves_key = true)

struct auth_method {
	const char *name;
	const char *alias;  /* another name in requests; or NULL */
	const char *device; /* that AuthenticationMethods may name; or NULL */
	size_t option;	    /* int flag in struct server_conf that offers it;
			     * 0: it is always there, and never offered */
	bool needs_pam;	    /* offered only together with UsePAM */
	bool needs_gss_kex; /* offered only if keys were exchanged by GSSAPI */
	bool asks_only;	    /* the first one asks what is offered: no try */
	bool proves_key;    /* what PermitRootLogin lets in without password */
	bool has_secret;    /* a password or the like: a refusal takes longer */
	bool logs_failures; /* each at LogLevel INFO */
	/* Messages of its dialogue (60..79): ours, and the client's reply.
	 * 0: it has no dialogue. */
	uint8_t prompt, answer;
	/* Or, where there are several kinds of each: from this one to that
	 * one. They go to the monitor, and come from it, type first. */
	uint8_t dialogue_min, dialogue_max;
};

/* The number is also the method's on the wire to the monitor. */
enum auth_method_id {
#define AUTH_METHOD_ID(id, word, ...) AUTH_METHOD_##id,
	AUTH_METHODS(AUTH_METHOD_ID)
#undef AUTH_METHOD_ID
	AUTH_METHOD_COUNT
};

extern const struct auth_method auth_method_table[AUTH_METHOD_COUNT];

/* The method of a name, without its alias; NULL: there is none. */
const struct auth_method *auth_method_by_name(const char *name, size_t len);
/* The method of a name or alias that a client gave; NULL: there is none. */
const struct auth_method *auth_method_requested(const char *name);
/* The method of an entry of AuthenticationMethods, "name" or "name:device";
 * NULL: there is none. *has_device: it can be done with that device. */
const struct auth_method *auth_method_listed(const char *entry, size_t len,
    bool *has_device);
/* The method's own option is on, if it has one; needs_pam is not looked at. */
bool auth_method_enabled(const struct auth_method *m,
    const struct server_conf *c);
/* The same, and clients are told of it. */
bool auth_method_offered(const struct auth_method *m,
    const struct server_conf *c);

#endif
