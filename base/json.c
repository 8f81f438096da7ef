/* SPDX-License-Identifier: ISC */
#include "base/json.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

enum {
	ESCAPED_MAX = 8, /* bytes of one character, escaped, and a NUL */
};

/* Writes the first character of text, escaped, to out. Returns how many bytes
 * of text it takes. */
static size_t
escape(const char *text, char out[ESCAPED_MAX])
{
	uint32_t c;
	size_t len = str_utf8_len(text, &c);

	if (len == 0) {
		c = 0xdc00 + (unsigned char)*text;
		len = 1;
	}
	if (c == '"' || c == '\\')
		snprintf(out, ESCAPED_MAX, "\\%c", (int)c);
	else if (c < 0x20 || (c >= 0x7f && c <= 0xffff))
		snprintf(out, ESCAPED_MAX, "\\u%04x", (unsigned)c);
	else
		snprintf(out, ESCAPED_MAX, "%.*s", (int)len, text);
	return len;
}

/* The number of bytes at the beginning of text, at most room, that need no
 * escape. Lines are made by the thousand, and most texts in them are names that
 * need none at all. */
static size_t
plain_len(const char *text, size_t room)
{
	size_t n = 0;

	while (n < room && text[n] >= 0x20 && text[n] < 0x7f &&
	    text[n] != '"' && text[n] != '\\')
		n++;
	return n;
}

bool
json_put_string_cut(struct buf *b, const char *text, size_t room)
{
	char one[ESCAPED_MAX];
	size_t used = 2, len;

	buf_put(b, "\"", 1);
	for (;;) {
		len = plain_len(text, used < room ? room - used : 0);
		buf_put(b, text, len);
		used += len;
		text += len;
		if (*text == '\0')
			break;
		len = escape(text, one);
		used += strlen(one);
		if (used > room)
			break;
		buf_put(b, one, strlen(one));
		text += len;
	}
	buf_put(b, "\"", 1);
	return *text == '\0';
}

void
json_put_string(struct buf *b, const char *text)
{
	(void)json_put_string_cut(b, text, SIZE_MAX);
}

void
json_put_key(struct buf *b, const char *key)
{
	buf_put(b, ",\"", 2);
	buf_put(b, key, strlen(key));
	buf_put(b, "\":", 2);
}

void
json_put_text(struct buf *b, const char *key, const char *text)
{
	json_put_key(b, key);
	json_put_string(b, text);
}

void
json_put_number(struct buf *b, const char *key, uint64_t n)
{
	char digits[24];
	size_t at = sizeof digits;

	do
		digits[--at] = (char)('0' + n % 10);
	while ((n /= 10) != 0);
	json_put_key(b, key);
	buf_put(b, digits + at, sizeof digits - at);
}

void
json_put_bool(struct buf *b, const char *key, bool v)
{
	buf_printf(b, ",\"%s\":%s", key, v ? "true" : "false");
}

void
json_put_ms(struct buf *b, const char *key, uint64_t ms)
{
	buf_printf(b, ",\"%s\":%llu.%03u", key,
	    (unsigned long long)(ms / 1000), (unsigned)(ms % 1000));
}
