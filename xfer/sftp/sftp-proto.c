/* SPDX-License-Identifier: ISC */
#include "xfer/sftp/sftp-proto.h"

#include <sys/stat.h>

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/wire.h"
#include "compat/bsd.h"

/* A message with more extended attributes than this is an attack. */
enum { EXTENDED_ATTRS_MAX = 0x1000 };

#define COPY "copy@hpnssh.org"

void
sftp_put_attrs(struct buf *b, const struct sftp_attrs *attrs)
{
	static const struct sftp_attrs none;

	if (attrs == NULL)
		attrs = &none;
	buf_put_u32(b, attrs->flags);
	if (attrs->flags & SFTP_A_SIZE)
		buf_put_u64(b, attrs->size);
	if (attrs->flags & SFTP_A_OWNER) {
		buf_put_u32(b, attrs->uid);
		buf_put_u32(b, attrs->gid);
	}
	if (attrs->flags & SFTP_A_MODE)
		buf_put_u32(b, attrs->mode);
	if (attrs->flags & SFTP_A_TIMES) {
		buf_put_u32(b, attrs->atime);
		buf_put_u32(b, attrs->mtime);
	}
	if (attrs->flags & SFTP_A_EXTENDED) {
		buf_put_u32(b, 1);
		buf_put_cstring(b, COPY);
		buf_put_u32(b, 8 + 1);
		buf_put_u64(b, attrs->copy);
		buf_put_u8(b, attrs->further);
	}
}

static void
get_extended(struct rd *r, struct sftp_attrs *attrs)
{
	struct span name = rd_string(r);
	struct rd value = rd_sub(r);

	if (name.len != strlen(COPY) || memcmp(name.p, COPY, name.len) != 0)
		return;
	attrs->copy = rd_u64(&value);
	attrs->further = rd_u8(&value) != 0;
	if (rd_err(&value) < 0)
		rd_fail(r, rd_err(&value));
}

void
sftp_get_attrs(struct rd *r, struct sftp_attrs *attrs)
{
	uint32_t count;

	*attrs = (struct sftp_attrs){ .flags = rd_u32(r) };
	if (attrs->flags & SFTP_A_SIZE)
		attrs->size = rd_u64(r);
	if (attrs->flags & SFTP_A_OWNER) {
		attrs->uid = rd_u32(r);
		attrs->gid = rd_u32(r);
	}
	if (attrs->flags & SFTP_A_MODE)
		attrs->mode = rd_u32(r);
	if (attrs->flags & SFTP_A_TIMES) {
		attrs->atime = rd_u32(r);
		attrs->mtime = rd_u32(r);
	}
	if (attrs->flags & SFTP_A_EXTENDED) {
		count = rd_u32(r);
		if (count > EXTENDED_ATTRS_MAX)
			rd_fail(r, ERR_LIMIT);
		for (; count > 0 && r->err == 0; count--)
			get_extended(r, attrs);
		attrs->flags &= ~SFTP_A_EXTENDED;
	}
}

static uint32_t
time_to_u32(time_t t)
{
	if (t < 0)
		return 0;
	return (uint64_t)t > UINT32_MAX ? UINT32_MAX : (uint32_t)t;
}

void
sftp_attrs_from_stat(struct sftp_attrs *attrs, const struct stat *st)
{
	*attrs = (struct sftp_attrs){
		.flags = SFTP_A_SIZE | SFTP_A_OWNER | SFTP_A_MODE |
		    SFTP_A_TIMES,
		.size = st->st_size < 0 ? 0 : (uint64_t)st->st_size,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.mode = st->st_mode,
		.atime = time_to_u32(st->st_atime),
		.mtime = time_to_u32(st->st_mtime),
	};
}

void
sftp_put_statvfs(struct buf *b, const struct sftp_statvfs *v)
{
	buf_put_u64(b, v->bsize);
	buf_put_u64(b, v->frsize);
	buf_put_u64(b, v->blocks);
	buf_put_u64(b, v->bfree);
	buf_put_u64(b, v->bavail);
	buf_put_u64(b, v->files);
	buf_put_u64(b, v->ffree);
	buf_put_u64(b, v->favail);
	buf_put_u64(b, v->fsid);
	buf_put_u64(b, v->flag);
	buf_put_u64(b, v->namemax);
}

void
sftp_get_statvfs(struct rd *r, struct sftp_statvfs *v)
{
	v->bsize = rd_u64(r);
	v->frsize = rd_u64(r);
	v->blocks = rd_u64(r);
	v->bfree = rd_u64(r);
	v->bavail = rd_u64(r);
	v->files = rd_u64(r);
	v->ffree = rd_u64(r);
	v->favail = rd_u64(r);
	v->fsid = rd_u64(r);
	v->flag = rd_u64(r);
	v->namemax = rd_u64(r);
}

/* The texts that users and scripts know: that of the matching errno if there is
 * one. */
static const char *const status_texts[] = {
	[SFTP_OK] = "Success",
	[SFTP_EOF] = "End of file",
	[SFTP_NO_SUCH_FILE] = "No such file or directory",
	[SFTP_PERMISSION_DENIED] = "Permission denied",
	[SFTP_FAILURE] = "Failure",
	[SFTP_BAD_MESSAGE] = "Bad message",
	[SFTP_NO_CONNECTION] = "No connection",
	[SFTP_CONNECTION_LOST] = "Connection lost",
	[SFTP_OP_UNSUPPORTED] = "Operation not supported",
};

const char *
sftp_status_text(uint32_t status)
{
	if (status >= ARRAY_LEN(status_texts))
		return "Unknown status";
	return status_texts[status];
}

/* Is it a text that servers send when they know nothing of the error? */
static bool
says_nothing(const char *words)
{
	static const char *const empty[] = { "", "failure", "bad message",
		"error", "unknown error", "ssh_fx_failure",
		"ssh_fx_bad_message" };

	for (size_t i = 0; i < ARRAY_LEN(empty); i++)
		if (str_equal_nocase(words, empty[i]))
			return true;
	return false;
}

void
sftp_status_words(uint32_t status, const struct span *text, char *out,
    size_t size)
{
	bool known = status < ARRAY_LEN(status_texts) &&
	    status != SFTP_FAILURE && status != SFTP_BAD_MESSAGE;
	char words[SFTP_WORDS_MAX];
	size_t len = MIN(text->len, sizeof words - 1);

	strlcpy(out, sftp_status_text(status), size);
	if (known || len == 0)
		return;
	memcpy(words, text->p, len);
	words[len] = '\0';
	if (!says_nothing(words))
		str_escape(out, size, words);
}

/* Compares with the texts that C libraries have for ENOSPC and EDQUOT. */
bool
sftp_words_are_full(const char *words)
{
	static const char *const full[] = { "No space left on device",
		"Disk quota exceeded", "Disc quota exceeded",
		"Quota exceeded" };

	for (size_t i = 0; i < ARRAY_LEN(full); i++)
		if (str_equal_nocase(words, full[i]))
			return true;
	return false;
}

enum sftp_status
sftp_status_from_errno(int error)
{
	switch (error) {
	case 0:
		return SFTP_OK;
	case ENOENT:
	case ENOTDIR:
	case EBADF:
	case ELOOP:
		return SFTP_NO_SUCH_FILE;
	case EPERM:
	case EACCES:
	case EFAULT:
		return SFTP_PERMISSION_DENIED;
	case ENAMETOOLONG:
	case EINVAL:
		return SFTP_BAD_MESSAGE;
	case ENOSYS:
	case EOPNOTSUPP:
		return SFTP_OP_UNSUPPORTED;
	default:
		return SFTP_FAILURE;
	}
}

void
sftp_open_flags_text(uint32_t pflags, char *out, size_t size)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} names[] = {
		{ SFTP_O_READ, "READ" },
		{ SFTP_O_WRITE, "WRITE" },
		{ SFTP_O_APPEND, "APPEND" },
		{ SFTP_O_CREAT, "CREATE" },
		{ SFTP_O_TRUNC, "TRUNCATE" },
		{ SFTP_O_EXCL, "EXCL" },
	};

	strlcpy(out, "", size);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if ((pflags & names[i].flag) == 0)
			continue;
		if (out[0] != '\0')
			strlcat(out, ",", size);
		strlcat(out, names[i].name, size);
	}
}
