/* SPDX-License-Identifier: ISC */
/* known_hosts files: finds, removes and hashes their host names. */
#include "keytools/keygen/keygen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "keys/knownhosts.h"

static char *
hosts_path(void)
{
	struct stat st;
	char *path = opt.file != NULL ? xstrdup(opt.file) :
					keygen_home_file("known_hosts");

	if (stat(path, &st) == -1)
		fatal("Cannot stat %s: %s", path, strerror(errno));
	return path;
}

static void
print_found_fingerprint(const struct key *k, const char *comment)
{
	char *fp = key_fingerprint(k, opt.hash);
	char *shown = xstr_escape(comment);

	if (fp == NULL)
		fatal("out of memory");
	printf("%s %s %s%s%s\n", opt.host, key_short_name(k), fp,
	    *shown != '\0' ? " " : "", shown);
	if (opt.verbose)
		keygen_print_art(k);
	free(shown);
	free(fp);
}

/* With -H as that would make the line. */
static int
print_found_line(const struct knownhosts_text *found)
{
	struct span rest = { (const uint8_t *)found->rest,
		strlen(found->rest) };
	struct buf lines = { 0 };
	bool pattern = false;
	char *text;
	int r;

	if (!opt.hash_hosts || !knownhosts_may_be_hashed(found->marker,
	    found->hosts, &pattern)) {
		keygen_print_text(found->line);
		return 0;
	}
	r = knownhosts_hash_line(found->hosts, rest, &lines);
	text = r == 0 ? buf_dup_string(&lines) : NULL;
	buf_clear(&lines);
	for (char *at = text, *line; (line = strsep(&at, "\n")) != NULL;)
		if (*line != '\0')
			keygen_print_text(line);
	free(text);
	return r;
}

/* NULL if it is none. */
static struct key *
parse_key(const char *text, char **comment)
{
	char *line = xstrdup(text);
	struct knownhosts_line l = { 0 };
	struct key *k = NULL;

	line[strcspn(line, "\r")] = '\0';
	if (knownhosts_parse_line(line, &l) == 0) {
		k = l.key;
		*comment = l.comment;
		l.key = NULL;
		l.comment = NULL;
	}
	knownhosts_line_clear(&l);
	free(line);
	return k;
}

static int
find_line(void *arg, unsigned number, const struct knownhosts_text *found)
{
	static const char *const tags[] = {
		[KNOWNHOSTS_NONE] = "",
		[KNOWNHOSTS_REVOKED] = "REVOKED",
		[KNOWNHOSTS_CA] = "CA",
	};
	bool *any = arg;
	struct key *k = NULL;
	char *comment = NULL;
	int r = 0;

	if (opt.fingerprint &&
	    (k = parse_key(found->line, &comment)) == NULL)
		return 0;
	*any = true;
	if (!opt.quiet)
		printf("# Host %s found: line %u %s\n", opt.host, number,
		    tags[found->marker]);
	if (k != NULL)
		print_found_fingerprint(k, comment);
	else
		r = print_found_line(found);
	key_free(k);
	free(comment);
	return r;
}

int
keygen_find_host(void)
{
	char *path = hosts_path();
	bool found = false;
	int r = knownhosts_find(path, opt.host, find_line, &found);

	if (r != 0)
		fatal("%s: %s", path, err_text(r));
	free(path);
	return found ? OK : FAILED;
}

static void
note_edit(void *arg, enum knownhosts_note note, unsigned number,
    const char *text)
{
	const char *path = arg;

	switch (note) {
	case KNOWNHOSTS_NOTE_REMOVED:
		if (!opt.quiet)
			printf("# Host %s found: line %u\n", opt.host, number);
		break;
	case KNOWNHOSTS_NOTE_PATTERN:
		log_info("%s:%u: ignoring host name with wildcard: %s", path,
		    number, text);
		break;
	case KNOWNHOSTS_NOTE_BAD_LINE:
		log_error("%s:%u: invalid line", path, number);
		break;
	}
}

/* As stock's: a file that is not understood is not rewritten. */
static int
refuse(char *path)
{
	log_error("%s is not a valid known_hosts file.", path);
	log_error("Not replacing existing known_hosts file because of errors");
	free(path);
	return FAILED;
}

static void
say_updated(const char *path)
{
	printf("%s updated.\nOriginal contents retained as %s.old\n", path,
	    path);
}

int
keygen_remove_host(void)
{
	char *path = hosts_path();
	unsigned changed = 0;
	int r = knownhosts_remove(path, opt.host, note_edit, path, &changed);

	if (r == ERR_FORMAT)
		return refuse(path);
	if (r != 0)
		fatal("%s: %s", path, err_text(r));
	if (changed == 0)
		log_info("Host %s not found in %s", opt.host, path);
	else
		say_updated(path);
	free(path);
	return OK;
}

int
keygen_hash_hosts(void)
{
	char *path = hosts_path();
	unsigned changed = 0;
	int r = knownhosts_hash_all(path, note_edit, path, &changed);

	if (r == ERR_FORMAT)
		return refuse(path);
	if (r != 0)
		fatal("%s: %s", path, err_text(r));
	say_updated(path);
	if (changed > 0) {
		log_info("WARNING: %s.old contains unhashed entries", path);
		log_info("Delete this file, or it will still tell the names.");
	}
	free(path);
	return OK;
}
