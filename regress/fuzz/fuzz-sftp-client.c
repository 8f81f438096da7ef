/* SPDX-License-Identifier: ISC */
/*
 * The SFTP client engine and its transfers get any bytes as replies, in a
 * private directory: a tree is fetched into "in", files are sent, names are
 * looked up. Whatever a server says, nothing may appear beside "in".
 *
 * The first byte chooses what is done and the size of the pieces.
 */
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
#include "base/str.h"
#include "regress/fuzz/fuzz.h"
#include "xfer/remote-glob.h"
#include "xfer/sftp-engine.h"
#include "xfer/transfer.h"

enum { FILE_BYTES_MAX = 4 << 20 };

static char dir[] = "/tmp/fuzz-sftp-client-XXXXXX";
static int home_fd = -1, dir_fd = -1;

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
	if (home_fd < 0 || mkdtemp(dir) == NULL)
		abort();
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = openat(dir_fd, "out", O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, 600000) != 0)
		abort();
	close(fd);
	atexit(remove_dir);
}

/* --- a server that plays the input --- */

struct replay {
	const uint8_t *p;
	size_t len, piece;
};

static ssize_t
replay_read(void *arg, uint8_t *p, size_t max)
{
	struct replay *r = arg;
	size_t n = MIN(r->len, r->piece);

	n = MIN(n, max);
	memcpy(p, r->p, n);
	r->p += n;
	r->len -= n;
	return (ssize_t)n; /* 0: the end */
}

static ssize_t
replay_write(void *arg, const uint8_t *p, size_t len)
{
	(void)arg;
	(void)p;
	return (ssize_t)len;
}

static int
replay_wait(void *arg, int events, int timeout_ms)
{
	(void)arg;
	(void)timeout_ms;
	return events;
}

static const struct xfer_carrier_ops replay_ops = {
	.read = replay_read,
	.write = replay_write,
	.wait = replay_wait,
};

/* --- what is done --- */

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *f)
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
	(void)nftw("in", remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void
transfer(struct sftp *s, bool up)
{
	const struct sftp_attrs attrs = { .flags = SFTP_A_MODE,
		.mode = S_IFDIR | 0700 };
	const struct xfer_opts opts = { .recursive = true, .preserve = up,
		.budget_bytes = 1 << 20 };
	struct xfer *x;

	if (xfer_new(&x, s, &opts) != 0)
		abort();
	if (up)
		(void)!xfer_put(x, "out", "there");
	else
		(void)!xfer_get(x, "src", &attrs, "in");
	(void)!xfer_run(x);
	xfer_free(x);
}

static void
ask(struct sftp *s)
{
	struct strlist found = { NULL, 0 };
	struct sftp_statvfs v;
	struct sftp_attrs a;
	char *name = NULL;

	(void)!sftp_call_stat(s, "x", true, &a);
	(void)!sftp_call_name(s, SFTP_REALPATH, ".", &name);
	free(name);
	(void)!sftp_call_statvfs(s, ".", &v);
	(void)!remote_glob(s, "*/x*", &found);
	strlist_clear(&found);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const size_t pieces[] = { 1 << 20, 1, 13, 4096 };
	struct replay r;
	struct sftp *s;

	if (len == 0)
		return 0;
	if (home_fd < 0)
		prepare();
	if (fchdir(dir_fd) != 0 || sftp_new(&s) != 0)
		abort();
	r = (struct replay){ .p = data + 1, .len = len - 1,
		.piece = pieces[data[0] >> 2 & 3] };
	sftp_attach(s, (struct xfer_carrier){ &replay_ops, &r });
	if ((data[0] & 3) == 2)
		ask(s);
	else
		transfer(s, (data[0] & 3) == 1);
	sftp_free(s);
	check_and_clean();
	if (fchdir(home_fd) != 0)
		abort();
	return 0;
}
