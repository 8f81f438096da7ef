/* SPDX-License-Identifier: ISC */
/* Lists of requests (-P, -p, -R) and what this project adds to them: no request
 * of its own is a way around them. */
#include "compat/bsd.h"
#include "regress/unit/sftp-host.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "xfer/sftp/sftp-rights.h"

/* Each takes a handle that is open on the file "g" for reading and writing. */
static void
ask_check_handle(uint32_t h)
{
	put_handle(ask_ext("check-file-handle"), h);
	buf_put_cstring(&message, "sha256");
	buf_put_u64(&message, 0);
	buf_put_u64(&message, 1); /* a digest of each byte is the file */
	buf_put_u32(&message, 0);
}

static void
ask_check_name(uint32_t h)
{
	(void)h;
	ask_check("g", "sha256", 0, 1, 0);
}

static void
ask_block_sums(uint32_t h)
{
	put_handle(ask_ext("block-sums@hpnssh.org"), h);
	buf_put_u64(&message, 0);
	buf_put_u64(&message, 1);
	buf_put_u32(&message, 2048);
	buf_put_string(&message, "0123456789abcdef0123456789abcdef", 32);
}

static void
ask_copy(uint32_t h)
{
	uint8_t bytes[2048 + 1] = { 0 };
	struct host_copy copy = { .to = h, .p = bytes, .len = 2048 };
	struct reply reply;

	memset(bytes, 'x', 2048);
	make_file("from", (const char *)bytes);
	ask_open("from", SFTP_O_READ);
	reply = answer();
	if (reply.type == SFTP_HANDLE) {
		(void)rd_u32(&reply.body);
		copy.from = rd_u32(&reply.body);
	}
	assert_int_equal(unlink("from"), 0);
	ask_copy_blocks(&copy);
}

static void
ask_times_ns(uint32_t h)
{
	put_handle(ask_ext("times-ns@hpnssh.org"), h);
	for (int i = 0; i < 2; i++) {
		buf_put_u64(&message, 1000000000);
		buf_put_u32(&message, 1);
	}
}

static void
ask_times_ns_name(uint32_t h)
{
	(void)h;
	buf_put_cstring(ask_ext("times-ns-name@hpnssh.org"), "g");
	for (int i = 0; i < 2; i++) {
		buf_put_u64(&message, 1000000000);
		buf_put_u32(&message, 1);
	}
}

static void
ask_block_sums_name(uint32_t h)
{
	(void)h;
	buf_put_cstring(ask_ext("block-sums-name@hpnssh.org"), "g");
	buf_put_u64(&message, 0);
	buf_put_u64(&message, 1);
	buf_put_u32(&message, 2048);
	buf_put_string(&message, "0123456789abcdef0123456789abcdef", 32);
}

static void
ask_stat_ns(uint32_t h)
{
	(void)h;
	buf_put_cstring(ask_ext("stat-ns@hpnssh.org"), "g");
	buf_put_u32(&message, 0);
}

static void
ask_uncache(uint32_t h)
{
	put_handle(ask_ext("uncache@hpnssh.org"), h);
}

static void
ask_sparse_map(uint32_t h)
{
	put_handle(ask_ext("sparse-map@hpnssh.org"), h);
	buf_put_u64(&message, 0);
}

static void
ask_readdir_ns(uint32_t h)
{
	struct reply reply;

	ask_path(SFTP_OPENDIR, ".");
	reply = answer();
	if (reply.type == SFTP_HANDLE) {
		(void)rd_u32(&reply.body);
		h = rd_u32(&reply.body);
	}
	put_handle(ask_ext("readdir-ns@hpnssh.org"), h);
}

static void
ask_put_p(uint32_t h)
{
	const struct sftp_attrs a = { .flags = SFTP_A_MODE, .mode = 0644 };

	(void)h;
	buf_put_cstring(ask_ext("put-file@hpnssh.org"), "p");
	buf_put_u32(&message, 0);
	sftp_put_attrs(&message, &a);
	buf_put_cstring(&message, "x");
}

static void
ask_put_ns(uint32_t h)
{
	const struct sftp_attrs a = { .flags = 0 };

	(void)h;
	buf_put_cstring(ask_ext("put-file-ns@hpnssh.org"), "p");
	buf_put_u32(&message, SFTP_A_TIMES);
	sftp_put_attrs(&message, &a);
	for (int i = 0; i < 2; i++) {
		buf_put_u64(&message, 1);
		buf_put_u32(&message, 2);
	}
	buf_put_cstring(&message, "x");
}

/* The kinds of extended attributes, and none of them. */
static void
put_no_xattrs(void)
{
	buf_put_u32(&message, 1);
	buf_put_u32(&message, 0);
}

static void
ask_put_xattrs(uint32_t h)
{
	const struct sftp_attrs a = { .flags = 0 };

	(void)h;
	buf_put_cstring(ask_ext("put-file-xattrs@hpnssh.org"), "p");
	buf_put_u32(&message, SFTP_A_TIMES);
	sftp_put_attrs(&message, &a);
	for (int i = 0; i < 2; i++) {
		buf_put_u64(&message, 1);
		buf_put_u32(&message, 2);
	}
	put_no_xattrs();
	buf_put_cstring(&message, "x");
}

static void
ask_xattrs(uint32_t h)
{
	(void)h;
	buf_put_cstring(ask_ext("xattrs@hpnssh.org"), "g");
	buf_put_u32(&message, 0);
	buf_put_u32(&message, 1);
}

static void
ask_set_xattrs(uint32_t h)
{
	(void)h;
	buf_put_cstring(ask_ext("set-xattrs@hpnssh.org"), "g");
	buf_put_u32(&message, 0);
	put_no_xattrs();
}

static void
ask_fset_xattrs(uint32_t h)
{
	put_handle(ask_ext("fset-xattrs@hpnssh.org"), h);
	put_no_xattrs();
}

static void
ask_rename_part(uint32_t h)
{
	put_handle(ask_ext("rename-part@hpnssh.org"), h);
	buf_put_cstring(&message, "g");
	buf_put_cstring(&message, "g");
}

static void
ask_walk(uint32_t h)
{
	(void)h;
	buf_put_cstring(ask_ext("walk@hpnssh.org"), ".");
	for (int i = 0; i < 3; i++) /* no wants, rules nor start */
		buf_put_u32(&message, 0);
}

static void
ask_walk_read(uint32_t h)
{
	struct reply reply;

	ask_walk(h);
	reply = answer();
	if (reply.type == SFTP_HANDLE) {
		(void)rd_u32(&reply.body);
		h = rd_u32(&reply.body);
	}
	put_handle(ask_ext("walk-read@hpnssh.org"), h);
}

/* Nothing may be open. */
static void
ask_confine(uint32_t h)
{
	put_handle(ask_for(SFTP_CLOSE), h);
	(void)answer();
	buf_put_cstring(ask_ext("confine@hpnssh.org"), ".");
	buf_put_u32(&message, SFTP_MAY_LIST | SFTP_MAY_READ);
	for (int i = 0; i < 3; i++)
		buf_put_u64(&message, UINT64_MAX);
	buf_put_u32(&message, 0);
}

static void
ask_ids(uint32_t h)
{
	(void)h;
	ask_ext("ids-by-name@hpnssh.org");
	for (int i = 0; i < 2; i++) /* no users, no groups */
		buf_put_u32(&message, 0);
}

static void
ask_own_ids(uint32_t h)
{
	(void)h;
	ask_ext("own-ids@hpnssh.org");
}

static void
ask_get_g(uint32_t h)
{
	(void)h;
	buf_put_cstring(ask_ext("get-file@hpnssh.org"), "g");
	buf_put_u32(&message, 100);
}

/* What this project adds, and what it comes to in requests of others, which
 * administrators know how to refuse. */
static const struct own {
	const char *name, *wire, *counts_as;
	void (*ask)(uint32_t h);
	bool changes;
} own_requests[] = {
	{ "check-file-handle", "check-file", "read", ask_check_handle, false },
	{ "check-file-name", NULL, "open,read,close", ask_check_name, false },
	{ "block-sums", "block-sums@hpnssh.org", "read", ask_block_sums,
	    false },
	{ "block-sums-name", "block-sums-name@hpnssh.org", "open,read,close",
	    ask_block_sums_name, false },
	{ "copy-blocks", "copy-blocks@hpnssh.org", "copy-data", ask_copy,
	    true },
	{ "uncache", "uncache@hpnssh.org", "fsync", ask_uncache, true },
	{ "times-ns", "times-ns@hpnssh.org", "fsetstat", ask_times_ns, true },
	{ "times-ns-name", "times-ns-name@hpnssh.org", "lsetstat",
	    ask_times_ns_name, true },
	{ "stat-ns", "stat-ns@hpnssh.org", "stat,lstat", ask_stat_ns, false },
	{ "sparse-map", "sparse-map@hpnssh.org", "read", ask_sparse_map,
	    false },
	{ "readdir-ns", "readdir-ns@hpnssh.org", "opendir,readdir",
	    ask_readdir_ns, false },
	{ "put-file", "put-file@hpnssh.org",
	    "open,write,close,lstat,fsetstat,posix-rename,remove", ask_put_p,
	    true },
	{ "put-file-ns", "put-file-ns@hpnssh.org",
	    "open,write,close,lstat,fsetstat,posix-rename,remove", ask_put_ns,
	    true },
	{ "put-file-xattrs", NULL,
	    "open,write,close,lstat,fsetstat,posix-rename,remove",
	    ask_put_xattrs, true },
	{ "rename-part", "rename-part@hpnssh.org", "close,posix-rename,remove",
	    ask_rename_part, true },
	{ "get-file", "get-file@hpnssh.org", "open,read,close,fstat",
	    ask_get_g, false },
	{ "walk", "walk@hpnssh.org",
	    "opendir,readdir,lstat,readlink,open,read,close", ask_walk,
	    false },
	{ "walk-read", NULL, "opendir,readdir,lstat,readlink,open,read,close",
	    ask_walk_read, false },
	{ "confine", "confine@hpnssh.org", "opendir,close", ask_confine,
	    false },
	{ "ids-by-name", "ids-by-name@hpnssh.org", "users-groups-by-id",
	    ask_ids, false },
	{ "own-ids", "own-ids@hpnssh.org", "stat", ask_own_ids, false },
	{ "xattrs", "xattrs@hpnssh.org", "stat,lstat", ask_xattrs, false },
	{ "set-xattrs", NULL, "setstat", ask_set_xattrs, true },
	{ "fset-xattrs", NULL, "fsetstat", ask_fset_xattrs, true },
};

/* As a stock sftp-server names them. */
static const char standard_requests[] =
    "open,close,read,write,lstat,fstat,setstat,fsetstat,opendir,readdir,"
    "remove,mkdir,rmdir,realpath,stat,rename,readlink,symlink,posix-rename,"
    "statvfs,fstatvfs,hardlink,fsync,lsetstat,limits,expand-path,copy-data,"
    "home-directory,users-groups-by-id";

/* A request that is not here is not tested below: it must be added. */
static void
test_own_requests_are_known(void **state)
{
	const char *name, *counts;
	size_t found = 0;

	(void)state;
	for (size_t i = 0; (name = sftp_serve_request_name(i)) != NULL; i++) {
		counts = sftp_serve_request_counts_as(i);
		if (csv_has(standard_requests, name)) {
			assert_null(counts);
			continue;
		}
		assert_true(found < ARRAY_LEN(own_requests));
		assert_string_equal(name, own_requests[found].name);
		assert_string_equal(counts, own_requests[found].counts_as);
		found++;
	}
	assert_int_equal(found, ARRAY_LEN(own_requests));
	assert_null(sftp_serve_request_counts_as(1000));
}

/* Is it in VERSION, and does it work? Both or none. A handle is made first,
 * and if that is refused it is a wrong one. */
static void
expect_own(const struct own *own, const struct sftp_serve_opts *opts,
    bool works)
{
	struct reply reply;
	uint32_t h = 0;

	make_file("g", "text");
	begin(opts);
	buf_put_u32(ask_for(SFTP_INIT), 3);
	reply = answer();
	if (own->wire != NULL)
		assert_int_equal(memmem(reply.body.p, reply.body.len,
		    own->wire, strlen(own->wire)) != NULL, works);
	ask_open("g", opts->read_only ? SFTP_O_READ :
					SFTP_O_READ | SFTP_O_WRITE);
	reply = answer();
	if (reply.type == SFTP_HANDLE) {
		(void)rd_u32(&reply.body);
		h = rd_u32(&reply.body);
	}
	own->ask(h);
	reply = answer();
	if (works)
		assert_int_equal(reply.status, SFTP_OK);
	else
		assert_int_equal(reply.status, SFTP_PERMISSION_DENIED);
	assert_int_equal(unlink("p") == 0,
	    works && strncmp(own->name, "put-file", 8) == 0);
	assert_int_equal(unlink("g"), 0);
}

/* Refusing any of the requests it counts as refuses it, in both ways of
 * saying so. */
static void
test_own_requests_refused(void **state)
{
	const struct sftp_serve_opts all = { .home = temp_dir };
	struct sftp_serve_opts opts;
	char list[600], *rest, *word, others[600];
	const struct own *own;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(own_requests); i++) {
		own = &own_requests[i];
		expect_own(own, &all, true);
		opts = (struct sftp_serve_opts){ .denied = own->name };
		expect_own(own, &opts, false);
		opts = (struct sftp_serve_opts){ .read_only = true };
		expect_own(own, &opts, !own->changes);
		opts = (struct sftp_serve_opts){ .allowed = standard_requests };
		expect_own(own, &opts, false); /* of a stock server's list */
		strlcpy(list, own->counts_as, sizeof list);
		for (rest = list; (word = strsep(&rest, ",")) != NULL;) {
			opts = (struct sftp_serve_opts){ .denied = word };
			expect_own(own, &opts, false);
		}
		/* walk makes the handle of walk-read. */
		snprintf(others, sizeof others, "open,walk,%s,%s",
		    own->counts_as, own->name);
		opts = (struct sftp_serve_opts){ .allowed = others };
		expect_own(own, &opts, true);
		/* Nothing else is needed. */
		opts.denied = "setstat,rename,mkdir,rmdir,symlink,readlink,"
			      "opendir,readdir,realpath,copy-data,fsync";
		if (strcmp(own->name, "uncache") == 0)
			opts.denied = "setstat,rename,stat,lstat,copy-data";
		if (csv_has("readdir-ns,confine", own->name))
			opts.denied = "setstat,rename,stat,lstat,stat-ns";
		if (csv_has("walk,walk-read", own->name))
			opts.denied = "setstat,rename,stat,realpath,copy-data";
		if (strcmp(own->name, "copy-blocks") == 0)
			opts.denied = "write,setstat,rename,check-file-handle";
		if (strcmp(own->name, "set-xattrs") == 0)
			opts.denied = "fsetstat,rename,stat,lstat,copy-data";
		expect_own(own, &opts, true);
	}
	restart(&all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_requests_are_known),
		cmocka_unit_test(test_own_requests_refused),
	};

	return serve_run_modes(tests);
}
