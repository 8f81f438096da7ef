/* SPDX-License-Identifier: ISC */
/* The command lines of an ssh that is spawned, word by word. */
#include "regress/unit/hex.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/common/ssh-command.h"

static char *option_words[] = { (char[]){ "-v" }, (char[]){ "-oUser=x" } };
static const struct strlist options = { option_words, 2 };

/* want: the words with a "|" between them. Frees what was made. */
static void
assert_line(struct strlist *argv, const char *want)
{
	char line[512] = "";

	for (size_t i = 0; i < argv->n; i++) {
		if (i > 0)
			strcat(line, "|");
		assert_true(strlen(line) + strlen(argv->v[i]) + 2 <
		    sizeof line);
		strcat(line, argv->v[i]);
	}
	assert_string_equal(line, want);
	strlist_clear(argv);
}

#define CARRY                                                         \
	"ssh|-x|-oPermitLocalCommand=no|-oClearAllForwardings=yes|" \
	"-oRemoteCommand=none|-oRequestTTY=no|-oControlMaster=no|" \
	"-oForwardAgent=no|"

static void
test_carry(void **state)
{
	struct strlist argv = { NULL, 0 };
	struct ssh_command c = { .program = "ssh",
		.purpose = SSH_COMMAND_CARRY, .host = "-h",
		.command = "sftp" };

	(void)state;
	assert_int_equal(ssh_command_line(&argv, &c), 0);
	assert_line(&argv, CARRY "--|-h|sftp");
	c.subsystem = true;
	assert_int_equal(ssh_command_line(&argv, &c), 0);
	assert_line(&argv, CARRY "-s|--|-h|sftp");
	c.options = &options;
	c.port = 22;
	c.user = "me";
	assert_int_equal(ssh_command_line(&argv, &c), 0);
	assert_line(&argv,
	    CARRY "-v|-oUser=x|-p|22|-l|me|-s|--|-h|sftp");
	c.clear = true;
	assert_int_equal(ssh_command_line(&argv, &c), 0);
	assert_line(&argv,
	    CARRY "-oNoneEnabled=yes|-oNoneSwitch=yes|"
		  "-v|-oUser=x|-p|22|-l|me|-s|--|-h|sftp");
	c.clear = false;
	c.batch = true;
	c.subsystem = false;
	c.command = "scp -t x y";
	assert_int_equal(ssh_command_line(&argv, &c), 0);
	assert_line(&argv,
	    CARRY "-oBatchMode=yes|-v|-oUser=x|-p|22|-l|me|--|-h|scp -t x y");
}

static void
test_remote_copy(void **state)
{
	struct strlist argv = { NULL, 0 };
	struct ssh_command c = { .program = "/a/ssh",
		.purpose = SSH_COMMAND_REMOTE_COPY, .options = &options,
		.user = "me", .host = "h", .command = "scp -r" };

	(void)state;
	assert_int_equal(ssh_command_line(&argv, &c), 0);
	assert_line(&argv,
	    "/a/ssh|-x|-oClearAllForwardings=yes|-n|-oForwardAgent=no|"
	    "-v|-oUser=x|-l|me|--|h|scp -r");
}

static void
test_jump(void **state)
{
	struct strlist argv = { NULL, 0 };
	struct ssh_command_jump j = { .program = "hpnssh", .host = "-h",
		.target = "[a]:22" };

	(void)state;
	assert_int_equal(ssh_command_jump_line(&argv, &j), 0);
	assert_line(&argv, "hpnssh|-W|[a]:22|--|-h");
	j.user = "me";
	j.port = "23";
	j.earlier = "b,c";
	j.config_path = "none";
	j.verbosity = 5;
	j.batch = true;
	assert_int_equal(ssh_command_jump_line(&argv, &j), 0);
	assert_line(&argv, "hpnssh|-l|me|-p|23|-J|b,c|-F|none|-v|-v|-v|"
			   "-oBatchMode=yes|-W|[a]:22|--|-h");
	j = (struct ssh_command_jump){ .program = "hpnssh", .host = "h",
		.target = "[a]:22", .verbosity = -1 };
	assert_int_equal(ssh_command_jump_line(&argv, &j), 0);
	assert_line(&argv, "hpnssh|-q|-W|[a]:22|--|h");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_carry),
		cmocka_unit_test(test_remote_copy),
		cmocka_unit_test(test_jump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
