/* SPDX-License-Identifier: ISC */
#include "server/session/agent-socket.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "crypto/digest.h"
#include "crypto/rand.h"

enum { LETTERS = 10 /* of the host's hash, and random ones */ };

static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz"
			       "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
enum { ALPHABET_LEN = sizeof alphabet - 1 };

int
agent_socket_name(const char *host, char *out, size_t size)
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
	snprintf(out, size, "s.%s.sshd.%s", hash, random);
	return 0;
}

/* What is there must be a directory of this user's, or of the superuser's,
 * that others do not write to. flags: may a symbolic link lead to it? */
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

/* ~/.ssh may be kept elsewhere, by a symbolic link; what is below is ours
 * alone. */
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

int
agent_socket_path(const char *home, char **out)
{
	char name[AGENT_SOCKET_NAME_MAX], host[HOST_NAME_MAX + 1] = "";
	int r;

	if (gethostname(host, sizeof host - 1) == -1)
		return ERR_SYSTEM;
	if ((r = agent_socket_name(host, name, sizeof name)) != 0 ||
	    (r = make_directories(home)) != 0)
		return r;
	xasprintf(out, "%s/.ssh/agent/%s", home, name);
	return 0;
}
