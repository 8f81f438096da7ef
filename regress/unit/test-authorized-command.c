/* SPDX-License-Identifier: ISC */
/* Programs that are asked for keys: what they get, and what bounds them. */
#include "regress/unit/help.h"
#include "regress/unit/own-account.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/monitor/authorized-command.h"

static struct user *self;

static int
set_up(void **state)
{
	(void)state;
	log_init("test", LOG_LVL_INFO);
	messages_keep();
	self = own_account();
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	user_free(self);
	return 0;
}

static int
run_argv(char *const *argv, uint64_t within_ms, char **out)
{
	const struct authcommand c = { .keyword = "TheCommand",
		.argv = argv,
		.user = self,
		.deadline_ms = within_ms != 0 ? clock_ms() + within_ms : 0 };
	struct buf text = { 0 };
	int r;

	messages_forget();
	r = authcommand_run(&c, &text);
	if (r != 0)
		assert_int_equal(buf_len(&text), 0);
	*out = buf_dup_string(&text);
	buf_clear(&text);
	return r;
}

/* By a shell, with one argument of its own. */
static int
run_script(const char *script, const char *arg, uint64_t within_ms, char **out)
{
	char *const argv[] = { (char *)"/bin/sh", (char *)"-c",
		(char *)(uintptr_t)script, (char *)"name",
		(char *)(uintptr_t)arg, NULL };

	return run_argv(argv, within_ms, out);
}

static void
expect(const char *script, const char *arg, const char *want)
{
	char *out;

	assert_int_equal(run_script(script, arg, 20000, &out), 0);
	assert_string_equal(out, want);
	free(out);
}

static void
what_it_gets(void **state)
{
	char *want;

	(void)state;
	expect("printf '%s|' \"$@\"", "a  'b' $(id) *", "a  'b' $(id) *|");
	expect("printf 'a\\nb\\n'", "", "a\nb\n");
	expect("true", "", "");
	/* nothing to read, and nobody who hears of its troubles */
	expect("cat; ls -l /proc/self/fd/0 /proc/self/fd/2 |"
	       " sed 's/.*-> //'", "", "/dev/null\n/dev/null\n");
	/* 3 is that of ls itself */
	expect("ls /proc/self/fd | tr '\\n' ' '", "", "0 1 2 3 ");
	expect("pwd", "", "/\n");
	xasprintf(&want, "%u %s %s %s\n", (unsigned)self->uid, self->name,
	    self->name, self->home);
	expect("echo $(id -u) $USER $LOGNAME $HOME", "", want);
	free(want);
	/* leader of a session */
	expect("set -- $(cat /proc/$$/stat); test $1 = $5 && test $1 = $6 &&"
	       " echo leads", "", "leads\n");
}

static void
environment(void **state)
{
	char *out;

	(void)state;
	assert_int_equal(setenv("SECRET_OF_THE_SERVER", "1", 1), 0);
	assert_int_equal(setenv("LANG", "C.UTF-8", 1), 0);
	assert_int_equal(setenv("LD_LIBRARY_PATH", "/tmp", 1), 0);
	assert_int_equal(run_argv((char *[]){ (char *)"/usr/bin/env", NULL },
			     20000, &out), 0);
	assert_null(strstr(out, "SECRET"));
	assert_null(strstr(out, "LD_"));
	assert_non_null(strstr(out, "LANG=C.UTF-8\n"));
	assert_non_null(strstr(out, "PATH=/usr/local/bin:"));
	for (const char *s = out; *s != '\0'; s += strcspn(s, "\n") + 1)
		if (strncmp(s, "PATH=", 5) != 0 &&
		    strncmp(s, "HOME=", 5) != 0 &&
		    strncmp(s, "LANG=", 5) != 0 &&
		    strncmp(s, "USER=", 5) != 0 &&
		    strncmp(s, "LOGNAME=", 8) != 0)
			fail_msg("%s", s);
	free(out);
	unsetenv("SECRET_OF_THE_SERVER");
	unsetenv("LD_LIBRARY_PATH");
}

static void
failures(void **state)
{
	static const struct {
		const char *script, *line;
	} rows[] = {
		{ "echo key; exit 1", "failed, status 1" },
		{ "echo key; kill -9 $$", "exited on signal 9" },
		{ "echo key; exec /no/such/program", "failed, status 127" },
	};
	char *out;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(run_script(rows[i].script, "", 20000, &out),
		    ERR_DENIED);
		if (strncmp(last_message, "TheCommand /bin/sh -c ", 22) != 0 ||
		    strstr(last_message, rows[i].line) == NULL)
			fail_msg("%s", last_message);
		free(out);
	}
}

static void
refused(const char *path, const char *why)
{
	char *out;

	assert_int_equal(run_argv((char *[]){ (char *)(uintptr_t)path, NULL },
			     20000, &out), ERR_DENIED);
	if (strncmp(last_message, "Unsafe TheCommand \"", 19) != 0 ||
	    strstr(last_message, why) == NULL)
		fail_msg("%s: %s", path, last_message);
	free(out);
}

/* Somebody else could have written them. */
static void
unsafe_programs(void **state)
{
	char dir[] = "/tmp/test-authorized-command-XXXXXX", *path, *link;
	static const char script[] = "#!/bin/sh\necho key\n";

	(void)state;
	assert_non_null(mkdtemp(dir));
	xasprintf(&path, "%s/script", dir);
	xasprintf(&link, "%s/link", dir);
	assert_int_equal(file_replace(path, script, strlen(script), 0755), 0);
	refused(path, "bad ownership or modes for ");
	assert_int_equal(chmod(path, 0775), 0);
	refused(path, "bad ownership or modes for file ");
	assert_int_equal(symlink(path, link), 0);
	refused(link, "bad ownership or modes for file ");
	refused("/no/such/program", "No such file");
	refused("/bin", "not a regular file");
	refused("/dev/null", "not a regular file");
	unlink(link);
	unlink(path);
	rmdir(dir);
	free(link);
	free(path);
}

/* ---- bounds -------------------------------------------------------------- */

static void
bounded(const char *script, const char *arg, uint64_t within_ms, int result)
{
	uint64_t began_ms = clock_ms();
	char *out;

	assert_int_equal(run_script(script, arg, within_ms, &out), result);
	assert_true(clock_ms() - began_ms < 60 * 1000);
	assert_non_null(strstr(last_message,
	    "TheCommand /bin/sh was killed: "));
	free(out);
}

static void
too_much_output(void **state)
{
	char *out;

	(void)state;
	assert_int_equal(run_script("head -c 1048576 /dev/zero", "", 20000,
			     &out), 0);
	free(out);
	bounded("head -c 1048577 /dev/zero", "", 20000, ERR_LIMIT);
	assert_int_equal(run_script("yes '' | head -n 16384", "", 20000, &out),
	    0);
	free(out);
	bounded("yes '' | head -n 16385", "", 20000, ERR_LIMIT);
	bounded("yes", "", 60000, ERR_LIMIT);
	bounded("yes ''", "", 60000, ERR_LIMIT);
	bounded("cat /dev/zero", "", 60000, ERR_LIMIT);
}

static bool
is_gone(const char *pid)
{
	char path[64], line[256] = "";
	FILE *f;

	snprintf(path, sizeof path, "/proc/%s/stat", pid);
	if ((f = fopen(path, "r")) == NULL)
		return true;
	(void)!fgets(line, sizeof line, f);
	fclose(f);
	return strstr(line, ") Z ") != NULL;
}

/* All that it has started in its group ends with it. */
static void
too_much_time(void **state)
{
	char file[] = "/tmp/test-authorized-command-XXXXXX", pid[32] = "";
	int fd = mkstemp(file);
	ssize_t n;

	(void)state;
	assert_true(fd >= 0);
	bounded("sleep 600 & echo $! >\"$1\"; echo key; wait", file, 500,
	    ERR_TIMEOUT);
	n = read(fd, pid, sizeof pid - 1);
	assert_true(n > 1);
	pid[strcspn(pid, "\n")] = '\0';
	for (int i = 0; i < 6000 && !is_gone(pid); i++)
		usleep(10000);
	assert_true(is_gone(pid));
	/* its output ends, it does not */
	bounded("echo key; exec >&-; sleep 600", "", 300, ERR_TIMEOUT);
	close(fd);
	unlink(file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_gets),
		cmocka_unit_test(environment),
		cmocka_unit_test(failures),
		cmocka_unit_test(unsafe_programs),
		cmocka_unit_test(too_much_output),
		cmocka_unit_test(too_much_time),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
