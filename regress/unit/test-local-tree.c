/* SPDX-License-Identifier: ISC */
/*
 * The trees of this host: whatever is put in place of what was found, nothing
 * outside of them is opened, changed or removed; and few descriptors do for any
 * number of directories.
 */
#include "regress/unit/hex.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "compat/file.h"
#include "compat/proc.h"
#include "xfer/local/local-tree.h"

enum { NOBODY = 65534, MANY = 200, DEEP = 60 };

static char top[] = "/tmp/hpn-local-XXXXXX";
static struct local_tree *tree;

static int
begin(void **state)
{
	(void)state;
	strcpy(top + strlen(top) - 6, "XXXXXX");
	if (mkdtemp(top) == NULL || chdir(top) != 0)
		return -1;
	tree = local_tree_new(0);
	return tree != NULL && mkdir("t", 0755) == 0 &&
	    mkdir("outside", 0755) == 0 ? 0 : -1;
}

static int
end(void **state)
{
	char command[64];

	(void)state;
	local_tree_free(tree);
	snprintf(command, sizeof command, "cd / && rm -rf %s", top);
	return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static void
make(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void
expect_text(const char *path, const char *text)
{
	char is[64] = "";
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_true(read(fd, is, sizeof is - 1) >= 0);
	close(fd);
	assert_string_equal(is, text);
}

static mode_t
mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777;
}

static struct local_dir *
root(const char *path)
{
	struct local_dir *d = local_root(tree, path, LOCAL_LINKS_OWN);

	assert_non_null(d);
	return d;
}

/* As a walk does it. */
static struct local_dir *
find(struct local_dir *parent, const char *name, enum local_links rule)
{
	struct local_dir *d;
	struct stat st;

	assert_int_equal(local_stat(parent, name, rule, &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	d = local_child(parent, name, &st, rule);
	assert_non_null(d);
	return d;
}

static void
expect_error(int r, int error)
{
	int is = errno;

	assert_int_equal(r, -1);
	if (is != error)
		fail_msg("%s, not %s", strerror(is), strerror(error));
}

/* ---- what was found is replaced ----------------------------------------- */

static void
replace_by_link(const char *path, const char *to)
{
	assert_int_equal(rename(path, "away"), 0);
	assert_int_equal(symlink(to, path), 0);
}

/* All that can be asked of a directory, and of names in it. */
static void
expect_refused(struct local_dir *d, int error)
{
	const struct timespec times[2] = { { .tv_sec = 5 }, { .tv_sec = 5 } };
	struct local_dir *child;
	char text[8];
	struct stat st;
	bool made;

	expect_error(local_dir_list(d) == NULL ? -1 : 0, error);
	expect_error(local_dir_stat(d, &st), error);
	expect_error(local_dir_set_mode(d, 0700), error);
	expect_error(local_dir_set_times(d, times), error);
	expect_error(local_stat(d, "f", LOCAL_LINKS_ALL, &st), error);
	expect_error(local_open_source(d, "f", LOCAL_LINKS_ALL, &st), error);
	expect_error(local_open_target(d, "f", O_WRONLY | O_CREAT | O_TRUNC,
	    0600, LOCAL_LINKS_ALL), error);
	expect_error(local_part_make(d, "new", 0600, 7), error);
	expect_error(local_part_take(d, "f", 7), error);
	expect_error(local_part_to_target(0, d, "f", d, "new"), error);
	expect_error(local_make(d, "new", 0755, LOCAL_LINKS_ALL, &child,
	    &made), error);
	expect_error(local_remove(d, "f"), error);
	expect_error(local_rename(d, "f", "g"), error);
	expect_error(local_symlink("x", d, "new"), error);
	expect_error(local_link(d, "f", d, "new"), error);
	expect_error((int)local_read_link(d, "l", text, sizeof text), error);
	expect_error(local_set_link_times(d, "f", times), error);
}

static void
expect_outside_whole(void)
{
	expect_text("outside/f", "precious");
	assert_int_equal(mode_of("outside"), 0755);
	assert_int_equal(mode_of("outside/f"), 0644);
	assert_int_equal(access("outside/new", F_OK), -1);
	assert_int_equal(access("outside/g", F_OK), -1);
}

/* Between the scan, and the first use. */
static void
test_replaced_after_scan(void **state)
{
	struct local_dir *t = root("t"), *d, *e;
	struct stat st;

	(void)state;
	make("outside/f", "precious");
	assert_int_equal(symlink("f", "outside/l"), 0);
	assert_int_equal(mkdir("outside/e", 0755) | mkdir("t/d", 0755) |
	    mkdir("t/d/e", 0755), 0);
	d = find(t, "d", LOCAL_LINKS_NONE);
	e = find(d, "e", LOCAL_LINKS_NONE);
	local_dir_unref(d);
	local_dir_unref(e);

	d = find(t, "d", LOCAL_LINKS_NONE);
	replace_by_link("t/d", "../outside");
	expect_refused(d, ESTALE);
	expect_outside_whole();
	/* where links are followed, it leads to another directory */
	local_dir_unref(d);
	assert_int_equal(unlink("t/d") | rename("away", "t/d"), 0);
	d = find(t, "d", LOCAL_LINKS_ALL);
	replace_by_link("t/d", "../outside");
	expect_refused(d, ESTALE);
	/* another directory, and none */
	assert_int_equal(unlink("t/d") | mkdir("t/d", 0755), 0);
	make("t/d/f", "x");
	expect_refused(d, ESTALE);
	expect_text("t/d/f", "x");
	assert_int_equal(rename("t/d", "other"), 0);
	expect_refused(d, ENOENT);
	/* the same one, at last */
	assert_int_equal(rename("away", "t/d"), 0);
	/* the same number on another device is another directory */
	assert_int_equal(local_stat(t, "d", LOCAL_LINKS_NONE, &st), 0);
	st.st_dev++;
	e = local_child(t, "d", &st, LOCAL_LINKS_NONE);
	assert_non_null(e);
	expect_refused(e, ESTALE);
	local_dir_unref(e);
	e = find(d, "e", LOCAL_LINKS_NONE);
	expect_outside_whole();
	local_dir_unref(e);
	local_dir_unref(d);
	local_dir_unref(t);
}

/* Whoever has a descriptor goes on in the directory that was found, wherever
 * it is by now. */
static void
test_replaced_while_held(void **state)
{
	struct local_dir *t = root("t"), *d;
	struct stat st;
	int fd;

	(void)state;
	make("outside/f", "precious");
	assert_int_equal(mkdir("t/d", 0755), 0);
	make("t/d/f", "ours");
	d = find(t, "d", LOCAL_LINKS_NONE);
	assert_int_equal(local_dir_stat(d, &st), 0);
	replace_by_link("t/d", "../outside");
	assert_int_equal(local_dir_set_mode(d, 0700), 0);
	assert_int_equal(local_remove(d, "f"), 0);
	fd = local_open_target(d, "new", O_WRONLY | O_CREAT, 0600,
	    LOCAL_LINKS_NONE);
	assert_true(fd >= 0);
	close(fd);
	expect_outside_whole();
	assert_int_equal(access("away/new", F_OK), 0);
	assert_int_equal(access("away/f", F_OK), -1);
	assert_int_equal(mode_of("away"), 0700);
	local_dir_unref(d);
	local_dir_unref(t);
}

/* A file's name becomes a link. */
static void
test_file_becomes_link(void **state)
{
	const struct timespec times[2] = { { .tv_sec = 5 }, { .tv_sec = 5 } };
	struct local_dir *t = root("t");
	struct stat st;
	int fd;

	(void)state;
	make("outside/f", "precious");
	assert_int_equal(symlink("../outside/f", "t/f"), 0);
	expect_error(local_open_source(t, "f", LOCAL_LINKS_NONE, &st), ELOOP);
	expect_error(local_open_target(t, "f", O_WRONLY | O_TRUNC, 0600,
	    LOCAL_LINKS_NONE), ELOOP);
	assert_int_equal(local_stat(t, "f", LOCAL_LINKS_NONE, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	/* a part is never behind a link, nor in a file with another name */
	expect_error(local_part_make(t, "f", 0600, 7), EEXIST);
	expect_error(local_part_take(t, "f", 7), ELOOP);
	assert_int_equal(local_remove(t, "f"), 0);
	fd = local_part_make(t, "f", 0600, 7);
	assert_true(fd >= 0);
	assert_true(local_part_is(fd, t, "f"));
	assert_int_equal(write(fd, "data", 4), 4);
	expect_outside_whole();
	assert_int_equal(local_rename(t, "f", "g"), 0);
	assert_false(local_part_is(fd, t, "f"));
	close(fd);
	/* what is removed or replaced, or gets times, is the link */
	assert_int_equal(symlink("../outside/f", "t/f"), 0);
	assert_int_equal(local_set_link_times(t, "f", times), 0);
	assert_int_equal(stat("outside/f", &st), 0);
	assert_int_not_equal(st.st_mtime, 5);
	assert_int_equal(lstat("t/f", &st), 0);
	assert_int_equal(st.st_mtime, 5);
	assert_int_equal(local_rename(t, "g", "f"), 0);
	expect_text("t/f", "data");
	assert_int_equal(symlink("../outside/f", "t/h"), 0);
	assert_int_equal(local_remove(t, "h"), 0);
	expect_outside_whole();
	/* a pipe is opened at once, and told */
	assert_int_equal(mkfifo("t/pipe", 0600), 0);
	fd = local_open_source(t, "pipe", LOCAL_LINKS_NONE, &st);
	assert_true(fd >= 0 && S_ISFIFO(st.st_mode));
	close(fd);
	local_dir_unref(t);
}

/* ---- what a link may lead to -------------------------------------------- */

static void
expect_opens(struct local_dir *d, const char *name, enum local_links rule,
    const char *text, int error)
{
	char is[64] = "";
	struct stat st;
	int fd = local_open_source(d, name, rule, &st);

	if (text == NULL) {
		expect_error(fd, error);
		return;
	}
	assert_true(fd >= 0);
	assert_true(read(fd, is, sizeof is - 1) >= 0);
	close(fd);
	assert_string_equal(is, text);
}

/* Links of this user, of all shapes, lead where the kernel leads them. */
static void
test_own_links(void **state)
{
	static const char *const links[][2] = { { "../outside/f", "one" },
		{ "one", "two" }, { "./two", "three" },
		{ "../t/../outside/e/up", "four" }, { "dir/f", "five" },
		{ "../outside", "dir" }, { "dir/", "slash" },
		{ "dir/e/..", "dots" }, { ".", "self" } };
	struct local_dir *t = root("t"), *d;
	char absolute[PATH_MAX], longest[PATH_MAX];
	struct stat st;
	int fd, pipes[2];

	(void)state;
	make("outside/f", "precious");
	assert_int_equal(mkdir("outside/e", 0755) |
	    symlink("../f", "outside/e/up"), 0);
	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		snprintf(absolute, sizeof absolute, "t/%s", links[i][1]);
		assert_int_equal(symlink(links[i][0], absolute), 0);
	}
	snprintf(absolute, sizeof absolute, "%s/outside/f", top);
	assert_int_equal(symlink(absolute, "t/absolute"), 0);
	for (int rule = LOCAL_LINKS_OWN; rule <= LOCAL_LINKS_ALL; rule++) {
		expect_opens(t, "one", rule, "precious", 0);
		expect_opens(t, "two", rule, "precious", 0);
		expect_opens(t, "three", rule, "precious", 0);
		expect_opens(t, "four", rule, "precious", 0);
		expect_opens(t, "five", rule, "precious", 0);
		expect_opens(t, "absolute", rule, "precious", 0);
		for (size_t i = 5; i < 8; i++) {
			d = find(t, links[i][1], rule);
			expect_opens(d, "f", rule, "precious", 0);
			local_dir_unref(d);
		}
		d = find(t, "self", rule);
		expect_opens(d, "two", rule, "precious", 0);
		local_dir_unref(d);
	}
	expect_opens(t, "one", LOCAL_LINKS_NONE, NULL, ELOOP);
	/* a loop, nothing, and more than a path can be */
	assert_int_equal(symlink("loop", "t/loop"), 0);
	expect_opens(t, "loop", LOCAL_LINKS_OWN, NULL, ELOOP);
	assert_int_equal(symlink("missing", "t/dangling"), 0);
	expect_opens(t, "dangling", LOCAL_LINKS_OWN, NULL, ENOENT);
	fd = local_open_target(t, "dangling", O_WRONLY | O_CREAT, 0600,
	    LOCAL_LINKS_OWN);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(access("t/missing", F_OK), 0);
	memset(longest, '/', sizeof longest);
	strcpy(longest + sizeof longest - 2, "f");
	assert_int_equal(symlink(longest, "t/long"), 0);
	expect_opens(t, "long", LOCAL_LINKS_OWN, NULL, ENOENT);
	/* only the kernel can follow those of /proc */
	assert_int_equal(pipe(pipes), 0);
	snprintf(absolute, sizeof absolute, "/proc/self/fd/%d", pipes[0]);
	assert_int_equal(symlink(absolute, "t/magic"), 0);
	fd = local_open_source(t, "magic", LOCAL_LINKS_OWN, &st);
	assert_true(fd >= 0 && S_ISFIFO(st.st_mode));
	close(fd);
	close(pipes[0]);
	close(pipes[1]);
	local_dir_unref(t);
}

/* Those of others are followed for reading only. */
static void
test_links_of_others(void **state)
{
	const char *name;
	struct local_dir *t = root("t"), *d;
	struct stat st;
	bool made;

	(void)state;
	if (geteuid() != 0) {
		local_dir_unref(t);
		print_message("needs root: links of another user's\n");
		skip();
	}
	make("outside/f", "precious");
	assert_int_equal(symlink("../outside/f", "t/theirs") |
	    symlink("theirs", "t/ours") | symlink("../outside", "t/dir") |
	    symlink("outside", "planted"), 0);
	assert_int_equal(lchown("t/theirs", NOBODY, NOBODY) |
	    lchown("t/dir", NOBODY, NOBODY) |
	    lchown("planted", NOBODY, NOBODY), 0);
	expect_opens(t, "theirs", LOCAL_LINKS_OWN, NULL, ENOLINK);
	expect_opens(t, "ours", LOCAL_LINKS_OWN, NULL, ENOLINK);
	expect_opens(t, "theirs", LOCAL_LINKS_ALL, "precious", 0);
	expect_opens(t, "ours", LOCAL_LINKS_ALL, "precious", 0);
	assert_int_equal(local_stat(t, "theirs", LOCAL_LINKS_OWN, &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	expect_error(local_make(t, "dir", 0755, LOCAL_LINKS_OWN, &d, &made),
	    ENOLINK);
	assert_int_equal(local_make(t, "dir", 0755, LOCAL_LINKS_ALL, &d,
	    &made), 0);
	assert_false(made);
	local_dir_unref(d);
	local_dir_unref(t);
	/* the last part of what the user names as a target */
	t = local_place(tree, "planted/.", LOCAL_LINKS_OWN, &name);
	assert_string_equal(name, ".");
	expect_error(local_dir_stat(t, &st), ENOLINK);
	local_dir_unref(t);
	t = local_place(tree, "planted/new", LOCAL_LINKS_OWN, &name);
	expect_error(local_make(t, name, 0755, LOCAL_LINKS_OWN, &d, &made),
	    ENOLINK);
	local_dir_unref(t);
	t = local_place(tree, "planted/f", LOCAL_LINKS_ALL, &name);
	expect_opens(t, name, LOCAL_LINKS_NONE, "precious", 0);
	local_dir_unref(t);
	expect_outside_whole();
}

/* ---- directories -------------------------------------------------------- */

static void
test_make(void **state)
{
	const struct timespec times[2] = { { .tv_sec = 1, .tv_nsec = 5 },
		{ .tv_sec = 2, .tv_nsec = 6 } };
	struct local_dir *t = root("t"), *d, *e;
	struct stat st;
	bool made;

	(void)state;
	make("outside/f", "precious");
	umask(022);
	assert_int_equal(local_make(t, "d", 0750, LOCAL_LINKS_NONE, &d, &made),
	    0);
	assert_true(made);
	assert_int_equal(mode_of("t/d"), 0750);
	assert_int_equal(local_make(t, "d", 0700, LOCAL_LINKS_NONE, &e, &made),
	    0);
	assert_false(made);
	local_dir_unref(e);
	assert_int_equal(local_dir_set_mode(d, 02711), 0);
	assert_int_equal(local_dir_set_times(d, times), 0);
	assert_int_equal(stat("t/d", &st), 0);
	assert_int_equal(st.st_mode & 07777, 02711);
	assert_int_equal(st.FILE_MTIME.tv_sec, 2);
	assert_int_equal(st.FILE_MTIME.tv_nsec, 6);
	/* a link in its place, which may lead to a directory, and a file */
	assert_int_equal(symlink("../outside", "t/link"), 0);
	expect_error(local_make(t, "link", 0755, LOCAL_LINKS_NONE, &e, &made),
	    EEXIST);
	assert_int_equal(local_make(t, "link", 0755, LOCAL_LINKS_OWN, &e,
	    &made), 0);
	assert_false(made);
	local_dir_unref(e);
	make("t/file", "");
	expect_error(local_make(t, "file", 0755, LOCAL_LINKS_OWN, &e, &made),
	    EEXIST);
	expect_outside_whole();
	local_dir_unref(d);
	local_dir_unref(t);
}

/* In another process, so that it may be another user. */
static void
without_rights(void)
{
	const struct timespec times[2] = { { .tv_sec = 7 }, { .tv_sec = 7 } };
	struct local_dir *t = root("mine"), *d;
	struct stat st;
	bool made;

	assert_int_equal(local_make(t, "blind", 0755, LOCAL_LINKS_NONE, &d,
	    &made), 0);
	local_dir_unref(d);
	/* one may go through, and change it, but not read it */
	assert_int_equal(chmod("mine/blind", 0300), 0);
	d = find(t, "blind", LOCAL_LINKS_NONE);
	assert_int_equal(local_symlink("x", d, "l"), 0);
	assert_null(local_dir_list(d));
	assert_int_equal(errno, EACCES);
	assert_int_equal(local_dir_set_times(d, times), 0);
	assert_int_equal(local_dir_set_mode(d, 0000), 0);
	local_dir_unref(d);
	/* and not even that */
	d = find(t, "blind", LOCAL_LINKS_NONE);
	expect_error(local_stat(d, "l", LOCAL_LINKS_NONE, &st), EACCES);
	assert_int_equal(local_dir_set_mode(d, 0700), 0);
	assert_int_equal(local_dir_set_times(d, times), 0);
	assert_int_equal(local_stat(d, "l", LOCAL_LINKS_NONE, &st), 0);
	local_dir_unref(d);
	local_dir_unref(t);
}

static void
test_without_rights(void **state)
{
	pid_t pid;
	int status;

	(void)state;
	assert_int_equal(mkdir("mine", 0777), 0);
	assert_int_equal(chmod("mine", 0777) | chmod(top, 0755), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (geteuid() == 0 && (setgid(NOBODY) | setuid(NOBODY)) != 0)
			_exit(1);
		(void)proc_unhide();
		without_rights();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void
expect_names(struct local_dir *d, unsigned n)
{
	struct dirent *de;
	unsigned found = 0;
	DIR *dir = local_dir_list(d);

	assert_non_null(dir);
	while ((de = readdir(dir)) != NULL)
		found += de->d_name[0] != '.';
	closedir(dir);
	assert_int_equal(found, n);
}

/* ---- descriptors -------------------------------------------------------- */

/* Many directories, and those below each other, with few descriptors. */
static void
test_few_descriptors(void **state)
{
	struct local_dir *dirs[MANY], *t, *parent, *other;
	struct stat st;
	char name[16];
	bool made;

	(void)state;
	local_tree_free(tree);
	tree = local_tree_new(1); /* as few as can be */
	assert_non_null(tree);
	t = root("t");
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof name, "d%d", i);
		/* the first ones are in each other */
		parent = i > 0 && i < DEEP ? dirs[i - 1] : t;
		assert_int_equal(local_make(parent, name, 0755,
		    LOCAL_LINKS_NONE, &dirs[i], &made), 0);
		assert_int_equal(local_symlink("x", dirs[i], "l"), 0);
		assert_true(local_tree_fds(tree) <= 4);
	}
	for (int i = 0; i < MANY; i++) {
		int at = i * 37 % MANY; /* in another order */

		assert_int_equal(local_stat(dirs[at], "l", LOCAL_LINKS_NONE,
		    &st), 0);
		assert_true(S_ISLNK(st.st_mode));
		expect_names(dirs[at], at < DEEP - 1 ? 2 : 1);
		expect_names(dirs[at], at < DEEP - 1 ? 2 : 1);
		assert_true(local_tree_fds(tree) <= 4);
	}
	/* two at a time */
	other = dirs[DEEP - 1];
	assert_int_equal(local_symlink("x", dirs[DEEP / 2], "file"), 0);
	assert_int_equal(local_link(dirs[DEEP / 2], "file", other, "new"), 0);
	assert_int_equal(local_link(other, "new", dirs[0], "back"), 0);
	assert_int_equal(access("t/d0", F_OK), 0);
	assert_int_equal(local_stat(dirs[0], "back", LOCAL_LINKS_NONE, &st), 0);
	assert_int_equal(st.st_nlink, 3);
	/* one in the middle is replaced: all below it is refused */
	for (int i = DEEP; i < DEEP + 8; i++)
		assert_int_equal(local_dir_stat(dirs[i], &st), 0);
	assert_int_equal(rename("t/d0/d1", "away"), 0);
	assert_int_equal(system("mkdir t/d0/d1 && mv away/d2 t/d0/d1"), 0);
	expect_error(local_dir_stat(other, &st), ESTALE);
	assert_int_equal(local_dir_stat(dirs[0], &st), 0);
	for (int i = MANY - 1; i >= 0; i--)
		local_dir_unref(dirs[i]);
	local_dir_unref(t);
}

/* The rest of the program has taken all descriptors but a few. */
static void
test_no_descriptors(void **state)
{
	struct local_dir *t = root("t"), *dirs[32];
	struct rlimit before, few;
	struct stat st;
	char name[16];
	bool made;

	(void)state;
	for (int i = 0; i < 32; i++) {
		snprintf(name, sizeof name, "d%d", i);
		assert_int_equal(local_make(t, name, 0755, LOCAL_LINKS_NONE,
		    &dirs[i], &made), 0);
	}
	assert_int_equal(local_tree_fds(tree), 33);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = 10;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (int i = 0; i < 32; i++)
		expect_names(dirs[i], 0);
	for (int i = 0; i < 32; i++) {
		local_dir_unref(dirs[i]);
		snprintf(name, sizeof name, "d%d", i);
		dirs[i] = find(t, name, LOCAL_LINKS_NONE);
		assert_int_equal(local_dir_stat(dirs[i], &st), 0);
	}
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	for (int i = 0; i < 32; i++)
		local_dir_unref(dirs[i]);
	local_dir_unref(t);
}

/* ---- names -------------------------------------------------------------- */

static void
test_places(void **state)
{
	static const struct {
		const char *path, *name;
		bool there; /* once t/new was made */
	} places[] = { { "t/new", "new", true }, { "t/new/", "new/", true },
		{ "t//new", "new", true }, { "./t/new", "new", true },
		{ "t/new/.", ".", true }, { "t/new/./", ".", true },
		{ "t/new/..", ".", true }, { "t", "t", true },
		{ ".", ".", true }, { "..", ".", true }, { "", ".", true },
		{ "/", ".", true }, { "//", ".", true }, { "/tmp", "tmp",
		true }, { "t/other", "other", false },
		{ "none/new", "new", false } };
	struct local_dir *d;
	const char *name;
	struct stat st, is;

	(void)state;
	assert_int_equal(mkdir("t/new", 0755), 0);
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		d = local_place(tree, places[i].path, LOCAL_LINKS_OWN, &name);
		assert_non_null(d);
		if (strncmp(name, places[i].name, strlen(places[i].name)) != 0)
			fail_msg("%s: %s", places[i].path, name);
		assert_int_equal(local_stat(d, name, LOCAL_LINKS_OWN, &st),
		    places[i].there ? 0 : -1);
		if (places[i].there && *places[i].path != '\0') {
			assert_int_equal(stat(places[i].path, &is), 0);
			assert_int_equal(st.st_ino, is.st_ino);
		}
		local_dir_unref(d);
	}
	/* files of one directory have one root */
	d = local_place(tree, "t/a", LOCAL_LINKS_OWN, &name);
	assert_ptr_equal(d, local_root(tree, "t", LOCAL_LINKS_OWN));
	local_dir_unref(d);
	local_dir_unref(d);
	assert_string_equal(local_last_name("a/b"), "b");
	assert_string_equal(local_last_name("b"), "b");
	assert_string_equal(local_last_name("a/b//"), "b//");
	assert_string_equal(local_last_name("/"), "/");
	assert_string_equal(local_error_text(ENOENT), strerror(ENOENT));
	assert_string_not_equal(local_error_text(ESTALE), strerror(ESTALE));
}

/* Reads a file that was read long ago, and tells when it was read then. */
static int64_t
read_at(int fd)
{
	struct stat st;
	char c;

	assert_true(fd >= 0);
	assert_int_equal(read(fd, &c, 1), 1);
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	return (int64_t)st.st_atime;
}

/* To read a source leaves the time of the last access, where the system has
 * that and the file is ours. */
static void
test_access_time(void **state)
{
	const struct timespec old[2] = { { .tv_sec = 1000 },
		{ .tv_sec = 2000 } };
	struct local_dir *t = local_root(tree, "t", LOCAL_LINKS_NONE);
	struct stat st;
	int64_t plain;

	(void)state;
	make("t/f", "text");
	assert_int_equal(utimensat(AT_FDCWD, "t/f", old, 0), 0);
	plain = read_at(open("t/f", O_RDONLY));
	assert_int_equal(utimensat(AT_FDCWD, "t/f", old, 0), 0);
	assert_int_equal(read_at(local_open_source(t, "f", LOCAL_LINKS_NONE,
	    &st)), FILE_NO_ATIME != 0 ? 1000 : plain);
	local_dir_unref(t);
	if (plain == 1000)
		skip(); /* this file system keeps no such times */
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(test_replaced_after_scan),
		TEST(test_replaced_while_held),
		TEST(test_file_becomes_link),
		TEST(test_own_links),
		TEST(test_links_of_others),
		TEST(test_make),
		TEST(test_without_rights),
		TEST(test_few_descriptors),
		TEST(test_no_descriptors),
		TEST(test_places),
		TEST(test_access_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
