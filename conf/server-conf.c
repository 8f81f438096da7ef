/* SPDX-License-Identifier: ISC */
/* The server's keywords: their table, setting values, defaults, and passing
 * them to other processes. */
#include "conf/server-conf-internal.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/worker.h"
#include "compat/bsd.h"
#include "conf/addr-match.h"
#include "conf/algs.h"
#include "conf/auth-method-table.h"
#include "conf/command-words.h"
#include "conf/defaults.h"
#include "conf/event-log.h"
#include "conf/permit-pattern.h"
#include "conf/rates.h"
#include "conf/server-match.h"
#include "crypto/digest.h"
#include "packet.h"

#define FIELDS struct server_conf

/* ---- values: -T shows the first name of each, as OpenSSH does ----------- */

static const struct conf_enum root_values[] = {
	{ "prohibit-password", SERVER_ROOT_PROHIBIT_PASSWORD },
	{ "without-password", SERVER_ROOT_PROHIBIT_PASSWORD },
	{ "yes", SERVER_ROOT_YES },
	{ "no", SERVER_ROOT_NO },
	{ "forced-commands-only", SERVER_ROOT_FORCED_COMMANDS_ONLY },
	{ NULL, 0 },
};

static const struct conf_enum compression_values[] = {
	{ "yes", SERVER_COMPRESSION_DELAYED },
	{ "delayed", SERVER_COMPRESSION_DELAYED },
	{ "no", SERVER_COMPRESSION_NO },
	{ NULL, 0 },
};

static const struct conf_enum no_limit[] = { { "none", INT_MAX },
	{ NULL, 0 } };

/* Checks a pattern of users: user or user@host, where the host may be a
 * network. */
static const char *
check_user_pattern(const char *word)
{
	const char *at = strrchr(word, '@');

	if (at != NULL && (at[1] == '\0' || strcmp(at + 1, "!") == 0))
		return "there is nothing behind the @";
	if (at != NULL && addr_match_list(NULL, at + 1) < -1)
		return "the part behind the @ is no host or network";
	return NULL;
}

/* Checks LogName. Programs that read logs do not expect blanks, colons or
 * brackets in such a name. */
static const char *
check_log_name(const char *word)
{
	enum { LOG_NAME_MAX = 32 };
	size_t len = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "abcdefghijklmnopqrstuvwxyz0123456789_.-");

	return len == 0 || len > LOG_NAME_MAX || word[len] != '\0' ?
	    "is no name for a log: 1 to 32 letters, digits, _, . and -" : NULL;
}

static const char *
check_pubkey_option(const char *word)
{
	return csv_has_nocase("none,touch-required,verify-required", word) ?
	    NULL :
	    "is no option for public keys";
}

static const char *
check_addresses(const char *word)
{
	return addr_match_list(NULL, word) < -1 ?
	    "is no list of addresses and networks" : NULL;
}

static const char *
check_absolute(const char *path)
{
	return path[0] == '/' ? NULL : "must be an absolute path";
}

/* Checks the command line of a program that is run without a shell. */
static const char *
check_command(const char *line)
{
	struct strlist words = { 0 };
	const char *fault = NULL;

	if (line[0] != '/')
		fault = "must be an absolute path";
	else if (command_words(line, &words) != 0)
		fault = "is no command line";
	strlist_clear(&words);
	return fault;
}

static const struct conf_enum forward_values[] = {
	{ "yes", SERVER_FORWARD_ALL },
	{ "all", SERVER_FORWARD_ALL },
	{ "no", SERVER_FORWARD_NO },
	{ "local", SERVER_FORWARD_LOCAL },
	{ "remote", SERVER_FORWARD_REMOTE },
	{ "true", SERVER_FORWARD_ALL },
	{ "false", SERVER_FORWARD_NO },
	{ NULL, 0 },
};

static const struct conf_enum tunnel_values[] = {
	{ "no", SERVER_TUNNEL_NO },
	{ "yes", SERVER_TUNNEL_ALL },
	{ "point-to-point", SERVER_TUNNEL_POINT_TO_POINT },
	{ "ethernet", SERVER_TUNNEL_ETHERNET },
	{ "false", SERVER_TUNNEL_NO },
	{ "true", SERVER_TUNNEL_ALL },
	{ NULL, 0 },
};

static const struct conf_enum event_detail_values[] = {
	{ "sessions", SERVER_EVENT_SESSIONS },
	{ "summary", SERVER_EVENT_SUMMARY },
	{ "files", SERVER_EVENT_FILES },
	{ NULL, 0 },
};

static const struct conf_enum event_paths_values[] = {
	{ "yes", SERVER_EVENT_PATHS_YES },
	{ "no", SERVER_EVENT_PATHS_NO },
	{ "hash", SERVER_EVENT_PATHS_HASH },
	{ NULL, 0 },
};

/* Values of TransferGrants: bits of enum grant_kind (server/grant.h). */
static const struct conf_enum grant_values[] = {
	{ "no", 0 },
	{ "put", 1 },
	{ "get", 2 },
	{ "yes", 3 },
	{ NULL, 0 },
};

static const struct conf_enum gateway_values[] = {
	{ "no", SERVER_GATEWAY_NO },
	{ "yes", SERVER_GATEWAY_YES },
	{ "clientspecified", SERVER_GATEWAY_CLIENT },
	{ "false", SERVER_GATEWAY_NO },
	{ "true", SERVER_GATEWAY_YES },
	{ NULL, 0 },
};

static const struct conf_enum rhosts_values[] = {
	{ "yes", SERVER_RHOSTS_NONE },
	{ "no", SERVER_RHOSTS_ALL },
	{ "shosts-only", SERVER_RHOSTS_SHOSTS },
	{ "true", SERVER_RHOSTS_NONE },
	{ "false", SERVER_RHOSTS_ALL },
	{ NULL, 0 },
};

/* ---- what is not built -------------------------------------------------- */

/* The texts are those of OpenSSH, because programs look for them. */
static const struct conf_notice unsupported = { LOG_LVL_INFO,
	"Unsupported option ", "", false };
static const struct conf_notice deprecated = { LOG_LVL_INFO,
	"Deprecated option ", "", false };
static const struct conf_notice no_effect = { LOG_LVL_INFO, "keyword \"",
	"\" is deprecated and has no effect", false };

static const struct conf_notice no_rdomain = { LOG_LVL_ERROR,
	"setting RDomain not supported on this platform.", "", false };

/* ---- the table: one row, one keyword ------------------------------------ */

#define OF(kind, field) .type = &server_##kind##_type, AT(field)
#define GLOBAL .flags = CONF_GLOBAL

/* clang-format off */
static const struct conf_row rows[] = {
	{ "Include", NULL, STRUCTURE },
	{ "Match", NULL, STRUCTURE },

	{ "Port", NULL, OF(ports, listen.port),
	    .flags = CONF_GLOBAL | CONF_APPEND | CONF_ONE,
	    .def = TEXT(HPN_DEFAULT_PORT) },
	{ "ListenAddress", NULL, OF(listen, listen.listen_address),
	    .flags = CONF_GLOBAL | CONF_APPEND | CONF_RAW },
	{ "AddressFamily", NULL,
	    CHOICE(listen.address_family, conf_families, "any"),
	    GLOBAL },
	{ "LoginGraceTime", NULL,
	    TIME(listen.login_grace_time, "120"), GLOBAL },
	{ "MaxStartups", NULL, OF(startups, listen.max_startups), GLOBAL,
	    .def = "10:30:100" },
	{ "PerSourceMaxStartups", NULL,
	    NUMBER(listen.per_source_max_startups, 0, INT_MAX, "none"),
	    .values = no_limit, GLOBAL },
	{ "PerSourceNetBlockSize", NULL,
	    OF(net_bits, listen.per_source_net_block_size), GLOBAL,
	    .def = "32:128" },
	{ "PerSourcePenalties", NULL, .type = &server_penalties_type,
	    AT(listen.per_source_penalties), .flags = CONF_GLOBAL | CONF_PARTS,
	    .def = "yes" },
	{ "PerSourcePenaltyExemptList", NULL,
	    TEXTUAL(listen.per_source_penalty_exempt_list),
	    .flags = CONF_GLOBAL | CONF_NONE, .check = check_addresses },
	{ "PidFile", NULL, TEXTUAL(listen.pid_file),
	    .flags = CONF_GLOBAL | CONF_NONE,
	    .def = RUNSTATEDIR "/hpnsshd.pid" },
	{ "TCPKeepAlive", "KeepAlive",
	    FLAG(listen.tcp_keep_alive, "yes"), GLOBAL },
	{ "UseDNS", NULL, FLAG(listen.use_dns, "no"), GLOBAL },
	{ "UseMPTCP", NULL, FLAG(listen.use_mptcp, "no"), GLOBAL },
	{ "VersionAddendum", NULL, TEXTUAL(listen.version_addendum),
	    .flags = CONF_GLOBAL | CONF_RAW | CONF_NONE },
	{ "ModuliFile", NULL, TEXTUAL(listen.moduli_file), GLOBAL,
	    .def = SYSCONFDIR "/moduli" },
	{ "SshdSessionPath", NULL, TEXTUAL(listen.sshd_session_path), GLOBAL,
	    .def = LIBEXECDIR "/hpnsshd-session" },
	{ "SshdAuthPath", NULL, TEXTUAL(listen.sshd_auth_path), GLOBAL,
	    .def = LIBEXECDIR "/hpnsshd-auth" },
	{ "SyslogFacility", NULL,
	    .type = &conf_facility, AT(log.syslog_facility),
	    GLOBAL, .def = "AUTH" },
	{ "LogName", NULL, TEXTUAL(log.name), GLOBAL, .def = "sshd",
	    .check = check_log_name },
	{ "EventLog", NULL, TEXTUAL(log.event_log), GLOBAL, .def = "none",
	    .check = event_log_check },
	{ "MetricsTextfile", NULL, TEXTUAL(log.metrics_textfile),
	    .flags = CONF_GLOBAL | CONF_NONE, .check = check_absolute },

	{ "HostKey", "HostDSAKey", LIST(algs.host_key),
	    .flags = CONF_GLOBAL | CONF_APPEND | CONF_ONE,
	    .def = SYSCONFDIR "/ssh_host_rsa_key " SYSCONFDIR
			      "/ssh_host_ecdsa_key " SYSCONFDIR
			      "/ssh_host_ed25519_key " SYSCONFDIR
			      "/ssh_host_mldsa44_ed25519_key" },
	{ "HostCertificate", NULL, LIST(algs.host_certificate),
	    .flags = CONF_GLOBAL | CONF_APPEND | CONF_ONE | CONF_NONE },
	{ "HostKeyAgent", NULL, TEXTUAL(algs.host_key_agent),
	    .flags = CONF_GLOBAL | CONF_NONE },
	{ "SecurityKeyProvider", NULL, TEXTUAL(algs.security_key_provider),
	    GLOBAL, .def = "internal" },
	{ "HostKeyAlgorithms", NULL,
	    ALGS(algs.host_key_algorithms, ALGS_HOST_KEY_SERVER), GLOBAL },
	{ "KexAlgorithms", NULL, ALGS(algs.kex_algorithms, ALGS_KEX_SERVER),
	    GLOBAL },
	{ "Ciphers", NULL, ALGS(algs.ciphers, ALGS_CIPHER), GLOBAL },
	{ "MACs", NULL, ALGS(algs.macs, ALGS_MAC), GLOBAL },
	{ "Compression", NULL,
	    CHOICE(algs.compression, compression_values, "yes"),
	    GLOBAL },
	{ "FingerprintHash", NULL,
	    CHOICE(algs.fingerprint_hash, conf_fingerprint_hashes, "sha256"),
	    GLOBAL },

	{ "StrictModes", NULL, FLAG(login.strict_modes, "yes"), GLOBAL },
	{ "UsePAM", NULL, PAM_FLAG(login.use_pam, "no"), GLOBAL },
	{ "PermitUserEnvironment", NULL,
	    .type = &conf_flag_text, AT(session.permit_user_environment),
	    GLOBAL, .def = "no" },
	{ "PrintMotd", NULL, FLAG(session.print_motd, "yes"), GLOBAL },
	{ "PrintLastLog", NULL, FLAG(session.print_last_log, "yes"), GLOBAL },

	{ "LogLevel", NULL, .type = &conf_log_level, AT(log.log_level),
	    .def = "INFO" },
	{ "LogVerbose", NULL, LIST(log.log_verbose),
	    .flags = CONF_NONE | CONF_ALONE },
	{ "EventDetail", NULL,
	    CHOICE(log.event_detail, event_detail_values, "summary") },
	{ "EventPaths", NULL,
	    CHOICE(log.event_paths, event_paths_values, "yes") },
	{ "PAMServiceName", NULL, TEXTUAL(login.pam_service_name),
	    .def = "hpnsshd" },
	{ "RefuseConnection", NULL, FLAG(login.refuse_connection, "no") },
	{ "MaxAuthTries", NULL, NUMBER(login.max_auth_tries, 0, INT_MAX, "6") },
	{ "MaxSessions", NULL, NUMBER(session.max_sessions, 0, INT_MAX, "10") },
	{ "MaxSessionsPerUser", NULL,
	    NUMBER(session.max_sessions_per_user, 1, INT_MAX, "none"),
	    .values = no_limit },
	{ "MaxConnectionsPerUser", NULL,
	    NUMBER(session.max_connections_per_user, 1, INT_MAX, "none"),
	    .values = no_limit },
	{ "TransferCapacity", NULL, TEXTUAL(rate.capacity),
	    .flags = CONF_GLOBAL | CONF_NONE, .check = rate_check },
	{ "UserRateMax", NULL, TEXTUAL(rate.user_max),
	    .flags = CONF_NONE, .check = rate_check },
	{ "GroupRateMax", NULL, LIST(rate.group_max),
	    .flags = CONF_NONE | CONF_ALONE, .check = rate_check_group },
	{ "PermitRootLogin", NULL,
	    CHOICE(login.permit_root_login, root_values, "prohibit-password") },
	{ "AllowUsers", NULL, LIST(login.allow_users), .flags = CONF_APPEND,
	    .check = check_user_pattern },
	{ "DenyUsers", NULL, LIST(login.deny_users), .flags = CONF_APPEND,
	    .check = check_user_pattern },
	{ "AllowGroups", NULL, LIST(login.allow_groups), .flags = CONF_APPEND },
	{ "DenyGroups", NULL, LIST(login.deny_groups), .flags = CONF_APPEND },
	{ "Banner", NULL, TEXTUAL(login.banner), .flags = CONF_NONE },
	{ "ClientAliveInterval", NULL,
	    TIME(session.client_alive_interval, "0") },
	{ "ClientAliveCountMax", NULL,
	    NUMBER(session.client_alive_count_max, 0, INT_MAX, "3") },
	{ "ForceCommand", NULL, TEXTUAL(session.force_command),
	    .flags = CONF_RAW | CONF_NONE },
	{ "ChrootDirectory", NULL, TEXTUAL(session.chroot_directory),
	    .flags = CONF_NONE },
	{ "AcceptEnv", NULL, LIST(session.accept_env), .flags = CONF_APPEND,
	    .check = conf_check_env_pattern },
	{ "SetEnv", NULL, .type = &conf_env, AT(session.set_env),
	    .flags = CONF_LINES },
	{ "Subsystem", NULL, OF(subsystem, session.subsystem),
	    .flags = CONF_APPEND | CONF_RAW },
	{ "AuthenticationMethods", NULL,
	    OF(methods, login.authentication_methods) },
	{ "LoginTickets", NULL, OF(tickets, login.login_tickets),
	    .def = "no" },
	{ "Survive", NULL, OF(survive, login.survive), .def = "no" },
	{ "TransferGrants", NULL,
	    CHOICE(login.transfer_grants, grant_values, "no") },
	{ "AuthorizedKeysFile", NULL, LIST(login.authorized_keys_file),
	    .flags = CONF_NONE,
	    .def = ".ssh/authorized_keys .ssh/authorized_keys2" },
	{ "RevokedKeys", NULL, LIST(login.revoked_keys), .flags = CONF_NONE },
	{ "TrustedUserCAKeys", NULL, TEXTUAL(login.trusted_user_ca_keys),
	    .flags = CONF_NONE },
	{ "CASignatureAlgorithms", NULL,
	    ALGS(algs.ca_signature_algorithms, ALGS_CA) },
	{ "AuthorizedPrincipalsFile", NULL,
	    TEXTUAL(login.authorized_principals_file), .flags = CONF_NONE },
	{ "AuthorizedKeysCommand", NULL,
	    TEXTUAL(login.authorized_keys_command),
	    .flags = CONF_RAW | CONF_NONE, .check = check_command },
	{ "AuthorizedKeysCommandUser", NULL,
	    TEXTUAL(login.authorized_keys_command_user), .flags = CONF_NONE },
	{ "AuthorizedPrincipalsCommand", NULL,
	    TEXTUAL(login.authorized_principals_command),
	    .flags = CONF_RAW | CONF_NONE, .check = check_command },
	{ "AuthorizedPrincipalsCommandUser", NULL,
	    TEXTUAL(login.authorized_principals_command_user),
	    .flags = CONF_NONE },
	{ "PubkeyAuthentication", "DSAAuthentication",
	    FLAG(login.pubkey_authentication, "yes") },
	{ "PubkeyAuthOptions", NULL, LIST(login.pubkey_auth_options),
	    .flags = CONF_NONE, .check = check_pubkey_option },
	{ "PubkeyAcceptedAlgorithms", "PubkeyAcceptedKeyTypes",
	    ALGS(algs.pubkey_accepted_algorithms, ALGS_PUBKEY) },
	{ "PasswordAuthentication", NULL,
	    FLAG(login.password_authentication, "yes") },
	{ "PermitEmptyPasswords", NULL,
	    FLAG(login.permit_empty_passwords, "no") },
	{ "KbdInteractiveAuthentication",
	    "ChallengeResponseAuthentication,SKeyAuthentication",
	    FLAG(login.kbd_interactive_authentication, "yes") },
	{ "HostbasedAuthentication", NULL,
	    FLAG(login.hostbased_authentication, "no") },
	{ "HostbasedAcceptedAlgorithms", "HostbasedAcceptedKeyTypes",
	    ALGS(algs.hostbased_accepted_algorithms, ALGS_PUBKEY) },
	{ "HostbasedUsesNameFromPacketOnly", NULL,
	    FLAG(login.hostbased_packet_name, "no") },
	{ "IgnoreRhosts", NULL,
	    CHOICE(login.ignore_rhosts, rhosts_values, "yes") },
	{ "IgnoreUserKnownHosts", NULL,
	    FLAG(login.ignore_user_known_hosts, "no"), GLOBAL },
	{ "PermitTTY", NULL, FLAG(session.permit_tty, "yes") },
	{ "PermitUserRC", NULL, FLAG(session.permit_user_rc, "yes") },
	{ "ExposeAuthInfo", NULL, FLAG(session.expose_auth_info, "no") },
	{ "RekeyLimit", NULL, .type = &conf_bytes_time, AT(algs.rekey_limit),
	    .def = "default none" },
	{ "RequiredRSASize", NULL,
	    NUMBER(algs.required_rsa_size, 0, INT_MAX, "1024") },
	{ "IPQoS", NULL, .type = &conf_dscp, AT(data.ipqos), .def = "ef cs0" },
	{ "CongestionControl", NULL, TEXTUAL(data.congestion_control),
	    .flags = CONF_NONE, .check = conf_check_congestion },
	{ "NoneEnabled", NULL, FLAG(data.none_enabled, "no") },
	{ "NoneMacEnabled", NULL, FLAG(data.none_mac_enabled, "no") },
	{ "HPNDisabled", NULL, FLAG(data.hpn_disabled, "no") },
	{ "TcpRcvBufPoll", NULL, FLAG(data.tcp_rcv_buf_poll, "yes") },
	{ "CipherThreads", NULL,
	    NUMBER(data.cipher_threads, 0, WORKER_THREADS_MAX, "auto"),
	    .values = conf_threads },
	{ "CipherForm", NULL, CHOICE(data.cipher_form, conf_forms, "auto") },
	{ "DisableMTAES", NULL, FLAG(data.disable_mtaes, "no") },

	{ "DisableForwarding", NULL, FLAG(forward.disable, "no") },
	{ "AllowTcpForwarding", NULL,
	    CHOICE(forward.allow_tcp, forward_values, "yes") },
	{ "AllowStreamLocalForwarding", NULL,
	    CHOICE(forward.allow_stream_local, forward_values, "yes") },
	{ "AllowAgentForwarding", NULL, FLAG(forward.allow_agent, "yes") },
	{ "GatewayPorts", NULL,
	    CHOICE(forward.gateway_ports, gateway_values, "no") },
	{ "PermitOpen", NULL, PERMITS(forward.permit_open, false) },
	{ "PermitListen", NULL, PERMITS(forward.permit_listen, true) },
	{ "PermitTunnel", NULL,
	    CHOICE(forward.permit_tunnel, tunnel_values, "no") },
	{ "StreamLocalBindMask", NULL, OCTAL(forward.bind_mask, "0177") },
	{ "StreamLocalBindUnlink", NULL, FLAG(forward.bind_unlink, "no") },
	{ "X11Forwarding", NULL, FLAG(forward.x11, "no") },
	{ "X11DisplayOffset", NULL,
	    NUMBER(forward.x11_display_offset, 0, INT_MAX, "10") },
	{ "X11UseLocalhost", NULL, FLAG(forward.x11_use_localhost, "yes") },
	{ "XAuthLocation", NULL, TEXTUAL(forward.xauth_location), GLOBAL,
	    .def = HPN_XAUTH },
	{ "ChannelTimeout", NULL, CHANNEL_TIMEOUTS(session.channel_timeouts) },
	{ "UnusedConnectionTimeout", NULL,
	    TIME(session.unused_connection_timeout, "none"),
	    .values = conf_no_time },

	/* RDomain needs a system on which a process can be moved to another
	 * routing domain. */
	{ "RDomain", NULL, ONLY("none"), .notice = &no_rdomain },

	/* Kerberos logins, only in builds with GSSAPI. */
	{ "GSSAPIAuthentication", NULL,
	    GSS_FLAG(login.gssapi_authentication, "no", "no,false") },
	{ "GSSAPICleanupCredentials", NULL,
	    GSS_FLAG(login.gssapi_cleanup_credentials, "yes", NULL), GLOBAL },
	{ "GSSAPIDelegateCredentials", NULL,
	    GSS_FLAG(login.gssapi_delegate_credentials, "yes", NULL), GLOBAL },
	/* Files by which a user lets others into the account: they are never
	 * read. */
	{ "GSSAPIEnablek5users", NULL, GSS_OFF },
	{ "GSSAPIKexAlgorithms", NULL, GSS_KEX(login.gssapi_kex_algorithms),
	    GLOBAL },
	{ "GSSAPIKeyExchange", NULL,
	    GSS_FLAG(login.gssapi_key_exchange, "no", "no,false"), GLOBAL },
	{ "GSSAPIStoreCredentialsOnRekey", NULL,
	    GSS_FLAG(login.gssapi_store_on_rekey, "no", "no,false"), GLOBAL },
	{ "GSSAPIStrictAcceptorCheck", NULL,
	    GSS_FLAG(login.gssapi_strict_acceptor_check, "yes", NULL),
	    GLOBAL },

	/* Kerberos checks passwords only by way of PAM. Two of these keywords
	 * keep their value, because they decide whether a password may be
	 * checked in other ways. */
	{ "KerberosAuthentication", NULL,
	    UNBUILT_KEPT(login.kerberos_authentication, "no", &unsupported) },
	{ "KerberosGetAFSToken", NULL, UNBUILT_FLAG(&unsupported), GLOBAL },
	{ "KerberosOrLocalPasswd", NULL,
	    FLAG(login.kerberos_or_local_passwd, "yes"), GLOBAL },
	{ "KerberosTicketCleanup", NULL,
	    UNBUILT(flag, "yes,true", &unsupported), GLOBAL },
	{ "KerberosUniqueCCache", NULL, UNBUILT_FLAG(&unsupported), GLOBAL },
	{ "KerberosUseKuserok", NULL, UNBUILT(flag, NULL, &unsupported) },

	/* Keywords that no implementation supports any more. */
	{ "Protocol", NULL, IGNORED },
	{ "AFSTokenPassing", NULL, GONE(&deprecated) },
	{ "AuthorizedKeysFile2", NULL, GONE(&deprecated) },
	{ "CheckMail", NULL, GONE(&deprecated) },
	{ "HPNBufferLimit", NULL, GONE(&no_effect) },
	{ "HPNBufferSize", NULL, GONE(&no_effect) },
	{ "KerberosTgtPassing", NULL, GONE(&deprecated) },
	{ "KeyRegenerationInterval", NULL, GONE(&deprecated) },
	{ "ReverseMappingCheck", NULL, GONE(&deprecated) },
	{ "RhostsAuthentication", NULL, GONE(&deprecated) },
	{ "RhostsRSAAuthentication", NULL, GONE(&deprecated) },
	{ "RSAAuthentication", NULL, GONE(&deprecated) },
	{ "ServerKeyBits", NULL, GONE(&deprecated) },
	{ "TcpRcvBuf", NULL, GONE(&no_effect) },
	{ "UseLogin", NULL, GONE(&deprecated) },
	{ "UsePrivilegeSeparation", NULL, GONE(&deprecated) },
	{ "VerifyReverseMapping", NULL, GONE(&deprecated) },
};
/* clang-format on */

_Static_assert(ARRAY_LEN(rows) <= CONF_ROWS_MAX, "marks are too few");

const struct conf_table server_conf_table = { rows, ARRAY_LEN(rows), false,
	false };

/* ---- creation and end --------------------------------------------------- */

void
server_conf_init(struct server_conf *c)
{
	conf_init(c, sizeof *c);
}

void
server_conf_clear(struct server_conf *c)
{
	conf_clear(&server_conf_table, c);
	for (size_t i = 0; i < c->load.block_count; i++) {
		strlist_clear(&c->load.blocks[i].criteria);
		server_conf_clear(c->load.blocks[i].values);
		free(c->load.blocks[i].values);
	}
	free(c->load.blocks);
	server_conf_init(c);
}

int
server_conf_add_block(struct server_conf *c, const struct strlist *criteria,
    size_t parent)
{
	struct server_block *b;
	int r;

	if (c->load.block_count >= SERVER_CONF_BLOCKS_MAX)
		return ERR_LIMIT;
	if (c->load.block_count == c->load.block_room) {
		size_t room = 2 * c->load.block_room + 8;

		c->load.blocks = xrecallocarray(c->load.blocks,
		    c->load.block_room, room, sizeof *c->load.blocks);
		c->load.block_room = room;
	}
	b = &c->load.blocks[c->load.block_count++];
	b->parent = parent;
	b->values = xcalloc(1, sizeof *b->values);
	if ((r = strlist_copy(&b->criteria, criteria)) < 0)
		return r;
	return 0;
}

/* ---- setting ------------------------------------------------------------ */

int
server_conf_set_option(struct server_conf *c, const char *option)
{
	const struct conf_location at = { .file = NULL };
	const struct conf_row *row;
	struct conf_line line;
	int r;

	if ((r = conf_line_split(&line, option, &at)) < 0)
		return r;
	if (line.keyword == NULL)
		return conf_error(&at, "empty option");
	row = conf_find_or_log(&server_conf_table, line.keyword, &at);
	r = row == NULL ? ERR_SYNTAX :
			  conf_apply(&server_conf_table, c, row, line.rest,
			      &at);
	conf_line_clear(&line);
	return r;
}

int
server_conf_set(struct server_conf *c, const char *keyword,
    const char *value)
{
	const struct conf_location at = { .file = NULL };
	const struct conf_row *row =
	    conf_find_or_log(&server_conf_table, keyword, &at);

	if (row == NULL)
		return ERR_SYNTAX;
	if (strcmp(row->name, "Port") == 0)
		c->listen.port_given = true;
	return conf_apply_word(&server_conf_table, c, row, value, &at);
}

/* ---- the whole configuration -------------------------------------------- */

static void
derive(struct server_conf *c)
{
	for (size_t i = 0; i < server_conf_table.count; i++) {
		if (strcmp(rows[i].name, "LogLevel") == 0)
			c->log.log_level_given = c->marks.set[i];
		else if (strcmp(rows[i].name, "HostKey") == 0)
			c->algs.host_key_given = c->marks.set[i];
	}
}

/* Are all methods of this comma list enabled? */
static bool
methods_enabled(const struct server_conf *c, const char *list)
{
	const struct auth_method *m;
	const char *pos = list, *entry;
	bool unused;
	size_t len;

	while (csv_next(&pos, &entry, &len)) {
		m = auth_method_listed(entry, len, &unused);
		if (m == NULL || !auth_method_enabled(m, c))
			return false;
	}
	return true;
}

/* Refuses AuthenticationMethods if none of its lists can be completed, because
 * nobody could ever log in. */
static int
check_methods(const struct server_conf *c)
{
	const struct strlist *l = &c->login.authentication_methods;

	for (size_t i = 0; i < l->n; i++)
		if (methods_enabled(c, l->v[i]))
			return 0;
	if (l->n == 0)
		return 0;
	log_error("AuthenticationMethods cannot be satisfied by the "
	    "authentication methods that are enabled");
	return ERR_ARGUMENT;
}

/* Refuses a command without the user that should run it, because nobody could
 * log in by it. */
static int
check_command_user(const char *keyword, const char *command, const char *user)
{
	if (command == NULL || user != NULL)
		return 0;
	log_error("%s set without %sUser", keyword, keyword);
	return ERR_ARGUMENT;
}

int
server_conf_finish(struct server_conf *c)
{
	int r;

	if ((r = conf_set_defaults(&server_conf_table, c)) < 0 ||
	    (r = check_methods(c)) < 0 ||
	    (r = check_command_user("AuthorizedKeysCommand",
		 c->login.authorized_keys_command,
		 c->login.authorized_keys_command_user)) < 0 ||
	    (r = check_command_user("AuthorizedPrincipalsCommand",
		 c->login.authorized_principals_command,
		 c->login.authorized_principals_command_user)) < 0)
		return r;
	derive(c);
	return 0;
}

/* Adds the global subsystems, except those whose name a block has defined
 * anew. */
static int
add_subsystems(struct server_conf *out, const struct server_conf *c)
{
	const struct strlist *l = &c->session.subsystem;
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->n; i++)
		if (!server_has_subsystem(&out->session.subsystem, l->v[i],
			server_subsystem_name_len(l->v[i])))
			r = strlist_add(&out->session.subsystem, l->v[i]);
	return r;
}

int
server_conf_for(const struct server_conf *c,
    const struct server_conf_spec *spec, struct server_conf *out)
{
	bool *hit = xcalloc(c->load.block_count + 1, sizeof *hit);
	const struct server_block *b;
	int r = 0;

	server_conf_init(out);
	hit[0] = true; /* index 0: the global part */
	for (size_t i = 0; r == 0 && i < c->load.block_count; i++) {
		b = &c->load.blocks[i];
		if (!hit[b->parent])
			continue;
		r = server_conf_match(&b->criteria, spec, NULL);
		hit[i + 1] = r > 0;
		if (r > 0)
			r = conf_merge(&server_conf_table, out, b->values,
			    true);
	}
	if (r == 0)
		r = conf_merge(&server_conf_table, out, c, false);
	if (r == 0)
		r = add_subsystems(out, c);
	free(hit);
	if (r < 0)
		server_conf_clear(out);
	else
		derive(out);
	return MIN(r, 0);
}

bool
server_conf_has_match(const struct server_conf *c)
{
	return c->load.block_count > 0;
}

/* How many ports to listen on at this address: 1 if it has a port, else as many
 * as Port has. */
static size_t
port_count(const struct server_conf *c, const struct server_listen *listen)
{
	return listen->port[0] != '\0' ? 1 : c->listen.port.n;
}

bool
server_conf_listen(const struct server_conf *c, size_t index,
    struct server_listen *out)
{
	const struct strlist *l = &c->listen.listen_address;
	size_t n;

	memset(out, 0, sizeof *out);
	for (size_t i = 0; i < MAX(l->n, (size_t)1); i++) {
		if (l->n > 0 && !server_split_listen(l->v[i], out))
			continue; /* cannot happen: the parser has checked it */
		n = port_count(c, out);
		if (index < n) {
			if (out->port[0] == '\0')
				strlcpy(out->port, c->listen.port.v[index],
				    sizeof out->port);
			return true;
		}
		index -= n;
	}
	return false;
}

bool
server_conf_permits_variable(const struct server_conf *c, const char *name)
{
	const char *patterns = c->session.permit_user_environment;

	return patterns != NULL &&
	    (strcmp(patterns, "yes") == 0 ||
		str_match_list(name, patterns, false) == 1);
}

const char *
server_conf_subsystem(const struct server_conf *c, const char *name)
{
	size_t len = strlen(name);
	const char *s;

	for (size_t i = 0; i < c->session.subsystem.n; i++) {
		s = c->session.subsystem.v[i];
		if (server_subsystem_name_len(s) == len &&
		    strncmp(s, name, len) == 0)
			return s + len + strspn(s + len, " \t");
	}
	return NULL;
}

/* --- to another process: rows, u32 blocks; a block: u32 parent, u32 words,
 * words, rows --- */

int
server_conf_export(const struct server_conf *c, struct buf *out)
{
	const struct server_block *b;
	int r;

	if ((r = conf_export(&server_conf_table, c, false, out)) < 0)
		return r;
	buf_put_u32(out, (uint32_t)c->load.block_count);
	for (size_t i = 0; i < c->load.block_count; i++) {
		b = &c->load.blocks[i];
		buf_put_u32(out, (uint32_t)b->parent);
		buf_put_u32(out, (uint32_t)b->criteria.n);
		for (size_t j = 0; j < b->criteria.n; j++)
			buf_put_cstring(out, b->criteria.v[j]);
		r = conf_export(&server_conf_table, b->values, true, out);
		if (r < 0)
			return r;
	}
	return buf_err(out);
}

static int
import_block(struct server_conf *c, struct rd *in)
{
	uint32_t parent = rd_u32(in);
	struct strlist criteria = { 0 };
	int r;

	r = conf_import_words(in, &criteria);
	if (r == 0 && parent > c->load.block_count)
		r = ERR_FORMAT;
	if (r == 0)
		r = server_conf_add_block(c, &criteria, parent);
	if (r == 0)
		r = conf_import(&server_conf_table,
		    c->load.blocks[c->load.block_count - 1].values, in);
	strlist_clear(&criteria);
	return r;
}

int
server_conf_import(struct server_conf *c, struct rd *in)
{
	uint32_t n;
	int r;

	if ((r = conf_import_all(&server_conf_table, c, in)) < 0)
		return r;
	n = rd_u32(in);
	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = import_block(c, in);
	if (r == 0)
		r = rd_err(in);
	if (r == 0)
		derive(c);
	return r;
}
