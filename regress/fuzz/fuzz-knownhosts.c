/* SPDX-License-Identifier: ISC */
/*
 * A known_hosts file: all its lines are parsed, and it is searched. The first
 * line of the input is the name to search for.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "keys/knownhosts.h"
#include "regress/fuzz/fuzz.h"
#include "regress/fuzz/some.h"

static int
look(void *arg, const char *path, unsigned number,
    const struct knownhosts_line *line)
{
	(void)path;
	(void)number;
	if (arg != NULL && !knownhosts_hosts_match(line->hosts, arg))
		abort();
	return 0;
}

static int
look_at_text(void *arg, unsigned number, const struct knownhosts_text *t)
{
	(void)number;
	if (t->rest <= t->line || strlen(t->hosts) > strlen(t->line) ||
	    !knownhosts_hosts_match(t->hosts, arg))
		abort();
	return 0;
}

static void
must_be_same(int r, int r2, const struct knownhosts_found *f,
    const struct knownhosts_found *f2)
{
	if (r != r2 ||
	    (r == 0 && (f->verdict != f2->verdict || f->line != f2->line)))
		abort();
}

/* From files that are read for each question, and from what was kept. */
static void
compare(struct knownhosts_sources sources, const char *name)
{
	struct strlist names = {0};
	struct knownhosts_sources read_each = sources;
	struct knownhosts_found f = {0}, f2 = {0};
	int r, r2;

	if (strlist_add(&names, "other") != 0 ||
	    strlist_add(&names, name) != 0 ||
	    knownhosts_seen_new(&sources.seen, sources.files, &names) != 0)
		abort();
	r = knownhosts_check(&sources, name, some_key(), &f);
	r2 = knownhosts_check(&read_each, name, some_key(), &f2);
	must_be_same(r, r2, &f, &f2);
	knownhosts_found_clear(&f);
	knownhosts_found_clear(&f2);
	r = knownhosts_find_ca(&sources, name, NULL, &f);
	r2 = knownhosts_find_ca(&read_each, name, NULL, &f2);
	must_be_same(r, r2, &f, &f2);
	knownhosts_found_clear(&f);
	knownhosts_found_clear(&f2);
	knownhosts_seen_free(sources.seen);
	strlist_clear(&names);
}

static void
check(const char *path, char *name, struct span lines)
{
	struct strlist paths = {0}, types = {0};
	struct knownhosts_sources sources = {.files = &paths, .lines = lines,
		.lines_name = "lines"};

	(void)!knownhosts_each_line(path, NULL, look, NULL);
	(void)!knownhosts_each_line(path, name, look, name);
	(void)!knownhosts_find(path, name, look_at_text, name);
	if (strlist_add(&paths, path) != 0)
		abort();
	compare(sources, name);
	(void)!knownhosts_types(&sources, name, &types);
	strlist_clear(&types);
	strlist_clear(&paths);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char path[64], name[256] = "";
	const uint8_t *nl = memchr(data, '\n', len);
	size_t name_len = nl != NULL ? (size_t)(nl - data) : 0;
	int fd = memfd_create("known_hosts", MFD_CLOEXEC);

	log_set_level(LOG_LVL_QUIET);
	if (fd == -1)
		abort();
	if (name_len < sizeof name)
		memcpy(name, data, name_len);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (fd_write_all(fd, data, len) == 0)
		check(path, name, (struct span){data, len});
	close(fd);
	return 0;
}
