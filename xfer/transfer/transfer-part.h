/* SPDX-License-Identifier: ISC */
/* The part, and the target that it replaces. Threads: one at a time. */
#ifndef HPN_XFER_TRANSFER_TRANSFER_PART_H
#define HPN_XFER_TRANSFER_TRANSFER_PART_H

#include "xfer/target-plan.h"
#include "xfer/state/transfer-state.h"

/* transfer-part.c */
/* The name of a download's part, and the directory on this host in which it
 * is. */
const char *xfer_part_local(const struct xfer_file *f);
struct local_dir *xfer_part_at(const struct xfer_file *f);
/* Has this run made the part, and written nothing to it? */
bool xfer_part_is_empty(const struct xfer_file *f);
/* How the target is to be written (xfer/target-plan.h), by what is known of the
 * target, and of the part if that is made. */
enum target_plan xfer_plan(const struct xfer_file *f);
/* What is at the target and is replaced without a question (a link, a further
 * name) counts as not there. */
void xfer_target_skip_replaced(struct xfer_file *f);
/* Learns what a download's target and old part are. */
void xfer_part_stat(struct xfer_file *f);
bool xfer_part_open(struct xfer_file *f);
/* Decides the target's final mode. */
void xfer_part_mode(struct xfer_file *f);
/* The mode that a part, or a target, is made with. */
uint32_t xfer_part_first_mode(const struct xfer_file *f);
/* May others do with the part what they may not do with the target? */
bool xfer_part_is_lax(const struct xfer_file *f);
/* Renames a download's part to the target, while the descriptor lock holds it.
 * False: it failed, which was reported. */
bool xfer_part_rename(struct xfer_file *f, int lock);
/* The data that was written may be lost: removes what would let a later run
 * take the file for whole (the part, or the target's time). lock: a descriptor
 * of what a download has written. */
void xfer_part_withdraw(struct xfer_file *f, int lock);

/* transfer-name.c: which name the part takes. */
/* The user has named a source that is copied to target: no part takes that
 * name. False: no memory. */
bool xfer_plan_root(struct xfer *x, const char *target) must_check;
void xfer_plan_free(struct xfer *x);
/* A source was found that is copied to target. If target looks like a name of
 * our own (xfer/part-name.h) it is noted, so that it is not mistaken for what a
 * killed run has left. */
void xfer_plan_found(struct xfer *x, const char *target);
/* The next name of our own, by make(), that no source was found for; *number
 * is that of the one before, or 0. The caller frees. NULL: no memory, or
 * XFER_NAMES_TRIED were tried. */
char *xfer_free_name(const struct xfer *x, const char *target,
    unsigned *number, char *(*make)(const char *target, unsigned number));
/* The path of part number `number`: beside the target, or in the directory of
 * parts if a rename can lead from there to the target. */
char *xfer_part_path(struct xfer_file *f, unsigned number);
/* Gives up the directory of parts for f, whose part will be beside the target.
 * other_system: the target is on another file system, so the same holds for
 * other files of that directory. */
void xfer_part_beside(struct xfer_file *f, bool other_system);
/* Gives the part another name if the target of some source bears that one. */
void xfer_part_avoid_plan(struct xfer_file *f);
/* Leaves the file alone that bears the part's name, notes that, and gives the
 * part the next name. False: there is none, which was reported. */
bool xfer_part_next(struct xfer_file *f, const struct sftp_attrs *seen);
/* As xfer_part_next(), for an old part that was looked at with -Z; then the
 * copy of the file begins anew. */
void xfer_part_pass(struct xfer_file *f);
/* Gives the part the next name that no source has. Of the one before nothing is
 * known any more. */
void xfer_part_further(struct xfer_file *f);
/* The old part's data is not this source's. A download's part that this run has
 * made, before the source was changed, is removed; others are left alone as by
 * xfer_part_pass(). The copy of the file begins anew. */
void xfer_part_refused(struct xfer_file *f);
/* A file is to be made under that name: a part of this run's downloads that
 * bears it is renamed. */
void xfer_part_make_way(struct xfer *x, struct local_dir *at,
    const char *name);

/* transfer-found.c: answers touch the file. */
/* Is the target written from its beginning, without having been cut? */
bool xfer_overwrites(const struct xfer_file *f);
/* Asks the server whether the target, which is to be replaced, may be written:
 * it is opened for writing, and closed. */
void xfer_target_ask(struct xfer_file *f, struct xfer_stream *stream);
/* Asks how much old content a target that is written in place has. False: that
 * does not matter, or is known. */
bool xfer_target_inspect(struct xfer_file *f, struct xfer_handle *e);

/* transfer-refused.c: servers that rename nothing. */
bool xfer_has_parts(const struct xfer_file *f);
/* Before the first upload, a server without posix-rename is asked once whether
 * it lets files be renamed. True while the answer is outstanding. */
bool xfer_parts_wait(struct xfer *x, const struct xfer_file *f);
/* The server refused, with that status, to rename the part to the target.
 * True: the part is removed, and the file is written again in place. */
bool xfer_go_in_place(struct xfer_file *f, uint32_t status);

/* Removes the part in the directory of parts, because the server did not rename
 * it, and has the file copied again with a part beside its target. False: the
 * part is not in that directory, or the run ends. */
bool xfer_leave_temp(struct xfer_file *f);

/* transfer-owner.c: whose is the old part of an upload? */
/* Asks for the attributes of the part that OPEN makes on that stream. OPEN was
 * sent just before. */
void xfer_made_look(struct xfer_file *f, struct xfer_stream *stream);
/* Is what was found under the part's name the file that this run has made, and
 * unchanged since its attributes were seen? */
bool xfer_made_is(const struct xfer_file *f, const struct sftp_attrs *found);
/* made: attributes of a file that the server has just made for us. */
void xfer_owner_learn(struct xfer *x, const struct sftp_attrs *made);
/* Has the old part of an upload another owner than the files that the server
 * makes for us? An unknown owner does not differ. part: its attributes. */
bool xfer_owner_differs(const struct xfer_file *f,
    const struct sftp_attrs *part);
/* May an empty part be taken? Where no server tells who holds it, another copy
 * may have made it a moment ago: then only an old one, by the server's time. */
bool xfer_part_is_abandoned(const struct xfer_file *f);
/* Makes a probe, a file that shows under which owner the server makes ours,
 * unless that is known or of no use. True: xfer_file_choose_reuse() is called
 * again when the owner is known. */
bool xfer_owner_probe(struct xfer_file *f);
/* The probe was opened, or its FSTAT was answered. False: that failed, or the
 * stream was lost. */
bool xfer_owner_probe_opened(struct xfer_file *f);
void xfer_owner_probe_drop(struct xfer_file *f);

/* Messages about a part that somebody else has changed. */
#define XFER_PART_GONE                                                        \
	"its part was removed or renamed while it was copied"
#define XFER_PART_EXCHANGED                                                   \
	"its part is not the file that was written any more"

/* transfer-rename.c */
/* Removes the part; done may be NULL. If its stream is lost, the part may
 * stay. */
void xfer_part_remove(struct xfer_file *f, sftp_done_fn done);
/* Removes the part whatever streams are lost. The caller makes no part of that
 * name, and does not end the file, before f->pending says that it is done. */
void xfer_part_remove_surely(struct xfer_file *f);
/* Are they those of one file, as far as attributes tell? */
bool xfer_same_attrs(const struct sftp_attrs *a, const struct sftp_attrs *b);
/* Does the request that renames the part close its handle? */
bool xfer_renames_handle(const struct xfer_file *f);
/* Renames the part to the target. The part is whole, and closed unless
 * xfer_renames_handle(). */
void xfer_file_rename(struct xfer_file *f);
/* Does what the answers to a rename ask for, once all have come. True: the
 * rename goes on. */
bool xfer_rename_continue(struct xfer_file *f);

#endif
