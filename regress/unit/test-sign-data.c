/* SPDX-License-Identifier: ISC */
/* Which bytes are a login with a key, which are a file, and which neither. */
#include "regress/unit/help.h"

#include <string.h>

#include "agent/sign-data.h"
#include "regress/unit/make-cert.h"

static struct key *key, *other;
static struct buf blob, other_blob;

static int
set_up(void **state)
{
	(void)state;
	assert_int_equal(key_generate("ed25519", 0, &key), 0);
	assert_int_equal(key_generate("ed25519", 0, &other), 0);
	assert_int_equal(key_to_blob(key, &blob), 0);
	assert_int_equal(key_to_blob(other, &other_blob), 0);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	key_free(key);
	key_free(other);
	buf_clear(&blob);
	buf_clear(&other_blob);
	return 0;
}

/* What a login is made of; a test changes one thing. */
struct login {
	const char *session, *service, *method, *alg;
	uint8_t type, signs;
	const struct buf *key;
	const char *host; /* NULL: is not there */
	const char *more; /* behind it all */
};

static const struct login usual = { "id", "ssh-connection", "publickey",
	"ssh-ed25519", 50, 1, &blob, NULL, "" };

static void
put_login(struct buf *b, const struct login *l)
{
	buf_put_cstring(b, l->session);
	buf_put_u8(b, l->type);
	buf_put_cstring(b, "me");
	buf_put_cstring(b, l->service);
	buf_put_cstring(b, l->method);
	buf_put_u8(b, l->signs);
	buf_put_cstring(b, l->alg);
	buf_put_string_buf(b, l->key);
	if (l->host != NULL)
		buf_put_cstring(b, l->host);
	buf_put(b, l->more, strlen(l->more));
}

static enum sign_data_kind
kind_of(struct buf *b)
{
	struct sign_data d;
	enum sign_data_kind kind;

	sign_data_read(buf_span(b), key, buf_span(&blob), &d);
	kind = d.kind;
	sign_data_clear(&d);
	buf_clear(b);
	return kind;
}

static enum sign_data_kind
login_kind(const struct login *l)
{
	struct buf b = { 0 };

	put_login(&b, l);
	return kind_of(&b);
}

static void
test_login(void **state)
{
	struct login l = usual;
	struct sign_data d;
	struct buf b = { 0 };

	(void)state;
	put_login(&b, &l);
	sign_data_read(buf_span(&b), key, buf_span(&blob), &d);
	assert_int_equal(d.kind, SIGN_DATA_LOGIN);
	assert_true(span_equals(d.session_id, "id"));
	assert_string_equal(d.user, "me");
	assert_null(d.host_key.p);
	sign_data_clear(&d);
	buf_clear(&b);

	l.method = "publickey-hostbound-v00@openssh.com";
	l.host = "its key";
	put_login(&b, &l);
	sign_data_read(buf_span(&b), key, buf_span(&blob), &d);
	assert_int_equal(d.kind, SIGN_DATA_LOGIN);
	assert_true(span_equals(d.host_key, "its key"));
	sign_data_clear(&d);
	buf_clear(&b);
}

static void
test_not_quite_a_login(void **state)
{
	struct login l;

	(void)state;
#define CHANGED(field, value) \
	(l = usual, l.field = (value), login_kind(&l))
	assert_int_equal(CHANGED(session, ""), SIGN_DATA_OTHER);
	assert_int_equal(CHANGED(type, 51), SIGN_DATA_OTHER);
	assert_int_equal(CHANGED(service, "ssh-userauth"), SIGN_DATA_OTHER);
	assert_int_equal(CHANGED(method, "hostbased"), SIGN_DATA_OTHER);
	assert_int_equal(CHANGED(alg, "ssh-rsa"), SIGN_DATA_OTHER);
	assert_int_equal(CHANGED(signs, 0), SIGN_DATA_OTHER);
	assert_int_equal(CHANGED(signs, 2), SIGN_DATA_OTHER);
	assert_int_equal(CHANGED(key, &other_blob), SIGN_DATA_OTHER);
	assert_int_equal(CHANGED(host, "surplus"), SIGN_DATA_OTHER);
	assert_int_equal(CHANGED(more, "x"), SIGN_DATA_OTHER);
	assert_int_equal(CHANGED(method,
			     "publickey-hostbound-v00@openssh.com"),
	    SIGN_DATA_OTHER);
	assert_int_equal(login_kind(&usual), SIGN_DATA_LOGIN);
}

static void
test_user_with_nul(void **state)
{
	struct buf b = { 0 };

	(void)state;
	buf_put_cstring(&b, "id");
	buf_put_u8(&b, 50);
	buf_put_string(&b, "me\0you", 6);
	buf_put_cstring(&b, "ssh-connection");
	buf_put_cstring(&b, "publickey");
	buf_put_u8(&b, 1);
	buf_put_cstring(&b, "ssh-ed25519");
	buf_put_string_buf(&b, &blob);
	assert_int_equal(kind_of(&b), SIGN_DATA_OTHER);
}

static enum sign_data_kind
file_kind(const char *magic, const char *name, const char *hash, size_t len,
    const char *more)
{
	static const uint8_t digest[64];
	struct buf b = { 0 };

	buf_put(&b, magic, strlen(magic));
	buf_put_cstring(&b, name);
	buf_put_cstring(&b, "");
	buf_put_cstring(&b, hash);
	buf_put_string(&b, digest, len);
	buf_put(&b, more, strlen(more));
	return kind_of(&b);
}

static void
test_file(void **state)
{
	(void)state;
	assert_int_equal(file_kind("SSHSIG", "git", "sha512", 64, ""),
	    SIGN_DATA_FILE);
	assert_int_equal(file_kind("SSHSIG", "git", "sha256", 32, ""),
	    SIGN_DATA_FILE);
	assert_int_equal(file_kind("SSHSIG", "", "sha256", 32, ""),
	    SIGN_DATA_OTHER);
	assert_int_equal(file_kind("SSHSIH", "git", "sha256", 32, ""),
	    SIGN_DATA_OTHER);
	assert_int_equal(file_kind("SSHSIG", "git", "sha1", 20, ""),
	    SIGN_DATA_OTHER);
	assert_int_equal(file_kind("SSHSIG", "git", "sha256", 64, ""),
	    SIGN_DATA_OTHER);
	assert_int_equal(file_kind("SSHSIG", "git", "sha256", 32, "x"),
	    SIGN_DATA_OTHER);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_login),
		cmocka_unit_test(test_not_quite_a_login),
		cmocka_unit_test(test_user_with_nul),
		cmocka_unit_test(test_file),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
