/* SPDX-License-Identifier: ISC */
/* get and put, on the transfer engine. */
#include <sys/stat.h>

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "xfer/sftp/remote-glob.h"
#include "xfer/shell/sftp-shell-internal.h"
#include "xfer/target.h"

static void
report(void *arg, const char *tried, const char *path, const char *text)
{
	char *shown = xstr_shorten_path(path);

	(void)arg;
	if (tried != NULL)
		shell_error("%s \"%s\": %s", tried, shown, text);
	else
		shell_error("%s: %s", shown, text);
	free(shown);
}

/* Prints a note of a transfer; path NULL: about the whole transfer. */
static void
note(void *arg, const char *path, const char *text)
{
	if (path != NULL)
		report(arg, NULL, path, text);
	else
		shell_error("%s", text);
}

static void
entered(void *arg, bool up, const char *path)
{
	char *shown = xstr_shorten_path(path);

	(void)arg;
	shell_print("%s %s", up ? "Entering" : "Retrieving", shown);
	free(shown);
}

/* Begins a transfer with the options of the command line, and those of the
 * command's flags. */
static int
new_transfers(struct shell *sh, const struct shell_call *call, bool resume,
    struct xfer **x)
{
	struct xfer_opts o = sh->p.xfer;

	o.recursive |= call->flags['r'] || call->flags['R'];
	o.preserve |= call->flags['p'] || call->flags['P'];
	o.fsync |= call->flags['f'];
	o.resume = o.append = resume;
	o.skip_links = true;
	o.stop = sh->p.interrupted;
	o.progress = sh->progress ? sh->p.xfer.progress : NULL;
	o.report = report;
	o.note = note;
	o.entered = sh->p.quiet ? NULL : entered;
	/* With resume only one session is used: it writes a file from beginning
	 * to end, so that an interrupted copy can be resumed. */
	return xfer_new(x, resume ? NULL : sh->p.streams, sh->s, &o);
}

static bool
wants_resume(const struct shell *sh, const struct shell_call *call)
{
	return call->flags['a'] || sh->p.xfer.append;
}

static int
run(struct shell *sh, struct xfer *x, bool resume)
{
	int r = xfer_run(x);
	char kept[200];

	progress_clear_line(sh->p.xfer.progress); /* prints lines that it holds
						   * back */
	if ((r < 0 || xfer_is_full(x)) && xfer_keeps_any(x)) {
		xfer_kept_text(x, resume ? "" : "-a", kept, sizeof kept);
		shell_error("%s", kept);
	}
	if (r == ERR_CANCELLED || (r == 0 && xfer_failures(x) > 0))
		r = SHELL_FAILED;
	xfer_free(x);
	return r;
}

/* The path to copy a source to: its own name in dir; or if dir is NULL the
 * given path; or if both are NULL its own name. The caller frees it. */
static char *
target_of(const char *dir, const char *given, const char *source)
{
	char *base, *whole;

	if (dir == NULL && given != NULL)
		return strdup(given);
	base = xfer_base_name(source);
	if (base == NULL || dir == NULL)
		return base;
	whole = str_join_path(dir, base);
	free(base);
	return whole;
}

static void
announce(const struct shell *sh, bool up, bool resume, const char *from,
    const char *to)
{
	if (!sh->p.quiet)
		shell_print("%s %s to %s",
		    up ? (resume ? "Resuming upload of" : "Uploading") :
			 (resume ? "Resuming" : "Fetching"), from, to);
}

/* ---- download ----------------------------------------------------------- */

static int
queue_downloads(struct shell *sh, struct xfer *x, const struct strlist *names,
    const char *local, bool resume, bool pattern)
{
	struct sftp_attrs *attrs = calloc(names->n + 1, sizeof *attrs);
	int *statuses = calloc(names->n + 1, sizeof *statuses);
	struct stat st;
	bool into = local != NULL && stat(local, &st) == 0 &&
	    S_ISDIR(st.st_mode);
	int r = ERR_NOMEM, failed = SHELL_OK;
	char *to;

	if (attrs != NULL && statuses != NULL)
		r = pattern ? shell_stat_all(sh, names, attrs, statuses) :
		    shell_stat_named(sh, names->v[0], attrs, statuses);
	for (size_t i = 0; i < names->n && r == 0; i++) {
		if (statuses[i] == SFTP_NO_SUCH_FILE)
			shell_error("File \"%s\" not found.", names->v[i]);
		else
			(void)shell_status(statuses[i], "remote stat \"%s\"",
			    names->v[i]);
		if (statuses[i] != 0) {
			failed = SHELL_FAILED;
			continue;
		}
		to = target_of(into ? local : NULL, local, names->v[i]);
		if (to == NULL) {
			r = ERR_NOMEM;
			break;
		}
		announce(sh, false, resume, names->v[i], to);
		r = xfer_get(x, names->v[i], &attrs[i], to);
		free(to);
	}
	free(attrs);
	free(statuses);
	return r < 0 ? r : failed;
}

static int
download(struct shell *sh, const struct shell_call *call, bool resume)
{
	const char *local = call->n > 1 ? call->words[1].text : NULL;
	struct strlist names = { NULL, 0 };
	struct stat st;
	struct xfer *x = NULL;
	int r = shell_match(sh, call->words[0].pattern, &names);

	if (r == 0 && names.n > 1 && local != NULL &&
	    (stat(local, &st) != 0 || !S_ISDIR(st.st_mode))) {
		shell_error("Multiple source paths, but destination \"%s\" is "
			   "not a directory", local);
		r = SHELL_FAILED;
	} else if (r == 0 &&
	    (r = new_transfers(sh, call, resume, &x)) == 0) {
		r = queue_downloads(sh, x, &names, local, resume,
		    remote_glob_has_magic(call->words[0].pattern));
		if (r >= 0)
			r = shell_worse(r, run(sh, x, resume));
		else
			xfer_free(x);
	}
	strlist_clear(&names);
	return r;
}

int
shell_get(struct shell *sh, const struct shell_call *call)
{
	return download(sh, call, wants_resume(sh, call));
}

int
shell_reget(struct shell *sh, const struct shell_call *call)
{
	return download(sh, call, true);
}

/* ---- upload ------------------------------------------------------------- */

/* Local names that match a pattern, or if there are none the word itself. */
static int
match_local(const char *pattern, struct strlist *names)
{
	glob_t g;
	char *name;
	int r = 0;

	if (glob(pattern, 0, NULL, &g) == 0) {
		for (size_t i = 0; i < g.gl_pathc && r == 0; i++)
			r = strlist_add(names, g.gl_pathv[i]);
		globfree(&g);
		return r;
	}
	name = remote_glob_unescape(pattern);
	r = name != NULL ? strlist_add(names, name) : ERR_NOMEM;
	free(name);
	return r;
}

static int
queue_uploads(struct shell *sh, struct xfer *x, const struct strlist *names,
    const char *target, bool into, bool resume)
{
	char *to, *whole;
	int r = 0;

	for (size_t i = 0; i < names->n && r == 0; i++) {
		to = target_of(into ? target : NULL, target, names->v[i]);
		whole = to != NULL ? shell_absolute(sh, to) : NULL;
		if (whole != NULL) {
			announce(sh, true, resume, names->v[i], whole);
			r = xfer_put(x, names->v[i], whole);
		} else {
			r = ERR_NOMEM;
		}
		free(to);
		free(whole);
	}
	return r;
}

/* Is the target a directory? target NULL: the file is put into the working
 * directory under its own name, and *is_dir is false. */
static int
stat_target(struct shell *sh, const char *target, bool *is_dir)
{
	struct sftp_attrs attrs;
	int r;

	*is_dir = false;
	if (target == NULL)
		return 0;
	r = sftp_call_stat(sh->s, target, true, &attrs);
	*is_dir = r == 0 && (attrs.flags & SFTP_A_MODE) &&
	    S_ISDIR(attrs.mode);
	return r < 0 ? r : 0;
}

/* Reports and drops missing sources before the transfer begins. */
static int
drop_missing(struct strlist *names)
{
	struct strlist there = { NULL, 0 };
	struct stat st;
	int r = 0, failed = SHELL_OK;

	for (size_t i = 0; i < names->n && r == 0; i++) {
		if (stat(names->v[i], &st) == 0) {
			r = strlist_add(&there, names->v[i]);
			continue;
		}
		shell_error("stat %s: %s", names->v[i], strerror(errno));
		failed = SHELL_FAILED;
	}
	strlist_clear(names);
	*names = there;
	return r < 0 ? r : failed;
}

static int
upload(struct shell *sh, const struct shell_call *call, bool resume)
{
	char *target = call->n > 1 ?
	    shell_absolute(sh, call->words[1].text) : NULL;
	struct strlist names = { NULL, 0 };
	struct xfer *x = NULL;
	bool is_dir = false;
	int r, failed = SHELL_OK;

	if (call->n > 1 && target == NULL)
		return ERR_NOMEM;
	r = match_local(call->words[0].pattern, &names);
	if (r == 0)
		r = failed = drop_missing(&names);
	if (r >= 0 && names.n > 0)
		r = stat_target(sh, target, &is_dir);
	if (r == 0 && names.n > 1 && target != NULL && !is_dir) {
		shell_error("Multiple paths match, but destination \"%s\" is "
			   "not a directory", target);
		r = SHELL_FAILED;
	} else if (r == 0 && names.n > 0 &&
	    (r = new_transfers(sh, call, resume, &x)) == 0) {
		r = queue_uploads(sh, x, &names, target, is_dir, resume);
		if (r == 0)
			r = run(sh, x, resume);
		else
			xfer_free(x);
	}
	strlist_clear(&names);
	free(target);
	return shell_worse(r, failed);
}

int
shell_put(struct shell *sh, const struct shell_call *call)
{
	return upload(sh, call, wants_resume(sh, call));
}

int
shell_reput(struct shell *sh, const struct shell_call *call)
{
	return upload(sh, call, true);
}
