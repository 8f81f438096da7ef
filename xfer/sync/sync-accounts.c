/* SPDX-License-Identifier: ISC */
#include "xfer/sync/sync-accounts.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "xfer/sftp/sftp-engine.h"

enum {
	TEXT_MAX = 4 * 1024 * 1024, /* bytes of a file */
	PIECE = 128 * 1024,
};

struct file {
	struct sync_accounts *a;
	struct sftp_handle handle;
	struct buf text;
};

struct sync_accounts {
	struct sftp *s;
	void (*done)(void *arg);
	void *arg;
	unsigned reading; /* files */
	struct file files[OWNERS_GROUP + 1]; /* by kind */
};

static void read_on(struct file *f);

static void
file_ends(struct file *f)
{
	struct sync_accounts *a = f->a;

	buf_put_u8(&f->text, 0);
	if (buf_err(&f->text) < 0)
		buf_clear(&f->text);
	if (--a->reading == 0)
		a->done(a->arg);
}

static void
on_data(void *arg, uint64_t offset, const uint8_t *p, size_t len)
{
	struct file *f = arg;

	if (offset == buf_len(&f->text))
		buf_put(&f->text, p, len);
}

static void
on_read(void *arg, const struct sftp_reply *reply)
{
	struct file *f = arg;

	if (reply->err == 0 && reply->type == SFTP_DATA &&
	    reply->data_len > 0 && buf_len(&f->text) < TEXT_MAX) {
		read_on(f);
		return;
	}
	if (reply->err == 0)
		sftp_close(f->a->s, &f->handle, NULL, NULL);
	file_ends(f);
}

static void
read_on(struct file *f)
{
	sftp_read(f->a->s, &f->handle, buf_len(&f->text), PIECE, on_data,
	    on_read, f);
}

static void
on_open(void *arg, const struct sftp_reply *reply)
{
	struct file *f = arg;

	if (reply->err != 0 || reply->type != SFTP_HANDLE) {
		file_ends(f);
		return;
	}
	sftp_keep_handle(&f->handle, reply);
	read_on(f);
}

struct sync_accounts *
sync_accounts_read(struct sftp *s, void (*done)(void *arg), void *arg)
{
	static const char *const paths[] = { [OWNERS_USER] = "/etc/passwd",
		[OWNERS_GROUP] = "/etc/group" };
	const struct sftp_attrs none = { .flags = 0 };
	struct sync_accounts *a = calloc(1, sizeof *a);

	if (a == NULL)
		return NULL;
	a->s = s;
	a->done = done;
	a->arg = arg;
	a->reading = 2;
	for (int kind = OWNERS_USER; kind <= OWNERS_GROUP; kind++) {
		a->files[kind].a = a;
		sftp_open(s, paths[kind], SFTP_O_READ, &none, on_open,
		    &a->files[kind]);
	}
	return a;
}

void
sync_accounts_free(struct sync_accounts *a)
{
	if (a == NULL)
		return;
	buf_clear(&a->files[OWNERS_USER].text);
	buf_clear(&a->files[OWNERS_GROUP].text);
	free(a);
}

/* The id of a line "name:password:id:...". */
static bool
id_of(const char *line, size_t len, uint32_t *id)
{
	const char *at = memchr(line, ':', len), *end = line + len, *stop;
	char digits[16];
	int64_t v;

	if (at == NULL || (at = memchr(at + 1, ':', (size_t)(end - at - 1))) ==
	    NULL)
		return false;
	at++;
	stop = memchr(at, ':', (size_t)(end - at));
	if (stop == NULL || (size_t)(stop - at) >= sizeof digits)
		return false;
	memcpy(digits, at, (size_t)(stop - at));
	digits[stop - at] = '\0';
	if (str_to_int(digits, 0, UINT32_MAX - 1, &v) < 0)
		return false;
	*id = (uint32_t)v;
	return true;
}

bool
sync_accounts_find(const struct sync_accounts *a, enum owners_kind kind,
    const char *name, uint32_t *id)
{
	const struct buf *text = &a->files[kind].text;
	const char *line, *end;
	size_t len = strlen(name);

	if (buf_len(text) == 0)
		return false;
	line = (const char *)buf_data(text);
	/* A NUL is behind the text; what is behind one within it is not
	 * read. */
	for (; *line != '\0'; line = end + (*end == '\n')) {
		end = line + strcspn(line, "\n");
		if (strncmp(line, name, len) == 0 && line[len] == ':' &&
		    id_of(line, (size_t)(end - line), id))
			return true;
	}
	return false;
}
