/* SPDX-License-Identifier: ISC */
/*
 * The data of a report of a copy (--report): the recorder (report.h) fills it
 * in, the page (report-page.h) reads it. Points share one time base; there are
 * at most REPORT_POINTS. Most of their numbers are sums since the beginning: so
 * a point can be left out, and what moved between the two beside it stays
 * exact.
 *
 * Threads: none; a struct belongs to one at a time.
 */
#ifndef HPN_CLIENT_REPORT_REPORT_DATA_H
#define HPN_CLIENT_REPORT_REPORT_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/str.h"
#include "client/why-slow.h"

enum {
	REPORT_POINTS = 1024,	  /* a power of two */
	REPORT_FIRST_MS = 100,	  /* time between points, as long as there is
				   * room */
	REPORT_CONNECTIONS = 64,  /* connections that have a line of their
				   * own */
	REPORT_TOP = 30,	  /* files in the lists of the slowest and of
				   * the largest */
	REPORT_FAILURES = 100,	  /* the first ones */
	REPORT_DIGESTS = 1000,	  /* the first ones */
};

/* A moment of the whole copy. Bytes and files are sums since the beginning. */
struct report_point {
	uint64_t ms;	/* since the beginning */
	uint64_t moved; /* bytes of files, as the progress counts them */
	/* Sums over the connections, in milliseconds: how long each thing has
	 * held them back, and how long they were open. */
	uint64_t held_ms[WHY_SLOW_KINDS];
	uint64_t open_ms;
};

/* A moment of one connection, at the point of the same number. */
struct report_link_point {
	uint64_t bytes;	  /* sum since the beginning, both directions */
	uint32_t rtt_us;  /* the longest since the point before; 0: not known */
	uint64_t resent;  /* packets, since the beginning */
};

/* A connection. */
struct report_link {
	char *host;  /* owned */
	char *peer;  /* owned; software that the other end names; NULL:
		      * unknown */
	char *cipher; /* owned; or NULL */
	char *why;   /* owned; what held the connection back, in words; or
		      * NULL */
	uint64_t from_ms, until_ms;
	uint64_t sent, received; /* bytes since the login */
	uint64_t resent;
	uint32_t rtt_least_us;
	bool has_tcp; /* the kernel has given figures of the connection */
	struct report_link_point *points; /* owned, REPORT_POINTS; or NULL */
};

struct report_file {
	char *name; /* owned */
	uint64_t size, kept, took_ms;
};

struct report_failure {
	char *path, *text; /* owned; a path, or NULL, and what failed */
};

struct report_digest {
	char *name; /* owned */
	char hex[65];
};

struct report_top {
	struct report_file v[REPORT_TOP]; /* the greatest first */
	size_t n;
};

struct report_data {
	const char *program; /* a literal: "hpnscp" */
	const char *version; /* of this program */
	char *here;	     /* owned; name of this host; or NULL */
	struct strlist command; /* without secrets */
	size_t names_left_out;	/* of the command line */
	time_t began, ended;
	uint64_t took_ms;
	int status;	   /* the exit status */
	bool interrupted;
	unsigned tries;	   /* number of this try, the last one; 0 and 1: there
			    * was no other */

	struct report_point points[REPORT_POINTS];
	size_t n_points;
	uint64_t every_ms; /* between points, at least */

	struct report_link links[REPORT_CONNECTIONS];
	size_t n_links;
	uint64_t links_left_out;

	uint64_t copied, there, not_copied; /* files */
	uint64_t kept; /* bytes of files that did not have to move */
	uint64_t verified;
	struct report_top slowest, largest;

	struct report_failure failures[REPORT_FAILURES];
	uint64_t n_failures; /* all failures; some are kept */
	struct report_digest *digests; /* owned, REPORT_DIGESTS; or NULL */
	uint64_t n_digests;	       /* all digests; some are kept */
};

/* report-data.c */
struct report_data *report_data_new(void); /* NULL: out of memory */
void report_data_free(struct report_data *d);

/* Appends a point to the copy and to each connection, if every_ms has passed
 * since the last one. Returns it; NULL: it is too early. Its numbers are copies
 * of those before, except for the time; the caller updates them. always: if it
 * is too early, the last point is moved to this time instead, because the rate
 * over a few milliseconds would say nothing. */
struct report_point *report_data_point(struct report_data *d, uint64_t ms,
    bool always);
/* Adds a connection; NULL: there are enough, or no memory. */
struct report_link *report_data_link(struct report_data *d, const char *host);
/* Notes a file that has ended. name is copied if it is kept. */
void report_data_file(struct report_data *d, const char *name, uint64_t size,
    uint64_t kept, uint64_t took_ms);
void report_data_failure(struct report_data *d, const char *path,
    const char *text);
void report_data_digest(struct report_data *d, const char *name,
    const uint8_t *digest, size_t len);

#endif
