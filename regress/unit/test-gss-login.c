/* SPDX-License-Identifier: ISC */
/* The process that asks GSSAPI: whatever becomes of it, the client goes on. In
 * place of the library is one that does what the name of the host says. */
#include "regress/unit/help.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/auth/gss-login.h"
#include "gss/gss-wire.h"

/* ---- in place of gss/gss.c, in the child --------------------------------- */

struct gss_initiator {
	const char *host;
	int steps;
};

int
gss_initiator_new(struct gss_initiator **out, const struct gss_request *request,
    char **why)
{
	static struct gss_initiator i;

	i.host = request->host;
	*out = &i;
	*why = NULL;
	if (strcmp(request->host, "none") != 0)
		return 0;
	*why = strdup("no credentials cache found");
	return ERR_DENIED;
}

void
gss_initiator_free(struct gss_initiator *i)
{
	(void)i;
}

int
gss_initiator_step(struct gss_initiator *i, struct span token,
    struct gss_proof *out, char **why)
{
	const char *text;

	*why = NULL;
	*out = (struct gss_proof){ .complete = false };
	if (strcmp(i->host, "hangs") == 0)
		sleep(1000);
	if (strcmp(i->host, "dies") == 0)
		_exit(3);
	i->steps++;
	if (strcmp(i->host, "hangs later") == 0 && i->steps == 2)
		sleep(1000);
	text = i->steps == 1 ? "first" : "second";
	buf_put(&out->token, text, strlen(text));
	out->complete = strcmp(i->host, "one") == 0 ||
	    (i->steps == 2 && span_equals(token, "answer"));
	out->delegated = out->complete;
	if (out->complete)
		buf_put(&out->mic, "mic", 3);
	return 0;
}

int
gss_initiator_sign(struct gss_initiator *i, struct span data, struct buf *mic,
    char **why)
{
	(void)i;
	*why = NULL;
	buf_put(mic, "MIC of ", 7);
	buf_put(mic, data.p, data.len);
	return 0;
}

int
gss_initiator_verify(struct gss_initiator *i, struct span data,
    struct span mic, char **why)
{
	(void)i;
	*why = NULL;
	if (span_equals(data, "hash") && span_equals(mic, "mic"))
		return 0;
	*why = strdup("Message stream modified");
	return ERR_DENIED;
}

/* ---- tests --------------------------------------------------------------- */

static int
begin(const char *host, int limit_s, struct gss_login **l,
    struct gss_proof *p, char **why)
{
	const struct gss_request request = { .host = host };

	*l = NULL;
	return gss_login_start(l, &request, limit_s, p, why);
}

static void
assert_is(const struct buf *b, const char *text)
{
	assert_true(span_equals(buf_span(b), text));
}

/* No process is left of it. */
static void
assert_no_child(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void
one_step(void **state)
{
	struct gss_proof p;
	struct gss_login *l;
	char *why;

	(void)state;
	assert_int_equal(begin("one", 60, &l, &p, &why), 0);
	assert_is(&p.token, "first");
	assert_is(&p.mic, "mic");
	assert_true(p.complete && p.delegated);
	gss_proof_clear(&p);
	free(why);
	gss_login_end(l);
	assert_no_child();
}

static void
two_steps(void **state)
{
	struct gss_proof p;
	struct gss_login *l;
	char *why;

	(void)state;
	assert_int_equal(begin("two", 60, &l, &p, &why), 0);
	assert_false(p.complete);
	assert_int_equal(buf_len(&p.mic), 0);
	gss_proof_clear(&p);
	free(why);
	assert_int_equal(gss_login_step(l, span_text("answer"), &p, &why), 0);
	assert_is(&p.token, "second");
	assert_true(p.complete);
	gss_proof_clear(&p);
	free(why);
	gss_login_end(l);
	assert_no_child();
}

static void
reasons_come_through(void **state)
{
	struct gss_proof p;
	struct gss_login *l;
	char *why;

	(void)state;
	assert_int_equal(begin("none", 60, &l, &p, &why), ERR_DENIED);
	assert_null(l);
	assert_string_equal(why, "no credentials cache found");
	free(why);
	gss_proof_clear(&p);
	assert_no_child();
}

/* A KDC that does not answer, a library that crashes. */
static void
it_ends(void **state)
{
	uint64_t began_ms = clock_ms();
	struct gss_proof p;
	struct gss_login *l;
	char *why;

	(void)state;
	assert_int_equal(begin("hangs", 1, &l, &p, &why), ERR_TIMEOUT);
	assert_null(l);
	gss_proof_clear(&p);
	assert_true(begin("dies", 60, &l, &p, &why) < 0);
	assert_null(l);
	gss_proof_clear(&p);
	assert_int_equal(begin("hangs later", 1, &l, &p, &why), 0);
	free(why);
	gss_proof_clear(&p);
	assert_int_equal(gss_login_step(l, span_text("x"), &p, &why),
	    ERR_TIMEOUT);
	gss_proof_clear(&p);
	gss_login_end(l);
	assert_true(clock_ms() - began_ms < 30 * 1000);
	assert_no_child();
}

static void
tokens_have_a_limit(void **state)
{
	static const uint8_t large[GSS_TOKEN_MAX + 1];
	struct gss_proof p;
	struct gss_login *l;
	char *why;

	(void)state;
	assert_int_equal(begin("two", 60, &l, &p, &why), 0);
	free(why);
	gss_proof_clear(&p);
	assert_int_equal(gss_login_step(l,
			     (struct span){ large, sizeof large }, &p, &why),
	    ERR_LIMIT);
	gss_login_end(l);
	assert_no_child();
}

/* Of a context that stands, and with the words of the library. */
static void
macs(void **state)
{
	struct buf mic = { 0 };
	struct gss_proof p;
	struct gss_login *l;
	char *why;

	(void)state;
	assert_int_equal(begin("one", 60, &l, &p, &why), 0);
	free(why);
	gss_proof_clear(&p);
	assert_int_equal(gss_login_sign(l, span_text("data"), &mic, &why), 0);
	assert_is(&mic, "MIC of data");
	free(why);
	assert_int_equal(gss_login_verify(l, span_text("hash"),
			     span_text("mic"), &why), 0);
	free(why);
	assert_int_equal(gss_login_verify(l, span_text("hash"),
			     span_text("MIC"), &why), ERR_DENIED);
	assert_string_equal(why, "Message stream modified");
	free(why);
	gss_login_end(l);
	buf_clear(&mic);
	assert_no_child();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_step),
		cmocka_unit_test(two_steps),
		cmocka_unit_test(reasons_come_through),
		cmocka_unit_test(it_ends),
		cmocka_unit_test(tokens_have_a_limit),
		cmocka_unit_test(macs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
