/* SPDX-License-Identifier: ISC */
/*
 * A server of SFTP that takes its answers from a script, a byte or two for
 * each: what a name is, what is in a directory, where a link leads, whether a
 * request is refused. Answers have the right ids and fit their requests, so
 * that a fuzz target gets far; at the end of the script all is allowed and
 * everything is empty. It may say today that x is a link, and tomorrow that it
 * is a directory.
 */
#ifndef HPN_REGRESS_FUZZ_SCRIPTED_H
#define HPN_REGRESS_FUZZ_SCRIPTED_H

#include <sys/stat.h>

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/wire.h"
#include "xfer/sftp/sftp-engine.h"

enum { SCRIPT_REQUESTS_MAX = 3000, SCRIPT_FILE_MAX = 21000 };

struct scripted {
	struct sftp *sftp;
	struct rd script;
	uint8_t extensions; /* which of scripted_extensions */
	size_t piece;	    /* bytes that are fed at a time */
	unsigned requests;
};

/* One for each bit. */
static const struct {
	const char *name, *version;
} scripted_extensions[] = {
	{ "posix-rename@openssh.com", "1" },
	{ "hardlink@openssh.com", "1" },
	{ "check-file", "sha256" },
	{ "stat-ns@hpnssh.org", "1" },
	{ "sparse-map@hpnssh.org", "1" },
	{ "put-file@hpnssh.org", "1" },
	{ "get-file@hpnssh.org", "1" },
	{ "times-ns@hpnssh.org", "1" },
};

static inline uint8_t
script_next(struct scripted *v)
{
	return v->script.len > 0 ? rd_u8(&v->script) : 0;
}

/* ---- parts of answers ---------------------------------------------------- */

static inline void
put_head(struct buf *b, enum sftp_type type, uint32_t id)
{
	buf_put_u8(b, type);
	buf_put_u32(b, id);
}

static inline void
put_status(struct buf *b, uint32_t id, enum sftp_status status)
{
	put_head(b, SFTP_STATUS, id);
	buf_put_u32(b, status);
	buf_put_cstring(b, "");
	buf_put_cstring(b, "");
}

/* Most of the values allow it. */
static inline bool
script_allows(struct scripted *v, struct buf *b, uint32_t id)
{
	static const enum sftp_status no[] = { SFTP_NO_SUCH_FILE,
		SFTP_PERMISSION_DENIED, SFTP_FAILURE, SFTP_OP_UNSUPPORTED };
	uint8_t what = script_next(v);

	if (what < 240)
		return true;
	put_status(b, id, no[what & 3]);
	return false;
}

static inline void
script_put_attrs(struct scripted *v, struct buf *b)
{
	static const uint32_t types[] = { S_IFREG, S_IFDIR, S_IFLNK, S_IFREG,
		S_IFDIR, S_IFLNK, S_IFIFO, 0 };
	static const uint32_t modes[] = { 0644, 0755, 0400, 06755 };
	uint8_t what = script_next(v);
	struct sftp_attrs a = { .flags = SFTP_A_SIZE | SFTP_A_TIMES,
		.mode = types[what & 7] | modes[what >> 3 & 3],
		.size = (uint64_t)(what >> 5) * (SCRIPT_FILE_MAX / 7),
		.atime = 1000000000, .mtime = 1000000000 };

	if (types[what & 7] != 0)
		a.flags |= SFTP_A_MODE;
	sftp_put_attrs(b, &a);
}

static inline void
script_put_names(struct scripted *v, struct buf *b, uint32_t id)
{
	static const char *const names[] = { "x", "y", "f", "d", "..", ".",
		"../x", "a/b", ".x.hpnpart", ".x.hpnlink", "", "x\n",
		"victim", "in", "z", "*" };
	unsigned n = script_next(v) & 3;

	if (n == 0) {
		put_status(b, id, SFTP_EOF);
		return;
	}
	put_head(b, SFTP_NAME, id);
	buf_put_u32(b, n);
	for (unsigned i = 0; i < n; i++) {
		buf_put_cstring(b, names[script_next(v) & 15]);
		buf_put_cstring(b, "");
		script_put_attrs(v, b);
	}
}

static inline void
script_put_target(struct scripted *v, struct buf *b, uint32_t id)
{
	static const char *const targets[] = { "../victim", "../../victim",
		"../../../victim", "x", "y", ".", "..", "/", "../out", "/tmp",
		"", "z", "d/x", "../in", "f", "../../.." };

	put_head(b, SFTP_NAME, id);
	buf_put_u32(b, 1);
	buf_put_cstring(b, targets[script_next(v) & 15]);
	buf_put_cstring(b, "");
	sftp_put_attrs(b, NULL);
}

static inline void
script_put_data(struct scripted *v, struct buf *b, uint32_t most)
{
	static const uint8_t data[SCRIPT_FILE_MAX];
	uint8_t what = script_next(v);
	uint32_t n = what == 0 ? SCRIPT_FILE_MAX : what;

	buf_put_string(b, data, MIN(n, most));
}

static inline void
script_put_stat_ns(struct scripted *v, struct buf *b)
{
	for (int i = 0; i < 2; i++) {
		buf_put_u64(b, 1000000000);
		buf_put_u32(b, 5);
	}
	buf_put_u32(b, script_next(v) & 3);
	buf_put_u64(b, 1);
	buf_put_u64(b, script_next(v) & 3);
	buf_put_u64(b, 0);
}

static inline void
script_put_map(struct scripted *v, struct buf *b)
{
	unsigned n = script_next(v) & 3;

	buf_put_u32(b, n);
	for (unsigned i = 0; i < n; i++) {
		buf_put_u64(b, (uint64_t)i * 8192);
		buf_put_u64(b, script_next(v) * 32);
	}
	buf_put_bool(b, false);
}

/* Records of a walk: a piece of the script as it is, with its length in
 * front. */
static inline void
script_put_records(struct scripted *v, struct buf *b, uint32_t id)
{
	size_t n = script_next(v);
	struct span piece = rd_bytes(&v->script, MIN(n, v->script.len));

	if (piece.len == 0) {
		put_status(b, id, SFTP_EOF);
		return;
	}
	put_head(b, SFTP_EXTENDED_REPLY, id);
	buf_put(b, piece.p, piece.len);
}

/* ---- answers ------------------------------------------------------------- */

static inline void
script_answer_extended(struct scripted *v, struct rd *in, uint32_t id,
    struct buf *b)
{
	static const uint8_t digests[1024];
	struct span name = rd_string(in);

	if (span_equals(name, "walk-read@hpnssh.org")) {
		script_put_records(v, b, id);
		return;
	}
	if (!script_allows(v, b, id))
		return;
	if (span_equals(name, "walk@hpnssh.org")) {
		put_head(b, SFTP_HANDLE, id);
		buf_put_string(b, script_next(v) < 200 ? "\0\0\0\0" : "hand",
		    4);
	} else if (span_equals(name, "statvfs@openssh.com")) {
		put_head(b, SFTP_EXTENDED_REPLY, id);
		sftp_put_statvfs(b, &(struct sftp_statvfs){
			.fsid = script_next(v) & 1 });
	} else if (span_equals(name, "stat-ns@hpnssh.org")) {
		put_head(b, SFTP_EXTENDED_REPLY, id);
		script_put_stat_ns(v, b);
	} else if (span_equals(name, "sparse-map@hpnssh.org")) {
		put_head(b, SFTP_EXTENDED_REPLY, id);
		script_put_map(v, b);
	} else if (span_equals(name, "get-file@hpnssh.org")) {
		put_head(b, SFTP_EXTENDED_REPLY, id);
		script_put_attrs(v, b);
		script_put_data(v, b, SCRIPT_FILE_MAX);
	} else if (span_equals(name, "check-file-handle")) {
		put_head(b, SFTP_EXTENDED_REPLY, id);
		buf_put_cstring(b, "sha256");
		buf_put(b, digests, (script_next(v) & 3) * 32);
	} else {
		put_status(b, id, SFTP_OK);
	}
}

static inline void
script_answer_version(struct scripted *v, struct buf *b)
{
	buf_put_u8(b, SFTP_VERSION_REPLY);
	buf_put_u32(b, SFTP_VERSION);
	for (size_t i = 0; i < ARRAY_LEN(scripted_extensions); i++) {
		if ((v->extensions & 1u << i) == 0)
			continue;
		buf_put_cstring(b, scripted_extensions[i].name);
		buf_put_cstring(b, scripted_extensions[i].version);
	}
}

static inline void
script_answer_read(struct scripted *v, struct rd *in, uint32_t id,
    struct buf *b)
{
	uint64_t offset;

	(void)rd_string(in);
	offset = rd_u64(in);
	if (offset >= SCRIPT_FILE_MAX) {
		put_status(b, id, SFTP_EOF);
		return;
	}
	put_head(b, SFTP_DATA, id);
	script_put_data(v, b,
	    (uint32_t)MIN((uint64_t)rd_u32(in), SCRIPT_FILE_MAX - offset));
}

static inline void
script_answer(struct scripted *v, enum sftp_type type, struct rd *in,
    struct buf *b)
{
	uint32_t id = rd_u32(in);

	if (type == SFTP_INIT) {
		script_answer_version(v, b);
		return;
	}
	if (type == SFTP_EXTENDED) {
		script_answer_extended(v, in, id, b);
		return;
	}
	if (type == SFTP_READDIR) {
		script_put_names(v, b, id);
		return;
	}
	if (!script_allows(v, b, id))
		return;
	switch (type) {
	case SFTP_OPEN:
	case SFTP_OPENDIR:
		put_head(b, SFTP_HANDLE, id);
		buf_put_cstring(b, "hand");
		break;
	case SFTP_READ:
		script_answer_read(v, in, id, b);
		break;
	case SFTP_LSTAT:
	case SFTP_STAT:
	case SFTP_FSTAT:
		put_head(b, SFTP_ATTRS, id);
		script_put_attrs(v, b);
		break;
	case SFTP_READLINK:
	case SFTP_REALPATH:
		script_put_target(v, b, id);
		break;
	default:
		put_status(b, id, SFTP_OK);
	}
}

/* ---- the carrier --------------------------------------------------------- */

static inline int
scripted_turn(void *arg, int timeout_ms)
{
	struct scripted *v = arg;
	struct buf *asked = sftp_output(v->sftp), answers = { 0 },
		   one = { 0 };
	struct rd in = rd_from(buf_data(asked), buf_len(asked));

	(void)timeout_ms;
	if (in.len == 0 || v->requests > SCRIPT_REQUESTS_MAX)
		return ERR_CLOSED;
	while (in.len > 0) {
		struct rd message = rd_from_span(rd_string(&in));
		enum sftp_type type = rd_u8(&message);

		if (rd_err(&in) != 0)
			abort(); /* the client wrote no whole message */
		v->requests++;
		script_answer(v, type, &message, &one);
		buf_put_string_buf(&answers, &one);
		buf_reset(&one);
	}
	buf_reset(asked);
	for (size_t n; buf_len(&answers) > 0; buf_consume(&answers, n)) {
		n = MIN(v->piece, buf_len(&answers));
		(void)!sftp_feed(v->sftp, buf_data(&answers), n);
	}
	buf_clear(&answers);
	buf_clear(&one);
	return 0;
}

static inline void
scripted_wake(void *arg)
{
	(void)arg;
}

static const struct xfer_carrier_ops scripted_ops = { .turn = scripted_turn,
	.wake = scripted_wake };

#endif
