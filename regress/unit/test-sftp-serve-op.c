/* SPDX-License-Identifier: ISC */
/* Requests sent ahead: what each of them sees, and what may overtake. */
#include "regress/unit/sftp-host.h"
#include "regress/unit/dice.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/*
 * Everything sent ahead, without waiting for a reply: each sees what those
 * before it did, and nothing of those behind.
 */
static void
test_order(void **state)
{
	enum { ROUNDS = 200, SIZE = 5000 };
	static size_t starts[ROUNDS]; /* of what is expected, by id */
	uint8_t *model = calloc(1, 2 * SIZE);
	const uint8_t *want;
	struct buf all = { 0 }, expected = { 0 };
	struct dice dice = { 7 };
	uint32_t h, at = 0, reads = 0;
	struct reply reply;

	(void)state;
	ask_open("o", SFTP_O_READ | SFTP_O_WRITE | SFTP_O_CREAT);
	h = answer_handle();
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t where = dice_below(&dice, SIZE);

		memset(model + where, i, SIZE / 4);
		ask_write(h, where, model + where, SIZE / 4);
		queue(&all);
		at = MAX(at, where + SIZE / 4); /* size of the file */
		where = dice_below(&dice, SIZE / 2);
		if (where >= at)
			continue;
		ask_read(h, where, SIZE);
		wire_put_u32((uint8_t *)buf_data(&message) + 5, reads++);
		queue(&all);
		starts[reads - 1] = buf_len(&expected);
		buf_put_string(&expected, model + where,
		    MIN((uint32_t)SIZE, at - where));
	}
	assert_int_equal(feed(buf_data(&all), buf_len(&all)), buf_len(&all));
	for (uint32_t done = 0; done < reads;) {
		reply = take_reply();
		if (reply.type == SFTP_STATUS) {
			assert_int_equal(reply.status, SFTP_OK);
			continue;
		}
		assert_int_equal(reply.type, SFTP_DATA);
		assert_true(reply.id < reads);
		want = buf_data(&expected) + starts[reply.id];
		done++;
		assert_int_equal(reply.body.len, 4 + wire_get_u32(want));
		assert_memory_equal(reply.body.p, want, reply.body.len);
	}
	close_handle(h, SFTP_OK);
	assert_int_equal(unlink("o"), 0);
	buf_clear(&all);
	buf_clear(&expected);
	free(model);
}

/* Names too: a directory is there for what is sent behind its MKDIR. */
static void
test_order_of_names(void **state)
{
	static const uint8_t types[] = { SFTP_STATUS, SFTP_HANDLE,
		SFTP_HANDLE, SFTP_STATUS, SFTP_ATTRS, SFTP_STATUS };
	struct buf all = { 0 };

	(void)state;
	for (int round = 0; round < 20; round++) {
		uint32_t place = 0;

		buf_reset(&all);
		ask_path(SFTP_MKDIR, "d");
		sftp_put_attrs(&message, NULL);
		queue(&all);
		ask_open("d/a", SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_EXCL);
		queue(&all);
		ask_open("d/b", SFTP_O_WRITE | SFTP_O_CREAT | SFTP_O_EXCL);
		queue(&all);
		ask_paths(SFTP_RENAME, "d/a", "d/c");
		queue(&all);
		ask_path(SFTP_LSTAT, "d/c");
		queue(&all);
		ask_path(SFTP_REMOVE, "d/c");
		queue(&all);
		assert_int_equal(feed(buf_data(&all), buf_len(&all)),
		    buf_len(&all));
		for (size_t i = 0; i < ARRAY_LEN(types); i++) {
			struct reply reply = take_reply();

			assert_int_equal(reply.type, types[i]);
			if (reply.type == SFTP_STATUS)
				assert_int_equal(reply.status, SFTP_OK);
			if (reply.type != SFTP_HANDLE)
				continue;
			(void)rd_u32(&reply.body);
			place = rd_u32(&reply.body);
		}
		assert_int_equal(buf_len(&replies), 0);
		/* All behind each other on one handle. */
		buf_reset(&all);
		ask_write(place, 0, "12345", 5);
		queue(&all);
		put_handle(ask_for(SFTP_FSTAT), place);
		queue(&all);
		put_handle(ask_for(SFTP_CLOSE), place);
		queue(&all);
		ask_path(SFTP_STAT, "d/b");
		queue(&all);
		assert_int_equal(feed(buf_data(&all), buf_len(&all)),
		    buf_len(&all));
		assert_int_equal(take_reply().status, SFTP_OK);
		for (int i = 0; i < 2; i++) {
			struct sftp_attrs attrs;
			struct reply reply = take_reply();

			assert_int_equal(reply.type, SFTP_ATTRS);
			sftp_get_attrs(&reply.body, &attrs);
			assert_int_equal(attrs.size, 5);
			if (i == 0)
				assert_int_equal(take_reply().status, SFTP_OK);
		}
		ask_read(place, 0, 1);
		expect_status(SFTP_FAILURE);
		assert_int_equal(unlink("d/b"), 0);
		assert_int_equal(rmdir("d"), 0);
	}
	buf_clear(&all);
}

/* A digest of much data does not hold up what comes behind it. */
static void
test_overtaking(void **state)
{
	struct buf all = { 0 };
	struct reply reply;

	(void)state;
	make_file("big", "");
	assert_int_equal(truncate("big", 256 << 20), 0);
	for (int i = 0; i < 3; i++) {
		ask_check("big", "sha512", 0, 0, 0);
		queue(&all);
	}
	ask_path(SFTP_STAT, "big");
	queue(&all);
	if (serve_mode.threads > 0) {
		assert_int_equal(sftp_serve_input(server, buf_data(&all),
				     buf_len(&all)), buf_len(&all));
		while (collect(), buf_len(&replies) == 0) {
			struct pollfd pfd = {sftp_serve_fd(server), POLLIN, 0};

			assert_int_equal(poll(&pfd, 1, 10000), 1);
			assert_int_equal(
			    sftp_serve_input(server, buf_data(&all), 0), 0);
		}
		reply = take_reply();
		assert_int_equal(reply.type, SFTP_ATTRS);
		assert_true(sftp_serve_has_work(server));
	}
	/* It ends in the middle of that. */
	restart(&(struct sftp_serve_opts){ .home = temp_dir });
	assert_int_equal(unlink("big"), 0);
	buf_clear(&all);
}

/* Is called by the loop for each path. Once a walk-read is with a worker, waits
 * until it is done, which the loop hears of only when it collects. */
static bool
wait_for_walk(void *arg, const char *path)
{
	struct pollfd pfd = { sftp_serve_fd(server), POLLIN, 0 };
	unsigned *met = arg;

	if (strcmp(path, "behind") != 0 || !sftp_serve_has_work(server))
		return true;
	assert_int_equal(poll(&pfd, 1, 10000), 1);
	(*met)++;
	return true;
}

/* Begins a walk of the directory, and has a worker read of it. */
static uint32_t
begin_walk(void)
{
	uint32_t h;

	ask_ext("walk@hpnssh.org");
	buf_put_cstring(&message, ".");
	buf_put_u32(&message, 0);
	buf_put_cstring(&message, "");
	buf_put_cstring(&message, "");
	h = answer_handle();
	put_handle(ask_ext("walk-read@hpnssh.org"), h);
	message_end();
	assert_int_equal(sftp_serve_input(server, buf_data(&message),
	    buf_len(&message)), buf_len(&message));
	return h;
}

/* A request waits for one that a worker has, and that one is done while the
 * next ones are taken: those behind are not left over, since no signal would
 * follow. */
static void
test_done_meanwhile(void **state)
{
	enum { FILES = 300, MEETS = 5, ROUNDS = 1000 };
	struct buf two = { 0 };
	unsigned met = 0;
	char name[32];
	uint32_t h;

	(void)state;
	if (serve_mode.threads == 0 || serve_mode.eager)
		return; /* the loop waits for nobody, or for two of them */
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof name, "f%d", i);
		make_file(name, "");
	}
	restart(&(struct sftp_serve_opts){ .home = temp_dir,
		.path_ok = wait_for_walk, .path_ok_arg = &met });
	for (int i = 0; i < 2; i++) {
		ask_path(SFTP_LSTAT, "behind");
		queue(&two);
	}
	for (int round = 0; round < ROUNDS && met < MEETS; round++) {
		unsigned before = met;

		h = begin_walk();
		assert_int_equal(sftp_serve_input(server, buf_data(&two),
		    buf_len(&two)), buf_len(&two));
		if (met != before)
			assert_false(sftp_serve_has_work(server));
		assert_int_equal(feed(buf_data(&two), 0), 0);
		for (int i = 0; i < 3; i++)
			(void)take_reply();
		assert_int_equal(buf_len(&replies), 0);
		close_handle(h, SFTP_OK);
	}
	assert_int_equal(met, MEETS);
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof name, "f%d", i);
		assert_int_equal(unlink(name), 0);
	}
	buf_clear(&two);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_order_of_names),
		cmocka_unit_test(test_overtaking),
		cmocka_unit_test(test_done_meanwhile),
	};

	return serve_run_modes(tests);
}
