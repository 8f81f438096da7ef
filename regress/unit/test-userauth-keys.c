/* SPDX-License-Identifier: ISC */
/* The client's authentication with certificates. */
#include "regress/unit/userauth-host.h"

#include <unistd.h>

#include "base/mem.h"
#include "keys/cert.h"
#include "keys/keyfile.h"
#include "regress/unit/make-cert.h"

#define ED_CERT "ssh-ed25519-cert-v01@openssh.com"

static struct key *ca;
static char *written[8];
static size_t written_count;

static int
set_up_all(void **state)
{
	assert_int_equal(key_generate("ed25519", 0, &ca), 0);
	return login_set_up_all(state);
}

static int
tear_down_all(void **state)
{
	key_free(ca);
	return login_tear_down_all(state);
}

static int
tear_down(void **state)
{
	for (size_t i = 0; i < written_count; i++) {
		unlink(written[i]);
		free(written[i]);
	}
	written_count = 0;
	return login_tear_down(state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, login_set_up, tear_down)

static const char *
path_of(size_t i)
{
	return auth_host.conf.auth.identity_file.v[i];
}

static struct key *
certificate(int i, enum cert_kind kind, uint64_t serial)
{
	const struct cert_request request = { .kind = kind, .id = "id",
		.serial = serial, .valid_before = CERT_FOREVER };

	return make_cert_by(user_keys[i], &request, ca, "ssh-ed25519");
}

/* In the file path and end; returns its name. */
static const char *
write_certificate(struct key *cert, const char *path, const char *end)
{
	char *name = NULL;

	assert_int_not_equal(asprintf(&name, "%s%s", path, end), -1);
	assert_int_equal(keyfile_save_public(name, cert, "x"), 0);
	assert_true(written_count < ARRAY_LEN(written));
	written[written_count++] = name;
	return name;
}

/* The next request is about k, by that algorithm. */
static void
expect_key(const struct key *k, const char *alg, bool has_signature)
{
	struct rd r = sent_request("publickey");
	struct buf blob = { 0 };
	struct span got;

	assert_int_equal(rd_bool(&r), has_signature);
	assert_true(span_equals(rd_string(&r), alg));
	got = rd_string(&r);
	assert_int_equal(key_to_blob(k, &blob), 0);
	assert_int_equal(got.len, buf_len(&blob));
	assert_memory_equal(got.p, buf_data(&blob), got.len);
	buf_clear(&blob);
}

/* The only key will sign anyway, so it signs at once, first with the
 * certificate beside it; and if that was of no use, without. */
static void
beside_the_only_key(void **state)
{
	struct key *cert = certificate(0, CERT_USER, 1);

	(void)state;
	add_key(0);
	write_certificate(cert, path_of(0), "-cert.pub");
	start();
	expect_key(cert, ED_CERT, true);
	assert_true(userauth_expects_success(auth_host.ua));
	accept_service();
	refused("publickey");
	expect_key(user_keys[0], "ssh-ed25519", true);
	denied("publickey");
	key_free(cert);
}

/* The certificate of an explicit key comes behind it. */
static void
explicit_keys_keep_their_places(void **state)
{
	struct key *cert = certificate(0, CERT_USER, 1);

	(void)state;
	add_key(0);
	add_key(2);
	auth_host.conf.auth.identity_file_given = true;
	write_certificate(cert, path_of(0), "-cert");
	start();
	expect_offer(0);
	accept_service();
	refused("publickey");
	expect_key(cert, ED_CERT, false);
	refused("publickey");
	expect_offer(2);
	denied("publickey");
	key_free(cert);
}

/* What worked is hinted at by the authority, so that a renewed certificate is
 * what worked. */
static void
a_hint_outlives_a_certificate(void **state)
{
	struct key *cert = certificate(2, CERT_USER, 1);
	struct key *renewed = certificate(2, CERT_USER, 2);
	char *hint, *want, *fp, *ca_fp;

	(void)state;
	add_key(2);
	write_certificate(cert, path_of(0), "-cert.pub");
	start();
	expect_key(cert, ED_CERT, true);
	accept_service();
	succeed("publickey");
	hint = userauth_key_hint(auth_host.ua);
	fp = key_fingerprint(user_keys[2], DIGEST_SHA256);
	ca_fp = key_fingerprint(ca, DIGEST_SHA256);
	assert_int_not_equal(asprintf(&want, "%s@%s", fp, ca_fp), -1);
	assert_string_equal(hint, want);

	strlist_clear(&auth_host.conf.auth.identity_file);
	add_key(0);
	add_key(2);
	write_certificate(renewed, path_of(1), "-cert.pub");
	login_anew((struct userauth_params){ .key_hint = hint });
	start();
	expect_key(renewed, ED_CERT, true);
	/* The key alone is another hint. */
	login_anew((struct userauth_params){ .key_hint = fp });
	start();
	expect_key(user_keys[2], "ssh-ed25519", true);
	free(want);
	free(hint);
	free(fp);
	free(ca_fp);
	key_free(renewed);
	key_free(cert);
}

/* With CertificateFile, only those; the private key is that of a file. */
static void
named_certificates(void **state)
{
	struct key *named = certificate(2, CERT_USER, 1);
	struct key *beside = certificate(0, CERT_USER, 2);
	struct key *keyless = certificate(4, CERT_USER, 3);

	(void)state;
	add_key(0);
	add_key(2);
	write_certificate(beside, path_of(0), "-cert.pub");
	assert_int_equal(strlist_add(
	    &auth_host.conf.auth.certificate_file,
	    write_certificate(keyless, path_of(0), "-4.pub")), 0);
	assert_int_equal(strlist_add(
	    &auth_host.conf.auth.certificate_file,
	    write_certificate(named, path_of(0), "-other.pub")), 0);
	start();
	expect_key(named, ED_CERT, false);
	accept_service();
	refused("publickey");
	expect_offer(0);
	refused("publickey");
	expect_offer(2);
	denied("publickey");
	key_free(keyless);
	key_free(beside);
	key_free(named);
}

/* The name of the file tells the private key's, if nothing else does. */
static void
a_key_beside_its_certificate(void **state)
{
	struct key *cert = certificate(3, CERT_USER, 1);

	(void)state;
	add_key(3);
	assert_int_equal(strlist_add(&auth_host.conf.auth.certificate_file,
			     write_certificate(cert, path_of(0),
				 "-cert.pub")), 0);
	strlist_clear(&auth_host.conf.auth.identity_file);
	start();
	expect_key(cert, ED_CERT, true);
	accept_service();
	denied("publickey");
	key_free(cert);
}

static void
a_host_does_not_log_in(void **state)
{
	struct key *cert = certificate(0, CERT_HOST, 1);

	(void)state;
	add_key(0);
	write_certificate(cert, path_of(0), "-cert.pub");
	start();
	expect_signature(0);
	accept_service();
	denied("publickey");
	key_free(cert);
}

/* Servers tell plain names of algorithms; and a passphrase is asked for once,
 * for key and certificate. */
static void
an_rsa_certificate(void **state)
{
	struct key *cert = certificate(1, CERT_USER, 1);
	struct buf b = { 0 }, blob = { 0 };
	static const char alg[] = "rsa-sha2-256-cert-v01@openssh.com";

	(void)state;
	add_key(1);
	write_certificate(cert, path_of(0), "-cert.pub");
	userauth_set_extensions(auth_host.ua, "rsa-sha2-256", false);
	answer_with("secret\n");
	start();
	expect_key(cert, alg, false);
	accept_service();
	assert_int_equal(key_to_blob(cert, &blob), 0);
	buf_put_cstring(&b, alg);
	buf_put_string_buf(&b, &blob);
	assert_int_equal(give(SSH_MSG_USERAUTH_PK_OK, &b), 0);
	expect_key(cert, alg, true);
	refused("publickey");
	expect_signed("publickey", 1, "rsa-sha2-256", false);
	denied("publickey");
	buf_clear(&blob);
	key_free(cert);
}

static void
the_list(void **state)
{
	struct key *cert = certificate(0, CERT_USER, 1);
	struct buf out = { 0 };
	char *fp = key_fingerprint(user_keys[0], DIGEST_SHA256), *want, *got;

	(void)state;
	add_key(0);
	write_certificate(cert, path_of(0), "-cert.pub");
	assert_int_equal(strlist_add(&auth_host.conf.auth.identity_file,
			     "/nonexistent/key"), 0);
	assert_int_equal(userauth_list_keys(&auth_host.conf, &out), 0);
	got = buf_dup_string(&out);
	assert_int_not_equal(asprintf(&want, "%s ED25519-CERT %s\n"
	    "%s ED25519 %s\n/nonexistent/key \n", path_of(0), fp, path_of(0),
	    fp), -1);
	assert_string_equal(got, want);
	free(got);
	free(want);
	buf_reset(&out);
	/* What the configuration leaves out is not tried. */
	free(auth_host.conf.algs.pubkey_accepted_algorithms);
	auth_host.conf.algs.pubkey_accepted_algorithms = strdup("rsa-sha2-512");
	assert_int_equal(userauth_list_keys(&auth_host.conf, &out), 0);
	assert_int_equal(buf_len(&out), strlen("/nonexistent/key \n"));
	buf_clear(&out);
	free(fp);
	key_free(cert);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(beside_the_only_key),
		TEST(explicit_keys_keep_their_places),
		TEST(a_hint_outlives_a_certificate),
		TEST(named_certificates),
		TEST(a_key_beside_its_certificate),
		TEST(a_host_does_not_log_in),
		TEST(an_rsa_certificate),
		TEST(the_list),
	};

	return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
