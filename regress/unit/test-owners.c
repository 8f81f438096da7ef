/* SPDX-License-Identifier: ISC */
/*
 * Names of owners, asked of a process that holds nothing: who hangs is not
 * waited for, a late answer is none to the next question, what could do
 * something to a terminal is no name, and in a root directory of the user's
 * only owners of files that were shown have one. The system that is asked is
 * this program's.
 */
#include "regress/unit/help.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lookup.h"
#include "base/mem.h"
#include "base/owners.h"
#include "compat/bsd.h"
#include "compat/file.h"
#include "compat/sock.h"

enum {
	ANN = 71001,
	SLOW,	 /* answers once there is a file "go" */
	NOBODY,	 /* has no name */
	COUNTS,	 /* its name tells how many descriptors are open */
	LONGEST, /* has the longest name */
	TERMINAL, /* and those behind it: names[] */
	TRIES = 3000,
	TRY_US = 10 * 1000,
	STARTER_MAX = 8, /* processes of a starter */
	FDS = 256,
};

/* One that could be cut to another user's name. */
static char too_long[OWNERS_NAME_MAX + 1], longest[OWNERS_NAME_MAX] =
    "two words and more";
static const char *const names[] = { "\033[2J", "two\nlines", "a:b",
	"a\tb", "rub\177out", "", too_long };

/* ---- the system --------------------------------------------------------- */

/* What comes over a socket comes in pieces, as it may anywhere. */
ssize_t
recv(int fd, void *p, size_t len, int flags)
{
	enum { PIECE = 100 };

	return recvfrom(fd, p, MIN(len, (size_t)PIECE), flags, NULL, NULL);
}

static char go[128];
static char text[64];

static const char *
count_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < FDS; fd++)
		n += fcntl(fd, F_GETFD) != -1;
	snprintf(text, sizeof text, "has-%d", n);
	return text;
}

static const char *
name_of(uint32_t id)
{
	if (id == NOBODY)
		return NULL;
	if (id == COUNTS)
		return count_descriptors();
	if (id == LONGEST)
		return longest;
	if (id >= TERMINAL && id - TERMINAL < ARRAY_LEN(names))
		return names[id - TERMINAL];
	for (int i = 0; id == SLOW && i < TRIES && access(go, F_OK) == -1; i++)
		usleep(TRY_US);
	snprintf(text, sizeof text, "n%u", (unsigned)id);
	return text;
}

struct passwd *
getpwuid(uid_t uid)
{
	static struct passwd pw;

	pw.pw_name = (char *)(uintptr_t)name_of(uid);
	return pw.pw_name != NULL ? &pw : NULL;
}

struct group *
getgrgid(gid_t gid)
{
	static struct group gr;

	gr.gr_name = (char *)(uintptr_t)name_of(gid);
	return gr.gr_name != NULL ? &gr : NULL;
}

struct passwd *
getpwnam(const char *name)
{
	static char home[] = "/home/ann";
	static struct passwd pw = { .pw_dir = home, .pw_uid = ANN };

	return strcmp(name, "ann") == 0 ? &pw : NULL;
}

struct group *
getgrnam(const char *name)
{
	static struct group gr = { .gr_gid = ANN + 1 };

	return strcmp(name, "ann") == 0 ? &gr : NULL;
}

/* ---- asked here --------------------------------------------------------- */

static char name[OWNERS_NAME_MAX];

static bool
ask_file(struct owners *o, enum owners_kind kind, uint32_t id, int file)
{
	strlcpy(name, "before", sizeof name);
	return owners_name(o, kind, id, file, name);
}

static bool
ask(struct owners *o, uint32_t id)
{
	return ask_file(o, OWNERS_USER, id, -1);
}

/* On a busy machine an answer may come late without being wrong. */
static bool
told_file(struct owners *o, enum owners_kind kind, uint32_t id, int file)
{
	for (int i = 0; i < TRIES; i++) {
		if (ask_file(o, kind, id, file))
			return true;
		usleep(TRY_US);
	}
	return false;
}

static bool
told(struct owners *o, uint32_t id)
{
	return told_file(o, OWNERS_USER, id, -1);
}

static bool
told_home(struct owners *o, const char *user, char home[OWNERS_HOME_MAX])
{
	for (int i = 0; i < TRIES; i++) {
		if (owners_home(o, user, home))
			return true;
		usleep(TRY_US);
	}
	return false;
}

static struct owners *
make(void)
{
	struct owners *o = owners_new();

	assert_non_null(o);
	return o;
}

/* Unknown is told as that: no name, and nobody else's. */
static void
test_known_and_unknown(void **state)
{
	struct owners *o = make();
	char home[OWNERS_HOME_MAX] = "before";

	(void)state;
	assert_true(told(o, ANN));
	assert_string_equal(name, "n71001");
	assert_true(owners_knows(o, OWNERS_USER, ANN));
	assert_false(owners_knows(o, OWNERS_GROUP, ANN));
	assert_true(told_file(o, OWNERS_GROUP, ANN, -1));
	assert_string_equal(name, "n71001");
	assert_false(ask(o, NOBODY));
	assert_string_equal(name, "before");
	assert_false(owners_knows(o, OWNERS_USER, 0));
	assert_false(owners_home(o, "nobody-has-this", home));
	assert_string_equal(home, "before");
	assert_true(told_home(o, "ann", home));
	assert_string_equal(home, "/home/ann");
	owners_free(o);
}

static bool
told_id(struct owners *o, enum owners_kind kind, uint32_t *id)
{
	for (int i = 0; i < TRIES; i++) {
		if (owners_id(o, kind, "ann", id))
			return true;
		usleep(TRY_US);
	}
	return false;
}

/* Who is unknown has no id, least of all 0. */
static void
test_ids(void **state)
{
	struct owners *o = make();
	char asked[OWNERS_ASKED_MAX + 2];
	uint32_t id = NOBODY;

	(void)state;
	assert_true(told_id(o, OWNERS_USER, &id));
	assert_int_equal(id, ANN);
	assert_true(told_id(o, OWNERS_GROUP, &id));
	assert_int_equal(id, ANN + 1);
	assert_false(owners_id(o, OWNERS_USER, "bob", &id));
	memset(asked, 'a', sizeof asked);
	asked[OWNERS_ASKED_MAX + 1] = '\0';
	assert_false(owners_id(o, OWNERS_USER, asked, &id));
	assert_int_equal(id, ANN + 1);
	assert_false(owners_may_name(asked, OWNERS_ASKED_MAX + 1));
	assert_true(owners_may_name(asked, OWNERS_ASKED_MAX));
	assert_true(owners_may_name("two words", 9));
	assert_false(owners_may_name("", 0));
	assert_false(owners_may_name("a:b", 3));
	assert_false(owners_may_name("a\n", 2));
	assert_false(owners_may_name("a\0b", 3));
	assert_false(owners_may_name("\177", 1));
	owners_free(o);
}

static void
test_names_that_are_none(void **state)
{
	struct owners *o;

	(void)state;
	memset(too_long, 'x', sizeof too_long - 1);
	memset(longest + strlen(longest), 'y',
	    sizeof longest - 1 - strlen(longest));
	o = make();
	assert_true(told(o, LONGEST));
	assert_string_equal(name, longest);
	for (uint32_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_false(ask(o, TERMINAL + i));
		assert_false(ask_file(o, OWNERS_GROUP, TERMINAL + i, -1));
		assert_string_equal(name, "before");
	}
	owners_free(o);
}

/* Null three times, and its end of the socket. */
static void
test_holds_nothing(void **state)
{
	struct owners *o = make();
	int kept[2];

	(void)state;
	assert_int_equal(pipe(kept), 0);
	assert_true(told(o, COUNTS));
	assert_string_equal(name, "has-4");
	close(kept[0]);
	close(kept[1]);
	owners_free(o);
}

/* ---- late --------------------------------------------------------------- */

static void
test_one_that_hangs(void **state)
{
	struct owners *o = make();

	(void)state;
	assert_false(ask(o, SLOW)); /* comes back, which is what is tested */
	assert_int_equal(access(go, F_OK), -1);
	for (int i = 0; i < 20; i++)
		assert_false(ask(o, ANN)); /* each waits for nothing */
	free(temp_file("go", ""));
	assert_true(told(o, ANN));
	assert_string_equal(name, "n71001");
	assert_true(owners_knows(o, OWNERS_USER, SLOW));
	assert_true(told(o, SLOW));
	assert_string_equal(name, "n71002");
	assert_int_equal(unlink(go), 0);
	owners_free(o);
}

/* ---- a process that answers wrongly ------------------------------------- */

struct message {
	uint32_t kind, id;
	char text[OWNERS_HOME_MAX];
};

/* Is user ANN told by that message, which is there already? */
static bool
told_by(const struct message *m, size_t len)
{
	struct owners *o = make();
	bool good;
	int ends[2];

	assert_int_equal(sock_pair(SOCK_STREAM, ends), 0);
	assert_int_equal(send(ends[1], m, len, 0), (ssize_t)len);
	if (len < sizeof *m) /* the process has ended in the midst of it */
		assert_int_equal(shutdown(ends[1], SHUT_WR), 0);
	owners_moved(o, ends[0]);
	good = ask(o, ANN);
	/* It is not asked again. */
	assert_true(good || owners_start(o) == -1);
	owners_free(o);
	close(ends[1]);
	return good;
}

static void
test_wrong_answers(void **state)
{
	struct message m = { OWNERS_USER, ANN, "ann" };

	(void)state;
	assert_true(told_by(&m, sizeof m));
	assert_string_equal(name, "ann");
	assert_false(told_by(&m, sizeof m - 1));
	m.id = 0;
	assert_false(told_by(&m, sizeof m));
	m.id = ANN;
	m.kind = OWNERS_GROUP;
	assert_false(told_by(&m, sizeof m));
	m.kind = OWNERS_USER;
	memset(m.text, 'a', sizeof m.text);
	assert_false(told_by(&m, sizeof m));
}

/* ---- in a root directory of the user's ---------------------------------- */

static void
stay(const void *arg)
{
	(void)arg;
}

static void
starter_begin(void)
{
	assert_int_equal(lookup_begin(stay, NULL), 0);
}

static void
starter_end(void)
{
	lookup_end();
	assert_true(wait(NULL) > 0);
}

static void
test_only_what_is_shown(void **state)
{
	char *path = temp_file("shown", ""), home[OWNERS_HOME_MAX];
	int file = open(path, FILE_ITSELF | O_CLOEXEC);
	struct owners *o;
	struct stat st;
	char own[OWNERS_NAME_MAX];

	(void)state;
	assert_int_equal(fstat(file, &st), 0);
	starter_begin();
	o = make();
	snprintf(own, sizeof own, "n%u", (unsigned)st.st_uid);
	assert_false(ask(o, st.st_uid));
	assert_false(owners_knows(o, OWNERS_USER, st.st_uid));
	assert_false(ask_file(o, OWNERS_USER, ANN, file));
	assert_true(told_file(o, OWNERS_USER, st.st_uid, file));
	assert_string_equal(name, own);
	assert_true(told_file(o, OWNERS_GROUP, st.st_gid, -1));
	assert_false(ask(o, ANN));
	assert_false(ask_file(o, OWNERS_GROUP, ANN, -1));
	assert_false(owners_home(o, "ann", home));
	assert_false(owners_id(o, OWNERS_USER, "ann", &(uint32_t){ 0 }));
	assert_false(owners_id(o, OWNERS_GROUP, "ann", &(uint32_t){ 0 }));
	owners_free(o);
	starter_end();
	close(file);
	unlink(path);
	free(path);
}

/* One more than a starter has at a time has no names; there is room again
 * when another one has ended. */
static void
test_processes_of_a_starter(void **state)
{
	char *path = temp_file("shown", "");
	int file = open(path, FILE_ITSELF | O_CLOEXEC);
	struct owners *o[STARTER_MAX], *more;
	bool room = false;

	(void)state;
	starter_begin();
	for (size_t i = 0; i < ARRAY_LEN(o); i++) {
		o[i] = make();
		assert_true(told_file(o[i], OWNERS_USER, geteuid(), file));
	}
	more = make();
	assert_false(ask_file(more, OWNERS_USER, geteuid(), file));
	owners_free(more);
	owners_free(o[0]);
	for (int i = 0; i < TRIES && !room; i++) {
		more = make();
		room = ask_file(more, OWNERS_USER, geteuid(), file);
		owners_free(more);
		usleep(TRY_US);
	}
	assert_true(room);
	for (size_t i = 1; i < ARRAY_LEN(o); i++)
		owners_free(o[i]);
	starter_end();
	close(file);
	unlink(path);
	free(path);
}

static int
set_up(void **state)
{
	int r = temp_make(state);

	snprintf(go, sizeof go, "%s/go", temp_dir);
	return r;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_and_unknown),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_names_that_are_none),
		cmocka_unit_test(test_holds_nothing),
		cmocka_unit_test(test_one_that_hangs),
		cmocka_unit_test(test_wrong_answers),
		cmocka_unit_test(test_only_what_is_shown),
		cmocka_unit_test(test_processes_of_a_starter),
	};

	return cmocka_run_group_tests(tests, set_up, temp_remove);
}
