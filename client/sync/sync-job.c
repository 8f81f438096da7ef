/* SPDX-License-Identifier: ISC */
#include "client/sync/sync-job.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/called.h"
#include "base/fd.h"
#include "base/mem.h"
#include "client/job/job.h"
#include "client/sync/sync-again.h"
#include "client/sync/sync-grants.h"
#include "client/sync/sync-run.h"

enum role { NONE, PLAN, GRANT, SHARD, FINISH };

/* What this process is in a job, and its state. */
static struct {
	enum role role;
	const char *path; /* of the job's directory, as the user named it */
	int dir;
	struct job_plan plan;
	FILE *spool;
	int before; /* descriptor of the directory in which the program was
		     * started; -1: it is still there */
	uint32_t shard;
	char *list; /* its path */
	bool full;  /* a record could not be written to the spool */
} job = { .dir = -1, .before = -1 };

_Noreturn static void
die(enum sync_exit status, const char *what, const char *text)
{
	char *shown = xstr_escape(what);

	fprintf(stderr, "%s: %s: %s\n", called_name("hpnsync"), shown, text);
	exit(status);
}

static const char *
words_of(int err)
{
	return err == ERR_SYSTEM    ? strerror(errno) :
	    err == ERR_PERMISSION   ? "others than you can change it" :
	    err == ERR_UNSUPPORTED  ? "is another version's" :
				      err_text(err);
}

/* ---- a shard and the end ------------------------------------------------- */

/* Takes the number of --shard: "3", or "3/64" if the plan has to have 64
 * shards. */
static void
take_number(const char *text)
{
	char *first = xstrndup(text, strcspn(text, "/"));
	const char *second = text + strlen(first);
	int64_t i, n = job.plan.n;

	if (str_to_int(first, 1, JOB_SHARDS_MAX, &i) < 0 || (*second == '/' &&
	    str_to_int(second + 1, 1, JOB_SHARDS_MAX, &n) < 0))
		die(SYNC_EXIT_USAGE, "--shard", "is a number, or two, as in "
		    "3/64: the third one of 64");
	if (n != job.plan.n || i > n)
		die(SYNC_EXIT_USAGE, "--shard", "the plan has another number "
		    "of shards");
	job.shard = (uint32_t)i;
	free(first);
}

static void
check_list(void)
{
	uint8_t digest[JOB_DIGEST];
	char name[JOB_NAME_MAX], *top;
	int fd, r;

	job_list_name(name, job.shard);
	fd = job_file(job.dir, name, O_RDONLY);
	r = fd == -1 ? ERR_SYSTEM : job_digest(fd, digest);
	if (r != 0)
		die(SYNC_EXIT_FILES, name, words_of(r));
	fd_close(&fd);
	if (memcmp(digest, job.plan.shards[job.shard - 1].digest,
	    sizeof digest) != 0)
		die(SYNC_EXIT_FILES, name, "is not the list that the plan was "
		    "made with");
	/* The run changes to the directory in which the plan was made, so the
	 * list needs an absolute path. */
	if ((top = realpath(job.path, NULL)) == NULL)
		die(SYNC_EXIT_FILES, job.path, strerror(errno));
	job.list = str_join_path(top, name);
	free(top);
}

/* Ends the program unless all shards are marked as done. */
static void
check_marks(void)
{
	enum { TOLD_MAX = 10 };
	uint32_t missing = 0;

	for (uint32_t i = 1; i <= job.plan.n; i++) {
		if (job_is_marked(job.dir, &job.plan, i))
			continue;
		if (missing++ < TOLD_MAX)
			fprintf(stderr, "%s: shard %u/%u is not done\n",
			    called_name("hpnsync"), (unsigned)i,
			    (unsigned)job.plan.n);
	}
	if (missing == 0)
		return;
	fprintf(stderr, "%s: %u of %u shards are not done: nothing was "
	    "finished\n", called_name("hpnsync"), (unsigned)missing,
	    (unsigned)job.plan.n);
	exit(SYNC_EXIT_AGAIN);
}

/* Reads the options of the plan in place of those of the command line, and
 * changes to the plan's directory. */
static void
read_again(struct sync_run *run, char ***names, int *n)
{
	const struct job_plan *p = &job.plan;

	sync_args_clear(&run->args);
	free(*names);
	run->args = (struct sync_args){ .given = { .job = {
		.list = job.list } } };
	*names = sync_args_read(&run->args, (int)p->argv.n, p->argv.v, n);
	job.before = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (job.before == -1 || chdir(p->cwd) == -1)
		die(SYNC_EXIT_FILES, p->cwd, strerror(errno));
}

static void
take_plan(struct sync_run *run, char ***names, int *n)
{
	const struct sync_args *a = &run->args;
	const char *shard = a->given.job.shard;
	int r;

	if (*n > 0 || a->given.options != (job.role == SHARD ? 2u : 1u))
		die(SYNC_EXIT_USAGE, job.role == SHARD ? "--shard" :
		    job.role == GRANT ? "--grant" : "--finish",
		    "takes no other options and no names: those of the plan "
		    "hold");
	if ((r = job_open(job.path, &job.dir)) == 0)
		r = job_get_plan(job.dir, &job.plan);
	if (r != 0)
		die(SYNC_EXIT_FILES, job.path, words_of(r));
	if (job.role == SHARD) {
		take_number(shard);
		check_list();
	} else if (job.role == FINISH) {
		check_marks();
	}
	read_again(run, names, n);
}

/* ---- reading ------------------------------------------------------------- */

static void
check_options(const struct sync_args *a)
{
	unsigned parts = (a->given.job.plan != NULL) +
	    (a->given.job.shard != NULL) +
	    (a->given.job.grant != NULL) + (a->given.job.finish != NULL);

	if (parts > 1)
		die(SYNC_EXIT_USAGE, "--plan, --grant, --shard, --finish",
		    "only one of them");
	if ((a->given.job.plan != NULL) != (a->given.job.shards != NULL))
		die(SYNC_EXIT_USAGE, "--plan and --shards", "go together");
	if ((a->given.job.shard != NULL) != (a->given.job.of != NULL))
		die(SYNC_EXIT_USAGE, "--shard and --job", "go together");
}

void
sync_job_read(struct sync_run *run, int argc, char **argv, char ***names,
    int *n)
{
	const struct sync_args *a = &run->args;
	int64_t shards;

	check_options(a);
	if (a->given.job.plan != NULL) {
		job.role = PLAN;
		job.path = a->given.job.plan;
		if (str_to_int(a->given.job.shards, 1, JOB_SHARDS_MAX,
		    &shards) < 0)
			die(SYNC_EXIT_USAGE, "--shards", "is a number from 1 "
			    "to 4096");
		job.plan.n = (uint32_t)shards;
		for (int i = 0; i < argc; i++)
			xstrlist_add(&job.plan.argv, argv[i]);
		return;
	}
	if (a->given.job.shard == NULL && a->given.job.finish == NULL &&
	    a->given.job.grant == NULL)
		return;
	job.role = a->given.job.shard != NULL ? SHARD :
	    a->given.job.grant != NULL	      ? GRANT :
						FINISH;
	job.path = job.role == SHARD ? a->given.job.of :
	    job.role == GRANT	     ? a->given.job.grant :
				       a->given.job.finish;
	take_plan(run, names, n);
}

/* ---- the plan ------------------------------------------------------------ */

/* Refuses options whose effect would differ between a run in parts and one
 * run. */
static void
refuse_some(const struct sync_run *run)
{
	const struct sync_args *a = &run->args;
	const struct sync_opts *o = &a->opts;
	const struct {
		bool given;
		const char *option;
	} rows[] = {
		{ o->backup, "--backup" },
		{ o->remove_source, "--remove-source-files" },
		{ o->in_place, "--inplace and --append-verify" },
		{ o->dry_run, "--dry-run" },
		{ o->ignore_times, "--ignore-times" },
		{ a->check != NULL, "--check" },
		{ a->files_from != NULL, "--files-from" },
		{ a->relative, "--relative" },
		{ a->dests.n > 0, "--link-dest, --compare-dest and "
		    "--copy-dest" },
		{ a->manifest != NULL, "--manifest" },
		{ a->report.path != NULL, "--report" },
		{ !o->times && !o->size_only && !o->checksum,
		    "a run without -t" },
		{ !o->recursive, "a run without -r" },
		{ sync_again_reads_input(), "a list from standard input" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].given)
			die(SYNC_EXIT_REFUSED, rows[i].option, "is not here "
			    "with --plan");
}

static void
check_names(const struct sync_run *run)
{
	const char *path = run->sources[0].path;
	size_t len = strlen(path);

	if (run->sources[0].remote)
		die(SYNC_EXIT_REFUSED, "--plan", "from another host is not "
		    "here: the source has to be on this one");
	if (run->n_sources != 1 || len == 0 || path[len - 1] != '/')
		die(SYNC_EXIT_REFUSED, "--plan", "is for one source, with a "
		    "slash behind its name: what is in it");
}

void
sync_job_begin(struct sync_run *run)
{
	char cwd[PATH_MAX];
	int fd, r;

	if (job.role == GRANT)
		sync_grants_check(run);
	if (job.role == SHARD && run->target.remote)
		sync_grant_take(run, job.dir);
	if (job.role != PLAN)
		return;
	refuse_some(run);
	check_names(run);
	if (getcwd(cwd, sizeof cwd) == NULL)
		die(SYNC_EXIT_FILES, ".", strerror(errno));
	job.plan.cwd = xstrdup(cwd);
	if ((r = job_make(job.path, &job.dir)) != 0)
		die(SYNC_EXIT_OUTPUT, job.path, words_of(r));
	fd = job_file(job.dir, "names", O_RDWR | O_CREAT | O_EXCL);
	if (fd == -1 || (job.spool = fdopen(fd, "w+")) == NULL)
		die(SYNC_EXIT_OUTPUT, job.path, strerror(errno));
	run->args.opts.dry_run = true;
}

void
sync_job_item(struct sync_run *run, const char *letters, const char *path,
    const struct walk_item *source)
{
	(void)run;
	if (job.role == PLAN && source != NULL &&
	    strchr("<>", letters[0]) != NULL && letters[1] == 'f' &&
	    job_spool(job.spool, path, source->size) != 0)
		job.full = true;
}

bool
sync_job_gives(void)
{
	return job.role == GRANT;
}

enum sync_exit
sync_job_give(struct sync_run *run)
{
	return sync_grants_give(run, job.dir, &job.plan);
}

void
sync_job_leave(void)
{
	if (job.before != -1)
		(void)!fchdir(job.before);
}

/* ---- the end ------------------------------------------------------------- */

static enum sync_exit
end_plan(const struct sync_run *run, enum sync_exit status)
{
	uint64_t names = 0, bytes = 0;
	int r = job.full ? ERR_SYSTEM : 0;

	if (r == 0)
		r = job_divide(job.dir, job.spool, &job.plan);
	if (r == 0)
		r = job_put_plan(job.dir, &job.plan);
	if (r != 0) {
		const char *why = words_of(r);
		char *shown = xstr_escape(job.path);

		fprintf(stderr, "%s: %s: the plan could not be written: %s\n",
		    called_name("hpnsync"), shown, why);
		free(shown);
		return SYNC_EXIT_OUTPUT;
	}
	for (uint32_t i = 0; i < job.plan.n; i++) {
		names += job.plan.shards[i].names;
		bytes += job.plan.shards[i].bytes;
	}
	if (run->args.quiet == 0 && !run->args.json)
		printf("%" PRIu64 " files, %" PRIu64 " bytes, in %u shards\n",
		    names, bytes, (unsigned)job.plan.n);
	return status;
}

/* Removes the directory of a plan that could not be made. */
static void
drop_plan(void)
{
	(void)unlinkat(job.dir, "names", 0);
	(void)rmdir(job.path);
}

/* The exit status of a shard, of which schedulers need three kinds: the shard
 * was carried out, also if single files failed (0, 23); it should be tried
 * again (75); or trying again is of no use. Files that vanished do not count:
 * --finish compares everything. */
static enum sync_exit
end_shard(enum sync_exit status)
{
	int r;

	switch (status) {
	case SYNC_EXIT_OK:
	case SYNC_EXIT_VANISHED:
	case SYNC_EXIT_PARTIAL:
		break;
	case SYNC_EXIT_PROTOCOL:
	case SYNC_EXIT_TIMEOUT:
	case SYNC_EXIT_SIGNAL:
	case SYNC_EXIT_UNREACHABLE:
		return SYNC_EXIT_AGAIN;
	default:
		return status;
	}
	r = job_mark(job.dir, &job.plan, job.shard, status);
	if (r != 0) {
		fprintf(stderr, "%s: the shard could not be marked as done: "
		    "%s\n", called_name("hpnsync"), words_of(r));
		return SYNC_EXIT_OUTPUT;
	}
	return status == SYNC_EXIT_VANISHED ? SYNC_EXIT_OK : status;
}

enum sync_exit
sync_job_end(struct sync_run *run, enum sync_exit status)
{
	enum role role = job.role;

	job.role = NONE;
	if (role == PLAN && (status == SYNC_EXIT_OK ||
	    status == SYNC_EXIT_PARTIAL || status == SYNC_EXIT_VANISHED ||
	    status == SYNC_EXIT_DELETES))
		status = end_plan(run, status);
	else if (role == PLAN)
		drop_plan();
	else if (role == SHARD)
		status = end_shard(status);
	else if (role == GRANT)
		sync_grants_end();
	sync_grant_wipe();
	if (job.spool != NULL)
		(void)fclose(job.spool);
	if (role == PLAN)
		(void)unlinkat(job.dir, "names", 0);
	fd_close(&job.dir);
	fd_close(&job.before);
	job_clear_plan(&job.plan);
	free(job.list);
	return status;
}
