/* SPDX-License-Identifier: ISC */
#include "client/session/escape.h"

#include <string.h>

void
escape_init(struct escape *e, const struct escape_row *rows, size_t row_count,
    uint8_t ch)
{
	*e = (struct escape){
		.rows = rows,
		.row_count = row_count,
		.ch = ch,
		.at_line_start = true,
	};
}

static const struct escape_row *
find(const struct escape *e, uint8_t ch)
{
	for (size_t i = 0; i < e->row_count; i++)
		if (e->rows[i].ch == ch)
			return &e->rows[i];
	return NULL;
}

static void
take(struct escape *e, uint8_t ch)
{
	e->in_line = ch != '\r' && ch != '\n' && ch != ESCAPE_CTRL_C &&
	    ch != ESCAPE_CTRL_D;
	e->at_line_start = true;
	e->typed(e->arg, ch);
}

size_t
escape_filter(struct escape *e, uint8_t *p, size_t len, size_t cap)
{
	size_t in = 0, out = 0;

	while (in < len) {
		uint8_t ch = p[in];
		const struct escape_row *row;

		if (e->in_line) {
			take(e, ch);
			in++;
			continue;
		}
		if (e->pending) {
			e->pending = false;
			if ((row = find(e, ch)) != NULL) {
				in++;
				e->in_line = row->takes_line &&
				    e->typed != NULL;
				if (e->found != NULL)
					e->found(e->arg, row);
				continue;
			}
			/* No row has this character. Typed twice, the escape
			 * character stands for itself once; before any other
			 * character it is sent as it is. */
			if (ch != e->ch) {
				if (out == in && len < cap) {
					memmove(p + in + 1, p + in, len - in);
					len++;
					in++;
				}
				if (out < in)
					p[out++] = e->ch;
			}
		} else if (e->at_line_start && ch == e->ch) {
			e->pending = true;
			in++;
			continue;
		}
		e->at_line_start = ch == '\r' || ch == '\n';
		p[out++] = ch;
		in++;
	}
	return out;
}

void
escape_char_name(uint8_t ch, char *out)
{
	size_t n = 0;

	if (ch < 0x20 || ch == 0x7f) {
		out[n++] = '^';
		ch ^= 0x40;
	}
	out[n++] = (char)ch;
	out[n] = '\0';
}

void
escape_describe(const struct escape *e, struct buf *out)
{
	char esc[3], name[3];

	escape_char_name(e->ch, esc);
	/* Programs look for these two lines. */
	buf_printf(out, "%s?\nSupported escape sequences:\n", esc);
	for (size_t i = 0; i < e->row_count; i++) {
		if (e->rows[i].takes_line && e->typed == NULL)
			continue;
		escape_char_name(e->rows[i].ch, name);
		buf_printf(out, "  %s%-2s  %s\n", esc, name, e->rows[i].help);
	}
	buf_printf(out, "  %s%-2s  send the escape character itself\n", esc,
	    esc);
	buf_printf(out, "They count at the beginning of a line only.\n");
}
