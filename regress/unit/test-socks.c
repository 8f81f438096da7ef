/* SPDX-License-Identifier: ISC */
#include "regress/unit/help.h"

#include <stdlib.h>

#include "base/mem.h"
#include "forward/socks.h"
#include "regress/unit/dice.h"

#define BYTES(s) s, sizeof(s) - 1
#define REPLY4 "\0\x5a\0\0\0\0\0\0"
#define REPLY5(port) "\5\0\0\1\0\0\0\0" port

/* What a program says; the data behind it are for the target. */
static const struct {
	const char *name;
	const char *text;
	size_t len;
	const char *host; /* NULL: closed */
	unsigned port;
	const char *reply; /* all of them together */
	size_t reply_len;
	const char *rest;
} stories[] = {
	{ "4", BYTES("\4\1\0\x50\x7f\0\0\1\0"), "127.0.0.1", 80,
	    BYTES(REPLY4), "" },
	{ "4 with user and data", BYTES("\4\1\x1f\x90\1\2\3\4joe\0DATA"),
	    "1.2.3.4", 8080, BYTES(REPLY4), "DATA" },
	{ "4 to the address of all zeros", BYTES("\4\1\0\1\0\0\0\0\0"),
	    "0.0.0.0", 1, BYTES(REPLY4), "" },
	{ "4a", BYTES("\4\1\xff\xff\0\0\0\1\0host.example\0x"),
	    "host.example", 65535, BYTES(REPLY4), "x" },
	{ "4a with user", BYTES("\4\1\0\1\0\0\0\xffme\0h\0"), "h", 1,
	    BYTES(REPLY4), "" },
	{ "4a without a name", BYTES("\4\1\0\1\0\0\0\1\0\0"), NULL, 0,
	    BYTES(""), "" },
	{ "4 BIND", BYTES("\4\2\0\x50\x7f\0\0\1\0"), NULL, 0, BYTES(""), "" },
	{ "5 IPv4", BYTES("\5\1\0\5\1\0\1\x0a\0\0\2\0\x16GET"), "10.0.0.2",
	    22, BYTES("\5\0" REPLY5("\0\x16")), "GET" },
	{ "5 IPv6",
	    BYTES("\5\2\2\0\5\1\0\4\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1"
		  "\1\xbb"),
	    "2001:db8::1", 443, BYTES("\5\0" REPLY5("\1\xbb")), "" },
	{ "5 name", BYTES("\5\1\0\5\1\0\3\4host\0\x50\0\1"), "host", 80,
	    BYTES("\5\0" REPLY5("\0\x50")), NULL },
	{ "5 without a method", BYTES("\5\0"), NULL, 0, BYTES(""), "" },
	{ "5 with passwords only", BYTES("\5\2\1\2"), NULL, 0, BYTES(""),
	    "" },
	{ "5 BIND", BYTES("\5\1\0\5\2\0\1\x0a\0\0\2\0\x16"), NULL, 0,
	    BYTES("\5\0"), "" },
	{ "5 UDP", BYTES("\5\1\0\5\3\0\1\x0a\0\0\2\0\x16"), NULL, 0,
	    BYTES("\5\0"), "" },
	{ "5 then 4", BYTES("\5\1\0\4\1\0\1\x0a\0\0\2\0\x16"), NULL, 0,
	    BYTES("\5\0"), "" },
	{ "5 with a wrong reserved byte",
	    BYTES("\5\1\0\5\1\1\1\x0a\0\0\2\0\x16"), NULL, 0, BYTES("\5\0"),
	    "" },
	{ "5 with an unknown kind", BYTES("\5\1\0\5\1\0\2\x0a\0\0\2\0\x16"),
	    NULL, 0, BYTES("\5\0"), "" },
	{ "5 with an empty name, closed at once",
	    BYTES("\5\1\0\5\1\0\3\0"), NULL, 0, BYTES("\5\0"), "" },
	{ "5 with a zero byte in the name",
	    BYTES("\5\1\0\5\1\0\3\3a\0b\0\x16"), NULL, 0, BYTES("\5\0"), "" },
	{ "HTTP", BYTES("GET / HTTP/1.0\r\n\r\n"), NULL, 0, BYTES(""), "" },
	{ "nothing", BYTES("\0"), NULL, 0, BYTES(""), "" },
};

struct outcome {
	enum socks_result result;
	uint8_t replies[64];
	size_t replies_len, used;
};

/* Tells the story in pieces that end where the bits of cuts are set. */
static void
tell(struct socks *s, struct outcome *o, const char *text, size_t len,
    uint64_t cuts)
{
	size_t from = 0, to, used;

	*o = (struct outcome){ .result = SOCKS_NEED_MORE };
	while (from < len && o->result == SOCKS_NEED_MORE) {
		for (to = from + 1; to < len && (cuts >> to % 64 & 1) == 0;)
			to++;
		do {
			o->result =
			    socks_feed(s, text + from, to - from, &used);
			assert_true(used <= to - from);
			from += used;
			if (o->result != SOCKS_REPLY &&
			    o->result != SOCKS_DONE)
				continue;
			memcpy(o->replies + o->replies_len, s->reply,
			    s->reply_len);
			o->replies_len += s->reply_len;
		} while (o->result == SOCKS_REPLY);
		if (o->result == SOCKS_NEED_MORE)
			assert_int_equal(from, to);
	}
	o->used = from;
}

static void
check(size_t i, uint64_t cuts)
{
	struct socks s = { 0 };
	struct outcome o;

	tell(&s, &o, stories[i].text, stories[i].len, cuts);
	if (o.result != (stories[i].host != NULL ? SOCKS_DONE : SOCKS_BAD))
		fail_msg("%s: %d", stories[i].name, (int)o.result);
	assert_int_equal(o.replies_len, stories[i].reply_len);
	assert_memory_equal(o.replies, stories[i].reply, o.replies_len);
	if (o.result == SOCKS_DONE) {
		assert_string_equal(s.host, stories[i].host);
		assert_int_equal(s.port, stories[i].port);
	}
	if (o.result == SOCKS_DONE && stories[i].rest != NULL)
		assert_string_equal(stories[i].text + o.used, stories[i].rest);
	else if (o.result == SOCKS_DONE) /* "name": zero bytes follow */
		assert_int_equal(stories[i].len - o.used, 2);
	socks_clear(&s);
}

static void
whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stories); i++)
		check(i, 0);
}

/* However the bytes are split, the outcome is the same. */
static void
split(void **state)
{
	struct dice d = { 7 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stories); i++) {
		for (unsigned cut = 1; cut < 64; cut++)
			check(i, 1ULL << cut);
		check(i, UINT64_MAX);
		for (int n = 0; n < 200; n++)
			check(i, (uint64_t)dice_below(&d, UINT32_MAX) << 32 |
				dice_below(&d, UINT32_MAX));
	}
}

/* Until its last byte, a request waits for more. */
static void
unfinished(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stories); i++) {
		size_t rest = stories[i].rest != NULL ?
		    strlen(stories[i].rest) : 2;

		if (stories[i].host == NULL)
			continue;
		for (size_t len = 0; len < stories[i].len - rest; len++) {
			struct socks s = { 0 };
			struct outcome o;

			tell(&s, &o, stories[i].text, len, 0);
			if (o.result != SOCKS_NEED_MORE)
				fail_msg("%s: %zu", stories[i].name, len);
			socks_clear(&s);
		}
	}
}

/* The answer about the method comes before the request is there. */
static void
method_first(void **state)
{
	struct socks s = { 0 };
	size_t used;

	(void)state;
	assert_int_equal(socks_feed(&s, "\5\1\0", 3, &used), SOCKS_REPLY);
	assert_int_equal(used, 3);
	assert_int_equal(s.reply_len, 2);
	assert_memory_equal(s.reply, "\5\0", 2);
	assert_int_equal(socks_feed(&s, "", 0, &used), SOCKS_NEED_MORE);
	assert_int_equal(socks_feed(&s, "\5\1\0\1\1\2\3\4\0\7", 10, &used),
	    SOCKS_DONE);
	assert_string_equal(s.host, "1.2.3.4");
	socks_clear(&s);
	assert_null(s.host);
}

/* A user and a name of SOCKS 4a may have so many bytes, and not one more. */
static void
limits(void **state)
{
	static const char head[] = { 4, 1, 0, 80, 0, 0, 0, 9 };
	enum { HEAD = sizeof head };
	char text[HEAD + 2 * (SOCKS_NAME_MAX + 2)];
	struct outcome o;

	(void)state;
	for (size_t more = 0; more < 4; more++) {
		size_t user = SOCKS_NAME_MAX + (more & 1);
		size_t name = SOCKS_NAME_MAX + (more >> 1);
		struct socks s = { 0 };

		memset(text, 'a', sizeof text);
		memcpy(text, head, HEAD);
		text[HEAD + user] = text[HEAD + user + 1 + name] = '\0';
		tell(&s, &o, text, HEAD + user + name + 2, 0);
		assert_int_equal(o.result, more == 0 ? SOCKS_DONE : SOCKS_BAD);
		if (more == 0)
			assert_int_equal(strlen(s.host), SOCKS_NAME_MAX);
		else /* nothing is read behind what is too long */
			assert_int_equal(o.used, HEAD + SOCKS_NAME_MAX + 1 +
			    ((more & 1) != 0 ? 0 : user + 1));
		socks_clear(&s);
	}
}

/* The longest name and the longest list of methods of SOCKS 5. */
static void
longest(void **state)
{
	uint8_t text[2 + 255 + 5 + 255 + 2];
	struct socks s = { 0 };
	struct outcome o;

	(void)state;
	memset(text, 'n', sizeof text);
	text[0] = 5;
	text[1] = 255;
	text[256] = 0;
	memcpy(text + 257, "\5\1\0\3\xff", 5);
	memcpy(text + sizeof text - 2, "\0\x19", 2);
	tell(&s, &o, (const char *)text, sizeof text, 0);
	assert_int_equal(o.result, SOCKS_DONE);
	assert_int_equal(o.used, sizeof text);
	assert_int_equal(strlen(s.host), 255);
	assert_int_equal(s.port, 25);
	socks_clear(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(whole),
	    cmocka_unit_test(split),
	    cmocka_unit_test(unfinished),
	    cmocka_unit_test(method_first),
	    cmocka_unit_test(limits),
	    cmocka_unit_test(longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
