/* SPDX-License-Identifier: ISC */
/*
 * Where keys with destinations may be used: each rule by an example, and all of
 * them together against a model that walks through the hops in another way.
 */
#include "regress/unit/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/destinations.h"
#include "base/mem.h"
#include "regress/unit/dice.h"
#include "regress/unit/make-cert.h"

enum { HOSTS = 3, HERE = -1, NOW = 1000 };

static struct key *hosts[HOSTS], *ca, *certified[HOSTS], *user_key;
static struct buf user_blob;
static const char *const names[HOSTS] = { "a.test", "b.test", "c.test" };

static struct key *
certify(int i)
{
	struct cert_request r = { .kind = CERT_HOST, .id = "host",
		.valid_before = CERT_FOREVER };
	struct key *cert;

	assert_int_equal(strlist_add(&r.principals, names[i]), 0);
	cert = make_cert_by(hosts[i], &r, ca, "ssh-ed25519");
	strlist_clear(&r.principals);
	return cert;
}

static int
set_up(void **state)
{
	(void)state;
	assert_int_equal(key_generate("ed25519", 0, &ca), 0);
	assert_int_equal(key_generate("ed25519", 0, &user_key), 0);
	assert_int_equal(key_to_blob(user_key, &user_blob), 0);
	for (int i = 0; i < HOSTS; i++) {
		assert_int_equal(key_generate("ed25519", 0, &hosts[i]), 0);
		certified[i] = certify(i);
	}
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	key_free(ca);
	key_free(user_key);
	buf_clear(&user_blob);
	for (int i = 0; i < HOSTS; i++) {
		key_free(hosts[i]);
		key_free(certified[i]);
	}
	return 0;
}

/* ---- making destinations ------------------------------------------------ */

static void
put_key(struct buf *b, const struct key *k, bool is_ca)
{
	size_t mark = buf_open_string(b);

	assert_int_equal(key_to_blob(k, b), 0);
	buf_close_string(b, mark);
	buf_put_bool(b, is_ca);
}

/* host HERE: nothing stands there. by_ca: it is known by the authority. */
static void
put_end(struct buf *b, const char *user, int host, bool by_ca)
{
	size_t mark = buf_open_string(b);

	buf_put_cstring(b, user);
	buf_put_cstring(b, host == HERE ? "" : names[host]);
	buf_put_cstring(b, "");
	if (host != HERE)
		put_key(b, by_ca ? ca : hosts[host], by_ca);
	buf_close_string(b, mark);
}

static void
put_hop(struct buf *b, int from, int to, const char *user, bool by_ca)
{
	size_t mark = buf_open_string(b);

	put_end(b, "", from, by_ca);
	put_end(b, user, to, by_ca);
	buf_put_cstring(b, "");
	buf_close_string(b, mark);
}

static struct destinations
parsed(struct buf *b)
{
	struct destinations d;

	assert_int_equal(buf_err(b), 0);
	assert_int_equal(destinations_parse(rd_from_buf(b), &d), 0);
	buf_clear(b);
	return d;
}

/* ---- binding ------------------------------------------------------------ */

static int
try_bind(struct binds *b, const struct key *shown, const struct key *signer,
    const char *id, bool forwarding)
{
	struct buf m = { 0 };
	struct rd rd;
	size_t mark = buf_open_string(&m);
	int r;

	assert_int_equal(key_to_blob(shown, &m), 0);
	buf_close_string(&m, mark);
	buf_put_cstring(&m, id);
	mark = buf_open_string(&m);
	assert_int_equal(key_sign(signer, "ssh-ed25519", span_text(id), &m),
	    0);
	buf_close_string(&m, mark);
	buf_put_bool(&m, forwarding);
	rd = rd_from_buf(&m);
	r = binds_add(b, &rd);
	buf_clear(&m);
	return r;
}

static int
bind_host(struct binds *b, int host, const char *id, bool forwarding)
{
	return try_bind(b, hosts[host], hosts[host], id, forwarding);
}

/* ---- asking ------------------------------------------------------------- */

static bool
sees(const struct destinations *d, const struct binds *b)
{
	return destinations_refuse(d, b, NOW) == NULL;
}

/* A login as user in the session, which names the host if there is one. */
static bool
signs(const struct destinations *d, const struct binds *b, const char *user,
    const char *id, const struct key *host)
{
	struct buf m = { 0 };
	struct sign_data data;
	const char *why;
	size_t mark;

	buf_put_cstring(&m, id);
	buf_put_u8(&m, 50);
	buf_put_cstring(&m, user);
	buf_put_cstring(&m, "ssh-connection");
	buf_put_cstring(&m, host != NULL ?
		"publickey-hostbound-v00@openssh.com" : "publickey");
	buf_put_bool(&m, true);
	buf_put_cstring(&m, "ssh-ed25519");
	buf_put_string_buf(&m, &user_blob);
	if (host != NULL) {
		mark = buf_open_string(&m);
		assert_int_equal(key_to_blob(host, &m), 0);
		buf_close_string(&m, mark);
	}
	sign_data_read(buf_span(&m), user_key, buf_span(&user_blob), &data);
	assert_int_equal(data.kind, SIGN_DATA_LOGIN);
	why = destinations_refuse_signing(d, b, &data, NOW);
	sign_data_clear(&data);
	buf_clear(&m);
	return why == NULL;
}

/* ---- reading ------------------------------------------------------------ */

static int
parse_result(struct buf *b)
{
	struct destinations d;
	int r = destinations_parse(rd_from_buf(b), &d);

	destinations_clear(&d);
	buf_clear(b);
	return r;
}

/* One destination of these two ends. */
static int
parse_ends(void (*put)(struct buf *b))
{
	struct buf b = { 0 };
	size_t mark = buf_open_string(&b);

	put(&b);
	buf_close_string(&b, mark);
	return parse_result(&b);
}

static void
good(struct buf *b)
{
	put_end(b, "", HERE, false);
	put_end(b, "u*", 0, false);
	buf_put_cstring(b, "");
}

static void
surplus(struct buf *b)
{
	good(b);
	buf_put_u8(b, 0);
}

static void
reserved(struct buf *b)
{
	put_end(b, "", HERE, false);
	put_end(b, "", 0, false);
	buf_put_cstring(b, "x");
}

static void
user_at_from(struct buf *b)
{
	put_end(b, "u", 1, false);
	put_end(b, "", 0, false);
	buf_put_cstring(b, "");
}

static void
to_nowhere(struct buf *b)
{
	put_end(b, "", HERE, false);
	put_end(b, "u", HERE, false);
	buf_put_cstring(b, "");
}

static void
put_bare_end(struct buf *b, const char *host, const char *more, bool with_key)
{
	size_t mark = buf_open_string(b);

	buf_put_cstring(b, "");
	buf_put_cstring(b, host);
	buf_put_cstring(b, more);
	if (with_key)
		put_key(b, hosts[0], false);
	buf_close_string(b, mark);
}

static void
from_without_keys(struct buf *b)
{
	put_bare_end(b, "a.test", "", false);
	put_end(b, "", 0, false);
	buf_put_cstring(b, "");
}

static void
from_without_host(struct buf *b)
{
	put_bare_end(b, "", "", true);
	put_end(b, "", 0, false);
	buf_put_cstring(b, "");
}

static void
to_without_keys(struct buf *b)
{
	put_end(b, "", HERE, false);
	put_bare_end(b, "a.test", "", false);
	buf_put_cstring(b, "");
}

static void
end_with_reserved(struct buf *b)
{
	put_end(b, "", HERE, false);
	put_bare_end(b, "a.test", "x", true);
	buf_put_cstring(b, "");
}

static void
long_user(struct buf *b)
{
	char user[258] = "";

	memset(user, 'u', 257);
	put_end(b, "", HERE, false);
	put_end(b, user, 0, false);
	buf_put_cstring(b, "");
}

static void
test_parse(void **state)
{
	struct buf b = { 0 };

	(void)state;
	assert_int_equal(parse_ends(good), 0);
	assert_int_equal(parse_ends(surplus), ERR_TRAILING);
	assert_int_equal(parse_ends(reserved), ERR_UNSUPPORTED);
	assert_int_equal(parse_ends(end_with_reserved), ERR_UNSUPPORTED);
	assert_int_equal(parse_ends(user_at_from), ERR_FORMAT);
	assert_int_equal(parse_ends(to_nowhere), ERR_FORMAT);
	assert_int_equal(parse_ends(to_without_keys), ERR_FORMAT);
	assert_int_equal(parse_ends(from_without_keys), ERR_FORMAT);
	assert_int_equal(parse_ends(from_without_host), ERR_FORMAT);
	assert_int_equal(parse_ends(long_user), ERR_LIMIT);
	/* None at all would be a key that is good for everything. */
	assert_int_equal(parse_result(&b), ERR_FORMAT);
	for (int i = 0; i < AGENT_DESTINATIONS_MAX + 1; i++)
		put_hop(&b, HERE, 0, "", false);
	assert_int_equal(parse_result(&b), ERR_LIMIT);
}

/* A key of a type that is not known stands for a host that never comes. */
static void
test_parse_unknown_type(void **state)
{
	struct buf b = { 0 }, key = { 0 };
	struct binds binds = { 0 };
	struct destinations d;
	size_t hop = buf_open_string(&b), end;

	(void)state;
	put_end(&b, "", HERE, false);
	end = buf_open_string(&b);
	buf_put_cstring(&b, "");
	buf_put_cstring(&b, "a.test");
	buf_put_cstring(&b, "");
	buf_put_cstring(&key, "ssh-new@example.com");
	buf_put_string_buf(&b, &key);
	buf_put_bool(&b, false);
	buf_close_string(&b, end);
	buf_put_cstring(&b, "");
	buf_close_string(&b, hop);
	d = parsed(&b);
	assert_int_equal(bind_host(&binds, 0, "one", false), 0);
	assert_false(sees(&d, &binds));
	binds_clear(&binds);
	destinations_clear(&d);
	buf_clear(&key);
}

/* ---- binds -------------------------------------------------------------- */

static void
test_binds(void **state)
{
	struct binds b = { 0 };
	char id[AGENT_SESSION_ID_MAX + 2] = "", name[16];

	(void)state;
	assert_int_equal(try_bind(&b, hosts[0], hosts[1], "one", true),
	    ERR_SIGNATURE);
	assert_true(b.tried);
	assert_int_equal(b.n, 0);
	assert_int_equal(bind_host(&b, 0, "one", true), 0);
	/* The same again is no news; by another key it is a lie. */
	assert_int_equal(bind_host(&b, 0, "one", true), 0);
	assert_int_equal(b.n, 1);
	assert_int_equal(bind_host(&b, 1, "one", true), ERR_DENIED);
	assert_int_equal(bind_host(&b, 0, "", true), ERR_FORMAT);
	memset(id, 'i', sizeof id - 1);
	assert_int_equal(bind_host(&b, 0, id, true), ERR_FORMAT);
	for (int i = 1; i < BINDS_MAX; i++) {
		snprintf(name, sizeof name, "%d", i);
		assert_int_equal(bind_host(&b, 1, name, true), 0);
	}
	assert_int_equal(bind_host(&b, 1, "more", true), ERR_LIMIT);
	assert_int_equal(bind_host(&b, 1, "5", true), 0);
	binds_clear(&b);
	/* Behind a login nothing follows. */
	assert_int_equal(bind_host(&b, 0, "one", false), 0);
	assert_int_equal(bind_host(&b, 0, "one", false), ERR_DENIED);
	assert_int_equal(bind_host(&b, 1, "two", true), ERR_DENIED);
	binds_clear(&b);
	/* A certificate is proved by its key. */
	assert_int_equal(try_bind(&b, certified[0], hosts[0], "one", false),
	    0);
	binds_clear(&b);
}

static void
test_bind_message(void **state)
{
	struct binds b = { 0 };
	struct buf m = { 0 };
	struct rd rd;

	(void)state;
	put_key(&m, hosts[0], false);
	rd = rd_from_buf(&m);
	assert_int_not_equal(binds_add(&b, &rd), 0);
	assert_true(b.tried);
	buf_clear(&m);
}

/* ---- the rules, by example ---------------------------------------------- */

/* here > a; here > b; b > c as "u*" */
static struct destinations
example(bool by_ca)
{
	struct buf b = { 0 };

	put_hop(&b, HERE, 0, "", by_ca);
	put_hop(&b, HERE, 1, "", by_ca);
	put_hop(&b, 1, 2, "u*", by_ca);
	return parsed(&b);
}

static void
test_unbound(void **state)
{
	struct destinations none = { 0 }, d = example(false);
	struct binds b = { 0 };

	(void)state;
	assert_true(sees(&none, &b));
	assert_true(signs(&none, &b, "x", "one", NULL));
	assert_true(sees(&d, &b));
	assert_false(signs(&d, &b, "x", "one", NULL));
	/* One that failed to bind has lost it. */
	assert_int_not_equal(try_bind(&b, hosts[0], hosts[1], "one", false),
	    0);
	assert_false(sees(&d, &b));
	assert_false(signs(&d, &b, "x", "one", NULL));
	assert_true(sees(&none, &b));
	binds_clear(&b);
	destinations_clear(&d);
}

static void
test_direct(void **state)
{
	struct destinations d = example(false);
	struct binds b = { 0 };

	(void)state;
	assert_int_equal(bind_host(&b, 0, "one", false), 0);
	assert_true(sees(&d, &b));
	assert_true(signs(&d, &b, "x", "one", NULL));
	assert_true(signs(&d, &b, "x", "one", hosts[0]));
	assert_false(signs(&d, &b, "x", "two", hosts[0]));
	assert_false(signs(&d, &b, "x", "one", hosts[1]));
	binds_clear(&b);
	assert_int_equal(bind_host(&b, 2, "one", false), 0);
	assert_false(sees(&d, &b));
	assert_false(signs(&d, &b, "u", "one", hosts[2]));
	binds_clear(&b);
	destinations_clear(&d);
}

static void
test_only_logins(void **state)
{
	struct sign_data other = { .kind = SIGN_DATA_OTHER };
	struct sign_data file = { .kind = SIGN_DATA_FILE };
	struct destinations d = example(false);
	struct binds b = { 0 };

	(void)state;
	assert_int_equal(bind_host(&b, 0, "one", false), 0);
	assert_non_null(destinations_refuse_signing(&d, &b, &other, NOW));
	assert_non_null(destinations_refuse_signing(&d, &b, &file, NOW));
	binds_clear(&b);
	destinations_clear(&d);
}

static void
test_forwarded(void **state)
{
	struct destinations d = example(false);
	struct binds b = { 0 };

	(void)state;
	/* From b it may go on, so it is seen there; not from a. */
	assert_int_equal(bind_host(&b, 1, "one", true), 0);
	assert_true(sees(&d, &b));
	assert_false(signs(&d, &b, "user", "one", hosts[1]));
	assert_int_equal(bind_host(&b, 2, "two", false), 0);
	assert_true(sees(&d, &b));
	assert_true(signs(&d, &b, "user", "two", hosts[2]));
	assert_false(signs(&d, &b, "root", "two", hosts[2]));
	/* The host must be named, because it is not the first. */
	assert_false(signs(&d, &b, "user", "two", NULL));
	assert_false(signs(&d, &b, "user", "one", hosts[1]));
	binds_clear(&b);
	assert_int_equal(bind_host(&b, 0, "one", true), 0);
	assert_false(sees(&d, &b));
	assert_int_equal(bind_host(&b, 2, "two", false), 0);
	assert_false(sees(&d, &b));
	binds_clear(&b);
	destinations_clear(&d);
}

/* binds_add() does not let it come to that; the rule holds by itself. */
static void
test_way_through_a_login(void **state)
{
	struct destinations d = example(false);
	struct binds b = { 0 };

	(void)state;
	assert_int_equal(bind_host(&b, 1, "one", true), 0);
	assert_int_equal(bind_host(&b, 2, "two", false), 0);
	b.v[0].forwarding = false;
	assert_false(sees(&d, &b));
	assert_false(signs(&d, &b, "user", "two", hosts[2]));
	binds_clear(&b);
	destinations_clear(&d);
}

static int
bind_cert(struct binds *b, int host, const char *id, bool forwarding)
{
	return try_bind(b, certified[host], hosts[host], id, forwarding);
}

static void
test_certificates(void **state)
{
	struct destinations by_ca = example(true), by_key = example(false);
	struct binds b = { 0 };

	(void)state;
	assert_int_equal(bind_cert(&b, 0, "one", false), 0);
	assert_true(signs(&by_ca, &b, "x", "one", certified[0]));
	/* Neither stands for the other. */
	assert_false(sees(&by_key, &b));
	binds_clear(&b);
	assert_int_equal(bind_host(&b, 0, "one", false), 0);
	assert_false(sees(&by_ca, &b));
	binds_clear(&b);
	/* The authority's own key as a host's. */
	assert_int_equal(try_bind(&b, ca, ca, "one", false), 0);
	assert_false(sees(&by_ca, &b));
	binds_clear(&b);
	/* A certificate is for the name of its host only. */
	assert_int_equal(bind_cert(&b, 2, "one", false), 0);
	assert_false(sees(&by_ca, &b));
	binds_clear(&b);
	destinations_clear(&by_ca);
	destinations_clear(&by_key);
}

/* ---- all of them -------------------------------------------------------- */

/* The model: allowed[from + 1][to] and whether only for the user "u". */
struct model {
	bool any[HOSTS + 1][HOSTS], u[HOSTS + 1][HOSTS];
};

static struct destinations
random_destinations(struct dice *dice, struct model *m)
{
	struct buf b = { 0 };
	unsigned n = 1 + dice_below(dice, 5);

	memset(m, 0, sizeof *m);
	while (n-- > 0) {
		int from = (int)dice_below(dice, HOSTS + 1) - 1;
		int to = (int)dice_below(dice, HOSTS);
		bool only_u = dice_below(dice, 2) == 0;

		put_hop(&b, from, to, only_u ? "u" : "", false);
		(only_u ? m->u : m->any)[from + 1][to] = true;
	}
	return parsed(&b);
}

static bool
model_hop(const struct model *m, int from, int to, const char *user)
{
	return m->any[from + 1][to] ||
	    (m->u[from + 1][to] && (user == NULL || strcmp(user, "u") == 0));
}

/* Ways through at most four hosts; the last bind is a login or not. */
static void
check_way(struct dice *dice, const struct model *m,
    const struct destinations *d)
{
	const char *user = dice_below(dice, 2) == 0 ? "u" : "v";
	bool login = dice_below(dice, 2) == 0;
	bool seen = true, signing = login, goes_on = false;
	unsigned n = 1 + dice_below(dice, 4);
	struct binds b = { 0 };
	int at = HERE, to = 0;
	char id[16];

	for (unsigned i = 0; i < n; i++) {
		bool last = i == n - 1;

		to = (int)dice_below(dice, HOSTS);
		snprintf(id, sizeof id, "s%u", i);
		assert_int_equal(bind_host(&b, to, id, !(last && login)), 0);
		seen = seen && model_hop(m, at, to, NULL);
		signing = signing && model_hop(m, at, to, last ? user : NULL);
		at = to;
	}
	for (int next = 0; next < HOSTS; next++)
		goes_on = goes_on || model_hop(m, at, next, NULL);
	assert_int_equal(sees(d, &b), seen && (login || goes_on));
	assert_int_equal(signs(d, &b, user, id, hosts[to]), signing);
	binds_clear(&b);
}

static void
test_model(void **state)
{
	struct dice dice = { 9987 };
	struct model m;
	struct destinations d;

	(void)state;
	for (int i = 0; i < 150; i++) {
		d = random_destinations(&dice, &m);
		for (int j = 0; j < 4; j++)
			check_way(&dice, &m, &d);
		destinations_clear(&d);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_parse_unknown_type),
		cmocka_unit_test(test_binds),
		cmocka_unit_test(test_bind_message),
		cmocka_unit_test(test_unbound),
		cmocka_unit_test(test_direct),
		cmocka_unit_test(test_only_logins),
		cmocka_unit_test(test_forwarded),
		cmocka_unit_test(test_way_through_a_login),
		cmocka_unit_test(test_certificates),
		cmocka_unit_test(test_model),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
