/* SPDX-License-Identifier: ISC */
/*
 * The SFTP server engine gets any bytes behind an INIT. It works in a
 * private directory with a few files, and sees no path but plain names in
 * it: all others are refused before they are used, so that nothing outside
 * can be touched. Files are kept small by a resource limit.
 *
 * The first byte chooses read-only, and the size of the pieces.
 */
#include <sys/resource.h>
#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "regress/fuzz/fuzz.h"
#include "xfer/serve/sftp-serve.h"
#include "xfer/sftp/sftp-proto.h"

enum { FILE_BYTES_MAX = 4 << 20 };

static char dir[] = "/tmp/fuzz-sftp-server-XXXXXX";
static int home_fd = -1, dir_fd = -1;

static void
remove_dir(void)
{
	if (rmdir(dir) != 0)
		perror(dir);
}

static void
prepare(void)
{
	const struct rlimit rl = { FILE_BYTES_MAX, FILE_BYTES_MAX };

	log_set_level(LOG_LVL_QUIET);
	signal(SIGXFSZ, SIG_IGN);
	(void)setrlimit(RLIMIT_FSIZE, &rl);
	home_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (home_fd < 0 || mkdtemp(dir) == NULL)
		abort();
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		abort();
	atexit(remove_dir);
}

static bool
plain_name(void *arg, const char *path)
{
	(void)arg;
	return path[0] != '\0' && path[0] != '.' && path[0] != '~' &&
	    strchr(path, '/') == NULL && strlen(path) < 64;
}

static void
fill_dir(void)
{
	int fd = openat(dir_fd, "a", O_RDWR | O_CREAT, 0600);

	if (fd < 0 || write(fd, "0123456789", 10) != 10)
		abort();
	close(fd);
	if (mkdirat(dir_fd, "d", 0700) != 0)
		abort();
}

/* What is in the directory fd, which is closed. A session that confines itself
 * works in directories below, too. */
static void
empty_dir(int fd)
{
	DIR *d = fdopendir(fd);
	const struct dirent *de;

	if (d == NULL)
		abort();
	rewinddir(d);
	while ((de = readdir(d)) != NULL) {
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0 ||
		    unlinkat(fd, de->d_name, 0) == 0)
			continue;
		if (fchmodat(fd, de->d_name, 0700, 0) != 0)
			abort();
		empty_dir(openat(fd, de->d_name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
		if (unlinkat(fd, de->d_name, AT_REMOVEDIR) != 0)
			abort();
	}
	closedir(d);
}

static void
talk(struct sftp_serve *s, const uint8_t *data, size_t len, size_t piece)
{
	static const uint8_t init[] = { 0, 0, 0, 5, SFTP_INIT, 0, 0, 0, 3 };
	struct buf *out = sftp_serve_output(s);
	ssize_t used;

	if (sftp_serve_input(s, init, sizeof init) != sizeof init)
		abort();
	while (len > 0) {
		used = sftp_serve_input(s, data, MIN(len, piece));
		if (used < 0)
			return;
		/* It must take bytes, unless output waits to be sent. */
		if (used == 0 && buf_len(out) == 0)
			abort();
		data += used;
		len -= (size_t)used;
		if (buf_len(out) >
		    SFTP_SERVE_OUTPUT_MAX + SFTP_MESSAGE_MAX + 4096)
			abort();
		buf_consume(out, buf_len(out));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const size_t pieces[] = { 1 << 20, 1, 29, 4096 };
	struct sftp_serve_opts opts = { .home = "/nonexistent",
		.path_ok = plain_name };
	struct sftp_serve *s;

	if (len == 0)
		return 0;
	if (home_fd < 0)
		prepare();
	if (fchdir(dir_fd) != 0)
		abort();
	fill_dir();
	opts.read_only = (data[0] & 1) != 0;
	if (sftp_serve_new(&s, &opts) != 0)
		abort();
	talk(s, data + 1, len - 1, pieces[data[0] >> 1 & 3]);
	sftp_serve_free(s);
	empty_dir(dup(dir_fd));
	if (fchdir(home_fd) != 0)
		abort();
	return 0;
}
