/* SPDX-License-Identifier: ISC */
/*
 * The recorder of a report (--report): watches the progress of a copy and its
 * connections, and writes the page at the end, also if the program ends early
 * by exit(3). The file has mode 0600 and its name only when it is whole
 * (xfer/whole-file.h). Of all that is recorded there is a limit
 * (report-data.h).
 *
 * Functions that take a struct report do nothing where it is NULL.
 *
 * Threads: loop thread only. There is one at a time.
 */
#ifndef HPN_CLIENT_REPORT_REPORT_H
#define HPN_CLIENT_REPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "client/why-slow.h"
#include "xfer/progress.h"

struct report;
struct report_conn;

/* Begins to record. program: a literal, what the page calls the program. path
 * is borrowed, and tried out: ERR_SYSTEM with errno if no file can be made
 * there. command: the command line without secrets, which is taken over;
 * left_out: how many names it lacks. */
int report_new(struct report **out, const char *program, const char *path,
    struct strlist *command, size_t left_out) must_check;
void report_watch(struct report *r, struct progress *p);
/* This is a later try: number `tries`, from 1 on. */
void report_set_tries(struct report *r, unsigned tries);

/* What a connection tells of itself: false while it tells nothing. limits is
 * as for why_slow_measure(). Where out->cipher is NULL, only sent and received
 * count. *peer becomes how the other end names itself; borrowed. */
typedef bool (*report_measure_fn)(void *arg, struct why_slow *out, bool limits,
    const char **peer);
/* A connection to a host; NULL if there are enough. report_conn_end() may be
 * called with NULL. arg is borrowed until then. */
struct report_conn *report_conn_new(struct report *r, const char *host,
    report_measure_fn measure, void *arg);
void report_conn_end(struct report_conn *c);

/* The SHA-256 digest of a file that was copied. */
void report_digest(struct report *r, const char *name, const uint8_t *digest);

/* Writes the page: status is the exit status. ERR_SYSTEM with errno. Once; what
 * is called afterwards does nothing. */
int report_end(struct report *r, int status, bool interrupted) must_check;
/* After report_end(), and after the last connection has ended. */
void report_free(struct report *r);

#endif
