/* SPDX-License-Identifier: ISC */
/* Checks for -X and -A that both ends of the copy have extended attributes. */
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

void
sync_xattrs_check(struct sync_run *run)
{
	const struct sync_opts *o = &run->args.opts;
	const char *option = o->also.acls ? "-A" : "-X";

	if (!o->also.acls && !o->also.xattrs)
		return;
	while (!sftp_is_ready(run->here.s) || !sftp_is_ready(run->host.s))
		sync_hosts_turn(run, 1000);
	if (!sftp_has(run->here.s, SFTP_EXT_XATTRS))
		sync_die(run, SYNC_EXIT_REFUSED, option,
		    "this system has no extended attributes that hpnsync "
		    "knows");
	if (!sftp_has(run->host.s, SFTP_EXT_XATTRS))
		sync_die(run, SYNC_EXIT_REFUSED, option,
		    "the server has no xattrs@hpnssh.org: it can neither tell "
		    "nor set extended attributes");
}
