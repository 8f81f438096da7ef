/* SPDX-License-Identifier: ISC */
/* gssapi-with-mic in the monitor. The test is the client, and GSSAPI: a token
 * "go on" is answered, "done" completes the context, "done+" with an answer,
 * and any other is wrong; the right MIC is "mic". */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "gss/gss-wire.h"
#include "gss/gss.h"
#include "packet.h"
#include "server/monitor/login-internal.h"

/* ---- in place of gss/gss.c -------------------------------------------- */

struct gss_acceptor {
	bool complete;
};

static struct {
	bool no_key, not_the_user;
	int open;
	char host[256];
	struct buf signed_data;
	const char *asked_for; /* whose account */
} lib;

int
gss_acceptor_new(struct gss_acceptor **out, const char *host, char **why)
{
	*why = NULL;
	snprintf(lib.host, sizeof lib.host, "%s", host != NULL ? host : "");
	if (lib.no_key)
		return ERR_DENIED;
	*out = xcalloc(1, sizeof **out);
	lib.open++;
	return 0;
}

void
gss_acceptor_free(struct gss_acceptor *a)
{
	lib.open -= a != NULL;
	free(a);
}

int
gss_acceptor_step(struct gss_acceptor *a, struct span token, struct buf *out,
    bool *complete)
{
	*complete = span_equals(token, "done") || span_equals(token, "done+");
	a->complete = *complete;
	if (span_equals(token, "done"))
		return 0;
	if (*complete || span_equals(token, "go on")) {
		buf_put(out, "answer", 6);
		return 0;
	}
	buf_put(out, "error", 5);
	return ERR_DENIED;
}

int
gss_acceptor_verify(struct gss_acceptor *a, struct span data, struct span mic)
{
	buf_reset(&lib.signed_data);
	buf_put(&lib.signed_data, data.p, data.len);
	return a->complete && span_equals(mic, "mic") ? 0 : ERR_DENIED;
}

int
gss_acceptor_sign(struct gss_acceptor *a, struct span data, struct buf *mic)
{
	(void)a;
	(void)data;
	(void)mic;
	return ERR_DENIED;
}

const char *
gss_acceptor_error(const struct gss_acceptor *a)
{
	(void)a;
	return "clock skew";
}

const char *
gss_acceptor_principal(const struct gss_acceptor *a)
{
	return a->complete ? "me@REALM" : NULL;
}

bool
gss_acceptor_may_be(const struct gss_acceptor *a, const char *user)
{
	lib.asked_for = user;
	return a->complete && !lib.not_the_user;
}

bool
gss_acceptor_has_credentials(const struct gss_acceptor *a)
{
	(void)a;
	return false;
}

int
gss_acceptor_store(struct gss_acceptor *a, const char *path)
{
	(void)a;
	(void)path;
	return ERR_NOT_FOUND;
}

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

static struct login login;
static struct peer peer;
static struct monitor_verdict verdict;

static int
set_up(void **state)
{
	(void)state;
	log_set_level(LOG_LVL_QUIET);
	memset(&lib, 0, sizeof lib);
	memset(&client, 0, sizeof client);
	memset(&login, 0, sizeof login);
	peer = (struct peer){ .address = "192.0.2.7", .host = "192.0.2.7" };
	login = (struct login){ .name = "name", .service = "service",
		.user = user_self(), .peer = &peer, .name_ok = true,
		.allowed = true,
		.session_id = { (const uint8_t *)"id", 2 } };
	server_conf_init(&login.conf);
	assert_int_equal(server_conf_finish(&login.conf), 0);
	login.conf.login.gssapi_authentication = 1;
	login.conf.login.permit_root_login = SERVER_ROOT_PROHIBIT_PASSWORD;
	permits_init_conf(&login.permits, &login.conf);
	assert_int_equal(auth_methods_init(&login.methods,
			     &login.conf.login.authentication_methods,
			     "publickey,gssapi-with-mic"),
	    0);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	gss_acceptor_free(login.gss);
	assert_int_equal(lib.open, 0);
	auth_methods_clear(&login.methods);
	permits_clear(&login.permits);
	buf_clear(&login.auth_info);
	server_conf_clear(&login.conf);
	user_free(login.user);
	buf_clear(&lib.signed_data);
	monitor_verdict_clear(&verdict);
	return 0;
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
	struct buf want = { 0 };

	(void)state;
	assert_int_equal(try_it(says), 0);
	assert_int_equal(verdict.result, MONITOR_SUCCESS);
	assert_int_equal(client.n, 2);
	assert_int_equal(client.heard[0], RESPONSE);
	assert_int_equal(client.heard[1], 0); /* it is only waited for */
	gss_wire_put_signed(&want, login.session_id, "name", "service",
	    "gssapi-with-mic");
	assert_int_equal(buf_len(&want), buf_len(&lib.signed_data));
	assert_memory_equal(buf_data(&want), buf_data(&lib.signed_data),
	    buf_len(&want));
	buf_clear(&want);
	assert_non_null(login.gss);
	assert_string_equal(lib.asked_for, login.user->name);
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
	lib.not_the_user = true;
	assert_int_equal(try_it(says), 0);
	assert_int_equal(verdict.result, MONITOR_FAILURE);
	lib.not_the_user = false;
	login.allowed = false;
	assert_int_equal(try_it(says), 0);
	assert_int_equal(verdict.result, MONITOR_FAILURE);
	/* A name that is nobody's: the same messages; no account is asked. */
	login.name_ok = false;
	lib.asked_for = NULL;
	assert_int_equal(try_it(says), 0);
	assert_int_equal(client.n, 2);
	assert_int_equal(verdict.result, MONITOR_FAILURE);
	assert_null(lib.asked_for);
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
	assert_string_equal(lib.host, host);
	login.conf.login.gssapi_strict_acceptor_check = 0;
	assert_int_equal(try_it(nothing), ERR_CANCELLED);
	assert_string_equal(lib.host, "");
}

/* Without a key, or when its turn is not yet, there is no dialogue. */
static void
no_dialogue(void **state)
{
	static const struct said nothing[] = { { 0, NULL } };

	(void)state;
	lib.no_key = true;
	assert_int_equal(try_it(nothing), 0);
	assert_int_equal(verdict.result, MONITOR_FAILURE);
	assert_int_equal(client.n, 0);
	lib.no_key = false;
	auth_methods_clear(&login.methods);
	assert_int_equal(auth_methods_init(&login.methods,
			     &login.conf.login.authentication_methods,
			     "publickey"),
	    0);
	assert_int_equal(try_it(nothing), 0);
	assert_int_equal(verdict.result, MONITOR_FAILURE);
	assert_int_equal(client.n, 0);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
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
