/* SPDX-License-Identifier: ISC */
/* The ends of a run: the host, and this machine's own server. */
#include "client/sync/sync-run.h"

#include "config.h"

#include <sys/stat.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/called.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/screen.h"
#include "client/sync/sync-again.h"
#include "client/sync/sync-grants.h"
#include "compat/proc.h"
#include "conf/defaults.h"
#include "xfer/sftp/sftp-engine.h"
#include "xfer/sync/sync-path.h"

static void
tell_locks(struct sync_run *run)
{
	const struct sync_pair_ends *p;

	if (run->up)
		TAILQ_FOREACH(p, &run->pairs, entry)
			if (p->locked || p->unlocking)
				sync_tell_note(run, p->target_root, "stays "
				    "locked: the next run needs --break-lock");
}

_Noreturn void
sync_lost(struct sync_run *run, int err)
{
	bool logged_in = run->host.s != NULL && sftp_has_version(run->host.s);

	screen_clear();
	fprintf(stderr, "%s: connection lost: %s\n", called_name("hpnsync"),
	    err_text(err));
	/* A target on this machine can be reached without the connection, so
	 * its locks are released. */
	if (!run->up)
		sync_locks_release(run);
	sync_again(run, err);
	(void)!manifest_end(run->out.manifest, false);
	tell_locks(run);
	sync_direct_tell_left(run);
	if (run->stopped == SYNC_EXIT_OK)
		progress_error(run->args.xfer.progress, "lost", "connection",
		    err_text(err));
	exit(sync_report_end(run, run->stopped != SYNC_EXIT_OK ?
		run->stopped : err == ERR_TIMEOUT ? SYNC_EXIT_TIMEOUT :
		logged_in ? SYNC_EXIT_PROTOCOL : SYNC_EXIT_UNREACHABLE));
}

/* The command of this machine's own SFTP server: where this program lies, in a
 * tree of its own that was moved, or where it was to be installed. */
static char *
own_server(void)
{
	static const char *const near[] = { "", "../libexec/hpnssh/" };
	char self[PATH_MAX], *path, *slash;

	if (proc_self_path(self, sizeof self) != 0 ||
	    (slash = strrchr(self, '/')) == NULL)
		return xstrdup(LIBEXECDIR "/hpnsftp-server");
	slash[1] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(near); i++) {
		xasprintf(&path, "%s%shpnsftp-server", self, near[i]);
		if (access(path, X_OK) == 0)
			return path;
		free(path);
	}
	return xstrdup(LIBEXECDIR "/hpnsftp-server");
}

static void
open_end(struct sync_run *run, struct sync_end *end,
    const struct xfer_target *where)
{
	const struct sync_args *a = &run->args;
	struct remote_params params = { .loop = run->loop };
	char *server = NULL;
	int err;

	if (where != NULL) {
		params.host = where->host;
		params.user = where->user;
		params.port = where->port != 0 ? where->port : a->port;
		params.options = &a->ssh;
		params.program = a->ssh_program;
		params.subsystem = a->sftp_server;
		params.connections = a->xfer.connections_max;
		params.connections_given = a->connections_given;
		params.watched = a->xfer.retries > 0;
		params.retry_given = a->retry_given;
		params.copy = &end->copy;
		params.report = run->out.report;
		params.back = sync_grant_taken() != NULL ? sync_grant_taken() :
							sync_again_ticket();
	} else {
		params.server = server = own_server();
		if (access(server, X_OK) == -1)
			sync_die(run, SYNC_EXIT_FILES, server,
			    "is needed to read trees of this machine");
	}
	if ((err = remote_open(&end->remote, &params)) != 0) {
		sync_again(run, err);
		exit(sync_report_end(run, SYNC_EXIT_UNREACHABLE));
	}
	end->s = remote_sftp(end->remote);
	free(server);
}

void
sync_hosts_open(struct sync_run *run)
{
	const struct xfer_target *where = run->target.remote ? &run->target :
	    run->n_sources > 0 && run->sources[0].remote ? &run->sources[0] :
							   NULL;
	int r;

	open_end(run, &run->host, where);
	/* Two logins may have to ask the user: one after the other. */
	while (run->args.given.direct != SYNC_DIRECT_NO &&
	    !sftp_is_ready(run->host.s))
		if ((r = sftp_step(run->host.s, false, 1000)) < 0)
			sync_lost(run, r);
	open_end(run, &run->here, run->args.given.direct != SYNC_DIRECT_NO ?
		&run->sources[0] : NULL);
}

void
sync_hosts_close(struct sync_run *run)
{
	(void)remote_close(run->here.remote);
	(void)remote_close(run->host.remote);
	free(run->here.top);
	free(run->host.top);
}

struct sync_end *
sync_end_of(struct sync_run *run, bool source)
{
	return source == run->up ? &run->here : &run->host;
}

static void
on_confined(void *arg, const struct sftp_reply *reply)
{
	struct sync_end *end = arg;

	end->answered = true;
	end->status = reply->err != 0 ? SFTP_CONNECTION_LOST : reply->status;
}

void
sync_end_confine(struct sync_end *end, const char *top, uint32_t rights)
{
	end->confine = (struct sftp_confine){ .rights = rights,
		.flags = end->confine.flags,
		.bytes = UINT64_MAX,
		.files = UINT64_MAX,
		.deletes = UINT64_MAX };
	if (end->top != top) {
		free(end->top);
		end->top = xstrdup(top);
	}
	end->answered = false;
	sftp_confine(end->s, top, &end->confine, on_confined, end);
}

char *
sync_end_path(const struct sync_end *end, const char *path)
{
	char *named;
	size_t len;

	if (end->top == NULL || sftp_confined(end->s) == SFTP_CONFINED_NOT)
		return xstrdup(path);
	len = strlen(end->top);
	ENSURE(strncmp(path, end->top, len) == 0);
	path += len;
	path += strspn(path, "/");
	xasprintf(&named, "/%s", path);
	return named;
}

char *
sync_end_real(const struct sync_end *end, const char *named)
{
	if (end->top == NULL || sftp_confined(end->s) == SFTP_CONFINED_NOT)
		return xstrdup(named);
	return sync_path_below(end->top, named + strspn(named, "/"));
}

void
sync_hosts_turn(struct sync_run *run, int timeout_ms)
{
	int r = sftp_step(run->host.s, false, timeout_ms);

	if (r < 0)
		sync_lost(run, r);
	if (sftp_error(run->here.s) != 0 &&
	    run->args.given.direct != SYNC_DIRECT_NO)
		sync_lost(run, sftp_error(run->here.s));
	if (sftp_error(run->here.s) != 0)
		sync_die(run, SYNC_EXIT_PROTOCOL, "hpnsftp-server",
		    "of this machine has ended");
}

/* ---- paths of the host -------------------------------------------------- */

char *
sync_host_path(struct sync_run *run, const struct sync_end *end,
    const char *path)
{
	const char *rest = path + strcspn(path, "/");
	char *tilde, *home = NULL, *full;
	int r;

	if (path[0] != '~')
		return xstrdup(*path != '\0' ? path : ".");
	while (!sftp_is_ready(end->s))
		sync_hosts_turn(run, -1);
	tilde = xstrndup(path, (size_t)(rest - path));
	if (sftp_has(end->s, SFTP_EXT_EXPAND_PATH)) {
		r = sftp_call_name(end->s, SFTP_EXTENDED, tilde, &home);
		if (r < 0)
			sync_lost(run, r);
		if (r > 0)
			sync_die(run, SYNC_EXIT_FILES, path,
			    sftp_call_words(r));
	} else if (tilde[1] == '\0') {
		home = xstrdup(".");
	} else {
		sync_die(run, SYNC_EXIT_FILES, path,
		    "the server cannot expand ~user");
	}
	free(tilde);
	xasprintf(&full, "%s%s", home, *rest != '\0' ? rest : "/.");
	free(home);
	return full;
}

enum sync_kind
sync_host_kind(struct sync_run *run, const struct sync_end *end,
    const char *path)
{
	size_t len = strlen(path);
	/* A slash behind a link asks for what it leads to. */
	bool follow = run->args.opts.copy_links ||
	    (len > 0 && path[len - 1] == '/');
	struct sftp_attrs attrs;
	int r = sftp_call_stat(end->s, path, follow, &attrs);

	if (r < 0)
		sync_lost(run, r);
	if (r > 0)
		return SYNC_KIND_MISSING;
	return (attrs.flags & SFTP_A_MODE) && S_ISDIR(attrs.mode) ?
	    SYNC_KIND_DIR : SYNC_KIND_OTHER;
}
