/* SPDX-License-Identifier: ISC */
/*
 * Pieces of the page of a report: text from anywhere, and numbers for people.
 *
 * THE RULE. Text that is not a literal of this folder gets into the page by
 * report_put_text() alone. It may stand between tags and in a quoted attribute.
 * What could end it there (& < > " '), what acts on a terminal or on the
 * direction of a line (control, bidirectional and invisible characters), and
 * bytes that are no UTF-8, are replaced by what can be read. So whatever a name
 * is, it makes no element, no new line, and no other order of what is around
 * it.
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_REPORT_REPORT_TEXT_H
#define HPN_CLIENT_REPORT_REPORT_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/buf.h"

enum { REPORT_TEXT_MAX = 4096 }; /* bytes of a text that are shown */

/* NULL: nothing. Of a text that is too long the beginning, and "...". */
void report_put_text(struct buf *b, const char *text);
/* "1.5 MB", of 1000 each; "85 ms", "1.5 s", "2:03 min", "3:05:07 h"; a moment
 * in UTC. */
void report_put_bytes(struct buf *b, uint64_t bytes);
void report_put_time(struct buf *b, uint64_t ms);
void report_put_moment(struct buf *b, time_t when);

#endif
