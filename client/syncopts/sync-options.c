/* SPDX-License-Identifier: ISC */
#include "client/syncopts/sync-options.h"

#include <sys/stat.h>

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/owners.h"
#include "base/str.h"
#include "client/syncopts/sync-args.h"
#include "client/syncopts/sync-format.h"
#include "conf/client-conf.h"

/* ---- groups of options -------------------------------------------------- */

static const char *
take_archive(struct sync_args *a, const char *value)
{
	(void)value;
	a->archive_recursive |= !a->opts.recursive;
	a->opts.recursive = a->opts.links = a->opts.perms = a->opts.times =
	    a->opts.group = a->opts.owner = a->opts.devices =
		a->opts.specials = true;
	return NULL;
}

static const char *
take_recursive(struct sync_args *a, const char *value)
{
	/* Comes with "off" from --no-r. */
	a->opts.recursive = value == NULL;
	a->archive_recursive = false;
	return NULL;
}

static const char *
take_devices(struct sync_args *a, const char *value)
{
	/* Comes with "off" from --no-D. */
	a->opts.devices = a->opts.specials = value == NULL;
	return NULL;
}

static const char *
take_partial_progress(struct sync_args *a, const char *value)
{
	(void)value;
	a->progress = true;
	return NULL;
}

/* ---- numbers ------------------------------------------------------------ */

static const char *
number(const char *value, int64_t max, int64_t *out)
{
	return str_to_int(value, 0, max, out) < 0 ? "is no number in range" :
						    NULL;
}

/* A size as rsync has it: a number, also with a fraction, and K, M, G, T, P
 * (1024), or KB and the like (1000), or KiB; "+1" or "-1" behind it. */
static const char *
size_of(const char *value, unsigned unit, uint64_t *out)
{
	static const char letters[] = "bkmgtp";
	const char *why = "is no size";
	char *end;
	double n = strtod(value, &end), step = 1024;
	const char *at;
	int power = 0;

	if (end == value || !(n >= 0) || strchr("+-", value[0]) != NULL)
		return why;
	if (*end != '\0' && *end != '+' && *end != '-') {
		at = strchr(letters, *end | 0x20);
		if (at == NULL)
			return why;
		power = (int)(at - letters);
		end++;
		if ((end[0] | 0x20) == 'i' && (end[1] | 0x20) == 'b') {
			end += 2;
		} else if ((*end | 0x20) == 'b') {
			end++;
			step = 1000;
		}
		unit = 1;
	}
	while (power-- > 0)
		n *= step;
	n *= unit;
	if (strcmp(end, "+1") == 0)
		n += 1;
	else if (strcmp(end, "-1") == 0)
		n -= 1;
	else if (*end != '\0')
		return why;
	if (!(n >= 0 && n < 1e18))
		return why;
	*out = (uint64_t)n;
	return NULL;
}

static const char *
take_rate(struct sync_args *a, const char *value)
{
	/* Without a letter the number is of KiB a second. */
	return size_of(value, 1024, &a->xfer.rate_bytes);
}

static const char *
take_max_size(struct sync_args *a, const char *value)
{
	a->opts.size.max_given = true;
	return size_of(value, 1, &a->opts.size.max);
}

static const char *
take_min_size(struct sync_args *a, const char *value)
{
	return size_of(value, 1, &a->opts.size.min);
}

static const char *
take_window(struct sync_args *a, const char *value)
{
	int64_t n;
	const char *why = number(value, INT32_MAX, &n);

	if (why == NULL)
		a->opts.modify_window = (uint32_t)n;
	return why;
}

static const char *
take_max_delete(struct sync_args *a, const char *value)
{
	int64_t n;
	const char *why = number(value, INT64_MAX, &n);

	a->opts.max_delete_given = true;
	if (why == NULL)
		a->opts.max_delete = (uint64_t)n;
	return why;
}

/* Minutes, or with s, m or h. */
static const char *
take_stop_after(struct sync_args *a, const char *value)
{
	static const struct {
		char letter;
		unsigned seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 } };
	char *digits = xstrdup(value), *last;
	unsigned unit = 60;
	const char *why;
	int64_t n = 0;

	last = digits + strlen(digits) - (*digits != '\0');
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (*last == units[i].letter) {
			unit = units[i].seconds;
			*last = '\0';
		}
	}
	why = str_to_int(digits, 1, 1000000, &n) < 0 ?
	    "is no time: minutes, or a number with s, m or h" : NULL;
	a->seconds.stop_after = (uint64_t)n * unit;
	free(digits);
	return why;
}

static const char *
take_connections(struct sync_args *a, const char *value)
{
	int64_t n = 0;

	a->connections_given = true;
	if (strcmp(value, "auto") != 0 &&
	    str_to_int(value, 1, CLIENT_COPY_CONNECTIONS_MAX, &n) < 0)
		return "is no number of connections";
	a->xfer.connections_max = (unsigned)n;
	return NULL;
}

static const char *
take_retry(struct sync_args *a, const char *value)
{
	int64_t n = CLIENT_COPY_RETRIES;

	a->retry_given = true;
	if (value != NULL && str_to_int(value, 0, 1000000, &n) < 0)
		return "is no number of times";
	a->xfer.retries = (unsigned)n;
	return NULL;
}

static const char *
take_direct(struct sync_args *a, const char *value)
{
	if (value == NULL || strcmp(value, "push") == 0)
		a->given.direct = SYNC_DIRECT_PUSH;
	else if (strcmp(value, "pull") == 0)
		a->given.direct = SYNC_DIRECT_PULL;
	else
		return "is push or pull";
	return NULL;
}

/* ---- rules -------------------------------------------------------------- */

static const char *
why_not(int r, const char *why)
{
	return r == 0 ? NULL : why != NULL ? why : err_text(r);
}

static const char *
take_filter(struct sync_args *a, const char *value)
{
	const char *why = NULL;

	return why_not(sync_rules_add(a->rules, value, &why), why);
}

static const char *
take_exclude(struct sync_args *a, const char *value)
{
	const char *why = NULL;

	return why_not(sync_rules_add_pattern(a->rules, true, value, &why),
	    why);
}

static const char *
take_include(struct sync_args *a, const char *value)
{
	const char *why = NULL;

	return why_not(sync_rules_add_pattern(a->rules, false, value, &why),
	    why);
}

static const char *
from_file(struct sync_args *a, bool exclude, const char *value)
{
	const char *why = NULL;
	int r = sync_rules_add_file(a->rules, exclude, value, &why);

	a->given.unreadable = r == ERR_SYSTEM;
	return why_not(r, why);
}

static const char *
take_exclude_from(struct sync_args *a, const char *value)
{
	return from_file(a, true, value);
}

static const char *
take_include_from(struct sync_args *a, const char *value)
{
	return from_file(a, false, value);
}

/* --from0 holds for files of patterns, too, so it acts at once. */
static const char *
take_from0(struct sync_args *a, const char *value)
{
	(void)value;
	a->from0 = true;
	sync_rules_zero_ends(a->rules);
	return NULL;
}

/* -F: files of rules in each directory of the source; given twice, they are not
 * copied. */
static const char *
take_dir_filters(struct sync_args *a, const char *value)
{
	(void)value;
	return a->filters++ == 0 ? take_filter(a, ": /.rsync-filter") :
	    a->filters == 2	 ? take_filter(a, "- .rsync-filter") : NULL;
}

/* ---- the connection ----------------------------------------------------- */

static void
hand_on(struct sync_args *a, const char *word)
{
	if (strlist_add(&a->ssh, word) < 0)
		fatal("%s", err_text(ERR_NOMEM));
}

static const char *
take_timeout(struct sync_args *a, const char *value)
{
	return number(value, 1000000, &a->seconds.timeout);
}

/* Takes the value of --compress-level and its kin. It only has to be a number:
 * whether bytes are compressed is a matter of the connection. */
static const char *
take_level(struct sync_args *a, const char *value)
{
	int64_t level;

	(void)a;
	return str_to_int(value, INT32_MIN, INT32_MAX, &level) < 0 ?
	    "is no number in range" : NULL;
}

/* -e "ssh -p 22 -i key": the words are options of the connection that this
 * process makes, or, if the program is another one, of that program. */
static const char *
take_shell(struct sync_args *a, const char *value)
{
	struct strlist words = { NULL, 0 };
	const char *base, *port = NULL;
	int64_t n;

	if (strlist_split(&words, value, " ") < 0 || words.n == 0)
		return "names no program";
	a->given.shell = true;
	base = strrchr(words.v[0], '/');
	base = base != NULL ? base + 1 : words.v[0];
	if (strcmp(base, "ssh") != 0 && strcmp(base, "hpnssh") != 0)
		a->ssh_program = xstrdup(words.v[0]);
	for (size_t i = 1; i < words.n; i++) {
		if (strncmp(words.v[i], "-p", 2) != 0) {
			hand_on(a, words.v[i]);
			continue;
		}
		port = words.v[i][2] != '\0' ? words.v[i] + 2 :
		    i + 1 < words.n	     ? words.v[++i] : "";
		if (str_to_int(port, 1, 65535, &n) < 0)
			return "has no port behind -p";
		a->port = (int)n;
	}
	strlist_clear(&words);
	return NULL;
}

static const char *
take_ipv4(struct sync_args *a, const char *value)
{
	(void)value;
	hand_on(a, "-4");
	return NULL;
}

static const char *
take_ipv6(struct sync_args *a, const char *value)
{
	(void)value;
	hand_on(a, "-6");
	return NULL;
}

/* ---- attributes --------------------------------------------------------- */

/* -A sets -p, too: ACLs without the permissions that belong to them would mean
 * something else. */
static const char *
take_acls(struct sync_args *a, const char *value)
{
	/* --no-A calls this with the value "off". */
	a->opts.also.acls = value == NULL;
	a->opts.perms |= a->opts.also.acls;
	return NULL;
}

static const char *
take_out_format(struct sync_args *a, const char *value)
{
	a->out_format = value;
	return sync_format_check(value);
}

static const char *
take_log_format(struct sync_args *a, const char *value)
{
	a->log_format = value;
	return sync_format_check(value);
}

static const char *
take_chmod(struct sync_args *a, const char *value)
{
	mode_t mask = umask(0);
	const char *why = NULL;
	int r;

	(void)umask(mask);
	if (a->chmod == NULL && (a->chmod = sync_chmod_new(mask)) == NULL)
		return err_text(ERR_NOMEM);
	r = sync_chmod_add(a->chmod, value, &why);
	a->opts.chmod = a->chmod;
	return r == 0 ? NULL : why != NULL ? why : err_text(r);
}

static const char *
take_dest(struct sync_args *a, enum sync_dest dest, const char *value)
{
	enum sync_dest *now = &a->opts.one_file.dest;

	if (*now != SYNC_DEST_NONE && *now != dest)
		return "stands beside another one of --link-dest, "
		    "--compare-dest and --copy-dest: only one of these";
	if (a->dests.n == SYNC_DESTS_MAX)
		return "is one directory too many: 20 at most";
	if (*value == '\0')
		return "is empty";
	*now = dest;
	xstrlist_add(&a->dests, value);
	return NULL;
}

static const char *
take_temp_dir(struct sync_args *a, const char *value)
{
	a->temp_dir = value;
	return *value == '\0' ? "is empty" : NULL;
}

static const char *
take_link_dest(struct sync_args *a, const char *value)
{
	return take_dest(a, SYNC_DEST_LINK, value);
}

static const char *
take_compare_dest(struct sync_args *a, const char *value)
{
	return take_dest(a, SYNC_DEST_COMPARE, value);
}

static const char *
take_copy_dest(struct sync_args *a, const char *value)
{
	return take_dest(a, SYNC_DEST_COPY, value);
}

/* Reads a number, or a name that is looked up later at the target's host. */
static const char *
take_id(char *text, int64_t *id, char **name)
{
	free(*name);
	*name = NULL;
	*id = SYNC_ANY_ID;
	if (str_to_int(text, 0, UINT32_MAX - 1, id) >= 0)
		return NULL;
	if (!owners_may_name(text, strlen(text)))
		return "has a name that nobody can have";
	*name = xstrdup(text);
	return NULL;
}

static const char *
take_chown(struct sync_args *a, const char *value)
{
	char *user = xstrdup(value), *group = user;
	const char *why = NULL;

	(void)strsep(&group, ":");
	if (*user != '\0')
		why = take_id(user, &a->opts.chown_user, &a->chown.user);
	if (why == NULL && group != NULL && *group != '\0')
		why = take_id(group, &a->opts.chown_group, &a->chown.group);
	free(user);
	return why;
}

/* ---- what is told ------------------------------------------------------- */

static const char *
take_progress(struct sync_args *a, const char *value)
{
	static const struct {
		const char *word;
		enum progress_style style;
	} styles[] = { { "tty", PROGRESS_TTY }, { "plain", PROGRESS_PLAIN },
		{ "none", PROGRESS_NONE } };

	a->progress = true;
	if (value == NULL)
		return NULL;
	if (strcmp(value, "off") == 0) {
		a->progress = false;
		return NULL;
	}
	for (size_t i = 0; i < ARRAY_LEN(styles); i++) {
		if (strcmp(value, styles[i].word) == 0) {
			a->style = styles[i].style;
			a->given.style = true;
			return NULL;
		}
	}
	return "is tty, plain or none";
}

static const char *
take_info_word(struct sync_args *a, const char *word)
{
	if (strcmp(word, "progress") == 0 || strcmp(word, "progress1") == 0 ||
	    strcmp(word, "progress2") == 0)
		a->progress = true;
	else if (strcmp(word, "progress0") == 0)
		a->progress = false;
	else if (strcmp(word, "name") == 0 || strcmp(word, "name1") == 0)
		a->names_off = false, a->verbose += a->verbose == 0;
	else if (strcmp(word, "name0") == 0)
		a->names_off = true;
	else if (strcmp(word, "stats") == 0 || strcmp(word, "stats1") == 0 ||
	    strcmp(word, "stats2") == 0)
		a->stats = true;
	else
		return "is a word that hpnsync does not have: progress, "
		       "progress2, name, name0, stats";
	return NULL;
}

static const char *
take_info(struct sync_args *a, const char *value)
{
	struct strlist words = { NULL, 0 };
	const char *why = NULL;

	if (strlist_split(&words, value, ",") < 0)
		return err_text(ERR_NOMEM);
	for (size_t i = 0; i < words.n && why == NULL; i++)
		why = take_info_word(a, words.v[i]);
	strlist_clear(&words);
	return why;
}

/* ---- the table ---------------------------------------------------------- */

#define ARG(field) offsetof(struct sync_args, field)
#define FLAG(name, letter, field)                                             \
	{ name, letter, false, SYNC_OPT_FLAG, ARG(field), NULL, NULL }
#define COUNT(name, letter, field)                                            \
	{ name, letter, false, SYNC_OPT_COUNT, ARG(field), NULL, NULL }
#define TEXT(name, letter, field)                                             \
	{ name, letter, true, SYNC_OPT_TEXT, ARG(field), NULL, NULL }
#define CALL(name, letter, function)                                          \
	{ name, letter, false, SYNC_OPT_CALL, 0, function, NULL }
#define VALUE(name, letter, function)                                         \
	{ name, letter, true, SYNC_OPT_CALL, 0, function, NULL }
#define TRUE(name, letter)                                                    \
	{ name, letter, false, SYNC_OPT_TRUE, 0, NULL, NULL }
#define TRUE_WITH(name)                                                       \
	{ name, 0, true, SYNC_OPT_TRUE, 0, NULL, NULL }
#define REFUSED(name, letter, has_value, text)                                \
	{ name, letter, has_value, SYNC_OPT_REFUSED, 0, NULL, text }

#define NOT_YET "not in this version"
#define USE_RSYNC "for that use rsync -e hpnssh"

const struct sync_option sync_options[] = {
	/* what is copied */
	CALL("archive", 'a', take_archive),
	CALL("recursive", 'r', take_recursive),
	FLAG("dirs", 'd', opts.dirs),
	FLAG("links", 'l', opts.links),
	FLAG("copy-links", 'L', opts.copy_links),
	FLAG("copy-dirlinks", 'k', opts.copy_dirlinks),
	FLAG("keep-dirlinks", 'K', opts.keep_dirlinks),
	CALL(NULL, 'D', take_devices),
	FLAG("devices", 0, opts.devices),
	FLAG("specials", 0, opts.specials),
	FLAG("one-file-system", 'x', opts.one_device),
	FLAG("prune-empty-dirs", 'm', opts.prune_empty),
	VALUE("max-size", 0, take_max_size),
	VALUE("min-size", 0, take_min_size),
	FLAG("relative", 'R', relative),
	{ "implied-dirs", 0, false, SYNC_OPT_NOT, ARG(no_implied_dirs), NULL,
	    NULL },
	FLAG("mkpath", 0, make_path),
	TEXT("files-from", 0, files_from),
	CALL("from0", '0', take_from0),
	VALUE("exclude", 0, take_exclude),
	VALUE("include", 0, take_include),
	VALUE("exclude-from", 0, take_exclude_from),
	VALUE("include-from", 0, take_include_from),
	VALUE("filter", 'f', take_filter),
	CALL(NULL, 'F', take_dir_filters),
	FLAG("cvs-exclude", 'C', given.cvs_exclude),
	/* attributes */
	FLAG("perms", 'p', opts.perms),
	FLAG("executability", 'E', opts.also.executability),
	FLAG("times", 't', opts.times),
	FLAG("group", 'g', opts.group),
	FLAG("owner", 'o', opts.owner),
	FLAG("omit-dir-times", 'O', opts.omit.dir_times),
	FLAG("omit-link-times", 'J', opts.omit.link_times),
	FLAG("numeric-ids", 0, opts.omit.owner_names),
	FLAG("xattrs", 'X', opts.also.xattrs),
	CALL("acls", 'A', take_acls),
	VALUE("chmod", 0, take_chmod),
	VALUE("chown", 0, take_chown),
	/* what has changed */
	FLAG("update", 'u', opts.update),
	FLAG("checksum", 'c', opts.checksum),
	FLAG("size-only", 0, opts.size_only),
	FLAG("ignore-times", 'I', opts.ignore_times),
	FLAG("existing", 0, opts.existing),
	FLAG("ignore-non-existing", 0, opts.existing),
	FLAG("ignore-existing", 0, opts.ignore_existing),
	VALUE("modify-window", '@', take_window),
	/* how */
	FLAG("dry-run", 'n', opts.dry_run),
	FLAG("hard-links", 'H', opts.one_file.hard_links),
	VALUE("link-dest", 0, take_link_dest),
	VALUE("compare-dest", 0, take_compare_dest),
	VALUE("copy-dest", 0, take_copy_dest),
	FLAG("inplace", 0, opts.in_place),
	FLAG("append-verify", 0, opts.size.grows),
	FLAG("sparse", 'S', xfer.sparse),
	FLAG("fsync", 0, xfer.fsync),
	TRUE("partial", 0), /* parts are always kept */
	CALL(NULL, 'P', take_partial_progress),
	VALUE("temp-dir", 'T', take_temp_dir),
	COUNT("whole-file", 'W', whole),
	FLAG("fuzzy", 'y', opts.one_file.similar),
	FLAG("detect-renames", 0, opts.one_file.renamed),
	FLAG("backup", 'b', opts.backup),
	TEXT("backup-dir", 0, opts.backup_dir),
	TEXT("suffix", 0, opts.suffix),
	FLAG("remove-source-files", 0, opts.remove_source),
	FLAG("verify", 0, xfer.verify),
	/* deletes */
	FLAG("delete", 0, opts.delete),
	FLAG("del", 0, given.during),
	FLAG("delete-during", 0, given.during),
	FLAG("delete-delay", 0, given.during),
	FLAG("delete-after", 0, given.after),
	FLAG("delete-excluded", 0, opts.delete_excluded),
	FLAG("ignore-errors", 0, opts.ignore_errors),
	FLAG("force", 0, opts.force),
	VALUE("max-delete", 0, take_max_delete),
	FLAG("break-lock", 0, break_lock),
	/* the connection */
	VALUE("rsh", 'e', take_shell),
	FLAG("compress", 'z', compress),
	VALUE("compress-level", 0, take_level), /* that of the connection; no */
	VALUE("zl", 0, take_level),		/* result depends on it */
	TRUE_WITH("skip-compress"),
	TEXT("sftp-server", 0, sftp_server),
	VALUE("bwlimit", 0, take_rate),
	VALUE("timeout", 0, take_timeout),
	VALUE("connections", 'j', take_connections),
	CALL("retry", 0, take_retry),
	CALL("direct", 0, take_direct),
	VALUE("stop-after", 0, take_stop_after),
	CALL("ipv4", '4', take_ipv4),
	CALL("ipv6", '6', take_ipv6),
	/* what is told */
	COUNT("verbose", 'v', verbose),
	COUNT("quiet", 'q', quiet),
	COUNT("itemize-changes", 'i', itemize),
	COUNT("human-readable", 'h', human),
	FLAG("stats", 0, stats),
	CALL("progress", 0, take_progress),
	VALUE("info", 0, take_info),
	VALUE("out-format", 0, take_out_format),
	VALUE("log-format", 0, take_out_format),
	TEXT("log-file", 0, log_file),
	VALUE("log-file-format", 0, take_log_format),
	FLAG("json", 0, json),
	TEXT("manifest", 0, manifest),
	TEXT("receipt", 0, receipt),
	TEXT("report", 0, report.path),
	TEXT("check", 0, check),
	FLAG("extra", 0, extra),
	FLAG("recall", 0, opts.also.recall),
	/* in parts */
	TEXT("plan", 0, given.job.plan),
	TEXT("shards", 0, given.job.shards),
	TEXT("grant", 0, given.job.grant),
	TEXT("shard", 0, given.job.shard),
	TEXT("job", 0, given.job.of),
	TEXT("finish", 0, given.job.finish),
	/* always so */
	TRUE("secluded-args", 's'), /* names never go through a shell */
	TRUE("protect-args", 0),
	TRUE("inc-recursive", 0), /* both give what the other gives */
	TRUE("i-r", 0),
	/* the next version's */
	REFUSED("safe-links", 0, false, NOT_YET),
	REFUSED("copy-unsafe-links", 0, false, NOT_YET),
	REFUSED("munge-links", 0, false, NOT_YET),
	REFUSED("append", 0, false, "what is there already has to be the "
	    "source's: --append-verify"),
	REFUSED("block-size", 'B', true, NOT_YET ": blocks are as the "
	    "size of a file asks for"),
	REFUSED("ignore-missing-args", 0, false, NOT_YET),
	REFUSED("delete-missing-args", 0, false, NOT_YET),
	REFUSED("usermap", 0, true, NOT_YET),
	REFUSED("groupmap", 0, true, NOT_YET),
	REFUSED("atimes", 'U', false, NOT_YET),
	REFUSED("crtimes", 'N', false, NOT_YET),
	REFUSED("remove-sent-files", 0, false, "--remove-source-files, which "
	    "also removes what is there already"),
	REFUSED("list-only", 0, false, "for a list: hpnsftp, or hpnsync -n -v"),
	/* never */
	REFUSED("delete-before", 0, false,
	    "deletes come last, when all else is done: --delete"),
	REFUSED("partial-dir", 0, true,
	    "a part stays beside its target, and is found there: --partial"),
	REFUSED("delay-updates", 0, false, USE_RSYNC),
	REFUSED("rsync-path", 0, true,
	    "there is no rsync at the other end; to be root there: "
	    "--sftp-server 'sudo -n /usr/libexec/hpnsftp-server'"),
	REFUSED("remote-option", 'M', true,
	    "there is no rsync at the other end"),
	REFUSED("daemon", 0, false, USE_RSYNC),
	REFUSED("server", 0, false, USE_RSYNC),
	REFUSED("config", 0, true, USE_RSYNC),
	REFUSED("password-file", 0, true, USE_RSYNC),
	REFUSED("port", 0, true, "-e 'hpnssh -p port'"),
	REFUSED("address", 0, true, "-e 'hpnssh -b address'"),
	REFUSED("sockopts", 0, true, USE_RSYNC),
	REFUSED("contimeout", 0, true, "-e 'hpnssh -oConnectTimeout=seconds'"),
	REFUSED("blocking-io", 0, false, USE_RSYNC),
	REFUSED("outbuf", 0, true, USE_RSYNC),
	REFUSED("write-batch", 0, true, USE_RSYNC),
	REFUSED("only-write-batch", 0, true, USE_RSYNC),
	REFUSED("read-batch", 0, true, USE_RSYNC),
	REFUSED("protocol", 0, true, USE_RSYNC),
	REFUSED("iconv", 0, true, USE_RSYNC),
	REFUSED("fake-super", 0, false, USE_RSYNC),
	REFUSED("super", 0, false, USE_RSYNC),
	REFUSED("copy-devices", 0, false, USE_RSYNC),
	REFUSED("write-devices", 0, false, USE_RSYNC),
	REFUSED("copy-as", 0, true, USE_RSYNC),
	REFUSED("preallocate", 0, false, USE_RSYNC),
	REFUSED("open-noatime", 0, false, USE_RSYNC),
	REFUSED("checksum-choice", 0, true, "digests are SHA-256: -c alone"),
	REFUSED("cc", 0, true, "digests are SHA-256: -c alone"),
	REFUSED("checksum-seed", 0, true, "digests are SHA-256: -c alone"),
	REFUSED("compress-choice", 0, true, "the connection's zlib: -z alone"),
	REFUSED("zc", 0, true, "the connection's zlib: -z alone"),
	REFUSED("debug", 0, true, "-e 'hpnssh -v' tells of the connection"),
	REFUSED("stderr", 0, true, "errors go to standard error"),
	REFUSED("msgs2stderr", 0, false, "errors go to standard error"),
	REFUSED("8-bit-output", '8', false,
	    "what a terminal cannot show is escaped"),
	REFUSED("old-args", 0, false, "names never go through a shell"),
	REFUSED("old-dirs", 0, false, "-d"),
	REFUSED("trust-sender", 0, false, "what a server tells is checked"),
	REFUSED("no-motd", 0, false, USE_RSYNC),
	REFUSED("stop-at", 0, true, "--stop-after"),
	REFUSED("early-input", 0, true, USE_RSYNC),
	REFUSED("dparam", 0, true, USE_RSYNC),
};

const size_t sync_option_count = ARRAY_LEN(sync_options);
