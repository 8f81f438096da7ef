/* SPDX-License-Identifier: ISC */
/* Finds, removes and hashes host names in known_hosts files (-F, -R, -H). */
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
hosts_path(const struct keygen_options *o)
{
	struct stat st;
	char *path = o->file != NULL ? xstrdup(o->file) :
				       keygen_home_file("known_hosts");

	if (stat(path, &st) == -1)
		fatal("Cannot stat %s: %s", path, strerror(errno));
	return path;
}

static void
print_found_fingerprint(const struct keygen_options *o, const struct key *k,
    const char *comment)
{
	char *fp = key_fingerprint(k, o->hash);
	char *shown = xstr_escape(comment);

	if (fp == NULL)
		fatal("out of memory");
	printf("%s %s %s%s%s\n", o->host, key_short_name(k), fp,
	    *shown != '\0' ? " " : "", shown);
	if (o->verbose)
		keygen_print_art(o, k);
	free(shown);
	free(fp);
}

/* Prints the line that was found; with -H its names are hashed. */
static int
print_found_line(const struct keygen_options *o,
    const struct knownhosts_text *found)
{
	struct span rest = { (const uint8_t *)found->rest,
		strlen(found->rest) };
	struct buf lines = { 0 };
	bool pattern = false;
	char *text;
	int r;

	if (!o->hash_hosts || !knownhosts_may_be_hashed(found->marker,
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

/* The key of a line and its comment; NULL: the line has no key. */
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

struct finding {
	const struct keygen_options *o;
	bool any;
};

static int
find_line(void *arg, unsigned number, const struct knownhosts_text *found)
{
	static const char *const tags[] = {
		[KNOWNHOSTS_NONE] = "",
		[KNOWNHOSTS_REVOKED] = "REVOKED",
		[KNOWNHOSTS_CA] = "CA",
	};
	struct finding *f = arg;
	const struct keygen_options *o = f->o;
	struct key *k = NULL;
	char *comment = NULL;
	int r = 0;

	if (o->fingerprint &&
	    (k = parse_key(found->line, &comment)) == NULL)
		return 0;
	f->any = true;
	if (!o->quiet)
		printf("# Host %s found: line %u %s\n", o->host, number,
		    tags[found->marker]);
	if (k != NULL)
		print_found_fingerprint(o, k, comment);
	else
		r = print_found_line(o, found);
	key_free(k);
	free(comment);
	return r;
}

int
keygen_find_host(const struct keygen_options *o)
{
	char *path = hosts_path(o);
	struct finding found = { .o = o };
	int r = knownhosts_find(path, o->host, find_line, &found);

	if (r != 0)
		fatal("%s: %s", path, err_text(r));
	free(path);
	return found.any ? OK : FAILED;
}

/* What note_edit() needs about the file that is being changed. */
struct edit {
	const struct keygen_options *o;
	const char *path;
};

static void
note_edit(void *arg, enum knownhosts_note note, unsigned number,
    const char *text)
{
	const struct edit *e = arg;

	switch (note) {
	case KNOWNHOSTS_NOTE_REMOVED:
		if (!e->o->quiet)
			printf("# Host %s found: line %u\n", e->o->host,
			    number);
		break;
	case KNOWNHOSTS_NOTE_PATTERN:
		log_info("%s:%u: ignoring host name with wildcard: %s",
		    e->path, number, text);
		break;
	case KNOWNHOSTS_NOTE_BAD_LINE:
		log_error("%s:%u: invalid line", e->path, number);
		break;
	}
}

/* Reports that a file has invalid lines. It is not rewritten, as with
 * OpenSSH. */
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
keygen_remove_host(const struct keygen_options *o)
{
	char *path = hosts_path(o);
	struct edit e = { .o = o, .path = path };
	unsigned changed = 0;
	int r = knownhosts_remove(path, o->host, note_edit, &e, &changed);

	if (r == ERR_FORMAT)
		return refuse(path);
	if (r != 0)
		fatal("%s: %s", path, err_text(r));
	if (changed == 0)
		log_info("Host %s not found in %s", o->host, path);
	else
		say_updated(path);
	free(path);
	return OK;
}

int
keygen_hash_hosts(const struct keygen_options *o)
{
	char *path = hosts_path(o);
	struct edit e = { .o = o, .path = path };
	unsigned changed = 0;
	int r = knownhosts_hash_all(path, note_edit, &e, &changed);

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
