/* SPDX-License-Identifier: ISC */
/* Destinations of keys: their texts, and the hosts' keys. */
#include "regress/unit/help.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "keys/knownhosts.h"
#include "keytools/add/add-destination.h"

static struct key *keys[3]; /* those of hosts; the last is an authority's */
static struct strlist files;

/* A known_hosts line for one of the keys. */
static void
put_line(struct buf *b, const char *before, const struct key *k)
{
	buf_printf(b, "%s ", before);
	assert_int_equal(key_format_line(k, NULL, b), 0);
	buf_printf(b, "\n");
}

static void
refused(const char *text, const char *want)
{
	struct add_destinations d = { 0 };
	char *why = add_destination(&d, text, &files);

	assert_text(why, want);
	free(why);
	add_destinations_clear(&d);
}

static void
test_texts(void **state)
{
	struct add_destinations d = { 0 };

	(void)state;
	assert_null(add_destination(&d, "plain", &files));
	assert_null(add_destination(&d, "u*@plain", &files));
	assert_null(add_destination(&d, "@plain", &files));
	assert_null(add_destination(&d, "plain>me@other", &files));
	assert_int_equal(d.n, 4);
	assert_text(d.v[0].from.host, NULL);
	assert_text(d.v[0].to.host, "plain");
	assert_text(d.v[0].to.user, NULL);
	assert_text(d.v[1].to.user, "u*");
	assert_text(d.v[2].to.user, NULL);
	assert_text(d.v[2].to.host, "plain");
	assert_text(d.v[3].from.host, "plain");
	assert_text(d.v[3].from.user, NULL);
	assert_text(d.v[3].to.user, "me");
	assert_text(d.v[3].to.host, "other");
	add_destinations_clear(&d);
}

static void
test_bad_texts(void **state)
{
	static const char nothing[] =
	    "Invalid key destination constraint \"\": it names no host";

	(void)state;
	refused("", nothing);
	refused(">", nothing);
	refused("plain>", nothing);
	refused(">plain", nothing);
	/* An agent refuses it; and what it means, nobody knows. */
	refused("me@", "Invalid key destination constraint \"me@\": it names "
		       "no host");
	refused("me@plain>other", "Invalid key constraint me@plain: cannot "
				  "specify user on 'from' host");
	refused("unknown", "No host keys found for destination \"unknown\"");
	refused("plain>unknown",
	    "No host keys found for destination \"unknown\"");
	refused("plain>other>plain",
	    "No host keys found for destination \"other>plain\"");
	refused("a@b@plain", "No host keys found for destination \"b@plain\"");
}

static void
expect_keys(const char *host, const struct key *first, bool is_ca,
    const struct key *second)
{
	struct add_destinations d = { 0 };
	const struct agent_hop *to;

	assert_null(add_destination(&d, host, &files));
	to = &d.v[0].to;
	assert_int_equal(to->n, second != NULL ? 2 : 1);
	assert_true(key_equal_public(to->keys[0].key, first));
	assert_int_equal(to->keys[0].is_ca, is_ca);
	if (second != NULL)
		assert_true(key_equal_public(to->keys[1].key, second));
	add_destinations_clear(&d);
}

static void
test_host_keys(void **state)
{
	(void)state;
	expect_keys("plain", keys[0], false, NULL);
	expect_keys("PLAIN", keys[0], false, NULL);
	expect_keys("other", keys[0], false, keys[1]);
	expect_keys("hashed", keys[1], false, NULL);
	expect_keys("[port]:2222", keys[1], false, NULL);
	refused("port", "No host keys found for destination \"port\"");
	expect_keys("host.domain", keys[2], true, NULL);
	/* One of its two keys is revoked, in another file; or all are. */
	expect_keys("half", keys[1], false, NULL);
	refused("revoked", "No host keys found for destination \"revoked\"");
}

/* More keys than a host has. */
static void
test_many_keys(void **state)
{
	struct add_destinations d = { 0 };
	struct strlist many = { 0 };
	struct buf b = { 0 };
	char *text, *path, *why;

	(void)state;
	for (int i = 0; i < 300; i++)
		put_line(&b, "crowd", keys[0]);
	text = buf_dup_string(&b);
	path = temp_file("many", text);
	assert_int_equal(strlist_add(&many, path), 0);
	why = add_destination(&d, "crowd", &many);
	assert_text(why, "Cannot read the host keys of \"crowd\": length is "
			 "over the limit");
	free(why);
	add_destinations_clear(&d);
	strlist_clear(&many);
	remove(path);
	free(path);
	free(text);
	buf_clear(&b);
}

static int
set_up(void **state)
{
	struct buf a = { 0 }, b = { 0 };
	char *hash = knownhosts_hash("hashed"), *text[2], *path[2];

	if (temp_make(state) != 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (key_generate("ed25519", 0, &keys[i]) != 0)
			return -1;
	put_line(&a, "plain,other", keys[0]);
	buf_printf(&a, "# a comment\n\nnot a line\n");
	put_line(&a, "other", keys[1]);
	put_line(&a, hash, keys[1]);
	put_line(&a, "[port]:2222", keys[1]);
	put_line(&a, "@cert-authority *.domain", keys[2]);
	put_line(&a, "half,revoked", keys[0]);
	put_line(&b, "half", keys[1]);
	put_line(&b, "@revoked half,revoked", keys[0]);
	text[0] = buf_dup_string(&a);
	text[1] = buf_dup_string(&b);
	path[0] = temp_file("a", text[0]);
	path[1] = temp_file("b", text[1]);
	for (int i = 0; i < 2; i++) {
		if (strlist_add(&files, path[i]) != 0)
			return -1;
		free(path[i]);
		free(text[i]);
	}
	free(hash);
	buf_clear(&b);
	buf_clear(&a);
	return strlist_add(&files, "/nonexistent/known_hosts");
}

static int
tear_down(void **state)
{
	remove(files.v[0]);
	remove(files.v[1]);
	strlist_clear(&files);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		key_free(keys[i]);
	return temp_remove(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_texts),
	    cmocka_unit_test(test_bad_texts),
	    cmocka_unit_test(test_host_keys),
	    cmocka_unit_test(test_many_keys),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
