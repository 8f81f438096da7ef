/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <stdlib.h>

#include "base/mem.h"
#include "conf/client-conf.h"

static int
keep(void **state)
{
	(void)state;
	messages_keep();
	return 0;
}

static void
set(struct client_conf *c, const char *option)
{
	messages_forget();
	if (client_conf_set_option(c, option) != 0)
		fail_msg("%s: %s", option, messages);
}

static int
load(struct client_conf *c, const char *host, bool stdio_forward)
{
	const struct client_conf_context context = { .host = host,
		.config_path = "none", .stdio_forward = stdio_forward };

	messages_forget();
	return client_conf_load(c, &context);
}

/* Flags and keywords fill the same lists, in their order, each forward once. */
static void
one_list(void **state)
{
	struct client_conf c;

	(void)state;
	client_conf_init(&c);
	set(&c, "LocalForward=1 h:2");
	assert_int_equal(client_conf_add_forward(&c, FORWARD_DYNAMIC, "5"), 0);
	assert_int_equal(client_conf_add_forward(&c, FORWARD_LOCAL, "1:h:2"),
	    0);
	set(&c, "DynamicForward *:5");
	set(&c, "DynamicForward 5");
	set(&c, "RemoteForward 7");
	assert_int_equal(client_conf_add_forward(&c, FORWARD_REMOTE, "7:h:2"),
	    0);
	set(&c, "RemoteForward 7 [socks]:0");
	assert_int_equal(load(&c, "host", false), 0);
	assert_int_equal(c.forward.local.n, 3);
	assert_int_equal(c.forward.local.v[0].kind, FORWARD_LOCAL);
	assert_int_equal(c.forward.local.v[1].kind, FORWARD_DYNAMIC);
	assert_null(c.forward.local.v[1].listen.host);
	assert_string_equal(c.forward.local.v[2].listen.host, "");
	assert_int_equal(c.forward.remote.n, 2);
	assert_true(c.forward.remote.v[0].target_is_socks);
	assert_false(c.forward.remote.v[1].target_is_socks);
	client_conf_clear(&c);
	assert_int_equal(c.forward.local.n + c.forward.remote.n, 0);
}

static void
paths(void **state)
{
	struct client_conf c;

	(void)state;
	client_conf_init(&c);
	setenv("HPN_T", "%h", 1);
	set(&c, "Hostname=real");
	set(&c, "LocalForward \"/a b/%n\" h%p:80");
	set(&c, "RemoteForward /%%${HPN_T} /%h");
	assert_int_equal(load(&c, "host", false), 0);
	assert_string_equal(c.forward.local.v[0].listen.path, "/a b/host");
	assert_string_equal(c.forward.local.v[0].target.host, "h%p");
	assert_string_equal(c.forward.remote.v[0].listen.path, "/%real");
	assert_string_equal(c.forward.remote.v[0].target.path, "/real");
	client_conf_clear(&c);

	set(&c, "LocalForward 1 /%q");
	assert_int_equal(load(&c, "host", false), ERR_SYNTAX);
	assert_non_null(strstr(messages, "unknown token %q"));
	client_conf_clear(&c);

	set(&c, "LocalForward 1 /%n%n%n%n");
	assert_int_equal(load(&c, "a-name-of-27-bytes.example", false), 0);
	client_conf_clear(&c);
	set(&c, "LocalForward 1 /%n%n%n%n");
	/* Too long for a socket: that is found out where one is made. */
	assert_int_equal(load(&c, "one-name-of-28-bytes.example", false), 0);
	client_conf_clear(&c);
}

static void
clear_all(void **state)
{
	/* Said by -W, ClearAllForwardings, ExitOnForwardFailure; what is. */
	static const struct {
		bool through;
		const char *clear, *fail;
		bool cleared, fails;
	} rows[] = {
		{ false, NULL, NULL, false, false },
		{ false, "yes", "yes", true, true },
		{ true, NULL, NULL, true, true },
		{ true, "no", NULL, false, true },
		{ true, NULL, "no", true, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct client_conf c;

		client_conf_init(&c);
		set(&c, "LocalForward 1 h:2");
		set(&c, "RemoteForward 1 h:2");
		set(&c, "DynamicForward 2");
		set(&c, "Tunnel ethernet");
		if (rows[i].clear != NULL)
			assert_int_equal(client_conf_set(&c,
			    "ClearAllForwardings", rows[i].clear), 0);
		if (rows[i].fail != NULL)
			assert_int_equal(client_conf_set(&c,
			    "ExitOnForwardFailure", rows[i].fail), 0);
		assert_int_equal(load(&c, "host", rows[i].through), 0);
		assert_int_equal(c.forward.local.n, rows[i].cleared ? 0 : 2);
		assert_int_equal(c.forward.remote.n, rows[i].cleared ? 0 : 1);
		assert_int_equal(c.forward.tunnel, rows[i].cleared ?
		    CLIENT_TUNNEL_NO : CLIENT_TUNNEL_ETHERNET);
		assert_int_equal(c.forward.exit_on_failure, rows[i].fails);
		client_conf_clear(&c);
	}
}

static void
wrong(void **state)
{
	static const struct {
		const char *option, *message;
	} rows[] = {
		{ "LocalForward 1", "command-line line 0: Missing target "
				    "argument.\n" },
		{ "LocalForward 1:h:2", "Missing target argument." },
		{ "LocalForward 1 h", "Bad forwarding specification." },
		{ "LocalForward 1 [socks]:0", "Bad forwarding specification" },
		{ "RemoteForward 1:h:2", "Bad forwarding specification." },
		{ "LocalForward 1 h:2 x",
		    "keyword localforward extra arguments at end of line" },
		{ "DynamicForward 1 2", "keyword dynamicforward extra" },
		{ "TunnelDevice 1:", "Bad tun device." },
		{ "ControlPersist x", "Bad ControlPersist argument." },
		{ "ObscureKeystrokeTiming interval:0", "an interval has 1" },
		{ "ObscureKeystrokeTiming interval:1001", "an interval has" },
		{ "ObscureKeystrokeTiming x", "neither yes nor no" },
	};
	struct client_conf c;

	(void)state;
	client_conf_init(&c);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		messages_forget();
		if (client_conf_set_option(&c, rows[i].option) == 0 ||
		    strstr(messages, rows[i].message) == NULL)
			fail_msg("%s: %s", rows[i].option, messages);
	}
	assert_int_equal(client_conf_add_forward(&c, FORWARD_REMOTE, "h:x"),
	    ERR_SYNTAX);
	assert_non_null(strstr(messages,
	    "Bad remote forwarding specification 'h:x'\n"));
	client_conf_clear(&c);
}

static void
units(void **state)
{
	static const struct {
		const char *text;
		int here, there; /* -2: refused */
	} rows[] = {
		{ "0", 0, CLIENT_TUNNEL_ANY },
		{ "any", CLIENT_TUNNEL_ANY, CLIENT_TUNNEL_ANY },
		{ "ANY:7", CLIENT_TUNNEL_ANY, 7 },
		{ "2147483645:1", CLIENT_TUNNEL_UNIT_MAX, 1 },
		{ "2147483646", -2, 0 },
		{ "", -2, 0 },
		{ ":1", -2, 0 },
		{ "1:", -2, 0 },
		{ "1:2:3", -2, 0 },
		{ "-1", -2, 0 },
		{ "99999999999999999999", -2, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct client_conf c;
		bool right = rows[i].here != -2;

		client_conf_init(&c);
		assert_int_equal(client_conf_is_tunnel_device(rows[i].text),
		    right);
		assert_int_equal(client_conf_set(&c, "TunnelDevice",
		    rows[i].text), right ? 0 : ERR_SYNTAX);
		if (right) {
			assert_int_equal(c.forward.tunnel_local, rows[i].here);
			assert_int_equal(c.forward.tunnel_remote,
			    rows[i].there);
		}
		client_conf_clear(&c);
	}
}

static void
tunnel_name(void **state)
{
	struct client_conf c;
	char *text;

	(void)state;
	client_conf_init(&c);
	assert_int_equal(load(&c, "host", false), 0);
	assert_int_equal(client_conf_expand(&c, CLIENT_TOKENS_LOCAL,
	    "LocalCommand", "%T %n", &text), 0);
	assert_string_equal(text, "NONE host");
	free(text);
	c.load.tunnel_name = xstrdup("tun3");
	assert_int_equal(client_conf_expand(&c, CLIENT_TOKENS_LOCAL,
	    "LocalCommand", "%T %n", &text), 0);
	assert_string_equal(text, "tun3 host");
	free(text);
	client_conf_clear(&c);
	assert_null(c.load.tunnel_name);
}

/* The last of these flags counts, also over an -o in front of it. */
static void
replace(void **state)
{
	struct client_conf c;

	(void)state;
	client_conf_init(&c);
	set(&c, "ControlPath=/first");
	assert_int_equal(client_conf_set(&c, "ControlPath", "/second"), 0);
	assert_string_equal(c.mux.control_path, "/first");
	assert_int_equal(client_conf_replace(&c, "ControlPath", "/third"), 0);
	assert_string_equal(c.mux.control_path, "/third");
	assert_int_equal(client_conf_replace(&c, "ControlPath", "none"), 0);
	assert_null(c.mux.control_path);
	set(&c, "ControlPath=/fourth");
	assert_null(c.mux.control_path);
	client_conf_clear(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_list),
	    cmocka_unit_test(paths),
	    cmocka_unit_test(clear_all),
	    cmocka_unit_test(wrong),
	    cmocka_unit_test(units),
	    cmocka_unit_test(tunnel_name),
	    cmocka_unit_test(replace),
	};

	return cmocka_run_group_tests(tests, keep, NULL);
}
