/* SPDX-License-Identifier: ISC */
#include "server/state.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"

enum { STATE_MAX = 64 * 1024 * 1024 }; /* bytes */

void
state_clear(struct server_state *s)
{
	server_conf_clear(&s->conf);
	hostkeys_clear(&s->keys);
	free(s->auth_path);
	free(s->user_path);
	free(s->chroot);
	explicit_bzero(s, sizeof *s);
}

int
state_to_fd(const struct server_state *s, int *out)
{
	struct buf b;
	int fd = -1, r;

	buf_init_secret(&b);
	if ((r = server_conf_export(&s->conf, &b)) != 0)
		goto out;
	hostkeys_export(&s->keys, &b);
	buf_put(&b, s->salt, sizeof s->salt);
	buf_put_bool(&b, s->log_to_stderr);
	buf_put_bool(&b, s->once);
	buf_put_cstring(&b, s->auth_path);
	buf_put_cstring(&b, s->user_path);
	buf_put_cstring(&b, s->chroot);
	buf_put_u32(&b, s->auth_uid);
	buf_put_u32(&b, s->auth_gid);
	if ((r = buf_err(&b)) != 0)
		goto out;
	r = ERR_SYSTEM;
	fd = memfd_create("hpnsshd", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd == -1)
		goto out;
	if ((r = fd_write_all(fd, buf_data(&b), buf_len(&b))) != 0)
		goto out;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_WRITE | F_SEAL_SHRINK |
		    F_SEAL_GROW) == -1) {
		r = ERR_SYSTEM;
		goto out;
	}
	*out = fd;
	fd = -1;
out:
	fd_close(&fd);
	buf_clear(&b);
	return r;
}

/* The offset is shared with all connections that start at the same time, so
 * it is not used. */
static int
read_whole(int fd, struct buf *b)
{
	struct stat st;
	uint8_t *to;

	if (fstat(fd, &st) == -1)
		return ERR_SYSTEM;
	if (st.st_size > STATE_MAX)
		return ERR_LIMIT;
	if ((to = buf_reserve(b, (size_t)st.st_size)) == NULL)
		return ERR_NOMEM;
	if (pread(fd, to, (size_t)st.st_size, 0) != st.st_size)
		return ERR_SYSTEM;
	buf_commit(b, (size_t)st.st_size);
	return 0;
}

int
state_from_fd(struct server_state *s, int fd)
{
	struct span salt;
	struct buf b;
	struct rd rd;
	int r;

	memset(s, 0, sizeof *s);
	server_conf_init(&s->conf);
	buf_init_secret(&b);
	if ((r = read_whole(fd, &b)) != 0)
		goto out;
	rd = rd_from_buf(&b);
	if ((r = server_conf_import(&s->conf, &rd)) != 0 ||
	    (r = hostkeys_import(&s->keys, &rd)) != 0)
		goto out;
	salt = rd_bytes(&rd, sizeof s->salt);
	s->log_to_stderr = rd_bool(&rd);
	s->once = rd_bool(&rd);
	s->auth_path = rd_cstring(&rd, PATH_MAX);
	s->user_path = rd_cstring(&rd, PATH_MAX);
	s->chroot = rd_cstring(&rd, PATH_MAX);
	s->auth_uid = rd_u32(&rd);
	s->auth_gid = rd_u32(&rd);
	if ((r = rd_end(&rd)) != 0)
		goto out;
	memcpy(s->salt, salt.p, sizeof s->salt);
	if (s->chroot[0] == '\0') {
		free(s->chroot);
		s->chroot = NULL;
	}
out:
	buf_clear(&b);
	return r;
}

void
state_log_places(const struct server_conf *conf)
{
	if (log_set_places(&conf->log.log_verbose) != 0)
		fatal("%s", err_text(ERR_NOMEM));
}

char *
state_helper_path(const char *configured, const char *name)
{
	char exe[PATH_MAX], *path, *slash;
	ssize_t n;

	xasprintf(&path, "%s/%s", LIBEXECDIR, name);
	if (configured != NULL && strcmp(configured, path) != 0) {
		free(path);
		return xstrdup(configured);
	}
	free(path);
	n = readlink("/proc/self/exe", exe, sizeof exe - 1);
	if (n > 0) {
		exe[n] = '\0';
		slash = strrchr(exe, '/');
		*slash = '\0';
		xasprintf(&path, "%s/%s", exe, name);
		if (strcmp(exe, SBINDIR) != 0 && access(path, X_OK) == 0)
			return path;
		free(path);
	}
	xasprintf(&path, "%s/%s", LIBEXECDIR, name);
	return path;
}
