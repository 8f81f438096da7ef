/* SPDX-License-Identifier: ISC */
/*
 * One run of hpnscp: what it was asked to do, and what it reports. The hosts
 * of it are in scp-hosts.h, what is copied where in scp-copy.h.
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
#include "xfer/transfer/transfer.h"

struct scp {
	struct copy_flags flags;
	struct xfer_opts xfer;	   /* of transfers by SFTP */
	struct legacy_opts legacy; /* of legacy copies */
	bool recursive, preserve;  /* -r, -p */
	bool clear;		   /* -z */
	bool need_dir;		   /* -d, or several sources are given */
	bool resume;		   /* -Z */
	bool use_legacy;	   /* -O */
	bool direct;		   /* -R */
	bool engine_only; /* options that only transfers by SFTP obey */
	struct loop *loop;
	TAILQ_HEAD(scp_hosts, scp_host) hosts; /* that are connected to */
	struct {
		bool connections, retry; /* -j, --retry */
	} given;
	bool resumes; /* what is running goes on with parts */
	struct xfer *running;	/* NULL: nothing moves */
	bool failed;		/* something was not copied */
	bool source_missing;	/* of an upload: SCP_EXIT_FATAL, at the end */
	bool full;		/* there is no room for more */
	bool between;		/* what is running is, of two hosts */
};

/* Scripts know scp's 255: a source of this host that is not there, options that
 * make no sense, a directory to copy to that cannot be made. Else it is 1. */
enum { SCP_EXIT_FATAL = 255 };

/* arg is the struct scp. One line about one thing that went wrong; the rest
 * goes on; tried is one of XFER_TRIED_* or NULL. Or (note) about what is no
 * failure; path NULL: about none. */
void scp_report(void *arg, const char *tried, const char *path,
    const char *text);
void scp_note(void *arg, const char *path, const char *text);
/* From the start of the program on: HUP, INT and TERM end it. */
void scp_catch_signals(void);
/* xfer_run(); such a signal, and whatever ends it early, tells what is kept. */
int scp_run(struct scp *scp, struct xfer *x) must_check;
/* The last line, where somebody looks at it. */
void scp_tell_sums(const struct scp *scp);
/* Reports, and ends the program; refuse: with SCP_EXIT_FATAL. */
_Noreturn void scp_die(struct scp *scp, const char *path, const char *text);
_Noreturn void scp_refuse(struct scp *scp, const char *path, const char *text);
/* As scp_die(), with a line of its own; path is for events. */
_Noreturn void scp_die_line(struct scp *scp, const char *path,
    const char *line);
/* The last event (--json). The exit status: 1 instead of 0 if events could not
 * be written, which is told. */
int scp_end_events(struct scp *scp, int status) must_check;
/* The same as scp_die() without words. */
_Noreturn void scp_exit(struct scp *scp, int status);

#endif
