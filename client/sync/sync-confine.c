/* SPDX-License-Identifier: ISC */
/*
 * Chooses the directory that each server of a run is confined to
 * (confine@hpnssh.org). The server of the target is always confined to the
 * target; that of the sources to the source, or, if there are several, to the
 * deepest directory that all are below. Links on the way to several sources are
 * resolved once, at the beginning: the results are then used as the sources,
 * and no link on the way to them is followed.
 */
#include "client/sync/sync-run.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/sync/sync-grants.h"
#include "xfer/sftp/sftp-rights.h"

static uint32_t
source_rights(const struct sync_run *run)
{
	return SFTP_MAY_LIST | SFTP_MAY_READ |
	    (run->args.opts.remove_source ? SFTP_MAY_DELETE : 0);
}

/* Replaces the path of a source by its real path. */
static void
resolve(struct sync_run *run, struct sftp *s, char **path)
{
	char *real = NULL;
	int r = sftp_call_name(s, SFTP_REALPATH, *path, &real);

	if (r < 0)
		sync_lost(run, r);
	if (r > 0 || real[0] != '/')
		sync_die(run, SYNC_EXIT_FILES, *path,
		    r > 0 ? sftp_call_words(r) : "has no absolute path");
	free(*path);
	*path = real;
}

void
sync_cut_to_common(char *top, const char *path)
{
	size_t common = 0, i = 0;

	for (; top[i] != '\0' && top[i] == path[i]; i++)
		if (top[i] == '/')
			common = i;
	if ((top[i] == '\0' || top[i] == '/') &&
	    (path[i] == '\0' || path[i] == '/'))
		common = i;
	top[MAX(common, (size_t)1)] = '\0';
}

/* The deepest directory that all sources are below. The caller frees it. */
static char *
common_top(struct sync_run *run)
{
	struct sftp *s = sync_end_of(run, true)->s;
	struct sync_root *r;
	char *top = NULL;

	TAILQ_FOREACH(r, &run->roots, entry) {
		for (size_t i = 0; i < r->sources.n; i++) {
			resolve(run, s, &r->sources.v[i]);
			if (top == NULL)
				top = xstrdup(r->sources.v[i]);
			sync_cut_to_common(top, r->sources.v[i]);
		}
	}
	return top;
}

static void
confine_sources(struct sync_run *run)
{
	struct sync_end *end = sync_end_of(run, true);
	const struct sync_root *r = TAILQ_FIRST(&run->roots);
	char *top;

	if (r == NULL)
		return;
	/* --direct needs the real paths of the sources in any case. */
	if (run->direct == NULL && TAILQ_NEXT(r, entry) == NULL &&
	    r->sources.n == 1) {
		sync_end_confine(end, r->sources.v[0], source_rights(run));
		return;
	}
	/* The server has told its extensions if it was asked for several
	 * sources' paths. */
	if (run->direct == NULL && sftp_has_version(end->s) &&
	    !sftp_has(end->s, SFTP_EXT_CONFINE))
		return;
	top = common_top(run);
	if (!sftp_has_version(end->s) || sftp_has(end->s, SFTP_EXT_CONFINE))
		sync_end_confine(end, top, source_rights(run));
	free(top);
}

void
sync_confine_target(struct sync_run *run)
{
	struct sync_end *end = sync_end_of(run, false);

	end->confine.flags = run->args.opts.keep_dirlinks ?
	    SFTP_CONFINE_LINKS : 0;
	sync_end_confine(end, run->target_top != NULL ? run->target_top :
						run->target_path,
	    sync_grant_rights());
}

void
sync_confine_ends(struct sync_run *run)
{
	const struct sync_opts *o = &run->args.opts;

	/* With -L and -k a link in the source may lead to any place, so the
	 * sources' server is not confined. */
	if (!o->copy_links && !o->copy_dirlinks)
		confine_sources(run);
	sync_confine_target(run);
}
