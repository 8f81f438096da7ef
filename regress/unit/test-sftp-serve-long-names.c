/* SPDX-License-Identifier: ISC */
/*
 * Names that are longer than NAME_MAX, as FUSE has them. No file system of a
 * test machine does, so listings get them from a readdir() of this program.
 */
#include "regress/unit/sftp-host.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "xfer/sftp/walk-reader.h"

enum { LONG = 1000, FILES = 100, REPLY_MOST = 64 * 1024 };

static bool lengthens;

struct dirent *
readdir(DIR *dir)
{
	static union {
		struct dirent de;
		char bytes[sizeof(struct dirent) + LONG];
	} longer;
	static struct dirent *(*real)(DIR *dir);
	char *name = longer.bytes + offsetof(struct dirent, d_name);
	struct dirent *de;
	size_t len;

	if (real == NULL)
		*(void **)&real = dlsym(RTLD_NEXT, "readdir");
	de = real(dir);
	if (de == NULL || !lengthens || de->d_name[0] == '.')
		return de;
	len = strlen(de->d_name);
	memcpy(name, de->d_name, len);
	memset(name + len, 'x', LONG - len);
	name[LONG] = '\0';
	return &longer.de;
}

static void
plant(void)
{
	char name[32];

	assert_int_equal(mkdir("t", 0755), 0);
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof name, "t/%d", i);
		make_file(name, "");
	}
}

static void
clear(void)
{
	char name[32];

	lengthens = false;
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof name, "t/%d", i);
		assert_int_equal(unlink(name), 0);
	}
	assert_int_equal(rmdir("t"), 0);
}

/* All are listed, in replies that every client takes. */
static void
test_readdir(void **state)
{
	struct reply reply;
	unsigned names = 0, n;
	uint32_t h;

	(void)state;
	plant();
	lengthens = true;
	ask_path(SFTP_OPENDIR, "t");
	h = answer_handle();
	for (;;) {
		put_handle(ask_for(SFTP_READDIR), h);
		reply = answer();
		if (reply.type != SFTP_NAME)
			break;
		assert_true(reply.body.len < REPLY_MOST);
		n = rd_u32(&reply.body);
		names += n;
	}
	assert_int_equal(reply.status, SFTP_EOF);
	assert_int_equal(names, FILES + 2);
	close_handle(h, SFTP_OK);
	clear();
}

/* A walk has no room for them, and says so of their directory. */
static void
test_walk(void **state)
{
	static struct walk_reader reader;
	struct walk_item item;
	struct reply reply;
	uint32_t h;

	(void)state;
	plant();
	lengthens = true;
	buf_put_cstring(ask_ext("walk@hpnssh.org"), "t");
	buf_put_u32(&message, 0);
	buf_put_cstring(&message, "");
	buf_put_cstring(&message, "");
	h = answer_handle();
	put_handle(ask_ext("walk-read@hpnssh.org"), h);
	reply = answer();
	assert_int_equal(reply.type, SFTP_EXTENDED_REPLY);
	walk_reader_init(&reader, 0);
	walk_reader_reply(&reader,
	    (struct span){ reply.body.p, reply.body.len });
	assert_int_equal(walk_reader_next(&reader, &item), 1);
	assert_true(item.is_group && item.status == SFTP_BAD_MESSAGE);
	assert_int_equal(walk_reader_next(&reader, &item), 0);
	close_handle(h, SFTP_OK);
	clear();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_readdir),
		cmocka_unit_test(test_walk),
	};

	return serve_run_modes(tests);
}
