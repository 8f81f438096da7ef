/* SPDX-License-Identifier: ISC */
/*
 * --check: compares the files of a tree, here or on a host, with the digests of
 * a manifest. The server computes the digests, many files at a time, so no file
 * is read over the connection. No list is kept, so a manifest may have any
 * length. The session is confined to the tree where its server can do that, and
 * no link is taken for a file.
 */
#include <sys/stat.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "client/sync/sync-run.h"
#include "xfer/manifest.h"
#include "xfer/sftp/sftp-rights.h"
#include "xfer/sync/sync-path.h"

enum { FILES_MAX = 64 }; /* under way */

struct check {
	struct sync_run *run;
	struct sync_end *end;
	char *top; /* owned; path of the tree in requests */
	size_t under_way;
	uint64_t same, missing, different, bad, extra, away;
	struct sync_extra *names; /* the names of --extra; owned; NULL: not
				   * asked for */
};

/* A file of the manifest that is looked at. */
struct checked {
	struct check *c;
	struct sftp_handle handle;
	uint8_t digest[MANIFEST_DIGEST];
	unsigned pending;
	bool opened, told;
	char *path; /* owned; path of the file in requests */
	char name[]; /* as the manifest has it */
};

static void
tell(struct check *c, const char *how, const char *name)
{
	char *shown = xstr_escape(name);

	printf("%s: %s\n", shown, how);
	free(shown);
	(void)c;
}

static void
differs(struct checked *f, const char *how)
{
	if (!f->told) {
		f->c->different++;
		tell(f->c, how, f->name);
	}
	f->told = true;
}

static void
missing(struct checked *f)
{
	if (!f->told) {
		f->c->missing++;
		tell(f->c, "missing", f->name);
	}
	f->told = true;
}

/* Counts an answer down; f is freed with its last one. */
static void
answered(struct checked *f)
{
	if (--f->pending > 0)
		return;
	f->c->under_way--;
	f->c->same += !f->told;
	free(f->path);
	free(f);
}

/* Reports why a request for f failed. If the session has ended, that says
 * nothing of the file, and nothing is reported. */
static void
refused(struct checked *f, const struct sftp_reply *reply)
{
	if (reply->err != 0)
		f->told = true;
	else if (reply->status == SFTP_NO_SUCH_FILE)
		missing(f);
	else
		differs(f, reply->words != NULL ? reply->words :
			sftp_status_text(SFTP_FAILURE));
}

static void
on_digest(void *arg, const struct sftp_reply *reply)
{
	struct checked *f = arg;
	struct rd body = reply->body;
	const uint8_t *theirs;

	if (reply->err != 0 || reply->type != SFTP_EXTENDED_REPLY)
		refused(f, reply);
	else if (sftp_get_digests(&body, 1, &theirs) != 0)
		differs(f, "the server's digest makes no sense");
	else if (memcmp(theirs, f->digest, MANIFEST_DIGEST) != 0)
		differs(f, "different");
	answered(f);
}

static void
on_opened(void *arg, const struct sftp_reply *reply)
{
	struct checked *f = arg;
	struct sftp *s = f->c->end->s;

	if (reply->err != 0 || reply->type != SFTP_HANDLE) {
		refused(f, reply);
		answered(f);
		return;
	}
	sftp_keep_handle(&f->handle, reply);
	sftp_check_file(s, &f->handle, 0, 0, 0, on_digest, f);
	sftp_close(s, &f->handle, NULL, NULL);
}

static void
open_it(struct checked *f)
{
	static const struct sftp_attrs none = { .flags = 0 };

	sftp_open(f->c->end->s, f->path, SFTP_O_READ, &none, on_opened, f);
}

/* Decides by its number of blocks whether the file is opened. A file with a
 * size and no blocks may lie on a tape, and is read with --recall only. */
static void
on_blocks(void *arg, const struct sftp_reply *reply)
{
	struct checked *f = arg;
	struct rd body = reply->body;
	struct sftp_stat_ns st;

	if (reply->err == 0 && reply->type == SFTP_EXTENDED_REPLY &&
	    sftp_get_stat_ns(&body, &st) == 0 && st.blocks == UINT64_MAX) {
		f->told = true;
		f->c->away++;
		tell(f->c, "not read: a size and no blocks, as on a tape "
		    "(--recall)", f->name);
	} else if (reply->err == 0) {
		open_it(f);
		return;
	} else {
		refused(f, reply);
	}
	answered(f);
}

/* Opens f if it is a regular file: a link could lead anywhere, and the OPEN of
 * a pipe would wait. */
static void
on_looked(void *arg, const struct sftp_reply *reply)
{
	struct checked *f = arg;
	struct sftp *s = f->c->end->s;

	if (reply->err != 0 || reply->type != SFTP_ATTRS) {
		refused(f, reply);
	} else if (!(reply->attrs.flags & SFTP_A_MODE) ||
	    !S_ISREG(reply->attrs.mode)) {
		differs(f, "no regular file");
	} else if (f->c->run->args.opts.also.recall || reply->attrs.size == 0 ||
	    !sftp_has(s, SFTP_EXT_STAT_NS)) {
		open_it(f);
		return;
	} else {
		sftp_stat_ns(s, f->path, false, on_blocks, f);
		return;
	}
	answered(f);
}

static void
look_up(struct check *c, const struct manifest_entry *e)
{
	size_t len = strlen(e->name) + 1;
	struct checked *f = xcalloc(1, sizeof *f + len);

	f->c = c;
	f->pending = 1;
	memcpy(f->digest, e->digest, sizeof f->digest);
	memcpy(f->name, e->name, len);
	f->path = sync_path_below(c->top, f->name);
	c->under_way++;
	if (c->names != NULL)
		sync_extra_known(c->names, f->name);
	sftp_path_request(c->end->s, SFTP_LSTAT, f->path, on_looked, f);
}

/* Ends the program if the server cannot compute digests, as OpenSSH's
 * cannot. */
static void
need_digests(struct check *c)
{
	if (!sftp_has(c->end->s, SFTP_EXT_CHECK_FILE))
		sync_die(c->run, SYNC_EXIT_REFUSED, "--check",
		    "the server has no digests (check-file): run sha256sum -c "
		    "there, or hpnsftp-server (--sftp-server)");
}

static void
bad_line(struct check *c, struct manifest_in *m, const char *why)
{
	c->bad++;
	if (c->bad <= 20)
		log_error("%s:%llu: %s", c->run->args.check,
		    (unsigned long long)manifest_line(m), why);
}

static void
check_all(struct check *c, struct manifest_in *m)
{
	struct manifest_entry e;
	const char *why;
	int r = 1;

	while (r != 0 || c->under_way > 0) {
		while (r != 0 && c->under_way < FILES_MAX && !c->run->stop) {
			r = manifest_next(m, &e, &why);
			if (r == ERR_SYSTEM)
				sync_die(c->run, SYNC_EXIT_FILES,
				    c->run->args.check, strerror(errno));
			if (r == 1)
				look_up(c, &e);
			else if (r < 0)
				bad_line(c, m, why);
		}
		if (c->run->stop)
			return;
		if (c->under_way > 0)
			sync_hosts_turn(c->run, 1000);
	}
}

static enum sync_exit
tell_sums(const struct check *c)
{
	const struct sync_args *a = &c->run->args;

	if (a->quiet == 0)
		printf("%llu the same, %llu different, %llu missing",
		    (unsigned long long)c->same,
		    (unsigned long long)c->different,
		    (unsigned long long)c->missing);
	if (a->quiet == 0 && c->names != NULL)
		printf(", %llu extra", (unsigned long long)c->extra);
	if (a->quiet == 0 && c->away > 0)
		printf(", %llu not read", (unsigned long long)c->away);
	if (a->quiet == 0)
		puts("");
	if (c->bad > 0)
		log_error("%s: %llu lines that are none of a manifest",
		    a->check, (unsigned long long)c->bad);
	if (c->same + c->different + c->missing + c->away == 0)
		log_error("%s: names no file", a->check);
	else if (c->different + c->missing + c->bad + c->extra +
	    c->away == 0 &&
	    !c->run->partial)
		return SYNC_EXIT_OK;
	return SYNC_EXIT_PARTIAL;
}

enum sync_exit
sync_check(struct sync_run *run)
{
	struct check c = { .run = run, .end = sync_end_of(run, false) };
	struct manifest_in *m;

	if (manifest_open(&m, run->args.check) != 0)
		sync_die(run, SYNC_EXIT_FILES, run->args.check,
		    strerror(errno));
	sync_end_confine(c.end, run->target_path,
	    SFTP_MAY_LIST | SFTP_MAY_READ);
	while (!c.end->answered)
		sync_hosts_turn(run, 1000);
	need_digests(&c);
	c.top = sync_end_path(c.end, run->target_path);
	if (run->args.extra)
		c.names = sync_extra_new(run);
	check_all(&c, m);
	manifest_close(m);
	if (c.names != NULL && !run->stop)
		c.extra = sync_extra_find(c.names, c.end, c.top);
	/* A run that was stopped has requests under way, which refer to c; they
	 * end with the sessions. */
	sync_hosts_close(run);
	sync_extra_free(c.names);
	free(c.top);
	return run->stopped != SYNC_EXIT_OK ? run->stopped : tell_sums(&c);
}
