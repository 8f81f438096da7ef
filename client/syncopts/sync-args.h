/* SPDX-License-Identifier: ISC */
/*
 * The command line of hpnsync. Its options have rsync's letters and names, and
 * mean what they mean there (rsync(1)); the table in sync-options.c has a row
 * for each, also for those that are refused, with what to write instead.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SYNCOPTS_SYNC_ARGS_H
#define HPN_CLIENT_SYNCOPTS_SYNC_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "xfer/progress.h"
#include "xfer/state/transfer-opts.h"
#include "xfer/rules/sync-chmod.h"
#include "xfer/sync/sync-opts.h"
#include "xfer/rules/sync-rules.h"

/* Which host connects to the other one: the source's, or the target's. */
enum sync_direct_way { SYNC_DIRECT_NO, SYNC_DIRECT_PUSH, SYNC_DIRECT_PULL };

struct sync_args {
	struct sync_opts opts;
	struct xfer_opts xfer;
	struct sync_rules *rules;
	struct sync_chmod *chmod;

	/* The connection: options for hpnssh, the program in its place (-e),
	 * its port. */
	struct strlist ssh;
	const char *ssh_program;
	struct {
		bool shell, style; /* -e, --progress=style */
		/* A file of options could not be read: the exit status is
		 * rsync's for that. */
		bool unreadable;
		/* Options for when names are deleted were given; --delete-delay
		 * counts as --delete-during. */
		bool during, after;
		bool cvs_exclude; /* -C */
		enum sync_direct_way direct; /* --direct */
		unsigned options; /* number of words of the command line that
				   * are options */
		struct {
			/* --plan, --shards, --grant, --shard, --job,
			 * --finish */
			const char *plan, *shards, *grant, *shard, *of, *finish;
			const char *list; /* a shard's names */
		} job; /* NULL: was not given */
	} given;		 /* options as they stand in the command line */
	int port;
	bool compress;		 /* -z */
	const char *sftp_server; /* --sftp-server: command at the host */
	bool connections_given, retry_given;
	unsigned whole; /* 0: --no-whole-file; 1: neither option was given; 2:
			 * -W */

	/* -r comes from -a only: it does not hold with --files-from. */
	bool archive_recursive;

	/* Names. */
	bool relative;		/* -R */
	bool no_implied_dirs;
	bool make_path;		/* --mkpath */
	const char *files_from; /* NULL: none */
	bool from0;
	bool break_lock;

	/* Names of --chown, owned; the host of the target knows their ids. */
	struct {
		char *user, *group;
	} chown;

	struct { /* directories at the target's host, as the user named them */
		struct strlist dests; /* --link-dest and its kin */
		const char *temp_dir; /* --temp-dir; NULL: none */
	};

	/* What the user is told. */
	unsigned verbose, quiet, itemize, human, filters; /* -v -q -i -h -F */
	bool stats, progress;
	bool names_off; /* --info=name0 */
	const char *out_format, *log_file, *log_format;
	bool json;
	enum progress_style style;
	struct { /* paths of --manifest and --receipt; NULL: none is written */
		const char *manifest, *receipt;
	};
	struct {
		const char *path; /* path of --report; NULL: no page is
				   * written */
		struct strlist command; /* what the page says of the options */
	} report;
	const char *check;    /* path of the manifest of --check; NULL: an
			       * ordinary run */
	bool extra;	      /* --extra: tell also of files that the manifest
			       * does not have */
	struct {
		uint64_t stop_after;
		int64_t timeout;
	} seconds; /* 0: never */
};

/* Reads the options; what is left of argv are the sources and the target, of
 * which *n is the number. Ends the program on an error. */
char **sync_args_read(struct sync_args *a, int argc, char **argv, int *n);
void sync_args_clear(struct sync_args *a);

#endif
