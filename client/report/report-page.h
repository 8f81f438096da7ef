/* SPDX-License-Identifier: ISC */
/*
 * The page of a report: HTML 5 with inline SVG and a style sheet. It refers to
 * nothing outside and has no script, and it forbids both to the browser
 * (Content-Security-Policy), in case a name should ever get past
 * report_put_text().
 *
 * Threads: any.
 */
#ifndef HPN_CLIENT_REPORT_REPORT_PAGE_H
#define HPN_CLIENT_REPORT_REPORT_PAGE_H

#include "base/buf.h"
#include "client/report/report-data.h"

/* Appends the page. Pure; an error shows in the buffer. */
void report_page(const struct report_data *d, struct buf *out);

#endif
