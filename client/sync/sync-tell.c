/* SPDX-License-Identifier: ISC */
/*
 * What a run tells: the lines of -v, -i and --out-format, the log file, errors,
 * and the sums at the end. Scripts parse these, so their forms are rsync's.
 */
#include "client/sync/sync-run.h"

#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/called.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/open-named.h"
#include "base/screen.h"
#include "base/str.h"
#include "client/sync/sync-again.h"
#include "client/syncopts/sync-format.h"
#include "client/sync/sync-job.h"

/* ---- where they go ------------------------------------------------------ */

static void
write_log(struct sync_run *run, const char *line, size_t len)
{
	const struct sync_format_item none = { .letters = "", .path = "" };
	struct buf b;

	if (run->out.log_fd < 0)
		return;
	buf_init(&b);
	sync_format_put(&b, "%t [%p] ", &none);
	buf_truncate(&b, buf_len(&b) - 1); /* the line goes on */
	buf_put(&b, line, len);
	/* A log that cannot be written must not end a backup. */
	if (fd_write_all(run->out.log_fd, buf_data(&b), buf_len(&b)) != 0) {
		(void)close(run->out.log_fd);
		run->out.log_fd = -1;
		sync_tell_fail(run, run->args.log_file, strerror(errno));
	}
	buf_clear(&b);
}

void
sync_tell_begin(struct sync_run *run)
{
	const char *path = run->args.log_file;

	run->out.log_fd = -1;
	if (path == NULL)
		return;
	run->out.log_fd = open_named(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
	if (run->out.log_fd < 0)
		sync_die(run, SYNC_EXIT_OUTPUT, path, strerror(errno));
}

void
sync_tell_item(void *arg, const char *letters, const char *path,
    const struct walk_item *source)
{
	struct sync_run *run = arg;
	const struct sync_args *a = &run->args;
	const struct sync_format_item item = { .up = run->up,
		.letters = letters, .path = path, .source = source };
	const char *format = a->out_format;
	bool named = a->verbose > 0 && !a->names_off;
	struct buf b;

	sync_again_item(run, letters);
	sync_job_item(run, letters, path, source);
	if (a->json)
		sync_event_item(run, letters, path, source);
	buf_init(&b);
	if (format == NULL && a->itemize > 0)
		format = "%i %n%L";
	else if (format == NULL && named)
		format = letters[0] == '*' ? "deleting %n" : "%n%L";
	if (format != NULL && a->quiet == 0 && !a->json) {
		sync_format_put(&b, format, &item);
		screen_clear();
		fwrite(buf_data(&b), 1, buf_len(&b), stdout);
	}
	if (run->out.log_fd >= 0) {
		buf_clear(&b);
		buf_init(&b);
		sync_format_put(&b, a->log_format != NULL ? a->log_format :
							"%i %n%L", &item);
		write_log(run, (const char *)buf_data(&b), buf_len(&b));
	}
	buf_clear(&b);
}

static void
error_line(struct sync_run *run, const char *path, const char *text)
{
	char *shown = path != NULL ? xstr_escape(path) : NULL, *line;

	if (shown != NULL)
		xasprintf(&line, "%s: %s\n", shown, text);
	else
		xasprintf(&line, "%s\n", text);
	(void)fflush(stdout);
	screen_clear();
	fprintf(stderr, "%s: %s", called_name("hpnsync"), line);
	write_log(run, line, strlen(line));
	free(line);
	free(shown);
}

void
sync_tell_note(void *arg, const char *path, const char *text)
{
	struct sync_run *run = arg;

	if (run->args.quiet == 0)
		error_line(run, path, text);
}

void
sync_tell_fail(void *arg, const char *path, const char *text)
{
	struct sync_run *run = arg;

	run->partial = true;
	progress_error(run->args.xfer.progress, "file", path, text);
	error_line(run, path, text);
}

void
sync_tell_vanished(void *arg, const char *path)
{
	struct sync_run *run = arg;

	run->vanished = true;
	error_line(run, path, "is gone: it vanished meanwhile");
}

void
sync_tell_report(void *arg, const char *tried, const char *path,
    const char *text)
{
	bool xattrs = tried != NULL && strcmp(tried, XFER_TRIED_XATTRS) == 0;
	bool backup = tried != NULL && strcmp(tried, XFER_TRIED_BACKUP) == 0;
	struct sync_run *run = arg;
	char *of;

	run->full |= (strcmp(text, strerror(ENOSPC)) == 0 && !xattrs) ||
	    str_has_prefix(text, XFER_NO_ROOM);
	xasprintf(&of, "%s%s", xattrs ? "extended attributes: " :
		backup ? "backup: " : "", text);
	sync_tell_fail(run, path, of);
	free(of);
}

_Noreturn void
sync_die(struct sync_run *run, enum sync_exit status, const char *path,
    const char *text)
{
	error_line(run, path, text);
	progress_error(run->args.xfer.progress, "program", path, text);
	progress_end_events(run->args.xfer.progress, clock_ms());
	(void)!manifest_end(run->out.manifest, false);
	sync_locks_release(run);
	exit(sync_report_end(run, status));
}

/* ---- sums --------------------------------------------------------------- */

/* "Number of files: 5 (reg: 3, dir: 2)" */
static void
print_kinds(const char *what, uint64_t all, uint64_t reg, uint64_t dir,
    uint64_t link, uint64_t special)
{
	const struct {
		const char *name;
		uint64_t n;
	} kinds[] = { { "reg", reg }, { "dir", dir }, { "link", link },
		{ "special", special } };
	const char *before = " (";

	printf("%s: %" PRIu64, what, all);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (kinds[i].n == 0)
			continue;
		printf("%s%s: %" PRIu64, before, kinds[i].name, kinds[i].n);
		before = ", ";
	}
	puts(strcmp(before, ", ") == 0 ? ")" : "");
}

/* A number of bytes with the unit behind it, "1500 bytes"; with -h "1.5KB". */
struct amount {
	char text[40];
};

static struct amount
amount(const struct sync_run *run, uint64_t n, const char *unit)
{
	struct amount a;

	if (run->args.human > 0)
		progress_bytes_text(n, a.text, sizeof a.text);
	else
		snprintf(a.text, sizeof a.text, "%" PRIu64 "%s", n, unit);
	return a;
}

static void
print_stats(const struct sync_run *run, const struct sync_counts *c)
{
	static const char unit[] = " bytes";
	const struct sync_moved m = sync_streams_moved(run);

	puts("");
	print_kinds("Number of files", c->entries, c->files, c->dirs, c->links,
	    c->specials);
	print_kinds("Number of created files",
	    c->made_files + c->made_dirs + c->made_links, c->made_files,
	    c->made_dirs, c->made_links, 0);
	printf("Number of deleted files: %" PRIu64 "\n", c->deleted);
	printf("Number of regular files transferred: %" PRIu64 "\n",
	    c->copied_files);
	printf("Total file size: %s\n", amount(run, c->bytes, unit).text);
	printf("Total transferred file size: %s\n",
	    amount(run, c->copied_bytes, unit).text);
	printf("Literal data: %s\n", amount(run, c->copied_bytes -
	    MIN(run->matched, c->copied_bytes), unit).text);
	printf("Matched data: %s\n", amount(run, run->matched, unit).text);
	printf("Total bytes sent: %s\n", amount(run, m.sent, "").text);
	printf("Total bytes received: %s\n", amount(run, m.received, "").text);
}

/* Prints the two last lines of -v and --stats. The rate is in whole bytes: a
 * clock of milliseconds gives no more digits. */
static void
print_moved(const struct sync_run *run, const struct sync_counts *c)
{
	static const char unit[] = " bytes";
	const struct sync_moved m = sync_streams_moved(run);
	uint64_t all = m.sent + m.received;
	uint64_t ms = clock_ms() - run->started_ms;
	uint64_t rate = (uint64_t)((double)all * 1000 / (double)MAX(ms, 1u));

	printf("\nsent %s  received %s  %s/sec\n",
	    amount(run, m.sent, unit).text,
	    amount(run, m.received, unit).text, amount(run, rate, unit).text);
	printf("total size is %" PRIu64 "  speedup is %.2f%s\n", c->bytes,
	    all > 0 ? (double)c->bytes / (double)all : 0,
	    run->args.opts.dry_run ? " (DRY RUN)" : "");
}

void
sync_tell_sums(struct sync_run *run)
{
	const struct sync_args *a = &run->args;
	const struct sync_counts *c = sync_plan_counts(run->plan);

	screen_clear();
	if (a->quiet > 0 || a->json)
		return;
	if (a->stats)
		print_stats(run, c);
	if (a->verbose > 0 || a->stats)
		print_moved(run, c);
	(void)fflush(stdout);
}

void
sync_tell_no_basis(struct sync_run *run, const struct xfer_opts *opts)
{
	const struct sync_opts *o = &run->args.opts;
	bool similar = o->one_file.similar;

	if ((!similar && !o->one_file.renamed) || !opts->delta ||
	    (sftp_has(run->host.s, SFTP_EXT_BLOCK_SUMS) &&
		sftp_has(run->host.s, SFTP_EXT_COPY_BLOCKS)))
		return;
	sync_tell_note(run, NULL, similar ? "--fuzzy has no effect: the server "
	    "has no block-sums@hpnssh.org" : "--detect-renames has no effect: "
	    "the server has no block-sums@hpnssh.org");
}
