/* SPDX-License-Identifier: ISC */
/*
 * confine@hpnssh.org (docs/SFTP.md): a session gives up rights, and never gets
 * them back. The request is carried out only when no other request is under way
 * and no handle is open: otherwise a handle could have been opened with rights
 * that the session no longer has.
 */
#include <errno.h>

#include "base/mem.h"
#include "xfer/local/local-beneath.h"
#include "xfer/serve/sftp-serve-internal.h"
#include "xfer/sftp/sftp-rights.h"

bool
serve_may(const struct sftp_serve *s, uint32_t rights)
{
	return (rights & ~s->rights) == 0;
}

bool
serve_take(uint64_t *left, uint64_t n)
{
	if (*left == UINT64_MAX)
		return true;
	if (n > *left)
		return false;
	*left -= n;
	return true;
}

bool
serve_spend(struct sftp_serve *s, const struct serve_op *op, uint64_t *left,
    uint64_t n)
{
	if (serve_take(left, n))
		return true;
	serve_errno(s, op->id, EDQUOT);
	return false;
}

/* In a session that may make files, links on the way to its root must be root's
 * or the user's, so that nobody else can lead it elsewhere. */
static unsigned
beneath_flags(const struct sftp_serve *s, uint32_t rights, uint32_t flags)
{
	return ((flags & SFTP_CONFINE_LINKS) != 0 ? LOCAL_BENEATH_LINKS : 0) |
	    ((rights & SFTP_MAY_MAKE) != 0 ? LOCAL_BENEATH_OWN_WAY : 0) |
	    (s->opts.no_openat2 ? LOCAL_BENEATH_WALK : 0);
}

int
serve_set_bounds(struct sftp_serve *s)
{
	const struct sftp_serve_bounds *b = s->opts.bounds;

	s->below = local_beneath_new(b->path,
	    beneath_flags(s, b->rights, 0));
	if (s->below == NULL)
		return ERR_SYSTEM;
	s->left = (struct serve_left){ b->bytes, b->files, b->deletes };
	serve_limit_rights(s, b->rights);
	s->opts.bounds = NULL;
	return 0;
}

static int
run_confine(struct serve_op *op)
{
	unsigned flags = (unsigned)op->flags;

	op->made = op->below != NULL ?
	    local_beneath_narrow(op->below, op->path, flags) :
	    local_beneath_new(op->path, flags);
	return op->made != NULL ? 0 : -1;
}

static bool
has_handles(const struct sftp_serve *s)
{
	for (int i = 0; i < s->handles_cap; i++)
		if (s->handles[i].kind != SERVE_FREE)
			return true;
	return false;
}

static void
done_confine(struct sftp_serve *s, struct serve_op *op)
{
	if (op->error == 0 && has_handles(s)) {
		serve_fail(s, op->id, SFTP_FAILURE, "Handles are open");
		return;
	}
	if (op->error == 0) {
		local_beneath_free(s->below);
		s->below = op->made;
		op->made = NULL;
		s->left.bytes = MIN(s->left.bytes, op->left.bytes);
		s->left.files = MIN(s->left.files, op->left.files);
		s->left.deletes = MIN(s->left.deletes, op->left.deletes);
		serve_limit_rights(s, (uint32_t)op->count);
	}
	serve_done_status(s, op);
}

int
serve_confine(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	uint32_t rights, flags;
	int err;

	op->path = serve_get_path(s, r);
	rights = rd_u32(r);
	op->left.bytes = rd_u64(r);
	op->left.files = rd_u64(r);
	op->left.deletes = rd_u64(r);
	flags = rd_u32(r);
	if ((err = rd_end(r)) < 0)
		return err;
	serve_info(s, "confine \"%s\" rights 0x%x", op->path, rights);
	if ((rights & ~(uint32_t)SFTP_MAY_ALL) != 0 ||
	    (flags & ~(uint32_t)SFTP_CONFINE_LINKS) != 0) {
		serve_status(s, op->id, SFTP_OP_UNSUPPORTED);
		return 0;
	}
	if (!serve_may(s, rights))
		return ERR_DENIED;
	op->count = rights;
	op->flags = (int)beneath_flags(s, rights, flags);
	op->order.alone = true;
	op->run = run_confine;
	op->done = done_confine;
	return 0;
}
