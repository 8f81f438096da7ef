/* SPDX-License-Identifier: ISC */
#include "keys/keyfile.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/open-named.h"
#include "keys/keyfile-internal.h"

enum { FILE_MAX_BYTES = 1024 * 1024 };

static struct span
skip_blank(struct span s)
{
	while (s.len > 0 && strchr(" \t\r\n", *s.p) != NULL && *s.p != '\0') {
		s.p++;
		s.len--;
	}
	return s;
}

static bool
begins_with(struct span s, const char *text)
{
	return s.len >= strlen(text) && memcmp(s.p, text, strlen(text)) == 0;
}

int
keyfile_parse_private(struct span content, const char *pass, struct key **out,
    char **comment)
{
	if (comment != NULL)
		*comment = NULL;
	content = skip_blank(content);
	if (begins_with(content, KEYFILE_V1_BEGIN))
		return keyfile_v1_parse(content, pass, out, comment);
	return keyfile_pem_parse(content, pass, out);
}

int
keyfile_parse_public_half(struct span content, struct key **out)
{
	struct key *k = NULL;
	int r;

	content = skip_blank(content);
	if (begins_with(content, KEYFILE_V1_BEGIN))
		return keyfile_v1_parse_public(content, out);
	r = keyfile_pem_parse(content, NULL, &k);
	if (r == 0)
		r = key_public_of(k, out);
	key_free(k);
	return r;
}

int
keyfile_format_private(const struct key *k, enum keyfile_format format,
    const char *pass, const char *comment, const char *cipher,
    uint32_t rounds, struct buf *out)
{
	/* Ed25519 has no traditional PEM form. Whoever asks for it gets
	 * openssh-key-v1, as with ssh-keygen of OpenSSH. */
	if (format == KEYFILE_OPENSSH ||
	    (format == KEYFILE_PEM && strcmp(key_type(k), "ssh-ed25519") == 0))
		return keyfile_v1_format(k, pass, comment, cipher, rounds,
		    out);
	return keyfile_pem_format(k, format, pass, out);
}

/* Files. */

/* The group is ssh_keys, which some systems make for ssh-keysign to read host
 * keys, and no user is a member of it. */
static bool
is_group_of_keysign(gid_t gid)
{
	const struct group *gr = getgrgid(gid);

	return gr != NULL && strcmp(gr->gr_name, "ssh_keys") == 0 &&
	    gr->gr_mem[0] == NULL;
}

bool
keyfile_is_private(const struct stat *st)
{
	return (st->st_mode & 077) == 0 ||
	    (st->st_uid == 0 && (st->st_mode & 037) == 0 &&
		is_group_of_keysign(st->st_gid));
}

static int
read_private(const char *path, bool check_mode, struct buf *out)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC), r = 0;

	if (fd == -1)
		return ERR_SYSTEM;
	if (fstat(fd, &st) == -1)
		r = ERR_SYSTEM;
	else if (check_mode && st.st_uid == getuid() &&
	    !keyfile_is_private(&st))
		r = ERR_PERMISSION;
	if (r == 0)
		r = fd_read_file(fd, out, FILE_MAX_BYTES);
	fd_close(&fd);
	return r;
}

int
keyfile_load_private(const char *path, const char *pass, bool check_mode,
    struct key **out, char **comment)
{
	struct buf content;
	int r;

	buf_init_secret(&content);
	r = read_private(path, check_mode, &content);
	if (r == 0)
		r = keyfile_parse_private(buf_span(&content), pass, out,
		    comment);
	buf_clear(&content);
	return r;
}

static int
parse_public_line(char *line, struct key **out, char **comment)
{
	const char *s = line;
	struct key *k = NULL;
	int r = key_parse_line(&s, &k);

	if (r != 0)
		return r;
	s += strspn(s, " \t");
	if (comment != NULL && (*comment = strdup(s)) == NULL) {
		key_free(k);
		return ERR_NOMEM;
	}
	*out = k;
	return 0;
}

/* Parses the first line that is neither blank nor a comment. Returns ERR_FORMAT
 * if there is none. */
static int
parse_public(const struct buf *content, struct key **out, char **comment)
{
	char *text = buf_dup_string(content), *rest = text, *line;
	int r = ERR_FORMAT;

	if (text == NULL)
		return ERR_NOMEM;
	while ((line = strsep(&rest, "\r\n")) != NULL) {
		line += strspn(line, " \t");
		if (*line == '\0' || *line == '#')
			continue;
		r = parse_public_line(line, out, comment);
		break;
	}
	/* The file may be a private key. */
	mem_free_secret(text, buf_len(content));
	return r;
}

static int
load_public_file(const char *path, struct key **out, char **comment)
{
	struct buf content;
	int r;

	buf_init_secret(&content);
	r = file_read(path, &content, FILE_MAX_BYTES);
	if (r == 0)
		r = parse_public(&content, out, comment);
	buf_clear(&content);
	return r;
}

int
keyfile_load_public(const char *path, struct key **out, char **comment)
{
	struct buf content;
	char *pub = NULL;
	int r, saved;

	if (comment != NULL)
		*comment = NULL;
	r = load_public_file(path, out, comment);
	if (r == 0)
		return 0;
	saved = errno;
	if (asprintf(&pub, "%s.pub", path) == -1)
		return ERR_NOMEM;
	if (load_public_file(pub, out, comment) == 0) {
		free(pub);
		return 0;
	}
	free(pub);
	errno = saved;
	if (r == ERR_SYSTEM)
		return r;
	buf_init_secret(&content);
	r = file_read(path, &content, FILE_MAX_BYTES);
	if (r == 0)
		r = keyfile_parse_public_half(buf_span(&content), out);
	buf_clear(&content);
	return r;
}

/* Replaces a regular file or makes a new one. Anything else, such as the device
 * or pipe of -f /dev/stdout, is written to. */
static int
save(const char *path, const struct buf *content, mode_t mode)
{
	struct stat st;
	int fd, r;

	if (stat(path, &st) == -1 || S_ISREG(st.st_mode))
		return file_replace(path, buf_data(content), buf_len(content),
		    mode);
	fd = open_named(path, O_WRONLY, 0);
	if (fd == -1)
		return ERR_SYSTEM;
	r = fd_write_all(fd, buf_data(content), buf_len(content));
	fd_close(&fd);
	return r;
}

int
keyfile_save_private(const char *path, const struct key *k,
    enum keyfile_format format, const char *pass, const char *comment,
    const char *cipher, uint32_t rounds)
{
	struct buf content;
	int r;

	buf_init_secret(&content);
	r = keyfile_format_private(k, format, pass, comment, cipher, rounds,
	    &content);
	if (r == 0)
		r = save(path, &content, 0600);
	buf_clear(&content);
	return r;
}

int
keyfile_save_public(const char *path, const struct key *k,
    const char *comment)
{
	struct buf content = { 0 };
	int r = key_format_line(k, comment, &content);

	buf_put_u8(&content, '\n');
	if (r == 0)
		r = buf_err(&content);
	if (r == 0)
		r = save(path, &content, 0644);
	buf_clear(&content);
	return r;
}

size_t
keyfile_private_len(const char *public_path)
{
	static const char *const ends[] = { "-cert.pub", ".pub" };
	size_t len = strlen(public_path);

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		size_t n = strlen(ends[i]);

		if (len > n && strcmp(public_path + len - n, ends[i]) == 0)
			return len - n;
	}
	return len;
}
