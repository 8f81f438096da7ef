/* SPDX-License-Identifier: ISC */
/* Monitors that find each other: names, who may come, and the messages. */
#include "regress/unit/help.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/str.h"
#include "server/monitor/rendezvous-wire.h"
#include "server/monitor/rendezvous.h"

static char top[] = "/tmp/test-rv-XXXXXX";
static char path[64], other[64];

static int
set_up(void **state)
{
	(void)state;
	log_set_level(LOG_LVL_QUIET);
	assert_non_null(mkdtemp(top));
	snprintf(path, sizeof path, "%s/place", top);
	snprintf(other, sizeof other, "%s/other", top);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	rmdir(path);
	unlink(other);
	rmdir(top);
	return 0;
}

static void
the_directory(void **state)
{
	int dir;

	(void)state;
	assert_int_equal(rendezvous_open_at(path, geteuid(), &dir), 0);
	fd_close(&dir);
	assert_int_equal(rendezvous_open_at(path, geteuid(), &dir), 0);
	fd_close(&dir);
	assert_int_equal(rendezvous_open_at(path, geteuid() + 1, &dir),
	    ERR_PERMISSION);
	assert_int_equal(dir, -1);
	assert_int_equal(chmod(path, 0750), 0);
	assert_int_equal(rendezvous_open_at(path, geteuid(), &dir),
	    ERR_PERMISSION);
	assert_int_equal(chmod(path, 0700), 0);
	/* A link is not followed, nor a file taken. */
	assert_int_equal(symlink(path, other), 0);
	assert_int_equal(rendezvous_open_at(other, geteuid(), &dir),
	    ERR_SYSTEM);
}

/* In a child: asks, and ends with 0 if the answer is the one that is
 * expected. */
static pid_t
ask_in_a_child(int dir, const uint8_t *handle, const char *question,
    const char *want)
{
	pid_t pid = fork();
	struct buf q = { 0 }, a = { 0 };
	int fd, r;

	if (pid != 0)
		return pid;
	buf_printf(&q, "%s", question);
	r = rendezvous_ask(dir, (struct span){ handle,
		RENDEZVOUS_HANDLE_LEN }, &q, &a, &fd);
	_exit(r != 0 || buf_len(&a) != strlen(want) ||
	    memcmp(buf_data(&a), want, strlen(want)) != 0);
}

/* Names of the dead go, but not those that may just be made; who listens does
 * not hear of it. */
static void
names_of_the_dead(void **state)
{
	static const struct timespec old[2];
	uint8_t handle[RENDEZVOUS_HANDLE_LEN];
	enum { LIVE, DEAD, YOUNG, NAMES };
	struct buf question = { 0 };
	char *name[NAMES];
	int dir, fd[NAMES], asked;

	(void)state;
	assert_int_equal(rendezvous_open_at(path, geteuid(), &dir), 0);
	for (int i = 0; i < NAMES; i++) {
		assert_int_equal(rendezvous_listen(dir, handle, &fd[i]), 0);
		name[i] = str_hex(handle, sizeof handle);
	}
	fd_close(&fd[DEAD]);
	fd_close(&fd[YOUNG]);
	assert_int_equal(utimensat(dir, name[LIVE], old, 0), 0);
	assert_int_equal(utimensat(dir, name[DEAD], old, 0), 0);
	rendezvous_sweep(dir, 0);
	assert_int_equal(faccessat(dir, name[DEAD], F_OK, 0), 0);
	rendezvous_sweep(dir, 100);
	assert_int_equal(faccessat(dir, name[LIVE], F_OK, 0), 0);
	assert_int_equal(faccessat(dir, name[DEAD], F_OK, 0), -1);
	assert_int_equal(faccessat(dir, name[YOUNG], F_OK, 0), 0);
	assert_int_equal(rendezvous_accept(fd[LIVE], &asked, &question),
	    ERR_SYSTEM);
	fd_close(&fd[LIVE]);
	for (int i = 0; i < NAMES; i++) {
		(void)unlinkat(dir, name[i], 0);
		free(name[i]);
	}
	fd_close(&dir);
}

static void
a_question(void **state)
{
	uint8_t handle[RENDEZVOUS_HANDLE_LEN];
	struct buf question = { 0 }, answer = { 0 }, long_one = { 0 };
	int dir, listening, fd, status;
	struct span name = { handle, sizeof handle };
	pid_t pid;

	(void)state;
	assert_int_equal(rendezvous_open_at(path, geteuid(), &dir), 0);
	assert_int_equal(rendezvous_listen(dir, handle, &listening), 0);
	pid = ask_in_a_child(dir, handle, "who?", "me");
	while (rendezvous_accept(listening, &fd, &question) != 0)
		continue; /* it does not wait */
	assert_int_equal(buf_len(&question), 4);
	buf_printf(&answer, "me");
	assert_int_equal(rendezvous_answer(fd, &answer), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	fd_close(&fd);
	/* Nobody listens any more, and who finds that removes the name. */
	fd_close(&listening);
	assert_int_equal(rendezvous_ask(dir, name, &question, &answer, &fd),
	    ERR_NOT_FOUND);
	assert_int_equal(fd, -1);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	fd_close(&dir);
	/* One that ends well leaves nothing. */
	assert_int_equal(rendezvous_open_at(path, geteuid(), &dir), 0);
	assert_int_equal(rendezvous_listen(dir, handle, &listening), 0);
	rendezvous_forget(dir, handle);
	fd_close(&listening);
	assert_int_equal(rendezvous_ask(dir, name, &question, &answer, &fd),
	    ERR_NOT_FOUND);
	name.len--;
	assert_int_equal(rendezvous_ask(dir, name, &question, &answer, &fd),
	    ERR_NOT_FOUND);
	fd_close(&dir);
	buf_clear(&question);
	buf_clear(&answer);
	buf_clear(&long_one);
}

/* Whoever shows names that are made up makes a monitor look for them: that
 * costs no memory, and leaves nothing. */
static void
names_of_nobody(void **state)
{
	uint8_t handle[RENDEZVOUS_HANDLE_LEN] = { 0 };
	struct span name = { handle, sizeof handle };
	struct buf question = { 0 }, answer = { 0 };
	int dir, fd;

	(void)state;
	assert_int_equal(rendezvous_open_at(path, geteuid(), &dir), 0);
	buf_printf(&question, "who?");
	for (int i = 0; i < 10000; i++) {
		memcpy(handle, &i, sizeof i);
		assert_int_equal(rendezvous_ask(dir, name, &question, &answer,
				     &fd), ERR_NOT_FOUND);
		assert_int_equal(fd, -1);
		assert_int_equal(buf_len(&answer), 0);
	}
	/* Nothing is in it. */
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	fd_close(&dir);
	buf_clear(&question);
}

/* ---- messages ----------------------------------------------------------- */

static struct span
s(const char *text)
{
	return (struct span){ (const uint8_t *)text, strlen(text) };
}

static void
the_question(void **state)
{
	const struct rendezvous_question q = { .serial = s("12345678"),
		.proof = s("proof"), .data = s("data"), .kind = 'p',
		.uid = 4000000000U, .user = s("user"),
		.address = s("::1"), .hostkey = s("key") };
	struct rendezvous_question got;
	struct buf b = { 0 };

	(void)state;
	rendezvous_put_question(&b, &q);
	assert_int_equal(rendezvous_get_question(rd_from_buf(&b), &got), 0);
	assert_true(span_equals(got.serial, "12345678") &&
	    span_equals(got.proof, "proof") && span_equals(got.data, "data") &&
	    span_equals(got.user, "user") && span_equals(got.address, "::1") &&
	    span_equals(got.hostkey, "key"));
	assert_int_equal(got.kind, 'p');
	assert_int_equal(got.uid, 4000000000U);
	for (size_t n = 0; n < buf_len(&b); n++)
		assert_true(rendezvous_get_question(rd_from(buf_data(&b), n),
				&got) < 0);
	buf_put_u8(&b, 0);
	assert_int_equal(rendezvous_get_question(rd_from_buf(&b), &got),
	    ERR_TRAILING);
	/* Another version is known as such, whatever follows. */
	assert_int_equal(rendezvous_get_question(rd_from("\2", 1), &got),
	    ERR_UNSUPPORTED);
	buf_clear(&b);
}

static void
the_answer(void **state)
{
	struct rendezvous_answer a = { .verdict = RENDEZVOUS_GOOD,
		.age_ms = 7, .pid = 9,
		.proofs = { { s("publickey"), s("blob") },
		    { s("keyboard-interactive"), { NULL, 0 } } },
		.n = 2, .auth_info = s("lines\n") }, got;
	struct buf b = { 0 };

	(void)state;
	rendezvous_put_answer(&b, &a);
	assert_int_equal(rendezvous_get_answer(rd_from_buf(&b), false, &got),
	    0);
	assert_int_equal(got.verdict, RENDEZVOUS_GOOD);
	assert_int_equal(got.age_ms, 7);
	assert_int_equal(got.pid, 9);
	assert_int_equal(got.n, 2);
	assert_true(span_equals(got.proofs[0].key, "blob") &&
	    span_equals(got.proofs[1].method, "keyboard-interactive") &&
	    got.proofs[1].key.len == 0 &&
	    span_equals(got.auth_info, "lines\n"));
	for (size_t n = 0; n < buf_len(&b); n++)
		assert_true(rendezvous_get_answer(rd_from(buf_data(&b), n),
				false, &got) < 0);
	buf_clear(&b);
	for (int v = RENDEZVOUS_UNKNOWN; v < RENDEZVOUS_VERDICTS; v++) {
		a.verdict = (enum rendezvous_verdict)v;
		rendezvous_put_answer(&b, &a);
		assert_int_equal(buf_len(&b), 2);
		assert_int_equal(rendezvous_get_answer(rd_from_buf(&b), false,
				     &got), 0);
		assert_int_equal(got.verdict, v);
		assert_true(*rendezvous_verdict_text(got.verdict) != '\0');
		buf_clear(&b);
	}
	assert_int_equal(rendezvous_get_answer(rd_from("\1\7", 2), false,
			     &got),
	    ERR_FORMAT);
	assert_int_equal(rendezvous_get_answer(rd_from("\2\0more", 6),
			     false, &got),
	    0);
	assert_int_equal(got.verdict, RENDEZVOUS_OTHER_VERSION);
	/* More methods than there may be. */
	buf_put(&b, "\1\0", 2);
	buf_put_u64(&b, 0);
	buf_put_u32(&b, 0);
	buf_put_u32(&b, RENDEZVOUS_PROOFS_MAX + 1);
	assert_int_equal(rendezvous_get_answer(rd_from_buf(&b), false, &got),
	    ERR_LIMIT);
	buf_clear(&b);
}

/* A login by a grant is confined by the answer's scope. So an answer that lost
 * it, or that is about something else, is refused. */
static void
the_scope(void **state)
{
	struct rendezvous_answer a = { .verdict = RENDEZVOUS_GOOD,
		.proofs = { { s("publickey"), s("blob") } },
		.n = 1 }, got;
	struct buf with = { 0 }, without = { 0 }, empty = { 0 };

	(void)state;
	rendezvous_put_answer(&without, &a);
	buf_put(&empty, buf_data(&without), buf_len(&without));
	buf_put_string(&empty, "", 0);
	a.scope = s("scope");
	rendezvous_put_answer(&with, &a);
	assert_int_equal(rendezvous_get_answer(rd_from_buf(&with), true,
			     &got), 0);
	assert_true(span_equals(got.scope, "scope"));
	assert_int_equal(rendezvous_get_answer(rd_from_buf(&without), false,
			     &got), 0);
	assert_int_equal(got.scope.len, 0);
	assert_true(rendezvous_get_answer(rd_from_buf(&with), false, &got) < 0);
	assert_true(rendezvous_get_answer(rd_from_buf(&without), true,
			&got) < 0);
	assert_int_equal(rendezvous_get_answer(rd_from_buf(&empty), true,
			     &got), ERR_FORMAT);
	assert_true(rendezvous_get_answer(rd_from_buf(&empty), false,
			&got) < 0);
	for (size_t n = 0; n < buf_len(&with); n++)
		assert_true(rendezvous_get_answer(rd_from(buf_data(&with), n),
				true, &got) < 0);
	buf_clear(&with);
	buf_clear(&without);
	buf_clear(&empty);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_directory),
		cmocka_unit_test(names_of_the_dead),
		cmocka_unit_test(a_question),
		cmocka_unit_test(names_of_nobody),
		cmocka_unit_test(the_question),
		cmocka_unit_test(the_answer),
		cmocka_unit_test(the_scope),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
