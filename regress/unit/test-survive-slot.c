/* SPDX-License-Identifier: ISC */
/*
 * Slots of sessions without a client: as many as may be, by process and user;
 * those of who gives them back, or ends, are free.
 */
#include "regress/unit/help.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "server/monitor/survive-slot.h"

enum { MOST = 3, UID = 1000 };

static char path[] = "/tmp/test-survive-slot-XXXXXX";
static int dir;

static int
set_up(void **state)
{
	(void)state;
	if (mkdtemp(path) == NULL)
		return -1;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir == -1 ? -1 : 0;
}

static int
tear_down(void **state)
{
	(void)state;
	(void)unlinkat(dir, "detached-1000", 0);
	(void)unlinkat(dir, "detached-1001", 0);
	fd_close(&dir);
	return rmdir(path);
}

struct other {
	pid_t pid;
	int result;
};

/* A process that takes a slot, and has it until it is killed. */
static struct other
other_takes(uint32_t uid)
{
	struct other o = { 0 };
	int from[2], fd, r;

	assert_int_equal(pipe(from), 0);
	if ((o.pid = fork()) == 0) {
		if ((r = survive_slots_open(dir, uid, &fd)) == 0)
			r = survive_slot_take(fd, MOST);
		(void)!write(from[1], &r, sizeof r);
		for (;;)
			pause();
	}
	assert_true(o.pid > 0);
	assert_int_equal(read(from[0], &o.result, sizeof o.result),
	    sizeof o.result);
	close(from[0]);
	close(from[1]);
	return o;
}

static void
end(struct other *o)
{
	kill(o->pid, SIGKILL);
	assert_int_equal(waitpid(o->pid, NULL, 0), o->pid);
}

static void
test_slots(void **state)
{
	struct other o[MOST];
	int fd, fd_of_another;

	(void)state;
	for (int i = 0; i < MOST; i++) {
		o[i] = other_takes(UID);
		assert_int_equal(o[i].result, 0);
	}
	assert_int_equal(survive_slots_open(dir, UID, &fd), 0);
	assert_int_equal(survive_slot_take(fd, MOST), ERR_LIMIT);
	assert_int_equal(survive_slots_open(dir, UID + 1, &fd_of_another), 0);
	assert_int_equal(survive_slot_take(fd_of_another, MOST), 0);
	end(&o[1]);
	assert_int_equal(survive_slot_take(fd, MOST), 0);
	o[1] = other_takes(UID);
	assert_int_equal(o[1].result, ERR_LIMIT);
	end(&o[1]);
	survive_slot_give(fd);
	o[1] = other_takes(UID);
	assert_int_equal(o[1].result, 0);
	for (int i = 0; i < MOST; i++)
		end(&o[i]);
	fd_close(&fd);
	fd_close(&fd_of_another);
}

/* What is no file of ours is not opened. */
static void
test_no_file(void **state)
{
	int fd;

	(void)state;
	(void)unlinkat(dir, "detached-1001", 0);
	assert_int_equal(symlinkat("elsewhere", dir, "detached-1001"), 0);
	assert_int_equal(survive_slots_open(dir, UID + 1, &fd), ERR_SYSTEM);
	assert_int_equal(fd, -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_no_file),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
