/* SPDX-License-Identifier: ISC */
#include "server/state.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sealed.h"
#include "compat/bsd-mem.h"
#include "compat/file.h"
#include "conf/defaults.h"
#include "server/oom.h"

enum { STATE_MAX = 64 * 1024 * 1024 }; /* bytes of the whole file */

void
state_clear(struct server_state *s)
{
	server_conf_clear(&s->conf);
	hostkeys_clear(&s->keys);
	decoys_clear(&s->decoys);
	for (size_t i = 0; i < PROGRAMS; i++)
		program_clear(&s->programs[i]);
	free(s->chroot);
	explicit_bzero(s, sizeof *s);
}

/* Appends the decoys, and behind them their length (u32), by which
 * state_renew_decoys() finds where they begin. */
static void
put_decoys(struct buf *b, const struct decoys *d)
{
	size_t before = buf_len(b);

	decoys_export(d, b);
	buf_put_u32(b, (uint32_t)(buf_len(b) - before));
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
	buf_put_u32(&b, (uint32_t)(s->oom_before - OOM_NEVER));
	buf_put_cstring(&b, s->programs[PROGRAM_AUTH].path);
	buf_put_cstring(&b, s->programs[PROGRAM_USER].path);
	buf_put_cstring(&b, s->chroot);
	buf_put_u32(&b, s->auth_uid);
	buf_put_u32(&b, s->auth_gid);
	put_decoys(&b, &s->decoys);
	if ((r = buf_err(&b)) != 0)
		goto out;
	r = ERR_SYSTEM;
	if ((fd = sealed_new("hpnsshd")) == -1 ||
	    (r = fd_write_all(fd, buf_data(&b), buf_len(&b))) != 0 ||
	    (r = sealed_close(&fd)) != 0)
		goto out;
	*out = fd;
	fd = -1;
out:
	fd_close(&fd);
	buf_clear(&b);
	return r;
}

/* Copies the first len bytes in the kernel: they have the host keys, which must
 * not come into this process's memory. */
static int
copy_beginning(int from, int to, off_t len)
{
	off_t at = 0;
	ssize_t n;

	while (at < len) {
		n = file_send(to, from, &at, (size_t)(len - at));
		if (n <= 0)
			return ERR_SYSTEM;
	}
	return 0;
}

int
state_renew_decoys(int *fd, const struct decoys *d)
{
	struct buf b = { 0 };
	uint8_t len[4];
	struct stat st;
	int made, r = ERR_SYSTEM;

	if ((made = sealed_new("hpnsshd")) == -1 || fstat(*fd, &st) == -1 ||
	    st.st_size < (off_t)sizeof len ||
	    pread(*fd, len, sizeof len, st.st_size - (off_t)sizeof len) !=
		sizeof len)
		goto out;
	st.st_size -= (off_t)(sizeof len + wire_get_u32(len));
	put_decoys(&b, d);
	if ((r = buf_err(&b)) != 0 ||
	    (r = copy_beginning(*fd, made, st.st_size)) != 0 ||
	    (r = fd_write_all(made, buf_data(&b), buf_len(&b))) != 0 ||
	    (r = sealed_close(&made)) != 0)
		goto out;
	fd_close(fd);
	*fd = made;
	made = -1;
out:
	fd_close(&made);
	buf_clear(&b);
	return r;
}

/* Reads the whole file without moving its offset, which all connections that
 * start at the same time share. */
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
	s->oom_before = (int)rd_u32(&rd) + OOM_NEVER;
	s->programs[PROGRAM_AUTH].path = rd_cstring(&rd, PATH_MAX);
	s->programs[PROGRAM_USER].path = rd_cstring(&rd, PATH_MAX);
	s->chroot = rd_cstring(&rd, PATH_MAX);
	s->auth_uid = rd_u32(&rd);
	s->auth_gid = rd_u32(&rd);
	if ((r = decoys_import(&s->decoys, &rd)) != 0)
		goto out;
	(void)rd_u32(&rd); /* the length of the decoys */
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
state_make_run_directory(void)
{
	(void)mkdir(LOCALSTATEDIR, 0755);
	(void)mkdir(RUNSTATEDIR, 0755);
}

void
state_log_locations(const struct server_conf *conf)
{
	if (log_set_locations(&conf->log.log_verbose) != 0)
		fatal("%s", err_text(ERR_NOMEM));
}
