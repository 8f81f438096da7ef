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
/* A listing, or the caller, has told of the source; either argument may be
 * NULL. */
void xfer_source_found(struct xfer_file *f, const struct sftp_attrs *attrs,
    const struct xfer_exact *exact);
/* stat(2) has told of a source on this host. */
void xfer_source_seen(struct xfer_file *f, const struct stat *st);
/* A server has answered stat-ns for the source: the exact attributes are set.
 * xfer_source_timed(): its times are known from now on, too. */
void xfer_source_numbered(struct xfer_file *f, const struct sftp_reply *reply);
void xfer_source_timed(struct xfer_file *f, const struct sftp_reply *reply);
/* The source that is read, or was read, has these attributes. */
void xfer_source_read(struct xfer_file *f, const struct sftp_attrs *attrs);
/* The exact attributes that a listing gave for the source are not trusted: the
 * server will be asked for them. */
void xfer_source_doubted(struct xfer_file *f);
/* The size to be copied, source.size, becomes that of source.attrs. */
void xfer_source_sized(struct xfer_file *f);

/* file-target.c */
void xfer_target_forget(struct xfer_file *f);
/* The requests before OPEN are answered, or none is needed. */
void xfer_target_known(struct xfer_file *f);
/* A server has told what bears the target's name: its attributes; the exact
 * ones, by stat-ns; how many names (hard links) it has. */
void xfer_target_found(struct xfer_file *f, const struct sftp_attrs *attrs);
void xfer_target_numbered(struct xfer_file *f, const struct sftp_reply *reply);
void xfer_target_names(struct xfer_file *f, uint32_t nlink);
/* stat(2) on this host, or a listing of the server, has told of the target. */
void xfer_target_seen(struct xfer_file *f, const struct sftp_attrs *attrs,
    const struct xfer_exact *exact);
/* The target is a link, which is replaced: it counts as not there. */
void xfer_target_link(struct xfer_file *f);
/* Whether this user may not write the target (read_only). */
void xfer_target_refused(struct xfer_file *f, bool read_only);
/* How much of the existing target, or part, is used was decided. */
void xfer_target_use(struct xfer_file *f, enum xfer_reuse reuse);
/* The target has all data of the source, and needs attributes only. */
void xfer_target_complete(struct xfer_file *f);
/* The target was opened in place, and had old_size bytes. */
void xfer_target_opened(struct xfer_file *f, uint64_t old_size);
/* The target is to have mode in the end; what takes its place was created with
 * the mode `made`. xfer_target_keeps_mode(): no mode is set at the end. */
void xfer_target_gets_mode(struct xfer_file *f, uint32_t mode, uint32_t made);
void xfer_target_keeps_mode(struct xfer_file *f);

/* file-part.c */
/* Sets the name of the part, which is owned from now on; NULL: the part has no
 * name. */
void xfer_part_named(struct xfer_file *f, char *name);
void xfer_part_forget(struct xfer_file *f);
/* There is no part any more: data goes to the target itself. part.made, what
 * OPEN has made, is kept. */
void xfer_part_dropped(struct xfer_file *f);
/* The file that bears the part's name already: its attributes, or NULL if there
 * is none; and how many names (hard links) it has. */
void xfer_part_old(struct xfer_file *f, const struct sftp_attrs *old);
void xfer_part_old_names(struct xfer_file *f, uint32_t nlink);
/* Notes that nothing of the file that bears the part's name is used. */
void xfer_part_unused(struct xfer_file *f);
/* Whether that file is somebody else's. */
void xfer_part_foreign(struct xfer_file *f, bool foreign);
/* The server was asked whether a source bears the part's name; and it has
 * answered. */
void xfer_part_plan_asked(struct xfer_file *f);
void xfer_part_planned(struct xfer_file *f, bool planned);
/* OPEN has made, or opened, a file with the attributes made. */
void xfer_part_opened(struct xfer_file *f, const struct sftp_attrs *made);
/* The part will be removed and made again, with a stricter mode. */
void xfer_part_remade(struct xfer_file *f);
/* Our own part was removed. False: perhaps not, the answer was lost. */
void xfer_part_cleared(struct xfer_file *f, bool cleared);
/* xfer_part_unproven(): nothing shows yet that the data of an old part is the
 * source's. xfer_part_proven(): something does. xfer_part_judged(): the
 * comparison has ended, so a part that is still unproven is refused. */
void xfer_part_unproven(struct xfer_file *f);
void xfer_part_proven(struct xfer_file *f);
void xfer_part_judged(struct xfer_file *f);
/* Whether the marks of an old part are those of this source; if not, the part
 * is refused. */
void xfer_part_marked(struct xfer_file *f, bool right);
/* This run has not made the file that bears the part's name.
 * xfer_made_nothing() forgets all of file->made, xfer_made_disowned() only that
 * the part is ours. */
void xfer_made_nothing(struct xfer_file *f);
void xfer_made_disowned(struct xfer_file *f);
/* OPEN, which may have made a part, was answered. */
void xfer_part_asked(struct xfer_file *f, const struct sftp_reply *reply);
/* Whether OPEN tells the server the number of this copy (xfer->copy). */
void xfer_made_numbered(struct xfer_file *f, bool numbered);
/* Notes that this run has made the part on this host, and fd is open on it. */
void xfer_made_here(struct xfer_file *f, int fd);
/* An old part was shown to be this source's. */
void xfer_made_proven(struct xfer_file *f);
/* A stream that had the part open for writing has ended; and what it was sent
 * may be written at any later time. */
void xfer_made_lane_lost(struct xfer_file *f);
void xfer_made_late(struct xfer_file *f);
/* The part is a copy, made at the server, of the one that may be written late.
 * numbered: see above. */
void xfer_made_copied(struct xfer_file *f, bool numbered);
/* The copy was not made: made, what was known of the part before, holds
 * again. */
void xfer_made_again(struct xfer_file *f, const struct xfer_made *made);
/* A server has told the attributes of the part, as it was made or written. */
void xfer_made_written(struct xfer_file *f, const struct sftp_attrs *attrs);
/* The part's handles are lost; so many bytes are in it. */
void xfer_made_kept(struct xfer_file *f, uint64_t bytes);

/* file-opening.c */
/* Clears file->opening, and frees the name of a probe. */
void xfer_opening_forget(struct xfer_file *f);
/* OPEN is about to be sent. */
void xfer_opening_begins(struct xfer_file *f);
/* The server has given the first handle. */
void xfer_opening_granted(struct xfer_file *f);
/* crowded: perhaps only because other handles were open. */
void xfer_opening_refused(struct xfer_file *f, const struct sftp_reply *reply,
    bool crowded);
/* The file is not opened, as if the server had answered "permission denied". */
void xfer_opening_denied(struct xfer_file *f);
/* The server gives no further handle for this file. */
void xfer_opening_no_more(struct xfer_file *f);
/* Whether FSTAT was sent for what OPEN has made, or need not be sent. */
void xfer_opening_inspected(struct xfer_file *f, bool inspected);
/* The part's name was free again after OPEN had found it taken. True: that
 * happened too often. */
bool xfer_opening_gone(struct xfer_file *f);
/* Whether the file waits until this host has a descriptor for it. */
void xfer_opening_waits(struct xfer_file *f, bool waits);
/* A probe (transfer-owner.c) is opened under name, which is owned. */
void xfer_opening_probe(struct xfer_file *f, char *name);

/* file-linking.c */
/* Clears file->linking: no step was begun. */
void xfer_linking_forget(struct xfer_file *f);
/* Notes a new step, whose requests are about to be sent. */
void xfer_linking_step(struct xfer_file *f, enum xfer_link_step step);
/* Takes the answer to a request of the step, which counts in file->pending;
 * touches f. */
void xfer_linking_answered(struct xfer_file *f, const struct sftp_reply *reply);
/* Returns the step whose answers are to be looked at, once; then
 * XFER_LINK_NOTHING until another step was begun. To be called when all
 * requests of the step are answered. */
enum xfer_link_step xfer_linking_take(struct xfer_file *f);
/* Notes that the link is made under the temporary name of that number. */
void xfer_linking_beside(struct xfer_file *f, unsigned number);
/* Notes that the server has refused the link under that name, by the status of
 * the last answer. */
void xfer_linking_refused(struct xfer_file *f);
/* Notes that what a killed run had left under that name is about to be
 * removed. */
void xfer_linking_cleared(struct xfer_file *f);
/* Counts a try to make the link again. False: there were too many. */
bool xfer_linking_again(struct xfer_file *f);

/* file-progress.c */
void xfer_progress_forget(struct xfer_file *f);
/* The file is moved in ranges of chunk bytes. */
void xfer_progress_chunk(struct xfer_file *f, uint64_t chunk);
/* Whether it is known which data is to be moved. */
void xfer_progress_begun(struct xfer_file *f, bool begun);
/* Data before offset was moved, or is in a range: go on from there. */
void xfer_progress_from(struct xfer_file *f, uint64_t offset);
/* Data before offset is at the target. */
void xfer_progress_trusted(struct xfer_file *f, uint64_t offset);
/* The target has as many bytes as the source. */
void xfer_progress_complete(struct xfer_file *f);
/* Count bytes that have come to the target or were found there, and bytes of a
 * hole, which are not moved. */
void xfer_progress_moved(struct xfer_file *f, uint64_t len);
void xfer_progress_skipped(struct xfer_file *f, uint64_t len);
/* Data before the offset until was received. */
void xfer_progress_received(struct xfer_file *f, uint64_t until);
/* The length of what is written has to be set. */
void xfer_progress_needs_size(struct xfer_file *f);
/* The source ended at offset: ranges behind it are given up. */
void xfer_progress_ends(struct xfer_file *f, uint64_t offset);
/* The whole source, len bytes, came in one answer. */
void xfer_progress_came(struct xfer_file *f, uint64_t len);
/* The size that the source has now, after it ended early, is known. */
void xfer_progress_end_checked(struct xfer_file *f);
void xfer_progress_write_failed(struct xfer_file *f);
/* Notes whether data that was written may be lost. False is for
 * xfer_part_withdraw(), which has seen to it. */
void xfer_progress_unstored(struct xfer_file *f, bool unstored);
/* len bytes at offset are still to be moved. */
void xfer_range_add(struct xfer_file *f, uint64_t offset, uint64_t len);
/* Takes the next range that is to be moved. False: none is left. */
bool xfer_range_take(struct xfer_file *f, uint64_t *from, uint64_t *until);

#endif
