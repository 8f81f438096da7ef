/* SPDX-License-Identifier: ISC */
#include "config.h"

#include "regress/unit/conf-sample.h"
#include "regress/unit/help.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "conf/client-conf.h"
#include "conf/defaults.h"
#include "crypto/digest.h"

static int
set_up(void **state)
{
	messages_keep();
	return temp_make(state);
}

static int
load(struct client_conf *c, const char *content, const char *host,
    const char *command)
{
	struct client_conf_context context = { .host = host,
		.command = command };
	char *path = temp_file("config", content);
	int r;

	messages_forget();
	context.config_path = path;
	r = client_conf_load(c, &context);
	free(path);
	return r;
}

static char *
dump(const struct client_conf *c)
{
	struct buf out;
	char *text;

	buf_init(&out);
	assert_int_equal(client_conf_dump(c, &out), 0);
	text = buf_dup_string(&out);
	buf_clear(&out);
	return text;
}

/* ---- the rows ----------------------------------------------------------- */

/* A value unlike the default for the rows that cannot do with a guess. */
static const struct conf_sample samples[] = {
	{ "CanonicalizeHostname", "always" },
	{ "CanonicalDomains", "a.test b.test" },
	{ "CanonicalizePermittedCNAMEs", "a,*.b:*.c d:e" },
	{ "VerifyHostKeyDNS", "ask" },
	{ "User", "someone" },
	{ "Hostname", "host.example.org" },
	{ "HostKeyAlias", "alias" },
	{ "Tag", "label" },
	{ "AddressFamily", "inet6" },
	{ "BindAddress", "127.0.0.1" },
	{ "BindInterface", "lo" },
	{ "CongestionControl", "reno" },
	{ "CipherForm", "keystream" },
	{ "MetricsPath", "/m/%h" },
	{ "IPQoS", "af21 4" },
	{ "ProxyCommand", "nc -q \"a b\" %h %p" },
	{ "ProxyJump", "me@a:3,[::1]" },
	{ "VersionAddendum", "two words" },
	{ "RefuseConnection", "today" },
	{ "KexAlgorithms", "curve25519-sha256" },
	{ "GSSAPIClientIdentity", "me@REALM" },
	{ "GSSAPIServerIdentity", "host.example" },
	{ "GSSAPIKexAlgorithms", "gss-nistp256-sha256-" },
	{ "HostKeyAlgorithms", "ssh-ed25519" },
	{ "Ciphers", "aes128-ctr,aes256-ctr" },
	{ "MACs", "hmac-sha2-256" },
	{ "PubkeyAcceptedAlgorithms", "rsa-sha2-512" },
	{ "HostbasedAcceptedAlgorithms", "rsa-sha2-512" },
	{ "CASignatureAlgorithms", "ssh-ed25519" },
	{ "KnownHostsCommand", "/bin/kh %H" },
	{ "RekeyLimit", "512K 90" },
	{ "RequiredRSASize", "2048" },
	{ "WarnWeakCrypto", "no-pq-kex" },
	{ "GlobalKnownHostsFile", "/a /b" },
	{ "UserKnownHostsFile", "none" },
	{ "RevokedHostKeys", "/revoked" },
	{ "StrictHostKeyChecking", "accept-new" },
	{ "UpdateHostKeys", "ask" },
	{ "FingerprintHash", "md5" },
	{ "IdentityFile", "~/.ssh/other" },
	{ "CertificateFile", "~/.ssh/other-cert.pub" },
	{ "CertificateCommand", "/bin/cert %t %K" },
	{ "IdentityAgent", "none" },
#ifdef HAVE_PKCS11
	{ "PKCS11Provider", "/lib/token.so" },
#endif
	{ "AddKeysToAgent", "confirm 5m" },
	{ "SecurityKeyProvider", "/lib/sk.so" },
	{ "PreferredAuthentications", "password" },
	{ "KbdInteractiveDevices", "pam" },
	{ "RemoteCommand", "echo 'a  b' # c" },
	{ "RequestTTY", "force" },
	{ "SessionType", "subsystem" },
	{ "EscapeChar", "^]" },
	{ "SendEnv", "LANG LC_*" },
	{ "SetEnv", "B=two" },
	{ "PubkeyAuthentication", "host-bound" },
	{ "ForwardAgent", "$OTHER_AGENT" },
	{ "LocalForward", "8080 localhost:80" },
	{ "RemoteForward", "/a/r.sock localhost:80" },
	{ "PermitRemoteOpen", "h:80 [::1]:*" },
	{ "StreamLocalBindMask", "022" },
	{ "XAuthLocation", "/x/xauth" },
	{ "Tunnel", "ethernet" },
	{ "TunnelDevice", "any:3" },
	{ "ObscureKeystrokeTiming", "interval:80" },
	{ "ChannelTimeout", "session:*=5m global=90" },
	{ "ControlMaster", "autoask" },
	{ "ControlPath", "/tmp/c" },
	{ "ControlPersist", "10m" },
	{ "DynamicForward", "[::1]:1080" },
	{ "LocalCommand", "true %h" },
	{ "LogLevel", "DEBUG2" },
	{ "LogVerbose", "kex.c:* *:main():*,!x" },
	{ "SyslogFacility", "LOCAL3" },
	{ "IgnoreUnknown", "Use*,Foo" },
};

static const char *
sample(const struct conf_row *row)
{
	return conf_sample(row, samples, ARRAY_LEN(samples));
}

static void
set_line(struct client_conf *c, const char *line)
{
	messages_forget();
	if (client_conf_set_option(c, line) != 0)
		fail_msg("%s: %s", line, messages);
}

static void
set_lines(struct client_conf *c, const char *text)
{
	char *copy = xstrdup(text), *pos = copy, *line;

	while ((line = strsep(&pos, "\n")) != NULL)
		if (*line != '\0')
			set_line(c, line);
	free(copy);
}

/* Sets a row, dumps it, reads the dump, and takes it to "another process". */
static void
check_row(const struct conf_table *t, const struct conf_row *row)
{
	struct client_conf a, b, c;
	char *text, *again, *line;
	struct buf out;
	struct rd in;

	client_conf_init(&a);
	client_conf_init(&b);
	client_conf_init(&c);
	xasprintf(&line, "%s %s", row->name, sample(row));
	set_line(&a, line);
	free(line);
	assert_int_equal(conf_set_defaults(t, &a), 0);
	text = dump(&a);
	set_lines(&b, text);
	again = dump(&b);
	assert_string_equal(again, text);
	free(again);

	buf_init(&out);
	assert_int_equal(conf_export(t, &a, false, &out), 0);
	in = rd_from_buf(&out);
	assert_int_equal(conf_import(t, &c, &in), 0);
	assert_int_equal(rd_end(&in), 0);
	buf_clear(&out);
	again = dump(&c);
	assert_string_equal(again, text);
	assert_true(c.marks.set[conf_index(t, row)]);
	free(again);

	/* It is not the default that was dumped. */
	client_conf_clear(&b);
	assert_int_equal(conf_set_defaults(t, &b), 0);
	again = dump(&b);
	if (strcmp(again, text) == 0)
		fail_msg("%s: the sample is the default", row->name);
	free(again);
	free(text);
	client_conf_clear(&a);
	client_conf_clear(&b);
	client_conf_clear(&c);
}

static void
test_every_row(void **state)
{
	const struct conf_table *t = &client_conf_table;

	(void)state;
	for (size_t i = 0; i < t->count; i++)
		if (conf_row_has_field(&t->rows[i]))
			check_row(t, &t->rows[i]);
}

/* Names and aliases are all different; rows that refuse do so. */
static void
test_names(void **state)
{
	const struct conf_table *t = &client_conf_table;
	struct client_conf c;
	char *option;

	(void)state;
	client_conf_init(&c);
	for (size_t i = 0; i < t->count; i++) {
		assert_ptr_equal(conf_find(t, t->rows[i].name), &t->rows[i]);
		if (t->rows[i].type != &conf_refused)
			continue;
		xasprintf(&option, "%s=x", t->rows[i].name);
		messages_forget();
		assert_int_equal(client_conf_set_option(&c, option),
		    ERR_UNSUPPORTED);
		assert_non_null(strstr(messages, "command-line: line 0: Bad "
						 "configuration option: "));
		free(option);
	}
	client_conf_clear(&c);
}

static void
test_off_only(void **state)
{
	static const struct {
		const char *option;
		int r;
	} cases[] = {
		{ "ForwardAgent no", 0 },
		{ "ControlMaster no", 0 },
		{ "ControlPath none", 0 },
		{ "ClearAllForwardings=yes", 0 },
		{ "GSSAPIAuthentication no", 0 },
		{ "CertificateFile /x", 0 },
		{ "Protocol 2", 0 },
		{ "UseRoaming no", 0 },
	};
	struct client_conf c;

	(void)state;
	client_conf_init(&c);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(client_conf_set_option(&c, cases[i].option),
		    cases[i].r);
	client_conf_clear(&c);
}

/* ---- what a plain connection gets --------------------------------------- */

static void
test_defaults(void **state)
{
	struct client_conf c;
	char *text;

	(void)state;
	client_conf_init(&c);
	assert_int_equal(load(&c, "", "Host.Example", NULL), 0);
	assert_string_equal(c.host.hostname, "host.example");
	assert_string_equal(c.load.original_host, "Host.Example");
	assert_non_null(c.host.user);
	assert_int_equal(c.host.port, HPN_DEFAULT_PORT);
	assert_int_equal(c.host.fallback, 1);
	assert_int_equal(c.host.fallback_port, HPN_FALLBACK_PORT);
	assert_false(c.load.port_given);
	assert_false(c.auth.identity_file_given);
	assert_false(c.log.log_level_given);
	assert_int_equal(c.auth.identity_file.n, 6);
	assert_int_equal(c.known.user_known_hosts_file.n, 2);
	assert_int_equal(c.known.strict_host_key_checking, CLIENT_ASK_ASK);
	assert_int_equal(c.session.escape_char, '~');
	assert_int_equal(c.known.fingerprint_hash, DIGEST_SHA256);
	assert_int_equal(c.tcp.ipqos.interactive, 46 << 2);
	assert_int_equal(c.tcp.ipqos.bulk, 0);
	assert_non_null(
	    strstr(c.algs.kex_algorithms, "mlkem768x25519-sha256,"));
	text = dump(&c);
	assert_true(str_has_prefix(text, "host Host.Example\nuser "));
	assert_non_null(strstr(text, "\nhostname host.example\n"));
	assert_non_null(strstr(text, "\nport 2222\n"));
	assert_non_null(strstr(text, "\nforwardagent no\n"));
	assert_null(strstr(text, "proxycommand"));
	assert_null(strstr(text, "proxyjump"));
	free(text);
	client_conf_clear(&c);
}

/* ---- blocks and order --------------------------------------------------- */

static void
test_first_wins(void **state)
{
	struct client_conf c;

	(void)state;
	client_conf_init(&c);
	assert_int_equal(client_conf_set(&c, "Port", "4"), 0);
	assert_int_equal(client_conf_set(&c, "IdentityFile", "/with blank"),
	    0);
	assert_int_equal(load(&c,
	    "Host other\n  User wrong\n"
	    "Host a* !ab\n\tUser=first\n Port 5\n IdentityFile /one\n"
	    "Host *\nUser second\nIdentityFile /two\nIdentityFile /one\n"
	    "Compression yes\n",
	    "abc", NULL), 0);
	assert_string_equal(c.host.user, "first");
	assert_int_equal(c.host.port, 4);
	assert_true(c.load.port_given);
	assert_int_equal(c.algs.compression, 1);
	assert_int_equal(c.auth.identity_file.n, 3);
	assert_string_equal(c.auth.identity_file.v[0], "/with blank");
	assert_string_equal(c.auth.identity_file.v[1], "/one");
	assert_string_equal(c.auth.identity_file.v[2], "/two");
	assert_true(c.auth.identity_file_given);
	client_conf_clear(&c);
}

static void
test_match(void **state)
{
	/* The command is "cmd", the host "alias", its name real.example. */
	static const struct {
		const char *line;
		bool hit;
	} cases[] = {
		{ "all", true },
		{ "host real.example", true },
		{ "host alias", false },
		{ "host REAL.*", true },
		{ "host *,!real.*", false },
		{ "!host real.example", false },
		{ "originalhost alias", true },
		{ "originalhost=alias user joe", true },
		{ "originalhost alias user jane", false },
		{ "originalhost alias !user jane", true },
		{ "command cmd", true },
		{ "command \"\"", false },
		{ "tagged tip*", true },
		{ "tagged \"\"", false },
		{ "sessiontype exec", true },
		{ "sessiontype shell", false },
		{ "version OpenSSH_10.*", true },
		{ "version PuTTY*", false },
		{ "exec true", true },
		{ "exec false", false },
		{ "exec \"test %h = real.example -a %n = alias\"", true },
		{ "!exec \"exit 3\"", true },
		{ "localuser \"*\"", true },
		{ "localnetwork 127.0.0.0/8", true },
		{ "localnetwork 203.0.113.0/24", false },
		{ "final", true },
		{ "final host alias", false },
		{ "final all", true },
	};
	struct client_conf c;
	char *text;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		client_conf_init(&c);
		xasprintf(&text, "Tag tiptop\nHost alias\nHostname "
		    "real.example\nUser joe\nMatch %s\nPort 77\n",
		    cases[i].line);
		if (load(&c, text, "alias", "cmd") != 0)
			fail_msg("%s: %s", cases[i].line, messages);
		if ((c.host.port == 77) != cases[i].hit)
			fail_msg("Match %s: port is %d", cases[i].line,
			    c.host.port);
		free(text);
		client_conf_clear(&c);
	}
}

/* In the second pass, Host means the name that the first one found. */
static void
test_final(void **state)
{
	struct client_conf c;

	(void)state;
	client_conf_init(&c);
	assert_int_equal(load(&c,
	    "Host real\nUser late\nSendEnv X\n"
	    "Host alias\nHostname real\nSendEnv X\n"
	    "Match final\nCompression yes\n",
	    "alias", NULL), 0);
	assert_true(c.load.want_final);
	assert_string_equal(c.host.user, "late");
	assert_int_equal(c.algs.compression, 1);
	assert_int_equal(c.session.send_env.n, 1);
	client_conf_clear(&c);
}

static void
test_include(void **state)
{
	char *a, *b, *text;
	struct client_conf c;

	(void)state;
	a = temp_file("inc-a", "Port 9\nHost no\nUser wrong\n"
	    "Host *\nCompression yes\n");
	b = temp_file("inc-b", "Host *\nUser wrong\nPort 8\n");
	client_conf_init(&c);
	/* What is included in a block that does not apply, does not. */
	xasprintf(&text, "Host no\nInclude %s\nHost yes\nInclude %s/inc-[a] "
	    "%s/none-*\nUser right\nInclude %s\n", b, temp_dir, temp_dir, b);
	assert_int_equal(load(&c, text, "yes", NULL), 0);
	assert_int_equal(c.host.port, 9);
	assert_int_equal(c.algs.compression, 1);
	assert_string_equal(c.host.user, "right");
	client_conf_clear(&c);
	free(text);
	free(a);
	free(b);

	/* A file that includes itself. */
	client_conf_init(&c);
	xasprintf(&text, "Include %s/config\n", temp_dir);
	assert_true(load(&c, text, "x", NULL) < 0);
	assert_non_null(strstr(messages, "nested too deeply"));
	client_conf_clear(&c);
	free(text);
}

/* ---- faults ------------------------------------------------------------- */

static void
test_faults(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "\nNonsense yes\n",
		    "config: line 2: Bad configuration option: nonsense\n" },
		{ "\nNonsense yes\nOther 1\n",
		    "config: terminating, 2 bad configuration options\n" },
		{ "Host other\nNonsense yes\n", "line 2: Bad configuration" },
		{ "CheckHostIP\n", "line 1: CheckHostIP: missing argument" },
		{ "Port\n", "line 1: Port: missing argument" },
		{ "Port 0\n", "line 1: Bad port '0'." },
		{ "Port 65536\n", "Bad port '65536'." },
		{ "Port no-such-service\n", "Bad port 'no-such-service'." },
		{ "Port 1 2\n", "takes one argument" },
		{ "Host other\nPort x\n", "line 2: Bad port 'x'." },
		{ "Compression maybe\n", "neither yes nor no" },
		{ "Ciphers rot13\n", "unknown algorithm \"rot13\"" },
		{ "Ciphers none\n", "unknown algorithm \"none\"" },
		{ "Ciphers -*\n", "no algorithm is left" },
		{ "User \"joe\n", "a quote is not closed" },
		{ "Match\n", "Match: missing argument" },
		{ "Match host\n", "Match host: missing argument" },
		{ "Match weather fine\n", "unknown criterion \"weather\"" },
		{ "Match all host x\n", "'all' cannot be combined" },
		{ "Match final host h all\n", "'all' cannot be combined" },
		{ "Match all all\n", "'all' cannot be combined" },
		{ "GlobalKnownHostsFile none /x\n", "must appear alone" },
		{ "UserKnownHostsFile /a none\n", "must appear alone" },
		{ "SendEnv A=b\n", "holds no \"=\"" },
		{ "IPQoS 0x100\n", "bad value \"0x100\"" },
		{ "IPQoS 256\n", "bad value \"256\"" },
		{ "IPQoS -1\n", "bad value \"-1\"" },
		{ "IPQoS 0x\n", "bad value \"0x\"" },
		{ "Match canonical x\n", "unknown criterion \"x\"" },
		{ "Match localnetwork 1.2.3.4/99\n", "no list of networks" },
		{ "Host\n", "Host: missing argument" },
		{ "SetEnv A\n", "is not NAME=value" },
		{ "RekeyLimit 1\n", "less than 16 bytes" },
		{ "ConnectTimeout 5x\n", "is no time" },
		{ "EscapeChar ab\n", "neither a character nor none" },
		{ "= x\n", "begins with a keyword" },
		{ "Hostname %q\n", "unknown token %q" },
		{ "User ${HPN_NOT_THERE}\n", "not in the environment" },
	};
	struct client_conf c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		client_conf_init(&c);
		assert_true(load(&c, cases[i].text, "host", NULL) < 0);
		if (strstr(messages, cases[i].message) == NULL)
			fail_msg("%s: %s", cases[i].text, messages);
		client_conf_clear(&c);
	}
}

/* Parameters of what is not built: taken, with a line or without. */
static void
test_unbuilt(void **state)
{
	static const struct {
		const char *option, *message; /* NULL: quiet */
	} cases[] = {
#ifndef HAVE_GSSAPI
		{ "GSSAPIAuthentication yes", "Unsupported option" },
		{ "GSSAPIKeyExchange yes", "Unsupported option" },
		{ "GSSAPIKexAlgorithms gss-x", "Unsupported option" },
#endif
#ifndef HAVE_PKCS11
		{ "PKCS11Provider /x.so", "option \"pkcs11provider\"" },
		{ "SmartcardDevice /x.so", "Unsupported option" },
#endif
		{ "PKCS11Provider none", NULL },
		{ "GSSAPIAuthentication no", NULL },
		{ "CompressionLevel 6", "line 0: Unsupported option \"comp" },
		{ "SecurityKeyProvider internal", NULL },
		{ "SecurityKeyProvider /x.so", NULL },
		{ "CASignatureAlgorithms ssh-ed25519,rsa-*", NULL },
		{ "KnownHostsCommand none", NULL },
		{ "CertificateFile none", NULL },
		{ "ForwardX11Timeout 20m", NULL },
		{ "GatewayPorts yes", NULL },
		{ "PermitRemoteOpen any", NULL },
		{ "StreamLocalBindMask 0177", NULL },
		{ "StreamLocalBindUnlink yes", NULL },
		{ "TunnelDevice any:any", NULL },
		{ "TunnelDevice 0", NULL },
		{ "XAuthLocation /usr/bin/xauth", NULL },
		{ "UseRoaming no", NULL },
		{ "Ciphers aes128-cbc,aes256-ctr", NULL },
	};
	struct client_conf c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		client_conf_init(&c);
		set_line(&c, cases[i].option);
		if (cases[i].message == NULL)
			assert_string_equal(messages, "");
		else if (strstr(messages, cases[i].message) == NULL)
			fail_msg("%s: %s", cases[i].option, messages);
		/* Once is enough. */
		set_line(&c, cases[i].option);
		assert_string_equal(messages, "");
		client_conf_clear(&c);
	}
}

/* They are checked, though nothing comes of them. */
static void
test_unbuilt_faults(void **state)
{
	static const char *const bad[] = { "CASignatureAlgorithms rot13",
		"ForwardX11Timeout x",
		"HostbasedAcceptedAlgorithms rot13", "StreamLocalBindMask 8",
		"StreamLocalBindMask 1777", "StreamLocalBindUnlink x",
		"TunnelDevice x", "TunnelDevice 1:x", "TunnelDevice :",
		"ObscureKeystrokeTiming x", "ForwardAgent \"\"",
		"GatewayPorts", "EnableSSHKeysign yes no" };
	struct client_conf c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		client_conf_init(&c);
		if (client_conf_set_option(&c, bad[i]) >= 0)
			fail_msg("%s was taken", bad[i]);
		client_conf_clear(&c);
	}
}

static void
test_match_all(void **state)
{
	static const struct {
		const char *line;
		int port;
	} cases[] = {
		{ "Match all", 5 },
		{ "Match !all", 2222 },
		{ "Match host h all", 5 },
		{ "Match host x all", 2222 },
		{ "Match final all", 5 },
		{ "Match originalhost h host h", 5 },
	};
	struct client_conf c;
	char *text;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		xasprintf(&text, "%s\nPort 5\n", cases[i].line);
		client_conf_init(&c);
		if (load(&c, text, "h", NULL) != 0)
			fail_msg("%s: %s", text, messages);
		assert_int_equal(c.host.port, cases[i].port);
		client_conf_clear(&c);
		free(text);
	}
}

/* Tokens of User stand in -o as in a file, but -l is a name. */
static void
test_user_tokens(void **state)
{
	struct client_conf c;
	char *me;

	(void)state;
	client_conf_init(&c);
	assert_int_equal(load(&c, "", "h", NULL), 0);
	me = xstrdup(c.host.user);
	client_conf_clear(&c);

	set_line(&c, "User=x%u");
	assert_int_equal(client_conf_set(&c, "User", "later"), 0);
	assert_int_equal(load(&c, "", "h", NULL), 0);
	assert_string_equal(c.host.user + 1, me);
	client_conf_clear(&c);

	assert_int_equal(client_conf_set(&c, "User", "x%u"), 0);
	set_line(&c, "User=later");
	assert_int_equal(load(&c, "", "h", NULL), 0);
	assert_string_equal(c.host.user, "x%u");
	client_conf_clear(&c);

	set_line(&c, "User=%q");
	assert_true(load(&c, "", "h", NULL) < 0);
	assert_non_null(strstr(messages, "unknown token %q"));
	client_conf_clear(&c);
	set_line(&c, "User=a;b");
	assert_int_equal(load(&c, "", "h", NULL), ERR_ARGUMENT);
	client_conf_clear(&c);
	free(me);
}

static void
test_taken_values(void **state)
{
	struct client_conf c;

	(void)state;
	client_conf_init(&c);
	set_lines(&c, "Port ssh\nNumberOfPasswordPrompts 0\n"
	    "RequiredRSASize 0\nPubkeyAuthentication unbound\n"
	    "IPQoS lowdelay 0x10\nUserKnownHostsFile none\n");
	assert_int_equal(c.host.port, 22);
	assert_int_equal(c.auth.number_of_password_prompts, 0);
	assert_int_equal(c.algs.required_rsa_size, 0);
	assert_int_equal(c.auth.pubkey_authentication, CLIENT_PUBKEY_UNBOUND);
	assert_int_equal(c.tcp.ipqos.interactive, -1);
	assert_int_equal(c.tcp.ipqos.bulk, 16);
	assert_int_equal(c.known.user_known_hosts_file.n, 0);
	client_conf_clear(&c);
}

/* Blocks for other hosts may use what is not supported here. */
static void
test_unsupported_elsewhere(void **state)
{
	struct client_conf c;

	(void)state;
	client_conf_init(&c);
	assert_int_equal(load(&c,
	    "IgnoreUnknown GSSAPI*,Weird\nGSSAPIAuthentication yes\n"
	    "Weird thing\nHost other\n"
	    "GSSAPIAuthentication yes\nCiphers none\n",
	    "host", NULL), 0);
	assert_string_equal(messages, "");
	client_conf_clear(&c);
}

/* What people bring along from a Mac. */
static void
test_of_apple(void **state)
{
	struct client_conf c;

	(void)state;
	client_conf_init(&c);
	assert_int_equal(load(&c, "UseKeychain yes\nkeychainintegration no\n"
		"Host other\nUseKeychain yes\n", "host", NULL), 0);
	assert_int_equal(client_conf_set_option(&c, "UseKeychain=yes"), 0);
	assert_string_equal(messages, "");
	assert_int_not_equal(load(&c, "UseKeychains yes\n", "host", NULL), 0);
	client_conf_clear(&c);
}

static void
test_names_of_hosts(void **state)
{
	static const char *const bad[] = { "-oProxyCommand=x", "a;b", "$(x)",
		"a\nb", "" };
	struct client_conf c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		client_conf_init(&c);
		assert_int_equal(load(&c, "", bad[i], NULL), ERR_ARGUMENT);
		client_conf_clear(&c);
		client_conf_init(&c);
		if (*bad[i] != '\0') {
			assert_int_equal(client_conf_set(&c, "User", bad[i]),
			    0);
			assert_int_equal(load(&c, "", "host", NULL),
			    ERR_ARGUMENT);
		}
		client_conf_clear(&c);
	}
}

/* A file that somebody else could have written is not used. */
static void
test_permissions(void **state)
{
	struct client_conf c;
	char *path = temp_file("open", "Port 5\n");

	(void)state;
	client_conf_init(&c);
	assert_int_equal(chmod(path, 0666), 0);
	messages_forget();
	assert_int_equal(client_conf_read_file(&c, path, CLIENT_CONF_USER),
	    ERR_PERMISSION);
	assert_non_null(strstr(messages, "Bad owner or permissions on "));
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(client_conf_read_file(&c, path, CLIENT_CONF_USER),
	    0);
	assert_int_equal(c.host.port, 5);
	assert_int_equal(client_conf_read_file(&c, "/nonexistent", 0),
	    ERR_NOT_FOUND);
	client_conf_clear(&c);
	free(path);
}

/* ---- values of special shape -------------------------------------------- */

static void
test_send_env(void **state)
{
	struct client_conf c;

	(void)state;
	client_conf_init(&c);
	assert_int_equal(load(&c, "SendEnv A LC_ALL LC_TIME\nSendEnv -LC_*\n"
	    "SendEnv LC_ALL B\nHost other\nSetEnv Z=0\nHost *\n"
	    "SetEnv X=1 Y=2 X=3\nSetEnv X=4 Z=5\n", "h", NULL), 0);
	/* The first line that applies, and the first value in it. */
	assert_int_equal(c.session.set_env.n, 2);
	assert_string_equal(c.session.set_env.v[0], "X=1");
	assert_string_equal(c.session.set_env.v[1], "Y=2");
	assert_int_equal(c.session.send_env.n, 2);
	assert_string_equal(c.session.send_env.v[0], "A");
	assert_string_equal(c.session.send_env.v[1], "B");
	client_conf_clear(&c);
}

static void
test_rest_of_line(void **state)
{
	struct client_conf c;

	(void)state;
	client_conf_init(&c);
	set_line(&c, "ProxyCommand=sh -c 'nc %h %p # not a comment'  ");
	set_line(&c, "  hostname = \"quoted\" # a comment");
	set_line(&c, "User a\\ b");
	assert_string_equal(c.tcp.proxy_command,
	    "sh -c 'nc %h %p # not a comment'");
	assert_string_equal(c.host.hostname, "quoted");
	assert_string_equal(c.host.user, "a b");
	client_conf_clear(&c);
}

/* The first of ProxyCommand and ProxyJump; a port that one attempt finds. */
static void
test_proxies(void **state)
{
	static const struct {
		const char *text, *command, *jump;
		int port;
	} cases[] = {
		{ "ProxyJump me@a:3,[::1]\n", NULL, "me@a:3,[::1]", 22 },
		{ "ProxyJump a\nProxyCommand x\nProxyJump b\n", NULL, "a", 22 },
		{ "ProxyCommand x\nProxyJump a\n", "x", NULL, 22 },
		{ "ProxyCommand none\nProxyJump a\n", NULL, NULL, 2222 },
		{ "ProxyJump none\nProxyJump a\n", NULL, NULL, 2222 },
		{ "ProxyJump none\nProxyCommand x\n", "x", NULL, 22 },
		{ "ProxyJump a\nPort 2222\n", NULL, "a", 2222 },
		{ "ProxyJump a\nFallback no\n", NULL, "a", 2222 },
		{ "ProxyJump a\nFallbackPort 24\n", NULL, "a", 24 },
	};
	struct client_conf c;
	char *text;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		client_conf_init(&c);
		assert_int_equal(load(&c, cases[i].text, "h", NULL), 0);
		assert_text(c.tcp.proxy_command, cases[i].command);
		assert_text(c.tcp.proxy_jump, cases[i].jump);
		assert_int_equal(c.host.port, cases[i].port);
		client_conf_clear(&c);
	}
	client_conf_init(&c);
	assert_int_equal(client_conf_set_option(&c, "ProxyJump=a;b"),
	    ERR_SYNTAX);
	assert_int_equal(client_conf_set_option(&c, "ProxyJump a,,b"),
	    ERR_SYNTAX);
	assert_int_equal(load(&c, "ProxyJump u@j\n", "h", NULL), 0);
	assert_int_equal(client_conf_expand(&c, CLIENT_TOKENS_COMMAND, "x",
	    "<%j>%p", &text), 0);
	assert_string_equal(text, "<u@j>22");
	free(text);
	text = dump(&c);
	assert_non_null(strstr(text, "\nproxyjump u@j\n"));
	free(text);
	client_conf_clear(&c);
}

static void
test_expand(void **state)
{
	struct client_conf c;
	struct strlist out = { 0 };
	char *text, *want;

	(void)state;
	setenv("HPN_TEST_DIR", "/some%h", 1);
	client_conf_init(&c);
	assert_int_equal(load(&c,
	    "Hostname %h.example\nUser u%i\nPort 23\nHostKeyAlias k\n"
	    "UserKnownHostsFile ~/x ${HPN_TEST_DIR}/%n\n",
	    "h", NULL), 0);
	assert_string_equal(c.host.hostname, "h.example");
	xasprintf(&want, "u%u", (unsigned)getuid());
	assert_string_equal(c.host.user, want);
	free(want);
	assert_int_equal(client_conf_expand(&c, CLIENT_TOKENS_PROXY, "x",
	    "a %% %h %n %p ${HOME}", &text), 0);
	assert_string_equal(text, "a % h.example h 23 ${HOME}");
	free(text);
	assert_int_equal(client_conf_expand(&c, CLIENT_TOKENS_COMMAND, "x",
	    "%C", &text), 0);
	assert_int_equal(strlen(text), 40);
	free(text);
	assert_int_equal(client_conf_expand(&c, CLIENT_TOKENS_PROXY, "x",
	    "%C", &text), ERR_SYNTAX);
	assert_null(text);
	assert_int_equal(client_conf_expand(&c, CLIENT_TOKENS_PATH, "x",
	    "100%", &text), ERR_SYNTAX);
	assert_int_equal(client_conf_expand_list(&c, "x",
	    &c.known.user_known_hosts_file, &out), 0);
	xasprintf(&want, "%s/x", client_conf_home());
	assert_string_equal(out.v[0], want);
	assert_string_equal(out.v[1], "/some%h/h");
	free(want);
	strlist_clear(&out);
	client_conf_clear(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_row),
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_off_only),
	    cmocka_unit_test(test_defaults),
	    cmocka_unit_test(test_first_wins),
	    cmocka_unit_test(test_match),
	    cmocka_unit_test(test_final),
	    cmocka_unit_test(test_include),
	    cmocka_unit_test(test_faults),
	    cmocka_unit_test(test_unbuilt),
	    cmocka_unit_test(test_unbuilt_faults),
	    cmocka_unit_test(test_match_all),
	    cmocka_unit_test(test_user_tokens),
	    cmocka_unit_test(test_taken_values),
	    cmocka_unit_test(test_unsupported_elsewhere),
	    cmocka_unit_test(test_of_apple),
	    cmocka_unit_test(test_names_of_hosts),
	    cmocka_unit_test(test_permissions),
	    cmocka_unit_test(test_send_env),
	    cmocka_unit_test(test_rest_of_line),
	    cmocka_unit_test(test_proxies),
	    cmocka_unit_test(test_expand),
	};
	know_names_of_ports();
	return cmocka_run_group_tests(tests, set_up, temp_remove);
}
