/* SPDX-License-Identifier: ISC */
/* What a login may do: lists, and what is left of permits from several
 * sources. */
#include "regress/unit/help.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "server/permits.h"
#include "regress/unit/dice.h"

/* ---- places ------------------------------------------------------------- */

static void
places_to_open(void **state)
{
	static const struct {
		const char *text, *host;
		uint16_t port;
		bool may;
	} rows[] = {
		{ "h:80", "h", 80, true },
		{ "h:80", "h", 81, false },
		{ "h:80", "H", 80, false },
		{ "h:80", "h.example", 80, false },
		{ "h:*", "h", 9, true },
		{ "*:80", "any.host", 80, true },
		{ "*:80", "any.host", 81, false },
		{ "h*:80", "host", 80, false }, /* no patterns */
		{ "[2001:db8::1]:22", "2001:db8::1", 22, true },
		{ "h:ssh", "h", 22, true },
		{ "h:65535", "h", 65535, true },
		{ "*:*", "any.host", 65535, true },
		{ "localhost:80", "127.0.0.1", 80, false }, /* no look-up */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct permits p;

		permits_init(&p);
		assert_true(permits_may_open(&p, rows[i].host, rows[i].port));
		assert_int_equal(permits_add_open(&p, rows[i].text), 0);
		if (permits_may_open(&p, rows[i].host, rows[i].port) !=
		    rows[i].may)
			fail_msg("row %zu: %s", i, rows[i].text);
		p.forward &= ~(unsigned)PERMITS_OPEN_TCP;
		assert_false(permits_may_open(&p, rows[i].host, rows[i].port));
		permits_clear(&p);
	}
}

static void
places_to_listen(void **state)
{
	static const struct {
		const char *text, *address;
		uint16_t port;
		bool may;
	} rows[] = {
		{ "8080", "localhost", 8080, true },
		{ "8080", "", 8080, true },
		{ "8080", "localhost", 0, false },
		{ "*", "localhost", 0, true },
		{ "localhost:*", "LOCALHOST", 0, true },
		{ "*.example:80", "a.example", 80, true },
		{ "*.example:80", "example", 80, false },
		{ "[::1]:80", "::1", 80, true },
		{ "LOCALHOST:80", "localhost", 80, false },
		{ "localhost:80", "", 80, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct permits p;

		permits_init(&p);
		assert_int_equal(permits_add_listen(&p, rows[i].text), 0);
		if (permits_may_listen(&p, rows[i].address, rows[i].port) !=
		    rows[i].may)
			fail_msg("row %zu: %s", i, rows[i].text);
		permits_clear(&p);
	}
}

/* Lists are about the network: a socket of the system is only let through by
 * what lets everything through. */
static void
paths_to_open(void **state)
{
	static const struct {
		const char *text;
		bool may;
	} rows[] = { { "*:*", true }, { "*:80", false }, { "h:*", false },
		{ "/tmp/s:*", false }, { "h:80", false } };
	struct permits p;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		permits_init(&p);
		assert_true(permits_may_open_path(&p));
		assert_int_equal(permits_add_open(&p, rows[i].text), 0);
		if (permits_may_open_path(&p) != rows[i].may)
			fail_msg("row %zu: %s", i, rows[i].text);
		assert_true(permits_may_listen_path(&p));
		p.forward = PERMITS_OPEN_TCP | PERMITS_LISTEN_TCP;
		assert_false(permits_may_open_path(&p));
		assert_false(permits_may_listen_path(&p));
		permits_clear(&p);
	}
	permits_init(&p);
	permits_open_nothing(&p);
	assert_false(permits_may_open_path(&p));
	permits_clear(&p);
}

/* There is no port 0 to connect to, and no host that nothing fits. */
static void
what_no_list_allows(void **state)
{
	struct permits p;

	(void)state;
	permits_init(&p);
	assert_false(permits_may_open(&p, "h", 0));
	permits_open_nothing(&p);
	permits_listen_nothing(&p);
	assert_false(permits_may_open(&p, "h", 80));
	assert_false(permits_may_listen(&p, "localhost", 80));
	assert_false(permits_may_listen(&p, "", 0));
	permits_clear(&p);
}

static void
wrong_places(void **state)
{
	static const char *const rows[] = { "", "h", "h:", "h:abc", "h:0",
		"h:65536", "h:-1", "h:8x", "h: 8", ":80", "[]:80", "[::1:80",
		"[::1]80", "::1:80", "h:80:90", "h:+8" };
	struct permits p;

	(void)state;
	permits_init(&p);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (permits_add_open(&p, rows[i]) == 0 ||
		    permits_add_listen(&p, rows[i]) == 0)
			fail_msg("accepted: %s", rows[i]);
	}
	assert_int_not_equal(permits_add_open(&p, "80"), 0);
	assert_int_equal(p.open.n + p.listen.n, 0);
	permits_clear(&p);
}

static void
lists_have_a_limit(void **state)
{
	struct permits p;
	char text[32];

	(void)state;
	permits_init(&p);
	for (int i = 1; i <= PERMITS_ENDPOINTS_MAX; i++) {
		snprintf(text, sizeof text, "h:%d", i);
		assert_int_equal(permits_add_open(&p, text), 0);
	}
	assert_int_equal(permits_add_open(&p, "h:9"), ERR_LIMIT);
	assert_true(permits_may_open(&p, "h", PERMITS_ENDPOINTS_MAX));
	assert_false(permits_may_open(&p, "h", PERMITS_ENDPOINTS_MAX + 1));
	permits_clear(&p);
}

static void
cleared_is_nothing(void **state)
{
	struct permits p;

	(void)state;
	permits_init(&p);
	permits_clear(&p);
	assert_false(p.pty || p.user_rc || p.agent_forwarding ||
	    p.x11_forwarding || p.no_touch);
	assert_int_equal(p.forward | p.tunnel_modes, 0);
	assert_false(permits_may_open(&p, "h", 1));
	assert_false(permits_may_open_path(&p));
	assert_false(permits_may_listen(&p, "h", 1));
	assert_false(permits_may_listen_path(&p));
	assert_false(permits_may_tunnel(&p, PERMITS_TUNNEL_ETHERNET,
	    PERMITS_TUNNEL_ANY));
	permits_init_session_only(&p);
	assert_true(p.pty);
	assert_false(p.user_rc || p.agent_forwarding || p.x11_forwarding);
	assert_int_equal(p.forward | p.tunnel_modes, 0);
	permits_clear(&p);
}

/* ---- merging, by property ------------------------------------------------ */

/* A small world, so that random permits often meet in it. */
static const char *const hosts[] = { "a", "b", "c" };
static const char *const names[] = { "A", "B" };
enum { PORTS = 3, SAMPLES = 3000 };

/* The same numbers in each run. */
static unsigned
dice(unsigned sides)
{
	static struct dice numbers = { 12345 };

	return dice_below(&numbers, sides);
}

static void
random_place(struct permits *p, int (*add)(struct permits *, const char *))
{
	char text[32], port[8] = "*";

	if (dice(3) > 0)
		snprintf(port, sizeof port, "%u", dice(PORTS) + 1);
	snprintf(text, sizeof text, "%s:%s",
	    dice(3) > 0 ? hosts[dice(ARRAY_LEN(hosts))] : "*", port);
	assert_int_equal(add(p, text), 0);
}

static void
random_permits(struct permits *p)
{
	char text[16];

	permits_init(p);
	p->pty = dice(2);
	p->user_rc = dice(2);
	p->agent_forwarding = dice(2);
	p->forward = dice(3) > 0 ? PERMITS_FORWARD_ALL :
				   dice(PERMITS_FORWARD_ALL + 1);
	p->x11_forwarding = dice(2);
	p->tunnel_modes = dice(PERMITS_TUNNEL_ALL + 1);
	p->no_touch = dice(2);
	p->verify_required = dice(2);
	p->expires = dice(4);
	if (dice(2))
		p->tunnel_unit = dice(3);
	if (dice(3) == 0)
		p->command = xstrdup(dice(2) ? "x" : "y");
	for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(text, sizeof text, "%s=%u", names[i], dice(2));
		if (dice(3) == 0)
			assert_int_equal(permits_add_env(p, text), 0);
	}
	for (unsigned i = dice(4); i > 0; i--)
		random_place(p, permits_add_open);
	for (unsigned i = dice(4); i > 0; i--)
		random_place(p, permits_add_listen);
	if (dice(10) == 0)
		permits_open_nothing(p);
	if (dice(10) == 0)
		permits_listen_nothing(p);
}

/* Everything that can be asked of permits, as a text. */
static void
describe(const struct permits *p, char *out, size_t size)
{
	size_t n = (size_t)snprintf(out, size, "%d%d%d%d%d%d%d%d %x %d %s ",
	    p->pty, p->user_rc, p->agent_forwarding, p->x11_forwarding,
	    p->no_touch, p->verify_required, permits_may_open_path(p),
	    permits_may_listen_path(p), p->forward, (int)p->expires,
	    p->command != NULL ? p->command : "-");

	for (int unit = PERMITS_TUNNEL_ANY; unit < 3; unit++)
		n += (size_t)snprintf(out + n, size - n, "%d%d",
		    permits_may_tunnel(p, PERMITS_TUNNEL_ETHERNET, unit),
		    permits_may_tunnel(p, PERMITS_TUNNEL_POINT_TO_POINT,
			unit));
	for (unsigned i = 0; i < ARRAY_LEN(hosts) * PORTS; i++)
		n += (size_t)snprintf(out + n, size - n, "%d%d",
		    permits_may_open(p, hosts[i / PORTS],
			(uint16_t)(i % PORTS + 1)),
		    permits_may_listen(p, hosts[i / PORTS],
			(uint16_t)(i % PORTS + 1)));
	for (unsigned i = 0; i < ARRAY_LEN(names) * 2; i++) {
		char text[16];

		snprintf(text, sizeof text, "%s=%u", names[i / 2], i % 2);
		n += (size_t)snprintf(out + n, size - n, "%d",
		    strlist_has(&p->env, text));
	}
	assert_true(n < size);
}

enum { DESCRIPTION = 256 };

/* What is left of some permits in this order; "refused" if they contradict
 * each other. */
static void
merged(const struct permits *const *list, size_t n, char out[DESCRIPTION])
{
	struct permits p;
	const char *why;

	permits_init(&p);
	snprintf(out, DESCRIPTION, "refused");
	for (size_t i = 0; i < n; i++) {
		if (permits_merge(&p, list[i], &why) != 0) {
			assert_non_null(why);
			goto out;
		}
	}
	describe(&p, out, DESCRIPTION);
out:
	permits_clear(&p);
}

/* (a b) c, where what is merged first is merged into the others' result. */
static void
merged_later(const struct permits *a, const struct permits *b,
    const struct permits *c, char out[DESCRIPTION])
{
	struct permits bc, p;
	const char *why;

	permits_init(&bc);
	permits_init(&p);
	snprintf(out, DESCRIPTION, "refused");
	if (permits_merge(&bc, b, &why) == 0 &&
	    permits_merge(&bc, c, &why) == 0 &&
	    permits_merge(&p, a, &why) == 0 &&
	    permits_merge(&p, &bc, &why) == 0)
		describe(&p, out, DESCRIPTION);
	permits_clear(&p);
	permits_clear(&bc);
}

static void
order_makes_no_difference(void **state)
{
	char first[DESCRIPTION], other[DESCRIPTION];
	unsigned refused = 0;

	(void)state;
	for (unsigned i = 0; i < SAMPLES; i++) {
		struct permits p[3];
		const struct permits *list[] = { &p[0], &p[1], &p[2] };
		const struct permits *turned[] = { &p[2], &p[0], &p[1] };
		const struct permits *back[] = { &p[1], &p[0], &p[2] };

		for (unsigned j = 0; j < 3; j++)
			random_permits(&p[j]);
		merged(list, 3, first);
		merged(turned, 3, other);
		assert_string_equal(first, other);
		merged(back, 3, other);
		assert_string_equal(first, other);
		merged_later(&p[0], &p[1], &p[2], other);
		assert_string_equal(first, other);
		refused += strcmp(first, "refused") == 0;
		for (unsigned j = 0; j < 3; j++)
			permits_clear(&p[j]);
	}
	assert_true(refused > SAMPLES / 10 && refused < SAMPLES * 9 / 10);
}

static void
merging_twice_changes_nothing(void **state)
{
	char once[DESCRIPTION], twice[DESCRIPTION], alone[DESCRIPTION];

	(void)state;
	for (unsigned i = 0; i < SAMPLES; i++) {
		struct permits p;
		const struct permits *list[] = { &p, &p };

		random_permits(&p);
		describe(&p, alone, sizeof alone);
		merged(list, 1, once);
		assert_string_equal(alone, once);
		merged(list, 2, twice);
		assert_string_equal(once, twice);
		permits_clear(&p);
	}
}

static bool
both(bool a, bool b)
{
	return a && b;
}

/* What is allowed is what each allows, and what is demanded what one does. */
static void
check_is_intersection(const struct permits *a, const struct permits *b,
    const struct permits *m)
{
	assert_int_equal(m->pty, both(a->pty, b->pty));
	assert_int_equal(m->user_rc, both(a->user_rc, b->user_rc));
	assert_int_equal(m->agent_forwarding,
	    both(a->agent_forwarding, b->agent_forwarding));
	assert_int_equal(permits_may_open_path(m),
	    both(permits_may_open_path(a), permits_may_open_path(b)));
	assert_int_equal(permits_may_listen_path(m),
	    both(permits_may_listen_path(a), permits_may_listen_path(b)));
	assert_int_equal(m->x11_forwarding,
	    both(a->x11_forwarding, b->x11_forwarding));
	assert_int_equal(m->no_touch, both(a->no_touch, b->no_touch));
	assert_int_equal(m->verify_required,
	    a->verify_required || b->verify_required);
	for (unsigned i = 0; i < ARRAY_LEN(hosts) * PORTS; i++) {
		const char *host = hosts[i / PORTS];
		uint16_t port = (uint16_t)(i % PORTS + 1);

		assert_int_equal(permits_may_open(m, host, port),
		    both(permits_may_open(a, host, port),
			permits_may_open(b, host, port)));
		assert_int_equal(permits_may_listen(m, host, port),
		    both(permits_may_listen(a, host, port),
			permits_may_listen(b, host, port)));
		assert_int_equal(permits_may_listen(m, host, 0),
		    both(permits_may_listen(a, host, 0),
			permits_may_listen(b, host, 0)));
	}
	for (int i = 0; i < 6; i++) {
		enum permits_tunnel mode = i % 2 == 0 ?
		    PERMITS_TUNNEL_POINT_TO_POINT : PERMITS_TUNNEL_ETHERNET;

		assert_int_equal(permits_may_tunnel(m, mode, i / 2),
		    both(permits_may_tunnel(a, mode, i / 2),
			permits_may_tunnel(b, mode, i / 2)));
	}
	assert_true(m->expires == 0 || m->expires == a->expires ||
	    m->expires == b->expires);
	assert_false(a->expires != 0 &&
	    (m->expires == 0 || m->expires > a->expires));
	assert_false(b->expires != 0 &&
	    (m->expires == 0 || m->expires > b->expires));
	if (a->command != NULL || b->command != NULL)
		assert_string_equal(m->command,
		    a->command != NULL ? a->command : b->command);
}

static void
only_what_both_allow_is_left(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SAMPLES; i++) {
		struct permits a, b, m;
		const char *why;

		random_permits(&a);
		random_permits(&b);
		permits_init(&m);
		assert_int_equal(permits_merge(&m, &a, &why), 0);
		if (permits_merge(&m, &b, &why) == 0)
			check_is_intersection(&a, &b, &m);
		permits_clear(&m);
		permits_clear(&a);
		permits_clear(&b);
	}
}

static void
contradictions_are_refused(void **state)
{
	char before[DESCRIPTION], after[DESCRIPTION];
	struct permits a, b;
	const char *why;

	(void)state;
	permits_init(&a);
	permits_init(&b);
	a.command = xstrdup("x");
	b.command = xstrdup("y");
	b.pty = false;
	describe(&a, before, sizeof before);
	assert_int_equal(permits_merge(&a, &b, &why), ERR_DENIED);
	assert_non_null(why);
	describe(&a, after, sizeof after);
	assert_string_equal(before, after);
	permits_clear(&b);
	permits_init(&b);
	assert_int_equal(permits_add_env(&a, "A=1"), 0);
	assert_int_equal(permits_add_env(&b, "A=2"), 0);
	assert_int_equal(permits_merge(&a, &b, &why), ERR_DENIED);
	assert_string_equal(a.env.v[0], "A=1");
	permits_clear(&a);
	permits_clear(&b);
}

/* Two lists that have nothing in common leave nothing, and not anything. */
static void
lists_without_a_common_place(void **state)
{
	struct permits a, b;
	const char *why;

	(void)state;
	permits_init(&a);
	permits_init(&b);
	assert_int_equal(permits_add_open(&a, "a:1"), 0);
	assert_int_equal(permits_add_open(&b, "b:1"), 0);
	assert_int_equal(permits_merge(&a, &b, &why), 0);
	assert_false(permits_may_open(&a, "a", 1));
	assert_false(permits_may_open(&a, "b", 1));
	assert_false(permits_may_open(&a, "c", 1));
	assert_true(permits_may_listen(&a, "c", 1));
	permits_clear(&a);
	permits_clear(&b);
}

/* ---- for people --------------------------------------------------------- */

static void
in_a_line(void **state)
{
	struct permits p = { .tunnel_unit = PERMITS_TUNNEL_ANY };
	char *text = permits_text(&p);

	(void)state;
	assert_string_equal(text, "");
	free(text);
	permits_init(&p);
	p.expires = 1;
	p.verify_required = true;
	p.tunnel_unit = 7;
	p.command = xstrdup("x");
	assert_int_equal(permits_add_env(&p, "A=b"), 0);
	permits_listen_nothing(&p);
	permits_open_nothing(&p);
	text = permits_text(&p);
	assert_string_equal(text, " agent-forwarding command environment "
				  "expires no-touch-required permitopen "
				  "permitlisten port-forwarding pty uv tun=7 "
				  "user-rc x11-forwarding");
	free(text);
	permits_clear(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_a_line),
		cmocka_unit_test(places_to_open),
		cmocka_unit_test(places_to_listen),
		cmocka_unit_test(paths_to_open),
		cmocka_unit_test(what_no_list_allows),
		cmocka_unit_test(wrong_places),
		cmocka_unit_test(lists_have_a_limit),
		cmocka_unit_test(cleared_is_nothing),
		cmocka_unit_test(order_makes_no_difference),
		cmocka_unit_test(merging_twice_changes_nothing),
		cmocka_unit_test(only_what_both_allow_is_left),
		cmocka_unit_test(contradictions_are_refused),
		cmocka_unit_test(lists_without_a_common_place),
	};

	know_names_of_ports();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
