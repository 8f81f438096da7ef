/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <stdlib.h>
#include <string.h>

#include "agent/identities.h"
#include "base/clock.h"
#include "base/loop.h"
#include "compat/bsd.h"
#include "regress/unit/make-cert.h"

static struct loop *loop;
static struct identities *table;
static struct key *key;

static int released;

static int
set_up(void **state)
{
	(void)state;
	assert_non_null(loop = loop_new());
	assert_int_equal(identities_new(&table, loop), 0);
	assert_int_equal(key_generate("ed25519", 0, &key), 0);
	released = 0;
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	identities_free(table);
	loop_free(loop);
	key_free(key);
	return 0;
}

static struct identity *
entry(const struct key *k, const char *comment)
{
	struct identity *id = NULL;

	assert_int_equal(identity_new(k, &id), 0);
	assert_non_null(id->comment = strdup(comment));
	return id;
}

static void
add(const struct key *k, const char *comment)
{
	assert_int_equal(identities_add(table, entry(k, comment)), 0);
}

/* The comments in order, each with a blank behind it. */
static void
assert_order(const char *want)
{
	char got[256] = "";

	for (struct identity *id = identities_first(table); id != NULL;
	    id = id->next) {
		strlcat(got, id->comment, sizeof got);
		strlcat(got, " ", sizeof got);
	}
	assert_string_equal(got, want);
}

static void
test_places(void **state)
{
	struct key *cert = make_cert_for(key), *other = NULL;
	uint64_t serial;

	(void)state;
	assert_int_equal(key_generate("ed25519", 0, &other), 0);
	add(key, "one");
	add(cert, "cert");
	add(other, "other");
	assert_order("one cert other ");
	serial = identities_first(table)->serial;
	add(key, "new");
	assert_order("new cert other ");
	assert_int_not_equal(identities_first(table)->serial, serial);
	assert_false(key_is_private(identities_first(table)->key));
	identities_remove(table, identities_first(table));
	assert_order("cert other ");
	identities_remove_all(table);
	assert_order("");
	key_free(cert);
	key_free(other);
}

/* ---- keys with a signer ------------------------------------------------- */

static void
release(void *arg)
{
	assert_ptr_equal(arg, &released);
	released++;
}

static const struct signer_ops ops = { .release = release };

static void
add_signer(struct identity *id)
{
	id->ops = &ops;
	id->signer = &released;
}

static void
test_expired(void **state)
{
	struct identity *id = entry(key, "short");
	uint64_t began = clock_boot_ms();

	(void)state;
	add_signer(id);
	id->expires_ms = began + 30;
	assert_int_equal(identities_add(table, id), 0);
	assert_ptr_equal(identities_find(table, buf_span(&id->blob)), id);
	/* The timer removes it, though nobody asks. */
	while (released == 0 && clock_boot_ms() - began < 10000)
		assert_int_equal(loop_turn(loop, 40), 0);
	assert_int_equal(released, 1);
	/* What has expired is not found, though no timer has fired. */
	id = entry(key, "over");
	id->expires_ms = 1;
	assert_int_equal(identities_add(table, id), 0);
	assert_order("");
}

static void
test_limits(void **state)
{
	struct identity *id;
	char *comment = calloc(1, AGENT_MESSAGE_MAX + 1);

	(void)state;
	assert_non_null(comment);
	/* The list would not fit into a message: 5 + 8 + 51 bytes are more. */
	memset(comment, 'c', AGENT_MESSAGE_MAX - 63);
	assert_int_equal(identities_add(table, entry(key, comment)),
	    ERR_LIMIT);
	comment[AGENT_MESSAGE_MAX - 64] = '\0';
	add(key, comment);
	/* In its own place there is room for it. */
	add(key, comment);
	identities_remove_all(table);
	id = entry(key, "long");
	id->cost = IDENTITIES_COST_MAX;
	assert_int_equal(identities_add(table, id), 0);
	id = entry(key, "longer");
	id->cost = IDENTITIES_COST_MAX + 1;
	assert_int_equal(identities_add(table, id), ERR_LIMIT);
	assert_order("long ");
	free(comment);
}

static void
test_providers(void **state)
{
	struct key *k = NULL;
	struct identity *id;

	(void)state;
	add(key, "mine");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(key_generate("ed25519", 0, &k), 0);
		id = entry(k, "token");
		add_signer(id);
		assert_non_null(id->provider = strdup(i < 2 ? "/a" : "/b"));
		assert_int_equal(identities_add(table, id), 0);
		key_free(k);
	}
	assert_int_equal(identities_remove_provider(table, "/x"), 0);
	assert_int_equal(identities_remove_provider(table, "/a"), 2);
	assert_int_equal(released, 2);
	assert_order("mine token ");
	identities_remove_all(table);
	assert_int_equal(released, 3);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_places),
		TEST(test_expired),
		TEST(test_limits),
		TEST(test_providers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
