/* SPDX-License-Identifier: ISC */
/* CheckHostIP: the address beside the name. */
#include "regress/unit/help.h"
#include "regress/unit/show-key.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "client/hosts/hostcheck.h"

#define NAME "[h.test]:2222"
#define ADDRESS "[192.0.2.7]:2222"

static struct client_conf conf;
static struct key *first, *second;
static char *known_hosts;

static int
set_up(void **state)
{
	assert_int_equal(temp_make(state), 0);
	known_hosts = temp_file("known_hosts", "");
	client_conf_init(&conf);
	assert_int_equal(client_conf_finish(&conf), 0);
	conf_of_host(&conf, "h.test", known_hosts);
	assert_int_equal(key_generate("ed25519", 0, &first), 0);
	assert_int_equal(key_generate("ed25519", 0, &second), 0);
	messages_keep();
	return 0;
}

static int
tear_down(void **state)
{
	key_free(first);
	key_free(second);
	client_conf_clear(&conf);
	unlink(known_hosts);
	free(known_hosts);
	return temp_remove(state);
}

static void
add(const char *name, const struct key *k)
{
	if (k != NULL)
		assert_int_equal(knownhosts_add(known_hosts, name, k, false),
		    0);
}

/* The host of that address shows the first key. Is its file learned from
 * later? */
static int
visit(const char *address, bool *learns)
{
	struct hostcheck *h = NULL;
	int r;

	messages_forget();
	assert_int_equal(hostcheck_new(&h, &conf, address, 2222), 0);
	r = show_key(h, first);
	if (learns != NULL)
		*learns = hostcheck_noted_in(h) != NULL;
	hostcheck_free(h);
	return r;
}

static void
begin(const struct key *name, const struct key *address, int strict)
{
	unlink(known_hosts);
	add(NAME, name);
	add(ADDRESS, address);
	conf.known.strict_host_key_checking = strict;
	conf.known.check_host_ip = 1;
	conf.known.hash_known_hosts = 0;
	conf.auth.batch_mode = 1;
}

static bool
is_noted(const char *name)
{
	struct strlist files = { 0 };
	const struct knownhosts_sources places = { .files = &files };
	struct knownhosts_found found;
	bool noted;

	assert_int_equal(strlist_add(&files, known_hosts), 0);
	assert_int_equal(knownhosts_check(&places, name, first, &found), 0);
	noted = found.verdict == KNOWNHOSTS_OK;
	knownhosts_found_clear(&found);
	strlist_clear(&files);
	return noted;
}

static void
unknown_address(void **state)
{
	bool learns = true;

	(void)state;
	begin(first, NULL, CLIENT_ASK_YES);
	assert_int_equal(visit("192.0.2.7", &learns), 0);
	assert_string_equal(messages, "Warning: Permanently added the ED25519 "
	    "host key for IP address '" ADDRESS "' to the list of known "
	    "hosts.\n");
	assert_true(is_noted(ADDRESS));
	assert_true(learns);
	assert_int_equal(visit("192.0.2.7", NULL), 0);
	assert_string_equal(messages, "");
	begin(first, NULL, CLIENT_ASK_YES);
	conf.known.hash_known_hosts = 1;
	assert_int_equal(visit("192.0.2.7", NULL), 0);
	assert_true(is_noted(ADDRESS));
}

static void
new_host(void **state)
{
	(void)state;
	begin(NULL, NULL, CLIENT_ASK_ACCEPT_NEW);
	assert_int_equal(visit("192.0.2.7", NULL), 0);
	assert_true(is_noted(NAME) && is_noted(ADDRESS));
}

static void
different_address(void **state)
{
	static const struct {
		int strict, r;
	} t[] = { { CLIENT_ASK_NO, 0 }, { CLIENT_ASK_ASK, ERR_HOSTKEY },
		{ CLIENT_ASK_YES, ERR_HOSTKEY },
		{ CLIENT_ASK_ACCEPT_NEW, ERR_HOSTKEY } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		begin(first, second, t[i].strict);
		assert_int_equal(visit("192.0.2.7", NULL), t[i].r);
		assert_non_null(strstr(messages, "Warning: the ED25519 host "
		    "key for '" NAME "' differs from the key for the IP "
		    "address '" ADDRESS "'\nOffending key for IP in "));
		assert_non_null(strstr(messages, "Matching host key in "));
		assert_false(is_noted(ADDRESS));
	}
}

/* A new host: what is known of its address comes first. */
static void
new_name(void **state)
{
	static const struct {
		int strict, r;
	} t[] = { { CLIENT_ASK_NO, 0 },
		{ CLIENT_ASK_ACCEPT_NEW, ERR_HOSTKEY } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		begin(NULL, second, t[i].strict);
		assert_int_equal(visit("192.0.2.7", NULL), t[i].r);
		assert_non_null(strstr(messages, "differs from the key"));
		assert_null(strstr(messages, "Matching host key"));
		assert_int_equal(is_noted(NAME), t[i].r == 0);
		assert_false(is_noted(ADDRESS));
	}
}

/* The address of a key that only passes is not noted. */
static void
changed_name(void **state)
{
	static const char box[] = "WARNING: POSSIBLE DNS SPOOFING DETECTED!";

	(void)state;
	begin(second, NULL, CLIENT_ASK_NO);
	assert_int_equal(visit("192.0.2.7", NULL), 0);
	assert_non_null(strstr(messages, box));
	assert_null(strstr(messages, "key for IP"));
	assert_false(is_noted(ADDRESS));
	begin(second, first, CLIENT_ASK_NO);
	assert_int_equal(visit("192.0.2.7", NULL), 0);
	assert_non_null(strstr(messages, box));
	assert_non_null(strstr(messages, "Offending key for IP in "));
	begin(second, second, CLIENT_ASK_NO);
	assert_int_equal(visit("192.0.2.7", NULL), 0);
	assert_null(strstr(messages, box));
}

static void
revoked_address(void **state)
{
	struct buf line = { 0 };
	char *text, *revoked;

	(void)state;
	begin(NULL, first, CLIENT_ASK_NO);
	assert_int_equal(file_read(known_hosts, &line, 4096), 0);
	text = buf_dup_string(&line);
	xasprintf(&revoked, "@revoked %s", text);
	free(temp_file("known_hosts", revoked));
	add(NAME, first);
	assert_int_equal(visit("192.0.2.7", NULL), ERR_HOSTKEY);
	buf_clear(&line);
	free(text);
	free(revoked);
}

/* When the address is not looked at. */
static void
exempt(void **state)
{
	static const char *const addresses[] = { NULL, "127.0.0.1", "::1" };
	bool learns = false;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		begin(first, NULL, CLIENT_ASK_YES);
		add("[127.0.0.1]:2222", second);
		add("[::1]:2222", second);
		assert_int_equal(visit(addresses[i], &learns), 0);
		assert_string_equal(messages, "");
		assert_true(learns);
	}
	begin(first, second, CLIENT_ASK_YES);
	conf.known.check_host_ip = 0;
	assert_int_equal(visit("192.0.2.7", NULL), 0);
	assert_string_equal(messages, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_address),
		cmocka_unit_test(new_host),
		cmocka_unit_test(different_address),
		cmocka_unit_test(new_name),
		cmocka_unit_test(changed_name),
		cmocka_unit_test(revoked_address),
		cmocka_unit_test(exempt),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
