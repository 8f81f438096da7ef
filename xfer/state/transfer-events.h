/* SPDX-License-Identifier: ISC */
/*
 * What happens to a file, as its phases are told (transfer-phases.h). Each
 * struct of a phase has one source that writes it, its owner; others read it,
 * and call a function that is named after the event. regress/layers.sh has the
 * list, and refuses a write elsewhere. (Some owners are in xfer/transfer/.)
 * Threads: one at a time.
 */
#ifndef HPN_XFER_STATE_TRANSFER_EVENTS_H
#define HPN_XFER_STATE_TRANSFER_EVENTS_H

#include <sys/stat.h>

#include "xfer/sftp/sftp-engine.h"
#include "xfer/state/transfer-limits.h"
#include "xfer/state/transfer-phases.h"

/* file-source.c */
/* A listing, or the caller, has told of it; either may be NULL. */
void xfer_source_found(struct xfer_file *f, const struct sftp_attrs *attrs,
    const struct xfer_exact *exact);
/* It was looked at, on this host. */
void xfer_source_seen(struct xfer_file *f, const struct stat *st);
/* A server has told the numbers of it; and its times, which then count. */
void xfer_source_numbered(struct xfer_file *f, const struct sftp_reply *reply);
void xfer_source_timed(struct xfer_file *f, const struct sftp_reply *reply);
/* These are the attributes of what is, or was, read. */
void xfer_source_read(struct xfer_file *f, const struct sftp_attrs *attrs);
/* What was listed of it is not trusted: it will be asked for. */
void xfer_source_doubted(struct xfer_file *f);
/* Its size by now is what is expected. */
void xfer_source_sized(struct xfer_file *f);

/* file-target.c */
void xfer_target_forget(struct xfer_file *f);
/* The requests before OPEN are answered, or none is needed. */
void xfer_target_known(struct xfer_file *f);
/* A server has told what has its name; its numbers; how many names it has. */
void xfer_target_found(struct xfer_file *f, const struct sftp_attrs *attrs);
void xfer_target_numbered(struct xfer_file *f, const struct sftp_reply *reply);
void xfer_target_names(struct xfer_file *f, uint32_t nlink);
/* It was looked at, on this host or in a listing. */
void xfer_target_seen(struct xfer_file *f, const struct sftp_attrs *attrs,
    const struct xfer_exact *exact);
/* It is a link that is replaced. */
void xfer_target_link(struct xfer_file *f);
void xfer_target_refused(struct xfer_file *f, bool read_only);
/* That was decided to be used of what is there. */
void xfer_target_use(struct xfer_file *f, enum xfer_reuse reuse);
/* It is complete, and needs attributes only. */
void xfer_target_complete(struct xfer_file *f);
/* It was opened in place, and had so many bytes. */
void xfer_target_opened(struct xfer_file *f, uint64_t old_size);
/* What takes its place has mode `made`, and gets that one at the end. */
void xfer_target_gets_mode(struct xfer_file *f, uint32_t mode, uint32_t made);
void xfer_target_keeps_mode(struct xfer_file *f);

/* file-part.c */
/* Owns the name; NULL: there is none. */
void xfer_part_named(struct xfer_file *f, char *name);
void xfer_part_forget(struct xfer_file *f);
/* Data goes to the target in place of the part; what OPEN made is known. */
void xfer_part_dropped(struct xfer_file *f);
/* What has its name already; NULL: nothing. How many names that has. */
void xfer_part_old(struct xfer_file *f, const struct sftp_attrs *old);
void xfer_part_old_names(struct xfer_file *f, uint32_t nlink);
/* Of what has its name nothing is used. */
void xfer_part_unused(struct xfer_file *f);
void xfer_part_foreign(struct xfer_file *f, bool foreign);
/* The server is asked whether a source has its name; and it has answered. */
void xfer_part_plan_asked(struct xfer_file *f);
void xfer_part_planned(struct xfer_file *f, bool planned);
/* OPEN has made, or opened, that. */
void xfer_part_opened(struct xfer_file *f, const struct sftp_attrs *made);
/* It will be made again, with a stricter mode. */
void xfer_part_remade(struct xfer_file *f);
void xfer_part_cleared(struct xfer_file *f, bool cleared);
/* Nothing shows yet that the old one is the source's; something does; all was
 * read, and either way it is known. */
void xfer_part_unproven(struct xfer_file *f);
void xfer_part_proven(struct xfer_file *f);
void xfer_part_judged(struct xfer_file *f);
void xfer_part_marked(struct xfer_file *f, bool right);
/* What has the part's name is nothing that this run has made. */
void xfer_made_nothing(struct xfer_file *f);
void xfer_made_disowned(struct xfer_file *f);
/* OPEN, which may have made a part, was answered. */
void xfer_part_asked(struct xfer_file *f, const struct sftp_reply *reply);
/* OPEN tells whose it is, or not. */
void xfer_made_numbered(struct xfer_file *f, bool numbered);
void xfer_made_here(struct xfer_file *f, int fd);
/* A server has told what was written. */
void xfer_made_written(struct xfer_file *f, const struct sftp_attrs *attrs);
/* Its handles are lost; so much of it is there. */
void xfer_made_kept(struct xfer_file *f, uint64_t bytes);

/* file-opening.c */
/* All but what a probe needs. */
void xfer_opening_forget(struct xfer_file *f);
void xfer_opening_begins(struct xfer_file *f);
void xfer_opening_refused(struct xfer_file *f, const struct sftp_reply *reply);
/* As by a server that lets nobody write it. */
void xfer_opening_denied(struct xfer_file *f);
void xfer_opening_no_more(struct xfer_file *f);
/* Whether it was looked at, or needs not be. */
void xfer_opening_inspected(struct xfer_file *f, bool inspected);
/* The part's name was free again. True: once too often. */
bool xfer_opening_gone(struct xfer_file *f);
void xfer_opening_waits(struct xfer_file *f, bool waits);
/* Owns the name of the probe that is opened now. */
void xfer_opening_probe(struct xfer_file *f, char *name);

/* file-progress.c */
void xfer_progress_forget(struct xfer_file *f);
/* How large a range is. */
void xfer_progress_chunk(struct xfer_file *f, uint64_t chunk);
/* What is to be moved is known; or is not any more. */
void xfer_progress_begun(struct xfer_file *f, bool begun);
/* All before offset is moved, or is in ranges. */
void xfer_progress_from(struct xfer_file *f, uint64_t offset);
/* All before offset is at the target. */
void xfer_progress_trusted(struct xfer_file *f, uint64_t offset);
void xfer_progress_complete(struct xfer_file *f);
/* Bytes have come to the target, were found there, or are holes. */
void xfer_progress_moved(struct xfer_file *f, uint64_t len);
void xfer_progress_skipped(struct xfer_file *f, uint64_t len);
/* Data was received up to there. */
void xfer_progress_received(struct xfer_file *f, uint64_t until);
/* The length of what is written has to be set. */
void xfer_progress_needs_size(struct xfer_file *f);
/* The source ended there: ranges behind it are given up. */
void xfer_progress_ends(struct xfer_file *f, uint64_t offset);
/* All of it came in one answer. */
void xfer_progress_came(struct xfer_file *f, uint64_t len);
void xfer_progress_end_checked(struct xfer_file *f);
void xfer_progress_write_failed(struct xfer_file *f);
/* What was written may be lost; or that was seen to. */
void xfer_progress_unstored(struct xfer_file *f, bool unstored);
/* These bytes are still to be moved. */
void xfer_range_add(struct xfer_file *f, uint64_t offset, uint64_t len);
/* The next ones that are. False: there are none that nobody has taken. */
bool xfer_range_take(struct xfer_file *f, uint64_t *from, uint64_t *until);

#endif
