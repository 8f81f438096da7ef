/* SPDX-License-Identifier: ISC */
/*
 * What was kept of known_hosts files answers as reading them does, whatever
 * happens to them meanwhile; and they are read once for all names.
 */
#include "regress/unit/help.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/mem.h"
#include "compat/file.h"
#include "keys/knownhosts-internal.h"
#include "regress/unit/dice.h"

#define ED1                                                                    \
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFSMBVz3cx8l6yDaVMgnNOSESWYceGQC" \
	"PcRLkkTIUOy2"
#define ED2                                                                    \
	"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDTzYSIKqA0icWVwYRqGftjVlsrKmhoV" \
	"HNu/YpNL/zNk"
#define EC1                                                                    \
	"ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYA" \
	"AABBBMNYuv9LrmBCkHdXfBp5F9MmMuIvyeaxi6mGGGnJ+1bArn1+wb/UoVROY976eMy0" \
	"G87hQwY/k4euzdlGOGrXlKk="

enum { STORIES = 200, TURNS = 12, WAIT_MS = 60000 };

static const char *const names[] = { "alpha", "[alpha]:2222", "beta",
	"192.0.2.1", "not.asked.before" };
static const char *const keys[] = { ED1, ED2, EC1 };
static struct key *made[ARRAY_LEN(keys)];
static struct strlist files, asked;

/* ---- the files ---------------------------------------------------------- */

static void
put_line(struct dice *d, struct buf *out)
{
	static const char *const hosts[] = { "alpha", "ALPHA", "al*",
		"[alpha]:2222", "[alpha]:*", "beta,alpha", "beta", "*,!beta",
		"192.0.2.1", "gamma", "alpha,192.0.2.1", "|1|x|y" };
	static const char *const others[] = { "", "# alpha " ED1, "alpha",
		"alpha ssh-ed25519 AAAA", "alpha unknown AAAA",
		"@revoked", "@other alpha " ED1, "alpha\r" ED1 };
	static const char *const markers[] = { "", "", "", "@revoked ",
		"@cert-authority ", "\t " };
	const char *host = hosts[dice_below(d, ARRAY_LEN(hosts))];
	char *hash = NULL;

	if (dice_below(d, 6) == 0) {
		buf_printf(out, "%s\n", others[dice_below(d,
					    ARRAY_LEN(others))]);
		return;
	}
	if (dice_below(d, 3) == 0)
		host = hash = knownhosts_hash(names[dice_below(d, 4)]);
	buf_printf(out, "%s%s%s%s%s\n",
	    markers[dice_below(d, ARRAY_LEN(markers))], host,
	    dice_below(d, 4) == 0 ? "\t " : " ",
	    keys[dice_below(d, ARRAY_LEN(keys))],
	    dice_below(d, 4) == 0 ? " comment\r" : "");
	free(hash);
}

static void
put_lines(struct dice *d, struct buf *out)
{
	for (uint32_t n = dice_below(d, 7); n > 0; n--)
		put_line(d, out);
	assert_int_equal(buf_err(out), 0);
}

static void
write_over(const char *path, int flags, const struct buf *b)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);

	assert_true(fd != -1);
	assert_int_equal(fd_write_all(fd, buf_data(b), buf_len(b)), 0);
	close(fd);
}

/* Other content of the same size, at the same times as far as one can set
 * them. */
static void
exchange_key(const char *path)
{
	struct buf b = { 0 };
	struct stat st;
	uint8_t *at;

	if (stat(path, &st) == -1)
		return;
	assert_int_equal(file_read(path, &b, 1 << 22), 0);
	at = memmem(buf_data(&b), buf_len(&b), ED1, strlen(ED1));
	if (at != NULL)
		memcpy(at, ED2, strlen(ED2));
	write_over(path, 0, &b);
	assert_int_equal(utimensat(AT_FDCWD, path,
	    (struct timespec[2]){ st.FILE_ATIME, st.FILE_MTIME }, 0), 0);
	buf_clear(&b);
}

static void
change(struct dice *d, const char *path)
{
	struct buf b = { 0 };

	put_lines(d, &b);
	switch (dice_below(d, 7)) {
	case 0:
		write_over(path, O_APPEND, &b);
		break;
	case 1:
		write_over(path, O_TRUNC, &b);
		break;
	case 2:
		assert_int_equal(file_replace(path, buf_data(&b), buf_len(&b),
				     0600), 0);
		break;
	case 3:
		unlink(path);
		break;
	case 4:
		exchange_key(path);
		break;
	default:
		break;
	}
	buf_clear(&b);
}

/* ---- the answers -------------------------------------------------------- */

static void
assert_same(const struct knownhosts_found *a, const struct knownhosts_found *b)
{
	assert_int_equal(a->verdict, b->verdict);
	assert_int_equal(a->line, b->line);
	assert_text(a->path, b->path);
}

static void
assert_same_check(const struct knownhosts_sources *sources, const char *name,
    const struct key *k)
{
	struct knownhosts_sources fresh = *sources;
	struct knownhosts_found a, b;

	fresh.seen = NULL;
	assert_int_equal(knownhosts_check(sources, name, k, &a), 0);
	assert_int_equal(knownhosts_check(&fresh, name, k, &b), 0);
	assert_same(&a, &b);
	knownhosts_found_clear(&a);
	knownhosts_found_clear(&b);
	assert_int_equal(knownhosts_find_ca(sources, name, k, &a), 0);
	assert_int_equal(knownhosts_find_ca(&fresh, name, k, &b), 0);
	assert_same(&a, &b);
	knownhosts_found_clear(&a);
	knownhosts_found_clear(&b);
}

static void
assert_same_types(const struct knownhosts_sources *sources, const char *name)
{
	struct knownhosts_sources fresh = *sources;
	struct strlist a = { 0 }, b = { 0 };

	fresh.seen = NULL;
	assert_int_equal(knownhosts_types(sources, name, &a), 0);
	assert_int_equal(knownhosts_types(&fresh, name, &b), 0);
	assert_int_equal(a.n, b.n);
	for (size_t i = 0; i < a.n; i++)
		assert_string_equal(a.v[i], b.v[i]);
	strlist_clear(&a);
	strlist_clear(&b);
}

static void
assert_same_answers(const struct knownhosts_sources *sources)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		for (size_t k = 0; k < ARRAY_LEN(made); k++)
			assert_same_check(sources, names[i], made[k]);
		assert_same_types(sources, names[i]);
	}
}

static struct knownhosts_sources
make_sources(void)
{
	struct knownhosts_sources sources = { .files = &files,
		.lines_name = "elsewhere" };

	assert_int_equal(knownhosts_seen_new(&sources.seen, &files, &asked), 0);
	return sources;
}

static void
as_reading_them(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= STORIES; seed++) {
		struct knownhosts_sources sources = make_sources();
		struct dice d = { seed };
		struct buf lines = { 0 };

		put_lines(&d, &lines);
		sources.lines = buf_span(&lines);
		for (int turn = 0; turn < TURNS; turn++) {
			change(&d, files.v[dice_below(&d, 2)]);
			assert_same_answers(&sources);
		}
		knownhosts_seen_free(sources.seen);
		buf_clear(&lines);
		unlink(files.v[0]);
		unlink(files.v[1]);
	}
}

/* ---- read once ---------------------------------------------------------- */

/* Bytes that this process has read so far. */
static uint64_t
bytes_read(void)
{
	struct buf b = { 0 };
	char *text, *at;
	uint64_t n;

	assert_int_equal(file_read("/proc/self/io", &b, 4096), 0);
	text = buf_dup_string(&b);
	buf_clear(&b);
	at = strstr(text, "rchar: ");
	assert_non_null(at);
	n = strtoull(at + strlen("rchar: "), NULL, 10);
	free(text);
	return n;
}

static uint64_t
cost_of_all(const struct knownhosts_sources *sources)
{
	uint64_t before = bytes_read();
	struct strlist types = { 0 };

	for (size_t i = 0; i < asked.n; i++) {
		struct knownhosts_found f;

		assert_int_equal(knownhosts_check(sources, asked.v[i], made[0],
				     &f), 0);
		knownhosts_found_clear(&f);
		assert_int_equal(knownhosts_find_ca(sources, asked.v[i], NULL,
				     &f), 0);
		knownhosts_found_clear(&f);
		assert_int_equal(knownhosts_types(sources, asked.v[i], &types),
		    0);
	}
	strlist_clear(&types);
	return bytes_read() - before;
}

/* Until it lies so far back that the file was changed that a change would show
 * by its times, it is read anew. */
static void
settle(const struct knownhosts_sources *sources, uint64_t size)
{
	uint64_t end = clock_ms() + WAIT_MS;

	while (cost_of_all(sources) >= size) {
		assert_true(clock_ms() < end);
		(void)poll(NULL, 0, 10);
	}
}

static uint64_t
write_large(void)
{
	struct buf b = { 0 };
	uint64_t size;

	for (int i = 0; i < 5000; i++)
		buf_printf(&b, "other%d " ED1 "\n", i);
	buf_printf(&b, "alpha " ED1 "\nbeta " EC1 "\n");
	size = buf_len(&b);
	assert_int_equal(file_replace(files.v[0], buf_data(&b), size, 0600),
	    0);
	buf_clear(&b);
	return size;
}

static void
read_once(void **state)
{
	uint64_t size = write_large();
	struct knownhosts_sources sources = make_sources();

	(void)state;
	settle(&sources, size);
	knownhosts_seen_free(sources.seen);
	sources = make_sources();
	assert_in_range(cost_of_all(&sources), size, size + size / 2);
	assert_in_range(cost_of_all(&sources), 0, size / 2);
	knownhosts_seen_free(sources.seen);
	unlink(files.v[0]);
}

/* Each change of a file that was not read again for a while is seen. */
static void
changes_show(void **state)
{
	struct buf more = { 0 };
	struct knownhosts_sources sources = make_sources();

	(void)state;
	buf_printf(&more, "@revoked beta " EC1 "\n");
	for (int change = 0; change < 5; change++) {
		uint64_t size = write_large();

		settle(&sources, size);
		switch (change) {
		case 0:
			write_over(files.v[0], O_APPEND, &more);
			break;
		case 1:
			exchange_key(files.v[0]);
			break;
		case 2:
			assert_int_equal(file_replace(files.v[0],
			    buf_data(&more), buf_len(&more), 0600), 0);
			break;
		case 3:
			unlink(files.v[0]);
			break;
		default:
			write_over(files.v[1], 0, &more);
			break;
		}
		assert_same_answers(&sources);
	}
	knownhosts_seen_free(sources.seen);
	buf_clear(&more);
	unlink(files.v[0]);
	unlink(files.v[1]);
}

/* One that was changed so late that another change may not show is read again
 * each time. */
static void
not_settled(void **state)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT } };
	uint64_t size = write_large();
	struct knownhosts_sources sources = make_sources();

	(void)state;
	assert_int_equal(clock_gettime(CLOCK_REALTIME, &times[1]), 0);
	times[1].tv_sec += 3600;
	assert_int_equal(utimensat(AT_FDCWD, files.v[0], times, 0), 0);
	for (int i = 0; i < 2; i++)
		assert_true(cost_of_all(&sources) >= size * asked.n);
	knownhosts_seen_free(sources.seen);
	unlink(files.v[0]);
}

/* It might revoke the key. (A directory of that name is no file, as for
 * OpenSSH.) */
static void
unreadable(void **state)
{
	struct knownhosts_sources sources = make_sources();
	struct knownhosts_found f;

	(void)state;
	assert_int_equal(symlink("/proc/self/mem", files.v[0]), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(knownhosts_check(&sources, "alpha", made[0],
				     &f), ERR_SYSTEM);
	assert_int_equal(unlink(files.v[0]), 0);
	assert_int_equal(knownhosts_check(&sources, "alpha", made[0], &f), 0);
	assert_int_equal(f.verdict, KNOWNHOSTS_NEW);
	knownhosts_found_clear(&f);
	knownhosts_seen_free(sources.seen);
}

/* ---- lines -------------------------------------------------------------- */

static void
put_long_lines(struct dice *d, struct buf *out)
{
	/* Around the longest line, and the piece that is read at once. */
	static const uint32_t around[] = { 0, 1, 64 * 1024, 128 * 1024,
		200 * 1024, 300 };

	for (uint32_t n = 1 + dice_below(d, 6); n > 0; n--) {
		uint32_t len = around[dice_below(d, ARRAY_LEN(around))];
		uint8_t *p;

		len += dice_below(d, 4);
		p = buf_reserve(out, len + 1);
		assert_non_null(p);
		memset(p, 'a' + (int)dice_below(d, 26), len);
		if (len > 0 && dice_below(d, 5) == 0)
			p[len - 1] = '\r';
		if (len > 0 && dice_below(d, 8) == 0)
			p[dice_below(d, len)] = '\0';
		p[len] = '\n';
		buf_commit(out, len + (n > 1 || dice_below(d, 2) == 0));
	}
}

/* A file that is read piece by piece has the lines that it has as a whole. */
static void
piece_by_piece(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct knownhosts_lines a, b;
		struct buf content = { 0 };
		struct dice d = { seed };
		int r;

		put_long_lines(&d, &content);
		write_over(files.v[0], O_TRUNC, &content);
		assert_int_equal(knownhosts_lines_open(&a, files.v[0]), 0);
		knownhosts_lines_begin(&b, buf_span(&content));
		for (int pass = 0; pass < 2; pass++) {
			while ((r = knownhosts_lines_next(&a)) == 1) {
				assert_int_equal(knownhosts_lines_next(&b), 1);
				assert_string_equal(a.text, b.text);
				assert_int_equal(a.number, b.number);
			}
			assert_int_equal(r, 0);
			assert_int_equal(knownhosts_lines_next(&b), 0);
			assert_int_equal(knownhosts_lines_rewind(&a), 0);
			assert_int_equal(knownhosts_lines_rewind(&b), 0);
		}
		knownhosts_lines_close(&a);
		knownhosts_lines_close(&b);
		buf_clear(&content);
	}
	unlink(files.v[0]);
}

static int
set_up(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *line = keys[i];

		assert_int_equal(key_parse_line(&line, &made[i]), 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(names) - 1; i++)
		assert_int_equal(strlist_add(&asked, names[i]), 0);
	assert_int_equal(strlist_add(&files, "one"), 0);
	assert_int_equal(strlist_add(&files, "two"), 0);
	return temp_enter(state);
}

static int
tear_down(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(made); i++)
		key_free(made[i]);
	strlist_clear(&asked);
	strlist_clear(&files);
	return temp_leave(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_reading_them),
		cmocka_unit_test(read_once),
		cmocka_unit_test(changes_show),
		cmocka_unit_test(not_settled),
		cmocka_unit_test(unreadable),
		cmocka_unit_test(piece_by_piece),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
