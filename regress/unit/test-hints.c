/* SPDX-License-Identifier: ISC */
/* The file of hints: what was saved is loaded, and nothing odd is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/mem.h"
#include "client/hosts/hints.h"
#include "conf/client-conf.h"
#include "keys/knownhosts.h"

static char path[64];

static int
setup(void **state)
{
	(void)state;
	strcpy(path, "/tmp/hpn-hints-XXXXXX");
	close(mkstemp(path));
	return unlink(path);
}

static int
teardown(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

static void
save(const char *name, const char *kex, const char *key)
{
	struct hints h = { .kex = (char *)(uintptr_t)kex,
		.hostkey = (char *)(uintptr_t) "ssh-ed25519",
		.fingerprint = (char *)(uintptr_t)key };

	assert_int_equal(hints_save(path, name, &h), 0);
}

static void
test_round_trip(void **state)
{
	struct hints h;
	struct stat st;

	(void)state;
	assert_int_equal(hints_load(path, "host", &h), ERR_NOT_FOUND);
	save("host", "curve25519-sha256", "SHA256:abc+/=");
	save("[host]:2222", "mlkem768x25519-sha256", NULL);
	save("host", "mlkem768x25519-sha256", "SHA256:def");
	assert_int_equal(hints_load(path, "host", &h), 0);
	assert_string_equal(h.kex, "mlkem768x25519-sha256");
	assert_string_equal(h.hostkey, "ssh-ed25519");
	assert_string_equal(h.fingerprint, "SHA256:def");
	hints_clear(&h);
	assert_int_equal(hints_load(path, "[host]:2222", &h), 0);
	assert_null(h.fingerprint);
	assert_false(h.interactive);
	hints_clear(&h);
	assert_int_equal(hints_load(path, "hos", &h), ERR_NOT_FOUND);
	assert_int_equal(hints_drop(path, "[host]:2222"), 0);
	assert_int_equal(hints_load(path, "[host]:2222", &h), ERR_NOT_FOUND);
	assert_int_equal(hints_load(path, "host", &h), 0);
	hints_clear(&h);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void
test_asked(void **state)
{
	char kex[] = "curve25519-sha256", hostkey[] = "ssh-ed25519",
	     key[] = "SHA256:abc";
	struct hints h = { .kex = kex, .hostkey = hostkey, .fingerprint = key,
		.interactive = true };

	(void)state;
	assert_int_equal(hints_save(path, "host", &h), 0);
	assert_int_equal(hints_load(path, "host", &h), 0);
	assert_string_equal(h.fingerprint, "SHA256:abc");
	assert_true(h.interactive);
	hints_clear(&h);
}

static void
test_odd_lines(void **state)
{
	static const char *const odd[] = {"host", "host a b", "host a b c d",
	    "host a b c asked d", "host a,b c d", "host a b \x1b[2J",
	    "host a  b"};
	struct hints h;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		char *hash = knownhosts_hash("host"), *line;

		xasprintf(&line, "%s%s", hash, odd[i] + strlen("host"));
		assert_int_equal(file_replace(path, line, strlen(line), 0600),
		    0);
		free(line);
		free(hash);
		assert_int_not_equal(hints_load(path, "host", &h), 0);
		/* Such a line does not stay. */
		if (odd[i][4] != '\0') {
			save("host", "curve25519-sha256", NULL);
			assert_int_equal(hints_load(path, "host", &h), 0);
			hints_clear(&h);
		}
	}
}

static void
test_stays_short(void **state)
{
	struct buf b = { 0 };
	struct hints h;

	(void)state;
	for (int i = 0; i < 1500; i++) {
		char name[32], *hash;

		snprintf(name, sizeof name, "host%d", i);
		hash = knownhosts_hash(name);
		buf_printf(&b, "%s a b c\n", hash);
		free(hash);
	}
	assert_int_equal(file_replace(path, buf_data(&b), buf_len(&b), 0600),
	    0);
	buf_clear(&b);
	save("new", "curve25519-sha256", NULL);
	assert_int_equal(hints_load(path, "host0", &h), ERR_NOT_FOUND);
	assert_int_equal(hints_load(path, "host1499", &h), 0);
	hints_clear(&h);
	assert_int_equal(hints_load(path, "new", &h), 0);
	hints_clear(&h);
}

static char *
content(void)
{
	struct buf b = { 0 };
	char *text;

	assert_int_equal(file_read(path, &b, 1 << 20), 0);
	text = buf_dup_string(&b);
	buf_clear(&b);
	return text;
}

/* No name is readable, not even one that an earlier version has written; a host
 * keeps its hash. */
static void
test_no_names_in_clear(void **state)
{
	static const char earlier[] = "secret.host a b c\nhost a b c\n";
	struct hints h;
	char *text, *again;

	(void)state;
	assert_int_equal(file_replace(path, earlier, strlen(earlier), 0600),
	    0);
	assert_int_equal(hints_load(path, "host", &h), ERR_NOT_FOUND);
	save("host", "curve25519-sha256", NULL);
	text = content();
	assert_null(strstr(text, "host "));
	assert_int_equal(strncmp(text, "|1|", 3), 0);
	save("host", "curve25519-sha256", NULL);
	again = content();
	assert_string_equal(again, text);
	free(again);
	free(text);
}

/* Whatever lies in the file's place is neither read nor written to. */
static void
test_no_links(void **state)
{
	char target[sizeof path + 2];
	struct hints h;
	struct stat st;

	(void)state;
	snprintf(target, sizeof target, "%s.t", path);
	save("host", "curve25519-sha256", NULL);
	assert_int_equal(rename(path, target), 0);
	assert_int_equal(symlink(target, path), 0);
	assert_int_not_equal(hints_load(path, "host", &h), 0);
	assert_int_not_equal(hints_drop(path, "host"), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rename(target, path), 0);
	assert_int_equal(hints_load(path, "host", &h), 0);
	hints_clear(&h);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_not_equal(hints_load(path, "host", &h), 0);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
}

/* In the user's state, or else beside what ssh has of the user. */
static void
test_place(void **state)
{
	static const char *const no_place[] = { NULL, "", "relative/x" };
	struct hints_file p;
	char *usual, *file;

	(void)state;
	xasprintf(&usual, "%s/.ssh/known_hosts", client_conf_home());
	xasprintf(&file, "%s/.ssh/hpn/hints", client_conf_home());
	for (size_t i = 0; i < ARRAY_LEN(no_place); i++) {
		assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
		if (no_place[i] != NULL)
			setenv("XDG_STATE_HOME", no_place[i], 1);
		hints_file_init(&p, usual, "host");
		assert_string_equal(p.path, file);
		assert_string_equal(p.name, "host");
		hints_file_clear(&p);
	}
	setenv("XDG_STATE_HOME", "/the/state", 1);
	hints_file_init(&p, "/other/hosts", "host");
	assert_string_equal(p.path, "/the/state/hpnssh/hints");
	assert_string_equal(p.name, "host /other/hosts");
	assert_string_equal(p.old_path, "/other/hosts.hints");
	assert_string_equal(p.old_name, "host");
	hints_file_clear(&p);
	unsetenv("XDG_STATE_HOME");
	free(usual);
	free(file);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_place),
		cmocka_unit_test_setup_teardown(test_round_trip, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_asked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_odd_lines, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_stays_short, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_no_names_in_clear, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(test_no_links, setup,
		    teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
