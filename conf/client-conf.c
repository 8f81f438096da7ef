/* SPDX-License-Identifier: ISC */
/* The client's keywords: their table, setting values, defaults. */
#include "conf/client-conf.h"

#include "config.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/own-account.h"
#include "base/worker.h"
#include "conf/algs.h"
#include "conf/client-conf-internal.h"
#include "conf/defaults.h"
#include "conf/destination.h"
#include "conf/permit-pattern.h"
#include "crypto/digest.h"
#include "packet.h"

#define FIELDS struct client_conf
#define HAPPY_DELAY_MS 250
#define HAPPY_DELAY_MAX_MS 600000
#define CERTIFICATE_FILES_MAX 100
#define FORWARDS(field, kind)                                                 \
	.type = &client_forward_type, AT(field), .param = kind,               \
	.flags = CONF_APPEND | CONF_RAW

/* ---- values: -G shows the first name of each, as OpenSSH does ----------- */

static const struct conf_enum strict_values[] = {
	{ "true", CLIENT_ASK_YES },
	{ "false", CLIENT_ASK_NO },
	{ "ask", CLIENT_ASK_ASK },
	{ "accept-new", CLIENT_ASK_ACCEPT_NEW },
	{ "yes", CLIENT_ASK_YES },
	{ "no", CLIENT_ASK_NO },
	{ "off", CLIENT_ASK_NO },
	{ NULL, 0 },
};

static const struct conf_enum update_values[] = {
	{ "true", CLIENT_ASK_YES },
	{ "false", CLIENT_ASK_NO },
	{ "ask", CLIENT_ASK_ASK },
	{ "yes", CLIENT_ASK_YES },
	{ "no", CLIENT_ASK_NO },
	{ NULL, 0 },
};

static const struct conf_enum tty_values[] = {
	{ "true", CLIENT_TTY_YES },
	{ "false", CLIENT_TTY_NO },
	{ "auto", CLIENT_TTY_AUTO },
	{ "force", CLIENT_TTY_FORCE },
	{ "yes", CLIENT_TTY_YES },
	{ "no", CLIENT_TTY_NO },
	{ NULL, 0 },
};

/* OpenSSH takes "none" for the default of a time; -G shows the number, which
 * comes first. */
static const struct conf_enum no_alive[] = { { "0", 0 }, { "none", 0 },
	{ NULL, 0 } };
static const struct conf_enum usual_x11_timeout[] = { { "1200", 1200 },
	{ "none", 1200 }, { NULL, 0 } };

static const struct conf_enum session_values[] = {
	{ "default", CLIENT_SESSION_DEFAULT },
	{ "none", CLIENT_SESSION_NONE },
	{ "subsystem", CLIENT_SESSION_SUBSYSTEM },
	{ NULL, 0 },
};

static const struct conf_enum weak_values[] = {
	{ "yes", CLIENT_WEAK_YES },
	{ "no", CLIENT_WEAK_NO },
	{ "no-pq-kex", CLIENT_WEAK_NO_PQ_KEX },
	{ NULL, 0 },
};

/* EscapeChar: a character, ^X for a control character, or "none". */
static int
parse_escape(const struct conf_row *row, void *field,
    const struct strlist *words, const struct conf_location *at)
{
	const char *s = words->v[0];
	int *v = field;

	if (words->n == 1 && str_equal_nocase(s, "none"))
		*v = CLIENT_ESCAPE_NONE;
	else if (words->n == 1 && s[0] == '^' && s[1] >= '?' &&
	    (unsigned char)s[1] < 0x80 && s[2] == '\0')
		*v = s[1] == '?' ? 0x7f : s[1] & 0x1f;
	else if (words->n == 1 && s[0] != '\0' && s[1] == '\0')
		*v = (unsigned char)s[0];
	else
		return conf_error(at, "%s: neither a character nor none",
		    row->name);
	return 0;
}

static int
format_escape(const struct conf_row *row, const void *field,
    struct strlist *words)
{
	int v = *(const int *)field;
	char text[3] = { 0 };

	(void)row;
	if (v == CLIENT_ESCAPE_NONE)
		return strlist_add(words, "none");
	if (v < 0x20 || v == 0x7f) {
		text[0] = '^';
		text[1] = v == 0x7f ? '?' : (char)(v | 0x40);
	} else {
		text[0] = (char)v;
	}
	return strlist_add(words, text);
}

static const struct conf_type escape_type = { parse_escape, format_escape,
	NULL, NULL, false };

static const struct conf_enum pubkey_values[] = {
	{ "true", CLIENT_PUBKEY_YES },
	{ "false", CLIENT_PUBKEY_NO },
	{ "unbound", CLIENT_PUBKEY_UNBOUND },
	{ "host-bound", CLIENT_PUBKEY_HOST_BOUND },
	{ "yes", CLIENT_PUBKEY_YES },
	{ "no", CLIENT_PUBKEY_NO },
	{ NULL, 0 },
};

static const struct conf_enum tunnel_values[] = {
	{ "false", CLIENT_TUNNEL_NO },
	{ "point-to-point", CLIENT_TUNNEL_POINT_TO_POINT },
	{ "ethernet", CLIENT_TUNNEL_ETHERNET },
	{ "no", CLIENT_TUNNEL_NO },
	{ "yes", CLIENT_TUNNEL_POINT_TO_POINT },
	{ "true", CLIENT_TUNNEL_POINT_TO_POINT },
	{ NULL, 0 },
};

static const struct conf_enum master_values[] = {
	{ "false", CLIENT_MASTER_NO },
	{ "true", CLIENT_MASTER_YES },
	{ "ask", CLIENT_MASTER_ASK },
	{ "auto", CLIENT_MASTER_AUTO },
	{ "autoask", CLIENT_MASTER_AUTO_ASK },
	{ "no", CLIENT_MASTER_NO },
	{ "yes", CLIENT_MASTER_YES },
	{ NULL, 0 },
};

static const struct conf_enum copy_connections[] = {
	{ "auto", 0 },
	{ NULL, 0 },
};

static const struct conf_enum copy_retry[] = {
	{ "no", 0 },
	{ "yes", CLIENT_COPY_RETRIES },
	{ NULL, 0 },
};

/* ---- what is not built -------------------------------------------------- */

/* The texts are those of OpenSSH, because programs parse them. */
static const struct conf_notice unsupported = { LOG_LVL_ERROR,
	"Unsupported option \"", "\"", true };
static const struct conf_notice deprecated = { LOG_LVL_DEBUG1,
	"Deprecated option \"", "\"", true };
static const struct conf_notice no_effect = { LOG_LVL_INFO, "keyword \"",
	"\" is deprecated and has no effect", false };

/* the methods' names as one text: ",publickey,..." */
#define AUTH_METHOD_NAME(id, name) "," name
#define AUTH_METHOD_NAMES CLIENT_AUTH_METHODS(AUTH_METHOD_NAME)

#define OWN_KNOWN_HOSTS SYSCONFDIR "/ssh_known_hosts " \
	SYSCONFDIR "/ssh_known_hosts2"

/* ---- the table: one row, one keyword ------------------------------------ */

/* clang-format off */
/* The default of SecurityKeyProvider: hpnssh-sk-helper itself if it has
 * libfido2, else the library that SSH_SK_PROVIDER names. */
#ifdef HAVE_LIBFIDO2
#define SK_PROVIDER "internal"
#else
#define SK_PROVIDER "$SSH_SK_PROVIDER"
#endif

static const struct conf_row rows[] = {
	{ "Host", NULL, STRUCTURE },
	{ "Match", NULL, STRUCTURE },
	{ "Include", NULL, STRUCTURE },

	{ "User", NULL, TEXTUAL(host.user) },
	{ "Hostname", NULL, TEXTUAL(host.hostname) },
	{ "CanonicalizeHostname", NULL,
	    CHOICE(canonical.hostname, client_canonical_values, "no") },
	{ "CanonicalizeFallbackLocal", NULL,
	    FLAG(canonical.fallback_local, "yes") },
	{ "CanonicalizeMaxDots", NULL,
	    NUMBER(canonical.max_dots, 0, INT_MAX, "1") },
	{ "CanonicalDomains", NULL,
	    .type = &client_domains_type, AT(canonical.domains),
	    .flags = CONF_NONE | CONF_ALONE, .max = CLIENT_CANONICAL_MAX },
	{ "CanonicalizePermittedCNAMEs", NULL,
	    .type = &client_cnames_type, AT(canonical.cnames),
	    .flags = CONF_NONE | CONF_ALONE, .max = CLIENT_CANONICAL_MAX },
	{ "Port", NULL, PORT(host.port, TEXT(HPN_DEFAULT_PORT)) },
	{ "Fallback", NULL, FLAG(host.fallback, "yes") },
	{ "FallbackPort", NULL,
	    PORT(host.fallback_port, TEXT(HPN_FALLBACK_PORT)) },
	{ "SystemConfig", NULL, FLAG(host.system_config, "yes") },
	{ "HostKeyAlias", NULL, TEXTUAL(host.host_key_alias) },
	{ "Tag", NULL, TEXTUAL(host.tag) },
	{ "AddressFamily", NULL,
	    CHOICE(tcp.address_family, conf_families, "any") },
	{ "BindAddress", NULL, TEXTUAL(tcp.bind_address) },
	{ "BindInterface", NULL, TEXTUAL(tcp.bind_interface) },
	{ "ConnectionAttempts", NULL,
	    NUMBER(tcp.connection_attempts, 1, INT_MAX, "1") },
	{ "ConnectTimeout", NULL, TIME(tcp.connect_timeout, "none"),
	    .values = conf_no_time },
	{ "TCPKeepAlive", "KeepAlive", FLAG(tcp.tcp_keep_alive, "yes") },
	{ "CongestionControl", NULL, TEXTUAL(tcp.congestion_control),
	    .flags = CONF_NONE, .check = conf_check_congestion },
	{ "IPQoS", NULL, .type = &conf_dscp, AT(tcp.ipqos), .def = "ef cs0" },
	{ "ProxyCommand", NULL, TEXTUAL(tcp.proxy_command),
	    .flags = CONF_RAW | CONF_NONE },
	{ "ProxyJump", NULL, TEXTUAL(tcp.proxy_jump),
	    .flags = CONF_RAW | CONF_NONE, .check = destination_check_jumps },
	{ "ServerAliveInterval", NULL, TIME(tcp.server_alive_interval, "0"),
	    .values = no_alive },
	{ "Survive", NULL, FLAG(tcp.survive, "no") },
	{ "SurviveTime", NULL, TIME(tcp.survive_time, "10m") },
	{ "ServerAliveCountMax", NULL,
	    NUMBER(tcp.server_alive_count_max, 0, INT_MAX, "3") },
	{ "VersionAddendum", NULL, TEXTUAL(tcp.version_addendum),
	    .flags = CONF_RAW | CONF_NONE },
	{ "RefuseConnection", NULL, TEXTUAL(host.refuse_connection) },
	{ "UseMPTCP", NULL, FLAG(tcp.use_mptcp, "no") },
	{ "HappyEyes", NULL, FLAG(tcp.happy_eyes, "no") },
	{ "HappyDelay", NULL,
	    NUMBER(tcp.happy_delay, INT_MIN, HAPPY_DELAY_MAX_MS,
		TEXT(HAPPY_DELAY_MS)) },

	{ "KexAlgorithms", NULL, ALGS(algs.kex_algorithms, ALGS_KEX_CLIENT) },
	{ "HostKeyAlgorithms", NULL,
	    ALGS(algs.host_key_algorithms, ALGS_HOST_KEY) },
	{ "Ciphers", NULL, ALGS(algs.ciphers, ALGS_CIPHER) },
	{ "MACs", NULL, ALGS(algs.macs, ALGS_MAC) },
	{ "PubkeyAcceptedAlgorithms", "PubkeyAcceptedKeyTypes",
	    ALGS(algs.pubkey_accepted_algorithms, ALGS_PUBKEY) },
	{ "CASignatureAlgorithms", NULL,
	    ALGS(algs.ca_signature_algorithms, ALGS_CA) },
	{ "Compression", NULL, FLAG(algs.compression, "no") },
	{ "RekeyLimit", NULL, .type = &conf_bytes_time, AT(algs.rekey_limit),
	    .def = "default none" },
	{ "RequiredRSASize", NULL,
	    NUMBER(algs.required_rsa_size, 0, INT_MAX, "1024") },
	{ "WarnWeakCrypto", NULL,
	    CHOICE(algs.warn_weak_crypto, weak_values, "yes") },
	{ "NoneEnabled", NULL, FLAG(algs.none_enabled, "no") },
	{ "NoneSwitch", NULL, FLAG(algs.none_switch, "no"),
	    .flags = CONF_IN_BLOCK },
	{ "NoneMacEnabled", NULL, FLAG(algs.none_mac_enabled, "no") },
	{ "HPNDisabled", NULL, FLAG(data.hpn_disabled, "no") },
	{ "TcpRcvBufPoll", NULL, FLAG(data.tcp_rcv_buf_poll, "yes") },
	{ "CipherThreads", NULL,
	    NUMBER(data.cipher_threads, 0, WORKER_THREADS_MAX, "auto"),
	    .values = conf_threads },
	{ "CipherForm", NULL, CHOICE(data.cipher_form, conf_forms, "auto") },
	{ "DisableMTAES", NULL, FLAG(data.disable_mtaes, "no") },
	{ "Metrics", NULL, FLAG(data.metrics, "no") },
	{ "MetricsInterval", NULL,
	    NUMBER(data.metrics_interval, 0, INT_MAX, "5") },
	{ "MetricsPath", NULL, TEXTUAL(data.metrics_path),
	    .def = "./ssh_stack_metrics" },
	{ "CopyConnections", NULL,
	    NUMBER(copy.connections, 1, CLIENT_COPY_CONNECTIONS_MAX, "auto"),
	    .values = copy_connections },
	{ "CopyRetry", NULL, NUMBER(copy.retry, 0, 1000000, "no"),
	    .values = copy_retry },
	{ "CopyVerify", NULL, FLAG(copy.verify, "no") },
	{ "CopyResume", NULL, FLAG(copy.resume, "no") },
	{ "CopyPreserve", NULL, FLAG(copy.preserve, "no") },

	{ "GlobalKnownHostsFile", NULL, LIST(known.global_known_hosts_file),
	    .flags = CONF_NONE | CONF_ALONE,
	    .def = OWN_KNOWN_HOSTS " " STOCK_CONF_DIR "/ssh_known_hosts "
		STOCK_CONF_DIR "/ssh_known_hosts2" },
	{ "UserKnownHostsFile", NULL, LIST(known.user_known_hosts_file),
	    .flags = CONF_NONE | CONF_ALONE,
	    .def = "~/.ssh/known_hosts ~/.ssh/known_hosts2" },
	{ "RevokedHostKeys", NULL, LIST(known.revoked_host_keys),
	    .flags = CONF_NONE | CONF_ALONE | CONF_HIDDEN },
	{ "KnownHostsCommand", NULL, TEXTUAL(known.known_hosts_command),
	    .flags = CONF_RAW | CONF_NONE },
	{ "StrictHostKeyChecking", NULL,
	    CHOICE(known.strict_host_key_checking, strict_values, "ask") },
	{ "CheckHostIP", NULL, FLAG(known.check_host_ip, "no") },
	{ "HashKnownHosts", NULL, FLAG(known.hash_known_hosts, "no") },
	{ "UpdateHostKeys", NULL,
	    CHOICE(known.update_host_keys, update_values, "yes") },
	{ "NoHostAuthenticationForLocalhost", NULL,
	    FLAG(known.no_host_authentication_for_localhost, "no") },
	{ "VerifyHostKeyDNS", NULL,
	    CHOICE(known.verify_host_key_dns, update_values, "no") },
	{ "VisualHostKey", NULL, FLAG(known.visual_host_key, "no") },
	{ "FingerprintHash", NULL,
	    CHOICE(known.fingerprint_hash, conf_fingerprint_hashes, "sha256") },

	{ "IdentityFile", "IdentityFile2", LIST(auth.identity_file),
	    .flags = CONF_APPEND | CONF_NONE | CONF_ONE,
	    .def = "~/.ssh/id_rsa ~/.ssh/id_ecdsa ~/.ssh/id_ecdsa_sk "
		   "~/.ssh/id_ed25519 ~/.ssh/id_ed25519_sk "
		   "~/.ssh/id_mldsa44_ed25519" },
	{ "CertificateFile", NULL, LIST(auth.certificate_file),
	    .flags = CONF_APPEND | CONF_NONE | CONF_ONE | CONF_HIDDEN,
	    .max = CERTIFICATE_FILES_MAX },
	{ "CertificateCommand", NULL, TEXTUAL(auth.certificate_command),
	    .flags = CONF_RAW | CONF_NONE },
	{ "LoginTickets", NULL, FLAG(auth.login_tickets, "no") },
	{ "IdentitiesOnly", NULL, FLAG(auth.identities_only, "no") },
	{ "IdentityAgent", NULL, TEXTUAL(auth.identity_agent) },
	{ "PKCS11Provider", "SmartcardDevice",
	    P11_TEXT(auth.pkcs11_provider) },
	{ "AddKeysToAgent", NULL,
	    .type = &client_add_keys_type, AT(auth.add_keys), .def = "no" },
	{ "SecurityKeyProvider", NULL, TEXTUAL(auth.security_key_provider),
	    .def = SK_PROVIDER },
	{ "PreferredAuthentications", NULL,
	    TEXTUAL(auth.preferred_authentications),
	    .def = &(AUTH_METHOD_NAMES)[1] },
	{ "PubkeyAuthentication", "DSAAuthentication",
	    CHOICE(auth.pubkey_authentication, pubkey_values, "yes") },
	{ "PasswordAuthentication", NULL,
	    FLAG(auth.password_authentication, "yes") },
	{ "KbdInteractiveAuthentication",
	    "ChallengeResponseAuthentication,SKeyAuthentication,"
	    "TISAuthentication",
	    FLAG(auth.kbd_interactive_authentication, "yes") },
	{ "KbdInteractiveDevices", NULL,
	    TEXTUAL(auth.kbd_interactive_devices) },
	{ "NumberOfPasswordPrompts", NULL,
	    NUMBER(auth.number_of_password_prompts, 0, INT_MAX, "3") },
	{ "HostbasedAuthentication", NULL,
	    FLAG(auth.hostbased_authentication, "no") },
	{ "HostbasedAcceptedAlgorithms", "HostbasedKeyTypes",
	    ALGS(algs.hostbased_accepted_algorithms, ALGS_PUBKEY) },
	{ "EnableSSHKeysign", NULL, FLAG(auth.enable_ssh_keysign, "no") },
	{ "BatchMode", NULL, FLAG(auth.batch_mode, "no") },

	{ "RemoteCommand", NULL, TEXTUAL(session.remote_command),
	    .flags = CONF_RAW | CONF_NONE },
	{ "RequestTTY", NULL, CHOICE(session.request_tty, tty_values, "auto") },
	{ "SessionType", NULL,
	    CHOICE(session.session_type, session_values, "default") },
	{ "StdinNull", NULL, FLAG(session.stdin_null, "no") },
	{ "ForkAfterAuthentication", NULL,
	    FLAG(session.fork_after_authentication, "no") },
	{ "EscapeChar", NULL, .type = &escape_type, AT(session.escape_char),
	    .def = "~" },
	{ "SendEnv", NULL, LIST(session.send_env), .flags = CONF_APPEND,
	    .check = conf_check_env_pattern },
	{ "SetEnv", NULL, .type = &conf_env, AT(session.set_env),
	    .flags = CONF_LINES },
	{ "PermitLocalCommand", NULL,
	    FLAG(session.permit_local_command, "no") },
	{ "LocalCommand", NULL, TEXTUAL(session.local_command),
	    .flags = CONF_RAW | CONF_NONE },

	{ "LogLevel", NULL, .type = &conf_log_level, AT(log.log_level),
	    .def = "INFO" },
	{ "LogVerbose", NULL, LIST(log.log_verbose),
	    .flags = CONF_NONE | CONF_ALONE },
	{ "SyslogFacility", NULL,
	    .type = &conf_facility, AT(log.syslog_facility),
	    .def = "USER" },
	{ "IgnoreUnknown", NULL, TEXTUAL(ignore_unknown) },

	{ "LocalForward", NULL, FORWARDS(forward.local, FORWARD_LOCAL) },
	{ "RemoteForward", NULL, FORWARDS(forward.remote, FORWARD_REMOTE) },
	{ "DynamicForward", NULL, FORWARDS(forward.local, FORWARD_DYNAMIC) },
	{ "ClearAllForwardings", NULL,
	    FLAG(forward.clear_all_forwardings, "no") },
	{ "ExitOnForwardFailure", NULL, FLAG(forward.exit_on_failure, "no") },
	{ "GatewayPorts", NULL, FLAG(forward.gateway_ports, "no") },
	{ "PermitRemoteOpen", NULL,
	    PERMITS(forward.permit_remote_open, false) },
	{ "StreamLocalBindMask", NULL, OCTAL(forward.bind_mask, "0177") },
	{ "StreamLocalBindUnlink", NULL, FLAG(forward.bind_unlink, "no") },
	{ "ForwardAgent", NULL,
	    .type = &conf_flag_text, AT(forward.forward_agent) },
	{ "ForwardX11", NULL, FLAG(forward.forward_x11, "no") },
	{ "ForwardX11Trusted", NULL, FLAG(forward.forward_x11_trusted, "no") },
	{ "ForwardX11Timeout", NULL,
	    TIME(forward.forward_x11_timeout, "1200"),
	    .values = usual_x11_timeout },
	{ "XAuthLocation", NULL, TEXTUAL(forward.xauth_location),
	    .def = HPN_XAUTH },
	{ "Tunnel", NULL, CHOICE(forward.tunnel, tunnel_values, "no") },
	{ "TunnelDevice", NULL,
	    .type = &client_tunnel_type, AT(forward.tunnel_local),
	    .def = "any:any" },
	{ "EnableEscapeCommandline", NULL,
	    FLAG(forward.escape_commandline, "no") },
	{ "ObscureKeystrokeTiming", NULL,
	    .type = &client_obscure_type, AT(forward.obscure_ms),
	    .def = "yes" },
	{ "ChannelTimeout", NULL, CHANNEL_TIMEOUTS(forward.channel_timeouts) },

	{ "ControlMaster", NULL,
	    CHOICE(mux.control_master, master_values, "no") },
	{ "ControlPath", NULL, TEXTUAL(mux.control_path), .flags = CONF_NONE },
	{ "ControlPersist", NULL,
	    .type = &client_persist_type, AT(mux.control_persist),
	    .def = "no" },
	{ "ProxyUseFdpass", NULL, FLAG(mux.proxy_use_fdpass, "no") },

	/* Kerberos logins, only in builds with GSSAPI. */
	{ "GSSAPIAuthentication", NULL,
	    GSS_FLAG(auth.gssapi_authentication, "no", "no,false") },
	{ "GSSAPIClientIdentity", NULL,
	    GSS_TEXT(auth.gssapi_client_identity) },
	{ "GSSAPIDelegateCredentials", NULL,
	    GSS_FLAG(auth.gssapi_delegate_credentials, "no", "no,false") },
	{ "GSSAPIKexAlgorithms", NULL, GSS_KEX(auth.gssapi_kex_algorithms) },
	{ "GSSAPIKeyExchange", NULL,
	    GSS_FLAG(auth.gssapi_key_exchange, "no", "no,false") },
	{ "GSSAPIRenewalForcesRekey", NULL,
	    GSS_FLAG(auth.gssapi_renewal_rekey, "no", "no,false") },
	{ "GSSAPIServerIdentity", NULL,
	    GSS_TEXT(auth.gssapi_server_identity) },
	{ "GSSAPITrustDns", NULL,
	    GSS_FLAG(auth.gssapi_trust_dns, "no", "no,false") },

	/* OpenSSH does not have these any more either. */
	{ "Protocol", NULL, IGNORED },
	{ "AFSTokenPassing", NULL, GONE(&unsupported) },
	{ "Cipher", NULL, GONE(&deprecated) },
	{ "CompressionLevel", NULL, GONE(&unsupported) },
	{ "FallBackToRsh", NULL, GONE(&deprecated) },
	{ "GlobalKnownHostsFile2", NULL, GONE(&deprecated) },
	{ "HPNBufferLimit", NULL, GONE(&no_effect) },
	{ "HPNBufferSize", NULL, GONE(&no_effect) },
	{ "KerberosAuthentication", NULL, GONE(&unsupported) },
	{ "KerberosTGTPassing", NULL, GONE(&unsupported) },
	{ "RhostsAuthentication", NULL, GONE(&deprecated) },
	{ "RhostsRSAAuthentication", NULL, GONE(&unsupported) },
	{ "RSAAuthentication", NULL, GONE(&unsupported) },
	{ "TcpRcvBuf", NULL, GONE(&no_effect) },
	{ "UsePrivilegedPort", NULL, GONE(&deprecated) },
	{ "UseRoaming", NULL, GONE(&deprecated) },
	{ "UserKnownHostsFile2", NULL, GONE(&deprecated) },
	{ "UseRsh", NULL, GONE(&deprecated) },
};
/* clang-format on */

_Static_assert(ARRAY_LEN(rows) <= CONF_ROWS_MAX, "marks are too few");

const struct conf_table client_conf_table = { rows, ARRAY_LEN(rows), true,
	true };

/* ---- life --------------------------------------------------------------- */

void
client_conf_init(struct client_conf *c)
{
	conf_init(c, sizeof *c);
}

void
client_conf_clear(struct client_conf *c)
{
	conf_clear(&client_conf_table, c);
	free(c->load.original_host);
	free(c->load.command);
	free(c->load.config_path);
	free(c->load.tunnel_name);
	if (c->load.addresses != NULL)
		freeaddrinfo(c->load.addresses);
	strlist_clear(&c->load.system_identities);
	client_conf_init(c);
}

/* ---- setting ------------------------------------------------------------ */

bool
client_conf_is_set(const struct client_conf *c, const char *keyword)
{
	const struct conf_row *row = conf_find(&client_conf_table, keyword);

	ENSURE(row != NULL);
	return c->marks.set[conf_index(&client_conf_table, row)];
}

static bool
is_jumps(const struct conf_row *row)
{
	return row->offset == offsetof(struct client_conf, tcp.proxy_jump);
}

/* Notes whether the value of HostKeyAlgorithms gives an order, which cannot be
 * seen from the list that results. Like the list, only the first value
 * counts. */
static void
note_host_key_order(struct client_conf *c, const struct conf_row *row,
    const char *value)
{
	if (row->offset !=
		offsetof(struct client_conf, algs.host_key_algorithms) ||
	    client_conf_is_set(c, row->name))
		return;
	value += strspn(value, " \t\"");
	c->algs.host_key_order_given = *value != '+' && *value != '-';
}

/* Checks names of jump hosts on the command line, which may come from a link or
 * a script. Names in files are from the user or root and are not checked. */
static int
check_jump_names(const struct conf_row *row, const char *list,
    const struct conf_location *at)
{
	const char *why = NULL;

	if (at->file == NULL && !str_equal_nocase(list, "none"))
		why = destination_check_jump_names(list);
	return why == NULL ? 0 :
			     conf_error(at, "%s: %s", row->name, why);
}

/* Sets ProxyJump. Its value is the rest of the line up to a comment, with any
 * quotes. It is ignored if ProxyCommand is set. */
static int
apply_jumps(struct client_conf *c, const struct conf_row *row,
    const char *rest, const struct conf_location *at)
{
	size_t len = strcspn(rest, "#");
	char *list;
	int r;

	while (len > 0 && isspace((unsigned char)rest[len - 1]))
		len--;
	list = xstrndup(rest, len);
	r = check_jump_names(row, list, at);
	if (r == 0)
		r = client_conf_is_set(c, "ProxyCommand") ?
		    conf_try(row, list, at) :
		    conf_apply(&client_conf_table, c, row, list, at);
	free(list);
	return r;
}

int
client_conf_apply(struct client_conf *c, const struct conf_row *row,
    const char *rest, const struct conf_location *at)
{
	note_host_key_order(c, row, rest);
	if (is_jumps(row))
		return apply_jumps(c, row, rest, at);
	/* Of ProxyJump and ProxyCommand the first one counts. But "ProxyJump
	 * none" does not disable a later ProxyCommand. */
	if (row->offset == offsetof(struct client_conf, tcp.proxy_command) &&
	    c->tcp.proxy_jump != NULL)
		return conf_try(row, rest, at);
	return conf_apply(&client_conf_table, c, row, rest, at);
}

int
client_conf_set(struct client_conf *c, const char *keyword, const char *value)
{
	const struct conf_location at = { .file = NULL };
	const struct conf_row *row =
	    conf_find_or_log(&client_conf_table, keyword, &at);

	if (row == NULL)
		return ERR_SYNTAX;
	if (strcmp(row->name, "User") == 0 && !client_conf_is_set(c, "User"))
		c->load.user_is_literal = true;
	if (is_jumps(row))
		return apply_jumps(c, row, value, &at);
	return conf_apply_word(&client_conf_table, c, row, value, &at);
}

int
client_conf_replace(struct client_conf *c, const char *keyword,
    const char *value)
{
	const struct conf_row *row = conf_find(&client_conf_table, keyword);

	ENSURE(row != NULL);
	c->marks.set[conf_index(&client_conf_table, row)] = false;
	return client_conf_set(c, keyword, value);
}

/* Is an unknown keyword to be ignored? Yes, if IgnoreUnknown says so, and for
 * two that only Apple's ssh has. These say where passphrases are kept; without
 * them the user is asked. */
bool
client_conf_is_ignored(const struct client_conf *c, const char *keyword)
{
	return str_match_list(keyword, "UseKeychain,KeychainIntegration",
		   true) > 0 ||
	    (c->ignore_unknown != NULL &&
		str_match_list(keyword, c->ignore_unknown, true) > 0);
}

int
client_conf_set_option(struct client_conf *c, const char *option)
{
	struct conf_location at = { .file = NULL };
	const struct conf_row *row;
	struct conf_line line;
	bool ignored;
	int r;

	if ((r = conf_line_split(&line, option, &at)) < 0)
		return r;
	if (line.keyword == NULL)
		return conf_error(&at, "empty option");
	ignored = client_conf_is_ignored(c, line.keyword);
	at.quiet = ignored;
	row = ignored ? conf_find(&client_conf_table, line.keyword) :
			conf_find_or_log(&client_conf_table, line.keyword, &at);
	r = ignored ? 0 : ERR_SYNTAX;
	if (row != NULL)
		r = client_conf_apply(c, row, line.rest, &at);
	if (r == ERR_UNSUPPORTED && ignored)
		r = 0;
	conf_line_clear(&line);
	return r;
}

/* ---- the end of reading ------------------------------------------------- */

const char *
client_conf_home(void)
{
	return own_account_home();
}

/* Applies removals in SendEnv: "-pattern" removes the names before it that
 * match. */
static int
apply_send_env_removals(struct client_conf *c)
{
	struct strlist kept = { 0 }, next;
	const char *item;
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->session.send_env.n; i++) {
		item = c->session.send_env.v[i];
		if (*item != '-') {
			r = strlist_add(&kept, item);
			continue;
		}
		memset(&next, 0, sizeof next);
		for (size_t j = 0; r == 0 && j < kept.n; j++)
			if (!str_match(kept.v[j], item + 1))
				r = strlist_add(&next, kept.v[j]);
		strlist_clear(&kept);
		kept = next;
	}
	if (r == 0)
		r = strlist_copy(&c->session.send_env, &kept);
	strlist_clear(&kept);
	return r;
}

/* Makes a host's name lower case, in which hosts are looked up and known_hosts
 * is searched. IPv6 addresses stay as they are. */
static void
lower_name(char *name)
{
	struct in6_addr address;

	if (name == NULL || inet_pton(AF_INET6, name, &address) == 1)
		return;
	for (; *name != '\0'; name++)
		*name = (char)tolower((unsigned char)*name);
}

static int
settle_names(struct client_conf *c)
{
	const char *name;
	char *user;
	int r;

	lower_name(c->host.hostname);
	lower_name(c->host.host_key_alias);
	if (c->host.user == NULL) {
		if ((name = own_account_name()) == NULL) {
			log_error("There is no account for user ID %u, and "
				  "no USER", (unsigned)getuid());
			return ERR_NOT_FOUND;
		}
		c->host.user = xstrdup(name);
	} else if (!c->load.user_is_literal &&
		   strpbrk(c->host.user, "%$") != NULL) {
		r = client_conf_expand(
		    c, CLIENT_TOKENS_USER, "User", c->host.user, &user);
		if (r < 0)
			return r;
		free(c->host.user);
		c->host.user = user;
	}
	return 0;
}

/* Sets the port to the fallback port if there is a proxy: the two ports cannot
 * be tried at the same time through it. */
static void
choose_proxy_port(struct client_conf *c)
{
	if ((c->tcp.proxy_command != NULL || c->tcp.proxy_jump != NULL) &&
	    c->host.fallback && !c->load.port_given)
		c->host.port = c->host.fallback_port;
}

bool
client_conf_has_stock(const struct client_conf *c)
{
	return strcmp(SYSCONFDIR, STOCK_CONF_DIR) != 0 &&
	    (!client_conf_is_set(c, "SystemConfig") || c->host.system_config);
}

/* Without /etc/ssh, GlobalKnownHostsFile has another default. */
static int
choose_known_hosts(struct client_conf *c)
{
	const struct conf_location at = { .file = NULL };
	const struct conf_row *row =
	    conf_find(&client_conf_table, "GlobalKnownHostsFile");

	if (client_conf_has_stock(c))
		return 0;
	return conf_apply(&client_conf_table, c, row, OWN_KNOWN_HOSTS, &at);
}

int
client_conf_finish(struct client_conf *c)
{
	int r;

	c->load.port_given = client_conf_is_set(c, "Port");
	c->load.kex_given = client_conf_is_set(c, "KexAlgorithms");
	if ((r = choose_known_hosts(c)) < 0 ||
	    (r = conf_set_defaults(&client_conf_table, c)) < 0)
		return r;
	choose_proxy_port(c);
	client_conf_default_forwards(c);
	if ((r = settle_names(c)) < 0 ||
	    (r = apply_send_env_removals(c)) < 0 ||
	    (r = client_conf_settle_forwards(c)) < 0)
		return r;
	if (client_conf_is_set(c, "MetricsPath") && !client_conf_is_set(c,
	    "Metrics"))
		c->data.metrics = 1;
	/* UpdateHostKeys is off by default if the user has named the files,
	 * which then are not changed unasked, or trusts the DNS for host
	 * keys. */
	if (!client_conf_is_set(c, "UpdateHostKeys") &&
	    (client_conf_is_set(c, "UserKnownHostsFile") ||
		c->known.verify_host_key_dns != CLIENT_ASK_NO))
		c->known.update_host_keys = CLIENT_ASK_NO;
	c->log.log_level_given = client_conf_is_set(c, "LogLevel");
	c->auth.identity_file_given = client_conf_is_set(c, "IdentityFile");
	return 0;
}

bool
client_conf_is_explicit(const struct client_conf *c, const char *path)
{
	if (strlist_has(&c->load.system_identities, path))
		return false;
	return strlist_has(&c->auth.certificate_file, path) ||
	    (c->auth.identity_file_given &&
		strlist_has(&c->auth.identity_file, path));
}
