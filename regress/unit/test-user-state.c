/* SPDX-License-Identifier: ISC */
/* What the user's process gets: all of it arrives, nothing that is cut short or
 * wrong is taken, and no private key is among it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "config.h"
#include "server/user-state.h"

#define SECRET "the private half of a key"

static struct user_state from, to;
static struct buf first, again;

static void
add_words(struct strlist *l, const char *a, const char *b)
{
	assert_int_equal(strlist_add(l, a), 0);
	assert_int_equal(strlist_add(l, b), 0);
}

static void
fill_permits(struct permits *p)
{
	permits_init(p);
	p->user_rc = false;
	p->x11_forwarding = false;
	p->forward = PERMITS_OPEN_TCP | PERMITS_LISTEN_PATH;
	p->tunnel_modes = PERMITS_TUNNEL_ETHERNET;
	p->no_touch = false;
	p->verify_required = true;
	p->tunnel_unit = 7;
	p->expires = 4102444800;
	p->command = xstrdup("only this");
	assert_int_equal(permits_add_env(p, "A=1"), 0);
	assert_int_equal(permits_add_env(p, "B="), 0);
	assert_int_equal(permits_add_open(p, "h:80"), 0);
	assert_int_equal(permits_add_open(p, "[2001:db8::1]:*"), 0);
	permits_open_nothing(p);
	assert_int_equal(permits_add_listen(p, "8080"), 0);
}

static void
fill_keys(struct hostkeys *h)
{
	h->n = 2;
	buf_put_cstring(&h->v[0].public, "public 0");
	buf_put_cstring(&h->v[0].private, SECRET);
	buf_put_cstring(&h->v[0].cert, "cert 0");
	buf_put_cstring(&h->v[1].public, "public 1");
	h->agent = xstrdup("/run/agent-of-the-host");
}

static int
set_up(void **state)
{
	(void)state;
	memset(&from, 0, sizeof from);
	server_conf_init(&from.conf);
	assert_int_equal(server_conf_set_option(&from.conf,
			     "ForceCommand=x y"), 0);
	assert_int_equal(server_conf_set_option(&from.conf, "AcceptEnv=L* M"),
	    0);
	assert_int_equal(server_conf_finish(&from.conf), 0);
	from.user = (struct user){ xstrdup("ann"), xstrdup("/home/ann"),
		xstrdup("/bin/sh"), 1001, 1002, true };
	fill_permits(&from.permits);
	from.peer = (struct peer){ xstrdup("192.0.2.1"), xstrdup("192.0.2.2"),
		xstrdup("host.example"), 40000, 22, "vrf0" };
	from.peer_text = xstrdup("192.0.2.1 port 40000");
	from.remote = xstrdup("192.0.2.1-40000");
	from.id_local = xstrdup("SSH-2.0-a");
	fill_keys(&from.keys);
	from.gss_kex = xstrdup("gss-x");
	add_words(&from.login_env, "X=1", "Y=2 3");
	add_words(&from.client_lines, "a: key options:", "b: key options: pty");
	buf_put(&from.auth_info, "publickey\n", 10);
	from.must_change = true;
	from.grant = (struct grant_scope){ xstrdup("/some/dir"), 5, 6, 7,
		8 };
	from.began_ms = 0x123456789a;
	from.ccache = xstrdup("/tmp/krb5cc_1");
	from.monitor = 4711;
	from.exec_label = xstrdup("user_u:user_r:user_t:s0");
	from.keep_caps = true;
	from.log_level = LOG_LVL_DEBUG2;
	add_words(&from.log_locations, "kex.c:*", "a.c:f");
	from.log_to_stderr = true;
	buf_put(&from.packet_state, "packet keys", 11);
	buf_put(&from.kex_state, "kex", 3);
	buf_init(&first);
	buf_init(&again);
	assert_int_equal(user_state_export(&from, &first), 0);
	memset(&to, 0, sizeof to);
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	user_state_clear(&from);
	user_state_clear(&to);
	buf_clear(&first);
	buf_clear(&again);
	return 0;
}

static int
import(const void *p, size_t len)
{
	struct rd rd = rd_from(p, len);

	user_state_clear(&to);
	return user_state_import(&to, &rd);
}

/* ---- all of it ---------------------------------------------------------- */

static void
check_permits(const struct permits *p)
{
	assert_true(p->pty && p->agent_forwarding && p->verify_required);
	assert_false(p->user_rc || p->x11_forwarding || p->no_touch);
	assert_int_equal(p->forward, PERMITS_OPEN_TCP | PERMITS_LISTEN_PATH);
	assert_int_equal(p->tunnel_modes, PERMITS_TUNNEL_ETHERNET);
	assert_int_equal(p->tunnel_unit, 7);
	assert_int_equal(p->expires, 4102444800);
	assert_string_equal(p->command, "only this");
	assert_int_equal(p->env.n, 2);
	assert_string_equal(p->env.v[1], "B=");
	assert_int_equal(p->open.n, 2);
	assert_int_equal(p->open.v[0].n, 2);
	assert_string_equal(p->open.v[0].v[1].host, "2001:db8::1");
	assert_int_equal(p->open.v[0].v[0].port, 80);
	assert_int_equal(p->open.v[1].n, 0);
	assert_int_equal(p->listen.n, 1);
	assert_int_equal(p->listen.v[0].v[0].port, 8080);
}

static void
check_who(void)
{
	assert_string_equal(to.user.name, "ann");
	assert_string_equal(to.user.home, "/home/ann");
	assert_string_equal(to.user.shell, "/bin/sh");
	assert_int_equal(to.user.uid, 1001);
	assert_int_equal(to.user.gid, 1002);
	assert_true(to.user.valid);
	assert_string_equal(to.peer.address, "192.0.2.1");
	assert_string_equal(to.peer.local_address, "192.0.2.2");
	assert_string_equal(to.peer.host, "host.example");
	assert_int_equal(to.peer.port, 40000);
	assert_int_equal(to.peer.local_port, 22);
	assert_string_equal(to.peer.rdomain, "vrf0");
	assert_string_equal(to.peer_text, "192.0.2.1 port 40000");
	assert_string_equal(to.remote, "192.0.2.1-40000");
	assert_string_equal(to.id_local, "SSH-2.0-a");
}

static void
check_rest(void)
{
	assert_string_equal(to.conf.session.force_command, "x y");
	assert_int_equal(to.conf.session.accept_env.n, 2);
	assert_int_equal(to.keys.n, 2);
	assert_int_equal(buf_len(&to.keys.v[0].cert), 4 + 6);
	assert_string_equal(to.gss_kex, "gss-x");
	assert_int_equal(to.login_env.n, 2);
	assert_string_equal(to.login_env.v[1], "Y=2 3");
	assert_int_equal(to.client_lines.n, 2);
	assert_string_equal(to.client_lines.v[1], "b: key options: pty");
	assert_int_equal(buf_len(&to.auth_info), 10);
	assert_string_equal(to.grant.path, "/some/dir");
	assert_int_equal(to.grant.rights, 5);
	assert_int_equal(to.grant.deletes, 8);
	assert_true(to.must_change && to.keep_caps && to.log_to_stderr);
	assert_int_equal(to.began_ms, 0x123456789a);
	assert_string_equal(to.ccache, "/tmp/krb5cc_1");
	assert_int_equal(to.monitor, 4711);
	assert_string_equal(to.exec_label, "user_u:user_r:user_t:s0");
	assert_int_equal(to.log_level, LOG_LVL_DEBUG2);
	assert_string_equal(to.log_locations.v[1], "a.c:f");
}

static void
every_field(void **state)
{
	(void)state;
	assert_int_equal(import(buf_data(&first), buf_len(&first)), 0);
	check_who();
	check_permits(&to.permits);
	check_rest();
	assert_int_equal(user_state_export(&to, &again), 0);
	assert_int_equal(buf_len(&again), buf_len(&first));
	assert_memory_equal(buf_data(&again), buf_data(&first),
	    buf_len(&first));
}

static void
what_is_missing_stays_missing(void **state)
{
	(void)state;
	free(from.gss_kex);
	free(from.ccache);
	free(from.exec_label);
	free(from.permits.command);
	from.gss_kex = from.ccache = from.exec_label = NULL;
	from.permits.command = NULL;
	buf_reset(&first);
	assert_int_equal(user_state_export(&from, &first), 0);
	assert_int_equal(import(buf_data(&first), buf_len(&first)), 0);
	assert_null(to.gss_kex);
	assert_null(to.ccache);
	assert_null(to.exec_label);
	assert_null(to.permits.command);
}

/* ---- nothing else ------------------------------------------------------- */

static void
no_private_keys(void **state)
{
	(void)state;
	assert_null(memmem(buf_data(&first), buf_len(&first), SECRET,
	    strlen(SECRET)));
	assert_null(memmem(buf_data(&first), buf_len(&first), "agent-of-the",
	    12));
	assert_null(memmem(buf_data(&first), buf_len(&first), "packet keys",
	    11));
	assert_int_equal(import(buf_data(&first), buf_len(&first)), 0);
	assert_int_equal(buf_len(&to.keys.v[0].private), 0);
	assert_null(to.keys.agent);
}

static void
cut_short(void **state)
{
	struct buf longer = { 0 };

	(void)state;
	for (size_t len = 0; len < buf_len(&first); len++)
		if (import(buf_data(&first), len) == 0)
			fail_msg("%zu bytes of %zu", len, buf_len(&first));
	buf_put_buf(&longer, &first);
	buf_put_u8(&longer, 0);
	assert_int_not_equal(import(buf_data(&longer), buf_len(&longer)), 0);
	buf_clear(&longer);
}

/* No state is taken that no login can have. */
static void
refused(void)
{
	buf_reset(&first);
	assert_int_equal(user_state_export(&from, &first), 0);
	assert_true(import(buf_data(&first), buf_len(&first)) < 0);
}

static void
another_version(void **state)
{
	struct buf other = { 0 };

	(void)state;
	buf_put_cstring(&other, VERSION "x");
	buf_put(&other, buf_data(&first) + 4 + strlen(VERSION),
	    buf_len(&first) - 4 - strlen(VERSION));
	assert_true(import(buf_data(&other), buf_len(&other)) < 0);
	buf_clear(&other);
}

static void
users_that_cannot_be(void **state)
{
	(void)state;
	from.user.valid = false;
	refused();
	from.user.valid = true;
	from.user.uid = (uid_t)-1;
	refused();
	from.user.uid = 1001;
	from.user.gid = (gid_t)-1;
	refused();
	from.user.gid = 1002;
	from.user.name[0] = '\0';
	refused();
	from.user.name[0] = 'a';
	from.user.shell[0] = '\0';
	refused();
}

/* Of what has no end by itself. */
static void
more_than_there_can_be(void **state)
{
	static const uint8_t zeros[64 * 1024];

	(void)state;
	for (int i = 0; i <= 16; i++)
		buf_put(&from.auth_info, zeros, sizeof zeros);
	refused();
}

/* The second message: both states, whole, and nothing else. */
static void
keys_cut_short(void **state)
{
	struct buf b = { 0 };

	(void)state;
	user_state_export_keys(&from, &b);
	buf_put_u8(&b, 0);
	for (size_t len = 0; len <= buf_len(&b); len++) {
		struct rd rd = rd_from(buf_data(&b), len);
		struct user_state s = { 0 };
		int r;

		server_conf_init(&s.conf);
		r = user_state_import_keys(&s, &rd);
		assert_int_equal(r == 0, len == buf_len(&b) - 1);
		user_state_clear(&s);
	}
	buf_clear(&b);
}

static void
numbers_that_cannot_be(void **state)
{
	(void)state;
	from.log_level = LOG_LVL_DEBUG3 + 1;
	refused();
	from.log_level = LOG_LVL_INFO;
	from.permits.tunnel_unit = (int64_t)PERMITS_TUNNEL_MAX + 1;
	refused();
	from.permits.tunnel_unit = 0;
	from.permits.forward = PERMITS_FORWARD_ALL + 1;
	refused();
	from.permits.forward = 0;
	from.permits.tunnel_modes = 8;
	refused();
	from.permits.tunnel_modes = 0;
	from.permits.expires = -1;
	refused();
}

static void
a_variable_twice(void **state)
{
	(void)state;
	assert_int_equal(strlist_add(&from.permits.env, "A=2"), 0);
	refused();
}

/* ---- the keys of the connection ----------------------------------------- */

static void
two_messages(void **state)
{
	struct buf none = { 0 };
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(user_state_send(&from, pair[0]), 0);
	assert_int_equal(user_state_receive(&to, pair[1]), 0);
	assert_int_equal(buf_len(&to.packet_state), 0);
	assert_int_equal(user_state_receive_keys(&to, pair[1]), 0);
	assert_int_equal(buf_len(&to.packet_state), 11);
	assert_memory_equal(buf_data(&to.packet_state), "packet keys", 11);
	assert_memory_equal(buf_data(&to.kex_state), "kex", 3);
	assert_int_equal(fd_send_msg(pair[0], &none), 0);
	assert_true(user_state_receive_keys(&to, pair[1]) < 0);
	close(pair[0]);
	assert_int_equal(user_state_receive_keys(&to, pair[1]), ERR_EOF);
	close(pair[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_field, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(what_is_missing_stays_missing,
		    set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_private_keys, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(cut_short, set_up, tear_down),
		cmocka_unit_test_setup_teardown(another_version, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(users_that_cannot_be, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(more_than_there_can_be, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(keys_cut_short, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(numbers_that_cannot_be, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(a_variable_twice, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(two_messages, set_up,
		    tear_down),
	};

	log_init("test-user-state", LOG_LVL_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
