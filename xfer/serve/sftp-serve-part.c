/* SPDX-License-Identifier: ISC */
/*
 * The end of a part: rename-part@hpnssh.org (docs/SFTP.md), and put-file's.
 * Only the file that the handle is open on gets the target's name, even if the
 * part's name belongs to another file by then.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/fd.h"
#include "xfer/part-lock.h"
#include "xfer/part-name.h"
#include "xfer/serve/sftp-serve-internal.h"
#include "xfer/sftp/sftp-rights.h"

void
serve_part_remove(int fd, int at, const char *part)
{
	int saved = errno;

	if (xfer_part_is(fd, at, part))
		(void)unlinkat(at, part, 0);
	errno = saved;
}

/* A second descriptor stays open after the first is closed: it tells which file
 * the part is, and keeps the inode number from being reused. */
int
serve_part_end(int *fd, const struct stat *st, int at, const char *part,
    int to_at, const char *target, bool keep)
{
	int lock = fcntl(*fd, F_DUPFD_CLOEXEC, 0), r = -1;

	if (lock < 0)
		return -1;
	r = close(*fd); /* some file systems report only now that the disk is
			 * full */
	*fd = -1;
	keep = keep && r == 0;
	if (r == 0)
		r = st == NULL ?
		    xfer_part_to_target(lock, at, part, to_at, target) :
		    xfer_part_give_name(st, at, part, to_at, target);
	if (r != 0 && !keep)
		serve_part_remove(lock, at, part);
	fd_close(&lock);
	return r;
}

/* Gives the part its target's name. EBUSY: another handle is open for writing,
 * as of a session whose connection was lost. It could write to what has the
 * target's name by then. */
static int
to_target(struct serve_op *op, const struct serve_place *part,
    const struct serve_place *target)
{
	if (!xfer_part_is_shared(op->own.fd))
		return serve_part_end(&op->own.fd, NULL, part->at, part->name,
		    target->at, target->name, true);
	errno = EBUSY;
	return -1;
}

/* Renames a part to its target. If op->path2 is "", removes the part. */
static int
run_rename_part(struct serve_op *op)
{
	struct serve_place part, target;
	int r = serve_at(op, op->path, &part);

	if (r == 0 && op->path2[0] == '\0') {
		serve_part_remove(op->own.fd, part.at, part.name);
	} else if (r == 0) {
		r = serve_at(op, op->path2, &target);
		if (r == 0)
			r = to_target(op, &part, &target);
		serve_leave(&target);
	}
	serve_leave(&part);
	return r;
}

static void
done_rename_part(struct sftp_serve *s, struct serve_op *op)
{
	struct serve_handle *h = &s->handles[op->file.slot];

	serve_log_close(s, h, false, "");
	if (op->path2[0] != '\0')
		serve_info(s, "posix-rename old \"%s\" new \"%s\"", op->path,
		    op->path2);
	else
		serve_info(s, "remove name \"%s\"", op->path);
	serve_tell_transfer(s, h, op->path2[0] != '\0' ? op->path2 : NULL,
	    op->error == 0);
	serve_handle_close(s, h);
	if (op->error == ESTALE)
		serve_status(s, op->id, SFTP_NO_SUCH_FILE);
	else
		serve_done_status(s, op);
}

int
serve_rename_part(struct sftp_serve *s, struct serve_op *op, struct rd *r)
{
	struct serve_handle *h = serve_get_handle(s, r, SERVE_FILE);
	int err;

	op->path = serve_get_path(s, r);
	op->path2 = serve_get_path(s, r);
	if ((err = serve_check_handle(s, op, r, h, SFTP_FAILURE)) <= 0)
		return err;
	/* If the first path is not that of a part, an ordinary file loses its
	 * name. */
	if (!xfer_is_part(op->path) && !serve_may(s, SFTP_MAY_DELETE))
		return ERR_DENIED;
	serve_touch_handle(s, op, h, true);
	op->order.touches = SERVE_TOUCHES_PATH;
	op->own.fd = h->fd;
	h->fd = -1;
	h->kind = SERVE_UNUSABLE;
	op->run = run_rename_part;
	op->done = done_rename_part;
	return 0;
}
