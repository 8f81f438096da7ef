/* SPDX-License-Identifier: ISC */
/*
 * One run of hpnscp: what it was asked to do, and what it reports. Its hosts
 * are in scp-hosts.h, and what is copied where is in scp-copy.h.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_COPY_SCP_RUN_H
#define HPN_CLIENT_COPY_SCP_RUN_H

#include <stdbool.h>

#include "base/loop.h"
#include "client/copy/copy-flags.h"
#include "client/copy/scp-legacy.h"
#include "compat/queue.h"
#include "xfer/manifest.h"
#include "xfer/transfer/transfer.h"

struct login_ticket;
struct report;

struct scp {
	struct copy_flags flags;
	const char *server; /* path of --sftp-server; NULL: the host's
			     * subsystem */
	struct xfer_opts xfer;	   /* of transfers by SFTP */
	struct legacy_opts legacy; /* of legacy copies */
	bool recursive, preserve;  /* -r, -p */
	bool clear;		   /* -z */
	bool need_dir;		   /* -d, or several sources are given */
	bool resume;		   /* -Z */
	bool use_legacy;	   /* -O */
	bool direct;		   /* -R */
	/* An option was given that only SFTP transfers obey. */
	bool engine_only;
	struct loop *loop;
	/* All hosts that it is connected to. */
	TAILQ_HEAD(scp_hosts, scp_host) hosts;
	struct {
		bool connections, retry; /* -j, --retry */
	} given;
	bool resumes; /* the running transfer resumes parts of files */
	/* --direct-end: the grant with which the first connection logs in;
	 * borrowed. NULL: this process is no --direct-end. */
	const struct login_ticket *grant;
	const struct direct_end *direct_end; /* or NULL */
	bool hosts_copy; /* --direct: the hosts copy without this one in
			  * between */
	bool hosts_pull; /* --direct=pull: the target's host fetches */
	/* What is left on a host when the connection to it is lost now;
	 * borrowed. NULL: nothing. */
	const char *left;
	const char *receipt; /* --receipt; NULL: none */
	struct xfer *running;	/* the running transfer; or NULL */
	struct {
		const char *path; /* --manifest; NULL: none */
		struct manifest_out *out; /* owned; NULL: none */
		char *top; /* owned; see scp_manifest_top() */
	} manifest;
	/* The page of --report; NULL: there is none. */
	struct report *report;
	bool interrupted;
	bool failed;		/* something was not copied */
	/* A source of an upload is missing: the exit status will be
	 * SCP_EXIT_FATAL. */
	bool source_missing;
	/* A target has no room left: nothing more is copied. */
	bool full;
	bool made; /* this copy has made the target directory */
	bool between;		/* the running transfer is from host to host */
};

/* Exit status 255, which scripts know from scp: a source on this host is
 * missing, options make no sense, or a target directory cannot be made. For
 * other errors the status is 1. */
enum { SCP_EXIT_FATAL = 255 };

/* scp_report() prints one line about an error, and the copy goes on; tried is
 * one of XFER_TRIED_* or NULL. scp_note() prints a line that is about no error;
 * path may be NULL. arg is the struct scp. */
void scp_report(void *arg, const char *tried, const char *path,
    const char *text);
void scp_note(void *arg, const char *path, const char *text);
/* To be called at the start of the program: SIGHUP, SIGINT and SIGTERM end
 * it. */
void scp_catch_signals(void);
/* Runs xfer_run(). If one of these signals or an error ends it early, the user
 * is told which parts of files are kept. */
int scp_run(struct scp *scp, struct xfer *x) must_check;
/* Prints the sums of the run: on a terminal, or where the user asked for plain
 * progress or --verify. */
void scp_tell_sums(const struct scp *scp);
/* Report an error and end the program: scp_die() with status 1, scp_refuse()
 * with SCP_EXIT_FATAL. */
_Noreturn void scp_die(struct scp *scp, const char *path, const char *text);
_Noreturn void scp_refuse(struct scp *scp, const char *path, const char *text);
/* As scp_die(), but prints line alone; path is for events (--json). */
_Noreturn void scp_die_line(struct scp *scp, const char *path,
    const char *line);
/* Writes the last event (--json) and the page of --report. Returns the exit
 * status: that of the parameter, or 1 in place of 0 if something could not be
 * written, which is reported. */
int scp_end_events(struct scp *scp, int status) must_check;
/* Ends the program after the last event, without a message. */
_Noreturn void scp_exit(struct scp *scp, int status);

#endif
