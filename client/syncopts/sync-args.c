/* SPDX-License-Identifier: ISC */
#include "client/syncopts/sync-args.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/called.h"
#include "base/log.h"
#include "base/mem.h"
#include "client/report/report-command.h"
#include "client/syncopts/sync-exit.h"
#include "client/syncopts/sync-options.h"

_Noreturn static void
refuse(enum sync_exit status, const char *option, const char *text)
{
	char *shown = xstr_escape(option);

	fprintf(stderr, "%s: %s %s\n", called_name("hpnsync"), shown, text);
	exit(status);
}

/* The text of a refusal: "--iconv is not here: use rsync -e hpnssh". */
_Noreturn static void
refuse_row(const struct sync_option *o, const char *given)
{
	char *text;

	xasprintf(&text, "is not here: %s", o->text);
	refuse(SYNC_EXIT_REFUSED, given, text);
}

static const struct sync_option *
by_name(const char *name, size_t len)
{
	for (size_t i = 0; i < sync_option_count; i++) {
		const struct sync_option *o = &sync_options[i];

		if (o->name != NULL && strlen(o->name) == len &&
		    memcmp(o->name, name, len) == 0)
			return o;
		/* --no-r, as --no-recursive */
		if (len == 1 && o->letter == name[0])
			return o;
	}
	return NULL;
}

static const struct sync_option *
by_letter(char letter)
{
	for (size_t i = 0; i < sync_option_count; i++)
		if (sync_options[i].letter == letter)
			return &sync_options[i];
	return NULL;
}

static void *
field(struct sync_args *a, const struct sync_option *o)
{
	return (char *)a + o->at;
}

/* Notes the name of an option for the report, and its value. */
static void
note(struct sync_args *a, const char *given, const char *value)
{
	char *name = xstrndup(given, strcspn(given, "="));

	report_command_option(&a->report.command, name, value);
	free(name);
}

static void
apply(struct sync_args *a, const struct sync_option *o, const char *given,
    const char *value)
{
	const char *why = NULL;

	note(a, given, value);
	switch (o->kind) {
	case SYNC_OPT_FLAG:
		*(bool *)field(a, o) = true;
		break;
	case SYNC_OPT_NOT:
		*(bool *)field(a, o) = false;
		break;
	case SYNC_OPT_COUNT:
		++*(unsigned *)field(a, o);
		break;
	case SYNC_OPT_TEXT:
		*(const char **)field(a, o) = value;
		break;
	case SYNC_OPT_CALL:
		why = o->take(a, value);
		break;
	case SYNC_OPT_TRUE:
		break;
	case SYNC_OPT_REFUSED:
		refuse_row(o, given);
	}
	if (why != NULL)
		refuse(a->given.unreadable ? SYNC_EXIT_OUTPUT :
					     SYNC_EXIT_USAGE, given, why);
}

/* --no-NAME. False: there is no such option. */
static bool
negate(struct sync_args *a, const char *given, const char *name)
{
	const struct sync_option *o = by_name(name, strlen(name));

	if (o == NULL)
		return false;
	switch (o->kind) {
	case SYNC_OPT_FLAG:
		*(bool *)field(a, o) = false;
		return true;
	case SYNC_OPT_NOT:
		*(bool *)field(a, o) = true;
		return true;
	case SYNC_OPT_COUNT:
		*(unsigned *)field(a, o) = 0;
		return true;
	case SYNC_OPT_CALL:
		if (strcmp(name, "bwlimit") == 0 ||
		    strcmp(name, "timeout") == 0)
			return o->take(a, "0") == NULL;
		if (o->letter != 'D' && o->letter != 'r' &&
		    strcmp(name, "progress") != 0)
			return false;
		return o->take(a, "off") == NULL;
	case SYNC_OPT_TRUE: /* --no-i-r */
	case SYNC_OPT_REFUSED:
		/* The option changes nothing here, or is refused: there is
		 * nothing to turn off. */
		return true;
	case SYNC_OPT_TEXT:
		break;
	}
	refuse(SYNC_EXIT_USAGE, given, "cannot be turned off");
}

_Noreturn static void
unknown(const char *given)
{
	if (strcmp(given, "--help") == 0 || strcmp(given, "--version") == 0)
		refuse(SYNC_EXIT_USAGE, given, "stands alone");
	refuse(SYNC_EXIT_USAGE, given,
	    "is no option of hpnsync (hpnsync --help lists them)");
}

/* Handles "--name", "--name=value", or "--name" with *next as its value.
 * Returns how many words of argv after it were taken. */
static int
take_long(struct sync_args *a, const char *given, const char *next)
{
	const char *name = given + 2, *value = strchr(name, '=');
	size_t len = value != NULL ? (size_t)(value - name) : strlen(name);
	const struct sync_option *o = by_name(name, len);

	if (o != NULL && o->name == NULL && len == 1)
		o = NULL; /* "--D" */
	if (o == NULL) {
		if (value == NULL && strncmp(name, "no-", 3) == 0 &&
		    negate(a, given, name + 3)) {
			note(a, given, NULL);
			return 0;
		}
		unknown(given);
	}
	if (o->kind == SYNC_OPT_REFUSED)
		refuse_row(o, given);
	if (value != NULL) {
		/* --direct=WORD, --progress=WORD and --retry=N may have a
		 * value. */
		if (!o->has_value && strcmp(o->name, "direct") != 0 &&
		    strcmp(o->name, "progress") != 0 &&
		    strcmp(o->name, "retry") != 0)
			refuse(SYNC_EXIT_USAGE, given, "takes no value");
		apply(a, o, given, value + 1);
		return 0;
	}
	if (o->has_value && next == NULL)
		refuse(SYNC_EXIT_USAGE, given, "needs a value");
	apply(a, o, given, o->has_value ? next : NULL);
	return o->has_value ? 1 : 0;
}

/* Handles "-avz", "-e ssh", "-essh". Returns as take_long(). */
static int
take_letters(struct sync_args *a, const char *given, const char *next)
{
	char shown[3] = "-?";

	for (const char *p = given + 1; *p != '\0'; p++) {
		const struct sync_option *o = by_letter(*p);

		shown[1] = *p;
		if (o == NULL)
			unknown(shown);
		if (o->kind == SYNC_OPT_REFUSED)
			refuse_row(o, shown);
		if (!o->has_value) {
			apply(a, o, shown, NULL);
			continue;
		}
		if (p[1] != '\0') {
			apply(a, o, shown, p[1] == '=' ? p + 2 : p + 1);
			return 0;
		}
		if (next == NULL)
			refuse(SYNC_EXIT_USAGE, shown, "needs a value");
		apply(a, o, shown, next);
		return 1;
	}
	return 0;
}

/* Takes RSYNC_RSH, which scripts set once for all their calls, as -e, unless -e
 * is given. */
static void
shell_of_environment(struct sync_args *a)
{
	const char *value = getenv("RSYNC_RSH");
	const struct sync_option *o = by_letter('e');

	if (value != NULL && *value != '\0' && o != NULL && !a->given.shell)
		apply(a, o, "RSYNC_RSH", value);
}

static void
protect_backups(struct sync_args *a)
{
	const char *why = NULL;
	char *rule;

	xasprintf(&rule, "P *%s", a->opts.suffix);
	if (sync_rules_add(a->rules, rule, &why) != 0)
		refuse(SYNC_EXIT_USAGE, "--suffix", why != NULL ? why :
		    "cannot be a rule");
	free(rule);
}

/* -C: adds the rules for CVS behind all others, so that those can overrule
 * them. */
static void
exclude_as_cvs(struct sync_args *a)
{
	const char *why = NULL;

	if (sync_rules_add(a->rules, ":C", &why) != 0 ||
	    sync_rules_add(a->rules, "-C", &why) != 0)
		refuse(SYNC_EXIT_USAGE, "-C", why != NULL ? why :
		    "cannot be a rule");
}

/* Completes the options for deletes. hpnsync deletes at the end whichever of
 * --delete-during and --delete-after is given, but a user who gives both has
 * made a mistake. */
static void
complete_deletes(struct sync_args *a)
{
	struct sync_opts *o = &a->opts;

	if (a->given.during && a->given.after)
		refuse(SYNC_EXIT_USAGE, "--delete-after", "and --delete-during "
		    "or --delete-delay: only one of them");
	o->delete |= a->given.during || a->given.after;
	if (o->delete_excluded) {
		o->delete = true;
		sync_rules_sender_only(a->rules);
	}
	if (o->delete && !o->recursive && !o->dirs)
		refuse(SYNC_EXIT_USAGE, "--delete",
		    "does not work without -r or -d");
	if (o->one_file.renamed && !o->delete)
		refuse(SYNC_EXIT_USAGE, "--detect-renames", "does not work "
		    "without --delete: a renamed file is one that is to be "
		    "deleted");
}

/* --timeout: two questions within that time that are not answered. */
static void
complete_timeout(struct sync_args *a)
{
	char *interval;

	if (a->seconds.timeout == 0)
		return;
	xasprintf(&interval, "-oServerAliveInterval=%lld",
	    (long long)(a->seconds.timeout + 1) / 2);
	if (strlist_add(&a->ssh, interval) < 0 ||
	    strlist_add(&a->ssh, "-oServerAliveCountMax=1") < 0)
		fatal("%s", err_text(ERR_NOMEM));
	free(interval);
}

/* Sets the options of a shard, which copies the files of its list. --finish
 * deletes, and finds names of one file. Directories stay writable until then,
 * for other shards. */
static void
keep_to_list(struct sync_args *a)
{
	struct sync_opts *o = &a->opts;
	const char *why = NULL;

	a->files_from = a->given.job.list;
	a->from0 = true;
	o->recursive = o->delete = o->delete_excluded = false;
	a->given.during = a->given.after = false;
	o->one_file.hard_links = o->one_file.renamed = false;
	o->omit.dir_times = true;
	if (o->perms)
		why = by_name("chmod", strlen("chmod"))->take(a, "Du+rwx");
	if (why != NULL)
		refuse(SYNC_EXIT_USAGE, "--chmod", why);
}

/* Refuses what makes no sense together, and sets what follows from several
 * options. */
static void
complete(struct sync_args *a)
{
	struct sync_opts *o = &a->opts;

	if (a->given.job.list != NULL)
		keep_to_list(a);
	if (a->files_from != NULL) {
		/* As rsync: -R and -d, and -a without -r. */
		a->relative = true;
		o->dirs = o->also.listed = true;
		if (a->archive_recursive)
			o->recursive = false;
	}
	if (a->given.cvs_exclude)
		exclude_as_cvs(a);
	complete_deletes(a);
	complete_timeout(a);
	if (o->backup_dir != NULL && *o->backup_dir == '\0')
		refuse(SYNC_EXIT_USAGE, "--backup-dir", "is empty");
	if (o->suffix == NULL)
		o->suffix = o->backup_dir != NULL ? "" : "~";
	if (o->backup_dir != NULL)
		o->backup = true;
	if (o->backup && o->backup_dir == NULL && o->suffix[0] == '\0')
		refuse(SYNC_EXIT_USAGE, "--suffix", "may not be empty without "
		    "--backup-dir");
	if (o->suffix[strcspn(o->suffix, "/")] != '\0')
		refuse(SYNC_EXIT_USAGE, "--suffix", "may not have a slash");
	if (o->backup && o->backup_dir == NULL) {
		/* As rsync: backups are not deleted, and they change times of
		 * directories. */
		o->omit.dir_times = true;
		if (o->delete && !o->delete_excluded)
			protect_backups(a);
	}
	/* The target itself grows, in place, as with rsync. */
	o->in_place |= o->size.grows;
	if (o->size.grows && a->whole > 1)
		refuse(SYNC_EXIT_USAGE, "--append-verify", "and -W: only one "
		    "of them");
	if (a->json && a->given.style)
		refuse(SYNC_EXIT_USAGE, "--json", "and --progress=WORD: only "
		    "one of them");
	if (a->compress && strlist_add(&a->ssh, "-oCompression=yes") < 0)
		fatal("%s", err_text(ERR_NOMEM));
	/* Nobody sees a copy stand still that does not come by here: a host
	 * that is silent is given up. What the user has given comes before. */
	if (a->given.direct != SYNC_DIRECT_NO &&
	    strlist_add(&a->ssh, "-oServerAliveInterval=15") < 0)
		fatal("%s", err_text(ERR_NOMEM));
	if (a->quiet > 0)
		a->verbose = 0;
	a->xfer.in_place = o->in_place;
	/* A source may be removed only when its copy is on the disk. */
	a->xfer.fsync |= o->remove_source;
}

char **
sync_args_read(struct sync_args *a, int argc, char **argv, int *n)
{
	char **names = xcalloc((size_t)argc + 1, sizeof *names);
	bool only_names = false;

	a->opts.chown_user = a->opts.chown_group = SYNC_ANY_ID;
	a->xfer.check_space = true;
	a->whole = 1;
	a->style = PROGRESS_NONE;
	if ((a->rules = sync_rules_new()) == NULL)
		fatal("%s", err_text(ERR_NOMEM));
	*n = 0;
	for (int i = 1; i < argc; i++) {
		const char *next = i + 1 < argc ? argv[i + 1] : NULL;

		if (only_names || argv[i][0] != '-' || argv[i][1] == '\0')
			names[(*n)++] = argv[i];
		else if (strcmp(argv[i], "--") == 0)
			only_names = true;
		else if (++a->given.options, argv[i][1] == '-')
			i += take_long(a, argv[i], next);
		else
			i += take_letters(a, argv[i], next);
	}
	shell_of_environment(a);
	complete(a);
	return names;
}

void
sync_args_clear(struct sync_args *a)
{
	sync_rules_free(a->rules);
	sync_chmod_free(a->chmod);
	strlist_clear(&a->ssh);
	strlist_clear(&a->report.command);
	strlist_clear(&a->dests);
	free(a->chown.user);
	free(a->chown.group);
}
