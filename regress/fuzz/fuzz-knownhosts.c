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

static struct key *
some_key(void)
{
	static struct key *k;
	const char *line =
	    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFSMBVz3cx8l6yDa"
	    "VMgnNOSESWYceGQCPcRLkkTIUOy2";

	if (k == NULL && key_parse_line(&line, &k) != 0)
		abort();
	return k;
}

static int
look(void *arg, const char *text, unsigned number,
    const struct knownhosts_line *line)
{
	(void)number;
	if (line != NULL && strlen(line->hosts) > strlen(text))
		abort();
	if (line != NULL)
		(void)knownhosts_hosts_match(line->hosts, arg);
	return 0;
}

static void
check(const char *path, char *name, struct span lines)
{
	struct strlist paths = {0}, types = {0};
	struct knownhosts_places places = {&paths, lines, "lines"};
	struct knownhosts_found found;

	(void)!knownhosts_each_line(path, look, name);
	if (strlist_add(&paths, path) != 0)
		abort();
	if (knownhosts_check(&places, name, some_key(), &found) == 0)
		knownhosts_found_clear(&found);
	if (knownhosts_find_ca(&places, name, NULL, &found) == 0)
		knownhosts_found_clear(&found);
	(void)!knownhosts_types(&places, name, &types);
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
