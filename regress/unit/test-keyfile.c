/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/str.h"
#include "keys/keyfile.h"

static char path[sizeof temp_dir + 32];

/* ---- files that OpenSSH 9.2 wrote (throwaway keys) ---------------------- */

static const char plain_file[] =
    "-----BEGIN OPENSSH PRIVATE KEY-----\n"
    "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW\n"
    "QyNTUxOQAAACA082EiCqgNInFlcGEahn7Y1ZbKypoaFRzbv2KTS/8zZAAAAJAE0+4ABNPu\n"
    "AAAAAAtzc2gtZWQyNTUxOQAAACA082EiCqgNInFlcGEahn7Y1ZbKypoaFRzbv2KTS/8zZA\n"
    "AAAEBsju+J0teRstaWLi+1moHam4CO+awEfqkUkhFlTJuBRzTzYSIKqA0icWVwYRqGftjV\n"
    "lsrKmhoVHNu/YpNL/zNkAAAACXBsYWluIG9uZQECAwQ=\n"
    "-----END OPENSSH PRIVATE KEY-----\n";

static const char gcm_file[] =
    "-----BEGIN OPENSSH PRIVATE KEY-----\n"
    "b3BlbnNzaC1rZXktdjEAAAAAFmFlczI1Ni1nY21Ab3BlbnNzaC5jb20AAAAGYmNyeXB0AA\n"
    "AAGAAAABCTdXFQmx8oAojyIQmHeLJEAAAAAQAAAAEAAAAzAAAAC3NzaC1lZDI1NTE5AAAA\n"
    "IGD83K8Nw+SN++s+nPA8Kv+M7YUlqhCxWY55ZJxDheaTAAAAoDoiJsOsT0wiUMdM7exZvf\n"
    "c0e2N1JfKuFezPaug5et3dK+vu2+tyyqlac8mVdgxela6+jL8DqKyYyadrGWIEjaXWrmnK\n"
    "x1rJyUMNhX6Dd96S6jvstEqmV20ilhrB6qqU82gVN6wYAmyYckvRFo/qJCfKvIpuI7uVOx\n"
    "TXjD4aF8IbgPAO2cdfcrYkLJqBOvebvBsQi046/2DkDyt2zwPhV5ZFIEhgQnkkeb6Bgo2t\n"
    "RK0o\n"
    "-----END OPENSSH PRIVATE KEY-----\n";

static const char plain_line[] =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDTzYSIKqA0icWVwYRqGftjV"
    "lsrKmhoVHNu/YpNL/zNk";

static void
test_stock_files(void **state)
{
	static const struct {
		const char *file, *pass, *wrong, *comment, *line;
	} cases[] = {
	    {plain_file, NULL, NULL, "plain one", plain_line},
	    {gcm_file, "password", "passwore", "by aes256-gcm@openssh.com",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGD83K8Nw+SN++s+"
		"nPA8Kv+M7YUlqhCxWY55ZJxDheaT"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct key *k = NULL, *half = NULL;
		struct buf line = {0};
		char *comment = NULL;

		assert_int_equal(keyfile_parse_private(span_text(cases[i].file),
				     cases[i].pass, &k, &comment),
		    0);
		assert_string_equal(comment, cases[i].comment);
		assert_int_equal(key_format_line(k, NULL, &line), 0);
		assert_int_equal(buf_len(&line), strlen(cases[i].line));
		assert_memory_equal(
		    buf_data(&line), cases[i].line, buf_len(&line));
		assert_int_equal(
		    keyfile_parse_public_half(span_text(cases[i].file), &half),
		    0);
		assert_false(key_is_private(half));
		assert_true(key_equal_public(k, half));
		key_free(half);
		key_free(k);
		free(comment);
		buf_clear(&line);
		if (cases[i].pass == NULL)
			continue;
		comment = NULL;
		assert_int_equal(keyfile_parse_private(span_text(cases[i].file),
				     cases[i].wrong, &k, &comment),
		    ERR_PASSPHRASE);
		assert_int_equal(keyfile_parse_private(span_text(cases[i].file),
				     "", &k, &comment),
		    ERR_PASSPHRASE);
		assert_int_equal(keyfile_parse_private(span_text(cases[i].file),
				     NULL, &k, &comment),
		    ERR_PASSPHRASE);
		assert_null(comment);
	}
}

/* ---- round trips -------------------------------------------------------- */

static void
round_trip(const struct key *k, enum keyfile_format format, const char *pass,
    const char *cipher)
{
	struct key *again = NULL;
	char *comment = NULL;
	struct buf b;

	buf_init_secret(&b);
	assert_int_equal(
	    keyfile_format_private(k, format, pass, "a b", cipher, 1, &b), 0);
	assert_int_equal(
	    keyfile_parse_private(buf_span(&b), pass, &again, &comment), 0);
	assert_true(key_equal_public(k, again));
	assert_true(key_is_private(again));
	if (comment != NULL)
		assert_string_equal(comment, "a b");
	key_free(again);
	free(comment);
	if (pass != NULL && *pass != '\0')
		assert_int_equal(
		    keyfile_parse_private(buf_span(&b), "wrong", &again, NULL),
		    ERR_PASSPHRASE);
	buf_clear(&b);
}

static void
test_round_trips(void **state)
{
	static const struct {
		const char *type;
		unsigned bits;
	} kinds[] = {{"ed25519", 0}, {"ecdsa", 256}, {"ecdsa", 384},
	    {"ecdsa", 521}, {"rsa", 1024}};
	static const char *const ciphers[] = {NULL, "aes128-ctr", "aes192-ctr",
	    "aes256-ctr", "aes128-cbc", "aes192-cbc", "aes256-cbc",
	    "aes128-gcm@openssh.com", "aes256-gcm@openssh.com",
	    "chacha20-poly1305@openssh.com"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct key *k = NULL;

		assert_int_equal(
		    key_generate(kinds[i].type, kinds[i].bits, &k), 0);
		for (size_t c = 0; c < ARRAY_LEN(ciphers); c++)
			round_trip(k, KEYFILE_OPENSSH, "good pass", ciphers[c]);
		round_trip(k, KEYFILE_OPENSSH, NULL, NULL);
		round_trip(k, KEYFILE_OPENSSH, "", NULL);
		round_trip(k, KEYFILE_PEM, NULL, NULL);
		round_trip(k, KEYFILE_PEM, "good pass", NULL);
		round_trip(k, KEYFILE_PKCS8, NULL, NULL);
		round_trip(k, KEYFILE_PKCS8, "good pass", NULL);
		key_free(k);
	}
}

static void
test_format_refuses(void **state)
{
	struct key *k = NULL, *public = NULL;
	struct buf b = {0};

	(void)state;
	assert_int_equal(key_generate("ecdsa", 0, &k), 0);
	assert_int_equal(key_public_of(k, &public), 0);
	assert_int_equal(keyfile_format_private(
			     k, KEYFILE_OPENSSH, "pass", "", "3des-cbc", 1, &b),
	    ERR_UNSUPPORTED);
	/* not silently in the clear */
	assert_int_equal(keyfile_format_private(
			     k, KEYFILE_OPENSSH, "pass", "", "none", 1, &b),
	    ERR_ARGUMENT);
	assert_int_equal(
	    keyfile_format_private(k, KEYFILE_PEM, "abc", "", NULL, 0, &b),
	    ERR_ARGUMENT);
	assert_int_equal(keyfile_format_private(
			     public, KEYFILE_OPENSSH, NULL, "", NULL, 0, &b),
	    ERR_ARGUMENT);
	assert_true(keyfile_cipher_known("aes256-ctr"));
	assert_false(keyfile_cipher_known("none"));
	buf_clear(&b);
	key_free(public);
	key_free(k);
}

/* ---- bent files --------------------------------------------------------- */

#define MAGIC "openssh-key-v1"

/* What a file is made of, so that a test can change one thing. */
struct parts {
	const char *magic, *cipher, *kdf;
	uint32_t keys, rounds;
	size_t salt_len, pad;
	uint32_t check_diff;
	bool other_public, trailing;
};

static const struct {
	struct parts p;
	int want;
} files[] = {
    {{MAGIC, "none", "none", 1, .pad = 8}, 0},
    {{"openssh-key-v2", "none", "none", 1, .pad = 8}, ERR_FORMAT},
    {{MAGIC, "rot13", "bcrypt", 1, 1, 16, .pad = 8}, ERR_UNSUPPORTED},
    {{MAGIC, "aes256-ctr", "scrypt", 1, 1, 16, .pad = 16}, ERR_UNSUPPORTED},
    /* a cipher without a kdf, and the reverse */
    {{MAGIC, "aes256-ctr", "none", 1, .pad = 16}, ERR_FORMAT},
    {{MAGIC, "none", "bcrypt", 1, 1, 16, .pad = 8}, ERR_FORMAT},
    {{MAGIC, "none", "none", 0, .pad = 8}, ERR_UNSUPPORTED},
    {{MAGIC, "none", "none", 2, .pad = 8}, ERR_UNSUPPORTED},
    {{MAGIC, "none", "none", 1, .pad = 8, .check_diff = 1}, ERR_FORMAT},
    {{MAGIC, "none", "none", 1, .pad = 8, .other_public = true}, ERR_FORMAT},
    {{MAGIC, "none", "none", 1, .pad = 8, .trailing = true}, ERR_FORMAT},
    /* not a whole number of blocks */
    {{MAGIC, "aes256-ctr", "bcrypt", 1, 1, 16, .pad = 1}, ERR_FORMAT},
    {{MAGIC, "aes256-ctr", "bcrypt", 1, 1, 0, .pad = 16}, ERR_FORMAT},
    {{MAGIC, "aes256-ctr", "bcrypt", 1, 0, 16, .pad = 16}, ERR_FORMAT},
    {{MAGIC, "aes256-ctr", "bcrypt", 1, 1, 2000, .pad = 16}, ERR_LIMIT},
    {{MAGIC, "aes256-ctr", "bcrypt", 1, UINT32_MAX, 16, .pad = 16}, ERR_LIMIT},
    /* well formed, but that is not what the passphrase opens */
    {{MAGIC, "aes256-ctr", "bcrypt", 1, 1, 16, .pad = 16}, ERR_PASSPHRASE},
};

static void
put_inner(const struct parts *p, const struct key *k, struct buf *b)
{
	buf_put_u32(b, 77);
	buf_put_u32(b, 77 + p->check_diff);
	assert_int_equal(key_private_to_wire(k, b), 0);
	buf_put_cstring(b, "");
	for (uint8_t i = 1; buf_len(b) % p->pad != 0; i++)
		buf_put_u8(b, i);
}

/* Gives the armoured file. */
static void
compose(const struct parts *p, const struct key *k, const struct key *other,
    struct buf *out)
{
	struct buf b = {0}, inner = {0};
	uint8_t salt[2048] = {1};
	char *base64;
	size_t mark;

	buf_put(&b, p->magic, strlen(p->magic) + 1);
	buf_put_cstring(&b, p->cipher);
	buf_put_cstring(&b, p->kdf);
	mark = buf_open_string(&b);
	if (p->salt_len > 0 || p->rounds > 0) {
		buf_put_string(&b, salt, p->salt_len);
		buf_put_u32(&b, p->rounds);
	}
	buf_close_string(&b, mark);
	buf_put_u32(&b, p->keys);
	for (uint32_t i = 0; i < p->keys; i++) {
		mark = buf_open_string(&b);
		assert_int_equal(
		    key_to_blob(p->other_public ? other : k, &b), 0);
		buf_close_string(&b, mark);
	}
	put_inner(p, k, &inner);
	buf_put_string_buf(&b, &inner);
	if (p->trailing)
		buf_put_u8(&b, 0);
	base64 = str_base64_encode(buf_data(&b), buf_len(&b));
	assert_non_null(base64);
	buf_reset(out);
	buf_printf(out,
	    "-----BEGIN OPENSSH PRIVATE KEY-----\n%s\n"
	    "-----END OPENSSH PRIVATE KEY-----\n",
	    base64);
	free(base64);
	buf_clear(&inner);
	buf_clear(&b);
}

static void
test_bent_files(void **state)
{
	struct key *k = NULL, *other = NULL, *got;
	struct buf file = {0};

	(void)state;
	assert_int_equal(key_generate("ed25519", 0, &k), 0);
	assert_int_equal(key_generate("ed25519", 0, &other), 0);
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		compose(&files[i].p, k, other, &file);
		got = NULL;
		assert_int_equal(
		    keyfile_parse_private(buf_span(&file), "pass", &got, NULL),
		    files[i].want);
		key_free(got);
	}
	compose(&files[0].p, k, other, &file);
	for (size_t len = 0; len < buf_len(&file) - 1; len += 7) {
		got = NULL;
		assert_int_not_equal(
		    keyfile_parse_private(
			(struct span){buf_data(&file), len - len / 3}, NULL,
			&got, NULL),
		    0);
		assert_null(got);
	}
	buf_clear(&file);
	key_free(other);
	key_free(k);
}

static void
test_no_key_at_all(void **state)
{
	static const char *const texts[] = {"", "\n", "hello", "-----BEGIN ",
	    "-----BEGIN OPENSSH PRIVATE KEY-----",
	    "-----BEGIN OPENSSH PRIVATE KEY-----\n"
	    "-----END OPENSSH PRIVATE KEY-----\n",
	    "-----BEGIN OPENSSH PRIVATE KEY-----\n!\n"
	    "-----END OPENSSH PRIVATE KEY-----\n",
	    "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n"
	    "-----END RSA PRIVATE KEY-----\n"};
	struct key *k = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		assert_int_equal(
		    keyfile_parse_private(span_text(texts[i]), NULL, &k, NULL),
		    ERR_FORMAT);
		assert_int_not_equal(
		    keyfile_parse_public_half(span_text(texts[i]), &k), 0);
	}
}

/* OpenSSL reads it, but the point is not that of the number. */
static void
test_pem_of_two_halves(void **state)
{
	static const char file[] =
	    "-----BEGIN EC PRIVATE KEY-----\n"
	    "MHcCAQEEIGCQQHb9vefKEISoXJNmYyYgQ+US5EVWBtkin73wa2hfoAoGCCqGSM49\n"
	    "AwEHoUQDQgAEimObhBZ4uvVtrF7LVtrjX8Gbwe21JuBkzKjosJ8CAqiruoCdDfF5\n"
	    "ws7P753kHywfOvTvmXi9RrT/6yPb57EvHg==\n"
	    "-----END EC PRIVATE KEY-----\n";
	struct key *k = NULL;

	(void)state;
	assert_int_equal(
	    keyfile_parse_private(span_text(file), NULL, &k, NULL), ERR_FORMAT);
	assert_null(k);
}

/* ---- on disk ------------------------------------------------------------ */

static void
write_file(const char *name, const char *content, mode_t mode)
{
	snprintf(path, sizeof path, "%s/%s", temp_dir, name);
	assert_int_equal(file_replace(path, content, strlen(content), mode), 0);
}

static void
test_permissions(void **state)
{
	static const struct {
		mode_t mode;
		int want;
	} cases[] = {{0600, 0}, {0400, 0}, {0700, 0}, {0640, ERR_PERMISSION},
	    {0604, ERR_PERMISSION}, {0660, ERR_PERMISSION},
	    {0666, ERR_PERMISSION}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct key *k = NULL;

		write_file("mode", plain_file, cases[i].mode);
		assert_int_equal(
		    keyfile_load_private(path, NULL, true, &k, NULL),
		    cases[i].want);
		key_free(k);
		k = NULL;
		assert_int_equal(
		    keyfile_load_private(path, NULL, false, &k, NULL), 0);
		key_free(k);
	}
	snprintf(path, sizeof path, "%s/none", temp_dir);
	assert_int_equal(
	    keyfile_load_private(path, NULL, true, NULL, NULL), ERR_SYSTEM);
	assert_int_equal(errno, ENOENT);
}

enum { KEYSIGN = 54731, KEYSIGN_WITH_MEMBERS, ANOTHER };

struct group *
getgrgid(gid_t gid)
{
	static char name[] = "ssh_keys", other[] = "staff", ann[] = "ann";
	static char *members[] = { ann, NULL }, *none[] = { NULL };
	static struct group gr;

	gr.gr_name = gid == ANOTHER ? other : name;
	gr.gr_mem = gid == KEYSIGN_WITH_MEMBERS ? members : none;
	return gid >= KEYSIGN && gid <= ANOTHER ? &gr : NULL;
}

/* What a system has for setgid programs that sign. */
static void
test_group_of_keysign(void **state)
{
	static const struct {
		gid_t gid;
		uid_t uid;
		mode_t mode;
		bool private;
	} cases[] = { { KEYSIGN, 0, 0640, true }, { KEYSIGN, 0, 0440, true },
		{ KEYSIGN, 0, 0660, false }, { KEYSIGN, 0, 0644, false },
		{ KEYSIGN, 0, 0650, false }, { KEYSIGN, 1000, 0640, false },
		{ KEYSIGN_WITH_MEMBERS, 0, 0640, false },
		{ ANOTHER, 0, 0640, false }, { 0, 0, 0640, false },
		{ ANOTHER, 1000, 0600, true } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct stat st = { .st_gid = cases[i].gid,
			.st_uid = cases[i].uid,
			.st_mode = S_IFREG | cases[i].mode };

		assert_int_equal(keyfile_is_private(&st), cases[i].private);
	}
	if (geteuid() == 0) {
		struct key *k = NULL;

		write_file("mode", plain_file, 0640);
		assert_int_equal(chown(path, 0, KEYSIGN), 0);
		assert_int_equal(
		    keyfile_load_private(path, NULL, true, &k, NULL), 0);
		key_free(k);
	}
}

static void
test_load_public(void **state)
{
	static const char *const lines[] = {
	    "%s\n", "%s a comment\n", "# remark\n\n  %s a comment\r\n",
	    "%s a comment", /* no end of line */
	};
	struct key *k = NULL, *want = NULL;
	const char *s = plain_line;
	char content[1024], *comment = NULL;

	(void)state;
	assert_int_equal(key_parse_line(&s, &want), 0);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		/* the formats are this table's */
		snprintf(content, sizeof content, lines[i], plain_line);
		write_file("line", content, 0644);
		assert_int_equal(keyfile_load_public(path, &k, &comment), 0);
		assert_true(key_equal_public(k, want));
		assert_string_equal(comment, i > 0 ? "a comment" : "");
		free(comment);
		key_free(k);
	}
	/* the .pub beside a private key, even one that is not there */
	snprintf(content, sizeof content, "%s from pub\n", plain_line);
	write_file("pair.pub", content, 0644);
	path[strlen(path) - 4] = '\0';
	assert_int_equal(keyfile_load_public(path, &k, &comment), 0);
	assert_string_equal(comment, "from pub");
	free(comment);
	key_free(k);
	/* the private file alone */
	write_file("alone", plain_file, 0600);
	assert_int_equal(keyfile_load_public(path, &k, &comment), 0);
	assert_true(key_equal_public(k, want));
	free(comment);
	key_free(k);
	write_file("junk", "junk\n", 0600);
	assert_int_not_equal(keyfile_load_public(path, &k, &comment), 0);
	snprintf(path, sizeof path, "%s/none", temp_dir);
	assert_int_equal(keyfile_load_public(path, &k, &comment), ERR_SYSTEM);
	assert_int_equal(errno, ENOENT);
	key_free(want);
}

static void
test_save(void **state)
{
	struct key *k = NULL, *again = NULL;
	struct stat st;
	char *comment = NULL;

	(void)state;
	assert_int_equal(key_generate("ed25519", 0, &k), 0);
	snprintf(path, sizeof path, "%s/saved", temp_dir);
	assert_int_equal(
	    keyfile_save_private(path, k, KEYFILE_OPENSSH, NULL, "me", NULL, 0),
	    0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(
	    keyfile_load_private(path, NULL, true, &again, &comment), 0);
	assert_true(key_equal_public(k, again));
	assert_string_equal(comment, "me");
	free(comment);
	key_free(again);
	snprintf(path, sizeof path, "%s/saved.pub", temp_dir);
	assert_int_equal(keyfile_save_public(path, k, "me"), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	/* where nothing can be written */
	snprintf(path, sizeof path, "%s/no/such", temp_dir);
	assert_int_equal(
	    keyfile_save_private(path, k, KEYFILE_OPENSSH, NULL, "me", NULL, 0),
	    ERR_SYSTEM);
	assert_int_equal(keyfile_save_private("/dev/full", k, KEYFILE_OPENSSH,
			     NULL, "me", NULL, 0),
	    ERR_SYSTEM);
	assert_int_equal(errno, ENOSPC);
	key_free(k);
}

/* ---- other programs' public keys ---------------------------------------- */

/* RFC 4716 section 3.6 in form: headers, a continued one, 72 columns. */
static void
test_rfc4716_in(void **state)
{
	static const char file[] =
	    "---- BEGIN SSH2 PUBLIC KEY ----\r\n"
	    "Subject: me\r\n"
	    "Comment: \"a comment that goes on and on until there is no \\\r\n"
	    "place: left on the line\"\r\n"
	    "x-private: yes\r\n"
	    "AAAAC3NzaC1lZDI1NTE5AAAAIDTzYSIKqA0icWVwYRqGftj\r\n"
	    "VlsrKmhoVHNu/YpNL/zNk\r\n"
	    "---- END SSH2 PUBLIC KEY ----\r\n";
	struct key *k = NULL, *want = NULL;
	const char *s = plain_line;

	(void)state;
	assert_int_equal(key_parse_line(&s, &want), 0);
	assert_int_equal(
	    keyfile_import_public(span_text(file), KEYFILE_PUBLIC_RFC4716, &k),
	    0);
	assert_true(key_equal_public(k, want));
	key_free(k);
	assert_int_equal(keyfile_import_public(
			     span_text(plain_line), KEYFILE_PUBLIC_RFC4716, &k),
	    ERR_FORMAT);
	key_free(want);
}

static void
test_export(void **state)
{
	static const struct {
		const char *type;
		enum keyfile_public_format format;
		int want;
		const char *begin;
	} cases[] = {
	    {"ed25519", KEYFILE_PUBLIC_RFC4716, 0, "---- BEGIN SSH2 PUB"},
	    {"ecdsa", KEYFILE_PUBLIC_RFC4716, 0, "---- BEGIN SSH2 PUB"},
	    {"rsa", KEYFILE_PUBLIC_RFC4716, 0, "---- BEGIN SSH2 PUB"},
	    {"ed25519", KEYFILE_PUBLIC_PKCS8, 0, "-----BEGIN PUBLIC KEY"},
	    {"ecdsa", KEYFILE_PUBLIC_PKCS8, 0, "-----BEGIN PUBLIC KEY"},
	    {"rsa", KEYFILE_PUBLIC_PKCS8, 0, "-----BEGIN PUBLIC KEY"},
	    {"ed25519", KEYFILE_PUBLIC_PEM, ERR_UNSUPPORTED, NULL},
	    {"ecdsa", KEYFILE_PUBLIC_PEM, 0, "-----BEGIN PUBLIC KEY"},
	    {"rsa", KEYFILE_PUBLIC_PEM, 0, "-----BEGIN RSA PUBLIC KEY"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct key *k = NULL, *again = NULL;
		struct buf out = {0};

		assert_int_equal(key_generate(cases[i].type, 0, &k), 0);
		assert_int_equal(
		    keyfile_export_public(k, cases[i].format, "comment", &out),
		    cases[i].want);
		if (cases[i].want == 0) {
			assert_memory_equal(buf_data(&out), cases[i].begin,
			    strlen(cases[i].begin));
			assert_int_equal(keyfile_import_public(buf_span(&out),
					     cases[i].format, &again),
			    0);
			assert_true(key_equal_public(k, again));
		}
		key_free(again);
		key_free(k);
		buf_clear(&out);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_stock_files),
	    cmocka_unit_test(test_round_trips),
	    cmocka_unit_test(test_format_refuses),
	    cmocka_unit_test(test_bent_files),
	    cmocka_unit_test(test_no_key_at_all),
	    cmocka_unit_test(test_pem_of_two_halves),
	    cmocka_unit_test(test_permissions),
	    cmocka_unit_test(test_group_of_keysign),
	    cmocka_unit_test(test_load_public),
	    cmocka_unit_test(test_save),
	    cmocka_unit_test(test_rfc4716_in),
	    cmocka_unit_test(test_export),
	};

	return cmocka_run_group_tests(tests, temp_make, temp_remove);
}
