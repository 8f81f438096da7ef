/* SPDX-License-Identifier: ISC */
/*
 * Servers that take files but rename none (drop boxes, `sftp-server -p ...`).
 * An upload that such a server allows is written in place: opened without
 * being cut, and cut at its end (xfer/target-plan.h). What the session has
 * learnt holds for its further files, so that no parts are left there that
 * cannot be removed either.
 */
#include <stdlib.h>

#include "xfer/part-name.h"
#include "xfer/transfer/transfer-internal.h"

static bool
is_refusal(uint32_t status)
{
	return status == SFTP_PERMISSION_DENIED ||
	    status == SFTP_OP_UNSUPPORTED;
}

static void
learn(struct xfer *x, enum sftp_renames renames)
{
	struct xfer_stream *first = xfer_stream_first(x);

	x->parts.refused |= renames == SFTP_RENAMES_NOTHING;
	if (first != NULL)
		sftp_set_renames(first->s, renames);
}

/* Does a plan want something done with what has the target's name? */
static bool
makes_way(const struct xfer_file *f)
{
	return f->duty != NULL && !xfer_keeps_copy(f) &&
	    (f->duty->backup != NULL || f->duty->replaces_kind);
}

bool
xfer_has_parts(const struct xfer_file *f)
{
	/* Without a part, what makes way would be gone before there is
	 * anything new. */
	if (makes_way(f))
		return true;
	return !f->x->opts.in_place && !(f->up && f->x->parts.refused) &&
	    !f->in_place;
}

static void
asked(void *arg, const struct sftp_reply *reply)
{
	struct xfer *x = arg;

	x->parts.waits--;
	if (reply->err == 0 && is_refusal(reply->status))
		learn(x, SFTP_RENAMES_NOTHING);
	else if (reply->err == 0 && !x->parts.refused)
		learn(x, SFTP_RENAMES_FILES);
}

/* Asks the server whether it renames at all: a name that nothing has, to
 * another name. Without posix-rename a target that is there has to be removed
 * first, so REMOVE is asked, too. */
static void
ask(struct xfer *x, const struct xfer_file *f)
{
	char *from = xfer_probe_name(f->remote);
	char *to = xfer_probe_name(f->remote);
	struct xfer_path_request q = { .type = SFTP_RENAME,
		.path = from, .second = to, .once = true };

	if (from != NULL && to != NULL) {
		x->parts.waits = 2;
		xfer_request_path(x, &q, asked, x);
		q.type = SFTP_REMOVE;
		q.second = NULL;
		xfer_request_path(x, &q, asked, x);
	}
	free(from);
	free(to);
}

bool
xfer_parts_wait(struct xfer *x, const struct xfer_file *f)
{
	struct xfer_stream *first = xfer_stream_first(x);
	enum sftp_renames known;

	if (x->parts.waits > 0 || !f->up || x->opts.in_place || first == NULL ||
	    x->parts.asked || !sftp_has_version(first->s))
		return x->parts.waits > 0 && f->up;
	x->parts.asked = true;
	known = sftp_renames(first->s);
	x->parts.refused |= known == SFTP_RENAMES_NOTHING;
	if (known == SFTP_RENAMES_UNKNOWN &&
	    !sftp_has(first->s, SFTP_EXT_POSIX_RENAME) &&
	    !sftp_has(first->s, SFTP_EXT_RENAME_PART))
		ask(x, f);
	return x->parts.waits > 0;
}

/* --- a file whose part was refused its name --- */

static void
part_gone(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	if (reply->err == 0 && reply->status != SFTP_OK &&
	    reply->status != SFTP_NO_SUCH_FILE)
		xfer_note(f->x, f->part.name, "cannot be removed");
	/* A server that removes no part would keep the next part as well. */
	if (reply->err == 0 && is_refusal(reply->status))
		learn(f->x, SFTP_RENAMES_NOTHING);
	xfer_path_answered(f, reply);
}

static void
temp_part_gone(void *arg, const struct sftp_reply *reply)
{
	struct xfer_file *f = arg;

	f->pending--;
	xfer_path_answered(f, reply);
}

bool
xfer_leave_temp(struct xfer_file *f)
{
	const struct xfer_path_request q = { .type = SFTP_REMOVE,
		.path = f->part.name, .once = true };

	if (!xfer_in_temp(f) || f->failed || f->x->stopped)
		return false;
	xfer_way_back(f);
	xfer_renaming_again(f);
	f->pending++;
	xfer_request_path(f->x, &q, temp_part_gone, f);
	xfer_part_beside(f, true);
	return true;
}

bool
xfer_go_in_place(struct xfer_file *f, uint32_t status)
{
	const struct xfer_path_request q = { .type = SFTP_REMOVE,
		.path = f->part.name, .once = true };

	if (!f->up || f->failed || f->in_place || f->x->stopped ||
	    makes_way(f) ||
	    f->part.name == NULL || f->source.symlink ||
	    f->target.is_link || !is_refusal(status))
		return false;
	f->in_place = true;
	xfer_renaming_again(f);
	/* If there is a target it may be the reason, such as another user's in
	 * /tmp; then nothing is learnt for other files. */
	if (f->target.attrs.flags == 0)
		learn(f->x, SFTP_RENAMES_NOTHING);
	f->pending++;
	xfer_request_path(f->x, &q, part_gone, f);
	return true;
}
