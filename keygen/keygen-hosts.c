/* SPDX-License-Identifier: ISC */
/* known_hosts files: finds, removes and hashes their host names. */
#include "keygen/keygen.h"

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
print_found_fingerprint(const struct knownhosts_line *line)
{
	char *fp = key_fingerprint(line->key, opt.hash);
	char *shown = xstr_escape(line->comment);

	if (fp == NULL)
		fatal("out of memory");
	printf("%s %s %s%s%s\n", opt.host, key_short_name(line->key), fp,
	    *shown != '\0' ? " " : "", shown);
	if (opt.verbose)
		keygen_print_art(line->key);
	free(shown);
	free(fp);
}

static int
find_line(void *arg, const char *text, unsigned number,
    const struct knownhosts_line *line)
{
	static const char *const tags[] = {
		[KNOWNHOSTS_NONE] = "",
		[KNOWNHOSTS_REVOKED] = "REVOKED",
		[KNOWNHOSTS_CA] = "CA",
	};
	bool *found = arg;
	const char *rest;
	char *hash;

	if (line == NULL || !knownhosts_hosts_match(line->hosts, opt.host))
		return 0;
	*found = true;
	if (!opt.quiet)
		printf("# Host %s found: line %u %s\n", opt.host, number,
		    tags[line->marker]);
	if (opt.fingerprint && line->key != NULL) {
		print_found_fingerprint(line);
	} else if (opt.hash_hosts && line->marker == KNOWNHOSTS_NONE) {
		hash = knownhosts_hash(opt.host);
		if (hash == NULL)
			return ERR_NOMEM;
		rest = text + strspn(text, " \t") + strlen(line->hosts);
		printf("%s", hash);
		keygen_print_text(rest);
		free(hash);
	} else {
		keygen_print_text(text);
	}
	return 0;
}

int
keygen_find_host(void)
{
	bool found = false;
	char *path = hosts_path();
	int r = knownhosts_each_line(path, find_line, &found);

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
	if (changed > 0) {
		say_updated(path);
		log_info("WARNING: %s.old contains unhashed entries", path);
		log_info("Delete this file, or it will still tell the names.");
	}
	free(path);
	return OK;
}
