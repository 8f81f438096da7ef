/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "conf/forward-spec.h"
#include "regress/unit/dice.h"

#define L FORWARD_LOCAL
#define R FORWARD_REMOTE
#define D FORWARD_DYNAMIC

/* As -G prints them: listen and target. */
static char *
text_of(const struct forward_spec *s)
{
	char *listen = forward_listen_text(s), *target = forward_target_text(s);
	char *text;

	xasprintf(&text, "%s %s", listen, target);
	free(listen);
	free(target);
	return text;
}

static void
good(void **state)
{
	static const struct {
		enum forward_kind kind;
		const char *text, *out;
	} t[] = {
		{ L, "8080:h:80", "8080 [h]:80" },
		{ L, " \t8080:h:80", "8080 [h]:80" },
		{ L, "*:8080:h:80", "[*]:8080 [h]:80" },
		{ L, ":8080:h:80", "[*]:8080 [h]:80" },
		{ L, "[]:8080:h:80", "[*]:8080 [h]:80" },
		{ L, "[::1]:1:[::2]:2", "[::1]:1 [::2]:2" },
		{ L, "http:h:ssh", "80 [h]:22" },
		{ L, "8080::80", "8080 []:80" },
		{ L, "8080:*:80", "8080 [*]:80" },
		{ L, "8080:/a/b", "8080 /a/b" },
		{ L, "/a:/b", "/a /b" },
		{ L, "/a:h:80", "/a [h]:80" },
		{ L, "h:80:/a", "[h]:80 /a" },
		{ L, "[a/b]:h:80", "a/b [h]:80" },
		{ L, "8080:a\\:b/c", "8080 a\\:b/c" },
		{ L, "8080:/%h:", "8080 /%h" },
		{ L, "8080:/%h", "8080 /%h" },
		{ L, "8080:/a${HPN_T}b", "8080 /axyb" },
		{ L, "8080:${HPN_T}:80", "8080 [xy]:80" },
		{ R, "0:h:80", "0 [h]:80" },
		{ R, "0:/x", "0 /x" },
		{ R, "1080", "1080 [socks]:0" },
		{ R, "h:0", "[h]:0 [socks]:0" },
		{ R, "[]:1080", "[*]:1080 [socks]:0" },
		{ R, "/a/b", "/a/b [socks]:0" },
		{ D, "1080", "1080 [socks]:0" },
		{ D, "/a/b", "/a/b [socks]:0" },
		{ D, "1080:", "1080 [socks]:0" },
		{ D, "1080::", NULL },
		{ D, ":", NULL },
		{ D, "h:socks", "[h]:1080 [socks]:0" },
		{ L, "", NULL }, { R, "", NULL }, { D, "", NULL },
		{ L, "1080", NULL }, { L, "h:1080", NULL }, { L, "/a", NULL },
		{ L, "0:h:80", NULL }, { D, "0", NULL }, { L, "8:h:0", NULL },
		{ R, "/s:h:0", NULL }, { L, "1:2:3:4:5", NULL },
		{ L, "80:h:80 ", NULL }, { L, "80:h:", NULL },
		{ L, "+80:h:80", NULL }, { L, "-1:h:80", NULL },
		{ L, "65536:h:80", NULL }, { L, "80:h:0x50", NULL },
		{ L, "[::1]x:80:h:80", NULL }, { L, "80:[::1", NULL },
		{ L, "[::1]x80:h:80", NULL },
		{ L, "80:[::1:80", NULL }, { L, "nobody:h:80", NULL },
		{ L, "1:/a:80", NULL }, { L, "/a:80:h:80", NULL },
		{ L, "a:1:/b:2", NULL }, { R, "/a:80", NULL },
		{ D, "1:/a", NULL }, { D, "8:h:80", NULL },
		{ D, "/a:/b", NULL },
		{ L, "8080:${HPN_NOT_SET}:80", NULL },
		{ L, "8080:${HPN_T:80", NULL },
	};

	(void)state;
	setenv("HPN_T", "xy", 1);
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct forward_spec s;
		char *out;
		int r = forward_spec_parse(&s, t[i].kind, t[i].text);

		if (r != (t[i].out != NULL ? 0 : ERR_SYNTAX))
			fail_msg("%s: %d", t[i].text, r);
		if (r != 0)
			continue;
		out = text_of(&s);
		if (strcmp(out, t[i].out) != 0)
			fail_msg("%s: %s", t[i].text, out);
		assert_int_equal(s.kind, t[i].kind);
		assert_int_equal(s.target_is_socks,
		    strstr(out, "[socks]") != NULL);
		free(out);
		forward_spec_clear(&s);
	}
}

static void
limits(void **state)
{
	char text[FORWARD_HOST_MAX + 16], path[FORWARD_PATH_MAX + 16];
	struct forward_spec s;

	(void)state;
	snprintf(text, sizeof text, "8:%0*d:80", FORWARD_HOST_MAX, 0);
	assert_int_equal(forward_spec_parse(&s, L, text), 0);
	forward_spec_clear(&s);
	snprintf(text, sizeof text, "8:%0*d:80", FORWARD_HOST_MAX + 1, 0);
	assert_int_equal(forward_spec_parse(&s, L, text), ERR_SYNTAX);
	snprintf(path, sizeof path, "8:/%0*d", FORWARD_PATH_MAX - 1, 0);
	assert_int_equal(forward_spec_parse(&s, L, path), 0);
	forward_spec_clear(&s);
	snprintf(path, sizeof path, "8:/%0*d", FORWARD_PATH_MAX, 0);
	assert_int_equal(forward_spec_parse(&s, L, path), ERR_SYNTAX);
}

static void
targets(void **state)
{
	static const struct {
		const char *text, *host, *path;
		uint16_t port;
	} t[] = {
		{ "h:80", "h", NULL, 80 },
		{ "[::1]:http", "::1", NULL, 80 },
		{ "/a/b", NULL, "/a/b", 0 },
		{ "80", NULL, NULL, 0 },
		{ "h", NULL, NULL, 0 },
		{ "h:0", NULL, NULL, 0 },
		{ "", NULL, NULL, 0 },
		{ "/a:80", NULL, NULL, 0 },
		{ "1:/a", NULL, NULL, 0 },
		{ "1:h:80", NULL, NULL, 0 },
		{ "h:80 ", NULL, NULL, 0 },
		{ ":80", NULL, NULL, 0 },
		{ "[]:80", NULL, NULL, 0 },
		{ "::1:80", NULL, NULL, 0 },
		{ "[::1]", NULL, NULL, 0 },
		{ "h:65536", NULL, NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct forward_endpoint e;
		bool right = t[i].host != NULL || t[i].path != NULL;

		assert_int_equal(forward_target_parse(&e, t[i].text),
		    right ? 0 : ERR_SYNTAX);
		assert_text(e.host, t[i].host);
		assert_text(e.path, t[i].path);
		assert_int_equal(e.port, t[i].port);
		forward_endpoint_clear(&e);
	}
}

/* A field out of what makes a difference to the parser. */
static void
put_random(struct dice *d, char *out, size_t max)
{
	static const char letters[] = "a1/:[]\\*{}$% \"'#.";
	size_t len = dice_below(d, (uint32_t)max);

	for (size_t i = 0; i < len; i++)
		out[i] = letters[dice_below(d, sizeof letters - 1)];
	out[len] = '\0';
}

/* What is written is read again as the same. */
static void
round_trip(void **state)
{
	struct dice d = { 1 };
	unsigned good_ones = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		enum forward_kind kind =
		    (enum forward_kind)(1 + (int)dice_below(&d, 3));
		struct forward_spec s, again;
		char text[32], *listen, *target, *both;

		put_random(&d, text, sizeof text - 1);
		if (forward_spec_parse(&s, kind, text) != 0)
			continue;
		good_ones++;
		listen = forward_listen_text(&s);
		target = forward_target_text(&s);
		if (s.target_is_socks)
			both = xstrdup(listen);
		else
			xasprintf(&both, "%s:%s", listen, target);
		if (forward_spec_parse(&again, kind, both) != 0 ||
		    !forward_spec_equals(&s, &again))
			fail_msg("%s became %s", text, both);
		forward_spec_clear(&s);
		forward_spec_clear(&again);
		free(listen);
		free(target);
		free(both);
	}
	assert_true(good_ones > 100);
}

static void
lists(void **state)
{
	static const char *const texts[] = { "1:h:2", "1:h:3", "1:h:2",
		"*:1:h:2", "/a:h:2", "1:/a" };
	struct forward_list l = { 0 };
	struct forward_spec s;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		assert_int_equal(forward_spec_parse(&s, L, texts[i]), 0);
		assert_int_equal(forward_list_add(&l, &s), 0);
		forward_spec_clear(&s);
	}
	assert_int_equal(l.n, ARRAY_LEN(texts) - 1);
	assert_int_equal(l.v[1].target.port, 3);
	forward_list_clear(&l);
	for (unsigned i = 1; i <= FORWARD_LIST_MAX + 1; i++) {
		char text[32];

		snprintf(text, sizeof text, "%u:h:1", i);
		assert_int_equal(forward_spec_parse(&s, L, text), 0);
		assert_int_equal(forward_list_add(&l, &s),
		    i <= FORWARD_LIST_MAX ? 0 : ERR_LIMIT);
		forward_spec_clear(&s);
	}
	forward_list_clear(&l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(good),
	    cmocka_unit_test(limits),
	    cmocka_unit_test(targets),
	    cmocka_unit_test(round_trip),
	    cmocka_unit_test(lists),
	};

	know_names_of_ports();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
