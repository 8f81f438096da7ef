/* SPDX-License-Identifier: ISC */
#include "client/report/report-text.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

/* Characters that are invisible, or that move the text around them: of
 * Unicode's classes Cc, Cf, Zl, Zp, Cs and Co, and fillers that look like a
 * blank. */
static const struct {
	uint32_t from, to;
} hidden[] = {
	{ 0x0, 0x1f },
	{ 0x7f, 0x9f },
	{ 0xad, 0xad },
	{ 0x34f, 0x34f },
	{ 0x600, 0x605 },
	{ 0x61c, 0x61c },
	{ 0x6dd, 0x6dd },
	{ 0x70f, 0x70f },
	{ 0x890, 0x891 },
	{ 0x8e2, 0x8e2 },
	{ 0x115f, 0x1160 },
	{ 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f },
	{ 0x200b, 0x200f },
	{ 0x2028, 0x202e },
	{ 0x2060, 0x206f },
	{ 0x2800, 0x2800 },
	{ 0x3164, 0x3164 },
	{ 0xd800, 0xf8ff },
	{ 0xfe00, 0xfe0f },
	{ 0xfeff, 0xfeff },
	{ 0xffa0, 0xffa0 },
	{ 0xfff0, 0xfffb },
	{ 0xfffe, 0xffff },
	{ 0x110bd, 0x110bd },
	{ 0x110cd, 0x110cd },
	{ 0x13430, 0x13455 },
	{ 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a },
	{ 0xe0000, 0xe0fff },
	{ 0xf0000, 0x10ffff },
};

static bool
is_hidden(uint32_t c)
{
	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		if (c >= hidden[i].from && c <= hidden[i].to)
			return true;
	return false;
}

static const char *
entity(uint32_t c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	}
	return NULL;
}

/* Appends the first character of text, escaped if need be; returns its
 * bytes. */
static size_t
put_char(struct buf *b, const char *text)
{
	uint32_t c;
	size_t len = str_utf8_len(text, &c);

	if (len == 0) {
		buf_printf(b, "\\x%02x", (unsigned)(unsigned char)*text);
		return 1;
	}
	if (entity(c) != NULL)
		buf_printf(b, "%s", entity(c));
	else if (is_hidden(c))
		buf_printf(b, c < 0x100 ? "\\x%02x" : "\\u{%x}", (unsigned)c);
	else
		buf_put(b, text, len);
	return len;
}

void
report_put_text(struct buf *b, const char *text)
{
	const char *p = text;

	while (p != NULL && *p != '\0' && p - text < REPORT_TEXT_MAX)
		p += put_char(b, p);
	if (p != NULL && *p != '\0')
		buf_printf(b, "...");
}

void
report_put_bytes(struct buf *b, uint64_t bytes)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB",
		"EB" };
	double v = (double)bytes;
	size_t i = 0;

	while (v >= 999.5 && i + 1 < ARRAY_LEN(units)) {
		v /= 1000;
		i++;
	}
	buf_printf(b, i > 0 && v < 99.95 ? "%.1f %s" : "%.0f %s", v, units[i]);
}

void
report_put_time(struct buf *b, uint64_t ms)
{
	uint64_t s = ms / 1000;

	if (ms < 1000)
		buf_printf(b, "%" PRIu64 " ms", ms);
	else if (s < 60)
		buf_printf(b, "%" PRIu64 ".%" PRIu64 " s", s, ms / 100 % 10);
	else if (s < 3600)
		buf_printf(b, "%" PRIu64 ":%02" PRIu64 " min", s / 60, s % 60);
	else
		buf_printf(b, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64 " h",
		    s / 3600, s / 60 % 60, s % 60);
}

void
report_put_moment(struct buf *b, time_t when)
{
	char text[40];
	struct tm tm;

	if (gmtime_r(&when, &tm) != NULL &&
	    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &tm) > 0)
		buf_printf(b, "%s", text);
}
