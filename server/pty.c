/* SPDX-License-Identifier: ISC */
#include "server/pty.h"

#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/ttymodes.h"

int
pty_open(int *master, int *slave, char name[PTY_NAME_MAX])
{
	*slave = -1;
	*master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*master == -1)
		return ERR_SYSTEM;
	if (grantpt(*master) == -1 || unlockpt(*master) == -1 ||
	    ptsname_r(*master, name, PTY_NAME_MAX) != 0)
		goto fail;
	*slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (*slave != -1)
		return 0;
fail:
	fd_close(master);
	return ERR_SYSTEM;
}

int
pty_give(int slave, uid_t uid, gid_t gid)
{
	const struct group *tty;
	mode_t mode = S_IRUSR | S_IWUSR;

	if (geteuid() != 0)
		return 0;
	tty = getgrnam("tty");
	if (tty != NULL) {
		gid = tty->gr_gid;
		mode |= S_IWGRP;
	}
	if (fchown(slave, uid, gid) == -1 || fchmod(slave, mode) == -1)
		return ERR_SYSTEM;
	return 0;
}

void
pty_set_size(int fd, const struct pty_size *size)
{
	struct winsize w = {
		.ws_row = (unsigned short)MIN(size->rows, UINT16_MAX),
		.ws_col = (unsigned short)MIN(size->columns, UINT16_MAX),
		.ws_xpixel = (unsigned short)MIN(size->width_px, UINT16_MAX),
		.ws_ypixel = (unsigned short)MIN(size->height_px, UINT16_MAX),
	};

	(void)ioctl(fd, TIOCSWINSZ, &w);
}

int
pty_apply_modes(int slave, struct span modes)
{
	struct termios t;
	int r;

	if (tcgetattr(slave, &t) == -1)
		return ERR_SYSTEM;
	r = ttymodes_apply(modes, &t);
	/* If the modes are truncated, those before still count. */
	if (tcsetattr(slave, TCSANOW, &t) == -1)
		return ERR_SYSTEM;
	return r;
}

int
pty_make_controlling(int slave)
{
	if (setsid() == -1 || ioctl(slave, TIOCSCTTY, 0) == -1)
		return ERR_SYSTEM;
	return 0;
}
