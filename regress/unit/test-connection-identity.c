/* SPDX-License-Identifier: ISC */
/*
 * What a master tells of its connection: what is put is what is read, no field
 * is believed that no master of ours sends, and who does not know the question
 * is not asked it.
 */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/mux/connection-identity.h"

/* An ed25519 key of zeros. */
static const char key[] = "\0\0\0\x0bssh-ed25519\0\0\0\x20"
			  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
			  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

static struct connection_identity
some_identity(void)
{
	struct connection_identity id = {
		.address = xstrdup("2001:db8::7"),
		.port = 2222,
		.user = xstrdup("me"),
		.login = xstrdup("SHA256:abc"),
		.rtt_us = 12345,
	};

	buf_put(&id.host_key, key, sizeof key - 1);
	return id;
}

static void
set_text(char **field, const char *text)
{
	free(*field);
	*field = xstrdup(text);
}

/* Takes it. */
static int
through_wire(struct connection_identity *id, struct connection_identity *back)
{
	struct buf b = { 0 };
	struct rd r;
	int err;

	connection_identity_put(&b, id);
	connection_identity_clear(id);
	r = rd_from_buf(&b);
	err = connection_identity_read(&r, back);
	buf_clear(&b);
	return err;
}

static void
test_round_trip(void **state)
{
	struct connection_identity id = some_identity(), back;

	(void)state;
	assert_int_equal(through_wire(&id, &back), 0);
	assert_string_equal(back.address, "2001:db8::7");
	assert_int_equal(back.port, 2222);
	assert_string_equal(back.user, "me");
	assert_string_equal(back.login, "SHA256:abc");
	assert_int_equal(back.rtt_us, 12345);
	assert_int_equal(buf_len(&back.host_key), sizeof key - 1);
	assert_memory_equal(buf_data(&back.host_key), key, sizeof key - 1);
	connection_identity_clear(&back);
}

static void
assert_bad(struct connection_identity *id)
{
	struct connection_identity back;

	assert_int_not_equal(through_wire(id, &back), 0);
	connection_identity_clear(&back);
}

static void
test_texts(void **state)
{
	static const char *const addresses[] = { "", "localhost", "/a/path",
		"192.0.2.1:22", "192.0.2.1 ", "::g" };
	static const char *const users[] = { "", "-oProxyCommand=x", "a;b",
		"a`b`" };
	static const char *const logins[] = { "", "two words", "\x1b[2J",
		"\xc3\xa4" };
	struct connection_identity id;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		id = some_identity();
		set_text(&id.address, addresses[i]);
		assert_bad(&id);
	}
	for (size_t i = 0; i < ARRAY_LEN(users); i++) {
		id = some_identity();
		set_text(&id.user, users[i]);
		assert_bad(&id);
	}
	for (size_t i = 0; i < ARRAY_LEN(logins); i++) {
		id = some_identity();
		set_text(&id.login, logins[i]);
		assert_bad(&id);
	}
}

static void
test_numbers_and_key(void **state)
{
	struct connection_identity id = some_identity();

	(void)state;
	id.port = 0;
	assert_bad(&id);
	id = some_identity();
	id.rtt_us = UINT64_MAX;
	assert_bad(&id);
	id = some_identity();
	buf_reset(&id.host_key);
	assert_bad(&id);
	id = some_identity();
	buf_put_u8(&id.host_key, 0); /* behind its end */
	assert_bad(&id);
	id = some_identity();
	buf_reset(&id.host_key);
	buf_put_cstring(&id.host_key, "ssh-weather");
	assert_bad(&id);
}

/* A port that has more than 16 bits must not become one that has. */
static void
test_large_port(void **state)
{
	struct connection_identity id = some_identity(), back;
	struct buf b = { 0 };
	struct rd r;

	(void)state;
	buf_put_cstring(&b, id.address);
	buf_put_u32(&b, 65536 + 22);
	buf_put_cstring(&b, id.user);
	buf_put_cstring(&b, id.login);
	buf_put_string_buf(&b, &id.host_key);
	buf_put_u64(&b, id.rtt_us);
	r = rd_from_buf(&b);
	assert_int_equal(connection_identity_read(&r, &back), ERR_FORMAT);
	connection_identity_clear(&back);
	connection_identity_clear(&id);
	buf_clear(&b);
}

static void
test_cut_and_long(void **state)
{
	struct connection_identity id = some_identity(), back;
	struct buf b = { 0 };
	struct rd r;

	(void)state;
	connection_identity_put(&b, &id);
	for (size_t i = 0; i < buf_len(&b); i++) {
		r = rd_from(buf_data(&b), i);
		assert_int_not_equal(connection_identity_read(&r, &back), 0);
		connection_identity_clear(&back);
	}
	buf_put_u8(&b, 0);
	r = rd_from_buf(&b);
	assert_int_not_equal(connection_identity_read(&r, &back), 0);
	connection_identity_clear(&back);
	connection_identity_clear(&id);
	buf_clear(&b);
}

/* ---- the question ------------------------------------------------------- */

static struct mux_conn conn;
static int master;

static int
setup(void **state)
{
	int pair[2];

	(void)state;
	log_set_level(LOG_LVL_QUIET);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	conn = (struct mux_conn){ .fd = pair[0], .knows_identity = true };
	master = pair[1];
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	mux_conn_close(&conn);
	close(master);
	return 0;
}

/* The answer to the first request, in advance. text is taken. */
static void
answer(uint32_t type, uint32_t told, struct buf *text)
{
	struct buf b = { 0 }, out = { 0 };

	mux_begin_request(&b, (enum mux_type)type, 1);
	if (type == MUX_INFO_TEXT)
		buf_put_u32(&b, told);
	buf_put_string_buf(&b, text);
	assert_int_equal(mux_frame(&out, &b), 0);
	assert_int_equal(
	    fd_write_all(master, buf_data(&out), buf_len(&out)), 0);
	buf_clear(&b);
	buf_clear(&out);
	buf_clear(text);
}

static void
expect_question(void)
{
	static const char bytes[] = "\0\0\0\x1d\x20\0\0\1\0\0\0\1"
				    "\0\0\0\x11" "anchor@hpnssh.org";
	uint8_t got[64];

	assert_int_equal(fd_read(master, got, sizeof got), sizeof bytes - 1);
	assert_memory_equal(got, bytes, sizeof bytes - 1);
}

static void
test_told(void **state)
{
	struct connection_identity id = some_identity(), back;
	struct buf text = { 0 };

	(void)state;
	connection_identity_put(&text, &id);
	connection_identity_clear(&id);
	answer(MUX_INFO_TEXT, 1, &text);
	assert_int_equal(connection_identity_ask(&conn, &back), 0);
	assert_int_equal(back.port, 2222);
	expect_question();
	connection_identity_clear(&back);
}

static void
test_not_told(void **state)
{
	struct connection_identity back;
	struct buf text = { 0 };

	(void)state;
	buf_put(&text, "no", 2);
	answer(MUX_INFO_TEXT, 0, &text);
	assert_int_equal(connection_identity_ask(&conn, &back),
	    ERR_UNSUPPORTED);
	assert_null(back.address);
}

/* It says what it cannot mean: as if it had said nothing. */
static void
test_nonsense_is_told(void **state)
{
	struct connection_identity back;
	struct buf text = { 0 };

	(void)state;
	buf_put(&text, "tcp 192.0.2.1", 13);
	answer(MUX_INFO_TEXT, 1, &text);
	assert_int_equal(connection_identity_ask(&conn, &back),
	    ERR_UNSUPPORTED);
	assert_null(back.address);
}

static void
test_refused(void **state)
{
	struct connection_identity back;
	struct buf text = { 0 };

	(void)state;
	buf_put(&text, "no", 2);
	answer(MUX_FAILURE, 0, &text);
	assert_int_equal(connection_identity_ask(&conn, &back),
	    ERR_UNSUPPORTED);
}

static void
test_another_answer(void **state)
{
	struct connection_identity back;
	struct buf text = { 0 };

	(void)state;
	buf_put(&text, "", 0);
	answer(MUX_OK, 0, &text);
	assert_int_not_equal(connection_identity_ask(&conn, &back), 0);
	assert_null(back.address);
}

/* A stock master hears nothing of it. */
static void
test_not_asked(void **state)
{
	struct connection_identity back;
	uint8_t byte;

	(void)state;
	conn.knows_identity = false;
	assert_int_equal(connection_identity_ask(&conn, &back),
	    ERR_UNSUPPORTED);
	assert_int_equal(recv(master, &byte, 1, MSG_DONTWAIT), -1);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_numbers_and_key),
		cmocka_unit_test(test_large_port),
		cmocka_unit_test(test_cut_and_long),
		cmocka_unit_test_setup_teardown(test_told, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_told, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_nonsense_is_told, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_another_answer, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_not_asked, setup,
		    teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
