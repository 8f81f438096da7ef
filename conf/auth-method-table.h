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
	    AUTH_OPTION(hostbased), .proves_key = true)                       \
	ROW(TICKET, ticket, .name = "ticket@hpnssh.org",                      \
	    .option = offsetof(struct server_conf,                            \
		login.login_tickets.enabled),                                 \
	    .proves_key = true, .is_hidden = true, .not_first = true)         \
	ROW(RESUME, resume, .name = "resume@hpnssh.org",                      \
	    .option = offsetof(struct server_conf, login.survive.enabled),    \
	    .proves_key = true, .is_hidden = true, .stands_alone = true,      \
	    .welcome = SSH_MSG_USERAUTH_RESUME_OK)

struct auth_method {
	const char *name;
	const char *alias;  /* another name in requests; or NULL */
	const char *device; /* device that AuthenticationMethods may name with
			     * it; or NULL */
	size_t option;	    /* offset in struct server_conf of the int flag that
			     * enables the method; 0: it is always enabled, but
			     * not offered */
	bool needs_pam;	    /* offered only together with UsePAM */
	bool needs_gss_kex; /* offered only if keys were exchanged by GSSAPI */
	bool asks_only;	    /* the first request only asks which methods there
			     * are: not counted as a try */
	bool proves_key;    /* PermitRootLogin prohibit-password allows it */
	bool has_secret;    /* the user sends a password or the like: a refusal
			     * is delayed */
	bool logs_failures; /* each failure is logged at LogLevel INFO */
	bool is_hidden; /* a FAILURE does not name the method: clients that can
			 * use it know of it */
	bool not_first; /* AuthenticationMethods may name it only behind another
			 * method */
	bool stands_alone; /* AuthenticationMethods may not name it: it stands
			    * for all methods that were shown before */
	uint8_t welcome; /* type of the message that is sent before its success;
			  * 0: none */
	/* Message types of its dialogue (60 to 79): the server's prompt, and
	 * the client's answer. 0: it has no dialogue. */
	uint8_t prompt, answer;
	/* For a dialogue with several message types: the first and the last of
	 * them. These messages go to the monitor and come from it, with their
	 * type first. */
	uint8_t dialogue_min, dialogue_max;
};

/* The number also stands for the method in messages to the monitor. */
enum auth_method_id {
#define AUTH_METHOD_ID(id, word, ...) AUTH_METHOD_##id,
	AUTH_METHODS(AUTH_METHOD_ID)
#undef AUTH_METHOD_ID
	AUTH_METHOD_COUNT
};

extern const struct auth_method auth_method_table[AUTH_METHOD_COUNT];

/* The method with this name (not alias); NULL: there is none. */
const struct auth_method *auth_method_by_name(const char *name, size_t len);
/* The method with this name or alias, from a client's request; NULL: there is
 * none. */
const struct auth_method *auth_method_requested(const char *name);
/* The method of an entry of AuthenticationMethods, "name" or "name:device";
 * NULL: there is none. *has_device: it can be done with that device. */
const struct auth_method *auth_method_listed(const char *entry, size_t len,
    bool *has_device);
/* Is the method's own option on, or has it none? needs_pam is ignored. */
bool auth_method_enabled(const struct auth_method *m,
    const struct server_conf *c);
/* Is the method enabled, and offered to clients? needs_pam is ignored. */
bool auth_method_offered(const struct auth_method *m,
    const struct server_conf *c);
/* Is it offered, and is there PAM if it needs that? */
bool auth_method_served(const struct auth_method *m,
    const struct server_conf *c);

#endif
