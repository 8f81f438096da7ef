/* SPDX-License-Identifier: ISC */
/*
 * Configuration of the server: command line and sshd_config, through one
 * table (server-conf.c). The first value that is found for a keyword wins;
 * values in a Match block go before the global ones.
 *
 * The order of use: init; set_option for each -o and flag; read_file;
 * finish. A connection's own configuration is made by server_conf_for(),
 * first without a user name, then again when it is known. The whole
 * (with its Match blocks) goes to other processes by export and import.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CONF_SERVER_CONF_H
#define HPN_CONF_SERVER_CONF_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/wire.h"
#include "conf/channel-timeouts.h"
#include "conf/conf.h"
#include "conf/server-penalties.h"
#include "conf/server-survive.h"
#include "conf/server-tickets.h"

enum {
	SERVER_ROOT_NO,
	SERVER_ROOT_YES,
	SERVER_ROOT_PROHIBIT_PASSWORD,
	SERVER_ROOT_FORCED_COMMANDS_ONLY,
};
/* IgnoreRhosts: which of a user's own lists of hosts count. */
enum { SERVER_RHOSTS_NONE, SERVER_RHOSTS_SHOSTS, SERVER_RHOSTS_ALL };
enum { SERVER_COMPRESSION_NO, SERVER_COMPRESSION_DELAYED };
/* Bits: what AllowTcpForwarding and AllowStreamLocalForwarding allow. */
enum {
	SERVER_FORWARD_NO = 0,
	SERVER_FORWARD_LOCAL = 1,
	SERVER_FORWARD_REMOTE = 2,
	SERVER_FORWARD_ALL = 3,
};
/* EventDetail: what the user's process tells. */
enum server_event_detail {
	SERVER_EVENT_SESSIONS, /* sessions; no files */
	SERVER_EVENT_SUMMARY,  /* also sums of files */
	SERVER_EVENT_FILES,    /* also each file */
};
/* EventPaths: how a path is told. */
enum server_event_paths {
	SERVER_EVENT_PATHS_NO,
	SERVER_EVENT_PATHS_YES,
	SERVER_EVENT_PATHS_HASH,
};
enum { SERVER_GATEWAY_NO, SERVER_GATEWAY_YES, SERVER_GATEWAY_CLIENT };
/* Bits of PermitTunnel; each is 1 << (mode of tun@openssh.com - 1). */
enum {
	SERVER_TUNNEL_NO = 0,
	SERVER_TUNNEL_POINT_TO_POINT = 1,
	SERVER_TUNNEL_ETHERNET = 2,
	SERVER_TUNNEL_ALL = 3,
};
enum { SERVER_CONF_BLOCKS_MAX = 65536 };

/* MaxStartups: above begin, refuse rate percent, rising to all at full. */
struct server_startups {
	int begin, rate, full;
};

/* PerSourceNetBlockSize: bits of an address that make one source. */
struct server_net_bits {
	int ipv4, ipv6;
};

struct server_block; /* a Match block; private to server-conf.c */

/* Fields are owned; strings are NULL when unset or "none". */
struct server_conf {
	struct conf_marks marks;

	/* Listening (not inside Match). */
	struct {
		struct strlist
		    port; /* decimal, 1..65535; see server_conf_listen */
		struct strlist
		    listen_address; /* host, host:port, [host]:port */
		int address_family; /* AF_UNSPEC, AF_INET, AF_INET6 */
		int login_grace_time; /* s; 0 = no limit */
		struct server_startups max_startups;
		int per_source_max_startups; /* INT_MAX = no limit */
		struct server_net_bits per_source_net_block_size;
		struct server_penalties per_source_penalties;
		char
		    *per_source_penalty_exempt_list; /* addresses; NULL: none */
		char *pid_file; /* NULL: none */
		int tcp_keep_alive; /* flag */
		int use_dns;	    /* flag */
		int use_mptcp; /* flag: Multipath TCP, if the kernel has it */
		char *version_addendum;
		char *moduli_file;
		char *sshd_session_path;
		char *sshd_auth_path;
		bool port_given; /* by server_conf_set(): Port in files is
				    passed over */
	} listen;

	/* Host keys and algorithms: final comma lists. */
	struct {
		struct strlist host_key; /* paths of private keys */
		bool host_key_given;	 /* a missing default one is no fault */
		struct strlist host_certificate; /* paths */
		char *host_key_agent; /* path, or "SSH_AUTH_SOCK" */
		char *security_key_provider; /* see keys/sk-client.h */
		char *host_key_algorithms;
		char *kex_algorithms;
		char *ciphers;
		char *macs;
		int compression; /* SERVER_COMPRESSION_* */
		int fingerprint_hash; /* enum digest_alg: MD5 or SHA256 */
		char *pubkey_accepted_algorithms;
		char *hostbased_accepted_algorithms;
		char *ca_signature_algorithms; /* of certificates */
		struct conf_rekey rekey_limit;
		int required_rsa_size; /* bits */
	} algs;

	/* The rules about who may log in, and how. strict_modes and use_pam are
	 * not allowed inside Match. */
	struct {
		int strict_modes; /* flag */
		int use_pam;	  /* flag */
		char *pam_service_name;
		int refuse_connection; /* flag: drop as soon as this applies */
		int max_auth_tries;
		int permit_root_login; /* SERVER_ROOT_* */
		struct strlist allow_users,
		    deny_users; /* patterns, user@host */
		struct strlist allow_groups, deny_groups; /* patterns */
		char *banner; /* path */
		struct strlist authentication_methods; /* empty = any */
		struct strlist
		    authorized_keys_file;    /* tokens not expanded; empty */
		struct strlist revoked_keys; /* paths of key lists */
		char *trusted_user_ca_keys;  /* path */
		char *authorized_principals_file; /* tokens not expanded */
		/* Command lines, and the users who run them; tokens not
		 * expanded. */
		char *authorized_keys_command, *authorized_keys_command_user;
		char *authorized_principals_command;
		char *authorized_principals_command_user;
		struct server_tickets login_tickets;
		struct server_survive survive;
		int transfer_grants; /* TransferGrants: bits of enum grant_kind
				      * (server/grant.h) */
		int pubkey_authentication;   /* flag */
		/* "touch-required", "verify-required": demands on security
		 * keys. */
		struct strlist pubkey_auth_options;
		int password_authentication;	    /* flag */
		int permit_empty_passwords;	    /* flag */
		int kbd_interactive_authentication; /* flag */
		int hostbased_authentication;	    /* flag */
		int hostbased_packet_name; /* flag: the client's own name for
					    * its host counts */
		int ignore_rhosts; /* SERVER_RHOSTS_* */
		int ignore_user_known_hosts; /* flag; not inside Match */
		int gssapi_authentication;	  /* flag */
		/* The other keywords of GSSAPI are not inside Match. */
		int gssapi_cleanup_credentials;	  /* flag: at logout */
		int gssapi_delegate_credentials;  /* flag: keep what comes */
		int gssapi_strict_acceptor_check; /* flag: only tickets for
						     this host's name */
		int gssapi_key_exchange;   /* flag */
		int gssapi_store_on_rekey; /* flag: store credentials that
					    * come with new keys, too */
		char *gssapi_kex_algorithms; /* prefixes: kem_gss_names() */
		int kerberos_authentication;  /* flag: checks passwords */
		int kerberos_or_local_passwd; /* flag: local ones count, too */
	} login;

	/* What a login gets. permit_user_environment, print_motd and
	 * print_last_log are not allowed inside Match. */
	struct {
		char *permit_user_environment; /* NULL: no; "yes"; pattern
						  list */
		int print_motd;	    /* flag */
		int print_last_log; /* flag */
		int max_sessions;
		/* Limits over all connections of a user; INT_MAX = no limit. */
		int max_sessions_per_user, max_connections_per_user;
		int client_alive_interval; /* s; 0 = off */
		int client_alive_count_max;
		char *force_command; /* or "internal-sftp" */
		char *chroot_directory; /* tokens not expanded */
		struct strlist accept_env; /* patterns */
		struct strlist set_env;	   /* NAME=value */
		struct strlist
		    subsystem; /* "name command": server_conf_subsystem */
		int permit_tty;			    /* flag */
		int permit_user_rc;		    /* flag */
		int expose_auth_info;		    /* flag */
		struct conf_channel_timeouts channel_timeouts;
		int unused_connection_timeout; /* s; 0 = none */
	} session;

	/* What connections may carry besides sessions. xauth_location is not
	 * allowed inside Match. */
	struct {
		int allow_tcp;		/* SERVER_FORWARD_* */
		int allow_stream_local; /* SERVER_FORWARD_* */
		int allow_agent;	/* flag */
		int disable;	   /* flag: none of it, whatever is allowed */
		int gateway_ports; /* SERVER_GATEWAY_* */
		struct strlist permit_open, permit_listen; /* conf_permits */
		int permit_tunnel; /* SERVER_TUNNEL_* */
		int x11;	   /* flag */
		int x11_display_offset;
		int x11_use_localhost; /* flag */
		char *xauth_location;
		int bind_mask;	 /* umask of sockets' paths */
		int bind_unlink; /* flag */
	} forward;

	/* The data path. Windows follow the path only if both flags allow it.
	 */
	struct {
		struct conf_qos ipqos;
		char *congestion_control; /* NULL: the system's */
		int none_enabled;     /* flag: clients may use cipher none */
		int none_mac_enabled; /* flag: with it clients may do without a
				       * MAC */
		int hpn_disabled;     /* flag: windows do not follow the path */
		int tcp_rcv_buf_poll; /* flag: off acts as hpn_disabled */
		int cipher_threads;   /* most threads; or PACKET_THREADS_AUTO */
		int cipher_form;      /* enum packet_form */
		int disable_mtaes;    /* flag: no keystream in advance */
	} data;

	/* Rates of bulk data, read by rate_read(); NULL: no limit. */
	struct {
		char *capacity; /* rate of all users together; not inside
				 * Match */
		char *user_max;
		struct strlist group_max; /* see rate_read_group() */
	} rate;

	/* Messages. Facility and name are not inside Match. */
	struct {
		char *name; /* of the program, for syslog */
		int syslog_facility; /* LOG_* */
		int log_level; /* enum log_level */
		bool log_level_given;
		struct strlist log_verbose; /* see log_set_locations() */
		char *event_log;  /* see event_log_split(); not inside Match */
		char *metrics_textfile; /* path, or NULL; not inside Match */
		int event_detail; /* enum server_event_detail */
		int event_paths;  /* enum server_event_paths */
	} log;

	/* Fields that are no keywords. */
	struct {
		bool inert;	 /* for fuzzing: no Include */
		struct server_block
		    *blocks; /* owned; in the order of the files */
		size_t block_count, block_room;
	} load;
};

void server_conf_init(struct server_conf *c);
void server_conf_clear(struct server_conf *c); /* frees the fields */

/* Sets what one -o says: "Keyword=value" or "Keyword value". To be called
 * before server_conf_read_file(). Errors were logged. */
int server_conf_set_option(struct server_conf *c,
    const char *option) must_check;
/* Sets a keyword for a flag of the command line: ("Port", "22"); value is used
 * as it is. */
int server_conf_set(struct server_conf *c, const char *keyword,
    const char *value) must_check;
/* All faults of the file are logged; any is an error. */
int server_conf_read_file(struct server_conf *c,
    const char *path) must_check;
/* Sets defaults, and checks what depends on several keywords. */
int server_conf_finish(struct server_conf *c) must_check;

/* The facts that Match is asked about; NULL (0) = not known (matches
 * nothing). */
struct server_conf_spec {
	const char *user;
	const char *host; /* name of the peer; its address if it has none */
	const char *addr; /* of the peer, numeric */
	const char *laddr; /* own, numeric */
	int lport;
	const char *rdomain; /* that the connection is bound to; "": none */
	bool invalid_user; /* there is no such account */
};
/* The facts of -C: "user=x,host=y,addr=..,laddr=..,lport=..,
 * rdomain=..,invalid-user", repeatable. Strings are allocated, freed by
 * server_conf_spec_clear(). */
int server_conf_spec_parse(struct server_conf_spec *s,
    const char *text) must_check;
/* For tests: hpnsshd ends with what it parsed. */
void server_conf_spec_clear(struct server_conf_spec *s);

/* A finished copy of c with the matching blocks applied, without blocks of
 * its own. out is initialised here; clear it. */
int server_conf_for(const struct server_conf *c,
    const struct server_conf_spec *spec, struct server_conf *out) must_check;
/* Is there any Match block? (Then -T without -C shows only a part.) */
bool server_conf_has_match(const struct server_conf *c);
/* Does any block match by the server's port? (Then -T wants lport in -C.) */
bool server_conf_asks_for_port(const struct server_conf *c);

/* Addresses to listen on, from ListenAddress and Port. Call with index 0, 1,
 * ...; false at the end. */
struct server_listen {
	char host[256]; /* "" = every address */
	char port[6];	/* decimal */
	char rdomain[IFNAMSIZ]; /* "" = none */
};
bool server_conf_listen(const struct server_conf *c, size_t index,
    struct server_listen *out);

/* PermitUserEnvironment: may a user's files set this variable? */
bool server_conf_permits_variable(const struct server_conf *c,
    const char *name);
/* Command of a subsystem, or NULL. Borrowed. */
const char *server_conf_subsystem(const struct server_conf *c,
    const char *name);

/* Appends "name value" lines, for -T. */
int server_conf_dump(const struct server_conf *c, struct buf *out) must_check;

/* Pass the configuration to another process of ours, with its Match blocks.
 * server_conf_import() needs an initialised struct. */
int server_conf_export(const struct server_conf *c,
    struct buf *out) must_check;
int server_conf_import(struct server_conf *c, struct rd *in) must_check;

/* The one table. */
extern const struct conf_table server_conf_table;

#endif
