/* SPDX-License-Identifier: ISC */
#include "keys/agent-socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "compat/libc.h"
#include "compat/sock.h"
#include "crypto/digest.h"
#include "crypto/rand.h"

enum {
	LETTERS = 10, /* of the host's hash, and of the random part */
	HOST_PART = 2 + LETTERS + 1, /* length of the prefix s.HASH. */
	STALE_S = 60 * 60, /* only an older socket may count as left behind */
};

static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz"
			       "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
enum { ALPHABET_LEN = sizeof alphabet - 1 };

static const char *const kinds[] = {
	[AGENT_SOCKET_OWN] = "agent",
	[AGENT_SOCKET_FORWARDED] = "sshd",
};

int
agent_socket_name(const char *host, enum agent_socket_kind kind, char *out,
    size_t size)
{
	char hash[LETTERS + 1] = "", random[LETTERS + 1] = "";
	uint8_t digest[DIGEST_MAX_LEN];
	int r;

	r = digest_once(DIGEST_SHA512, host, strlen(host), digest);
	if (r != 0)
		return r;
	for (size_t i = 0; i < LETTERS; i++) {
		hash[i] = alphabet[digest[i] % ALPHABET_LEN];
		random[i] = alphabet[rand_uniform(ALPHABET_LEN)];
	}
	snprintf(out, size, "s.%s.%s.%s", hash, kinds[kind], random);
	return 0;
}

/* Opens the directory name in at, which is made if it is not there. It must
 * belong to this user or to the superuser, and nobody else may be able to write
 * to it (ERR_PERMISSION). flags: O_NOFOLLOW refuses a symbolic link, 0 follows
 * it. */
static int
enter(int at, const char *name, int flags, int *out)
{
	struct stat st;
	int fd, r = 0;

	if (mkdirat(at, name, 0700) == -1 && errno != EEXIST)
		return ERR_SYSTEM;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	if (fd == -1)
		return errno == ELOOP || errno == ENOTDIR ? ERR_PERMISSION :
							    ERR_SYSTEM;
	if (fstat(fd, &st) == -1)
		r = ERR_SYSTEM;
	else if ((st.st_uid != geteuid() && st.st_uid != 0) ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		r = ERR_PERMISSION;
	if (r != 0)
		fd_close(&fd);
	*out = fd;
	return r;
}

/* Makes ~/.ssh and ~/.ssh/agent. ~/.ssh may be a symbolic link, because users
 * keep it in other places; ~/.ssh/agent may not, because only agents use it. */
static int
make_directories(const char *home)
{
	int at = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int ssh = -1, agent = -1, r;

	if (at == -1)
		return ERR_SYSTEM;
	r = enter(at, ".ssh", 0, &ssh);
	if (r == 0)
		r = enter(ssh, "agent", O_NOFOLLOW, &agent);
	fd_close(&agent);
	fd_close(&ssh);
	fd_close(&at);
	return r;
}

static int
name_here(enum agent_socket_kind kind, char *name, size_t size)
{
	char host[HOST_NAME_MAX + 1] = "";

	if (gethostname(host, sizeof host - 1) == -1)
		return ERR_SYSTEM;
	return agent_socket_name(host, kind, name, size);
}

int
agent_socket_path(const char *home, enum agent_socket_kind kind, char **out)
{
	char name[AGENT_SOCKET_NAME_MAX];
	int r;

	if ((r = name_here(kind, name, sizeof name)) != 0 ||
	    (r = make_directories(home)) != 0)
		return r;
	return asprintf(out, "%s/.ssh/agent/%s", home, name) == -1 ?
	    ERR_NOMEM :
	    0;
}

/* ---- what was left behind ------------------------------------------------ */

static bool
nobody_listens(const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd, r;

	if (strlen(path) >= sizeof sun.sun_path)
		return false;
	memcpy(sun.sun_path, path, strlen(path) + 1);
	fd = sock_open(AF_UNIX, SOCK_STREAM, 0, SOCK_AT_ONCE);
	if (fd == -1)
		return false;
	r = connect(fd, (const struct sockaddr *)&sun, sizeof sun);
	r = r == -1 && errno == ECONNREFUSED;
	fd_close(&fd);
	return r;
}

/* The socket may be removed: nobody listens on it, and it is old. The age
 * counts because a new agent makes its socket before it listens on it. */
static bool
is_stale(int dir, const char *path, const char *name, time_t now)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISSOCK(st.st_mode) && now - st.st_mtime > STALE_S &&
	    nobody_listens(path);
}

static void
clean_directory(DIR *d, const char *path, const char *prefix)
{
	time_t now = time(NULL);
	struct dirent *e;
	char *whole;

	while ((e = readdir(d)) != NULL) {
		if (!str_has_prefix(e->d_name, prefix))
			continue;
		if (asprintf(&whole, "%s/%s", path, e->d_name) == -1)
			return;
		if (is_stale(dirfd(d), whole, e->d_name, now))
			(void)unlinkat(dirfd(d), e->d_name, 0);
		free(whole);
	}
}

int
agent_socket_clean(const char *home, bool any_host)
{
	char prefix[AGENT_SOCKET_NAME_MAX] = "", *path;
	DIR *d;
	int r;

	r = name_here(AGENT_SOCKET_OWN, prefix, sizeof prefix);
	if (r != 0)
		return r;
	prefix[any_host ? 2 : HOST_PART] = '\0';
	if (asprintf(&path, "%s/.ssh/agent", home) == -1)
		return ERR_NOMEM;
	d = opendir(path);
	if (d != NULL) {
		clean_directory(d, path, prefix);
		(void)closedir(d);
	} else if (errno != ENOENT) {
		r = ERR_SYSTEM;
	}
	free(path);
	return r;
}
