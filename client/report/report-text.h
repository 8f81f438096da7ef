/* SPDX-License-Identifier: ISC */
/*
 * Pieces of the page of a report: text from anywhere, and numbers for people.
 *
 * THE RULE. Text that is not a literal of this folder gets into the page by
 * report_put_text() alone. It may stand between tags and in a quoted attribute.
 * Characters that could end it there (& < > " '), characters that act on a
 * terminal or on the direction of a line (control, bidirectional and invisible
 * ones), and bytes that are not UTF-8 are replaced by readable text. So no name
 * can make an element or a new line, or change the order of the text around it.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_REPORT_REPORT_TEXT_H
#define HPN_CLIENT_REPORT_REPORT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/buf.h"

enum { REPORT_TEXT_MAX = 4096 }; /* bytes of a text that are shown at most */

/* Puts a text; NULL: nothing. A text that is too long is cut, and "..."
 * added. */
void report_put_text(struct buf *b, const char *text);
/* Put a number of bytes, "1.5 MB" with units of 1000; a time, "85 ms", "1.5 s",
 * "2:03 min", "3:05:07 h"; and a date with time, in UTC. */
void report_put_bytes(struct buf *b, uint64_t bytes);
void report_put_time(struct buf *b, uint64_t ms);
void report_put_moment(struct buf *b, time_t when);

#endif
