/* SPDX-License-Identifier: ISC */
/*
 * Links on the way to the target. Whoever made one chose where all goes that is
 * written, so it counts only if root or the user whom the target's server works
 * for owns it, as the last part does. Each directory of the path is looked at
 * in the first flight, before anything is made. Our server refuses such a way
 * itself when it is confined (confine@hpnssh.org), and then nobody can put a
 * link there any more; at a stock one this look is all there is.
 */
#include "client/sync/sync-run.h"

#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/open-named.h"

/* One directory of the path. */
struct sync_step {
	struct sync_way *way;
	char *path; /* owned: the path up to here */
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

/* May this link be followed? Where nobody tells who the user is, as on a system
 * without /proc, any may. */
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

	/* With -n it need not be there. */
	return fd >= 0 ? local_root_held(run->tree, fd) :
			 local_root(run->tree, run->target_path,
			     LOCAL_LINKS_OWN);
}
