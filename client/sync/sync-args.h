/* SPDX-License-Identifier: ISC */
/*
 * The command line of hpnsync. Its options have rsync's letters and names, and
 * mean what they mean there (rsync(1)); the table in sync-options.c has a row
 * for each, also for those that are refused, with what to write instead.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SYNC_SYNC_ARGS_H
#define HPN_CLIENT_SYNC_SYNC_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "xfer/progress.h"
#include "xfer/state/transfer-opts.h"
#include "xfer/rules/sync-chmod.h"
#include "xfer/sync/sync-opts.h"
#include "xfer/rules/sync-rules.h"

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
		/* A file that could not be read: the run ends as rsync's. */
		bool unreadable;
		/* Words for when is deleted; --delete-delay is a kind of
		 * --delete-during. */
		bool during, after;
		bool cvs_exclude; /* -C */
		unsigned options; /* how many words are options */
		struct {
			/* --plan, --shards, --shard, --job, --finish */
			const char *plan, *shards, *shard, *of, *finish;
			const char *list; /* a shard's names */
		} job; /* NULL: was not given */
	} given;		 /* what stands in the line */
	int port;
	bool compress;		 /* -z */
	const char *sftp_server; /* --sftp-server: command at the host */
	bool connections_given, retry_given;
	unsigned whole; /* 0: --no-whole-file; 1: nothing was given; 2: -W */

	/* -r comes from -a only: it does not hold with --files-from. */
	bool archive_recursive;

	/* Names. */
	bool relative;		/* -R */
	bool no_implied_dirs;
	bool make_path;		/* --mkpath */
	const char *files_from; /* NULL: none */
	bool from0;
	bool break_lock;

	/* --chown with names, owned: the target's end knows their ids. */
	struct {
		char *user, *group;
	} chown;

	struct { /* at the target's end, as named */
		struct strlist dests; /* --link-dest and its kin */
		const char *temp_dir; /* --temp-dir; NULL: none */
	};

	/* What is told. */
	unsigned verbose, quiet, itemize, human, filters; /* -v -q -i -h -F */
	bool stats, progress;
	bool names_off; /* --info=name0 */
	const char *out_format, *log_file, *log_format;
	bool json;
	enum progress_style style;
	const char *manifest; /* --manifest: file to be written; NULL: none */
	struct {
		const char *path; /* --report: file to be written; NULL: none */
		struct strlist command; /* what it tells of options */
	} report;
	const char *check;    /* --check: a manifest; NULL: a tree is made the
			       * same */
	bool extra;	      /* --extra: what is not in it, too */
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
