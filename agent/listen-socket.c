/* SPDX-License-Identifier: ISC */
#include "agent/listen-socket.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listen.h"
#include "base/log.h"
#include "base/own-account.h"
#include "base/str.h"
#include "compat/sock.h"
#include "crypto/rand.h"
#include "keys/agent-socket.h"

enum { OTHERS = 0177, HANDED_FD = 3, RANDOM_LETTERS = 12 };

/* The absolute path; the agent changes its directory later, and has to remove
 * the socket at its end. NULL on errors. The caller frees it. */
static char *
absolute(const char *path)
{
	char here[PATH_MAX];

	if (*path == '/')
		return strdup(path);
	return getcwd(here, sizeof here) != NULL ? str_join_path(here, path) :
						   NULL;
}

static int
note_file(struct listen_socket *s)
{
	struct stat st;

	s->whole = absolute(s->path);
	if (s->whole == NULL)
		return ERR_NOMEM;
	if (lstat(s->whole, &st) == -1)
		return ERR_SYSTEM;
	s->dev = st.st_dev;
	s->ino = st.st_ino;
	return 0;
}

/* Makes a socket at s->path that listens. Errors are logged. */
static int
open_socket(struct listen_socket *s)
{
	struct listen_set set = { 0 };
	int r = listen_open_path(&set, s->path, OTHERS, false);

	if (r != 0) {
		log_error("cannot bind to path %s: %s", s->path,
		    r == ERR_LIMIT ? "it is too long" : err_text(r));
		return r;
	}
	s->fd = set.fd[0];
	if ((r = note_file(s)) != 0)
		log_error("%s: %s", s->path, err_text(r));
	return r;
}

int
listen_socket_named(struct listen_socket *s, const char *path)
{
	*s = (struct listen_socket){ .fd = -1 };
	s->path = strdup(path);
	return s->path != NULL ? open_socket(s) : ERR_NOMEM;
}

/* Makes a directory as mkdtemp(3) does, but with a name of 12 random letters
 * instead of 6. */
static int
make_directory(const char *top, char **out)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	char random[RANDOM_LETTERS + 1] = "";

	for (size_t i = 0; i < RANDOM_LETTERS; i++)
		random[i] = letters[rand_uniform(sizeof letters - 1)];
	if (asprintf(out, "%s/ssh-%s", top, random) == -1) {
		*out = NULL;
		return ERR_NOMEM;
	}
	if (mkdir(*out, 0700) == 0)
		return 0;
	log_error("mkdir: %s: %s", *out, strerror(errno));
	free(*out);
	*out = NULL;
	return ERR_SYSTEM;
}

int
listen_socket_temporary(struct listen_socket *s)
{
	const char *top = getenv("TMPDIR");
	int r;

	*s = (struct listen_socket){ .fd = -1 };
	if (top == NULL || *top == '\0')
		top = "/tmp";
	if ((r = make_directory(top, &s->directory)) != 0)
		return r;
	if (asprintf(&s->path, "%s/agent.%ld", s->directory,
		(long)getpid()) == -1) {
		s->path = NULL;
		return ERR_NOMEM;
	}
	return open_socket(s);
}

static const char *
home_directory(void)
{
	const char *home = getenv("HOME");

	return home != NULL && *home != '\0' ? home : own_account_home();
}

int
listen_socket_usual(struct listen_socket *s, bool clean)
{
	const char *home = home_directory();
	int r;

	*s = (struct listen_socket){ .fd = -1 };
	if (home == NULL) {
		log_error("the home directory is not known");
		return ERR_NOT_FOUND;
	}
	if (clean && (r = agent_socket_clean(home, false)) != 0)
		log_debug("stale sockets: %s", err_text(r));
	r = agent_socket_path(home, AGENT_SOCKET_OWN, &s->path);
	if (r != 0) {
		log_error("no socket for the agent below %s/.ssh: %s", home,
		    err_text(r));
		return r;
	}
	return open_socket(s);
}

/* ---- systemd ------------------------------------------------------------- */

static bool
is_listening(int fd)
{
	int on = 0;
	socklen_t len = sizeof on;

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &on, &len) == 0 &&
	    on != 0 && sock_domain(fd) == AF_UNIX;
}

int
listen_socket_handed(struct listen_socket *s, bool *handed)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	int64_t n;
	int r;

	*s = (struct listen_socket){ .fd = -1 };
	*handed = pid != NULL && count != NULL &&
	    str_to_int(pid, 1, INT_MAX, &n) == 0 && n == getpid();
	if (!*handed)
		return 0;
	if (strcmp(count, "1") != 0) {
		log_error("LISTEN_FDS: one socket is expected, not %s", count);
		return ERR_ARGUMENT;
	}
	if (!is_listening(HANDED_FD)) {
		log_error("LISTEN_FDS: descriptor %d is no socket that "
			  "listens", HANDED_FD);
		return ERR_ARGUMENT;
	}
	if ((r = fd_set_cloexec(HANDED_FD, true)) != 0 ||
	    (r = fd_set_nonblock(HANDED_FD, true)) != 0)
		return r;
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	s->fd = HANDED_FD;
	return 0;
}

/* ---- the end ------------------------------------------------------------- */

void
listen_socket_forget(struct listen_socket *s)
{
	fd_close(&s->fd);
	free(s->path);
	free(s->whole);
	free(s->directory);
	*s = (struct listen_socket){ .fd = -1 };
}

void
listen_socket_remove(struct listen_socket *s)
{
	struct stat st;

	if (s->whole != NULL && lstat(s->whole, &st) == 0 &&
	    st.st_dev == s->dev && st.st_ino == s->ino)
		(void)unlink(s->whole);
	if (s->directory != NULL)
		(void)rmdir(s->directory);
	listen_socket_forget(s);
}
