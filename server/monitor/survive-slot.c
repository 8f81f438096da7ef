/* SPDX-License-Identifier: ISC */
#include "server/monitor/survive-slot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int
survive_slots_open(int dir, uint32_t uid, int *fd)
{
	char name[32];

	snprintf(name, sizeof name, "detached-%u", (unsigned)uid);
	*fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
	    0600);
	return *fd == -1 ? ERR_SYSTEM : 0;
}

int
survive_slot_take(int fd, int most)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET,
		.l_len = 1 };

	for (lock.l_start = 0; lock.l_start < most; lock.l_start++) {
		if (fcntl(fd, F_SETLK, &lock) == 0)
			return 0;
		if (errno != EAGAIN && errno != EACCES)
			return ERR_SYSTEM;
	}
	return ERR_LIMIT;
}

void
survive_slot_give(int fd)
{
	struct flock all = { .l_type = F_UNLCK, .l_whence = SEEK_SET };

	(void)fcntl(fd, F_SETLK, &all);
}
