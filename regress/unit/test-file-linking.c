/* SPDX-License-Identifier: ISC */
/* The steps of a link: which may follow which, and what is noted of an answer
 * until the loop takes the next step. */
#include "regress/unit/hex.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "xfer/state/transfer-state.h"

static struct xfer x;
static struct xfer_file f;

static void
begin(void)
{
	xfer_linking_forget(&f);
	memset(&x, 0, sizeof x);
	memset(&f, 0, sizeof f);
	TAILQ_INIT(&x.files.touched);
	f.x = &x;
}

/* Begins a step, with its only request. */
static void
step(enum xfer_link_step s)
{
	xfer_linking_step(&f, s);
	f.pending++;
}

static void
answer(int err, uint32_t status)
{
	const struct sftp_reply reply = { .err = err, .status = status,
		.type = SFTP_STATUS, .words = "the server's words" };

	xfer_linking_answered(&f, &reply);
}

/* Ways on which links are made, each to its end. */
static void
test_ways(void **state)
{
	static const enum xfer_link_step ways[][10] = {
		{ XFER_LINK_READ },
		{ XFER_LINK_ATTRS },
		{ XFER_LINK_MAKE },
		{ XFER_LINK_MAKE, XFER_LINK_ATTRS },
		{ XFER_LINK_MAKE, XFER_LINK_WAY, XFER_LINK_BESIDE,
		    XFER_LINK_RENAME, XFER_LINK_ATTRS },
		{ XFER_LINK_MAKE, XFER_LINK_LOOK, XFER_LINK_WAY,
		    XFER_LINK_BESIDE, XFER_LINK_RENAME, XFER_LINK_TIDY },
		{ XFER_LINK_MAKE, XFER_LINK_WAY, XFER_LINK_BESIDE,
		    XFER_LINK_BESIDE_LOOK, XFER_LINK_BESIDE_REMOVE,
		    XFER_LINK_BESIDE, XFER_LINK_BESIDE_LOOK, XFER_LINK_BESIDE,
		    XFER_LINK_RENAME, XFER_LINK_BESIDE },
		{ XFER_LINK_MAKE, XFER_LINK_WAY, XFER_LINK_CLEAR,
		    XFER_LINK_CLEAR, XFER_LINK_MAKE_AGAIN, XFER_LINK_CLEAR,
		    XFER_LINK_MAKE_AGAIN, XFER_LINK_ATTRS },
		{ XFER_LINK_MOVE_LOOK, XFER_LINK_MOVE, XFER_LINK_MOVE_SOURCE,
		    XFER_LINK_MOVE, XFER_LINK_MOVE_SOURCE },
		{ XFER_LINK_MOVE_LOOK, XFER_LINK_MOVE_WAY, XFER_LINK_MOVE },
		{ XFER_LINK_MOVE_LOOK, XFER_LINK_MOVE_WAY,
		    XFER_LINK_MOVE_THERE, XFER_LINK_MOVE_CLEAR,
		    XFER_LINK_MOVE_CLEAR, XFER_LINK_MOVE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
		begin();
		for (size_t j = 0; j < 10 &&
		     ways[i][j] != XFER_LINK_NOTHING; j++) {
			step(ways[i][j]);
			assert_false(f.touched.is);
			answer(0, SFTP_OK);
			/* The answer begins nothing: the loop is told. */
			assert_int_equal(f.pending, 0);
			assert_true(f.touched.is);
			assert_ptr_equal(TAILQ_FIRST(&x.files.touched), &f);
			xfer_file_untouch(&f);
			assert_int_equal(xfer_linking_take(&f), ways[i][j]);
			assert_int_equal(xfer_linking_take(&f),
			    XFER_LINK_NOTHING);
		}
	}
}

static bool
may_follow(enum xfer_link_step from, enum xfer_link_step to)
{
	int status;
	pid_t pid;

	begin();
	f.linking.step = from;
	pid = fork();
	assert_int_not_equal(pid, -1);
	if (pid == 0) {
		const struct rlimit none = { 0, 0 };

		(void)setrlimit(RLIMIT_CORE, &none);
		close(STDERR_FILENO);
		xfer_linking_step(&f, to);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A step that does not belong behind another ends the program. */
static void
test_no_other_way(void **state)
{
	(void)state;
	for (unsigned i = 0; i <= XFER_LINK_ATTRS; i++) {
		assert_false(may_follow(i, XFER_LINK_NOTHING));
		/* Nothing follows when the link is there, or is made here. */
		assert_false(may_follow(XFER_LINK_READ, i));
		assert_false(may_follow(XFER_LINK_ATTRS, i));
	}
	assert_false(may_follow(XFER_LINK_RENAME, XFER_LINK_RENAME));
	assert_false(may_follow(XFER_LINK_MAKE, XFER_LINK_RENAME));
	assert_false(may_follow(XFER_LINK_MAKE, XFER_LINK_CLEAR));
	assert_false(may_follow(XFER_LINK_LOOK, XFER_LINK_CLEAR));
	/* The target goes only if there is something to replace it. */
	assert_false(may_follow(XFER_LINK_MOVE_WAY, XFER_LINK_MOVE_CLEAR));
}

static void
test_answers(void **state)
{
	const struct sftp_reply attrs = { .type = SFTP_ATTRS,
		.attrs = { .flags = SFTP_A_SIZE, .size = 7 } };
	const struct sftp_reply lost = { .err = ERR_CLOSED,
		.type = SFTP_ATTRS, .attrs = attrs.attrs };

	(void)state;
	begin();
	step(XFER_LINK_MAKE);
	answer(0, SFTP_FAILURE);
	assert_int_equal(f.linking.err, 0);
	assert_int_equal(f.linking.status, SFTP_FAILURE);
	assert_string_equal(f.linking.words, "the server's words");
	assert_int_equal(f.linking.found.flags, 0);
	step(XFER_LINK_LOOK);
	xfer_linking_answered(&f, &attrs);
	assert_int_equal(f.linking.status, SFTP_OK);
	assert_null(f.linking.words);
	assert_int_equal(f.linking.found.size, 7);
	step(XFER_LINK_WAY);
	xfer_linking_answered(&f, &lost); /* nothing is believed of it */
	assert_int_equal(f.linking.err, ERR_CLOSED);
	assert_int_equal(f.linking.found.flags, 0);
	/* The status of the first name counts when that was looked at. */
	step(XFER_LINK_BESIDE);
	answer(0, SFTP_PERMISSION_DENIED);
	xfer_linking_refused(&f);
	step(XFER_LINK_BESIDE_LOOK);
	answer(0, SFTP_NO_SUCH_FILE);
	assert_int_equal(f.linking.refused, SFTP_PERMISSION_DENIED);
	xfer_linking_cleared(&f);
	assert_true(f.linking.cleared);
	xfer_linking_beside(&f, 2);
	assert_false(f.linking.cleared);
	assert_int_equal(f.linking.number, 2);
	xfer_linking_forget(&f);
	assert_int_equal(xfer_linking_take(&f), XFER_LINK_NOTHING);
}

/* While the transfer is freed, answers that never came touch nothing. */
static void
test_cancelled(void **state)
{
	(void)state;
	begin();
	step(XFER_LINK_MAKE);
	answer(ERR_CANCELLED, 0);
	assert_int_equal(f.pending, 0);
	assert_false(f.touched.is);
}

static void
test_tries(void **state)
{
	unsigned n = 0;

	(void)state;
	begin();
	while (xfer_linking_again(&f))
		n++;
	assert_int_equal(n, 7);
	xfer_linking_beside(&f, 0); /* other names do not begin anew */
	assert_false(xfer_linking_again(&f));
	xfer_linking_forget(&f);
	assert_true(xfer_linking_again(&f));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_no_other_way),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_cancelled),
		cmocka_unit_test(test_tries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
