/* SPDX-License-Identifier: ISC */
#include "server/oom.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

enum { FILE_MAX = 32 /* bytes */ };

static int before = OOM_UNCHANGED;

static int
write_score(const char *file, int score)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC), written;

	if (fd == -1)
		return -1;
	written = dprintf(fd, "%d\n", score);
	return close(fd) == 0 && written > 0 ? 0 : -1;
}

static int
read_score(const char *file)
{
	char text[FILE_MAX] = "", *end;
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	long score;
	ssize_t n;

	if (fd == -1)
		return OOM_UNCHANGED;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	score = n > 0 ? strtol(text, &end, 10) : OOM_UNCHANGED;
	if (n <= 0 || end == text || score < OOM_NEVER || score > OOM_UNCHANGED)
		return OOM_UNCHANGED;
	return (int)score;
}

void
oom_protect(const char *file)
{
	int was = read_score(file);

	before = OOM_UNCHANGED;
	if (was == OOM_UNCHANGED)
		return;
	if (write_score(file, OOM_NEVER) != 0) {
		log_debug("%s stays %d: %s", file, was, strerror(errno));
		return;
	}
	log_debug("%s is %d, and was %d", file, OOM_NEVER, was);
	before = was;
}

int
oom_before(void)
{
	return before;
}

void
oom_give_back(const char *file, int score)
{
	if (score != OOM_UNCHANGED && write_score(file, score) != 0)
		log_error("%s cannot be set to %d: %s", file, score,
		    strerror(errno));
}
