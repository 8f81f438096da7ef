/* SPDX-License-Identifier: ISC */
/*
 * One run of hpnsync: its ends, what it tells, and how it ends.
 *
 * Threads: loop thread only.
 */
#ifndef HPN_CLIENT_SYNC_SYNC_RUN_H
#define HPN_CLIENT_SYNC_SYNC_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/buf.h"
#include "base/loop.h"
#include "client/copy/direct-wire.h"
#include "client/copy/remote.h"
#include "client/syncopts/sync-args.h"
#include "client/syncopts/sync-exit.h"
#include "client/syncopts/sync-names.h"
#include "compat/queue.h"
#include "xfer/local/local-tree.h"
#include "xfer/manifest.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/sync/sync-owners.h"
#include "xfer/sync/sync-plan.h"
#include "xfer/target.h"
#include "xfer/transfer/transfer.h"

/* An SFTP session with one end: a host, or a server of this machine, which
 * scans local trees (and is the target of a copy on this machine). */
struct sync_end {
	struct remote *remote;
	struct sftp *s;
	struct remote_copy copy; /* what its configuration says */
	/* The directory that the session keeps to (confine@hpnssh.org), where
	 * its server can do that; owned; NULL: it was not asked to. */
	char *top;
	struct sftp_confine confine;
	/* The answer to that. */
	bool answered;
	uint32_t status;
};

/* The user for whom the target's server works: sync-own.c. */
struct sync_own {
	bool asked, ids_done, proc_done; /* the answer to each question has
					  * come */
	bool is_known;
	uint32_t uid;
	uint32_t *groups; /* owned */
	size_t n_groups;
};

/* The directories in the path of the target: sync-way.c. */
struct sync_way {
	struct sync_step *steps; /* owned */
	size_t n;
	unsigned waiting;
	bool done;
};

struct direct_grant;
struct report;
struct sync_receipt;

/* A pair of the plan, and its locks. */
struct sync_pair_ends {
	struct sync_scan **sources, *target, **dests;
	struct strlist dest_roots;
	struct local_dir **dest_locals; /* further directories of a local
					 * target; else NULL */
	struct strlist source_roots; /* as the session names them */
	struct strlist as; /* the target's one name, if it is another */
	char *target_root;
	struct local_dir **locals; /* see struct sync_pair */
	size_t n_locals;
	bool locked, unlocking, has_time;
	struct timespec time; /* the time that the target's top gets at the
			       * end */
	bool is_near;	      /* the target's time is within --modify-window of
			       * `before` */
	struct timespec before;
	struct sync_root *root;
	TAILQ_ENTRY(sync_pair_ends) entry;
};
TAILQ_HEAD(sync_pairs, sync_pair_ends);

struct sync_run {
	struct sync_args args;
	struct loop *loop;
	struct xfer_target *sources, target;
	int n_sources;
	bool up;		/* the host, or its stand-in, is the target */
	bool both_here;		/* source and target are local */
	struct sync_direct *direct; /* --direct; NULL: not so */
	struct sync_end host, here;
	struct sync_roots roots;
	struct sync_pairs pairs;
	struct strlist kept; /* paths that scans borrow */
	struct sync_ends ends;
	struct sync_own own;
	struct sync_way way;
	struct sync_owners *owners; /* names for ids; NULL: ids are compared as
				     * numbers */
	char *target_path;	/* without "~" */
	char *target_top;	/* the directory that the target's server is
				 * confined to; NULL: the target */
	struct strlist dests;	/* real paths of --link-dest and its kin */
	struct strlist dests_inside; /* those of dests that are below the
				      * target, as paths from there */
	/* path: the directory of --temp-dir; made: the directory of parts in it
	 * that this run has made or found, as the session names it. Owned;
	 * NULL: none. */
	struct {
		char *path, *made;
		struct local_dir *top; /* of a local target */
		struct xfer_temp x;
	} temp;
	bool target_made;
	struct local_tree *tree; /* of the local roots */
	struct local_dir *target_here; /* directory of a target on this
				        * machine */
	struct sync_plan *plan;
	struct xfer *x;

	bool stop;		/* it was told to end */
	enum sync_exit stopped; /* why; SYNC_EXIT_OK: it was not */
	bool partial, vanished, full; /* full: the target's disk is full */
	uint64_t matched; /* bytes of files that did not have to be sent */
	bool tries_over; /* all tries of --retry are used up */
	bool cut; /* the plan ended early because the connection was lost */
	uint64_t started_ms;
	/* Files that tell of the run; NULL: there is none. */
	struct {
		int log_fd; /* of --log-file; -1: none */
		struct manifest_out *manifest; /* of --manifest */
		char *manifest_top; /* owned; path of the target in the
				     * session */
		struct report *report;	      /* of --report */
		struct sync_receipt *receipt; /* of --receipt */
	} out;
};

/* Ends the program with a message. */
_Noreturn void sync_die(struct sync_run *run, enum sync_exit status,
    const char *path, const char *text);
/* Ends the program because a connection was lost with err; with --retry the run
 * begins again. */
_Noreturn void sync_lost(struct sync_run *run, int err);

/* sync-hosts.c: connects to both ends. Requests may be sent at once. With
 * --direct both are hosts: `host` is the target's, and `here` the source's. */
void sync_hosts_open(struct sync_run *run);
void sync_hosts_close(struct sync_run *run);
/* The path without "~", on the host of that end. The caller frees it. */
char *sync_host_path(struct sync_run *run, const struct sync_end *end,
    const char *path);
enum sync_kind sync_host_kind(struct sync_run *run,
    const struct sync_end *end, const char *path);
/* A session of that end: the source's, or the target's. */
struct sync_end *sync_end_of(struct sync_run *run, bool source);
/* Asks the end's server to keep to a directory. */
void sync_end_confine(struct sync_end *end, const char *top, uint32_t rights);
/* How the end's session names a path that is the top, or below it. The caller
 * frees it. */
char *sync_end_path(const struct sync_end *end, const char *path);
/* The other way round: the path of what the session names so. The caller frees
 * it. */
char *sync_end_real(const struct sync_end *end, const char *named);
/* sync-confine.c: sync_confine_ends() asks both servers to be confined from the
 * next request on, sync_confine_target() only that of the target, once the
 * target is there. */
void sync_confine_ends(struct sync_run *run);
void sync_confine_target(struct sync_run *run);
/* Cuts `top` down to the deepest directory that is equal to path or above it.
 * Both are absolute, and have no dots. */
void sync_cut_to_common(char *top, const char *path);
/* sync-streams.c: bytes of SFTP that all sessions of the host have moved,
 * without the connection's own, and before compression. In a copy on one
 * machine they are those of the target's servers. */
struct sync_moved {
	uint64_t sent, received;
};
struct sync_moved sync_streams_moved(const struct sync_run *run);
/* Does a turn of the loops of both ends of the copy. */
void sync_hosts_turn(struct sync_run *run, int timeout_ms);

/* --mkpath: makes the directories above the path at the target's host. An error
 * shows when the target itself is made. */
void sync_make_parents(struct sync_run *run, const char *path);
/* Sets the path of the target on another host, and makes the directory if it is
 * not there. Ends the program if there can be none. */
void sync_need_target(struct sync_run *run);
/* sync-dests.c: finds the further directories of the target's host. If there
 * are any, the target's path is replaced by its real path. */
void sync_dests_find(struct sync_run *run);

/* sync-temp.c: --temp-dir. True if the directory may be outside of the target,
 * so that its real path has to be asked for. */
bool sync_temp_is_far(const struct sync_run *run);
/* Sets the path of --temp-dir, which is taken over. inside: the same below the
 * target; NULL: it is not below it. */
void sync_temp_named(struct sync_run *run, char *path, const char *inside);
/* Makes the directory of parts, or finds it, before files are copied. It is
 * removed at the end if it is empty. */
void sync_temp_make(struct sync_run *run);
void sync_temp_end(struct sync_run *run);

/* sync-lock.c: locks the target of a pair. Ends the program if another run has
 * it, or if the source is the same directory. */
void sync_lock_take(struct sync_run *run, struct sync_pair_ends *p);
void sync_lock_release(struct sync_run *run, struct sync_pair_ends *p);
/* Removes the locks of all pairs, when the program ends. */
void sync_locks_release(struct sync_run *run);

/* sync-durable.c: with --fsync has the name of a directory that was made just
 * now written to the disk; with --mkpath the names of the directories above it,
 * too. */
void sync_durable_name(struct sync_run *run, struct sftp *s, const char *path);
/* Ends the program if the target's server cannot do what --fsync asks for. */
void sync_durable_check(struct sync_run *run);

/* sync-roots.c: fills in run->roots. Ends the program if a source does not
 * exist. */
void sync_find_roots(struct sync_run *run);
/* sync-run.c: ends the program if err is an error, with its text. */
void sync_must(int err);
/* sync-run.c: gives the sessions turns until *done is true. Ends the program if
 * the connection is lost. */
void sync_wait_for(struct sync_run *run, const bool *done);

/* sync-streams.c: does the run delete, so that it needs locks? */
bool sync_locks(const struct sync_run *run);
/* Carries out what the plan has. */
void sync_carry_out(struct sync_run *run);
/* The options of the run's transfers. */
struct xfer_opts sync_transfer_opts(const struct sync_run *run);
/* Has a transfer carry out orders. False: something has failed, which was
 * reported. Ends the program if the connection is lost. */
struct xfer_orders;
bool sync_transfer(struct sync_run *run, const struct xfer_opts *opts,
    const struct xfer_orders *orders);

/* sync-direct.c: --direct. sync_direct_check() refuses what is not here with
 * it; sync_direct_begin() is called when the target's path is known. */
void sync_direct_check(const struct sync_run *run);
void sync_direct_begin(struct sync_run *run);
void sync_direct_carry_out(struct sync_run *run);
/* Tells what is left at the target's host when the connection is lost. */
void sync_direct_tell_left(struct sync_run *run);
void sync_direct_free(struct sync_run *run);

/* sync-lock.c: the time that the top of a pair's target gets when all is done,
 * for who makes names in it for a while. sync_top_note() is called before. */
void sync_top_note(struct sync_run *run, struct sync_pair_ends *p);
void sync_top_set_time(struct sync_run *run, struct sync_pair_ends *p);

/* sync-own.c: sync_own_ask() asks the target's server, in the first flight, for
 * whom it works; sync_own_take() takes the answers, by which it is known
 * whether owners can be set. */
void sync_own_ask(struct sync_run *run);
void sync_own_take(struct sync_run *run);
/* Begins to look up owners' names, if owners are compared by name. */
void sync_own_names(struct sync_run *run);

/* sync-way.c: sync_way_ask() asks in the first flight about links in the path
 * of the target; sync_way_check() ends the program, before anything is made, if
 * one is another user's. */
void sync_way_ask(struct sync_run *run);
void sync_way_check(struct sync_run *run);
/* Opens a target on this machine; other users' links are refused here, too.
 * NULL: no memory. */
struct local_dir *sync_way_here(struct sync_run *run);

/* sync-chown.c: looks up the ids of --chown's names at the target's host. Ends
 * the program if a name is unknown there. */
void sync_chown_find(struct sync_run *run);

/* sync-needs.c: what scans have to tell for -X and -A (enum walk_want). */
uint32_t sync_xattrs_wanted(const struct sync_opts *o);
/* Ends the program if an end of the copy cannot do what options need. */
void sync_needs_check(struct sync_run *run);
/* sync-report.c: --manifest. sync_manifest_begin() makes the file before
 * anything is copied; sync_manifest_top() takes the target's path, which is
 * known later; sync_manifest_end() gives the file its name if the run was
 * whole. */
void sync_manifest_begin(struct sync_run *run);
void sync_manifest_top(struct sync_run *run);
void sync_manifest_end(struct sync_run *run, bool whole);

/* sync-receipt.c: --receipt. sync_receipt_begin() makes the file before there
 * is a connection; sync_receipt_who() writes who takes part. */
void sync_receipt_begin(struct sync_run *run);
void sync_receipt_who(struct sync_run *run);
/* Notes a grant: the key that it is bound to, and its directory. */
void sync_receipt_grant(struct sync_run *run, const struct direct_grant *g,
    struct span key, const char *directory);
/* Notes a file: the digest that was told, and that of the host that was asked,
 * each NULL if there is none; placed: it has its place. */
void sync_receipt_file(struct sync_run *run, const struct xfer_order *o,
    const uint8_t *told, const uint8_t *asked, bool placed);
/* Gives the file its name at the end of a run, unless that was told to end
 * before any file had come. whole: nothing has failed. */
void sync_receipt_end(struct sync_run *run, bool whole);
/* The same when the program ends early, and nobody can be asked any more. */
void sync_receipt_cut(struct sync_run *run);

/* sync-report.c: --report. sync_report_begin() is called before there is a
 * connection. sync_report_end() returns the exit status: that of the parameter,
 * or another one if the page could not be written; it also ends the part of a
 * job. */
void sync_report_begin(struct sync_run *run, char *const *names, int n);
enum sync_exit sync_report_end(struct sync_run *run,
    enum sync_exit status) must_check;

/* sync-check.c: --check. */
enum sync_exit sync_check(struct sync_run *run);
/* sync-extra.c: --extra. sync_extra_known() takes every name of the manifest;
 * sync_extra_find() then reports the names below top, a path of the session,
 * that are not among them, and returns their number. */
struct sync_extra;
struct sync_extra *sync_extra_new(struct sync_run *run);
void sync_extra_known(struct sync_extra *x, const char *name);
uint64_t sync_extra_find(struct sync_extra *x, struct sync_end *end,
    const char *top);
void sync_extra_free(struct sync_extra *x); /* x may be NULL */

/* sync-digests.c: asks the end's server for the digests of files, many at a
 * time, and sets why of each: NULL, if it is that of the sum, else what is
 * wrong (static). theirs gets the digest of the server's. A run that is to end
 * asks for no more of them. Ends the program if the session ends. */
struct sync_sum {
	bool is;
	uint8_t sum[DIRECT_SUM_LEN];
};
struct sync_compared {
	const struct sync_sum *sum;
	char *path; /* as the session names it */
	const char **why;
	struct sync_sum *theirs;
};
void sync_compare(struct sync_run *run, const struct sync_end *end,
    struct sync_compared *v, size_t n);

/* sync-tell.c */
void sync_tell_begin(struct sync_run *run);
void sync_tell_item(void *run, const char *letters, const char *path,
    const struct walk_item *source);
void sync_tell_note(void *run, const char *path, const char *text);
/* Warns, if the server computes no checksums, that -y and --detect-renames have
 * no effect. */
void sync_tell_no_basis(struct sync_run *run, const struct xfer_opts *opts);
void sync_tell_fail(void *run, const char *path, const char *text);
void sync_tell_vanished(void *run, const char *path);
void sync_tell_report(void *run, const char *tried, const char *path,
    const char *text);
void sync_tell_sums(struct sync_run *run);
/* sync-events.c: events of --json; without that option they do nothing. */
void sync_event_item(struct sync_run *run, const char *letters,
    const char *path, const struct walk_item *source);
void sync_event_plan(void *run, const struct sync_counts *counts);
/* sync-run.c: all of it; returns the exit status. */
enum sync_exit sync_run(struct sync_run *run);

#endif
