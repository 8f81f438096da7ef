/* SPDX-License-Identifier: ISC */
/*
 * The recorder of a report (--report). It watches the progress of a copy and
 * its connections, and writes the page at the end, also if the program ends
 * early by exit(3). The file has mode 0600, and gets its name when it is whole
 * (xfer/whole-file.h). Everything recorded has a limit (report-data.h).
 *
 * Functions that take a struct report do nothing if it is NULL.
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

/* Begins to record. program: name of the program for the page, a literal. path:
 * of the page, borrowed; ERR_SYSTEM with errno if no file can be made there.
 * command: the command line without secrets, taken over; left_out: number of
 * names that it lacks. */
int report_new(struct report **out, const char *program, const char *path,
    struct strlist *command, size_t left_out) must_check;
void report_watch(struct report *r, struct progress *p);
/* The path that report_new() got, for a message. */
const char *report_path(const struct report *r);
/* Notes that this is try number `tries`, from 1 on. */
void report_set_tries(struct report *r, unsigned tries);

/* Asks a connection for its figures. False: it has none now. limits: as for
 * why_slow_measure(). If out->cipher is NULL, only sent and received are set.
 * *peer becomes the software that the other end names; borrowed. */
typedef bool (*report_measure_fn)(void *arg, struct why_slow *out, bool limits,
    const char **peer);
/* Registers a connection to a host; NULL: there are enough. arg is borrowed
 * until report_conn_end(), which also takes NULL. */
struct report_conn *report_conn_new(struct report *r, const char *host,
    report_measure_fn measure, void *arg);
void report_conn_end(struct report_conn *c);

/* Notes the SHA-256 digest of a file that was copied. */
void report_digest(struct report *r, const char *name, const uint8_t *digest);

/* Writes the page; status: the exit status. ERR_SYSTEM with errno. Only the
 * first call counts; later calls of any function do nothing. */
int report_end(struct report *r, int status, bool interrupted) must_check;
/* Frees r, after report_end() and after the last connection has ended. */
void report_free(struct report *r);

#endif
