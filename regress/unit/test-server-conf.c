/* SPDX-License-Identifier: ISC */
#include "config.h"

#include "regress/unit/conf-sample.h"
#include "regress/unit/help.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "conf/defaults.h"
#include "conf/server-conf.h"

static int
set_up(void **state)
{
	messages_keep();
	return temp_make(state);
}

static int
read_text(struct server_conf *c, const char *content)
{
	char *path = temp_file("config", content);
	int r;

	messages_forget();
	r = server_conf_read_file(c, path);
	if (r == 0)
		r = server_conf_finish(c);
	free(path);
	return r;
}

static void
must_read(struct server_conf *c, const char *content)
{
	server_conf_init(c);
	if (read_text(c, content) != 0)
		fail_msg("%s: %s", content, messages);
}

static char *
dump(const struct server_conf *c)
{
	struct buf out;
	char *text;

	buf_init(&out);
	assert_int_equal(server_conf_dump(c, &out), 0);
	text = buf_dup_string(&out);
	buf_clear(&out);
	return text;
}

static void
move(const struct server_conf *from, struct server_conf *to)
{
	struct buf out;
	struct rd in;

	buf_init(&out);
	assert_int_equal(server_conf_export(from, &out), 0);
	in = rd_from_buf(&out);
	server_conf_init(to);
	assert_int_equal(server_conf_import(to, &in), 0);
	assert_int_equal(rd_end(&in), 0);
	buf_clear(&out);
}

/* ---- the rows ----------------------------------------------------------- */

static const struct conf_sample samples[] = {
	{ "Port", "17" },
	{ "ListenAddress", "[::1]:99 rdomain vrf-1" },
	{ "AddressFamily", "inet" },
	{ "MaxStartups", "3:50:9" },
	{ "PerSourceNetBlockSize", "24:64" },
	{ "PerSourcePenalties", "crash:0.25 max-sources6:9 overflow:deny-all" },
	{ "PerSourcePenaltyExemptList", "10.0.0.0/8,192.0.2.*" },
	{ "PidFile", "none" },
	{ "VersionAddendum", "two words" },
	{ "ModuliFile", "/moduli" },
	{ "SshdSessionPath", "/session" },
	{ "SshdAuthPath", "/auth" },
	{ "SyslogFacility", "LOCAL7" },
	{ "LogName", "hpnsshd" },
	{ "HostKey", "/key" },
	{ "HostCertificate", "/key-cert.pub" },
	{ "HostKeyAgent", "/agent" },
	{ "SecurityKeyProvider", "/lib/sk.so" },
	{ "HostKeyAlgorithms", "ssh-ed25519" },
	{ "KexAlgorithms", "curve25519-sha256" },
	{ "GSSAPIKexAlgorithms", "gss-nistp256-sha256-" },
	{ "Ciphers", "aes256-ctr" },
	{ "MACs", "hmac-sha2-512" },
	{ "Compression", "no" },
	{ "FingerprintHash", "md5" },
	{ "PermitUserEnvironment", "LANG,LC_*" },
	{ "LogLevel", "VERBOSE" },
	{ "LogVerbose", "kex.c:* *:main():*,!x" },
	{ "EventLog", "file:/var/log/events" },
	{ "MetricsTextfile", "/var/lib/hpnsshd.prom" },
	{ "MaxSessionsPerUser", "7" },
	{ "MaxConnectionsPerUser", "8" },
	{ "TransferCapacity", "10Gbit" },
	{ "UserRateMax", "60MB" },
	{ "GroupRateMax", "students=2Gbit staff=5Gbit" },
	{ "EventDetail", "files" },
	{ "EventPaths", "hash" },
	{ "PAMServiceName", "other" },
	{ "LoginTickets", "yes lifetime:9 max:3 address:any" },
	{ "TransferGrants", "put" },
	{ "Survive", "yes time:9 memory:2097152 max:3 address:same" },
	{ "PermitRootLogin", "forced-commands-only" },
	{ "AllowUsers", "a b@192.0.2.0/24" },
	{ "DenyUsers", "c*" },
	{ "AllowGroups", "d !e" },
	{ "DenyGroups", "f" },
	{ "Banner", "/etc/issue.net" },
	{ "ForceCommand", "echo 'a  b' # c" },
	{ "ChrootDirectory", "/srv/%u" },
	{ "AcceptEnv", "LANG LC_*" },
	{ "SetEnv", "A=b" },
	{ "Subsystem", "sftp internal-sftp -f AUTH" },
	{ "AuthenticationMethods", "publickey,password "
				   "publickey,keyboard-interactive" },
	{ "AuthorizedKeysFile", "none" },
	{ "RevokedKeys", "/a /b" },
	{ "PubkeyAuthOptions", "touch-required verify-required" },
	{ "TrustedUserCAKeys", "/etc/ssh/cas" },
	{ "CASignatureAlgorithms", "ssh-ed25519" },
	{ "AuthorizedPrincipalsFile", "/etc/ssh/principals/%u" },
	/* It is nothing without somebody who runs it. */
	{ "AuthorizedKeysCommand", "/usr/bin/keys 'a b' %u # c\n"
				   "AuthorizedKeysCommandUser nobody" },
	{ "AuthorizedKeysCommandUser", "nobody" },
	{ "AuthorizedPrincipalsCommand", "/usr/bin/names %u %i\n"
					 "AuthorizedPrincipalsCommandUser %u" },
	{ "AuthorizedPrincipalsCommandUser", "nobody" },
	{ "PubkeyAcceptedAlgorithms", "ssh-ed25519" },
	{ "HostbasedAcceptedAlgorithms", "ssh-ed25519" },
	{ "IgnoreRhosts", "shosts-only" },
	{ "RekeyLimit", "1M 1h" },
	{ "RequiredRSASize", "3072" },
	{ "IPQoS", "none" },
	{ "CongestionControl", "bbr" },
	{ "CipherForm", "keystream" },
	{ "AllowTcpForwarding", "local" },
	{ "AllowStreamLocalForwarding", "remote" },
	{ "GatewayPorts", "clientspecified" },
	{ "PermitOpen", "h:80 [::1]:*" },
	{ "PermitListen", "8080 h*:1" },
	{ "PermitTunnel", "ethernet" },
	{ "StreamLocalBindMask", "022" },
	{ "XAuthLocation", "/x/xauth" },
	{ "ChannelTimeout", "x11=5m *=90" },
};

static const char *
sample(const struct conf_row *row)
{
	return conf_sample(row, samples, ARRAY_LEN(samples));
}

/* Globally or in a block, dumped and read again, and moved. */
static void
check_row(const struct conf_row *row, const char *plain)
{
	bool global = (row->flags & CONF_GLOBAL) != 0;
	static const struct server_conf_spec nobody;
	struct server_conf a, b, c;
	char *text, *again, *line;

	xasprintf(&line, "%s %s", row->name, sample(row));
	must_read(&a, line);
	text = dump(&a);
	assert_true(strcmp(text, plain) != 0);
	must_read(&b, text);
	again = dump(&b);
	assert_string_equal(again, text);
	free(again);
	server_conf_clear(&b);
	move(&a, &b);
	again = dump(&b);
	assert_string_equal(again, text);
	assert_true(b.marks.set[conf_index(&server_conf_table, row)]);
	free(again);
	server_conf_clear(&a);
	server_conf_clear(&b);
	free(line);

	/* Under "Match all" it is the same, also without a connection. */
	xasprintf(&line, "Match all\n%s %s", row->name, sample(row));
	must_read(&a, line);
	again = dump(&a);
	assert_string_equal(again, text);
	free(again);
	move(&a, &b);
	assert_int_equal(server_conf_for(&b, &nobody, &c), 0);
	again = dump(&c);
	assert_string_equal(again, text);
	free(again);
	server_conf_clear(&a);
	server_conf_clear(&b);
	server_conf_clear(&c);
	free(line);

	/* In another block, global ones are a fault. */
	xasprintf(&line, "Match user x\n%s %s", row->name, sample(row));
	server_conf_init(&a);
	assert_int_equal(read_text(&a, line), global ? ERR_SYNTAX : 0);
	if (global)
		assert_non_null(strstr(messages,
		    "is not allowed within a Match block"));
	server_conf_clear(&a);
	free(line);
	free(text);
}

static void
test_every_row(void **state)
{
	const struct conf_table *t = &server_conf_table;
	struct server_conf c;
	char *plain;

	(void)state;
	must_read(&c, "");
	plain = dump(&c);
	server_conf_clear(&c);
	for (size_t i = 0; i < t->count; i++) {
		assert_ptr_equal(conf_find(t, t->rows[i].name), &t->rows[i]);
		if (conf_row_has_field(&t->rows[i]))
			check_row(&t->rows[i], plain);
	}
	free(plain);
}

static void
test_defaults(void **state)
{
	struct server_listen listen;
	struct server_conf c;

	(void)state;
	must_read(&c, "");
	assert_int_equal(c.listen.port.n, 1);
	assert_string_equal(c.listen.port.v[0], "2222");
	assert_true(server_conf_listen(&c, 0, &listen));
	assert_string_equal(listen.host, "");
	assert_string_equal(listen.port, "2222");
	assert_false(server_conf_listen(&c, 1, &listen));
	assert_int_equal(
	    c.login.permit_root_login, SERVER_ROOT_PROHIBIT_PASSWORD);
	assert_int_equal(c.listen.max_startups.begin, 10);
	assert_int_equal(c.listen.max_startups.rate, 30);
	assert_int_equal(c.listen.max_startups.full, 100);
	assert_int_equal(c.listen.per_source_max_startups, INT_MAX);
	assert_int_equal(c.listen.login_grace_time, 120);
	assert_int_equal(c.algs.host_key.n, 4);
	assert_false(c.algs.host_key_given);
	assert_int_equal(c.login.authorized_keys_file.n, 2);
	assert_string_equal(c.login.pam_service_name, "hpnsshd");
	assert_null(c.session.permit_user_environment);
	assert_null(strstr(c.algs.kex_algorithms, "diffie-hellman"));
	assert_null(server_conf_subsystem(&c, "sftp"));
	server_conf_clear(&c);
}

/* ---- listening ---------------------------------------------------------- */

static void
test_listen(void **state)
{
	static const char *const want[] = { "192.0.2.1 10", "192.0.2.1 11",
		"::1 12", "fe80::1 10", "fe80::1 11", " 13", "name 14" };
	static const char *const bad[] = { ":22", "[]:22", "[]", ":", "[::1",
		"[::1]22", "192.0.2.1:", "192.0.2.1:0", "192.0.2.1:65536" };
	struct server_listen listen;
	struct server_conf c;
	char text[300];

	(void)state;
	must_read(&c, "Port 10\nPort 11\nListenAddress 192.0.2.1\n"
	    "ListenAddress [::1]:12\nListenAddress fe80::1\n"
	    "ListenAddress *:13\nListenAddress name:14\n");
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		assert_true(server_conf_listen(&c, i, &listen));
		snprintf(text, sizeof text, "%s %s", listen.host,
		    listen.port);
		assert_string_equal(text, want[i]);
	}
	assert_false(server_conf_listen(&c, ARRAY_LEN(want), &listen));
	server_conf_clear(&c);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		server_conf_init(&c);
		snprintf(text, sizeof text, "ListenAddress %s\n", bad[i]);
		assert_true(read_text(&c, text) < 0);
		server_conf_clear(&c);
	}

	/* -p goes before Port lines. */
	server_conf_init(&c);
	assert_int_equal(server_conf_set(&c, "Port", "7"), 0);
	assert_int_equal(read_text(&c, "Port 8\n"), 0);
	assert_int_equal(c.listen.port.n, 1);
	assert_string_equal(c.listen.port.v[0], "7");
	server_conf_clear(&c);
}

/* ---- Match -------------------------------------------------------------- */

static int
port_tries(const struct server_conf *c, const char *spec_text)
{
	struct server_conf_spec spec = { 0 };
	struct server_conf out;
	int tries;

	assert_int_equal(server_conf_spec_parse(&spec, spec_text), 0);
	assert_int_equal(server_conf_for(c, &spec, &out), 0);
	tries = out.login.max_auth_tries;
	server_conf_clear(&out);
	server_conf_spec_clear(&spec);
	return tries;
}

static void
test_match(void **state)
{
	static const struct {
		const char *line, *spec;
		bool hit;
	} cases[] = {
		{ "all", "", true },
		{ "user joe", "user=joe", true },
		{ "user joe", "user=jane", false },
		{ "user joe", "", false },
		{ "rdomain vrf*,!vrf-x", "rdomain=vrf-1", true },
		{ "rdomain vrf*,!vrf-x", "rdomain=vrf-x", false },
		{ "rdomain vrf*", "user=joe", false },
		{ "user j*,!jane", "user=jane", false },
		{ "user=joe", "user=joe", true },
		{ "user root group root", "user=root", true },
		{ "group \"*,!root\"", "user=root", false },
		{ "group root", "user=root,invalid-user", false },
		{ "group root", "user=no-such-user", false },
		{ "host *.example", "host=A.EXAMPLE", true },
		{ "host *.example", "addr=192.0.2.1", false },
		{ "address 192.0.2.0/24", "addr=192.0.2.7", true },
		{ "address 192.0.2.0/24", "addr=192.0.3.7", false },
		{ "address 192.0.2.*,10.0.0.0/8", "addr=10.9.8.7", true },
		{ "address 2001:db8::/32", "addr=2001:db8:1::1", true },
		{ "address 2001:db8::/32", "addr=192.0.2.7", false },
		{ "address *,!192.0.2.0/24", "addr=192.0.2.7", false },
		/* the server sees such a client as 192.0.2.7 */
		{ "address 192.0.2.7", "addr=::ffff:192.0.2.7", true },
		{ "address 192.0.2.7/32", "addr=::ffff:192.0.2.7", true },
		{ "localaddress 127.0.0.1", "laddr=127.0.0.1", true },
		{ "localport 22", "lport=22", true },
		{ "localport 22", "lport=23", false },
		{ "localport 22", "", false },
		{ "invalid-user", "user=x,invalid-user", true },
		{ "invalid-user", "user=x", false },
		{ "version OpenSSH_*", "", true },
		{ "user joe address 10.0.0.0/8", "user=joe,addr=11.0.0.1",
		    false },
	};
	struct server_conf c;
	char *text;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		xasprintf(&text, "MaxAuthTries 2\nMatch %s\nMaxAuthTries 3\n",
		    cases[i].line);
		must_read(&c, text);
		assert_true(server_conf_has_match(&c));
		if (port_tries(&c, cases[i].spec) !=
		    (cases[i].hit ? 3 : 2))
			fail_msg("Match %s with %s", cases[i].line,
			    cases[i].spec);
		server_conf_clear(&c);
		free(text);
	}
}

/* Blocks go before the global part; among blocks the first wins. */
static void
test_match_order(void **state)
{
	const struct server_conf_spec spec = { .user = "joe" };
	struct server_conf c, moved, out;

	(void)state;
	must_read(&c,
	    "AcceptEnv A\nSubsystem sftp global-sftp\nSubsystem x global-x\n"
	    "ForceCommand global\nBanner /b\n"
	    "Match user joe\nForceCommand none\nAcceptEnv B\n"
	    "Subsystem sftp own-sftp -l\n"
	    "Match user jane\nBanner /jane\n"
	    "Match all\nForceCommand late\nAcceptEnv C\nBanner none\n");
	move(&c, &moved);
	server_conf_clear(&c);
	assert_int_equal(server_conf_for(&moved, &spec, &out), 0);
	assert_null(out.session.force_command);
	assert_null(out.login.banner);
	assert_int_equal(out.session.accept_env.n, 2);
	assert_string_equal(out.session.accept_env.v[0], "B");
	assert_string_equal(out.session.accept_env.v[1], "C");
	assert_string_equal(server_conf_subsystem(&out, "sftp"),
	    "own-sftp -l");
	assert_string_equal(server_conf_subsystem(&out, "x"), "global-x");
	assert_false(server_conf_has_match(&out));
	server_conf_clear(&out);
	server_conf_clear(&moved);
}

static void
test_include(void **state)
{
	struct server_conf c;
	char *a, *text;

	(void)state;
	a = temp_file("inc", "MaxAuthTries 5\nMatch user joe\nMaxSessions 5\n"
	    "MaxAuthTries 6\n");
	xasprintf(&text, "Include %s\nMaxAuthTries 7\n", a);
	must_read(&c, text);
	/* The Match of the file ended with it. */
	assert_int_equal(c.login.max_auth_tries, 5);
	assert_int_equal(port_tries(&c, "user=joe"), 6);
	server_conf_clear(&c);
	free(text);

	/* In a block, both must match; what follows belongs to the block. */
	xasprintf(&text, "Match address 10.0.0.0/8\nInclude %s\n"
	    "MaxAuthTries 8\nLogLevel ERROR\n", a);
	must_read(&c, text);
	assert_int_equal(port_tries(&c, "user=joe"), 6);
	assert_int_equal(port_tries(&c, "user=joe,addr=10.1.1.1"), 5);
	assert_int_equal(port_tries(&c, "user=jane,addr=11.1.1.1"), 6);
	server_conf_clear(&c);
	free(text);
	free(a);
}

/* ---- faults ------------------------------------------------------------- */

static void
test_faults(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "\n\nNonsense 1\n",
		    "config: line 3: Bad configuration option: Nonsense\n" },
		{ "Nonsense 1\nUsePAM x\n",
		    "config: terminating, 2 bad configuration options\n" },
		{ "RDomain x\n", "line 1: setting RDomain "
				 "not supported on this platform." },
		{ "AuthorizedKeysCommand x\n", "must be an absolute path" },
		{ "AuthorizedKeysCommand /x 'y\n", "is no command line" },
		{ "AuthorizedKeysCommand /x\n", "AuthorizedKeysCommand set "
		  "without AuthorizedKeysCommandUser" },
		{ "AuthorizedPrincipalsCommand /x\n",
		    "set without AuthorizedPrincipalsCommandUser" },
		{ "AuthorizedPrincipalsCommandUser x\n"
		  "AuthorizedPrincipalsCommandUser none\n"
		  "AuthorizedPrincipalsCommand /x %u\n"
		  "AuthorizedKeysCommand none\n", NULL },
		{ "KerberosOrLocalPasswd maybe\n", "neither yes nor no" },
		{ "AuthenticationMethods none password:x\n", NULL },
		{ "X11Forwarding maybe\n", "neither yes nor no" },
		{ "X11DisplayOffset -1\n", "X11DisplayOffset" },
		{ "StreamLocalBindMask 0999\n", "is no octal mode" },
		{ "PermitOpen h\n", "bad port number in permitopen: \"h\"" },
		{ "PermitOpen h:abc\n", "bad port number in permitopen" },
		{ "PermitOpen any h:80\n", "must appear alone" },
		{ "PermitListen h:abc\n", "bad port number in permitlisten" },
		{ "CASignatureAlgorithms rot13\n", "unknown algorithm" },
		{ "IPQoS 0x1g\n", "bad value" },
		{ "Port 70000\n", "is no port" },
		{ "Port 1 2\n", "takes one argument" },
		{ "ListenAddress a:b:c]\n", NULL },
		{ "ListenAddress [::1\n", "is no address" },
		{ "ListenAddress a b\n", "takes an address" },
		{ "ListenAddress a vrf b\n", "takes an address" },
		{ "ListenAddress a rdomain\n", "takes an address" },
		{ "ListenAddress a rdomain 0123456789abcdef\n",
		    "is no address" },
		{ "ListenAddress a RDomain \"0123456789abcde\" # c\n", NULL },
		{ "ListenAddress a:70000\n", "is no address" },
		{ "MaxStartups 10:200:5\n", "is not begin:rate:full" },
		{ "MaxStartups x\n", "is not begin:rate:full" },
		{ "MaxStartups 10:20\n", "is not begin:rate:full" },
		{ "PerSourceNetBlockSize 33\n", "is not bits" },
		{ "PerSourcePenalties crash:30s,max:1\n", "bad value" },
		{ "PerSourcePenalties yes max:1\n", "nothing goes with" },
		{ "PerSourcePenaltyExemptList 10.0.0.1/8\n",
		    "is no list of addresses" },
		{ "PermitRootLogin maybe\n", "bad value \"maybe\"" },
		{ "AllowUsers a@10.0.0.1/8\n", "is no host or network" },
		{ "AllowUsers a@\n", "nothing behind the @" },
		{ "DenyUsers a@!\n", "nothing behind the @" },
		{ "AuthenticationMethods a\n", "is no list of known" },
		{ "AuthenticationMethods publickey,\n", "is no list of" },
		{ "AuthenticationMethods any password\n", "is no list of" },
		{ "AuthenticationMethods password\nPasswordAuthentication no\n",
		    "cannot be satisfied" },
		{ "AuthenticationMethods password publickey\n"
		  "PasswordAuthentication no\n", NULL },
		{ "Subsystem sftp\n", "takes a name and a command" },
		{ "AcceptEnv A=b\n", "a name holds no" },
		{ "Match weather fine\n", "unknown criterion" },
		{ "Match all user x\n", "no other criterion goes with" },
		{ "Match user\n", "missing argument of" },
		{ "Match address 10.0.0.1/8\n", "bad argument" },
		{ "Match localport x\n", "bad argument" },
		{ "Match\n", "missing criterion" },
		{ "Match user x\nPort 1\n",
		    "Directive 'Port' is not allowed within a Match block" },
		{ "Match user x\nMaxSessions x\n", "line 2: MaxSessions" },
		{ "UsePAM \"yes\n", "a quote is not closed" },
		{ "LoginGraceTime 1y\n", "is no time" },
	};
	struct server_conf c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		server_conf_init(&c);
		if (cases[i].message == NULL) {
			assert_int_equal(read_text(&c, cases[i].text), 0);
		} else {
			assert_true(read_text(&c, cases[i].text) < 0);
			if (strstr(messages, cases[i].message) == NULL)
				fail_msg("%s: %s", cases[i].text, messages);
		}
		server_conf_clear(&c);
	}
	server_conf_init(&c);
	messages_forget();
	assert_int_equal(server_conf_read_file(&c, "/nonexistent"),
	    ERR_NOT_FOUND);
	assert_string_equal(
	    messages, "/nonexistent: No such file or directory\n");
}

static void
test_deprecated(void **state)
{
	struct server_conf c;

	(void)state;
	must_read(&c, "Protocol 2\n");
	assert_string_equal(messages, "");
	server_conf_clear(&c);
	must_read(&c, "UsePrivilegeSeparation sandbox\n");
	assert_non_null(strstr(messages,
	    "config line 1: Deprecated option UsePrivilegeSeparation\n"));
	server_conf_clear(&c);
}

/* What is not built and cannot be granted, and parameters of what is off. */
static void
test_unbuilt(void **state)
{
	static const struct {
		const char *text, *message; /* NULL: quiet */
	} cases[] = {
		{ "KerberosAuthentication yes\n",
		    "Unsupported option KerberosAuthentication\n" },
		{ "KerberosAuthentication no\n", NULL },
#ifndef HAVE_GSSAPI
		{ "GSSAPIKeyExchange yes\n",
		    "config line 1: Unsupported option "
		    "GSSAPIKeyExchange\n" },
		{ "GSSAPIEnablek5users yes\n", "Unsupported option" },
		{ "GSSAPIAuthentication yes\n", "Unsupported option" },
		{ "GSSAPICleanupCredentials yes\n", "Unsupported option" },
		{ "GSSAPIStrictAcceptorCheck no\n", "Unsupported option" },
#endif
#ifndef HAVE_PAM
		{ "UsePAM yes\n", "line 1: Unsupported option UsePAM\n" },
#endif
		{ "UsePAM no\n", NULL },
		{ "KerberosOrLocalPasswd yes\n", NULL },
		{ "KerberosTicketCleanup no\n", "Unsupported option" },
		{ "KerberosTicketCleanup yes\n", NULL },
		{ "SecurityKeyProvider internal\nHostCertificate none\n"
		  "CASignatureAlgorithms ssh-ed25519,sk-*\n"
		  "ChannelTimeout none\n", NULL },
	};
	struct server_conf c;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		must_read(&c, cases[i].text);
		if (cases[i].message == NULL)
			assert_string_equal(messages, "");
		else if (strstr(messages, cases[i].message) == NULL)
			fail_msg("%s: %s", cases[i].text, messages);
		server_conf_clear(&c);
	}
	must_read(&c, "Match all\nKerberosAuthentication yes\n");
	assert_null(strstr(strstr(messages, "Unsupported") + 1, "Unsupp"));
	server_conf_clear(&c);
}

/* Host-based logins: the three words of IgnoreRhosts, and what stands behind
 * Match. */
static void
test_hostbased(void **state)
{
	const struct server_conf_spec joe = { .user = "joe" };
	struct server_conf c, out;
	char *text;

	(void)state;
	must_read(&c, "Match user joe\nHostbasedAuthentication yes\n"
	    "IgnoreRhosts shosts-only\nHostbasedUsesNameFromPacketOnly yes\n"
	    "HostbasedAcceptedAlgorithms ssh-ed25519\n");
	assert_int_equal(c.login.hostbased_authentication, 0);
	assert_int_equal(c.login.ignore_rhosts, SERVER_RHOSTS_NONE);
	assert_int_equal(server_conf_for(&c, &joe, &out), 0);
	assert_int_equal(out.login.hostbased_authentication, 1);
	assert_int_equal(out.login.hostbased_packet_name, 1);
	assert_int_equal(out.login.ignore_rhosts, SERVER_RHOSTS_SHOSTS);
	assert_string_equal(out.algs.hostbased_accepted_algorithms,
	    "ssh-ed25519");
	text = dump(&out);
	assert_non_null(strstr(text, "\nignorerhosts shosts-only\n"));
	free(text);
	server_conf_clear(&out);
	server_conf_clear(&c);
	must_read(&c, "IgnoreRhosts no\nIgnoreUserKnownHosts yes\n");
	assert_int_equal(c.login.ignore_rhosts, SERVER_RHOSTS_ALL);
	assert_int_equal(c.login.ignore_user_known_hosts, 1);
	server_conf_clear(&c);
}

/* "Match all" ends a block. */
static void
test_match_all(void **state)
{
	const struct server_conf_spec joe = { .user = "joe" };
	struct server_conf c, out;
	char *inner, *text;

	(void)state;
	must_read(&c, "MaxSessions 3\nMatch user joe\nMaxAuthTries 9\n"
	    "Match all\nPort 17\nUsePAM yes\nMaxAuthTries 5\n"
	    "MaxSessions 4\n");
	assert_int_equal(c.listen.port.n, 1);
	assert_string_equal(c.listen.port.v[0], "17");
	assert_int_equal(c.login.use_pam, 1);
	assert_int_equal(c.login.max_auth_tries, 5);
	assert_int_equal(c.session.max_sessions, 3); /* the first one counts */
	assert_int_equal(server_conf_for(&c, &joe, &out), 0);
	assert_int_equal(out.login.max_auth_tries, 9);
	assert_int_equal(
	    out.session.max_sessions, 4); /* but blocks come first */
	server_conf_clear(&out);
	server_conf_clear(&c);

	/* In a file that another block includes it is no end of that. */
	inner = temp_file("inner", "Match all\nUsePAM yes\n");
	xasprintf(&text, "Match user x\nInclude %s\n", inner);
	server_conf_init(&c);
	assert_int_equal(read_text(&c, text), ERR_SYNTAX);
	assert_non_null(strstr(messages, "'UsePAM' is not allowed within"));
	server_conf_clear(&c);
	free(text);
	free(inner);

	inner = temp_file("inner", "Match all\nMaxSessions 1\n");
	xasprintf(&text, "Match user x\nInclude %s\n", inner);
	must_read(&c, text);
	assert_int_equal(c.session.max_sessions, 10);
	server_conf_clear(&c);
	free(text);
	free(inner);
}

/* A block for this version is global: it asks nothing of a connection. */
static void
test_match_version(void **state)
{
	static const char *const refused[] = {
		"Match version nosuch*\nPort 17\n",
		"Match version OpenSSH_10* user joe\nPort 17\n",
		"Match version OpenSSH_10* user *\nPort 17\n",
		"Match version !OpenSSH_10*,*\nPort 17\n",
		"Match user x\nPort 17\nMatch version OpenSSH_10*\n",
	};
	struct server_conf c;

	(void)state;
	must_read(&c, "Match version OpenSSH_10*\nPort 17\nMaxSessions 3\n"
	    "Match version=nosuch\nMaxSessions 4\nMatch all\nUsePAM yes\n");
	assert_string_equal(c.listen.port.v[0], "17");
	assert_int_equal(c.session.max_sessions, 3);
	assert_int_equal(c.login.use_pam, 1);
	server_conf_clear(&c);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		server_conf_init(&c);
		assert_int_equal(read_text(&c, refused[i]), ERR_SYNTAX);
		assert_non_null(strstr(messages, "'Port' is not allowed"));
		server_conf_clear(&c);
	}
}

/* The first SetEnv that applies wins as a whole. */
static void
test_set_env(void **state)
{
	const struct server_conf_spec joe = { .user = "joe" };
	struct server_conf c, moved, out;
	char *text;

	(void)state;
	must_read(&c, "SetEnv A=1 B=2 A=3\nSetEnv C=4\n"
	    "Match user joe\nSetEnv D=5\nSetEnv E=6\n"
	    "Match user j*\nSetEnv F=7\n");
	text = dump(&c);
	assert_non_null(strstr(text, "\nsetenv A=1\nsetenv B=2\n"));
	free(text);
	move(&c, &moved);
	server_conf_clear(&c);
	assert_int_equal(moved.session.set_env.n, 2);
	assert_string_equal(moved.session.set_env.v[0], "A=1");
	assert_string_equal(moved.session.set_env.v[1], "B=2");
	assert_int_equal(server_conf_for(&moved, &joe, &out), 0);
	assert_int_equal(out.session.set_env.n, 1);
	assert_string_equal(out.session.set_env.v[0], "D=5");
	server_conf_clear(&out);
	server_conf_clear(&moved);
}

/* Services are numbers for who gets the configuration. */
static void
test_services(void **state)
{
	struct server_listen listen;
	struct server_conf c;

	(void)state;
	must_read(&c, "Port ssh\nListenAddress 127.0.0.1:ssh\n"
	    "ListenAddress [::1]:ssh\nListenAddress *:ssh\n"
	    "RequiredRSASize 0\n");
	assert_string_equal(c.listen.port.v[0], "22");
	assert_string_equal(c.listen.listen_address.v[0], "127.0.0.1:22");
	assert_string_equal(c.listen.listen_address.v[1], "[::1]:22");
	assert_string_equal(c.listen.listen_address.v[2], "*:22");
	assert_true(server_conf_listen(&c, 0, &listen));
	assert_string_equal(listen.port, "22");
	assert_int_equal(c.algs.required_rsa_size, 0);
	server_conf_clear(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_row),
	    cmocka_unit_test(test_defaults),
	    cmocka_unit_test(test_listen),
	    cmocka_unit_test(test_match),
	    cmocka_unit_test(test_match_order),
	    cmocka_unit_test(test_include),
	    cmocka_unit_test(test_faults),
	    cmocka_unit_test(test_deprecated),
	    cmocka_unit_test(test_unbuilt),
	    cmocka_unit_test(test_hostbased),
	    cmocka_unit_test(test_match_all),
	    cmocka_unit_test(test_match_version),
	    cmocka_unit_test(test_set_env),
	    cmocka_unit_test(test_services),
	};

	know_names_of_ports();
	return cmocka_run_group_tests_name("server-conf", tests, set_up,
	    temp_remove);
}
