/* SPDX-License-Identifier: ISC */
/*
 * The source. It does not wait for the answer to a record that cannot fail:
 * the end of a file is sent together with the next record, so that a file
 * takes one round trip.
 */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "compat/file.h"
#include "xfer/rcp/rcp-internal.h"

enum { SENT_MODES = S_ISUID | S_ISGID | S_IRWXU | S_IRWXG | S_IRWXO };

static int send_name(struct rcp *c, struct local_dir *at, const char *name,
    const char *path);

/* Sends a line. Its answer is read by the next rcp_read_answers(). */
static int
put_line(struct rcp *c, const char *line)
{
	log_debug("sending %.*s", (int)strcspn(line, "\n"), line);
	c->answers_due++;
	return rcp_put(c, line, strlen(line));
}

static int
put_times(struct rcp *c, const struct stat *st)
{
	char line[96];

	/* The record cannot express times before 1970. */
	snprintf(line, sizeof line, "T%lld %ld %lld %ld\n",
	    (long long)MAX(st->FILE_MTIME.tv_sec, 0),
	    st->FILE_MTIME.tv_nsec / 1000,
	    (long long)MAX(st->FILE_ATIME.tv_sec, 0),
	    st->FILE_ATIME.tv_nsec / 1000);
	return put_line(c, line);
}

/* Sends a T record with -p, then a C or D record. */
static int
announce(struct rcp *c, char type, const struct stat *st, int64_t size,
    const char *hash, const char *name)
{
	char *line;
	int r;

	if (c->opts.preserve && (r = put_times(c, st)) < 0)
		return r;
	if (asprintf(&line, "%c%04o %lld %s%s%s\n", type,
		(unsigned)st->st_mode & SENT_MODES, (long long)size, hash,
		*hash != '\0' ? " " : "", name) < 0)
		return ERR_NOMEM;
	r = put_line(c, line);
	free(line);
	return r;
}

/* ---- files -------------------------------------------------------------- */

/* Reads one block of a file. Bytes that the file does not have (any more)
 * become zeros, since the sink waits for them; *wrong then has the reason.
 * Returns the size of the block. */
static size_t
fill_block(struct rcp *c, int fd, int64_t left, const char **wrong)
{
	size_t want = rcp_piece(c, left), have = 0;
	ssize_t n;

	while (have < want && *wrong == NULL) {
		n = read(fd, c->block + have, want - have);
		if (n > 0)
			have += (size_t)n;
		else if (n == 0)
			*wrong = "changed while it was being read";
		else if (errno != EINTR)
			*wrong = strerror(errno);
	}
	memset(c->block + have, 0, want - have);
	return want;
}

static int
send_data(struct rcp *c, int fd, int64_t start, int64_t size,
    const char **wrong)
{
	int r;

	if (start > 0 && lseek(fd, start, SEEK_SET) < 0)
		*wrong = strerror(errno);
	for (int64_t left = size - start; left > 0;) {
		size_t n = fill_block(c, fd, left, wrong);

		if ((r = rcp_put(c, c->block, n)) < 0)
			return r;
		left -= (int64_t)n;
		rcp_moved(c, n);
	}
	return 0;
}

static int
send_file(struct rcp *c, int fd, const struct stat *st, const char *path,
    const char *name)
{
	const char *wrong = NULL;
	char hash[RCP_HASH_HEX + 1] = "";
	int64_t size = st->st_size, start = 0;
	int r;

	if (c->opts.resume &&
	    (r = rcp_hash_file(c, fd, size, hash, NULL)) < 0)
		return r;
	if ((r = announce(c, 'C', st, size, hash, name)) < 0)
		return r;
	r = c->opts.resume ? rcp_resume_source(c, fd, size, &start) :
			     rcp_read_answers(c);
	if (r != 0) /* the sink refused the file, or has it */
		return r < 0 ? r : 0;
	rcp_progress_start(c, name, size, start);
	r = send_data(c, fd, start, size, &wrong);
	rcp_progress_finish(c, r == 0 && wrong == NULL);
	if (r < 0)
		return r;
	c->answers_due++;
	if (wrong == NULL)
		return rcp_ok(c);
	rcp_fail(c, path, wrong);
	return 0;
}

/* ---- directories -------------------------------------------------------- */

static int
list_dir(struct local_dir *dir, struct strlist *names)
{
	DIR *d = local_dir_list(dir);
	const struct dirent *de;
	int r = 0;

	if (d == NULL)
		return ERR_SYSTEM;
	while (r == 0 && (errno = 0, de = readdir(d)) != NULL)
		if (rcp_name_is_plain(de->d_name))
			r = strlist_add(names, de->d_name);
	if (r == 0 && errno != 0)
		r = ERR_SYSTEM;
	closedir(d);
	return r;
}

static int
send_entries(struct rcp *c, struct local_dir *dir, const char *path,
    const struct strlist *names)
{
	char *below;
	int r = 0;

	for (size_t i = 0; r >= 0 && i < names->n; i++) {
		below = str_join_path(path, names->v[i]);
		if (below == NULL)
			return ERR_NOMEM;
		r = send_name(c, dir, names->v[i], below);
		free(below);
	}
	return r;
}

/* Why a directory is not sent; NULL: it is. Links are followed, so a directory
 * may be inside of itself. */
static const char *
refusal(const struct rcp *c, const struct stat *st, const char *path)
{
	for (const struct rcp_above *a = c->above; a != NULL; a = a->above)
		if (a->dev == st->st_dev && a->ino == st->st_ino)
			return "leads back to a directory it is in";
	return rcp_too_deep(c, path);
}

static int
send_content(struct rcp *c, struct local_dir *dir, const struct stat *st,
    const char *path, const struct strlist *names)
{
	const struct rcp_above here = { .above = c->above,
		.dev = st->st_dev, .ino = st->st_ino };
	int r;

	c->above = &here;
	c->depth++;
	r = send_entries(c, dir, path, names);
	c->depth--;
	c->above = here.above;
	return r;
}

static int
send_dir(struct rcp *c, struct local_dir *dir, const struct stat *st,
    const char *path, const char *name)
{
	struct strlist names = { NULL, 0 };
	const char *why = refusal(c, st, path);
	int r;

	if (why != NULL) {
		rcp_fail(c, path, why);
		return 0;
	}
	r = list_dir(dir, &names);
	if (r == ERR_SYSTEM) { /* the names that could be read are sent */
		rcp_fail(c, path, local_error_text(errno));
		r = 0;
	}
	if (r == 0)
		r = announce(c, 'D', st, 0, "", name);
	if (r == 0)
		r = rcp_read_answers(c);
	if (r == 0)
		r = send_content(c, dir, st, path, &names);
	strlist_clear(&names);
	if (r != 0)
		return r < 0 ? r : 0;
	return put_line(c, "E\n");
}

/* ---- names -------------------------------------------------------------- */

/* Sends what is behind a name. name_sent: the name that the sink gets. */
static int
send_found(struct rcp *c, struct local_dir *at, const char *name, int fd,
    const struct stat *st, const char *path, const char *name_sent)
{
	struct local_dir *dir;
	int r = 0;

	if (S_ISDIR(st->st_mode) && c->opts.recursive) {
		dir = local_child(at, name, st, LOCAL_LINKS_ALL);
		r = dir != NULL ? send_dir(c, dir, st, path, name_sent) :
				  ERR_NOMEM;
		local_dir_unref(dir);
	} else if (S_ISREG(st->st_mode)) {
		r = send_file(c, fd, st, path, name_sent);
	} else {
		rcp_fail(c, path, "not a regular file");
	}
	return r;
}

/* Sends a file or a tree. Links are followed, as rcp does; but a directory must
 * stay the one that was found until its content was sent. */
static int
send_name(struct rcp *c, struct local_dir *at, const char *name,
    const char *path)
{
	const char *last = local_last_name(path);
	char *name_sent = strndup(last, *last == '/' ? 1 : strcspn(last, "/"));
	struct stat st;
	int fd, r = 0;

	if (name_sent == NULL)
		return ERR_NOMEM;
	fd = local_open_source(at, name, LOCAL_LINKS_ALL, &st);
	if (fd < 0)
		rcp_fail(c, path, local_error_text(errno));
	else if (strchr(name_sent, '\n') != NULL)
		rcp_fail(c, path,
		    "this protocol cannot carry a newline in a name");
	else
		r = send_found(c, at, name, fd, &st, path, name_sent);
	fd_close(&fd);
	free(name_sent);
	return r;
}

static int
send_path(struct rcp *c, const char *path)
{
	const char *name;
	struct local_dir *at =
	    local_place(c->local, path, LOCAL_LINKS_ALL, &name);
	int r = at != NULL ? send_name(c, at, name, path) : ERR_NOMEM;

	local_dir_unref(at);
	return r;
}

int
rcp_send(struct rcp *c, char *const paths[], int n)
{
	int r = rcp_answer(c); /* the sink is ready */

	if (r != 0)
		return r < 0 ? r : ERR_CANCELLED;
	fd_raise_limit(); /* directories above a file stay open */
	for (int i = 0; r >= 0 && i < n; i++)
		r = send_path(c, paths[i]);
	fd_restore_limit();
	if (r < 0 || (r = rcp_read_answers(c)) < 0)
		return r;
	return rcp_flush(c);
}
