/* SPDX-License-Identifier: ISC */
/*
 * An SFTP server engine for tests that are its client, request by request,
 * in a directory of their own. All of it fails the test that runs when it
 * cannot do its work.
 */
#ifndef HPN_SFTP_HOST_H
#define HPN_SFTP_HOST_H

#include "regress/unit/help.h"

#include "base/buf.h"
#include "base/wire.h"
#include "xfer/serve/sftp-serve.h"
#include "xfer/sftp/sftp-proto.h"

extern struct sftp_serve *server;
/* How all of them are run this time: threads, eager, direct. */
extern struct sftp_serve_opts serve_mode;
/* temp_enter(), or what main() sets instead. */
extern int (*serve_enter)(void **state);
extern struct buf message; /* what is asked next */
extern struct buf replies; /* taken from the engine, not yet looked at */

struct reply {
	uint8_t type;
	uint32_t id, status;
	struct rd body; /* behind the id; until the next reply */
};

/* Runs tests, each with an engine that was asked for its version, in a
 * directory: alone, with threads that do what they may, and with replies that
 * are taken straight. The number of failures. */
int serve_run(const struct CMUnitTest *tests, size_t n);
#define serve_run_modes(tests) serve_run(tests, ARRAY_LEN(tests))
/* A new engine instead: not yet asked for its version, and asked. */
void begin(const struct sftp_serve_opts *opts);
void restart(const struct sftp_serve_opts *opts);

/* A request in message, to which its fields are put; the id is 42. */
struct buf *ask_for(uint8_t type);
struct buf *ask_ext(const char *name);
void put_handle(struct buf *b, uint32_t handle);
/* Those whose fields are all known. */
void ask_open(const char *path, uint32_t pflags);
void ask_path(uint8_t type, const char *path);
void ask_paths(uint8_t type, const char *one, const char *two);
void ask_write(uint32_t handle, uint64_t offset, const void *p, size_t len);
void ask_read(uint32_t handle, uint64_t offset, uint32_t len);
void ask_check(const char *name, const char *algs, uint64_t offset,
    uint64_t len, uint32_t block);

/* copy-blocks of `len` bytes, if they are those at p; in blocks of 2,048. */
struct host_copy {
	uint32_t from, to;
	uint64_t from_at, to_at;
	const uint8_t *p;
	size_t len;
};
void ask_copy_blocks(const struct host_copy *c);

/* Sends message; its only reply. */
struct reply answer(void);
void expect_status(uint32_t status);
uint32_t answer_handle(void);
void close_handle(uint32_t handle, uint32_t status);

/* Many at once: message is whole; it is appended to all. */
void message_end(void);
void queue(struct buf *all);
/* Gives the engine bytes, and waits until all is answered; len or ERR_*. */
ssize_t feed(const uint8_t *p, size_t len);
/* Moves what there is of replies. */
void collect(void);
struct reply take_reply(void);

void make_file(const char *name, const char *text);
void expect_file(const char *name, const char *text);

/* A put-file of text; exact: with the mode perms as it is. */
void ask_put_file(const char *path, bool exact, uint32_t perms,
    const char *text);
void expect_mode(const char *name, mode_t perms);

#endif
