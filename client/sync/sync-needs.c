/* SPDX-License-Identifier: ISC */
/* What options need of both ends of the copy, which not every server has. */
#include "client/sync/sync-run.h"

#include "xfer/sftp/sftp-engine.h"
#include "xfer/sftp/walk-format.h"
#include "xfer/xattrs.h"

uint32_t
sync_xattrs_wanted(const struct sync_opts *o)
{
	uint32_t kinds = 0;

	if (o->also.xattrs)
		kinds |= XATTRS_USER | XATTRS_OTHER;
	if (o->also.acls)
		kinds |= XATTRS_ACL;
	return kinds * WALK_XATTRS;
}

/* Waits until it is known what both ends can do. */
static void
wait_ready(struct sync_run *run)
{
	while (!sftp_is_ready(run->here.s) || !sftp_is_ready(run->host.s))
		sync_hosts_turn(run, 1000);
}

static void
check_xattrs(struct sync_run *run)
{
	const struct sync_opts *o = &run->args.opts;
	const char *option = o->also.acls ? "-A" : "-X";

	if (!o->also.acls && !o->also.xattrs)
		return;
	wait_ready(run);
	if (!sftp_has(run->here.s, SFTP_EXT_XATTRS))
		sync_die(run, SYNC_EXIT_REFUSED, option,
		    "this system has no extended attributes that hpnsync "
		    "knows");
	if (!sftp_has(run->host.s, SFTP_EXT_XATTRS))
		sync_die(run, SYNC_EXIT_REFUSED, option,
		    "the server has no xattrs@hpnssh.org: it can neither tell "
		    "nor set extended attributes");
}

/* Does the end tell where other file systems are mounted? */
static bool
tells_mounts(const struct sync_end *end)
{
	return sftp_has(end->s, SFTP_EXT_WALK) ||
	    sftp_has(end->s, SFTP_EXT_READDIR_NS) ||
	    sftp_has(end->s, SFTP_EXT_STATVFS);
}

static void
check_mounts(struct sync_run *run)
{
	const struct sync_opts *o = &run->args.opts;

	if (!o->one_device && !o->delete && !o->force)
		return;
	wait_ready(run);
	if (o->one_device && !tells_mounts(sync_end_of(run, true)))
		sync_die(run, SYNC_EXIT_REFUSED, "-x", "the server has no "
		    "statvfs@openssh.com: it cannot tell which file systems "
		    "are mounted below the source");
	if ((o->delete || o->force) && !tells_mounts(sync_end_of(run, false)))
		sync_die(run, SYNC_EXIT_REFUSED,
		    o->delete ? "--delete" : "--force", "the server has no "
		    "statvfs@openssh.com: it cannot tell which file systems "
		    "are mounted below the target, and what is on those is "
		    "never deleted");
}

void
sync_needs_check(struct sync_run *run)
{
	check_xattrs(run);
	check_mounts(run);
}
