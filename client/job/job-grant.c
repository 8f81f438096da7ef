/* SPDX-License-Identifier: ISC */
#include "client/job/job-grant.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/str.h"
#include "base/wire.h"
#include "keys/key.h"

#define LABEL "hpnsync grant"
#define PREFIX "grant-"

enum {
	VERSION = 1,
	GRANT_MAX = 64 * 1024, /* bytes */
	NAME_MAX_LEN = 1024,  /* of a host, of a user */
};

int
job_grants_open(int dir, bool make, int *grants)
{
	struct stat st;

	*grants = -1;
	if (make && mkdirat(dir, "grants", 0700) == -1 && errno != EEXIST)
		return ERR_SYSTEM;
	*grants = openat(dir, "grants",
	    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*grants == -1)
		return ERR_SYSTEM;
	if (fstat(*grants, &st) == 0 && st.st_uid == geteuid() &&
	    (st.st_mode & 077) == 0)
		return 0;
	fd_close(grants);
	return ERR_PERMISSION;
}

/* Calls fn for the name of each grant, until it does not return 0. */
static int
each(int grants, int (*fn)(int grants, const char *name, void *arg), void *arg)
{
	int fd = openat(grants, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *d = fd == -1 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (d == NULL) {
		fd_close(&fd);
		return ERR_SYSTEM;
	}
	while (r == 0 && (e = readdir(d)) != NULL)
		if (str_has_prefix(e->d_name, PREFIX))
			r = fn(grants, e->d_name, arg);
	(void)closedir(d);
	return r;
}

static int
drop(int grants, const char *name, void *arg)
{
	(void)arg;
	return unlinkat(grants, name, 0) == -1 && !job_is_gone(errno) ?
	    ERR_SYSTEM : 0;
}

int
job_grants_lock(int grants, int *lock)
{
	struct flock lk = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int r = ERR_SYSTEM, error;

	*lock = job_file(grants, "giver", O_RDWR | O_CREAT);
	if (*lock != -1 && fcntl(*lock, F_SETLK, &lk) == 0)
		r = each(grants, drop, NULL);
	error = errno;
	if (r != 0)
		fd_close(lock);
	errno = error;
	return r;
}

int
job_grant_put(int grants, const char *name, const struct job_grant *g)
{
	struct buf b;
	int r;

	buf_init_secret(&b);
	buf_put_cstring(&b, LABEL);
	buf_put_u32(&b, VERSION);
	buf_put(&b, g->grant, sizeof g->grant);
	buf_put_u32(&b, g->rights);
	buf_put_bool(&b, g->verify);
	buf_put_cstring(&b, g->host);
	buf_put_cstring(&b, g->user);
	buf_put_u16(&b, g->port);
	buf_put_string_buf(&b, &g->hostkey);
	if ((r = key_private_to_wire(g->key, &b)) == 0 &&
	    (r = buf_err(&b)) == 0)
		r = job_put(grants, name, buf_data(&b), buf_len(&b));
	buf_clear(&b);
	return r;
}

static int
parse(struct rd r, struct job_grant *g)
{
	struct span label = rd_string(&r), name, hostkey;
	uint32_t version = rd_u32(&r);
	int err;

	if (rd_err(&r) != 0 || !span_equals(label, LABEL))
		return ERR_FORMAT;
	if (version != VERSION)
		return ERR_UNSUPPORTED;
	name = rd_bytes(&r, sizeof g->grant);
	g->rights = rd_u32(&r);
	g->verify = rd_bool(&r);
	g->host = rd_cstring(&r, NAME_MAX_LEN);
	g->user = rd_cstring(&r, NAME_MAX_LEN);
	g->port = rd_u16(&r);
	hostkey = rd_string(&r);
	if ((err = rd_err(&r)) != 0 ||
	    (err = key_private_from_wire(&r, &g->key)) != 0 ||
	    (err = rd_end(&r)) != 0)
		return err;
	memcpy(g->grant, name.p, sizeof g->grant);
	buf_put(&g->hostkey, hostkey.p, hostkey.len);
	return buf_err(&g->hostkey);
}

/* Reads one grant, and takes it by removing it. 1: it was taken; 0: another
 * process was faster. */
static int
take(int grants, const char *name, void *arg)
{
	struct buf b;
	int fd, r, error;

	if (strstr(name, ".part") != NULL) /* is being written */
		return 0;
	if ((fd = job_file(grants, name, O_RDONLY)) == -1)
		return job_is_gone(errno) ? 0 : ERR_SYSTEM;
	buf_init_secret(&b);
	r = fd_read_file(fd, &b, GRANT_MAX);
	error = errno;
	fd_close(&fd);
	errno = error;
	if (r == 0 && unlinkat(grants, name, 0) == -1)
		r = ERR_SYSTEM;
	if (r == ERR_SYSTEM && job_is_gone(errno)) {
		r = 0;
	} else if (r == 0) {
		r = parse(rd_from_buf(&b), arg);
		r = r == 0 ? 1 : r;
	}
	buf_clear(&b);
	return r;
}

int
job_grant_take(int grants, struct job_grant *g)
{
	int r;

	*g = (struct job_grant){ .host = NULL };
	r = each(grants, take, g);
	return r == 1 ? 0 : r == 0 ? ERR_AGAIN : r;
}

void
job_grant_clear(struct job_grant *g)
{
	free(g->host);
	free(g->user);
	buf_clear(&g->hostkey);
	key_free(g->key);
	*g = (struct job_grant){ .host = NULL };
}
