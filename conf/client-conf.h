/* SPDX-License-Identifier: ISC */
/*
 * Configuration of the client: command line, ~/.ssh/config and the system's
 * ssh_config, through one table (client-conf.c). The first value that is
 * found for a keyword wins.
 *
 * The order of use: init; set_option for each -o and flag; load (which
 * reads both files, twice if the host's canonical name or Match final asks for
 * it, and sets defaults).
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CONF_CLIENT_CONF_H
#define HPN_CONF_CLIENT_CONF_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "conf/channel-timeouts.h"
#include "conf/conf.h"
#include "conf/forward-spec.h"

enum { CLIENT_ASK_NO, CLIENT_ASK_YES, CLIENT_ASK_ASK, CLIENT_ASK_ACCEPT_NEW };
enum { CLIENT_TTY_AUTO, CLIENT_TTY_NO, CLIENT_TTY_YES, CLIENT_TTY_FORCE };
enum { CLIENT_SESSION_DEFAULT, CLIENT_SESSION_NONE, CLIENT_SESSION_SUBSYSTEM };
enum { CLIENT_WEAK_NO, CLIENT_WEAK_YES, CLIENT_WEAK_NO_PQ_KEX };
/* PubkeyAuthentication, and which of two methods it uses: UNBOUND is publickey,
 * HOST_BOUND is publickey-hostbound-v00@openssh.com; YES is the one that the
 * server has. */
enum {
	CLIENT_PUBKEY_NO,
	CLIENT_PUBKEY_YES,
	CLIENT_PUBKEY_UNBOUND,
	CLIENT_PUBKEY_HOST_BOUND,
};
enum { CLIENT_ESCAPE_NONE = -1 };
/* The numbers are the modes of tun@openssh.com. */
enum {
	CLIENT_TUNNEL_NO,
	CLIENT_TUNNEL_POINT_TO_POINT,
	CLIENT_TUNNEL_ETHERNET,
};
enum { CLIENT_TUNNEL_ANY = -1, CLIENT_TUNNEL_UNIT_MAX = 0x7ffffffd };
enum {
	CLIENT_MASTER_NO,
	CLIENT_MASTER_YES,
	CLIENT_MASTER_ASK,
	CLIENT_MASTER_AUTO,
	CLIENT_MASTER_AUTO_ASK,
};
/* AddKeysToAgent. confirm: the agent asks before each use. */
enum { CLIENT_ADD_NO, CLIENT_ADD_YES, CLIENT_ADD_ASK, CLIENT_ADD_CONFIRM };
enum { CLIENT_CANONICAL_NO, CLIENT_CANONICAL_YES, CLIENT_CANONICAL_ALWAYS };
/* limit for domains, and for rules of aliases */
enum { CLIENT_CANONICAL_MAX = 1024 };
enum { CLIENT_PERSIST_NO = -1, CLIENT_PERSIST_FOREVER = 0 };

/*
 * The methods of user authentication: the functions of each are a struct
 * userauth_ops userauth_ID in client/auth/userauth-ID.c. The order is that in
 * which they are preferred, unless PreferredAuthentications names another.
 */
#define CLIENT_AUTH_METHODS(M)                                                \
	M(keyex, "gssapi-keyex")                                              \
	M(gssapi, "gssapi-with-mic")                                          \
	M(hostbased, "hostbased")                                             \
	M(pubkey, "publickey")                                                \
	M(kbdint, "keyboard-interactive")                                     \
	M(password, "password")

enum {
	CLIENT_COPY_CONNECTIONS_MAX = 32,
	CLIENT_COPY_RETRIES = 40, /* tries that "yes" and --retry mean: some
				   * hours */
};

/* Fields are owned; strings are NULL when unset or "none". */
struct client_conf {
	struct conf_marks marks;
	char *ignore_unknown;

	/* The destination. After load: name, user and port are set. */
	struct {
		char *hostname; /* %h is expanded by load */
		char *user;
		int port;	    /* HPN_DEFAULT_PORT */
		int fallback; /* flag: try fallback_port when port is not open
			       */
		int fallback_port;
		int system_config; /* flag: OpenSSH's files in /etc/ssh are
				    * read, after ours */
		char *host_key_alias;
		char *tag;
		char *refuse_connection; /* do not connect; log this text */
	} host;

	/* The host's canonical name. */
	struct {
		int hostname; /* CLIENT_CANONICAL_* */
		struct strlist domains;
		int max_dots;
		int fallback_local;    /* flag */
		struct strlist cnames; /* "PATTERNS:PATTERNS" */
	} canonical;

	/* TCP, or a proxy in its place. */
	struct {
		int address_family; /* AF_UNSPEC, AF_INET, AF_INET6 */
		char *bind_address;
		char *bind_interface;
		int connection_attempts;
		int connect_timeout; /* s; 0 = the system's */
		int tcp_keep_alive;  /* flag */
		char *congestion_control; /* NULL: the system's */
		struct conf_qos ipqos;
		/* The proxy: at most one of these, the first that was given. */
		char *proxy_command; /* tokens not expanded */
		char *proxy_jump; /* list of jump hosts (conf/destination.h) */
		int server_alive_interval; /* s; 0 = off */
		int server_alive_count_max;
		int survive;	  /* flag */
		int survive_time; /* s */
		char *version_addendum;
		int use_mptcp;	 /* flag: Multipath TCP, if there is */
		int happy_eyes;	 /* flag: use happy_delay */
		int happy_delay; /* ms between two addresses; < 1: default */
	} tcp;

	/* Algorithms: comma lists, already merged with the defaults. */
	struct {
		char *kex_algorithms;
		char *host_key_algorithms;
		/* The user gave a whole list, or names to put at its front:
		 * then its order stays. A list that only adds to the default or
		 * removes from it is sorted like the default, by the known keys
		 * of the host. */
		bool host_key_order_given;
		char *ciphers;
		char *macs;
		char *pubkey_accepted_algorithms;
		char *hostbased_accepted_algorithms;
		char *ca_signature_algorithms; /* for certificates of hosts */
		int compression; /* flag */
		struct conf_rekey rekey_limit;
		int required_rsa_size; /* bits */
		int warn_weak_crypto;  /* CLIENT_WEAK_* */
		int none_enabled;      /* flag: none_switch may be used */
		int none_switch;       /* flag: no encryption once logged in */
		int none_mac_enabled;  /* flag: with it no MAC either */
	} algs;

	/* How data is moved. Windows grow with the path only if both flags
	 * allow it. */
	struct {
		int hpn_disabled;     /* flag */
		int tcp_rcv_buf_poll; /* flag */
		int cipher_threads;   /* most threads; or PACKET_THREADS_AUTO */
		int cipher_form;      /* enum packet_form */
		int disable_mtaes;    /* flag: no keystream threads */
		int metrics;	      /* flag */
		int metrics_interval; /* s */
		char *metrics_path;   /* tokens not expanded */
	} data;

	/* hpnscp, if its command line does not set these. */
	struct {
		int connections; /* 0: hpnscp chooses */
		int retry;	 /* how often; 0: not at all */
		int verify, resume, preserve; /* flags */
	} copy;

	/* How the host is recognized. Tokens in paths are not expanded. */
	struct {
		struct strlist global_known_hosts_file;
		struct strlist user_known_hosts_file;
		struct strlist revoked_host_keys;
		int strict_host_key_checking; /* CLIENT_ASK_* */
		int hash_known_hosts;	      /* flag */
		int update_host_keys; /* CLIENT_ASK_*: learn the host's other
					 keys */
		int check_host_ip; /* flag: known_hosts has addresses as well */
		int verify_host_key_dns; /* CLIENT_ASK_*: SSHFP records */
		int no_host_authentication_for_localhost; /* flag */
		int visual_host_key;			  /* flag */
		int fingerprint_hash; /* enum digest_alg: MD5 or SHA256 */
		char *known_hosts_command; /* words and tokens as written */
	} known;

	/* Who the user is, and how that is proven. */
	struct {
		struct strlist
		    identity_file; /* as written; tokens not expanded */
		bool identity_file_given;     /* false: only default names */
		/* as written; tokens not expanded */
		struct strlist certificate_file;
		char *certificate_command; /* words and tokens as written */
		int login_tickets; /* flag */
		int identities_only;	      /* flag */
		char *
		    identity_agent; /* NULL: $SSH_AUTH_SOCK; "none": no agent */
		char *pkcs11_provider; /* path of a library; NULL: none */
		/* AddKeysToAgent, one row, sets both. */
		int add_keys;		/* CLIENT_ADD_* */
		int add_keys_lifetime;	/* s; 0 = no end */
		char *security_key_provider; /* see sk_provider() */
		char *preferred_authentications; /* comma list */
		int pubkey_authentication;	 /* CLIENT_PUBKEY_* */
		int password_authentication;	 /* flag */
		int kbd_interactive_authentication; /* flag */
		int gssapi_authentication;	    /* flag */
		int gssapi_delegate_credentials;    /* flag */
		int gssapi_key_exchange;	    /* flag */
		int gssapi_renewal_rekey; /* flag: new keys when a ticket was
					   * renewed */
		int gssapi_trust_dns;	  /* flag: the DNS names the host */
		char *gssapi_kex_algorithms;  /* prefixes: kem_gss_names() */
		char *gssapi_client_identity; /* a principal */
		char *gssapi_server_identity; /* a host */
		char *kbd_interactive_devices;	    /* comma list */
		int number_of_password_prompts;
		int hostbased_authentication; /* flag */
		int enable_ssh_keysign;	      /* flag; for hpnssh-keysign */
		int batch_mode; /* flag */
		bool batch_given; /* BatchMode on the command line: jump hosts
				     too */
	} auth;

	/* The session. */
	struct {
		char *remote_command; /* tokens not expanded */
		int request_tty;      /* CLIENT_TTY_* */
		int session_type;     /* CLIENT_SESSION_* */
		int stdin_null;	      /* flag */
		int fork_after_authentication; /* flag */
		int escape_char; /* byte, or CLIENT_ESCAPE_NONE */
		struct strlist
		    send_env; /* patterns; "-pattern" is done by load */
		struct strlist set_env;	 /* NAME=value; tokens not expanded */
		int permit_local_command; /* flag */
		char *local_command;	  /* tokens not expanded */
	} session;

	/* Forwarding. After load, tokens in paths are expanded, and forwards
	 * that ClearAllForwardings forbids are removed. */
	struct {
		struct forward_list local; /* local and dynamic */
		struct forward_list remote;
		int gateway_ports;	   /* flag */
		int exit_on_failure;	   /* flag */
		int clear_all_forwardings; /* flag: -L -R -D -w */
		int bind_mask;		   /* umask of sockets' paths */
		int bind_unlink;	   /* flag */
		struct strlist permit_remote_open; /* conf_permits */
		char *forward_agent; /* NULL: no; "yes"; path or $NAME */
		int forward_x11;	 /* flag */
		int forward_x11_trusted; /* flag */
		int forward_x11_timeout; /* s; 0 = no end */
		char *xauth_location;
		int tunnel; /* CLIENT_TUNNEL_* */
		/* Units, or CLIENT_TUNNEL_ANY; one row sets both. */
		int tunnel_local, tunnel_remote;
		int escape_commandline; /* flag */
		int obscure_ms; /* between ticks of keystrokes; 0 = no */
		struct conf_channel_timeouts channel_timeouts;
	} forward;

	/* Sharing a connection with other processes. */
	struct {
		int control_master; /* CLIENT_MASTER_* */
		char *control_path; /* tokens not expanded */
		int control_persist; /* s, or CLIENT_PERSIST_* */
		int proxy_use_fdpass; /* flag */
	} mux;

	/* Messages. */
	struct {
		int log_level; /* enum log_level */
		bool log_level_given;
		int syslog_facility; /* LOG_* */
		struct strlist log_verbose; /* see log_set_locations() */
		int verbosity;	   /* how many -v; -1: -q */
	} log;

	/* Fields that are no keywords: set by init and load. */
	struct {
		char *original_host; /* as typed */
		char *command;       /* as typed, may be NULL; for Match and
					LocalCommand */
		char *config_path; /* as in the context */
		bool port_given; /* Port was given anywhere: no fallback */
		bool kex_given;	 /* KexAlgorithms was given anywhere */
		bool user_is_literal; /* from -l or user@host: has no tokens */
		bool want_final; /* a Match final was seen */
		/* Addresses of the canonical name, of this family; NULL:
		 * nothing was looked up. */
		struct addrinfo *addresses;
		int addresses_family;
		/* Values of IdentityFile and CertificateFile that only the
		 * system's file has. */
		struct strlist system_identities;
		bool stdio_forward; /* as in the context */
		char *tunnel_name; /* %T: our interface; NULL: none. Set by
				      who opened it. */
		bool inert; /* for fuzzing: no Include, no Match exec */
	} load;
};

void client_conf_init(struct client_conf *c);
void client_conf_clear(struct client_conf *c); /* frees the fields */

/* Sets what one -o says: "Keyword=value" or "Keyword value". Errors were
 * logged. */
int client_conf_set_option(struct client_conf *c,
    const char *option) must_check;
/* Sets a keyword for a flag of the command line: ("Port", "22"). value is used
 * as it is (no quotes, no comments). */
int client_conf_set(struct client_conf *c, const char *keyword,
    const char *value) must_check;

/* Like client_conf_set(), for flags of which the last one counts: replaces an
 * earlier value. */
int client_conf_replace(struct client_conf *c, const char *keyword,
    const char *value) must_check;
/* Adds a forward of -L, -R or -D. */
int client_conf_add_forward(struct client_conf *c, enum forward_kind kind,
    const char *text) must_check;
/* Are these units valid for -w and TunnelDevice: "1", "any:2"? */
bool client_conf_is_tunnel_device(const char *text);

/* Was the keyword given so far? */
bool client_conf_is_set(const struct client_conf *c, const char *keyword);

/*
 * Looks up a name. 0: *list are its addresses (freeaddrinfo), *alias is the
 * name that the resolver ends at, or NULL (the caller frees). ERR_NOT_FOUND:
 * it has none, which is logged as an error if the name was expected to exist.
 */
typedef int (*client_conf_resolve_fn)(const char *name, int family,
    bool expected, struct addrinfo **list, char **alias);

struct client_conf_context {
	const char *host;    /* as typed, without user@ and port */
	const char *command; /* to be run remotely; NULL: a shell */
	/* The file of -F. NULL: both default files; "none": no file at all. */
	const char *config_path;
	/* -W: forwards that fail end the program, and others are forgotten,
	 * unless the configuration says otherwise. */
	bool stdio_forward;
	client_conf_resolve_fn resolve; /* NULL: no name is looked up */
};

/* Reads the files, sets defaults, hostname, user. All faults are logged;
 * any of them is an error. */
int client_conf_load(struct client_conf *c,
    const struct client_conf_context *context) must_check;

/* Are OpenSSH's files in /etc/ssh read (SystemConfig)? */
bool client_conf_has_stock(const struct client_conf *c);

/* The steps of load, for tests and fuzzing. */
enum {
	CLIENT_CONF_USER = 1,
	CLIENT_CONF_FINAL = 2,
	CLIENT_CONF_ROOT = 4, /* what root wrote and nothing else, also where
				 it is included; Match exec runs nothing */
	CLIENT_CONF_STOCK = 8, /* OpenSSH's: what is not built or not known here
				  is passed over, since it is not for us */
};
int client_conf_read_file(struct client_conf *c, const char *path,
    unsigned flags) must_check; /* ERR_NOT_FOUND: no such file */
int client_conf_apply(struct client_conf *c, const struct conf_row *row,
    const char *rest, const struct conf_location *at) must_check;
int client_conf_finish(struct client_conf *c) must_check;

/* Appends "name value" lines, for -G. */
int client_conf_dump(const struct client_conf *c, struct buf *out) must_check;

/* Tokens: which ones a keyword knows (ssh_config(5), TOKENS). */
enum client_tokens {
	CLIENT_TOKENS_PATH,    /* the usual set, ${VAR}, ~ */
	CLIENT_TOKENS_COMMAND, /* the usual set: RemoteCommand, Match exec */
	CLIENT_TOKENS_LOCAL,   /* the usual set and %T: LocalCommand */
	CLIENT_TOKENS_SETENV,  /* the usual set and ${VAR} */
	CLIENT_TOKENS_PROXY,   /* %% %h %n %p %r */
	CLIENT_TOKENS_HOSTNAME, /* %% %h */
	CLIENT_TOKENS_SOCKET,  /* the usual set: paths of forwards */
	CLIENT_TOKENS_USER,    /* the usual set without %r %C; ${VAR} */
	CLIENT_TOKENS_KNOWN_HOSTS, /* the usual set, %f %H %I %K %t; ${VAR} */
	CLIENT_TOKENS_CERTIFICATE, /* the usual set, and %f %I %K %t; ${VAR} */
};
/* Values of the tokens of KnownHostsCommand about a host key, and of those of
 * CertificateCommand about a user's key. */
struct client_host_tokens {
	const char *reason; /* %I */
	const char *name;   /* %H */
	/* %t %f %K; NULL: there is no key, or the server has not shown it
	 * yet. */
	const char *key_type, *fingerprint, *base64;
};
/* Expands the tokens in a text. `what` names the keyword in messages; hostname
 * and port are those that c has now. The caller frees *out. ERR_SYNTAX, which
 * was logged: a token is unknown. */
int client_conf_expand(const struct client_conf *c, enum client_tokens set,
    const char *what, const char *text, char **out) must_check;
/* Expands the tokens in the value of a NAME=value of SetEnv. */
int client_conf_expand_env(const struct client_conf *c, const char *entry,
    char **out) must_check;
/* As client_conf_expand(), with a set of tokens that has those about keys. */
int client_conf_expand_host(const struct client_conf *c,
    enum client_tokens set, const struct client_host_tokens *host,
    const char *what, const char *text, char **out) must_check;
int client_conf_expand_list(const struct client_conf *c, const char *what,
    const struct strlist *paths, struct strlist *out) must_check;

/* Did the user name this IdentityFile or CertificateFile, rather than the
 * system's file or nobody? */
bool client_conf_is_explicit(const struct client_conf *c, const char *path);

/* The path of the agent's socket: that of IdentityAgent, or $SSH_AUTH_SOCK.
 * NULL: there is none. The caller frees it. */
char *client_conf_agent(const struct client_conf *c);

/* The user's home directory from passwd, not from $HOME, as OpenSSH does. */
const char *client_conf_home(void);

/* The rows, for -Q-like listings and the check of the man page. */
extern const struct conf_table client_conf_table;

#endif
