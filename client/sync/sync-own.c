/* SPDX-License-Identifier: ISC */
/*
 * Finds out which owners and groups can be set at the target. Root can give
 * files to anybody, other users only to the groups that they are in. Our server
 * tells its user (own-ids@hpnssh.org). At another server /proc is looked at,
 * where there is one: the owner of /proc/self, and the groups in the file
 * `status` there.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "client/sync/sync-run.h"
#include "xfer/sftp/sftp-text.h"

enum { GROUPS_MAX = 4097 };

static void
add_group(struct sync_own *own, uint32_t gid)
{
	if (own->n_groups == GROUPS_MAX)
		return;
	own->groups = xrecallocarray(own->groups, own->n_groups,
	    own->n_groups + 1, sizeof *own->groups);
	own->groups[own->n_groups++] = gid;
}

/* ---- our server --------------------------------------------------------- */

static void
on_ids(void *arg, const struct sftp_reply *reply)
{
	struct sync_own *own = arg;
	struct rd body = reply->body, groups;
	uint32_t uid;

	own->ids_done = true;
	if (reply->err < 0 || reply->type != SFTP_EXTENDED_REPLY)
		return;
	uid = rd_u32(&body);
	groups = rd_sub(&body);
	if (rd_end(&body) < 0 || groups.len % 4 != 0)
		return;
	own->is_known = true;
	own->uid = uid;
	while (groups.len > 0)
		add_group(own, rd_u32(&groups));
}

/* ---- other servers ------------------------------------------------------ */

static void
on_proc(void *arg, const struct sftp_reply *reply)
{
	struct sync_own *own = arg;

	own->proc_done = true;
	if (reply->err < 0 || reply->status != SFTP_OK || own->is_known ||
	    (reply->attrs.flags & SFTP_A_OWNER) == 0)
		return;
	own->is_known = true;
	own->uid = reply->attrs.uid;
	add_group(own, reply->attrs.gid);
}

/* Takes the numbers of the line that begins with "Groups:". */
static void
take_groups(struct sync_own *own, const char *text)
{
	const char *at = strstr(text, "\nGroups:");
	char *end;

	if (at == NULL)
		return;
	for (at += strlen("\nGroups:"); *at == '\t' || *at == ' '; at = end) {
		unsigned long gid = strtoul(at, &end, 10);

		if (end == at || gid >= UINT32_MAX)
			return;
		add_group(own, (uint32_t)gid);
	}
}

static void
on_status(void *arg)
{
	*(bool *)arg = true;
}

static void
read_groups(struct sync_run *run)
{
	bool done = false;
	struct sftp_text t = { .s = sync_end_of(run, false)->s,
		.at_once = true, .done = on_status, .arg = &done };

	sftp_text_read(&t, "/proc/self/status");
	sync_wait_for(run, &done);
	if (buf_len(&t.text) > 0)
		take_groups(&run->own, (const char *)buf_data(&t.text));
	buf_clear(&t.text);
}

/* ---- the run ------------------------------------------------------------ */

static bool
keeps_owners(const struct sync_opts *o)
{
	return o->owner || o->group || o->chown_user != SYNC_ANY_ID ||
	    o->chown_group != SYNC_ANY_ID;
}

/* Takes the ids of this process, for a target on this machine. */
static void
take_this_process(struct sync_own *own)
{
	int n = getgroups(0, NULL);
	gid_t *groups = xcalloc((size_t)MAX(n, 1), sizeof *groups);

	own->is_known = true;
	own->uid = (uint32_t)geteuid();
	add_group(own, (uint32_t)getegid());
	n = getgroups(n, groups);
	for (int i = 0; i < n; i++)
		add_group(own, (uint32_t)groups[i]);
	free(groups);
}

void
sync_own_ask(struct sync_run *run)
{
	const struct sync_end *target = sync_end_of(run, false);
	struct sync_own *own = &run->own;

	if (own->asked)
		return;
	own->asked = true;
	if (target == &run->here) {
		take_this_process(own);
		own->ids_done = own->proc_done = true;
		return;
	}
	sftp_own_ids(target->s, on_ids, own);
	if (sftp_has(target->s, SFTP_EXT_OWN_IDS))
		own->proc_done = true;
	else
		sftp_path_request(target->s, SFTP_STAT, "/proc/self", on_proc,
		    own);
}

void
sync_own_take(struct sync_run *run)
{
	const struct sync_end *target = sync_end_of(run, false);
	const struct sync_opts *o = &run->args.opts;
	struct sync_own *own = &run->own;

	sync_wait_for(run, &own->ids_done);
	sync_wait_for(run, &own->proc_done);
	run->ends.target_is_root = own->is_known && own->uid == 0;
	/* A server with CONFINE is confined by now and cannot read /proc. Only
	 * sync_own_ask(), which ran earlier, can ask such a server. */
	if (own->is_known && own->uid != 0 && keeps_owners(o) &&
	    target != &run->here && !sftp_has(target->s, SFTP_EXT_OWN_IDS) &&
	    !sftp_has(target->s, SFTP_EXT_CONFINE))
		read_groups(run);
	run->ends.groups = own->groups;
	run->ends.n_groups = own->n_groups;
	if (!own->is_known && keeps_owners(o))
		sync_tell_note(run, NULL, "owners and groups are not kept: "
		    "the target's server does not tell whom it works for");
}

void
sync_own_names(struct sync_run *run)
{
	const struct sync_opts *o = &run->args.opts;
	bool by_name = o->also.acls ||
	    (o->owner && o->chown_user == SYNC_ANY_ID) ||
	    (o->group && o->chown_group == SYNC_ANY_ID);

	/* On one machine a name has the same number on both sides. */
	if (!by_name || o->omit.owner_names || run->both_here)
		return;
	run->owners = sync_owners_new(sync_end_of(run, true)->s,
	    sync_end_of(run, false)->s);
	if (run->owners == NULL)
		fatal("%s", err_text(ERR_NOMEM));
}
