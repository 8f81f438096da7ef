/* SPDX-License-Identifier: ISC */
/* Looks up the names of --chown at the target's host, before anything is
 * changed. If the server has no request for that, the files passwd and group of
 * that host are read. */
#include <stdint.h>

#include "base/log.h"
#include "client/sync/sync-run.h"
#include "xfer/sync/sync-accounts.h"

struct answer {
	bool done;
	int err; /* ERR_* of the connection */
	uint32_t status, user, group;
};

static void
on_ids(void *arg, const struct sftp_reply *reply)
{
	struct answer *a = arg;
	struct rd body = reply->body, users, groups;

	a->done = true;
	a->err = reply->err;
	a->status = reply->status;
	if (reply->err < 0 || reply->type != SFTP_EXTENDED_REPLY)
		return;
	users = rd_sub(&body);
	groups = rd_sub(&body);
	if (users.len > 0)
		a->user = rd_u32(&users);
	if (groups.len > 0)
		a->group = rd_u32(&groups);
	if (rd_end(&users) < 0 || rd_end(&groups) < 0 || rd_end(&body) < 0)
		a->status = SFTP_BAD_MESSAGE;
}

static void
take(struct sync_run *run, const char *name, uint32_t id, const char *unknown,
    int64_t *to)
{
	if (name == NULL)
		return;
	if (id == UINT32_MAX)
		sync_die(run, SYNC_EXIT_USAGE, name, unknown);
	*to = id;
}

static void
ask_server(struct sync_run *run, struct sftp *s, struct answer *a)
{
	const char *user = run->args.chown.user;
	const char *group = run->args.chown.group;

	sftp_ids_by_name(s, &user, user != NULL ? 1 : 0, &group,
	    group != NULL ? 1 : 0, on_ids, a);
	while (!a->done)
		sync_hosts_turn(run, 1000);
	if (a->err < 0)
		sync_lost(run, a->err);
	if (a->status != SFTP_OK)
		sync_die(run, SYNC_EXIT_REFUSED, "--chown",
		    sftp_status_text(a->status));
}

static void
on_files(void *arg)
{
	*(bool *)arg = true;
}

static void
ask_files(struct sync_run *run, struct sftp *s, struct answer *a)
{
	const char *user = run->args.chown.user;
	const char *group = run->args.chown.group;
	bool done = false;
	struct sync_accounts *files = sync_accounts_read(s, on_files, &done);

	if (files == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	while (!done)
		sync_hosts_turn(run, 1000);
	if (user != NULL)
		(void)sync_accounts_find(files, OWNERS_USER, user, &a->user);
	if (group != NULL)
		(void)sync_accounts_find(files, OWNERS_GROUP, group,
		    &a->group);
	sync_accounts_free(files);
}

void
sync_chown_find(struct sync_run *run)
{
	struct sync_args *args = &run->args;
	struct sftp *s = sync_end_of(run, false)->s;
	struct answer a = { .user = UINT32_MAX, .group = UINT32_MAX };

	if (args->chown.user == NULL && args->chown.group == NULL)
		return;
	while (!sftp_is_ready(s))
		sync_hosts_turn(run, 1000);
	if (sftp_has(s, SFTP_EXT_IDS_BY_NAME))
		ask_server(run, s, &a);
	else
		ask_files(run, s, &a);
	take(run, args->chown.user, a.user, "is no user at the target",
	    &args->opts.chown_user);
	take(run, args->chown.group, a.group, "is no group at the target",
	    &args->opts.chown_group);
}
