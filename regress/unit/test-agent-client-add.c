/* SPDX-License-Identifier: ISC */
/*
 * Requests that change an agent: their bytes, as RFC 9987 has them, and what
 * the client makes of answers.
 */
#include "regress/unit/help.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "keys/agent-client-internal.h"
#include "keys/cert.h"
#include "regress/unit/make-cert.h"
#include "regress/unit/some-keys.h"

static struct key *plain;

/* ---- an agent of one answer --------------------------------------------- */

struct talk {
	struct agent *a;
	int peer;
};

/* The answer is there before the question. */
static struct talk
begin(const char *answer_hex)
{
	uint8_t answer[512];
	size_t len = hex_decode(answer_hex, answer, sizeof answer);
	struct talk t = { .a = calloc(1, sizeof *t.a) };
	int fd[2];

	assert_non_null(t.a);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(fd_write_all(fd[1], answer, len), 0);
	assert_int_equal(shutdown(fd[1], SHUT_WR), 0);
	t.a->fd = fd[0];
	t.peer = fd[1];
	return t;
}

/* The request must be these bytes. */
static void
finish(struct talk t, const struct buf *want)
{
	struct buf got = { 0 };

	assert_int_equal(buf_err(want), 0);
	assert_int_equal(
	    fd_receive_msg(t.peer, &got, AGENT_MESSAGE_MAX), 0);
	assert_int_equal(buf_len(&got), buf_len(want));
	assert_memory_equal(buf_data(&got), buf_data(want), buf_len(want));
	buf_clear(&got);
	agent_close(t.a);
	close(t.peer);
}

#define SUCCESS "0000000106"

static void
put_hex(struct buf *b, const char *hex)
{
	uint8_t bytes[1024];

	buf_put(b, bytes, hex_decode(hex, bytes, sizeof bytes));
}

/* ---- keys --------------------------------------------------------------- */

static void
test_add(void **state)
{
	struct buf want = { 0 };
	struct talk t = begin(SUCCESS);
	struct agent_constraints none = { 0 };

	(void)state;
	put_hex(&want, "11");
	assert_int_equal(key_private_to_wire(plain, &want), 0);
	put_hex(&want, "00000001" "63");
	assert_int_equal(agent_add(t.a, plain, "c", NULL), 0);
	finish(t, &want);
	t = begin(SUCCESS);
	assert_int_equal(agent_add(t.a, plain, "c", &none), 0);
	finish(t, &want);
	buf_clear(&want);
}

static void
test_add_constrained(void **state)
{
	struct agent_constraints c = { .lifetime = 3600,
	    .confirm = true,
	    .sk_provider = "internal" };
	struct talk t = begin(SUCCESS);
	struct buf want = { 0 };

	(void)state;
	put_hex(&want, "19");
	assert_int_equal(key_private_to_wire(plain, &want), 0);
	put_hex(&want, "00000001" "63" "01" "00000e10" "02" "ff");
	buf_put_cstring(&want, "sk-provider@openssh.com");
	buf_put_cstring(&want, "internal");
	assert_int_equal(agent_add(t.a, plain, "c", &c), 0);
	finish(t, &want);
	buf_clear(&want);
}

static void
test_destinations(void **state)
{
	struct agent_host_key from_key = { plain, true },
			      to_key = { plain, false };
	struct agent_destination v[2] = {
	    {.to = {.user = (char *)"u*", .host = (char *)"h",
		 .keys = &to_key, .n = 1}},
	    {.from = {.host = (char *)"j", .keys = &from_key, .n = 1},
		.to = {.host = (char *)"h", .keys = &to_key, .n = 1}},
	};
	struct agent_constraints c = { .destinations = v,
	    .n_destinations = 2 };
	struct talk t = begin(SUCCESS);
	struct buf want = { 0 };
	size_t list, one, hop;

	(void)state;
	put_hex(&want, "19");
	assert_int_equal(key_private_to_wire(plain, &want), 0);
	put_hex(&want, "00000000" "ff");
	buf_put_cstring(&want, "restrict-destination-v00@openssh.com");
	list = buf_open_string(&want);
	one = buf_open_string(&want);
	put_hex(&want, "0000000c" "00000000" "00000000" "00000000");
	hop = buf_open_string(&want);
	put_hex(&want, "00000002" "752a" "00000001" "68" "00000000");
	put_key(&want, plain);
	put_hex(&want, "00");
	buf_close_string(&want, hop);
	put_hex(&want, "00000000");
	buf_close_string(&want, one);
	one = buf_open_string(&want);
	hop = buf_open_string(&want);
	put_hex(&want, "00000000" "00000001" "6a" "00000000");
	put_key(&want, plain);
	put_hex(&want, "01");
	buf_close_string(&want, hop);
	hop = buf_open_string(&want);
	put_hex(&want, "00000000" "00000001" "68" "00000000");
	put_key(&want, plain);
	put_hex(&want, "00");
	buf_close_string(&want, hop);
	put_hex(&want, "00000000");
	buf_close_string(&want, one);
	buf_close_string(&want, list);
	assert_int_equal(agent_add(t.a, plain, NULL, &c), 0);
	finish(t, &want);
	buf_clear(&want);
	t = begin(SUCCESS);
	c.n_destinations = AGENT_DESTINATIONS_MAX + 1;
	assert_int_equal(agent_add(t.a, plain, NULL, &c), ERR_LIMIT);
	agent_close(t.a);
	close(t.peer);
}

static void
test_certificate(void **state)
{
	struct key *cert = NULL, *public = NULL, *joined = NULL,
		   *other = NULL, *private_cert = make_cert_for(plain);
	struct talk t = begin(SUCCESS);
	struct buf want = { 0 };

	(void)state;
	assert_int_equal(key_public_of(private_cert, &cert), 0);
	assert_int_equal(key_public_of(plain, &public), 0);
	assert_int_equal(key_generate("ed25519", 0, &other), 0);
	assert_int_equal(key_private_cert(cert, public, &joined),
	    ERR_ARGUMENT);
	assert_int_equal(key_private_cert(cert, other, &joined),
	    ERR_ARGUMENT);
	assert_int_equal(key_private_cert(plain, plain, &joined),
	    ERR_ARGUMENT);
	assert_null(joined);
	assert_int_equal(key_private_cert(cert, plain, &joined), 0);
	put_hex(&want, "11");
	assert_int_equal(key_private_to_wire(private_cert, &want), 0);
	put_hex(&want, "00000000");
	assert_int_equal(agent_add(t.a, joined, "", NULL), 0);
	finish(t, &want);
	/* A public key is nothing to add. */
	t = begin(SUCCESS);
	assert_int_equal(agent_add(t.a, cert, "", NULL), ERR_ARGUMENT);
	agent_close(t.a);
	close(t.peer);
	buf_clear(&want);
	key_free(private_cert);
	key_free(other);
	key_free(joined);
	key_free(public);
	key_free(cert);
}

static void
test_remove(void **state)
{
	struct buf want = { 0 };
	struct talk t = begin(SUCCESS);

	(void)state;
	put_hex(&want, "12");
	put_key(&want, plain);
	assert_int_equal(agent_remove(t.a, plain), 0);
	finish(t, &want);
	buf_reset(&want);
	t = begin(SUCCESS);
	put_hex(&want, "13");
	assert_int_equal(agent_remove_all(t.a), 0);
	finish(t, &want);
	buf_clear(&want);
}

/* ---- libraries, the lock ------------------------------------------------ */

static void
test_provider(void **state)
{
	struct key *cert = make_cert_for(plain);
	struct agent_constraints c = { .confirm = true,
	    .certs = &cert,
	    .n_certs = 1,
	    .certs_only = true };
	struct buf want = { 0 };
	struct talk t = begin(SUCCESS);
	size_t list;

	(void)state;
	put_hex(&want, "14" "00000002" "2f6c" "00000001" "31");
	assert_int_equal(agent_add_provider(t.a, "/l", "1", NULL), 0);
	finish(t, &want);
	buf_reset(&want);
	t = begin(SUCCESS);
	put_hex(&want, "15" "00000002" "2f6c" "00000000");
	assert_int_equal(agent_remove_provider(t.a, "/l", ""), 0);
	finish(t, &want);
	buf_reset(&want);
	t = begin(SUCCESS);
	put_hex(&want, "1a" "00000002" "2f6c" "00000000" "02" "ff");
	buf_put_cstring(&want, "associated-certs-v00@openssh.com");
	put_hex(&want, "01");
	list = buf_open_string(&want);
	put_key(&want, cert);
	buf_close_string(&want, list);
	assert_int_equal(agent_add_provider(t.a, "/l", "", &c), 0);
	finish(t, &want);
	buf_clear(&want);
	key_free(cert);
}

static void
test_lock(void **state)
{
	struct buf want = { 0 };
	struct talk t = begin(SUCCESS);

	(void)state;
	put_hex(&want, "16" "00000002" "7077");
	assert_int_equal(agent_lock(t.a, "pw"), 0);
	finish(t, &want);
	buf_reset(&want);
	t = begin("0000000105");
	put_hex(&want, "17" "00000002" "7077");
	assert_int_equal(agent_unlock(t.a, "pw"), ERR_AGENT);
	finish(t, &want);
	buf_clear(&want);
}

/* ---- answers ------------------------------------------------------------ */

static void
test_query(void **state)
{
	static const struct {
		const char *answer;
		int want;
		size_t names;
	} cases[] = {
	    {"0000000a" "1d" "00000005" "7175657279", 0, 0 },
	    {"00000014" "1d" "00000005" "7175657279" "00000001" "61"
	     "00000001" "62", 0, 2 },
	    {"0000000105", ERR_AGENT, 0 },
	    {"000000011c", ERR_AGENT, 0 },
	    {"0000000106", ERR_PROTOCOL, 0 },
	    {"000000011d", ERR_TRUNCATED, 0 },
	    {"0000000a" "1d" "00000005" "7175657278", ERR_PROTOCOL, 0 },
	    {"0000000e" "1d" "00000005" "7175657279" "00000009",
		ERR_TRUNCATED, 0 },
	    /* a NUL in a name */
	    {"0000000f" "1d" "00000005" "7175657279" "00000001" "00",
		ERR_FORMAT, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct talk t = begin(cases[i].answer);
		struct strlist names = { 0 };
		struct buf want = { 0 };

		put_hex(&want, "1b" "00000005" "7175657279");
		assert_int_equal(agent_query(t.a, &names), cases[i].want);
		assert_int_equal(names.n, cases[i].names);
		finish(t, &want);
		strlist_clear(&names);
		buf_clear(&want);
	}
}

/* Names without end. */
static void
test_many_names(void **state)
{
	struct buf answer = { 0 };
	struct strlist names = { 0 };
	struct talk t = begin("");
	size_t mark = buf_open_string(&answer);
	int fd[2];

	(void)state;
	buf_put_u8(&answer, AGENT_EXTENSION_RESPONSE);
	buf_put_cstring(&answer, "query");
	for (int i = 0; i < 300; i++)
		buf_put_cstring(&answer, "x");
	buf_close_string(&answer, mark);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(
	    fd_write_all(fd[1], buf_data(&answer), buf_len(&answer)), 0);
	close(t.a->fd);
	t.a->fd = fd[0];
	assert_int_equal(agent_query(t.a, &names), ERR_LIMIT);
	assert_true(names.n <= 256);
	strlist_clear(&names);
	buf_clear(&answer);
	agent_close(t.a);
	close(t.peer);
	close(fd[1]);
}

static void
test_other_answers(void **state)
{
	static const struct {
		const char *answer;
		int want;
	} cases[] = {
	    {"0000000105", ERR_AGENT},
	    {"000000010c", ERR_PROTOCOL},
	    {"00000000", ERR_PROTOCOL},
	    {"0000000206", ERR_EOF},
	    {"ffffffff06", ERR_LIMIT},
	    {"", ERR_EOF},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct talk t = begin(cases[i].answer);

		assert_int_equal(agent_add(t.a, plain, "c", NULL),
		    cases[i].want);
		agent_close(t.a);
		close(t.peer);
	}
}

static int
set_up(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	return key_generate("ed25519", 0, &plain);
}

static int
tear_down(void **state)
{
	(void)state;
	key_free(plain);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_add),
	    cmocka_unit_test(test_add_constrained),
	    cmocka_unit_test(test_destinations),
	    cmocka_unit_test(test_certificate),
	    cmocka_unit_test(test_remove),
	    cmocka_unit_test(test_provider),
	    cmocka_unit_test(test_lock),
	    cmocka_unit_test(test_query),
	    cmocka_unit_test(test_many_names),
	    cmocka_unit_test(test_other_answers),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
