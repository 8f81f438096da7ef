/* SPDX-License-Identifier: ISC */
/*
 * Checks links in the path of the target. The owner of a link chooses where all
 * files go, so a link counts only if root or the user whom the target's server
 * works for owns it; the last part of the path is held to the same rule. Each
 * directory of the path is looked at in the first flight, before anything is
 * made. Our server, once confined (confine@hpnssh.org), refuses such paths
 * itself, and nobody can put in a link later; at OpenSSH's server this look is
 * the only defence.
 */
#include "client/sync/sync-run.h"

#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/open-named.h"

/* One directory of the target's path. */
struct sync_step {
	struct sync_way *way;
	char *path; /* owned: the path that ends with this directory */
	uint32_t uid;
	bool link, has_owner;
};

static void
on_step(void *arg, const struct sftp_reply *reply)
{
	struct sync_step *step = arg;

	step->link = reply->err == 0 && reply->status == SFTP_OK &&
	    (reply->attrs.flags & SFTP_A_MODE) != 0 &&
	    S_ISLNK(reply->attrs.mode);
	step->has_owner = step->link &&
	    (reply->attrs.flags & SFTP_A_OWNER) != 0;
	step->uid = reply->attrs.uid;
	if (--step->way->waiting == 0)
		step->way->done = true;
}

static size_t
count_steps(const char *path)
{
	size_t n = 0;

	for (path += strspn(path, "/"); *path != '\0';
	    path += strspn(path, "/")) {
		path += strcspn(path, "/");
		n++;
	}
	return n;
}

void
sync_way_ask(struct sync_run *run)
{
	const char *path = run->target_path, *end = path;
	struct sync_way *way = &run->way;

	*way = (struct sync_way){ .n = count_steps(path) };
	way->steps = xcalloc(MAX(way->n, (size_t)1), sizeof *way->steps);
	way->waiting = (unsigned)way->n;
	way->done = way->n == 0;
	for (size_t i = 0; i < way->n; i++) {
		end += strspn(end, "/");
		end += strcspn(end, "/");
		way->steps[i].way = way;
		way->steps[i].path = xstrndup(path, (size_t)(end - path));
		sftp_path_request(sync_end_of(run, false)->s, SFTP_LSTAT,
		    way->steps[i].path, on_step, &way->steps[i]);
	}
}

/* True if a link of this owner may be followed. Where the server's user is not
 * known, as on a system without /proc, any link may. */
static bool
counts(const struct sync_own *own, const struct sync_step *step)
{
	return !step->link || !step->has_owner || step->uid == 0 ||
	    !own->is_known || step->uid == own->uid;
}

void
sync_way_check(struct sync_run *run)
{
	struct sync_way *way = &run->way;

	sync_wait_for(run, &way->done);
	sync_wait_for(run, &run->own.ids_done);
	sync_wait_for(run, &run->own.proc_done);
	for (size_t i = 0; i < way->n; i++)
		if (!counts(&run->own, &way->steps[i]))
			sync_die(run, SYNC_EXIT_FILES, way->steps[i].path,
			    "is another user's link, which is not followed to "
			    "a target: name what it leads to");
	for (size_t i = 0; i < way->n; i++)
		free(way->steps[i].path);
	free(way->steps);
	*way = (struct sync_way){ .n = 0 };
}

struct local_dir *
sync_way_here(struct sync_run *run)
{
	int fd = open_named_dir(run->target_path);

	/* With -n the target need not be there. */
	return fd >= 0 ? local_root_held(run->tree, fd) :
			 local_root(run->tree, run->target_path,
			     LOCAL_LINKS_OWN);
}
