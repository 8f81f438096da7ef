/* SPDX-License-Identifier: ISC */
/* The part, and the target that it replaces. Threads: one at a time. */
#ifndef HPN_XFER_TRANSFER_TRANSFER_PART_H
#define HPN_XFER_TRANSFER_TRANSFER_PART_H

#include "xfer/target-plan.h"
#include "xfer/state/transfer-state.h"

/* transfer-part.c */
/* The part of a download, where the file is. */
const char *xfer_part_local(const struct xfer_file *f);
/* Has this run made it, and put nothing into it? */
bool xfer_part_is_empty(const struct xfer_file *f);
/* By what is known of the target, and of the part if that is made. */
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
/* Gives a download's part its name, while lock holds it. False: reported. */
bool xfer_part_rename(struct xfer_file *f, int lock);
/* What was written may not be stored: removes what would let a later run take
 * it for whole (the part, or the target's time). lock: a descriptor of what a
 * download has written. */
void xfer_part_withdraw(struct xfer_file *f, int lock);

/* transfer-name.c: which name the part takes. */
/* A source was named, whose target that is. False: no memory. */
bool xfer_plan_root(struct xfer *x, const char *target) must_check;
void xfer_plan_free(struct xfer *x);
/* A source was found, whose target that is. Names of our own are noted (see
 * xfer/part-name.h): it is not what a killed run has left. */
void xfer_plan_found(struct xfer *x, const char *target);
/* Is it, or may it be, the target of a source that was found so far? Only for
 * names of our own. */
bool xfer_is_found(const struct xfer *x, const char *path);
/* The next name of our own, by make(), that no source was found for; *number
 * is that of the one before, or 0. The caller frees. NULL: no memory, or
 * XFER_NAMES_TRIED were tried. */
char *xfer_free_name(const struct xfer *x, const char *target,
    unsigned *number, char *(*make)(const char *target, unsigned number));
/* Passes over names that a source's target has. */
void xfer_part_avoid_plan(struct xfer_file *f);
/* What has the part's name is left alone, which is told, and the next name is
 * the part's. False: reported. */
bool xfer_part_next(struct xfer_file *f, const struct sftp_attrs *seen);
/* The same, for one that was looked at with -Z: the file begins anew. */
void xfer_part_pass(struct xfer_file *f);
/* It does not show that it is of this source. One that this run has made, of
 * what the source was before a break, is removed; others are passed. */
void xfer_part_refused(struct xfer_file *f);
/* Parts of this run's downloads that have the name take another one: something
 * is to be made under it. */
void xfer_part_make_way(struct xfer *x, struct local_dir *at,
    const char *name);

/* transfer-target.c: answers touch the file. */
/* Is the target written from its beginning, without having been cut? */
bool xfer_overwrites(const struct xfer_file *f);
/* May a target that is replaced be written? Only its server knows. */
void xfer_target_ask(struct xfer_file *f, struct xfer_stream *stream);
/* How much old content is there? False: it does not matter, or is known. */
bool xfer_target_inspect(struct xfer_file *f, struct xfer_handle *e);

/* transfer-refused.c: servers that rename nothing. */
bool xfer_has_parts(const struct xfer_file *f);
/* Before the first upload, a server without posix-rename is asked once whether
 * it lets files be renamed. True while the answer is outstanding. */
bool xfer_parts_wait(struct xfer *x, const struct xfer_file *f);
/* The server refused, with that status, to rename the part to the target.
 * True: the part is removed, and the file is written again in place. */
bool xfer_go_in_place(struct xfer_file *f, uint32_t status);

/* transfer-owner.c: whose is the old part of an upload? */
/* made: attributes of a file that the server has just made for us. */
void xfer_owner_learn(struct xfer *x, const struct sftp_attrs *made);
/* Has the part another owner than that? An unknown owner does not differ. */
bool xfer_owner_differs(const struct xfer_file *f,
    const struct sftp_attrs *part);
/* May an empty part be taken? Where no server tells who holds it, another copy
 * may have made it a moment ago: then only an old one, by the server's time. */
bool xfer_part_is_abandoned(const struct xfer_file *f);
/* True: it must be found out first; then xfer_file_choose_reuse() is called
 * again. */
bool xfer_owner_probe(struct xfer_file *f);
/* The probe was opened, or inspected. False: it failed, or was lost. */
bool xfer_owner_probe_opened(struct xfer_file *f);
void xfer_owner_probe_drop(struct xfer_file *f);

/* Somebody else has had a hand in it. */
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
/* Does the request that renames the part close its handle? */
bool xfer_renames_handle(const struct xfer_file *f);
/* Its part is whole, and closed, unless it is renamed by its handle. */
void xfer_file_rename(struct xfer_file *f);

#endif
