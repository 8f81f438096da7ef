/* SPDX-License-Identifier: ISC */
#include "config.h"

#include "regress/unit/help.h"

#include "base/mem.h"
#include "client/common/ssh-flags.h"

static int
keep(void **state)
{
	(void)state;
	messages_keep();
	return 0;
}

/* Takes a line of flags and loads the configuration. */
static int
take(struct ssh_flags *f, struct client_conf *c, const char *line)
{
	const struct client_conf_context context = { .host = "host",
		.config_path = "none" };
	struct strlist list = { 0 };
	int r;

	*f = (struct ssh_flags){ 0 };
	client_conf_init(c);
	messages_forget();
	assert_int_equal(strlist_split(&list, line, " "), 0);
	r = ssh_flags_take_all(f, c, &list);
	strlist_clear(&list);
	if (r == 0 && (r = client_conf_load(c, &context)) == 0)
		ssh_flags_apply(f, c);
	return r;
}

static void
masters(void **state)
{
	static const struct {
		const char *line;
		int master;
	} rows[] = {
		{ "", CLIENT_MASTER_NO },
		{ "-M", CLIENT_MASTER_YES },
		{ "-M -M", CLIENT_MASTER_ASK },
		{ "-M -M -M", CLIENT_MASTER_YES },
		{ "-oControlMaster=auto -M", CLIENT_MASTER_YES },
		{ "-M -oControlMaster=auto", CLIENT_MASTER_YES },
		{ "-oControlMaster=yes -M", CLIENT_MASTER_ASK },
	};
	struct client_conf c;
	struct ssh_flags f;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(take(&f, &c, rows[i].line), 0);
		if (c.mux.control_master != rows[i].master)
			fail_msg("%s: %d", rows[i].line,
			    c.mux.control_master);
		client_conf_clear(&c);
	}
}

static void
commands(void **state)
{
	static const char *const words[] = { "cancel", "channels", "check",
		"conninfo", "exit", "forward", "proxy", "stop" };
	struct client_conf c;
	struct ssh_flags f;
	char line[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		strcpy(line, "-O ");
		strcat(line, words[i]);
		assert_int_equal(take(&f, &c, line), 0);
		assert_string_equal(f.control_command, words[i]);
		client_conf_clear(&c);
	}
	assert_true(take(&f, &c, "-O checks") < 0);
	assert_non_null(strstr(messages, "Invalid multiplex command.\n"));
	client_conf_clear(&c);
	assert_true(take(&f, &c, "-O check -O exit") < 0);
	assert_non_null(strstr(messages, "already specified"));
	client_conf_clear(&c);
}

static void
tunnels(void **state)
{
	static const struct {
		const char *line;
		int tunnel, here;
	} rows[] = {
		{ "-w 1", CLIENT_TUNNEL_POINT_TO_POINT, 1 },
		{ "-w 1 -w 2", CLIENT_TUNNEL_POINT_TO_POINT, 2 },
		{ "-oTunnelDevice=1 -w 2", CLIENT_TUNNEL_POINT_TO_POINT, 2 },
		{ "-oTunnel=ethernet -w 2", CLIENT_TUNNEL_ETHERNET, 2 },
		{ "-oTunnel=no -w 2", CLIENT_TUNNEL_NO, 2 },
		{ "-oTunnelDevice=1", CLIENT_TUNNEL_NO, 1 },
	};
	struct client_conf c;
	struct ssh_flags f;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(take(&f, &c, rows[i].line), 0);
		if (c.forward.tunnel != rows[i].tunnel ||
		    c.forward.tunnel_local != rows[i].here)
			fail_msg("%s", rows[i].line);
		client_conf_clear(&c);
	}
	assert_int_equal(take(&f, &c, "-w x"), ERR_SYNTAX);
	assert_string_equal(messages, "Bad tun device 'x'\n");
	client_conf_clear(&c);
}

static void
forwards(void **state)
{
	struct client_conf c;
	struct ssh_flags f;

	(void)state;
	assert_int_equal(take(&f, &c, "-L 1:h:2 -R3 -D/a -g -S none"), 0);
	assert_int_equal(c.forward.local.n, 2);
	assert_int_equal(c.forward.local.v[1].kind, FORWARD_DYNAMIC);
	assert_int_equal(c.forward.remote.n, 1);
	assert_int_equal(c.forward.gateway_ports, 1);
	assert_null(c.mux.control_path);
	client_conf_clear(&c);
	assert_int_equal(take(&f, &c, "-D 1:h:2"), ERR_SYNTAX);
	assert_string_equal(messages,
	    "Bad dynamic forwarding specification '1:h:2'\n");
	client_conf_clear(&c);
}

static void
agent_and_display(void **state)
{
	static const struct {
		const char *line;
		bool agent, x11, trusted;
	} rows[] = {
		{ "", false, false, false },
		{ "-A -X", true, true, false },
		{ "-Y", false, true, true },
		{ "-Y -X", false, true, true },
		{ "-Y -x", false, false, true },
		{ "-x -X", false, true, false },
		{ "-a -A", true, false, false },
		{ "-A -a", false, false, false },
		{ "-oForwardAgent=no -A", true, false, false },
		{ "-A -oForwardAgent=no", true, false, false },
		{ "-a -oForwardAgent=yes", false, false, false },
		{ "-oForwardX11Trusted=no -Y", false, true, true },
	};
	struct client_conf c;
	struct ssh_flags f;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(take(&f, &c, rows[i].line), 0);
		if ((c.forward.forward_agent != NULL) != rows[i].agent ||
		    c.forward.forward_x11 != rows[i].x11 ||
		    c.forward.forward_x11_trusted != rows[i].trusted)
			fail_msg("%s", rows[i].line);
		client_conf_clear(&c);
	}
}

#ifdef HAVE_GSSAPI
static void
tickets(void **state)
{
	static const struct {
		const char *line;
		int authentication, delegate;
	} rows[] = {
		{ "", 0, 0 },
		{ "-K", 1, 1 },
		{ "-k", 0, 0 },
		{ "-oGSSAPIAuthentication=yes -k", 1, 0 },
		{ "-k -K", 1, 0 }, /* the first one counts */
	};
	struct client_conf c;
	struct ssh_flags f;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(take(&f, &c, rows[i].line), 0);
		if (c.auth.gssapi_authentication != rows[i].authentication ||
		    c.auth.gssapi_delegate_credentials != rows[i].delegate)
			fail_msg("%s", rows[i].line);
		client_conf_clear(&c);
	}
}
#endif

int
main(void)
{
	const struct CMUnitTest tests[] = {
#ifdef HAVE_GSSAPI
		cmocka_unit_test(tickets),
#endif
	    cmocka_unit_test(masters),
	    cmocka_unit_test(commands),
	    cmocka_unit_test(tunnels),
	    cmocka_unit_test(forwards),
	    cmocka_unit_test(agent_and_display),
	};

	return cmocka_run_group_tests(tests, keep, NULL);
}
