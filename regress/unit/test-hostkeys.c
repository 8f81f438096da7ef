/* SPDX-License-Identifier: ISC */
/*
 * The host's keys: those of files, with certificates, and those of an agent,
 * whether it answers or not; those of a token; and their way to another
 * process. Runs in the folder of a build.
 */
#include "regress/unit/help.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "compat/bsd.h"
#include "conf/server-conf.h"
#include "keys/keyfile.h"
#include "keys/sk-client.h"
#include "regress/unit/make-cert.h"
#include "server/hostkeys.h"

#define ED_CERT "ssh-ed25519-cert-v01@openssh.com"
#define RSA_CERT "rsa-sha2-256-cert-v01@openssh.com"
#define ALL ED_CERT "," RSA_CERT ",ssh-ed25519,rsa-sha2-512"

static char dir[] = "/tmp/hpn-hostkeys-XXXXXX";
static struct key *ed, *rsa, *ca;
static struct server_conf conf;

/* Where something answers: no machine is too slow for it. */
enum { LONG_MS = 60 * 1000 };

static char *
in_dir(const char *name)
{
	char *path;

	xasprintf(&path, "%s/%s", dir, name);
	return path;
}

static struct key *
certificate(const struct key *k, enum cert_kind kind)
{
	struct cert_request request = { .kind = kind, .id = "host",
		.valid_before = CERT_FOREVER };
	struct key *cert;

	assert_int_equal(strlist_add(&request.principals, "h"), 0);
	cert = make_cert_by(k, &request, ca, "ssh-ed25519");
	strlist_clear(&request.principals);
	return cert;
}

static void
use_private(const char *name, const struct key *k)
{
	char *path = in_dir(name);

	assert_int_equal(keyfile_save_private(path, k, KEYFILE_OPENSSH, "",
			     "", NULL, 0), 0);
	assert_int_equal(strlist_add(&conf.algs.host_key, path), 0);
	free(path);
}

static void
use_cert(const char *name, const struct key *k, enum cert_kind kind)
{
	struct key *cert = certificate(k, kind);
	char *path = in_dir(name);

	assert_int_equal(keyfile_save_public(path, cert, ""), 0);
	assert_int_equal(strlist_add(&conf.algs.host_certificate, path), 0);
	key_free(cert);
	free(path);
}

static void
load(struct hostkeys *h, size_t want)
{
	memset(h, 0, sizeof *h);
	assert_int_equal(hostkeys_load(h, &conf), want);
}

static struct span
text(const char *s)
{
	return (struct span){ (const uint8_t *)s, strlen(s) };
}

static int
begin(void **state)
{
	(void)state;
	server_conf_init(&conf);
	conf.algs.required_rsa_size = 1024;
	conf.algs.host_key_given = true;
	messages_forget();
	return 0;
}

static int
end(void **state)
{
	(void)state;
	strlist_clear(&conf.algs.host_key);
	strlist_clear(&conf.algs.host_certificate);
	free(conf.algs.host_key_agent);
	conf.algs.host_key_agent = NULL;
	free(conf.algs.security_key_provider);
	conf.algs.security_key_provider = NULL;
	return 0;
}

/* ---- files -------------------------------------------------------------- */

static void
check_algs(const struct hostkeys *h, const char *want)
{
	char *algs = hostkeys_algs(h, ALL);

	assert_string_equal(algs, want);
	free(algs);
}

/* h signs with alg what the plain key k verifies with plain. */
static void
check_signs(struct hostkeys *h, const char *alg, const struct key *k,
    const char *plain)
{
	struct buf sig = { 0 };

	assert_int_equal(hostkeys_sign(h, alg, text("hash"), LONG_MS, &sig), 0);
	assert_int_equal(key_verify(k, plain, text("hash"),
			     buf_span(&sig)),
	    0);
	buf_clear(&sig);
}

static void
test_certificates(void **state)
{
	struct key *read = NULL;
	struct hostkeys h;
	struct span blob;

	(void)state;
	use_private("ed", ed);
	use_private("rsa", rsa);
	load(&h, 2);
	check_algs(&h, "ssh-ed25519,rsa-sha2-512");
	assert_int_equal(hostkeys_blob(&h, ED_CERT, &blob), ERR_NOT_FOUND);
	hostkeys_clear(&h);

	use_cert("ed-cert.pub", ed, CERT_HOST);
	use_cert("rsa-cert.pub", rsa, CERT_HOST);
	load(&h, 2);
	check_algs(&h, ALL);
	check_signs(&h, ED_CERT, ed, "ssh-ed25519");
	check_signs(&h, RSA_CERT, rsa, "rsa-sha2-256");
	check_signs(&h, "rsa-sha2-512", rsa, "rsa-sha2-512");
	assert_int_equal(hostkeys_blob(&h, RSA_CERT, &blob), 0);
	assert_true(hostkeys_own(&h, blob));
	assert_int_equal(key_from_blob(blob, &read), 0);
	assert_true(key_is_cert(read) && key_same_identity(read, rsa));
	assert_int_equal(hostkeys_blob(&h, "rsa-sha2-512", &blob), 0);
	assert_true(hostkeys_own(&h, blob));
	assert_ptr_equal(hostkeys_find_blob(&h, blob), &h.v[1]);
	blob.len--;
	assert_false(hostkeys_own(&h, blob));
	assert_false(hostkeys_own(&h, (struct span){ 0 }));
	key_free(read);
	hostkeys_clear(&h);
}

static void
test_refused_certificates(void **state)
{
	struct hostkeys h;

	(void)state;
	use_private("ed", ed);
	use_cert("foreign-cert.pub", rsa, CERT_HOST);
	load(&h, 1);
	assert_non_null(strstr(last_message, "No matching private key for"));
	hostkeys_clear(&h);
	use_cert("user-cert.pub", ed, CERT_USER);
	load(&h, 1);
	assert_non_null(strstr(last_message, "not a certificate of a host"));
	check_algs(&h, "ssh-ed25519");
	hostkeys_clear(&h);
}

/* The file of a private key may hold a certificate as well, and a key may be
 * named twice: clients hear of the plain key, and once. */
static void
test_odd_files(void **state)
{
	struct key *both = NULL, *cert, *read = NULL;
	struct buf wire = { 0 };
	struct hostkeys h;
	struct rd rd;

	(void)state;
	cert = certificate(ed, CERT_HOST);
	assert_true(key_is_private(cert));
	assert_int_equal(key_private_to_wire(cert, &wire), 0);
	rd = rd_from_buf(&wire);
	assert_int_equal(key_private_from_wire(&rd, &both), 0);
	use_private("both", both);
	use_private("again", ed);
	load(&h, 1);
	assert_int_equal(key_from_blob(buf_span(&h.v[0].public), &read), 0);
	assert_false(key_is_cert(read));
	check_algs(&h, ED_CERT ",ssh-ed25519");
	check_signs(&h, ED_CERT, ed, "ssh-ed25519");
	hostkeys_clear(&h);
	key_free(read);
	key_free(both);
	key_free(cert);
	buf_clear(&wire);
}

/* ---- to another process ------------------------------------------------- */

static void
test_hand_over(void **state)
{
	struct hostkeys h, copy;
	struct buf b;
	struct rd rd;

	(void)state;
	buf_init_secret(&b);
	use_private("ed", ed);
	use_private("rsa", rsa);
	use_cert("ed-cert.pub", ed, CERT_HOST);
	load(&h, 2);
	h.agent = xstrdup("/a");
	hostkeys_export(&h, &b);
	for (size_t len = 0; len < buf_len(&b); len++) {
		memset(&copy, 0, sizeof copy);
		rd = rd_from_span((struct span){ buf_data(&b), len });
		assert_int_not_equal(hostkeys_import(&copy, &rd), 0);
		hostkeys_clear(&copy);
	}
	rd = rd_from_buf(&b);
	assert_int_equal(hostkeys_import(&copy, &rd), 0);
	assert_int_equal(rd_end(&rd), 0);
	assert_string_equal(copy.agent, "/a");
	check_algs(&copy, ED_CERT ",ssh-ed25519,rsa-sha2-512");
	check_signs(&copy, ED_CERT, ed, "ssh-ed25519");
	hostkeys_clear(&copy);
	hostkeys_clear(&h);
	buf_clear(&b);
}

static void
test_no_private_half(void **state)
{
	struct buf sig = { 0 };
	struct hostkeys h;

	(void)state;
	use_private("ed", ed);
	load(&h, 1);
	hostkeys_forget_private(&h);
	check_algs(&h, "ssh-ed25519");
	assert_int_equal(hostkeys_sign(&h, "ssh-ed25519", text("x"), LONG_MS,
			     &sig), ERR_NOT_FOUND);
	hostkeys_clear(&h);
}

/* A proof is never made in the name of a certificate. */
static void
test_proofs(void **state)
{
	static const struct {
		const char *asked, *signed_by;
	} cases[] = {
		{ "rsa-sha2-256", "rsa-sha2-256" },
		{ "rsa-sha2-512", "rsa-sha2-512" },
	};
	struct span blob, id = text("session");
	struct buf sig = { 0 };
	struct hostkeys h;

	(void)state;
	use_private("rsa", rsa);
	use_cert("rsa-cert.pub", rsa, CERT_HOST);
	load(&h, 1);
	assert_int_equal(hostkeys_blob(&h, "rsa-sha2-512", &blob), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rd rd;

		buf_reset(&sig);
		assert_int_equal(hostkeys_prove(&h, blob, cases[i].asked, id,
				     LONG_MS, &sig), 0);
		rd = rd_from_buf(&sig);
		assert_true(span_equals(rd_string(&rd), cases[i].signed_by));
	}
	assert_int_equal(hostkeys_blob(&h, RSA_CERT, &blob), 0);
	assert_int_equal(hostkeys_prove(&h, blob, "rsa-sha2-512", id, LONG_MS,
			     &sig), ERR_NOT_FOUND);
	buf_clear(&sig);
	hostkeys_clear(&h);
}

/* ---- an agent ----------------------------------------------------------- */

enum behaviour { SIGNS, SAYS_NOTHING, DRIPS, LONG_ANSWER };

/* A key's signature for the request, which begins with its type. */
static void
answer(int fd, const struct buf *request)
{
	struct rd rd = rd_from_buf(request);
	struct buf out = { 0 };
	struct span data;
	size_t mark;

	(void)rd_u8(&rd);
	(void)rd_string(&rd);
	data = rd_string(&rd);
	buf_put_u8(&out, 14);
	mark = buf_open_string(&out);
	if (key_sign(ed, "ssh-ed25519", data, &out) == 0) {
		buf_close_string(&out, mark);
		(void)!fd_send_msg(fd, &out);
	}
	buf_clear(&out);
}

static void
drip(int fd)
{
	static const uint8_t head[] = { 0, 0, 1, 0, 14 };

	(void)!write(fd, head, sizeof head);
	for (;;) {
		usleep(20 * 1000);
		if (write(fd, "", 1) != 1)
			return;
	}
}

static void
serve(int fd, enum behaviour how)
{
	struct buf request = { 0 };
	char byte;

	if (fd_receive_msg(fd, &request, 1 << 16) != 0)
		return; /* it only looked whether there is an agent */
	if (how == SIGNS)
		answer(fd, &request);
	else if (how == DRIPS)
		drip(fd);
	else if (how == LONG_ANSWER)
		(void)!write(fd, "\xff\xff\xff\xff", 4);
	(void)!read(fd, &byte, 1);
	buf_clear(&request);
}

static pid_t
start_agent(enum behaviour how)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), peer;
	char *path = in_dir("agent");
	pid_t pid;

	unlink(path);
	strlcpy(sun.sun_path, path, sizeof sun.sun_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&sun, sizeof sun), 0);
	assert_int_equal(listen(fd, 4), 0);
	conf.algs.host_key_agent = path;
	pid = fork();
	assert_int_not_equal(pid, -1);
	while (pid == 0 && (peer = accept(fd, NULL, NULL)) != -1) {
		serve(peer, how);
		close(peer);
	}
	close(fd);
	return pid;
}

static void
end_agent(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void
use_public(const char *name)
{
	char *path = in_dir(name), *pub;

	xasprintf(&pub, "%s.pub", path);
	assert_int_equal(keyfile_save_public(pub, ed, ""), 0);
	assert_int_equal(strlist_add(&conf.algs.host_key, path), 0);
	free(pub);
	free(path);
}

static void
test_agent_signs(void **state)
{
	pid_t pid = start_agent(SIGNS);
	struct hostkeys h;

	(void)state;
	use_public("alone");
	use_cert("ed-cert.pub", ed, CERT_HOST);
	load(&h, 1);
	check_algs(&h, ED_CERT ",ssh-ed25519");
	check_signs(&h, "ssh-ed25519", ed, "ssh-ed25519");
	check_signs(&h, ED_CERT, ed, "ssh-ed25519");
	hostkeys_clear(&h);
	end_agent(pid);
}

/* However it fails to answer, that ends in time. */
static void
test_agent_fails(void **state)
{
	static const enum behaviour how[] = { SAYS_NOTHING, DRIPS,
		LONG_ANSWER };
	struct buf sig = { 0 };

	(void)state;
	use_public("alone");
	for (size_t i = 0; i < ARRAY_LEN(how); i++) {
		pid_t pid = start_agent(how[i]);
		struct hostkeys h;
		uint64_t began;

		load(&h, 1);
		began = clock_ms();
		assert_int_equal(hostkeys_sign(&h, "ssh-ed25519", text("x"),
				     200, &sig), ERR_AGENT);
		assert_true(clock_ms() - began < 60 * 1000);
		assert_non_null(strstr(last_message, how[i] == LONG_ANSWER ?
			"over the limit" : "timed out"));
		hostkeys_clear(&h);
		end_agent(pid);
		free(conf.algs.host_key_agent);
	}
	conf.algs.host_key_agent = NULL;
}

static void
test_no_agent(void **state)
{
	struct hostkeys h;

	(void)state;
	use_public("alone");
	load(&h, 0);
	assert_non_null(strstr(last_message, "Unable to load host key"));
	conf.algs.host_key_agent = in_dir("nobody");
	load(&h, 0);
	hostkeys_clear(&h);
	use_private("ed", ed);
	load(&h, 1);
	hostkeys_clear(&h);
}

/* ---- a token ------------------------------------------------------------ */

#define SK_ED "sk-ssh-ed25519@openssh.com"
#define SK_EC "sk-ecdsa-sha2-nistp256@openssh.com"
#define SK_ALL "webauthn-" SK_EC "," SK_EC "," SK_ED ",ssh-ed25519"

static struct key *
enroll(const char *type)
{
	const struct sk_params params = { .provider = "regress/sk-token.so" };
	const struct sk_enroll e = { .type = type, .application = "ssh:host",
		.challenge = text(type) };
	struct sk_enrolled made;
	struct key *k;

	setenv("SSH_SK_HELPER", "./hpnssh-sk-helper", 1);
	setenv("SK_TOKEN", "", 1);
	assert_int_equal(sk_client_enroll(&params, &e, &made), 0);
	k = made.key;
	made.key = NULL;
	sk_enrolled_clear(&made);
	return k;
}

static void
use_provider(const char *word)
{
	free(conf.algs.security_key_provider);
	conf.algs.security_key_provider = xstrdup(word);
}

static void
check_sk_algs(const struct hostkeys *h, const char *want)
{
	char *algs = hostkeys_algs(h, SK_ALL);

	assert_string_equal(algs, want);
	free(algs);
}

/* Also in another directory and another process, as connections are. */
static void
test_token_signs(void **state)
{
	struct key *ed_sk = enroll("ed25519-sk"), *ec = enroll("ecdsa-sk");
	struct hostkeys h, copy;
	struct buf b = { 0 }, sig = { 0 };
	struct rd rd;

	(void)state;
	use_private("ed", ed_sk);
	use_private("rsa", ec);
	use_cert("ed-cert.pub", ed_sk, CERT_HOST);
	use_provider("regress/sk-token.so");
	load(&h, 2);
	assert_int_equal(h.provider[0], '/');
	check_sk_algs(&h, SK_EC "," SK_ED);
	hostkeys_export(&h, &b);
	rd = rd_from_buf(&b);
	memset(&copy, 0, sizeof copy);
	assert_int_equal(hostkeys_import(&copy, &rd), 0);
	check_signs(&copy, SK_ED, ed_sk, SK_ED);
	check_signs(&copy, "sk-ssh-ed25519-cert-v01@openssh.com", ed_sk,
	    SK_ED);
	check_signs(&copy, SK_EC, ec, SK_EC);
	assert_int_equal(hostkeys_prove(&copy,
			     buf_span(&copy.v[1].public),
			     "rsa-sha2-512", text("session"), LONG_MS,
			     &sig), 0);
	hostkeys_clear(&copy);
	hostkeys_clear(&h);
	buf_clear(&sig);
	buf_clear(&b);
	key_free(ec);
	key_free(ed_sk);
}

/* What nothing can sign with is not offered. */
static void
test_unusable_token(void **state)
{
	static const struct {
		const char *provider, *helper;
	} cases[] = { { "$NOT_SET", "./hpnssh-sk-helper" },
		{ "regress/sk-token.so", "/nowhere" },
#ifndef HAVE_LIBFIDO2
		{ "internal", "./hpnssh-sk-helper" },
#endif
	};
	struct key *k = enroll("ed25519-sk");
	struct hostkeys h;
	pid_t pid;

	(void)state;
	use_private("ed", k);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		use_provider(cases[i].provider);
		setenv("SSH_SK_HELPER", cases[i].helper, 1);
		load(&h, 0);
		assert_non_null(strstr(last_message, "is no host key"));
		hostkeys_clear(&h);
	}
	/* An agent may have it, too. */
	pid = start_agent(SIGNS);
	use_provider("$NOT_SET");
	load(&h, 1);
	assert_int_equal(buf_len(&h.v[0].private), 0);
	hostkeys_clear(&h);
	end_agent(pid);
	key_free(k);
}

static void
test_token_fails(void **state)
{
	static const char *const how[] = { "hang", "crash", "liar",
		"nodevice", "pin" };
	struct key *k = enroll("ed25519-sk");
	struct buf sig = { 0 };
	struct hostkeys h;

	(void)state;
	use_private("ed", k);
	use_provider("regress/sk-token.so");
	load(&h, 1);
	for (size_t i = 0; i < ARRAY_LEN(how); i++) {
		uint64_t began = clock_ms();

		setenv("SK_TOKEN", how[i], 1);
		messages_forget();
		assert_int_equal(hostkeys_sign(&h, SK_ED, text("x"),
				     i == 0 ? 200 : LONG_MS, &sig),
		    ERR_AGENT);
		assert_true(clock_ms() - began < 50 * 1000);
		assert_non_null(strstr(last_message, "does not sign"));
	}
	hostkeys_clear(&h);
	key_free(k);
}

static int
make_keys(void **state)
{
	(void)state;
	messages_keep();
	signal(SIGPIPE, SIG_IGN);
	if (mkdtemp(dir) == NULL)
		return -1;
	return key_generate("ed25519", 0, &ed) != 0 ||
	    key_generate("ed25519", 0, &ca) != 0 ||
	    key_generate("rsa", 2048, &rsa) != 0;
}

static int
remove_all(void **state)
{
	static const char *const names[] = { "ed", "rsa", "both", "again",
		"ed-cert.pub", "rsa-cert.pub", "foreign-cert.pub",
		"user-cert.pub", "alone.pub", "agent" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char *path = in_dir(names[i]);

		unlink(path);
		free(path);
	}
	key_free(ed);
	key_free(rsa);
	key_free(ca);
	return rmdir(dir);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_certificates),
		TEST(test_refused_certificates),
		TEST(test_odd_files),
		TEST(test_hand_over),
		TEST(test_no_private_half),
		TEST(test_proofs),
		TEST(test_agent_signs),
		TEST(test_agent_fails),
		TEST(test_no_agent),
		TEST(test_token_signs),
		TEST(test_unusable_token),
		TEST(test_token_fails),
	};

	return cmocka_run_group_tests(tests, make_keys, remove_all);
}
