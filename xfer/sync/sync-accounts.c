/* SPDX-License-Identifier: ISC */
#include "xfer/sync/sync-accounts.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "xfer/sftp/sftp-text.h"

enum { TEXT_MAX = 4 * 1024 * 1024 }; /* bytes of a file */

struct sync_accounts {
	void (*done)(void *arg);
	void *arg;
	unsigned reading; /* files */
	struct sftp_text files[OWNERS_GROUP + 1]; /* by kind */
};

static void
on_text(void *arg)
{
	struct sync_accounts *a = arg;

	if (--a->reading == 0)
		a->done(a->arg);
}

struct sync_accounts *
sync_accounts_read(struct sftp *s, void (*done)(void *arg), void *arg)
{
	static const char *const paths[] = { [OWNERS_USER] = "/etc/passwd",
		[OWNERS_GROUP] = "/etc/group" };
	struct sync_accounts *a = calloc(1, sizeof *a);

	if (a == NULL)
		return NULL;
	a->done = done;
	a->arg = arg;
	a->reading = 2;
	for (int kind = OWNERS_USER; kind <= OWNERS_GROUP; kind++) {
		a->files[kind] = (struct sftp_text){ .s = s, .max = TEXT_MAX,
			.done = on_text, .arg = a };
		sftp_text_read(&a->files[kind], paths[kind]);
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

/* Reads the id, the third field of a line "name:password:id:...". */
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
	/* The text ends with a NUL. Lines behind a NUL within it are not
	 * read. */
	for (; *line != '\0'; line = end + (*end == '\n')) {
		end = line + strcspn(line, "\n");
		if (strncmp(line, name, len) == 0 && line[len] == ':' &&
		    id_of(line, (size_t)(end - line), id))
			return true;
	}
	return false;
}
