/* SPDX-License-Identifier: ISC */
/*
 * The roles of the legacy copy protocol get any bytes from their peer, in a
 * private directory. Whatever a source says, nothing may appear beside "in".
 *
 * The first byte chooses the role: 0 sink, 1 sink with -Z, 2 source, 3 source
 * with -Z, 4 relay; and with bit 3 the sink's target is no directory yet.
 */
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "regress/fuzz/fuzz.h"
#include "xfer/rcp-proto.h"
#include "xfer/rcp.h"

enum { FILE_BYTES_MAX = 1 << 20 };

static char dir[] = "/tmp/fuzz-rcp-XXXXXX";
static int home_fd = -1, dir_fd = -1, null_fd = -1;

static void
remove_dir(void)
{
	(void)unlinkat(dir_fd, "out", 0);
	if (rmdir(dir) != 0)
		perror(dir);
}

static void
prepare(void)
{
	const struct rlimit rl = { FILE_BYTES_MAX, FILE_BYTES_MAX };
	int fd;

	log_set_level(LOG_LVL_QUIET);
	signal(SIGXFSZ, SIG_IGN);
	(void)setrlimit(RLIMIT_FSIZE, &rl);
	home_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (home_fd < 0 || null_fd < 0 || mkdtemp(dir) == NULL)
		abort();
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = openat(dir_fd, "out", O_RDWR | O_CREAT, 0600);
	if (fd < 0 || write(fd, "abcdefgh", 8) != 8)
		abort();
	close(fd);
	atexit(remove_dir);
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st;
	(void)f;
	if (type == FTW_D || type == FTW_DNR)
		(void)chmod(path, 0700);
	return 0;
}

static int
remove_two(const char *path, const struct stat *st, int type, struct FTW *f)
{
	(void)st;
	(void)type;
	(void)f;
	return remove(path);
}

static void
check_and_clean(void)
{
	DIR *d = opendir(".");
	const struct dirent *de;

	if (d == NULL)
		abort();
	while ((de = readdir(d)) != NULL)
		if (de->d_name[0] != '.' && strcmp(de->d_name, "in") != 0 &&
		    strcmp(de->d_name, "out") != 0)
			abort();
	closedir(d);
	(void)nftw("in", remove_one, 16, FTW_PHYS);
	(void)nftw("in", remove_two, 16, FTW_DEPTH | FTW_PHYS);
}

static int
replay(const uint8_t *data, size_t len)
{
	int fd = memfd_create("peer", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len ||
	    lseek(fd, 0, SEEK_SET) != 0)
		abort();
	return fd;
}

static void
say(void *arg, const char *line)
{
	(void)arg;
	for (; *line != '\0'; line++)
		if ((unsigned char)*line < ' ' || *line == 0x7f)
			abort();
}

static void
play(unsigned role, struct rcp *c, struct rcp *to)
{
	char *paths[] = { (char *)"out", (char *)"." };
	struct strlist wanted = { NULL, 0 };

	if (role < 2) {
		(void)!rcp_wanted_add(&wanted, "{f,d}*");
		(void)!rcp_receive(c, "in", &wanted);
	} else if (role < 4) {
		(void)!rcp_send(c, paths, 2);
	} else {
		(void)!rcp_relay(c, to, NULL);
	}
	strlist_clear(&wanted);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct rcp_opts opts = { .recursive = true, .say = say };
	struct rcp *c, *to;
	unsigned role;
	int in, back;

	if (len == 0 || len > FILE_BYTES_MAX)
		return 0;
	if (home_fd < 0)
		prepare();
	role = (data[0] & 7) % 5;
	opts.resume = role == 1 || role == 3;
	opts.preserve = (data[0] & 16) != 0;
	if (fchdir(dir_fd) != 0 || (!(data[0] & 8) && mkdir("in", 0700) != 0))
		abort();
	in = replay(data + 1, len - 1);
	back = replay(data + len / 2, len - len / 2); /* the relay's sink */
	if (rcp_new(&c, in, null_fd, &opts) != 0 ||
	    rcp_new(&to, back, null_fd, &opts) != 0)
		abort();
	play(role, c, to);
	rcp_free(c);
	rcp_free(to);
	close(in);
	close(back);
	check_and_clean();
	if (fchdir(home_fd) != 0)
		abort();
	return 0;
}
