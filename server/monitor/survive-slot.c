/* SPDX-License-Identifier: ISC */
#include "server/monitor/survive-slot.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>

#include "base/fd.h"

int
survive_slot_take(int dir, uint32_t uid, int most, int *fd)
{
	char name[48];

	for (int i = 0; i < most; i++) {
		snprintf(name, sizeof name, "detached-%u-%d", (unsigned)uid, i);
		*fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW |
			O_CLOEXEC, 0600);
		if (*fd == -1)
			return ERR_SYSTEM;
		if (flock(*fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		fd_close(fd);
	}
	return ERR_LIMIT;
}
