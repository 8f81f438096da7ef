/* SPDX-License-Identifier: ISC */
/* gssapi-with-mic in the monitor. The test is the client; gss-host.h says what
 * its tokens do. */
#include "regress/unit/gss-host.h"

#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "gss/gss-wire.h"
#include "packet.h"

/* ---- the client ------------------------------------------------------- */

enum { SAYS_MAX = 40 };

struct said {
	uint8_t type;
	const char *text; /* NULL: the message has no string */
};

static struct {
	const struct said *says; /* until a type of 0 */
	uint8_t heard[SAYS_MAX]; /* types of our messages; 0: an empty one */
	size_t n;
} client;

static int
converse(void *arg, const struct buf *prompt, struct buf *answer)
{
	const struct said *s = &client.says[client.n];

	(void)arg;
	assert_true(client.n < SAYS_MAX);
	client.heard[client.n++] =
	    buf_len(prompt) > 0 ? buf_data(prompt)[0] : 0;
	if (s->type == 0)
		return ERR_CANCELLED; /* another request came */
	buf_put_u8(answer, s->type);
	if (s->text != NULL)
		buf_put_cstring(answer, s->text);
	return 0;
}

/* ---- a try ------------------------------------------------------------ */

static int
set_up(void **state)
{
	(void)state;
	memset(&client, 0, sizeof client);
	return gss_login_setup("gssapi-with-mic");
}

static int
try_it(const struct said *says)
{
	const struct login_dialogue d = { .converse = converse };
	const uint8_t field = 1;
	struct rd in = rd_from(&field, 1);

	client.says = says;
	client.n = 0;
	monitor_verdict_clear(&verdict);
	return login_try(&login, AUTH_METHOD_GSSAPI, &in, &d, &verdict);
}

enum {
	TOKEN = SSH_MSG_USERAUTH_GSSAPI_TOKEN,
	MIC = SSH_MSG_USERAUTH_GSSAPI_MIC,
	ERRTOK = SSH_MSG_USERAUTH_GSSAPI_ERRTOK,
	DONE = SSH_MSG_USERAUTH_GSSAPI_EXCHANGE_COMPLETE,
	RESPONSE = SSH_MSG_USERAUTH_GSSAPI_RESPONSE,
};

/* ---- tests ------------------------------------------------------------ */

static void
one_token(void **state)
{
	static const struct said says[] = { { TOKEN, "done" },
		{ MIC, "mic" } };

	(void)state;
	assert_int_equal(try_it(says), 0);
	assert_int_equal(verdict.result, MONITOR_SUCCESS);
	assert_int_equal(client.n, 2);
	assert_int_equal(client.heard[0], RESPONSE);
	assert_int_equal(client.heard[1], 0); /* it is only waited for */
	gss_assert_signed("gssapi-with-mic");
	assert_non_null(login.gss);
	assert_string_equal(gss_library.asked_for, login.user->name);
}

static void
several_tokens(void **state)
{
	static const struct said says[] = { { TOKEN, "go on" },
		{ TOKEN, "done+" }, { MIC, "mic" } };

	(void)state;
	assert_int_equal(try_it(says), 0);
	assert_int_equal(verdict.result, MONITOR_SUCCESS);
	assert_int_equal(client.heard[1], TOKEN);
	assert_int_equal(client.heard[2], TOKEN);
}

/* What must not let anybody in. */
static void
refusals(void **state)
{
	static const struct said rows[][4] = {
		{ { TOKEN, "done" }, { MIC, "wrong" } },
		{ { TOKEN, "done" }, { MIC, NULL } },
		{ { TOKEN, "done" }, { MIC, "" } },
		/* no integrity, as RFC 4462 would allow */
		{ { TOKEN, "done" }, { DONE, NULL } },
		/* the right words in the wrong message */
		{ { MIC, "mic" } },
		{ { MIC, "done" }, { MIC, "mic" } },
		{ { TOKEN, "done" }, { TOKEN, "mic" } },
		{ { TOKEN, "done" }, { ERRTOK, "mic" } },
		{ { TOKEN, "bad" }, { MIC, "mic" } },
		{ { TOKEN, "" } },
		{ { TOKEN, NULL } },
		{ { TOKEN, "done" }, { TOKEN, "done" }, { MIC, "mic" } },
		{ { TOKEN, "go on" }, { MIC, "mic" } },
		{ { TOKEN, "go on" }, { ERRTOK, "x" } },
		{ { RESPONSE, "mic" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(try_it(rows[i]), 0);
		assert_int_equal(verdict.result, MONITOR_FAILURE);
		assert_true(verdict.counts && login.checked);
		assert_false(login.complete);
		assert_null(login.gss);
		assert_int_equal(login.failures, (int)i + 1);
	}
}

/* What the library has for the client goes in front of the refusal. */
static void
errors_are_sent(void **state)
{
	static const struct said says[] = { { TOKEN, "bad" } };

	(void)state;
	assert_int_equal(try_it(says), 0);
	assert_int_equal(verdict.result, MONITOR_FAILURE);
	assert_int_equal(buf_len(&verdict.info), 1 + 4 + 5);
	assert_int_equal(buf_data(&verdict.info)[0], ERRTOK);
}

static void
rules_are_kept(void **state)
{
	static const struct said says[] = { { TOKEN, "done" },
		{ MIC, "mic" } };

	(void)state;
	gss_library.not_the_user = true;
	assert_int_equal(try_it(says), 0);
	assert_int_equal(verdict.result, MONITOR_FAILURE);
	gss_library.not_the_user = false;
	login.allowed = false;
	assert_int_equal(try_it(says), 0);
	assert_int_equal(verdict.result, MONITOR_FAILURE);
	/* A name that is nobody's: the same messages; no account is asked. */
	login.name_ok = false;
	gss_library.asked_for = NULL;
	assert_int_equal(try_it(says), 0);
	assert_int_equal(client.n, 2);
	assert_int_equal(verdict.result, MONITOR_FAILURE);
	assert_null(gss_library.asked_for);
	assert_false(login.complete);
}

static void
dropped(void **state)
{
	static const struct said nothing[] = { { 0, NULL } };
	static const struct said later[] = { { TOKEN, "go on" }, { 0, NULL } };

	(void)state;
	assert_int_equal(try_it(nothing), ERR_CANCELLED);
	assert_int_equal(try_it(later), ERR_CANCELLED);
	assert_true(login.checked);
}

static void
tokens_are_limited(void **state)
{
	static struct said says[SAYS_MAX];

	(void)state;
	for (size_t i = 0; i < SAYS_MAX - 1; i++)
		says[i] = (struct said){ TOKEN, "go on" };
	assert_int_equal(try_it(says), 0);
	assert_int_equal(verdict.result, MONITOR_FAILURE);
	assert_int_equal(client.n, GSS_STEPS_MAX + 1);
}

static void
strict_acceptor(void **state)
{
	static const struct said nothing[] = { { 0, NULL } };
	char host[256] = "";

	(void)state;
	assert_int_equal(gethostname(host, sizeof host - 1), 0);
	login.conf.login.gssapi_strict_acceptor_check = 1;
	assert_int_equal(try_it(nothing), ERR_CANCELLED);
	assert_string_equal(gss_library.host, host);
	login.conf.login.gssapi_strict_acceptor_check = 0;
	assert_int_equal(try_it(nothing), ERR_CANCELLED);
	assert_string_equal(gss_library.host, "");
}

/* Without a key, or when its turn is not yet, there is no dialogue. */
static void
no_dialogue(void **state)
{
	static const struct said nothing[] = { { 0, NULL } };

	(void)state;
	gss_library.no_key = true;
	assert_int_equal(try_it(nothing), 0);
	assert_int_equal(verdict.result, MONITOR_FAILURE);
	assert_int_equal(client.n, 0);
	gss_library.no_key = false;
	gss_login_methods("publickey");
	assert_int_equal(try_it(nothing), 0);
	assert_int_equal(verdict.result, MONITOR_FAILURE);
	assert_int_equal(client.n, 0);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, gss_login_teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_token),
		TEST(several_tokens),
		TEST(refusals),
		TEST(errors_are_sent),
		TEST(rules_are_kept),
		TEST(dropped),
		TEST(tokens_are_limited),
		TEST(strict_acceptor),
		TEST(no_dialogue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
